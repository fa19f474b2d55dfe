// SPDX-License-Identifier: Apache-2.0
// Sparse matrices on the host: the other way round, and counted.
#ifndef WEFT_TOOLS_SPARSE_H
#define WEFT_TOOLS_SPARSE_H

#include <weft/csr.h>

#include "complaint.h"

// Puts the transpose in its place, columns sorted; on a failure the matrix stays what it was.
bool sparse_transpose(weft_csr_host *matrix, complaint *why);

// Converts the values; complains, with the path, of one that is too large.
bool sparse_convert(weft_csr_host *matrix, weft_dtype dtype, const char *path, complaint *why);

// Of (A B^T) .* C: how many elements of sparse factors are gone through for all entries of C, as
// weft_sddmm_sparse() does: those of B's rows, or where B is dense, NULL, those of A's.
double sparse_sampled_terms(const weft_csr_host *A, const weft_csr_host *B, const weft_csr_host *C);

#endif
