// SPDX-License-Identifier: Apache-2.0
// What weft_layer_norm() and weft_rms_norm() refuse at their door, and the call as it goes on from
// there; and what their backward refuses in the same words.
#include "axis/norm_call.h"

#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"

weft_status weft_norm_numbers_check(const char *what, double epsilon, const weft_tensor *X,
                                    int n_axes)
{
    if (!(epsilon >= 0) || !isfinite(epsilon) || !isfinite((float)epsilon))
        return fail(WEFT_BAD_ARGUMENT, "%s: epsilon is %g: 0 to 3.4e38 is wanted", what, epsilon);
    if (n_axes < 1 || n_axes > X->ndim)
        return fail(WEFT_BAD_ARGUMENT, "%s: n_axes is %d, X has %d dimensions", what, n_axes,
                    X->ndim);
    return WEFT_OK;
}

static weft_status match_check(const char *what, const weft_tensor *X, const weft_tensor *scaling,
                               const char *name, int n_axes)
{
    if (scaling->ndim != n_axes)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions, %d are normalised", what, name,
                    scaling->ndim, n_axes);
    for (int i = 0; i < n_axes; ++i) {
        const int d = X->ndim - n_axes + i;
        if (scaling->shape[i] != X->shape[d])
            return fail(WEFT_BAD_SHAPE,
                        "%s: extent %d of %s is %" PRId64 ", X's axis %d has %" PRId64, what, i,
                        name, scaling->shape[i], d, X->shape[d]);
    }
    const weft_dtype dtype = weft_dtype_or(scaling->dtype, WEFT_F32);
    const weft_dtype wanted = weft_dtype_or(X->dtype, WEFT_F32);
    if (dtype != wanted)
        return fail(WEFT_BAD_DTYPE, "%s: X is %s, %s %s; both want the same", what,
                    weft_dtype_name(wanted), name, weft_dtype_name(dtype));
    return WEFT_OK;
}

weft_status weft_norm_scaling_check(const char *what, const weft_tensor *X,
                                    const weft_tensor *scaling, const char *name, int n_axes)
{
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_tensor_form_check(scaling, weft_operand_text(text, what, name)));
    return match_check(what, X, scaling, name, n_axes);
}

weft_status weft_norm_gradient_check(const char *what, const weft_tensor *X,
                                     const weft_tensor *gradient, const char *name, int n_axes)
{
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_output_form_check(gradient, weft_operand_text(text, what, name)));
    return match_check(what, X, gradient, name, n_axes);
}

void weft_norm_add_scaling(weft_axes_request *request, int64_t stride[WEFT_MAX_NDIM],
                           const weft_tensor *scaling)
{
    for (int d = 0; d < request->ndim; ++d)
        stride[d] = request->is_reduced[d] ? scaling->stride[d - request->ndim + scaling->ndim] : 0;
    request->start[request->n_operands] = scaling->offset;
    request->stride[request->n_operands++] = stride;
}

static weft_axes sorted_axes(const weft_norm_call *call, int n_axes)
{
    const weft_tensor *X = call->job.in[0], *Y = call->job.out;
    int64_t weight_stride[WEFT_MAX_NDIM], bias_stride[WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = X->ndim,
        .is_folded = call->job.ctx->limits.fold > 1,
        .shape = X->shape,
        .n_operands = 2,
        .start = {X->offset, Y->offset},
        .stride = {X->stride, Y->stride},
    };
    for (int d = X->ndim - n_axes; d < X->ndim; ++d)
        request.is_reduced[d] = true;
    if (call->weight)
        weft_norm_add_scaling(&request, weight_stride, call->weight);
    if (call->bias)
        weft_norm_add_scaling(&request, bias_stride, call->bias);
    request.n_lines = request.n_operands;
    return weft_axes_sort(&request);
}

static weft_status operands_check(weft_norm_call *call, int n_axes)
{
    weft_axis_job *job = &call->job;
    const weft_tensor *X = job->in[0];
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_output_form_check(job->out, weft_operand_text(text, call->name, "Y")));
    TRY(weft_same_check(X, "X", job->out, "Y", call->name));
    TRY(weft_floating_check(job->ctx, X, "X", call->name));
    for (int i = 1; i < 3 && job->in[i]; ++i)
        TRY(weft_norm_scaling_check(call->name, X, job->in[i], job->in_names[i], n_axes));
    TRY(weft_axis_buffers_check(job, "Y"));
    call->is_empty = weft_tensor_is_empty(X);
    if (call->is_empty)
        return WEFT_OK;

    TRY(weft_alias_check(job->out, "Y", X, "X", call->name));
    for (int i = 1; i < 3 && job->in[i]; ++i)
        TRY(weft_tensor_overlap_check(job->out, "Y", job->in[i], job->in_names[i], call->name));
    job->axes = sorted_axes(call, n_axes);
    return weft_axis_problem_check(job, weft_dtype_or(X->dtype, WEFT_F32), call->is_rms ? 3 : 6,
                                   false);
}

weft_status weft_norm_check(weft_norm_call *out, const char *name, bool is_rms, weft_context *ctx,
                            double epsilon, const weft_tensor *X, int n_axes, const weft_tensor *Y,
                            const weft_norm_params *params)
{
    TRY(weft_context_check(ctx, name));
    if (!X || !Y)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", name, X ? "Y" : "X");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.size is %zu, not %zu: fill it by WEFT_NORM()",
                    name, params->size, sizeof(*params));
    *out = (weft_norm_call){
        .name = name,
        .is_rms = is_rms,
        .epsilon = epsilon,
        .weight = params->weight,
        .bias = params->bias,
        .job = {.ctx = ctx,
                .what = name,
                .in = {X, params->weight ? params->weight : params->bias,
                       params->weight ? params->bias : NULL},
                .in_names = {"X", params->weight ? "weight" : "bias", "bias"},
                .out = Y},
    };
    TRY(weft_axis_forced_read(&out->job, params->tiling, "tiling"));
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_tensor_form_check(X, weft_operand_text(text, name, "X")));
    TRY(weft_norm_numbers_check(name, epsilon, X, n_axes));
    return operands_check(out, n_axes);
}
