// SPDX-License-Identifier: Apache-2.0
// A sparsity pattern on the host, which plan objects are made from.
#ifndef WEFT_LIB_PATTERN_H
#define WEFT_LIB_PATTERN_H

#include <weft/csr.h>

#include "runtime/ocl.h"

// A pattern on the host, in arrays of its own.
typedef struct weft_pattern {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype, index_dtype;
    void *offsets, *indices, *source;
} weft_pattern;

// Steps that the files of a plan share. The caller owns *out.
weft_status weft_plan_allocate(void **out, int64_t n, size_t size);
weft_status weft_plan_upload(cl_mem *out, const weft_context *ctx, const void *array, int64_t n,
                             size_t size);
int64_t weft_pattern_start(const weft_pattern *p, int64_t row);
int64_t weft_pattern_length(const weft_pattern *p, int64_t row);
bool weft_pattern_is_long(const weft_pattern *p, int64_t row, int64_t row_chunk);

#endif
