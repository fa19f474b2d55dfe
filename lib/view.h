// SPDX-License-Identifier: Apache-2.0
// What operands are, and whether they are sound: the checks that every operation makes at its door.
#ifndef WEFT_LIB_VIEW_H
#define WEFT_LIB_VIEW_H

#include <weft/csr.h>
#include <weft/tensor.h>

#include "fail.h"

// The elements a view may touch, as a half-open range of its buffer; empty views touch none.
typedef struct weft_span {
    int64_t first, last;
} weft_span;

weft_dtype weft_dtype_or(weft_dtype dtype, weft_dtype fallback);

// ndim, extents, strides that overflow, dtype, buffer of the context and large enough. `what` is
// "spmm: B".
weft_status weft_tensor_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);

// The same for an output: also that no two elements share a place.
weft_status weft_output_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);

weft_status weft_csr_view_check(const weft_context *ctx, const weft_csr *csr, int64_t n_batches,
                                const char *what);

// Refuses an output that shares bytes with an input. Both checked before.
weft_status weft_overlap_check(const weft_tensor *output, const char *output_name, cl_mem buffer,
                               weft_span bytes, const char *input_name, const char *op);

// Touched elements; the caller has checked the view.
weft_span weft_tensor_span(const weft_tensor *tensor);

// a * b, or a + b; false where that does not fit.
bool weft_mul(int64_t a, int64_t b, int64_t *out);
bool weft_add(int64_t a, int64_t b, int64_t *out);

#endif
