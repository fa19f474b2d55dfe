// SPDX-License-Identifier: Apache-2.0
// Sparse matrices on the host: from whatever kind of file holds them, and the other way round.
#ifndef WEFT_TOOLS_SPARSE_H
#define WEFT_TOOLS_SPARSE_H

#include <weft/csr.h>

#include "complaint.h"

// Whether the name ends like a sparse matrix: .mtx or .smtx, in any case.
bool sparse_is_known(const char *path);

// mtx_read() or smtx_read(), by the end of the name. The seed is for files without values. The
// caller destroys `out` with weft_csr_host_destroy().
bool sparse_read(weft_csr_host *out, const char *path, weft_dtype dtype, uint64_t seed,
                 complaint *why);

// Puts the transpose in its place, columns sorted; on a failure the matrix stays what it was.
bool sparse_transpose(weft_csr_host *matrix, complaint *why);

// Of (A B^T) .* C: how many elements of sparse factors are gone through for all entries of C, as
// weft_sddmm_sparse() does: those of B's rows, or where B is dense, NULL, those of A's.
double sparse_sampled_terms(const weft_csr_host *A, const weft_csr_host *B, const weft_csr_host *C);

#endif
