// SPDX-License-Identifier: Apache-2.0
// What operands are, and whether they are sound: the checks that every operation makes at its door.
#ifndef WEFT_LIB_VIEW_H
#define WEFT_LIB_VIEW_H

#include <weft/csr.h>
#include <weft/tensor.h>

// A half-open range of a buffer; empty views touch none.
typedef struct weft_span {
    int64_t first, last;
} weft_span;

weft_dtype weft_dtype_or(weft_dtype dtype, weft_dtype fallback);

// f32, f64, f16 or bf16.
bool weft_is_floating(weft_dtype dtype);

// Some extent is 0.
bool weft_tensor_is_empty(const weft_tensor *tensor);

// ndim, extents, strides that overflow, dtype, buffer of the context and large enough. An empty
// view (an extent is 0) needs no buffer. `what` is "spmm: B". `ctx` is not NULL.
// Takes f32, f64, f16, bf16, i32, i64 and u8; what an operation does not take it refuses itself.
weft_status weft_tensor_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);

// All of that which needs no buffer.
weft_status weft_tensor_form_check(const weft_tensor *tensor, const char *what);

// The same for an output: also that kernels may write the buffer, and that no two elements share a
// place. Taken by rising |stride|, each axis of extent above 1 must step over all that the axes
// before it reach. That holds for every permuted, sliced, padded or flipped tensor; a few views
// that interleave without sharing (extents 2 and 3, strides 3 and 2) are refused too.
weft_status weft_output_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);
weft_status weft_output_form_check(const weft_tensor *tensor, const char *what);

// Sizes and data types of a CSR that agree, whatever its buffers are.
weft_status weft_csr_form_check(const weft_csr *csr, const char *what);

// And its buffers: of the context, and large enough for every matrix of the batch. The offsets are
// needed always, indices and values where there are entries. What stands in them is not looked at.
weft_status weft_csr_view_check(const weft_context *ctx, const weft_csr *csr, int64_t n_batches,
                                const char *what);

// Refuses an output that shares bytes with an input, also where one of the buffers is a sub-buffer
// of the other or both are of a third. `bytes` is a range of `buffer`; the output counts from its
// first byte touched to its last. Both checked before.
weft_status weft_overlap_check(const weft_tensor *output, const char *output_name, cl_mem buffer,
                               weft_span bytes, const char *input_name, const char *op);

// The same for an input that is a tensor, byte for byte where one of the output's strides keeps
// them apart: columns side by side in one matrix share nothing.
weft_status weft_tensor_overlap_check(const weft_tensor *output, const char *output_name,
                                      const weft_tensor *input, const char *input_name,
                                      const char *op);

// The same, but an input may be the output: the same view of the same data type.
weft_status weft_alias_check(const weft_tensor *out, const char *out_name, const weft_tensor *in,
                             const char *in_name, const char *what);

// Touched elements; the caller has checked the view.
weft_span weft_tensor_span(const weft_tensor *tensor);

// "[4 x 16]"
enum { WEFT_SHAPE_TEXT = 2 + WEFT_MAX_NDIM * 24 };
const char *weft_shape_text(const weft_tensor *tensor, char text[WEFT_SHAPE_TEXT]);

// a * b, or a + b; false where that does not fit.
bool weft_mul(int64_t a, int64_t b, int64_t *out);
bool weft_add(int64_t a, int64_t b, int64_t *out);

#endif
