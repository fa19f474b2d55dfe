// SPDX-License-Identifier: Apache-2.0
// The backward of layer and RMS normalisation. Checked by norm_backward_check.c, planned by
// axis_job.c; here: defines, scratch memory, arguments, enqueue.
#include <weft/norm.h>

#include <inttypes.h>
#include <stdio.h>

#include "axis/norm_backward_call.h"
#include "base/arithmetic.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/scratch.h"

// dX is written first, then what both kernels for dW and db make of X and dY. Scratch memory holds
// what is told of rows, and from `found` bytes on what parts find, of dX first.
typedef struct {
    weft_axis_schedule dx, scaling; // `dx` is not there without rows, `scaling` unless it is wanted
    size_t scratch_bytes;
    cl_long found;
} schedule;

// ---- defines

static bool is_told(const weft_norm_backward_call *call)
{
    return call->dW || call->db;
}

static weft_status dx_schedule_for(weft_axis_schedule *s, weft_norm_backward_call *call)
{
    weft_axis_job *job = &call->job;
    job->source = &weft_source_norm_backward;
    job->lines = "norm_backward_lines";
    job->parts = "norm_backward_parts";
    job->apply = "norm_backward_apply";
    job->keeps_much = true;
    weft_defines_add_dtype(&job->defines, "DTYPE", job->problem.dtype);
    weft_defines_add(&job->defines, "RMS", call->is_rms);
    weft_defines_add(&job->defines, "WEIGHTED", call->weight != NULL);
    weft_defines_add(&job->defines, "TELLS", is_told(call));
    return weft_axis_schedule_for(s, job);
}

static weft_status scaling_schedule_for(weft_axis_schedule *s, weft_norm_backward_call *call)
{
    weft_axis_job *job = &call->scaling;
    job->source = &weft_source_norm_scaling;
    job->parts = "norm_scaling_parts";
    job->apply = "norm_scaling_join";
    weft_defines_add_dtype(&job->defines, "DTYPE", job->problem.dtype);
    weft_defines_add(&job->defines, "RMS", call->is_rms);
    TRY(weft_axis_schedule_for(s, job));
    if (call->rows == 0)
        weft_walk_clear(&s->walk);
    return WEFT_OK;
}

// ---- scratch memory

static weft_status scratch_for(schedule *s, const weft_norm_backward_call *call)
{
    const weft_dtype dtype = call->job.problem.dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    weft_scratch scratch = {0};
    int64_t numbers = 0;
    const bool fits =
        weft_walk_pitch(call->rows, &numbers) && mul_i64(numbers, call->is_rms ? 1 : 3, &numbers);
    if (is_told(call) && fits)
        weft_scratch_add(&scratch, numbers, dtype);
    s->found = (cl_long)scratch.bytes;
    const size_t dx = s->dx.scratch_bytes, scaling = s->scaling.scratch_bytes;
    const size_t found = dx > scaling ? dx : scaling;
    if (!fits || scratch.bytes > SIZE_MAX / 2 || found > SIZE_MAX / 2 - scratch.bytes)
        return fail(WEFT_NO_MEMORY,
                    "%s: what is kept of %" PRId64 " rows has no room in scratch memory",
                    call->name, call->rows);
    s->scratch_bytes = scratch.bytes + found;
    return WEFT_OK;
}

static weft_status schedule_for(schedule *s, weft_norm_backward_call *call)
{
    *s = (schedule){.scratch_bytes = 0};
    if (call->rows > 0)
        TRY(dx_schedule_for(&s->dx, call));
    if (is_told(call))
        TRY(scaling_schedule_for(&s->scaling, call));
    return scratch_for(s, call);
}

// ---- arguments

static weft_status enqueue_dx(weft_launch *launch, const weft_norm_backward_call *call,
                              const schedule *s, cl_mem scratch)
{
    const weft_axis_job *job = &call->job;
    const weft_view x = weft_axis_input(job, 0, call->X);
    const weft_view dy = weft_axis_input(job, 1, call->dY);
    const weft_view dx = weft_view_of(&job->axes, 2);
    // Where there is no w X stands in: it is not read as such.
    const weft_tensor *weight = call->weight ? call->weight : call->X;
    const weft_view weight_view = call->weight ? weft_axis_input(job, 3, weight) : x;
    weft_scalar epsilon;
    const weft_argument arguments[] = {
        VIEW_ARGUMENTS(x),
        VIEW_ARGUMENTS(dy),
        VIEW_ARGUMENTS(weight_view),
        VIEW_ARGUMENTS(dx),
        ARGUMENT(call->X->buffer),
        ARGUMENT(call->dY->buffer),
        ARGUMENT(weight->buffer),
        ARGUMENT(call->dX->buffer),
        weft_scalar_argument(&epsilon, job->problem.dtype, call->epsilon),
        ARGUMENT(s->found),
    };
    return weft_axis_enqueue_in(launch, job, &s->dx, scratch,
                                sizeof(arguments) / sizeof(arguments[0]), arguments);
}

static weft_status enqueue_scaling(weft_launch *launch, const weft_norm_backward_call *call,
                                   const schedule *s, cl_mem scratch)
{
    const weft_axis_job *job = &call->scaling;
    const weft_view x = weft_view_of(&job->axes, 0), dy = weft_view_of(&job->axes, 1);
    // Without rows X and dY may have no buffers, and some buffer must stand in.
    const bool has_rows = call->rows > 0;
    const weft_argument arguments[] = {
        VIEW_ARGUMENTS(x),
        VIEW_ARGUMENTS(dy),
        has_rows ? ARGUMENT(call->X->buffer) : ARGUMENT(scratch),
        has_rows ? ARGUMENT(call->dY->buffer) : ARGUMENT(scratch),
        ARGUMENT(s->found),
        ARGUMENT(scratch),
    };
    return weft_axis_enqueue_sweep(launch, &s->scaling, s->scaling.kernels[0],
                                   sizeof(arguments) / sizeof(arguments[0]), arguments, NULL);
}

// Where one of them is not wanted the other stands in: it is not written as such.
static weft_status enqueue_join(weft_launch *launch, const weft_norm_backward_call *call,
                                const schedule *s, cl_mem scratch)
{
    const weft_axes *axes = &call->scaling.axes;
    const weft_tensor *dW = call->dW ? call->dW : call->db, *db = call->db ? call->db : call->dW;
    const weft_view dw_view = weft_view_of(axes, 2);
    const weft_view db_view = weft_view_of(axes, axes->n_operands - 1);
    const cl_int wants_dw = call->dW != NULL, wants_db = call->db != NULL;
    const weft_argument list[] = {
        WALK_ARGUMENTS(s->scaling.walk),
        VIEW_ARGUMENTS(dw_view),
        VIEW_ARGUMENTS(db_view),
        ARGUMENT(dW->buffer),
        ARGUMENT(db->buffer),
        ARGUMENT(wants_dw),
        ARGUMENT(wants_db),
        ARGUMENT(s->found),
        ARGUMENT(scratch),
    };
    size_t global[3], local[3];
    weft_walk_join_grid(&s->scaling.walk, &s->scaling.tiling, global, local);
    return weft_launch_kernel(launch, s->scaling.kernels[1], sizeof(list) / sizeof(list[0]), list,
                              global, local);
}

static weft_status enqueue(weft_launch *launch, const weft_norm_backward_call *call,
                           const schedule *s, cl_mem scratch)
{
    if (call->rows > 0)
        TRY(enqueue_dx(launch, call, s, scratch));
    if (!is_told(call))
        return WEFT_OK;
    TRY(enqueue_scaling(launch, call, s, scratch));
    return enqueue_join(launch, call, s, scratch);
}

// ---- calls

static weft_status run(weft_launch *launch, weft_norm_backward_call *call, cl_mem workspace)
{
    schedule s;
    if (call->is_empty)
        return WEFT_OK;
    TRY(schedule_for(&s, call));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_norm_backward_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

static weft_status backward_call(const char *name, bool is_rms, weft_context *ctx,
                                 cl_command_queue queue, double epsilon, const weft_tensor *X,
                                 int n_axes, const weft_tensor *dY, const weft_tensor *dX,
                                 const weft_norm_backward_params *params)
{
    params = params ? params : WEFT_NORM_BACKWARD(.weight = NULL);
    weft_norm_backward_call call;
    TRY(weft_norm_backward_check(&call, name, is_rms, ctx, epsilon, X, n_axes, dY, dX, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, name, params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_layer_norm_backward(weft_context *ctx, cl_command_queue queue, double epsilon,
                                     const weft_tensor *X, int n_axes, const weft_tensor *dY,
                                     const weft_tensor *dX, const weft_norm_backward_params *params)
{
    return backward_call("layer_norm_backward", false, ctx, queue, epsilon, X, n_axes, dY, dX,
                         params);
}

weft_status weft_rms_norm_backward(weft_context *ctx, cl_command_queue queue, double epsilon,
                                   const weft_tensor *X, int n_axes, const weft_tensor *dY,
                                   const weft_tensor *dX, const weft_norm_backward_params *params)
{
    return backward_call("rms_norm_backward", true, ctx, queue, epsilon, X, n_axes, dY, dX, params);
}

// ---- what a call would do

// The larger of both: their plans may differ.
weft_status weft_norm_backward_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *dY, const weft_tensor *dX,
                                         const weft_norm_backward_params *params, size_t *bytes)
{
    static const char name[] = "norm_backward_workspace";
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "%s: bytes is NULL", name);
    *bytes = 0;
    size_t most = 0;
    params = params ? params : WEFT_NORM_BACKWARD(.weight = NULL);
    for (int is_rms = 0; is_rms < 2; ++is_rms) {
        weft_norm_backward_call call;
        schedule s;
        TRY(weft_norm_backward_check(&call, name, is_rms, ctx, 0, X, n_axes, dY, dX, params));
        if (call.is_empty)
            return WEFT_OK;
        TRY(schedule_for(&s, &call));
        most = s.scratch_bytes > most ? s.scratch_bytes : most;
    }
    *bytes = most;
    return WEFT_OK;
}

static int print(const schedule *s, const weft_norm_backward_call *call, char *text, size_t size)
{
    char dx[512] = "none", scaling[512] = "none";
    if (call->rows > 0)
        weft_axis_schedule_print(&s->dx, dx, sizeof(dx));
    if (!is_told(call))
        return snprintf(text, size, "%s", dx);
    weft_axis_schedule_print(&s->scaling, scaling, sizeof(scaling));
    return snprintf(text, size, "dX: %s; dW and db: %s", dx, scaling);
}

static int describe(const char *name, bool is_rms, weft_context *ctx, const weft_tensor *X,
                    int n_axes, const weft_tensor *dY, const weft_tensor *dX,
                    const weft_norm_backward_params *params, char *text, size_t size)
{
    weft_norm_backward_call call;
    schedule s;
    params = params ? params : WEFT_NORM_BACKWARD(.weight = NULL);
    if (weft_norm_backward_check(&call, name, is_rms, ctx, 0, X, n_axes, dY, dX, params) != WEFT_OK)
        return -1;
    if (call.is_empty)
        return snprintf(text, size, "nothing to do");
    if (schedule_for(&s, &call) != WEFT_OK)
        return -1;
    return print(&s, &call, text, size);
}

int weft_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *dY, const weft_tensor *dX,
                                const weft_norm_backward_params *params, char *text, size_t size)
{
    return describe("norm_backward", false, ctx, X, n_axes, dY, dX, params, text, size);
}

int weft_rms_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                    const weft_tensor *dY, const weft_tensor *dX,
                                    const weft_norm_backward_params *params, char *text,
                                    size_t size)
{
    return describe("rms_norm_backward", true, ctx, X, n_axes, dY, dX, params, text, size);
}
