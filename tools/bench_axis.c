// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and normalisation, timed: one case after another on the same arrays.
#include "bench_axis.h"

#include <string.h>

#include <weft/norm.h>
#include <weft/softmax.h>

#include "bench.h"
#include "bench_operand.h"
#include "buffer.h"
#include "progress.h"

static const double EPSILON = 1e-5;

// A case on the device.
typedef struct bench_stage {
    const bench_axis_spec *spec;
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    cl_mem in, more, out; // X; dY, or weight and bias; Y
    cl_mem scaling, sums; // of a norm's backward: weight; dW and db
    weft_tensor X, more_view, Y, weight, dW, db;
} bench_stage;

// ---- operands

static bool is_norm(const bench_axis_spec *spec)
{
    return spec->kind == BENCH_LAYER_NORM || spec->kind == BENCH_RMS_NORM;
}

static bool is_norm_backward(const bench_axis_spec *spec)
{
    return spec->kind == BENCH_LAYER_NORM_BACKWARD || spec->kind == BENCH_RMS_NORM_BACKWARD;
}

// Least bytes that the op reads and writes; weight and bias do not count. For dW and db the
// backward of a norm reads X and dY once more.
static double traffic(const bench_stage *stage)
{
    const bench_axis_spec *spec = stage->spec;
    const double x_bytes = (double)bench_view_bytes(&stage->X);
    const bool reads_two = spec->kind == BENCH_SOFTMAX_BACKWARD || is_norm_backward(spec);
    const bool reads_again = is_norm_backward(spec) && !spec->dx_alone;
    return x_bytes * (reads_again ? 4 : reads_two ? 2 : 1) + (double)bench_view_bytes(&stage->Y);
}

static bench_rate limit_of(const bench_axis_spec *spec)
{
    return spec->kind == BENCH_REDUCE ? BENCH_READ : BENCH_COPY;
}

static weft_dtype result_dtype(const bench_axis_spec *spec)
{
    return spec->kind == BENCH_REDUCE && spec->op == WEFT_ARGMAX ? WEFT_I64 : spec->dtype;
}

static int result_shape(const bench_axis_spec *spec, int64_t *shape)
{
    unsigned reduced = spec->n_axes == 0 ? ~0u : 0;
    int n = 0;
    for (int i = 0; i < spec->n_axes; i++)
        reduced |= 1u << spec->axes[i];
    for (int d = 0; d < spec->ndim; d++)
        if (spec->kind != BENCH_REDUCE || !(reduced >> d & 1))
            shape[n++] = spec->shape[d];
    return n;
}

// weight, dW and db, in this order.
static bool set_up_scalings(bench_stage *stage, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    weft_tensor *const views[3] = {&stage->weight, &stage->dW, &stage->db};
    for (int i = 0; i < 3; i++)
        *views[i] = bench_view(NULL, spec->dtype, 1, spec->shape + spec->ndim - 1);
    stage->db.offset = spec->shape[spec->ndim - 1];
    if (!bench_operand_create(&stage->scaling, stage->ctx, &stage->weight, "weight", why) ||
        !buffer_create(&stage->sums, stage->ctx, NULL, 2 * bench_view_bytes(&stage->dW), "dW", why))
        return false;
    stage->weight.buffer = stage->scaling;
    stage->dW.buffer = stage->db.buffer = stage->sums;
    return true;
}

static bool set_up(bench_stage *stage, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    int64_t shape[WEFT_MAX_NDIM];
    const int ndim = result_shape(spec, shape);
    stage->X = bench_view(NULL, spec->dtype, spec->ndim, spec->shape);
    stage->Y = bench_view(NULL, result_dtype(spec), ndim, shape);
    stage->more_view =
        is_norm(spec) ? bench_view(NULL, spec->dtype, 1, spec->shape + spec->ndim - 1) : stage->X;
    const bool has_more =
        is_norm(spec) || is_norm_backward(spec) || spec->kind == BENCH_SOFTMAX_BACKWARD;
    if (is_norm_backward(spec) && !set_up_scalings(stage, why))
        return false;
    if (!bench_operand_create(&stage->in, stage->ctx, &stage->X, "X", why) ||
        (has_more &&
         !bench_operand_create(&stage->more, stage->ctx, &stage->more_view, "dY", why)) ||
        (!spec->in_place &&
         !buffer_create(&stage->out, stage->ctx, NULL, bench_view_bytes(&stage->Y), "Y", why)))
        return false;
    stage->X.buffer = stage->in;
    stage->more_view.buffer = stage->more;
    stage->Y.buffer = spec->in_place ? stage->in : stage->out;
    return true;
}

static void tear_down(bench_stage *stage)
{
    clFinish(stage->queue);
    buffer_release(&stage->in);
    buffer_release(&stage->more);
    buffer_release(&stage->out);
    buffer_release(&stage->scaling);
    buffer_release(&stage->sums);
}

// Whether the device supports it; if not, a note says why.
static bool fits(const bench_stage *stage)
{
    const weft_limits *device = weft_context_limits(stage->ctx);
    const bench_axis_spec *spec = stage->spec;
    uint64_t bytes = weft_dtype_size(spec->dtype);
    for (int d = 0; d < spec->ndim; d++)
        bytes *= (uint64_t)spec->shape[d];
    if (spec->dtype == WEFT_F64 && !device->has_f64) {
        bench_note("%s: skipped: the device has no f64", spec->name);
        return false;
    }
    if (bytes > device->max_alloc_bytes || bytes > device->global_bytes / 4) {
        bench_note("%s: skipped: the arrays are too large for the device", spec->name);
        return false;
    }
    return true;
}

// ---- calls

static weft_norm_params norm_params(const bench_stage *stage)
{
    return (weft_norm_params){
        .size = sizeof(weft_norm_params), .weight = &stage->more_view, .bias = &stage->more_view};
}

static weft_norm_backward_params backward_params(const bench_stage *stage)
{
    const bool is_layer = stage->spec->kind == BENCH_LAYER_NORM_BACKWARD;
    return (weft_norm_backward_params){
        .size = sizeof(weft_norm_backward_params),
        .weight = &stage->weight,
        .dW = stage->spec->dx_alone ? NULL : &stage->dW,
        .db = stage->spec->dx_alone || !is_layer ? NULL : &stage->db,
    };
}

static weft_status call(const void *of)
{
    const bench_stage *stage = of;
    const bench_axis_spec *spec = stage->spec;
    const weft_norm_params norm = norm_params(stage);
    const weft_norm_backward_params backward = backward_params(stage);
    weft_context *ctx = stage->ctx;
    switch (spec->kind) {
    case BENCH_SOFTMAX:
        return weft_softmax(ctx, stage->queue, 1, &stage->X, spec->axes[0], &stage->Y, NULL);
    case BENCH_LOG_SOFTMAX:
        return weft_log_softmax(ctx, stage->queue, 1, &stage->X, spec->axes[0], &stage->Y, NULL);
    case BENCH_SOFTMAX_BACKWARD:
        return weft_softmax_backward(ctx, stage->queue, 1, &stage->X, &stage->more_view,
                                     spec->axes[0], &stage->Y, NULL);
    case BENCH_LAYER_NORM:
        return weft_layer_norm(ctx, stage->queue, EPSILON, &stage->X, 1, &stage->Y, &norm);
    case BENCH_RMS_NORM:
        return weft_rms_norm(ctx, stage->queue, EPSILON, &stage->X, 1, &stage->Y, &norm);
    case BENCH_LAYER_NORM_BACKWARD:
        return weft_layer_norm_backward(ctx, stage->queue, EPSILON, &stage->X, 1, &stage->more_view,
                                        &stage->Y, &backward);
    case BENCH_RMS_NORM_BACKWARD:
        return weft_rms_norm_backward(ctx, stage->queue, EPSILON, &stage->X, 1, &stage->more_view,
                                      &stage->Y, &backward);
    case BENCH_REDUCE:
        break;
    }
    return weft_reduce(ctx, stage->queue, spec->op, &stage->X, spec->n_axes, spec->axes, &stage->Y,
                       NULL);
}

static int plan_in_words(const bench_stage *stage, char *text, size_t size)
{
    const bench_axis_spec *spec = stage->spec;
    const weft_norm_params norm = norm_params(stage);
    const weft_norm_backward_params backward = backward_params(stage);
    const weft_tensor *X = &stage->X, *Y = &stage->Y;
    weft_context *ctx = stage->ctx;
    switch (spec->kind) {
    case BENCH_SOFTMAX:
        return weft_softmax_describe(ctx, X, spec->axes[0], Y, NULL, text, size);
    case BENCH_LOG_SOFTMAX:
        return weft_log_softmax_describe(ctx, X, spec->axes[0], Y, NULL, text, size);
    case BENCH_SOFTMAX_BACKWARD:
        return weft_softmax_backward_describe(ctx, X, &stage->more_view, spec->axes[0], Y, NULL,
                                              text, size);
    case BENCH_LAYER_NORM:
        return weft_norm_describe(ctx, X, 1, Y, &norm, text, size);
    case BENCH_RMS_NORM:
        return weft_rms_norm_describe(ctx, X, 1, Y, &norm, text, size);
    case BENCH_LAYER_NORM_BACKWARD:
        return weft_norm_backward_describe(ctx, X, 1, &stage->more_view, Y, &backward, text, size);
    case BENCH_RMS_NORM_BACKWARD:
        return weft_rms_norm_backward_describe(ctx, X, 1, &stage->more_view, Y, &backward, text,
                                               size);
    case BENCH_REDUCE:
        break;
    }
    return weft_reduce_describe(ctx, spec->op, X, spec->n_axes, spec->axes, Y, NULL, text, size);
}

static bool describe(const bench_stage *stage, char *text, size_t size, complaint *why)
{
    return plan_in_words(stage, text, size) >= 0 ||
           complain(why, "%s: %s", stage->spec->name, weft_last_error());
}

static bool measure(bench_row *row, bench_stage *stage, const bench_choice *choice, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    progress_show("%s", spec->name);
    if (!set_up(stage, why))
        return false;
    *row = (bench_row){.limit = limit_of(spec), .goal = spec->is_goal ? (int)spec->kind : -1};
    memcpy(row->name, spec->name, sizeof(row->name));
    timed_report *report = &row->report;
    *report = report_new(spec->kind == BENCH_REDUCE                ? "reduce"
                         : is_norm(spec) || is_norm_backward(spec) ? "norm"
                                                                   : "softmax",
                         weft_context_limits(stage->ctx)->name, spec->dtype);
    report->name = row->name;
    report->plan = row->plan;
    report->ndim = spec->ndim;
    memcpy(report->shape, spec->shape, sizeof(spec->shape));
    const bench_task task = {
        .limits = stage->limits,
        .call = call,
        .of = stage,
        .work = traffic(stage),
        .is_small = spec->is_small,
        .in_cache = spec->in_cache,
        .is_quick = choice->quick,
        .on_request = choice->on_request,
    };
    return bench_row_measure(row, &task, why) && describe(stage, row->plan, sizeof(row->plan), why);
}

bool bench_axis_run(bench_rows *out, weft_context *ctx, const bench_limits *limits, unsigned sets,
                    const bench_choice *choice, complaint *why)
{
    bench_axis_specs specs;
    bool ok = bench_axis_list(&specs, sets, choice->quick,
                              bench_array_bytes(weft_context_limits(ctx)), why) &&
              bench_rows_create(out, specs.count, why);
    for (size_t i = 0; ok && i < specs.count; i++) {
        bench_stage stage = {.spec = &specs.items[i],
                             .ctx = ctx,
                             .queue = bench_limits_queue(limits)->cl,
                             .limits = limits};
        if (!bench_chooses(choice, stage.spec->name) || !fits(&stage))
            continue;
        ok = measure(&out->items[out->count], &stage, choice, why);
        tear_down(&stage);
        out->count += ok;
    }
    bench_axis_specs_free(&specs);
    progress_clear();
    return ok;
}

void bench_axis_print(const bench_rows *rows, FILE *out)
{
    if (rows->count == 0)
        return;
    bench_rows_print(rows, out);
    bench_rows_print_least(rows, BENCH_REDUCE, "share of reading, f32 sum, max and mean", out);
    bench_rows_print_least(rows, BENCH_SOFTMAX, "share of copying, f32 softmax", out);
    bench_rows_print_least(rows, BENCH_LAYER_NORM, "share of copying, f32 layer normalisation",
                           out);
    bench_rows_print_longest(rows, out);
}
