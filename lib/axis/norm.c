// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalisation. Checked by norm_check.c, planned and enqueued by axis_job.c; here:
// defines, arguments.
#include <weft/norm.h>

#include <stdio.h>

#include "axis/norm_call.h"
#include "runtime/context.h"

// ---- defines

static weft_status schedule_for(weft_axis_schedule *s, weft_norm_call *call)
{
    weft_axis_job *job = &call->job;
    job->source = &weft_source_norm;
    job->lines = "norm_lines";
    job->parts = "norm_parts";
    job->apply = "norm_apply";
    weft_defines_add_dtype(&job->defines, "DTYPE", job->problem.dtype);
    weft_defines_add(&job->defines, "RMS", call->is_rms);
    weft_defines_add(&job->defines, "WEIGHTED", call->weight != NULL);
    weft_defines_add(&job->defines, "BIASED", call->bias != NULL);
    return weft_axis_schedule_for(s, job);
}

// ---- arguments

static weft_status enqueue(weft_launch *launch, const weft_norm_call *call,
                           const weft_axis_schedule *s, cl_mem workspace)
{
    const weft_axis_job *job = &call->job;
    const weft_view x = weft_axis_input(job, 0, job->in[0]);
    const weft_view y = weft_view_of(&job->axes, 1);
    // Where there is no w or b X stands in: it is not read as such.
    const weft_view weight = call->weight ? weft_axis_input(job, 2, call->weight) : x;
    const weft_view bias = call->bias ? weft_axis_input(job, call->weight ? 3 : 2, call->bias) : x;
    const weft_tensor *X = job->in[0];
    const cl_mem weight_buffer = call->weight ? call->weight->buffer : X->buffer;
    const cl_mem bias_buffer = call->bias ? call->bias->buffer : X->buffer;
    weft_scalar epsilon;
    const weft_argument arguments[] = {
        VIEW_ARGUMENTS(x),
        VIEW_ARGUMENTS(y),
        VIEW_ARGUMENTS(weight),
        VIEW_ARGUMENTS(bias),
        ARGUMENT(X->buffer),
        ARGUMENT(job->out->buffer),
        ARGUMENT(weight_buffer),
        ARGUMENT(bias_buffer),
        weft_scalar_argument(&epsilon, job->problem.dtype, call->epsilon),
    };
    return weft_axis_enqueue(launch, job, s, workspace, sizeof(arguments) / sizeof(arguments[0]),
                             arguments);
}

// ---- calls

static weft_status run(weft_launch *launch, weft_norm_call *call, cl_mem workspace)
{
    weft_axis_schedule s;
    if (call->is_empty)
        return WEFT_OK;
    TRY(schedule_for(&s, call));
    return enqueue(launch, call, &s, workspace);
}

static weft_status norm_call(const char *name, bool is_rms, weft_context *ctx,
                             cl_command_queue queue, double epsilon, const weft_tensor *X,
                             int n_axes, const weft_tensor *Y, const weft_norm_params *params)
{
    params = params ? params : WEFT_NORM(.weight = NULL);
    weft_norm_call call;
    TRY(weft_norm_check(&call, name, is_rms, ctx, epsilon, X, n_axes, Y, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, name, params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_layer_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                            const weft_tensor *X, int n_axes, const weft_tensor *Y,
                            const weft_norm_params *params)
{
    return norm_call("layer_norm", false, ctx, queue, epsilon, X, n_axes, Y, params);
}

weft_status weft_rms_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                          const weft_tensor *X, int n_axes, const weft_tensor *Y,
                          const weft_norm_params *params)
{
    return norm_call("rms_norm", true, ctx, queue, epsilon, X, n_axes, Y, params);
}

// ---- what a call would do

weft_status weft_norm_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *Y, const weft_norm_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "norm_workspace: bytes is NULL");
    *bytes = 0;
    weft_norm_call call;
    weft_axis_schedule s;
    params = params ? params : WEFT_NORM(.weight = NULL);
    TRY(weft_norm_check(&call, "norm_workspace", false, ctx, 0, X, n_axes, Y, params));
    if (call.is_empty)
        return WEFT_OK;
    TRY(schedule_for(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

static int describe(const char *name, bool is_rms, weft_context *ctx, const weft_tensor *X,
                    int n_axes, const weft_tensor *Y, const weft_norm_params *params, char *text,
                    size_t size)
{
    weft_norm_call call;
    weft_axis_schedule s;
    params = params ? params : WEFT_NORM(.weight = NULL);
    if (weft_norm_check(&call, name, is_rms, ctx, 0, X, n_axes, Y, params) != WEFT_OK)
        return -1;
    if (call.is_empty)
        return snprintf(text, size, "nothing to do");
    if (schedule_for(&s, &call) != WEFT_OK)
        return -1;
    return weft_axis_schedule_print(&s, text, size);
}

int weft_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes, const weft_tensor *Y,
                       const weft_norm_params *params, char *text, size_t size)
{
    return describe("norm", false, ctx, X, n_axes, Y, params, text, size);
}

int weft_rms_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                           const weft_tensor *Y, const weft_norm_params *params, char *text,
                           size_t size)
{
    return describe("rms_norm", true, ctx, X, n_axes, Y, params, text, size);
}
