// SPDX-License-Identifier: Apache-2.0
// Random matrices in the host's memory, of every data type.
#ifndef WEFT_TESTS_RANDOM_CSR_H
#define WEFT_TESTS_RANDOM_CSR_H

#include <weft/csr.h>

#include "random.h"

size_t bytes_of(int64_t n, weft_dtype dtype);

// Rows of 0 to 6 entries, one of them long; values are random bits. The caller destroys it.
weft_csr_host random_csr(random_state *random, int64_t n_rows, weft_dtype offset_dtype,
                         weft_dtype index_dtype, weft_dtype dtype);

#endif
