// SPDX-License-Identifier: Apache-2.0
// Steps that conversions to a CSR on the host share.
#ifndef WEFT_LIB_CSR_HOST_H
#define WEFT_LIB_CSR_HOST_H

#include <weft/csr.h>

// n zeroed elements, from calloc(); room for one at least.
weft_status weft_array_create(void **out, uint64_t n, size_t size, const char *what);

// Sizes, and the data types of the params or their defaults, with no entries yet. Offsets may stay
// WEFT_DEFAULT.
weft_status weft_csr_host_choose(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                 const weft_csr_params *params, const char *what);

// Zeroed arrays for that many entries. After a failure weft_csr_host_destroy() frees `out`.
weft_status weft_csr_host_allocate(weft_csr_host *out, int64_t nnz, const char *what);

#endif
