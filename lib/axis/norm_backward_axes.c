// SPDX-License-Identifier: Apache-2.0
// Axes of the norms' backward.
#include "axis/norm_backward_axes.h"

#include "axis/norm_operands.h"

// If there are no rows, X, dY and dX are as if they had one, which is not accessed.
weft_axes weft_norm_backward_axes(const weft_norm_backward_operands *o, int n_axes)
{
    static const int64_t nowhere[WEFT_MAX_NDIM];
    const weft_tensor *const tensors[3] = {o->X, o->dY, o->dX};
    const int ndim = o->X->ndim;
    int64_t shape[WEFT_MAX_NDIM], stride[3][WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = ndim,
        .is_vectorized = o->is_vectorized,
        .holds = true,
        .shape = shape,
    };
    for (int d = 0; d < ndim; ++d) {
        request.is_reduced[d] = d >= ndim - n_axes;
        shape[d] = request.is_reduced[d] || o->rows > 0 ? o->X->shape[d] : 1;
    }
    for (; request.n_operands < 3; ++request.n_operands) {
        const weft_tensor *tensor = tensors[request.n_operands];
        request.start[request.n_operands] = o->rows > 0 ? tensor->offset : 0;
        request.stride[request.n_operands] = o->rows > 0 ? tensor->stride : nowhere;
    }
    if (o->weight)
        weft_norm_add_scaling(&request, stride[0], o->weight);
    request.n_lines = request.n_operands;
    if (o->dW)
        weft_norm_add_scaling(&request, stride[1], o->dW);
    if (o->db)
        weft_norm_add_scaling(&request, stride[2], o->db);
    return weft_axes_sort(&request);
}

static void add_axis(weft_axes_request *request, int64_t shape[WEFT_MAX_NDIM],
                     int64_t stride[WEFT_AXES_MOST_OPERANDS][WEFT_MAX_NDIM], const weft_axis *axis,
                     const int *operands, bool is_reduced)
{
    if (axis->extent == 1)
        return;
    for (int i = 0; i < request->n_operands; ++i)
        stride[i][request->ndim] = axis->stride[operands[i]];
    request->is_reduced[request->ndim] = is_reduced;
    shape[request->ndim++] = axis->extent;
}

// The same axes with kept ones reduced, in the order of the rows' statistics: high, then low.
weft_axes weft_norm_scaling_axes(const weft_axes *axes, const weft_norm_backward_operands *o)
{
    const int first = o->weight ? 4 : 3; // dW or db
    const int operands[4] = {0, 1, first, first + 1};
    int64_t shape[WEFT_MAX_NDIM], stride[WEFT_AXES_MOST_OPERANDS][WEFT_MAX_NDIM];
    weft_axes_request request = {
        .shape = shape,
        .in_order = true,
        .is_vectorized = o->is_vectorized,
        .n_operands = 2 + axes->n_operands - first,
        .n_lines = 2,
    };
    for (int i = 0; i < request.n_operands; ++i) {
        request.start[i] = axes->start[operands[i]];
        request.stride[i] = stride[i];
    }
    for (int i = 0; i < axes->n_high; ++i)
        add_axis(&request, shape, stride, &axes->high[i], operands, true);
    add_axis(&request, shape, stride, &axes->low, operands, true);
    for (int i = 0; i < axes->n_outer; ++i)
        add_axis(&request, shape, stride, &axes->outer[i], operands, false);
    add_axis(&request, shape, stride, &axes->mid, operands, false);
    return weft_axes_sort(&request);
}
