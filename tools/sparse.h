// SPDX-License-Identifier: Apache-2.0
// Sparse matrices on the host: transposed, and counted.
#ifndef WEFT_TOOLS_SPARSE_H
#define WEFT_TOOLS_SPARSE_H

#include <weft/csr.h>

#include "complaint.h"

// Replaces the matrix by its transpose, columns sorted; after a failure it is unchanged.
bool sparse_transpose(weft_csr_host *matrix, complaint *why);

// Converts the values; complains, with the path, about one that is too large.
bool sparse_convert(weft_csr_host *matrix, weft_dtype dtype, const char *path, complaint *why);

// Of (A B^T) .* C: elements of sparse factors that weft_sddmm_sparse() reads for all entries of C:
// those of B's rows, or if B is dense, NULL, those of A's.
double sparse_sampled_terms(const weft_csr_host *A, const weft_csr_host *B, const weft_csr_host *C);

#endif
