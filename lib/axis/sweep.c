// SPDX-License-Identifier: Apache-2.0
// Sweeps along an axis: plan, defines, enqueue.
#include "axis/sweep.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "axis/axis_plan.h"
#include "base/clamp.h"
#include "operand/view.h"
#include "runtime/context.h"

// ---- plan

void weft_sweep_find_problem(weft_sweep *sweep, const weft_call *call, weft_dtype dtype,
                             int numbers, bool caches)
{
    sweep->problem = weft_axis_problem_of(&sweep->axes, dtype);
    sweep->problem.writes_all = !sweep->reduces;
    sweep->problem.numbers = numbers;
    sweep->problem.caches = caches;
    sweep->problem.why = weft_call_why(call);
}

weft_status weft_sweep_read_tiling(weft_sweep *sweep, const weft_call *call, const char *text,
                                   const char *field)
{
    char name[WEFT_OPERAND_TEXT];
    return weft_tiling_read(&sweep->is_forced, &sweep->tiling, &weft_axis_tiling_table,
                            weft_operand_text(name, weft_call_name(call), field), text);
}

static weft_status choose(weft_sweep *sweep, const weft_call *call, const weft_limits *limits,
                          const char *field)
{
    char name[WEFT_OPERAND_TEXT];
    if (sweep->is_forced)
        return weft_axis_named_tiling_check(weft_operand_text(name, weft_call_name(call), field),
                                            &sweep->tiling, &call->ctx->limits, &sweep->problem);
    sweep->tiling = weft_axis_tiling_for(limits, &sweep->problem);
    return WEFT_OK;
}

weft_status weft_sweep_plan(weft_sweep *sweep, size_t *group_items, const weft_call *call,
                            const weft_limits *limits, const char *field, const weft_tensor *out)
{
    TRY(choose(sweep, call, limits, field));
    sweep->walk = weft_walk_of(&sweep->axes, &sweep->tiling);
    sweep->walk.stream = !sweep->reduces && weft_tensor_is_large(call->ctx, out);
    // If elements are written, single vectors are faster one after the other.
    if (!sweep->reduces && sweep->tiling.vectors == 1)
        sweep->walk.reads &= ~WEFT_READS_SPREAD;
    if (!weft_axis_is_near(&call->ctx->limits, &sweep->problem))
        sweep->walk.reads |= WEFT_READS_AHEAD;
    size_t local[3];
    *group_items = weft_axis_group(&sweep->tiling, local);
    sweep->scratch_bytes = 0;
    const bool uses_scratch = sweep->joins || sweep->tiling.parts > 1;
    if (uses_scratch &&
        !weft_walk_scratch(&sweep->walk, sweep->problem.numbers, &sweep->scratch_bytes))
        return fail(WEFT_NO_MEMORY,
                    "%s: %" PRId64 " parts of %" PRId64 " x %" PRId64
                    " columns are too many to be kept",
                    weft_call_name(call), sweep->tiling.parts, sweep->axes.high_extent,
                    sweep->axes.low.extent);
    return WEFT_OK;
}

// ---- defines

weft_status weft_sweep_build(weft_sweep *sweep, size_t *most, const weft_call *call,
                             const weft_sweep_kernels *kernels, weft_defines *defines)
{
    weft_axis_defines(defines, call->ctx, &sweep->axes, &sweep->tiling, kernels->needs_registers);
    const bool is_parted = sweep->tiling.parts > 1;
    weft_defines_add(defines, "PARTED", is_parted);
    if (sweep->problem.caches)
        weft_defines_add(defines, "CACHED", sweep->tiling.cache);
    const bool uses_scratch = sweep->joins || is_parted;
    const char *const names[2] = {uses_scratch ? kernels->parts : kernels->lines,
                                  uses_scratch ? kernels->apply : NULL};
    for (int i = 0; i < 2; ++i) {
        sweep->kernels[i] = NULL;
        if (names[i])
            TRY(weft_kernel_narrow(&sweep->kernels[i], most, call->ctx, kernels->source, defines,
                                   names[i]));
    }
    return WEFT_OK;
}

weft_status weft_sweep_prepare(weft_sweep *sweep, const weft_call *call, const char *field,
                               const weft_tensor *out, const weft_sweep_kernels *kernels,
                               const weft_defines *defines)
{
    weft_limits limits = call->ctx->limits;
    for (bool fits = false; !fits;) {
        size_t wanted;
        TRY(weft_sweep_plan(sweep, &wanted, call, &limits, field, out));
        size_t most = wanted;
        weft_defines all = *defines;
        TRY(weft_sweep_build(sweep, &most, call, kernels, &all));
        TRY(weft_limits_fit(&fits, &limits, wanted, most, sweep->is_forced, weft_call_name(call),
                            weft_call_why(call)));
    }
    return WEFT_OK;
}

// ---- enqueue

weft_view weft_sweep_input(const weft_sweep *sweep, int i, const weft_tensor *in,
                           const weft_tensor *out)
{
    weft_view view = weft_view_of(&sweep->axes, i);
    if (in->buffer == out->buffer)
        weft_view_close(&view);
    return view;
}

weft_status weft_sweep_enqueue_kernel(weft_launch *launch, const weft_sweep *sweep,
                                      weft_kernel *kernel, size_t n, const weft_argument *arguments)
{
    size_t global[3], local[3];
    weft_walk_grid(&sweep->walk, &sweep->tiling, global, local);
    return weft_launch_kernel(launch, kernel, n, arguments, global, local);
}

weft_status weft_sweep_enqueue_join(weft_launch *launch, const weft_sweep *sweep, size_t n,
                                    const weft_argument *arguments)
{
    size_t global[3], local[3];
    weft_walk_join_grid(&sweep->walk, &sweep->tiling, global, local);
    return weft_launch_kernel(launch, sweep->kernels[1], n, arguments, global, local);
}

weft_status weft_sweep_enqueue(weft_launch *launch, const weft_sweep *sweep, cl_mem scratch,
                               size_t n, const weft_argument *arguments)
{
    weft_arguments list = {.n = 0};
    size_t global[3], local[3];
    weft_arguments_add_all(&list, n, arguments);
    if (sweep->tiling.cache)
        weft_arguments_add(&list, (weft_argument){.size = (size_t)weft_axis_tiling_cached_bytes(
                                                      &sweep->tiling, &sweep->problem)});
    else if (scratch)
        ADD_ARGUMENT(&list, scratch);
    weft_walk_grid(&sweep->walk, &sweep->tiling, global, local);
    for (int i = 0; i < 2 && sweep->kernels[i]; ++i)
        TRY(weft_launch_kernel(launch, sweep->kernels[i], list.n, list.list, global, local));
    return WEFT_OK;
}

// ---- words

int weft_sweep_print(const weft_sweep *sweep, char *text, size_t size)
{
    char tiling[256];
    weft_axis_tiling_print(&sweep->tiling, tiling, sizeof(tiling));
    return snprintf(text, size,
                    "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                    " (high, outer, mid, low); %s",
                    (int64_t)sweep->walk.high, (int64_t)sweep->walk.outer, (int64_t)sweep->walk.mid,
                    (int64_t)sweep->walk.low, tiling);
}
