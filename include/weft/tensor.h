// SPDX-License-Identifier: Apache-2.0
// A dense operand: a strided view of memory that the caller owns.
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H

#include <weft/context.h>
#include <weft/dtype.h>

WEFT_BEGIN

enum { WEFT_MAX_NDIM = 8 };

// Element (i0, i1, ...) is at buffer[offset + i0 stride[0] + i1 stride[1] + ...], all counted
// in elements. An input's stride may be 0 (the same element again) or negative. An output's
// elements must not overlap; an output whose axes interleave without overlap (extents 2 and 3 at
// strides 3 and 2) is refused too.
typedef struct weft_tensor {
    cl_mem buffer;
    weft_dtype dtype; // WEFT_DEFAULT is f32
    int64_t offset;   // of element (0, 0, ...)
    int ndim;         // 0 to 8; 0 is a scalar
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_MAX_NDIM];
} weft_tensor;

// A row-major matrix that fills its buffer from the start.
static inline weft_tensor weft_matrix(cl_mem buffer, weft_dtype dtype, int64_t n_rows,
                                      int64_t n_cols)
{
    const weft_tensor t = {buffer, dtype, 0, 2, {n_rows, n_cols}, {n_cols, 1}};
    return t;
}

// A transposed view of each matrix: exchanges the last two dimensions, without moving data. A
// tensor of fewer dimensions is returned unchanged.
static inline weft_tensor weft_tensor_transposed(const weft_tensor *tensor)
{
    weft_tensor t = *tensor;
    if (t.ndim < 2 || t.ndim > WEFT_MAX_NDIM)
        return t;
    const int row = tensor->ndim - 2, column = tensor->ndim - 1;
    t.shape[row] = tensor->shape[column];
    t.shape[column] = tensor->shape[row];
    t.stride[row] = tensor->stride[column];
    t.stride[column] = tensor->stride[row];
    return t;
}

WEFT_END

#endif
