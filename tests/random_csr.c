// SPDX-License-Identifier: Apache-2.0
#include "random_csr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/dtype.h"
#include "base/element.h"

size_t bytes_of(int64_t n, weft_dtype dtype)
{
    return (size_t)n * weft_dtype_size(dtype);
}

weft_csr_host random_csr(random_state *random, int64_t n_rows, weft_dtype offset_dtype,
                         weft_dtype index_dtype, weft_dtype dtype)
{
    weft_csr_host host = {.n_rows = n_rows,
                          .n_cols = 50,
                          .offset_dtype = offset_dtype,
                          .index_dtype = index_dtype,
                          .dtype = dtype};
    const int64_t long_row = n_rows > 0 ? random_below(random, n_rows) : 0;
    host.offsets = calloc((size_t)n_rows + 1, weft_dtype_size(offset_dtype));
    assert_non_null(host.offsets);
    for (int64_t row = 0; row < n_rows; row++) {
        host.nnz += row == long_row ? 40 : random_below(random, 7);
        integer_put(host.offsets, offset_dtype, row + 1, host.nnz);
    }
    host.indices = malloc(bytes_of(host.nnz, index_dtype) + 1);
    host.values = malloc(bytes_of(host.nnz, dtype) + 1);
    assert_true(host.indices && host.values);
    for (int64_t e = 0; e < host.nnz; e++)
        integer_put(host.indices, index_dtype, e, random_below(random, 50));
    for (size_t i = 0; i < bytes_of(host.nnz, dtype); i++)
        ((char *)host.values)[i] = (char)random_u64(random);
    return host;
}
