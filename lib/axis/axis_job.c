// SPDX-License-Identifier: Apache-2.0
// Operations that sweep along an axis and write each element again: plan, defines, arguments,
// enqueue.
#include "axis/axis_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clamp.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/scratch.h"

// ---- plan

weft_status weft_axis_forced_read(weft_axis_job *job, const char *text, const char *field)
{
    char name[WEFT_OPERAND_TEXT];
    job->forced_name = field;
    return weft_tiling_read(&job->is_forced, &job->forced, &weft_axis_tiling_table,
                            weft_operand_text(name, job->what, field), text);
}

weft_status weft_axis_problem_check(weft_axis_job *job, weft_dtype dtype, int numbers, bool keeps)
{
    job->problem = weft_axis_problem_of(&job->axes, dtype);
    job->problem.writes_all = !job->joins;
    job->problem.numbers = numbers;
    job->problem.keeps = keeps;
    if (!job->is_forced)
        return WEFT_OK;
    char name[WEFT_OPERAND_TEXT];
    weft_operand_text(name, job->what, job->forced_name);
    return weft_axis_named_tiling_check(name, &job->forced, &job->ctx->limits, &job->problem);
}

static weft_status plan(weft_axis_schedule *s, const weft_axis_job *job, const weft_limits *limits)
{
    *s = (weft_axis_schedule){
        .tiling = job->is_forced ? job->forced : weft_axis_tiling_for(limits, &job->problem),
    };
    s->walk = weft_walk_of(&job->axes, &s->tiling);
    s->walk.stream = !job->joins && weft_tensor_is_large(job->ctx, job->out);
    // Beside what is written, single vectors do better one after the other.
    s->walk.spread = s->walk.spread && (job->joins || s->tiling.vectors > 1);
    const bool is_kept = job->joins || s->tiling.parts > 1;
    if (is_kept && !weft_walk_scratch(&s->walk, job->problem.numbers, &s->scratch_bytes))
        return fail(WEFT_NO_MEMORY,
                    "%s: %" PRId64 " parts of %" PRId64 " x %" PRId64
                    " columns are too many to be kept",
                    job->what, s->tiling.parts, job->axes.high_extent, job->axes.low.extent);
    return WEFT_OK;
}

// ---- defines

static weft_status kernels_for(weft_axis_schedule *s, size_t *most, const weft_axis_job *job)
{
    weft_defines defines = job->defines;
    weft_axis_defines(&defines, job->ctx, &job->axes, &s->tiling, job->keeps_much);
    const bool is_parted = s->tiling.parts > 1;
    weft_defines_add(&defines, "PARTED", is_parted);
    if (job->problem.keeps)
        weft_defines_add(&defines, "KEPT", s->tiling.keep);
    const bool is_kept = job->joins || is_parted;
    const char *const names[2] = {is_kept ? job->parts : job->lines, is_kept ? job->apply : NULL};
    for (int i = 0; i < 2; ++i)
        if (names[i])
            TRY(weft_kernel_narrow(&s->kernels[i], most, job->ctx, job->source, &defines,
                                   names[i]));
    return WEFT_OK;
}

weft_status weft_axis_schedule_for(weft_axis_schedule *out, const weft_axis_job *job)
{
    weft_limits limits = job->ctx->limits;
    for (;;) {
        TRY(plan(out, job, &limits));
        size_t local[3];
        const size_t wanted = weft_axis_group(&out->tiling, local);
        size_t most = wanted;
        TRY(kernels_for(out, &most, job));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, job->is_forced, job->what));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments and enqueue

enum { MOST_ARGUMENTS = 20 };

weft_status weft_axis_enqueue_sweep(weft_launch *launch, const weft_axis_schedule *s,
                                    weft_kernel *kernel, size_t n, const weft_argument *arguments,
                                    const weft_argument *last)
{
    weft_argument list[MOST_ARGUMENTS] = {WALK_ARGUMENTS(s->walk)};
    size_t n_all = 2;
    assert(2 + n + 1 <= MOST_ARGUMENTS);
    for (size_t i = 0; i < n; ++i)
        list[n_all++] = arguments[i];
    if (last)
        list[n_all++] = *last;
    size_t global[3], local[3];
    weft_walk_grid(&s->walk, &s->tiling, global, local);
    return weft_launch_kernel(launch, kernel, n_all, list, global, local);
}

weft_status weft_axis_enqueue_in(weft_launch *launch, const weft_axis_job *job,
                                 const weft_axis_schedule *s, cl_mem scratch, size_t n,
                                 const weft_argument *arguments)
{
    const weft_argument last =
        s->tiling.keep
            ? (weft_argument){(size_t)weft_axis_tiling_kept_bytes(&s->tiling, &job->problem), NULL}
            : ARGUMENT(scratch);
    const weft_argument *given = s->tiling.keep || scratch ? &last : NULL;
    for (int i = 0; i < 2 && s->kernels[i]; ++i)
        TRY(weft_axis_enqueue_sweep(launch, s, s->kernels[i], n, arguments, given));
    return WEFT_OK;
}

static weft_status workspace_check(const weft_axis_job *job, cl_mem workspace, size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, job->ctx, workspace, bytes, job->what));
    for (size_t i = 0; i < sizeof(job->in) / sizeof(job->in[0]) && job->in[i]; ++i)
        TRY(weft_tensor_overlap_check(&scratch, "workspace", job->in[i], job->in_names[i],
                                      job->what));
    return weft_tensor_overlap_check(&scratch, "workspace", job->out, "the output", job->what);
}

weft_status weft_axis_enqueue(weft_launch *launch, const weft_axis_job *job,
                              const weft_axis_schedule *schedule, cl_mem workspace, size_t n,
                              const weft_argument *arguments)
{
    if (schedule->scratch_bytes == 0)
        return weft_axis_enqueue_in(launch, job, schedule, NULL, n, arguments);
    if (workspace)
        TRY(workspace_check(job, workspace, schedule->scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, schedule->scratch_bytes, &scratch));
    const weft_status status = weft_axis_enqueue_in(launch, job, schedule, scratch, n, arguments);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

weft_status weft_axis_buffers_check(const weft_axis_job *job, const char *out_name)
{
    char name[WEFT_OPERAND_TEXT];
    for (int i = 0; i < 3 && job->in[i]; ++i)
        TRY(weft_tensor_check(job->ctx, job->in[i],
                              weft_operand_text(name, job->what, job->in_names[i])));
    return weft_output_check(job->ctx, job->out, weft_operand_text(name, job->what, out_name));
}

weft_view weft_axis_input(const weft_axis_job *job, int i, const weft_tensor *tensor)
{
    weft_view view = weft_view_of(&job->axes, i);
    if (tensor->buffer == job->out->buffer)
        weft_view_close(&view);
    return view;
}

// ---- words

int weft_axis_schedule_print(const weft_axis_schedule *schedule, char *text, size_t size)
{
    char tiling[256];
    weft_axis_tiling_print(&schedule->tiling, tiling, sizeof(tiling));
    return snprintf(text, size,
                    "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                    " (high, outer, mid, low); %s",
                    (int64_t)schedule->walk.high, (int64_t)schedule->walk.outer,
                    (int64_t)schedule->walk.mid, (int64_t)schedule->walk.low, tiling);
}
