// SPDX-License-Identifier: Apache-2.0
// Elementwise operations, timed: one case after another.
#include "bench_elementwise.h"

#include <string.h>

#include "bench.h"
#include "bench_elementwise_cases.h"
#include "bench_operand.h"
#include "buffer.h"
#include "progress.h"

static const double X = 2; // also usable in integer formulas

// A case on the device.
typedef struct bench_stage {
    const bench_elementwise_spec *spec;
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    cl_mem in[BENCH_OPERANDS], out;
    weft_tensor A[BENCH_OPERANDS], Y;
    weft_elementwise_input inputs[BENCH_OPERANDS];
    weft_elementwise_plan *plan;
} bench_stage;

// ---- operands

// The i-th input, with its axes in the order of memory.
static weft_tensor in_memory(const bench_elementwise_spec *spec, int i)
{
    int64_t shape[WEFT_MAX_NDIM];
    int n = 0;
    for (const char *axis = spec->of.axes[i]; *axis != '\0'; axis++)
        shape[n++] = spec->of.shape[*axis - '0'];
    return bench_view(NULL, spec->of.in, n, shape);
}

// With its axes in the order of the result, and the extent 1 along broadcast axes.
static weft_tensor as_result(const bench_elementwise_spec *spec, int i)
{
    const weft_tensor memory = in_memory(spec, i);
    weft_tensor view = {.dtype = spec->of.in, .ndim = spec->ndim};
    for (int d = 0; d < spec->ndim; d++)
        view.shape[d] = 1;
    for (int k = 0; k < memory.ndim; k++) {
        const int d = spec->of.axes[i][k] - '0';
        view.shape[d] = memory.shape[k];
        view.stride[d] = memory.stride[k];
    }
    return view;
}

// Of all buffers.
static size_t traffic(const bench_stage *stage)
{
    size_t bytes = bench_view_bytes(&stage->Y);
    for (int i = 0; i < (stage->spec->of.flags & BENCH_ONE ? 1 : stage->spec->n_inputs); i++)
        bytes += bench_view_bytes(&stage->A[i]);
    return bytes;
}

static size_t largest_bytes(const bench_stage *stage)
{
    size_t bytes = bench_view_bytes(&stage->Y);
    for (int i = 0; i < stage->spec->n_inputs; i++)
        if (bench_view_bytes(&stage->A[i]) > bytes)
            bytes = bench_view_bytes(&stage->A[i]);
    return bytes;
}

// Whether the device supports it; if not, a note says why.
static bool fits(const bench_stage *stage)
{
    const weft_limits *device = weft_context_limits(stage->ctx);
    const bench_elementwise_spec *spec = stage->spec;
    if ((spec->of.in == WEFT_F64 || spec->of.out == WEFT_F64) && !device->has_f64) {
        bench_note("%s: skipped: the device has no f64", spec->name);
        return false;
    }
    if (largest_bytes(stage) > device->max_alloc_bytes ||
        traffic(stage) > device->global_bytes / 4 * 3) {
        bench_note("%s: skipped: the arrays are too large for the device", spec->name);
        return false;
    }
    return true;
}

static void lay_out(bench_stage *stage)
{
    const bench_elementwise_spec *spec = stage->spec;
    stage->Y = bench_view(NULL, spec->of.out, spec->ndim, spec->of.shape);
    for (int i = 0; i < spec->n_inputs; i++) {
        stage->A[i] = as_result(spec, i);
        stage->inputs[i].tensor = &stage->A[i];
    }
}

static bool allocate(bench_stage *stage, complaint *why)
{
    const bench_elementwise_spec *spec = stage->spec;
    const int n_arrays = spec->of.flags & BENCH_ONE ? 1 : spec->n_inputs;
    for (int i = 0; i < n_arrays; i++) {
        const weft_tensor memory = in_memory(spec, i);
        if (!bench_operand_create(&stage->in[i], stage->ctx, &memory, "an input", why))
            return false;
    }
    for (int i = 0; i < spec->n_inputs; i++)
        stage->A[i].buffer = stage->in[i < n_arrays ? i : 0];
    const size_t bytes = bench_view_bytes(&stage->Y);
    const bool done = buffer_create(&stage->out, stage->ctx, NULL, bytes, "the result", why);
    stage->Y.buffer = stage->out;
    return done;
}

// ---- calls

static weft_status call(const void *of)
{
    const bench_stage *stage = of;
    return weft_elementwise(stage->ctx, stage->queue, stage->spec->n_inputs, stage->inputs,
                            WEFT_OUTPUTS({stage->spec->of.formula, &stage->Y}),
                            WEFT_ELEMENTWISE(WEFT_VALUES({"x", X}), .plan = stage->plan));
}

static bool make_plan(bench_stage *stage, complaint *why)
{
    const bench_elementwise_spec *spec = stage->spec;
    return !(spec->of.flags & BENCH_PLANNED) ||
           weft_elementwise_plan_create(&stage->plan, stage->ctx, stage->spec->n_inputs,
                                        stage->inputs, WEFT_OUTPUTS({spec->of.formula, &stage->Y}),
                                        WEFT_ELEMENTWISE(WEFT_VALUES({"x", X}))) == WEFT_OK ||
           complain(why, "%s: %s", spec->name, weft_last_error());
}

static bool describe(const bench_stage *stage, char *text, size_t size, complaint *why)
{
    return weft_elementwise_describe(stage->ctx, stage->spec->n_inputs, stage->inputs,
                                     WEFT_OUTPUTS({stage->spec->of.formula, &stage->Y}),
                                     WEFT_ELEMENTWISE(WEFT_VALUES({"x", X})), text, size) >= 0 ||
           complain(why, "%s: %s", stage->spec->name, weft_last_error());
}

static void start_row(bench_row *row, const bench_stage *stage)
{
    const bench_elementwise_spec *spec = stage->spec;
    *row = (bench_row){.limit = BENCH_COPY, .goal = (int)spec->of.goal};
    memcpy(row->name, spec->name, sizeof(row->name));
    timed_report *report = &row->report;
    *report = report_new("elementwise", weft_context_limits(stage->ctx)->name, spec->of.out);
    report->name = row->name;
    report->plan = row->plan;
    report->ndim = spec->ndim;
    memcpy(report->shape, spec->of.shape, sizeof(spec->of.shape));
}

static bool measure(bench_row *row, bench_stage *stage, const bench_choice *choice, complaint *why)
{
    const bench_task task = {
        .limits = stage->limits,
        .call = call,
        .of = stage,
        .work = (double)traffic(stage),
        .is_small = stage->spec->of.flags & BENCH_SMALL,
        .in_cache = stage->spec->of.flags & BENCH_CACHED,
        .is_quick = choice->quick,
        .on_request = choice->on_request,
    };
    progress_show("%s", stage->spec->name);
    start_row(row, stage);
    if (!allocate(stage, why))
        return false;
    const double start_ms = timing_now_ms();
    if (!make_plan(stage, why))
        return false;
    const double plan_ms = timing_now_ms() - start_ms;
    if (!bench_row_measure(row, &task, why))
        return false;
    row->report.setup_ms += plan_ms;
    return describe(stage, row->plan, sizeof(row->plan), why);
}

static void tear_down(bench_stage *stage)
{
    clFinish(stage->queue);
    weft_elementwise_plan_destroy(&stage->plan);
    for (int i = 0; i < BENCH_OPERANDS; i++)
        buffer_release(&stage->in[i]);
    buffer_release(&stage->out);
}

bool bench_elementwise_run(bench_rows *out, weft_context *ctx, const bench_limits *limits,
                           const bench_choice *choice, complaint *why)
{
    const uint64_t array_bytes = bench_array_bytes(weft_context_limits(ctx));
    bench_elementwise_specs specs;
    bool ok = bench_elementwise_list(&specs, choice->quick, array_bytes, why) &&
              bench_rows_create(out, specs.count, why);
    for (size_t i = 0; ok && i < specs.count; i++) {
        bench_stage stage = {.spec = &specs.items[i],
                             .ctx = ctx,
                             .queue = bench_limits_queue(limits)->cl,
                             .limits = limits};
        lay_out(&stage);
        if (!bench_chooses(choice, stage.spec->name) || !fits(&stage))
            continue;
        ok = measure(&out->items[out->count], &stage, choice, why);
        tear_down(&stage);
        out->count += ok;
    }
    bench_elementwise_specs_free(&specs);
    progress_clear();
    return ok;
}

void bench_elementwise_print(const bench_rows *rows, FILE *out)
{
    static const struct {
        bench_elementwise_goal goal;
        const char *what;
    } lines[] = {
        {BENCH_CONTIGUOUS, "share of copying, without gaps"},
        {BENCH_ROW, "share of copying, with a row for all"},
        {BENCH_COLUMN, "share of copying, with a column for all"},
        {BENCH_MIDDLE, "share of copying, broadcast along the middle"},
        {BENCH_CAST, "share of copying, conversions"},
        {BENCH_CHAIN, "share of copying, several functions at once"},
        {BENCH_TRANSPOSE, "share of copying, transposed"},
        {BENCH_PERMUTE, "share of copying, axes permuted"},
    };
    if (rows->count == 0)
        return;
    bench_rows_print(rows, out);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        bench_rows_print_least(rows, (int)lines[i].goal, lines[i].what, out);
    bench_rows_print_longest(rows, out);
}
