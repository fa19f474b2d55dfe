// SPDX-License-Identifier: Apache-2.0
// Y = op over some axes of X. Checked by reduce_check.c; here: plan, defines, arguments, enqueue.
#include <weft/reduce.h>

#include <inttypes.h>
#include <stdio.h>

#include "axis/axis_walk.h"
#include "axis/reduce_call.h"
#include "base/arithmetic.h"
#include "base/clamp.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/scratch.h"

// ---- plan

// How a call runs, its kernels (combine is NULL where mid is whole), and what they are told.
typedef struct {
    weft_axis_tiling tiling;
    weft_walk walk;
    weft_view x, y;
    size_t scratch_bytes; // what parts found
    weft_kernel *lines, *combine;
} schedule;

static weft_status schedule_for(schedule *s, const weft_reduce_call *c, const weft_limits *limits)
{
    *s = (schedule){
        .tiling = c->is_forced ? c->forced : weft_axis_tiling_for(limits, &c->problem),
    };
    s->x = weft_view_of(&c->axes, 0);
    s->y = weft_view_of(&c->axes, 1);
    if (c->X->buffer == c->Y->buffer)
        weft_view_close(&s->x);
    s->walk = weft_walk_of(&c->axes, &s->tiling);
    if (c->n == 0)
        weft_walk_clear(&s->walk);
    if (s->tiling.parts > 1 &&
        !weft_walk_scratch(&s->walk, weft_reduction_facts_of(c->op)->n_numbers, &s->scratch_bytes))
        return fail(WEFT_NO_MEMORY,
                    "reduce: %" PRId64 " parts of %" PRId64 " results are too many to be kept",
                    s->tiling.parts, c->n_results);
    return WEFT_OK;
}

// ---- defines

static void defines_of(weft_defines *defines, const weft_reduce_call *c,
                       const weft_axis_tiling *tiling)
{
    weft_defines_add_word(defines, "OP", weft_reduction_facts_of(c->op)->word);
    weft_defines_add_dtype(defines, "DTYPE", c->dtype);
    weft_defines_add_dtype(defines, "ARITHMETIC", c->arithmetic);
    weft_defines_add_dtype(defines, "RESULT", c->result);
    weft_axis_defines(defines, c->ctx, &c->axes, tiling, false);
}

static weft_status kernels_for(schedule *s, size_t *most, const weft_reduce_call *c)
{
    weft_defines defines = {0};
    defines_of(&defines, c, &s->tiling);
    weft_defines_add(&defines, "PARTED", s->tiling.parts > 1);
    TRY(weft_kernel_narrow(&s->lines, most, c->ctx, &weft_source_reduce, &defines, "reduce_lines"));
    if (s->tiling.parts == 1)
        return WEFT_OK;
    return weft_kernel_narrow(&s->combine, most, c->ctx, &weft_source_reduce, &defines,
                              "reduce_combine");
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_reduce_call *c)
{
    weft_limits limits = c->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, c, &limits));
        size_t local[3];
        const size_t wanted = weft_axis_group(&s->tiling, local);
        size_t most = wanted;
        TRY(kernels_for(s, &most, c));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, c->is_forced, "reduce"));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments and enqueue

static weft_status enqueue_lines(weft_launch *launch, const weft_reduce_call *c, const schedule *s,
                                 cl_mem scratch)
{
    // Where there are no elements X may have no buffer, and some buffer must stand in.
    const cl_mem X = c->n > 0 ? c->X->buffer : c->Y->buffer;
    const cl_long correction = c->correction;
    const weft_argument list[] = {
        WALK_ARGUMENTS(s->walk), VIEW_ARGUMENTS(s->x), VIEW_ARGUMENTS(s->y), ARGUMENT(X),
        ARGUMENT(c->Y->buffer),  ARGUMENT(scratch),    ARGUMENT(correction),
    };
    size_t global[3], local[3];
    weft_walk_grid(&s->walk, &s->tiling, global, local);
    return weft_launch_kernel(launch, s->lines, sizeof(list) / sizeof(list[0]), list, global,
                              local);
}

static weft_status enqueue_combine(weft_launch *launch, const weft_reduce_call *c,
                                   const schedule *s, cl_mem scratch)
{
    const cl_long correction = c->correction;
    const weft_argument list[] = {
        WALK_ARGUMENTS(s->walk), VIEW_ARGUMENTS(s->y), ARGUMENT(c->Y->buffer),
        ARGUMENT(scratch),       ARGUMENT(correction),
    };
    size_t global[3], local[3];
    weft_walk_join_grid(&s->walk, &s->tiling, global, local);
    return weft_launch_kernel(launch, s->combine, sizeof(list) / sizeof(list[0]), list, global,
                              local);
}

static weft_status enqueue_kernels(weft_launch *launch, const weft_reduce_call *c,
                                   const schedule *s, cl_mem scratch)
{
    TRY(enqueue_lines(launch, c, s, scratch));
    return s->tiling.parts > 1 ? enqueue_combine(launch, c, s, scratch) : WEFT_OK;
}

static weft_status run(weft_launch *launch, const weft_reduce_call *c, cl_mem workspace)
{
    schedule s;
    if (c->n_results == 0)
        return WEFT_OK;
    TRY(prepare(&s, c));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_reduce_workspace_check(c, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    // Where there is no scratch memory some buffer must stand in: it is never touched.
    const cl_mem touched = s.scratch_bytes > 0 ? scratch : c->Y->buffer;
    const weft_status status = enqueue_kernels(launch, c, &s, touched);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

weft_status weft_reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op,
                        const weft_tensor *X, int n_axes, const int *axes, const weft_tensor *Y,
                        const weft_reduce_params *params)
{
    params = params ? params : WEFT_REDUCE(.tiling = NULL);
    weft_reduce_call call;
    TRY(weft_reduce_check(&call, ctx, op, X, n_axes, axes, Y, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "reduce", params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

weft_status weft_reduce_workspace(weft_context *ctx, weft_reduction op, const weft_tensor *X,
                                  int n_axes, const int *axes, const weft_tensor *Y,
                                  const weft_reduce_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "reduce_workspace: bytes is NULL");
    *bytes = 0;
    weft_reduce_call call;
    schedule s;
    params = params ? params : WEFT_REDUCE(.tiling = NULL);
    TRY(weft_reduce_check(&call, ctx, op, X, n_axes, axes, Y, params));
    if (call.n_results == 0)
        return WEFT_OK;
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

int weft_reduce_describe(weft_context *ctx, weft_reduction op, const weft_tensor *X, int n_axes,
                         const int *axes, const weft_tensor *Y, const weft_reduce_params *params,
                         char *text, size_t size)
{
    weft_reduce_call call;
    schedule s;
    params = params ? params : WEFT_REDUCE(.tiling = NULL);
    if (weft_reduce_check(&call, ctx, op, X, n_axes, axes, Y, params) != WEFT_OK)
        return -1;
    if (call.n_results == 0)
        return snprintf(text, size, "nothing to do");
    if (prepare(&s, &call) != WEFT_OK)
        return -1;
    char tiling[256];
    weft_axis_tiling_print(&s.tiling, tiling, sizeof(tiling));
    return snprintf(text, size,
                    "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                    " (high, outer, mid, low); %s",
                    (int64_t)s.walk.high, (int64_t)s.walk.outer, (int64_t)s.walk.mid,
                    (int64_t)s.walk.low, tiling);
}
