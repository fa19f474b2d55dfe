// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and their backward. Checked by softmax_check.c, planned and enqueued by
// axis_job.c; here: defines, arguments.
#include <weft/softmax.h>

#include <stdio.h>

#include "axis/softmax_call.h"
#include "operand/view.h"
#include "runtime/context.h"

static const weft_softmax_kind softmax = {.name = "softmax", .in_names = {"X"}, .out_name = "Y"};
static const weft_softmax_kind log_softmax = {
    .name = "log_softmax", .is_log = true, .in_names = {"X"}, .out_name = "Y"};
static const weft_softmax_kind softmax_backward = {
    .name = "softmax_backward", .is_backward = true, .in_names = {"Y", "dY"}, .out_name = "dX"};
static const weft_softmax_kind log_softmax_backward = {.name = "log_softmax_backward",
                                                       .is_log = true,
                                                       .is_backward = true,
                                                       .in_names = {"Y", "dY"},
                                                       .out_name = "dX"};

// ---- defines

static void forward_kernels(weft_axis_job *job, const weft_softmax_call *call)
{
    job->source = &weft_source_softmax;
    job->lines = "softmax_lines";
    job->parts = "softmax_parts";
    job->apply = "softmax_apply";
    weft_defines_add(&job->defines, "SCALED", call->scale != 1);
}

static void backward_kernels(weft_axis_job *job)
{
    job->source = &weft_source_softmax_backward;
    job->lines = "softmax_backward_lines";
    job->parts = "softmax_backward_parts";
    job->apply = "softmax_backward_apply";
}

static weft_status schedule_for(weft_axis_schedule *s, weft_softmax_call *call)
{
    weft_axis_job *job = &call->job;
    weft_defines_add_dtype(&job->defines, "DTYPE", job->problem.dtype);
    weft_defines_add(&job->defines, "LOG", call->kind->is_log);
    if (call->kind->is_backward)
        backward_kernels(job);
    else
        forward_kernels(job, call);
    return weft_axis_schedule_for(s, job);
}

// ---- arguments

static weft_status enqueue_forward(weft_launch *launch, const weft_softmax_call *call,
                                   const weft_axis_schedule *s, cl_mem workspace)
{
    const weft_axis_job *job = &call->job;
    const weft_view x = weft_axis_input(job, 0, job->in[0]);
    const weft_view y = weft_view_of(&job->axes, 1);
    const cl_int masked = call->masked;
    weft_scalar scale;
    const weft_argument arguments[] = {
        VIEW_ARGUMENTS(x),
        VIEW_ARGUMENTS(y),
        ARGUMENT(job->in[0]->buffer),
        ARGUMENT(job->out->buffer),
        weft_scalar_argument(&scale, job->problem.dtype, call->scale),
        ARGUMENT(masked),
    };
    return weft_axis_enqueue(launch, job, s, workspace, sizeof(arguments) / sizeof(arguments[0]),
                             arguments);
}

static weft_status enqueue_backward(weft_launch *launch, const weft_softmax_call *call,
                                    const weft_axis_schedule *s, cl_mem workspace)
{
    const weft_axis_job *job = &call->job;
    const weft_view y = weft_axis_input(job, 0, job->in[0]);
    const weft_view dy = weft_axis_input(job, 1, job->in[1]);
    const weft_view dx = weft_view_of(&job->axes, 2);
    weft_scalar scale;
    const weft_argument arguments[] = {
        VIEW_ARGUMENTS(y),
        VIEW_ARGUMENTS(dy),
        VIEW_ARGUMENTS(dx),
        ARGUMENT(job->in[0]->buffer),
        ARGUMENT(job->in[1]->buffer),
        ARGUMENT(job->out->buffer),
        weft_scalar_argument(&scale, job->problem.dtype, call->scale),
    };
    return weft_axis_enqueue(launch, job, s, workspace, sizeof(arguments) / sizeof(arguments[0]),
                             arguments);
}

// ---- calls

static weft_status run(weft_launch *launch, weft_softmax_call *call, cl_mem workspace)
{
    weft_axis_schedule s;
    if (call->is_empty)
        return WEFT_OK;
    TRY(schedule_for(&s, call));
    return call->kind->is_backward ? enqueue_backward(launch, call, &s, workspace)
                                   : enqueue_forward(launch, call, &s, workspace);
}

static weft_status softmax_call(const weft_softmax_kind *kind, weft_context *ctx,
                                cl_command_queue queue, double scale, const weft_tensor *first,
                                const weft_tensor *second, int axis, const weft_tensor *last,
                                const weft_softmax_params *params)
{
    params = params ? params : WEFT_SOFTMAX(.masked = false);
    weft_softmax_call call;
    TRY(weft_softmax_check(&call, kind, ctx, scale, first, second, axis, last, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, kind->name, params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                         const weft_tensor *X, int axis, const weft_tensor *Y,
                         const weft_softmax_params *params)
{
    return softmax_call(&softmax, ctx, queue, scale, X, NULL, axis, Y, params);
}

weft_status weft_log_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                             const weft_tensor *X, int axis, const weft_tensor *Y,
                             const weft_softmax_params *params)
{
    return softmax_call(&log_softmax, ctx, queue, scale, X, NULL, axis, Y, params);
}

weft_status weft_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *Y, const weft_tensor *dY, int axis,
                                  const weft_tensor *dX, const weft_softmax_params *params)
{
    return softmax_call(&softmax_backward, ctx, queue, scale, Y, dY, axis, dX, params);
}

weft_status weft_log_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                      const weft_tensor *Y, const weft_tensor *dY, int axis,
                                      const weft_tensor *dX, const weft_softmax_params *params)
{
    return softmax_call(&log_softmax_backward, ctx, queue, scale, Y, dY, axis, dX, params);
}

// ---- what a call would do

weft_status weft_softmax_workspace(weft_context *ctx, const weft_tensor *X, int axis,
                                   const weft_tensor *Y, const weft_softmax_params *params,
                                   size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "softmax_workspace: bytes is NULL");
    *bytes = 0;
    weft_softmax_call call;
    weft_axis_schedule s;
    params = params ? params : WEFT_SOFTMAX(.masked = false);
    TRY(weft_softmax_check(&call, &softmax, ctx, 1, X, NULL, axis, Y, params));
    if (call.is_empty)
        return WEFT_OK;
    TRY(schedule_for(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

static int describe(const weft_softmax_kind *kind, weft_context *ctx, const weft_tensor *first,
                    const weft_tensor *second, int axis, const weft_tensor *last,
                    const weft_softmax_params *params, char *text, size_t size)
{
    weft_softmax_call call;
    weft_axis_schedule s;
    params = params ? params : WEFT_SOFTMAX(.masked = false);
    if (weft_softmax_check(&call, kind, ctx, 1, first, second, axis, last, params) != WEFT_OK)
        return -1;
    if (call.is_empty)
        return snprintf(text, size, "nothing to do");
    if (schedule_for(&s, &call) != WEFT_OK)
        return -1;
    return weft_axis_schedule_print(&s, text, size);
}

int weft_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis, const weft_tensor *Y,
                          const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&softmax, ctx, X, NULL, axis, Y, params, text, size);
}

int weft_log_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                              const weft_tensor *Y, const weft_softmax_params *params, char *text,
                              size_t size)
{
    return describe(&log_softmax, ctx, X, NULL, axis, Y, params, text, size);
}

int weft_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y, const weft_tensor *dY,
                                   int axis, const weft_tensor *dX,
                                   const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&softmax_backward, ctx, Y, dY, axis, dX, params, text, size);
}

int weft_log_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                       const weft_tensor *dY, int axis, const weft_tensor *dX,
                                       const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&log_softmax_backward, ctx, Y, dY, axis, dX, params, text, size);
}
