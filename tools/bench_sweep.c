// SPDX-License-Identifier: Apache-2.0
// Dense products of random shapes, timed one after another.
#include "bench_sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include <weft/matmul.h>

#include "bench.h"
#include "bench_operand.h"
#include "bench_rows.h"
#include "buffer.h"
#include "progress.h"
#include "random.h"

enum { SEED = 1, RUNS = 3, N_OPERANDS = 3 };

static const double LONGEST_MS = 90e3; // of all shapes together

// The operands have room for the largest shape: each one uses the beginning of it.
typedef struct sweep_stage {
    weft_context *ctx; // its own
    cl_command_queue queue;
    const bench_limits *limits;
    cl_mem buffers[N_OPERANDS];
    weft_tensor A, B, C;
} sweep_stage;

static bool set_up(sweep_stage *stage, weft_context *ctx, complaint *why)
{
    const weft_tensor largest = weft_matrix(NULL, WEFT_F32, BENCH_SWEEP_MOST, BENCH_SWEEP_MOST);
    if (weft_context_create(&stage->ctx, weft_context_cl(ctx), weft_context_device(ctx),
                            WEFT_CONTEXT(.cache_dir = "")) != WEFT_OK)
        return complain_weft(why);
    for (int i = 0; i < N_OPERANDS; i++)
        if (!bench_operand_create(&stage->buffers[i], ctx, &largest, "an operand", why))
            return false;
    return true;
}

static void tear_down(sweep_stage *stage)
{
    clFinish(stage->queue);
    for (int i = 0; i < N_OPERANDS; i++)
        buffer_release(&stage->buffers[i]);
    weft_context_destroy(&stage->ctx);
}

static weft_status call(const void *of)
{
    const sweep_stage *stage = of;
    return weft_matmul(stage->ctx, stage->queue, 1, &stage->A, &stage->B, 0, &stage->C, NULL);
}

static bool measure(bench_sweep_shape *shape, sweep_stage *stage, complaint *why)
{
    bench_row row = {.limit = BENCH_FMA};
    const bench_task task = {
        .limits = stage->limits,
        .call = call,
        .of = stage,
        .work = 2.0 * (double)shape->m * (double)shape->n * (double)shape->k,
        .n_runs = RUNS,
    };
    snprintf(row.name, sizeof(row.name), "%" PRId64 "x%" PRId64 "x%" PRId64, shape->m, shape->n,
             shape->k);
    stage->A = weft_matrix(stage->buffers[0], WEFT_F32, shape->m, shape->k);
    stage->B = weft_matrix(stage->buffers[1], WEFT_F32, shape->k, shape->n);
    stage->C = weft_matrix(stage->buffers[2], WEFT_F32, shape->m, shape->n);
    if (!bench_row_measure(&row, &task, why))
        return false;
    shape->share = row.report.share;
    return true;
}

static int64_t draw(random_stream *stream)
{
    return BENCH_SWEEP_LEAST + random_below(stream, BENCH_SWEEP_MOST - BENCH_SWEEP_LEAST + 1);
}

static bool measure_all(bench_sweep *out, sweep_stage *stage, size_t n_shapes, complaint *why)
{
    random_stream stream = random_start(SEED, RANDOM_PATTERN);
    const double start_ms = timing_now_ms();
    for (out->count = 0; out->count < n_shapes; out->count++) {
        bench_sweep_shape *shape = &out->shapes[out->count];
        *shape = (bench_sweep_shape){.m = draw(&stream)};
        shape->n = draw(&stream);
        shape->k = draw(&stream);
        progress_show("matmul: shape %zu of %zu", out->count + 1, n_shapes);
        if (timing_now_ms() - start_ms > LONGEST_MS) {
            bench_note("matmul: %zu of %zu shapes, because the time is over", out->count, n_shapes);
            break;
        }
        if (!measure(shape, stage, why))
            return false;
    }
    return true;
}

// The slowest first.
static int compare_shapes(const void *left, const void *right)
{
    const double a = ((const bench_sweep_shape *)left)->share;
    const double b = ((const bench_sweep_shape *)right)->share;
    return (a > b) - (a < b);
}

bool bench_sweep_run(bench_sweep *out, weft_context *ctx, const bench_limits *limits,
                     const bench_choice *choice, complaint *why)
{
    if (choice->on_request || !bench_chooses(choice, BENCH_SWEEP_NAME))
        return true;
    sweep_stage stage = {.queue = bench_limits_queue(limits)->cl, .limits = limits};
    const bool ok =
        set_up(&stage, ctx, why) &&
        measure_all(out, &stage, choice->quick ? BENCH_SWEEP_QUICK : BENCH_SWEEP_SHAPES, why);
    if (ok)
        out->programs = weft_context_get_stats(stage.ctx).programs_built;
    qsort(out->shapes, out->count, sizeof(out->shapes[0]), compare_shapes);
    tear_down(&stage);
    progress_clear();
    return ok;
}

// ---- what it came to

static double median_share(const bench_sweep *sweep)
{
    return 0.5 *
           (sweep->shapes[(sweep->count - 1) / 2].share + sweep->shapes[sweep->count / 2].share);
}

static json_t *slowest_json(const bench_sweep *sweep)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sweep->count && i < BENCH_SWEEP_SLOWEST; i++) {
        const bench_sweep_shape *shape = &sweep->shapes[i];
        json_t *object = json_object();
        json_object_set_new(object, "m", json_integer(shape->m));
        json_object_set_new(object, "n", json_integer(shape->n));
        json_object_set_new(object, "k", json_integer(shape->k));
        json_object_set_new(object, "share", report_number(shape->share, 4));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *bench_sweep_json(const bench_sweep *sweep)
{
    json_t *object = json_object();
    json_object_set_new(object, "op", json_string("matmul"));
    json_object_set_new(object, "shapes", json_integer((json_int_t)sweep->count));
    json_object_set_new(object, "programs", json_integer((json_int_t)sweep->programs));
    json_object_set_new(object, "worst", report_number(sweep->shapes[0].share, 4));
    json_object_set_new(object, "median", report_number(median_share(sweep), 4));
    json_object_set_new(object, "best", report_number(sweep->shapes[sweep->count - 1].share, 4));
    json_object_set_new(object, "slowest", slowest_json(sweep));
    return object;
}

void bench_sweep_print(const bench_sweep *sweep, FILE *out)
{
    if (sweep->count == 0)
        return;
    fprintf(out,
            "share of multiply-adds, %zu random f32 shapes of %d to %d: at least %.2f, median "
            "%.2f, at most %.2f; %" PRIu64 " program%s compiled for all\nslowest of them:",
            sweep->count, BENCH_SWEEP_LEAST, BENCH_SWEEP_MOST, sweep->shapes[0].share,
            median_share(sweep), sweep->shapes[sweep->count - 1].share, sweep->programs,
            sweep->programs == 1 ? "" : "s");
    for (size_t i = 0; i < sweep->count && i < BENCH_SWEEP_SLOWEST; i++)
        fprintf(out, "%s %" PRId64 "x%" PRId64 "x%" PRId64 " %.2f", i == 0 ? "" : ",",
                sweep->shapes[i].m, sweep->shapes[i].n, sweep->shapes[i].k, sweep->shapes[i].share);
    fputc('\n', out);
}
