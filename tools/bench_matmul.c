// SPDX-License-Identifier: Apache-2.0
// Dense products, timed: one case after another.
#include "bench_matmul.h"

#include <string.h>

#include <weft/matmul.h>

#include "bench.h"
#include "bench_matmul_cases.h"
#include "bench_operand.h"
#include "buffer.h"
#include "progress.h"

enum { N_OPERANDS = 3 };

// A case on the device.
typedef struct bench_stage {
    const bench_matmul_spec *spec;
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    cl_mem buffers[N_OPERANDS];
    weft_tensor operands[N_OPERANDS]; // A, B, C
} bench_stage;

// ---- operands

static weft_tensor matrices(const bench_product *of, int64_t n_rows, int64_t n_columns,
                            bool transposed)
{
    const int64_t shape[] = {of->batch, transposed ? n_columns : n_rows,
                             transposed ? n_rows : n_columns};
    const weft_tensor view = bench_view(NULL, of->dtype, 3, shape);
    return transposed ? weft_tensor_transposed(&view) : view;
}

static void lay_out(bench_stage *stage)
{
    const bench_product *of = &stage->spec->of;
    stage->operands[0] = matrices(of, of->m, of->k, of->flags & BENCH_TRANSPOSED_A);
    stage->operands[1] = matrices(of, of->k, of->n, of->flags & BENCH_TRANSPOSED_B);
    stage->operands[2] = matrices(of, of->m, of->n, false);
}

// Whether the device supports it; if not, a note says why.
static bool fits(const bench_stage *stage)
{
    const weft_limits *device = weft_context_limits(stage->ctx);
    const bench_matmul_spec *spec = stage->spec;
    size_t most = 0, all = 0;
    for (int i = 0; i < N_OPERANDS; i++) {
        const size_t bytes = bench_view_bytes(&stage->operands[i]);
        most = bytes > most ? bytes : most;
        all += bytes;
    }
    if (spec->of.dtype == WEFT_F64 && !device->has_f64) {
        bench_note("%s: skipped: the device has no f64", spec->name);
        return false;
    }
    if (most > device->max_alloc_bytes || all > device->global_bytes / 4 * 3) {
        bench_note("%s: skipped: the matrices are too large for the device", spec->name);
        return false;
    }
    return true;
}

static bool allocate(bench_stage *stage, complaint *why)
{
    for (int i = 0; i < N_OPERANDS; i++) {
        if (!bench_operand_create(&stage->buffers[i], stage->ctx, &stage->operands[i], "an operand",
                                  why))
            return false;
        stage->operands[i].buffer = stage->buffers[i];
    }
    return true;
}

static void tear_down(bench_stage *stage)
{
    clFinish(stage->queue);
    for (int i = 0; i < N_OPERANDS; i++)
        buffer_release(&stage->buffers[i]);
}

// ---- calls

static weft_status call(const void *of)
{
    const bench_stage *stage = of;
    const weft_tensor *x = stage->operands;
    return weft_matmul(stage->ctx, stage->queue, 1, &x[0], &x[1], 0, &x[2], NULL);
}

static bool describe(const bench_stage *stage, char *text, size_t size, complaint *why)
{
    const weft_tensor *x = stage->operands;
    return weft_matmul_describe(stage->ctx, &x[0], &x[1], &x[2], NULL, text, size) >= 0 ||
           complain(why, "%s: %s", stage->spec->name, weft_last_error());
}

// Operations; or bytes, of the larger factor or of all operands.
static double work_of(const bench_stage *stage)
{
    const bench_product *of = &stage->spec->of;
    const double a_bytes = (double)bench_view_bytes(&stage->operands[0]);
    const double b_bytes = (double)bench_view_bytes(&stage->operands[1]);
    if (of->limit == BENCH_FMA)
        return 2.0 * (double)of->batch * (double)of->m * (double)of->n * (double)of->k;
    if (of->limit == BENCH_READ)
        return a_bytes > b_bytes ? a_bytes : b_bytes;
    return a_bytes + b_bytes + (double)bench_view_bytes(&stage->operands[2]);
}

static void start_row(bench_row *row, const bench_stage *stage)
{
    const bench_product *of = &stage->spec->of;
    *row = (bench_row){.limit = of->limit, .goal = (int)of->goal};
    memcpy(row->name, stage->spec->name, sizeof(row->name));
    timed_report *report = &row->report;
    *report = report_new("matmul", weft_context_limits(stage->ctx)->name, of->dtype);
    report->name = row->name;
    report->plan = row->plan;
    report->is_product = report->is_dense = true;
    report->m = of->m;
    report->k = of->k;
    report->n = of->n;
    report->batch = of->batch;
}

static bool measure(bench_row *row, bench_stage *stage, const bench_choice *choice, complaint *why)
{
    const bench_task task = {
        .limits = stage->limits,
        .call = call,
        .of = stage,
        .work = work_of(stage),
        .is_quick = choice->quick,
        .on_request = choice->on_request,
    };
    progress_show("%s", stage->spec->name);
    start_row(row, stage);
    return allocate(stage, why) && bench_row_measure(row, &task, why) &&
           describe(stage, row->plan, sizeof(row->plan), why);
}

bool bench_matmul_run(bench_rows *out, weft_context *ctx, const bench_limits *limits,
                      const bench_choice *choice, complaint *why)
{
    bench_matmul_spec specs[BENCH_MATMUL_CASES];
    const size_t count = bench_matmul_list(specs, choice->quick);
    bool ok = bench_rows_create(out, count, why);
    for (size_t i = 0; ok && i < count; i++) {
        bench_stage stage = {.spec = &specs[i],
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
    progress_clear();
    return ok;
}

void bench_matmul_print(const bench_rows *rows, FILE *out)
{
    static const struct {
        bench_matmul_goal goal;
        const char *what;
    } lines[] = {
        {BENCH_MATMUL_SQUARE, "share of multiply-adds, f32 products of squares"},
        {BENCH_MATMUL_TRANSPOSED, "the same, A or B transposed"},
        {BENCH_MATMUL_BATCH, "the same of a batch of 64 x 64 x 64"},
        {BENCH_MATMUL_VECTOR, "share of reading, a matrix times a vector"},
    };
    if (rows->count == 0)
        return;
    bench_rows_print(rows, out);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        bench_rows_print_least(rows, (int)lines[i].goal, lines[i].what, out);
}
