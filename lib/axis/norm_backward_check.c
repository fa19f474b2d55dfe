// SPDX-License-Identifier: Apache-2.0
// What weft_layer_norm_backward() and weft_rms_norm_backward() refuse at their door, and the call
// as it goes on from there.
#include "axis/norm_backward_call.h"

#include "axis/norm_call.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"

// ---- operands

static weft_status forms_check(const weft_norm_backward_call *call, int n_axes)
{
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_tensor_form_check(call->X, weft_operand_text(text, call->name, "X")));
    TRY(weft_norm_numbers_check(call->name, call->epsilon, call->X, n_axes));
    TRY(weft_tensor_form_check(call->dY, weft_operand_text(text, call->name, "dY")));
    TRY(weft_output_form_check(call->dX, weft_operand_text(text, call->name, "dX")));
    TRY(weft_same_check(call->X, "X", call->dY, "dY", call->name));
    TRY(weft_same_check(call->X, "X", call->dX, "dX", call->name));
    TRY(weft_floating_check(call->job.ctx, call->X, "X", call->name));
    if (call->weight)
        TRY(weft_norm_scaling_check(call->name, call->X, call->weight, "weight", n_axes));
    if (call->dW)
        TRY(weft_norm_gradient_check(call->name, call->X, call->dW, "dW", n_axes));
    if (call->db)
        TRY(weft_norm_gradient_check(call->name, call->X, call->db, "db", n_axes));
    return WEFT_OK;
}

static weft_status buffers_check(const weft_norm_backward_call *call)
{
    const weft_context *ctx = call->job.ctx;
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_axis_buffers_check(&call->job, "dX"));
    if (call->dW)
        TRY(weft_output_check(ctx, call->dW, weft_operand_text(text, call->name, "dW")));
    if (call->db)
        TRY(weft_output_check(ctx, call->db, weft_operand_text(text, call->name, "db")));
    return WEFT_OK;
}

// dW and db, and what else is apart from all that is read.
static weft_status outputs_of(weft_outputs *outputs, const weft_norm_backward_call *call)
{
    const weft_context *ctx = call->job.ctx;
    *outputs = (weft_outputs){.op = call->name};
    if (call->dW)
        TRY(weft_outputs_add_tensor(outputs, ctx, call->dW, "dW"));
    if (call->db)
        TRY(weft_outputs_add_tensor(outputs, ctx, call->db, "db"));
    return WEFT_OK;
}

static weft_status apart_from_inputs_check(const weft_outputs *outputs,
                                           const weft_norm_backward_call *call)
{
    TRY(weft_outputs_apart_from_tensor(outputs, call->X, "X"));
    TRY(weft_outputs_apart_from_tensor(outputs, call->dY, "dY"));
    return call->weight ? weft_outputs_apart_from_tensor(outputs, call->weight, "weight") : WEFT_OK;
}

// X and dY are read for dW and db when dX has been written.
static weft_status in_place_check(const weft_norm_backward_call *call, const weft_tensor *input,
                                  const char *name)
{
    if (weft_tensor_is_empty(call->dX) || !weft_tensor_is_same(call->dX, input))
        return WEFT_OK;
    return fail(
        WEFT_BAD_BUFFER,
        "%s: dX is %s itself: that is allowed only without dW and db, whose sums read %s later",
        call->name, name, name);
}

static weft_status overlaps_check(const weft_norm_backward_call *call)
{
    weft_outputs outputs;
    TRY(outputs_of(&outputs, call));
    if (outputs.n > 0) {
        TRY(in_place_check(call, call->X, "X"));
        TRY(in_place_check(call, call->dY, "dY"));
        TRY(weft_outputs_add_tensor(&outputs, call->job.ctx, call->dX, "dX"));
        TRY(weft_outputs_apart(&outputs));
        return apart_from_inputs_check(&outputs, call);
    }
    TRY(weft_alias_check(call->dX, "dX", call->X, "X", call->name));
    TRY(weft_alias_check(call->dX, "dX", call->dY, "dY", call->name));
    return call->weight
               ? weft_tensor_overlap_check(call->dX, "dX", call->weight, "weight", call->name)
               : WEFT_OK;
}

weft_status weft_norm_backward_workspace_check(const weft_norm_backward_call *call,
                                               cl_mem workspace, size_t bytes)
{
    weft_outputs outputs;
    TRY(outputs_of(&outputs, call));
    TRY(weft_outputs_add_tensor(&outputs, call->job.ctx, call->dX, "dX"));
    TRY(weft_outputs_add_workspace(&outputs, call->job.ctx, workspace, bytes));
    weft_outputs scratch = {.op = call->name};
    TRY(weft_outputs_add_workspace(&scratch, call->job.ctx, workspace, bytes));
    TRY(weft_outputs_apart(&outputs));
    return apart_from_inputs_check(&scratch, call);
}

// ---- axes

// Where there are no rows, X, dY and dX are as if they had one, which nobody touches.
static weft_axes sorted_axes(const weft_norm_backward_call *call, int n_axes)
{
    static const int64_t nowhere[WEFT_MAX_NDIM];
    const weft_tensor *const tensors[3] = {call->X, call->dY, call->dX};
    const int ndim = call->X->ndim;
    int64_t shape[WEFT_MAX_NDIM], stride[3][WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = ndim, .is_folded = call->job.ctx->limits.fold > 1, .shape = shape};
    for (int d = 0; d < ndim; ++d) {
        request.is_reduced[d] = d >= ndim - n_axes;
        shape[d] = request.is_reduced[d] || call->rows > 0 ? call->X->shape[d] : 1;
    }
    for (; request.n_operands < 3; ++request.n_operands) {
        const weft_tensor *tensor = tensors[request.n_operands];
        request.start[request.n_operands] = call->rows > 0 ? tensor->offset : 0;
        request.stride[request.n_operands] = call->rows > 0 ? tensor->stride : nowhere;
    }
    if (call->weight)
        weft_norm_add_scaling(&request, stride[0], call->weight);
    request.n_lines = request.n_operands;
    if (call->dW)
        weft_norm_add_scaling(&request, stride[1], call->dW);
    if (call->db)
        weft_norm_add_scaling(&request, stride[2], call->db);
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

// The same axes, but what was kept is reduced, in the order in which rows are told: high, then low.
static weft_axes turned_axes(const weft_norm_backward_call *call)
{
    const weft_axes *axes = &call->job.axes;
    const int first = call->weight ? 4 : 3; // dW or db
    const int operands[4] = {0, 1, first, first + 1};
    int64_t shape[WEFT_MAX_NDIM], stride[WEFT_AXES_MOST_OPERANDS][WEFT_MAX_NDIM];
    weft_axes_request request = {
        .shape = shape,
        .in_order = true,
        .is_folded = call->job.ctx->limits.fold > 1,
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

// ---- the call

static int64_t product_of(const weft_tensor *X, int first, int last)
{
    int64_t n = 1;
    for (int d = first; d < last; ++d)
        n *= X->shape[d];
    return n;
}

static weft_status operands_check(weft_norm_backward_call *call, int n_axes)
{
    const weft_tensor *X = call->X;
    TRY(forms_check(call, n_axes));
    TRY(buffers_check(call));
    call->rows = product_of(X, 0, X->ndim - n_axes);
    const bool is_told = call->dW || call->db;
    call->is_empty = product_of(X, X->ndim - n_axes, X->ndim) == 0 || (call->rows == 0 && !is_told);
    if (call->is_empty)
        return WEFT_OK;

    const weft_dtype dtype = weft_dtype_or(X->dtype, WEFT_F32);
    TRY(overlaps_check(call));
    call->job.axes = sorted_axes(call, n_axes);
    if (call->rows > 0)
        TRY(weft_axis_problem_check(&call->job, dtype, call->is_rms ? 5 : 10, false));
    if (!is_told)
        return WEFT_OK;
    call->scaling.axes = turned_axes(call);
    return weft_axis_problem_check(&call->scaling, dtype, 4, false);
}

static weft_status arguments_check(const char *name, const weft_tensor *X, const weft_tensor *dY,
                                   const weft_tensor *dX, const weft_norm_backward_params *params)
{
    if (!X || !dY || !dX)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", name, !X ? "X" : !dY ? "dY" : "dX");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_NORM_BACKWARD()", name,
                    params->size, sizeof(*params));
    return WEFT_OK;
}

weft_status weft_norm_backward_check(weft_norm_backward_call *out, const char *name, bool is_rms,
                                     weft_context *ctx, double epsilon, const weft_tensor *X,
                                     int n_axes, const weft_tensor *dY, const weft_tensor *dX,
                                     const weft_norm_backward_params *params)
{
    TRY(weft_context_check(ctx, name));
    TRY(arguments_check(name, X, dY, dX, params));
    const weft_axis_job job = {.ctx = ctx,
                               .what = name,
                               .in = {X, dY, params->weight},
                               .in_names = {"X", "dY", "weight"},
                               .out = dX};
    *out = (weft_norm_backward_call){
        .name = name,
        .is_rms = is_rms,
        .epsilon = epsilon,
        .X = X,
        .dY = dY,
        .dX = dX,
        .weight = params->weight,
        .dW = params->dW,
        .db = params->db,
        .job = job,
        .scaling = {.ctx = ctx, .what = name, .joins = true},
    };
    TRY(weft_axis_forced_read(&out->job, params->tiling, "tiling"));
    TRY(weft_axis_forced_read(&out->scaling, params->scaling_tiling, "scaling_tiling"));
    return operands_check(out, n_axes);
}
