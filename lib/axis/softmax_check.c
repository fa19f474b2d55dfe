// SPDX-License-Identifier: Apache-2.0
// What weft_softmax() and its kin refuse at their door, and the call as it goes on from there.
#include "axis/softmax_call.h"

#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"

static weft_status params_check(const weft_softmax_kind *kind, const weft_softmax_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.size is %zu, not %zu: fill it by WEFT_SOFTMAX()",
                    kind->name, params->size, sizeof(*params));
    return WEFT_OK;
}

static weft_status axis_check(int *out, const weft_softmax_kind *kind, const weft_tensor *in,
                              int axis)
{
    if (in->ndim < 1 || axis < -in->ndim || axis >= in->ndim)
        return fail(WEFT_BAD_ARGUMENT, "%s: axis is %d, %s has %d dimensions", kind->name, axis,
                    kind->in_names[0], in->ndim);
    *out = axis < 0 ? axis + in->ndim : axis;
    return WEFT_OK;
}

static weft_status scale_check(const weft_softmax_kind *kind, weft_dtype dtype, double scale)
{
    if (!isfinite(scale) || (dtype != WEFT_F64 && !isfinite((float)scale)))
        return fail(WEFT_BAD_ARGUMENT, "%s: scale is %g: a finite one is wanted", kind->name,
                    scale);
    return WEFT_OK;
}

static weft_axes sorted_axes(const weft_axis_job *job, int axis)
{
    weft_axes_request request = {
        .ndim = job->out->ndim,
        .is_folded = job->ctx->limits.fold > 1,
        .shape = job->out->shape,
    };
    request.is_reduced[axis] = true;
    for (int i = 0; i < 2 && job->in[i]; ++i) {
        request.start[request.n_operands] = job->in[i]->offset;
        request.stride[request.n_operands++] = job->in[i]->stride;
    }
    request.start[request.n_operands] = job->out->offset;
    request.stride[request.n_operands++] = job->out->stride;
    request.n_lines = request.n_operands;
    return weft_axes_sort(&request);
}

static weft_status operands_check(weft_softmax_call *call, int axis)
{
    const weft_softmax_kind *kind = call->kind;
    weft_axis_job *job = &call->job;
    char name[WEFT_OPERAND_TEXT];
    for (int i = 0; i < 2 && job->in[i]; ++i)
        TRY(weft_tensor_form_check(job->in[i],
                                   weft_operand_text(name, kind->name, kind->in_names[i])));
    TRY(weft_output_form_check(job->out, weft_operand_text(name, kind->name, kind->out_name)));
    TRY(axis_check(&axis, kind, job->in[0], axis));
    if (job->in[1])
        TRY(weft_same_check(job->in[0], kind->in_names[0], job->in[1], kind->in_names[1],
                            kind->name));
    TRY(weft_same_check(job->in[0], kind->in_names[0], job->out, kind->out_name, kind->name));
    TRY(weft_floating_check(job->ctx, job->in[0], kind->in_names[0], kind->name));
    const weft_dtype dtype = weft_dtype_or(job->out->dtype, WEFT_F32);
    TRY(scale_check(kind, dtype, call->scale));
    TRY(weft_axis_buffers_check(job, kind->out_name));
    call->is_empty = weft_tensor_is_empty(job->out);
    if (call->is_empty)
        return WEFT_OK;

    for (int i = 0; i < 2 && job->in[i]; ++i)
        TRY(weft_alias_check(job->out, kind->out_name, job->in[i], kind->in_names[i], kind->name));
    job->axes = sorted_axes(job, axis);
    return weft_axis_problem_check(job, dtype, kind->is_backward ? 2 : 3,
                                   !kind->is_backward && !kind->is_log);
}

weft_status weft_softmax_check(weft_softmax_call *out, const weft_softmax_kind *kind,
                               weft_context *ctx, double scale, const weft_tensor *first,
                               const weft_tensor *second, int axis, const weft_tensor *last,
                               const weft_softmax_params *params)
{
    TRY(weft_context_check(ctx, kind->name));
    if (!first || (kind->is_backward && !second) || !last)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", kind->name,
                    !first  ? kind->in_names[0]
                    : !last ? kind->out_name
                            : kind->in_names[1]);
    TRY(params_check(kind, params));
    *out = (weft_softmax_call){
        .kind = kind,
        .scale = scale,
        .masked = params->masked,
        .job = {.ctx = ctx,
                .what = kind->name,
                .in = {first, second},
                .in_names = {kind->in_names[0], kind->in_names[1]},
                .out = last},
    };
    TRY(weft_axis_forced_read(&out->job, params->tiling, "tiling"));
    return operands_check(out, axis);
}
