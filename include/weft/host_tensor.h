// SPDX-License-Identifier: Apache-2.0
// A dense operand in the host's memory, for operations that stream it through the device.
#ifndef WEFT_HOST_TENSOR_H
#define WEFT_HOST_TENSOR_H

#include <weft/dtype.h>
#include <weft/tensor.h>

WEFT_BEGIN

// Element (i0, i1, ...) is i0 stride[0] + i1 stride[1] + ... elements behind `data`. Memory is the
// caller's: an array, or a mapped file. An operation writes only its outputs, so an input may be
// mapped for reading alone. Strides as in a weft_tensor.
typedef struct weft_host_tensor {
    void *data;       // element (0, 0, ...); may be NULL if an extent is 0
    weft_dtype dtype; // WEFT_DEFAULT is f32
    int ndim;         // 0 to 8
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_MAX_NDIM];
} weft_host_tensor;

// A row-major matrix without gaps.
static inline weft_host_tensor weft_host_matrix(void *data, weft_dtype dtype, int64_t n_rows,
                                                int64_t n_cols)
{
    const weft_host_tensor t = {data, dtype, 2, {n_rows, n_cols}, {n_cols, 1}};
    return t;
}

WEFT_END

#endif
