// SPDX-License-Identifier: Apache-2.0
// Dense operations in weft explain: the calls, and their least bytes and operations.
#include <string.h>

#include <weft/matmul.h>
#include <weft/norm.h>
#include <weft/softmax.h>

#include "explain_stage.h"
#include "reduce.h"
#include "reference_axis.h"

static bool explain_reduce(explain_stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    int64_t shape[WEFT_MAX_NDIM];
    if (!stage_operand(&X, s, 1, "X") || !stage_ends_at(s, 2))
        return false;
    for (int i = 0; i < o->n_axes; i++)
        if (o->axes[i] < -X.ndim || o->axes[i] >= X.ndim)
            return complain(s->why, "reduce: there is no axis %d, X has %d", o->axes[i], X.ndim);
    const int ndim = reference_reduced_shape(X.ndim, X.shape, o->n_axes, o->axes, false, shape);
    const weft_tensor Y =
        stage_view(s, reduce_dtype(s->answer->limits, o->reduction, o->dtype), ndim, shape, false);
    s->answer->operations = stage_elements(&X);
    return stage_called(
               s, weft_reduce(s->ctx, NULL, o->reduction, &X, o->n_axes, o->axes, &Y, NULL)) &&
           stage_described(s, weft_reduce_describe(s->ctx, o->reduction, &X, o->n_axes, o->axes, &Y,
                                                   NULL, STAGE_PLAN(s)));
}

// Softmax's operand and its axis.
static bool softmax_operand(weft_tensor *out, int *axis, explain_stage *s, const char *name)
{
    const explain_options *o = s->options;
    *axis = o->n_axes > 0 ? o->axes[0] : -1;
    if (!stage_operand(out, s, 1, name) || !stage_ends_at(s, 2))
        return false;
    return o->n_axes < 2 || complain_usage(s->why, "%s: %d axes; give one", o->words[0], o->n_axes);
}

static bool explain_softmax(explain_stage *s)
{
    weft_tensor X;
    int axis;
    if (!softmax_operand(&X, &axis, s, "X"))
        return false;
    const bool is_log = s->options->is_log;
    const weft_tensor Y = stage_view(s, X.dtype, X.ndim, X.shape, false);
    s->answer->operations = SOFTMAX_OPERATIONS * stage_elements(&X);
    return stage_called(s, (is_log ? weft_log_softmax : weft_softmax)(s->ctx, NULL, 1, &X, axis, &Y,
                                                                      NULL)) &&
           stage_described(s, (is_log ? weft_log_softmax_describe : weft_softmax_describe)(
                                  s->ctx, &X, axis, &Y, NULL, STAGE_PLAN(s)));
}

static bool explain_softmax_backward(explain_stage *s)
{
    weft_tensor Y;
    int axis;
    if (!softmax_operand(&Y, &axis, s, "Y"))
        return false;
    const bool is_log = s->options->is_log;
    const weft_tensor dY = stage_view(s, Y.dtype, Y.ndim, Y.shape, false);
    const weft_tensor dX = stage_view(s, Y.dtype, Y.ndim, Y.shape, false);
    s->answer->operations = SOFTMAX_BACKWARD_OPERATIONS * stage_elements(&Y);
    return stage_called(s, (is_log ? weft_log_softmax_backward : weft_softmax_backward)(
                               s->ctx, NULL, 1, &Y, &dY, axis, &dX, NULL)) &&
           stage_described(s, (is_log ? weft_log_softmax_backward_describe
                                      : weft_softmax_backward_describe)(s->ctx, &Y, &dY, axis, &dX,
                                                                        NULL, STAGE_PLAN(s)));
}

// Of each element: its share of the mean, the difference from it, the square of that and its share
// of the variance, the product; without a mean two less.
enum { NORM_OPERATIONS = 5, RMS_OPERATIONS = 3 };

static bool explain_norm(explain_stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    if (!stage_operand(&X, s, 1, "X") || !stage_ends_at(s, 2))
        return false;
    const weft_tensor Y = stage_view(s, o->dtype, X.ndim, X.shape, false);
    s->answer->operations = (o->is_rms ? RMS_OPERATIONS : NORM_OPERATIONS) * stage_elements(&X);
    return stage_called(s, (o->is_rms ? weft_rms_norm : weft_layer_norm)(s->ctx, NULL, 1e-5, &X,
                                                                         o->norm_axes, &Y, NULL)) &&
           stage_described(s, (o->is_rms ? weft_rms_norm_describe : weft_norm_describe)(
                                  s->ctx, &X, o->norm_axes, &Y, NULL, STAGE_PLAN(s)));
}

// Of each element besides: its gradient's share of the mean and of the products, the difference
// from both, and its shares of dW and db; the distance once more.
enum { NORM_BACKWARD_OPERATIONS = 12, RMS_BACKWARD_OPERATIONS = 9 };

static bool explain_norm_backward(explain_stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    if (!stage_operand(&X, s, 1, "X") || !stage_ends_at(s, 2))
        return false;
    if (o->norm_axes > X.ndim)
        return complain(s->why, "norm_backward: --axes is %d, X has %d", o->norm_axes, X.ndim);
    const weft_tensor dY = stage_view(s, o->dtype, X.ndim, X.shape, false);
    const weft_tensor dX = stage_view(s, o->dtype, X.ndim, X.shape, false);
    const int64_t *last = X.shape + X.ndim - o->norm_axes;
    const weft_tensor weight = stage_view(s, o->dtype, o->norm_axes, last, false);
    const weft_tensor dW = stage_view(s, o->dtype, o->norm_axes, last, false);
    const weft_tensor db = o->is_rms ? dW : stage_view(s, o->dtype, o->norm_axes, last, false);
    const weft_norm_backward_params params = {
        .size = sizeof(params), .weight = &weight, .dW = &dW, .db = o->is_rms ? NULL : &db};
    s->answer->operations =
        (o->is_rms ? RMS_BACKWARD_OPERATIONS : NORM_BACKWARD_OPERATIONS) * stage_elements(&X);
    return stage_called(s, (o->is_rms ? weft_rms_norm_backward : weft_layer_norm_backward)(
                               s->ctx, NULL, 1e-5, &X, o->norm_axes, &dY, &dX, &params)) &&
           stage_described(
               s, (o->is_rms ? weft_rms_norm_backward_describe : weft_norm_backward_describe)(
                      s->ctx, &X, o->norm_axes, &dY, &dX, &params, STAGE_PLAN(s)));
}

// The shape of A's and B's product; batches broadcast.
static int product_shape(int64_t shape[WEFT_MAX_NDIM], const weft_tensor *A, const weft_tensor *B)
{
    const weft_tensor *longer = A->ndim >= B->ndim ? A : B, *shorter = longer == A ? B : A;
    const int more = longer->ndim - shorter->ndim;
    memcpy(shape, longer->shape, sizeof(longer->shape));
    for (int d = 0; d < shorter->ndim; d++)
        if (shape[more + d] == 1)
            shape[more + d] = shorter->shape[d];
    shape[longer->ndim - 2] = A->shape[A->ndim - 2];
    shape[longer->ndim - 1] = B->shape[B->ndim - 1];
    return longer->ndim;
}

static bool explain_matmul(explain_stage *s)
{
    weft_tensor A, B;
    int64_t shape[WEFT_MAX_NDIM];
    if (!stage_operand(&A, s, 1, "A") || !stage_operand(&B, s, 2, "B") || !stage_ends_at(s, 3) ||
        !stage_has_axes(s, &A, "A", 2, WEFT_MAX_NDIM) ||
        !stage_has_axes(s, &B, "B", 2, WEFT_MAX_NDIM))
        return false;
    const int ndim = product_shape(shape, &A, &B);
    const weft_dtype c_dtype = A.dtype == WEFT_I8 ? WEFT_I32 : A.dtype;
    const weft_tensor C = stage_view(s, c_dtype, ndim, shape, false);
    s->answer->operations = 2 * stage_elements(&C) * (double)A.shape[A.ndim - 1];
    return stage_called(s, weft_matmul(s->ctx, NULL, 1, &A, &B, 0, &C, NULL)) &&
           stage_described(s, weft_matmul_describe(s->ctx, &A, &B, &C, NULL, STAGE_PLAN(s)));
}

const explain_operation explain_dense_operations[] = {
    {"reduce", 0, false, explain_reduce},
    {"softmax", 0, false, explain_softmax},
    {"softmax_backward", 0, false, explain_softmax_backward},
    {"norm", 0, false, explain_norm},
    {"norm_backward", 0, false, explain_norm_backward},
    {"matmul", 0, false, explain_matmul},
    {NULL, 0, false, NULL},
};
