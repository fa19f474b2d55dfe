// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and normalisation, timed: one case after another on the same arrays.
#include "bench_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/norm.h>
#include <weft/softmax.h>

#include "bench.h"
#include "buffer.h"
#include "random.h"

enum { MAX_RUNS = TIMING_MOST_RUNS, MIN_RUNS = 9, QUICK_MIN_RUNS = 5, SMALL_RUNS = 201, SEED = 1 };

static const double CASE_MS = 800; // that the runs of a case may take, about
static const double QUICK_CASE_MS = 150;
static const uint64_t MIB = 1 << 20;
static const size_t BLOCK_BYTES = 8 << 20; // of numbers made on the host; the rest are copies
static const double EPSILON = 1e-5;

// A case on the device.
typedef struct bench_stage {
    const bench_axis_spec *spec;
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    cl_mem in, more, out; // X; dY, or weight and bias; Y
    weft_tensor X, more_view, Y;
    double setup_ms;
    double runs_ms[MAX_RUNS];
    double limit_ms[MAX_RUNS]; // small cases: of an empty launch
} bench_stage;

// As the limits have it, but no more than a GiB.
static uint64_t array_bytes(const weft_limits *device)
{
    uint64_t bytes = 2 * device->cache_bytes;
    bytes = bytes < 256 * MIB ? 256 * MIB : bytes > 1024 * MIB ? 1024 * MIB : bytes;
    if (bytes > device->max_alloc_bytes)
        bytes = device->max_alloc_bytes;
    return bytes > device->global_bytes / 8 ? device->global_bytes / 8 : bytes;
}

// ---- operands

static weft_tensor view_of(cl_mem buffer, weft_dtype dtype, int ndim, const int64_t *shape)
{
    weft_tensor view = {.buffer = buffer, .dtype = dtype, .ndim = ndim};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = step;
        step *= shape[d];
    }
    return view;
}

static size_t bytes_of(const weft_tensor *view)
{
    size_t bytes = weft_dtype_size(view->dtype);
    for (int d = 0; d < view->ndim; d++)
        bytes *= (size_t)view->shape[d];
    return bytes;
}

// What the op reads and writes at least; weight and bias do not count.
static double traffic(const bench_stage *stage)
{
    const double x_bytes = (double)bytes_of(&stage->X);
    return x_bytes * (stage->spec->kind == BENCH_SOFTMAX_BACKWARD ? 2 : 1) +
           (double)bytes_of(&stage->Y);
}

static bool is_norm(const bench_axis_spec *spec)
{
    return spec->kind == BENCH_LAYER_NORM || spec->kind == BENCH_RMS_NORM;
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

// Random numbers on the device: a block from the host, doubled until it fills the buffer.
static bool fill(const bench_stage *stage, cl_mem buffer, size_t bytes, complaint *why)
{
    const weft_dtype dtype = stage->spec->dtype;
    const size_t block = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
    void *numbers = malloc(block + 1);
    if (numbers == NULL)
        return complain(why, "no memory for random numbers");
    random_fill(SEED, RANDOM_DENSE, dtype, numbers, (int64_t)(block / weft_dtype_size(dtype)));
    cl_int code =
        clEnqueueWriteBuffer(stage->queue, buffer, CL_TRUE, 0, block, numbers, 0, NULL, NULL);
    free(numbers);
    for (size_t done = block; done < bytes && code == CL_SUCCESS; done *= 2)
        code = clEnqueueCopyBuffer(stage->queue, buffer, buffer, 0, done,
                                   done < bytes - done ? done : bytes - done, 0, NULL, NULL);
    return code == CL_SUCCESS || complain_cl(why, "filling an array", code);
}

static bool create(const bench_stage *stage, cl_mem *buffer, const weft_tensor *view,
                   const char *what, complaint *why)
{
    return buffer_create(buffer, stage->ctx, NULL, bytes_of(view), what, why) &&
           fill(stage, *buffer, bytes_of(view), why);
}

static bool set_up(bench_stage *stage, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    int64_t shape[WEFT_MAX_NDIM];
    const int ndim = result_shape(spec, shape);
    stage->X = view_of(NULL, spec->dtype, spec->ndim, spec->shape);
    stage->Y = view_of(NULL, result_dtype(spec), ndim, shape);
    stage->more_view =
        is_norm(spec) ? view_of(NULL, spec->dtype, 1, spec->shape + spec->ndim - 1) : stage->X;
    const bool has_more = is_norm(spec) || spec->kind == BENCH_SOFTMAX_BACKWARD;
    if (!create(stage, &stage->in, &stage->X, "X", why) ||
        (has_more && !create(stage, &stage->more, &stage->more_view, "dY", why)) ||
        (!spec->in_place &&
         !buffer_create(&stage->out, stage->ctx, NULL, bytes_of(&stage->Y), "Y", why)))
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
}

// Whether the device can; if not, a note says why.
static bool fits(const bench_stage *stage)
{
    const weft_limits *device = weft_context_limits(stage->ctx);
    const bench_axis_spec *spec = stage->spec;
    uint64_t bytes = weft_dtype_size(spec->dtype);
    for (int d = 0; d < spec->ndim; d++)
        bytes *= (uint64_t)spec->shape[d];
    if (spec->dtype == WEFT_F64 && !device->has_f64) {
        bench_note("%s: left out: the device has no f64", spec->name);
        return false;
    }
    if (bytes > device->max_alloc_bytes || bytes > device->global_bytes / 4) {
        bench_note("%s: left out: the arrays are too large for the device", spec->name);
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

static weft_status call(const bench_stage *stage)
{
    const bench_axis_spec *spec = stage->spec;
    const weft_norm_params norm = norm_params(stage);
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
    case BENCH_REDUCE:
        break;
    }
    return weft_reduce(ctx, stage->queue, spec->op, &stage->X, spec->n_axes, spec->axes, &stage->Y,
                       NULL);
}

static bool describe(const bench_stage *stage, char *text, size_t size, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    const weft_norm_params norm = norm_params(stage);
    const int length =
        spec->kind == BENCH_REDUCE
            ? weft_reduce_describe(stage->ctx, spec->op, &stage->X, spec->n_axes, spec->axes,
                                   &stage->Y, NULL, text, size)
        : is_norm(spec) ? weft_norm_describe(stage->ctx, &stage->X, 1, &stage->Y, &norm, text, size)
                        : weft_softmax_describe(stage->ctx, &stage->X, spec->axes[0], &stage->Y,
                                                NULL, text, size);
    return length >= 0 || complain(why, "%s: %s", spec->name, weft_last_error());
}

static bool run_once(const bench_stage *stage, double *ms, complaint *why)
{
    const double start_ms = timing_now_ms();
    if (call(stage) != WEFT_OK)
        return complain(why, "%s: %s", stage->spec->name, weft_last_error());
    const cl_int code = clFinish(stage->queue);
    *ms = timing_now_ms() - start_ms;
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

// What a run is held against.
static bool run_limit(const bench_stage *stage, double *ms, complaint *why)
{
    return stage->spec->is_small ? bench_limits_launch(stage->limits, ms, why)
                                 : bench_limits_run(stage->limits, limit_of(stage->spec), ms, why);
}

// The first run compiles, the second says how many the time allows.
static bool run_all(bench_stage *stage, bool quick, size_t *n_runs, complaint *why)
{
    double ms;
    if (!run_once(stage, &stage->setup_ms, why) || !run_once(stage, &ms, why))
        return false;
    const double wanted = (quick ? QUICK_CASE_MS : CASE_MS) / ms;
    const size_t least = quick ? QUICK_MIN_RUNS : MIN_RUNS;
    *n_runs = wanted < (double)least ? least : wanted > MAX_RUNS ? MAX_RUNS : (size_t)wanted;
    if (stage->spec->is_small)
        *n_runs = SMALL_RUNS;
    for (size_t run = 0; run < *n_runs; run++)
        if (!run_once(stage, &stage->runs_ms[run], why) ||
            !run_limit(stage, &stage->limit_ms[run], why))
            return false;
    return true;
}

static bool measure(bench_axis_case *out, bench_stage *stage, bool quick, complaint *why)
{
    const bench_axis_spec *spec = stage->spec;
    size_t n_runs;
    bench_progress("%s", spec->name);
    if (!set_up(stage, why) || !run_all(stage, quick, &n_runs, why))
        return false;
    *out = (bench_axis_case){.spec = *spec, .launches = NAN};
    timed_report *report = &out->report;
    *report = report_new(spec->kind == BENCH_REDUCE ? "reduce"
                         : is_norm(spec)            ? "norm"
                                                    : "softmax",
                         weft_context_limits(stage->ctx)->name, spec->dtype);
    report->name = out->spec.name;
    report->plan = out->plan;
    report->ndim = spec->ndim;
    memcpy(report->shape, spec->shape, sizeof(spec->shape));
    report->setup_ms = stage->setup_ms;
    const double ratio = timing_ratio(stage->runs_ms, stage->limit_ms, n_runs);
    report->time = timing_of(stage->runs_ms, n_runs);
    report->gbps = 1e-6 * traffic(stage) / report->time.median_ms;
    if (spec->is_small) {
        out->launches = 1 / ratio;
    } else {
        const double limit_ms = timing_of(stage->limit_ms, n_runs).median_ms;
        report->limit = bench_limits_rate(stage->limits, limit_of(spec), limit_ms);
        report->share =
            1e-6 * traffic(stage) * ratio / bench_limits_rate(stage->limits, limit_of(spec), 1);
    }
    return describe(stage, out->plan, sizeof(out->plan), why);
}

bool bench_axis_run(bench_axis_results *out, weft_context *ctx, const bench_limits *limits,
                    unsigned sets, bool quick, complaint *why)
{
    bench_axis_specs specs;
    *out = (bench_axis_results){0};
    bool ok = bench_axis_list(&specs, sets, quick, array_bytes(weft_context_limits(ctx)), why);
    out->items = ok ? calloc(specs.count + 1, sizeof(*out->items)) : NULL;
    if (ok && out->items == NULL)
        ok = complain(why, "no memory for %zu cases", specs.count);
    for (size_t i = 0; ok && i < specs.count; i++) {
        bench_stage stage = {.spec = &specs.items[i],
                             .ctx = ctx,
                             .queue = weft_context_queue(ctx),
                             .limits = limits};
        if (!fits(&stage))
            continue;
        ok = measure(&out->items[out->count], &stage, quick, why);
        tear_down(&stage);
        out->count += ok;
    }
    bench_axis_specs_free(&specs);
    bench_progress("%s", "");
    return ok;
}

// ---- what they came to

void bench_axis_json(const bench_axis_results *results, json_t *cases)
{
    for (size_t i = 0; i < results->count; i++) {
        json_t *object = report_json(&results->items[i].report);
        if (!isnan(results->items[i].launches))
            json_object_set_new(object, "launches", report_number(results->items[i].launches, 4));
        json_array_append_new(cases, object);
    }
}

static void print_row(const bench_axis_case *it, int width, FILE *out)
{
    const timed_report *report = &it->report;
    char range[32], share[32];
    snprintf(range, sizeof(range), "%.3g to %.3g", report->time.min_ms, report->time.max_ms);
    if (it->spec.is_small)
        snprintf(share, sizeof(share), "%.1f launches", it->launches);
    else
        snprintf(share, sizeof(share), "%.2f %s", report->share,
                 limit_of(&it->spec) == BENCH_READ ? "of read" : "of copy");
    fprintf(out, "| %-*s | %9.3g | %9.4g | %-16s | %6.1f | %-13s |\n", width, it->spec.name,
            report->setup_ms, report->time.median_ms, range, report->gbps, share);
}

static void print_rows(const bench_axis_results *results, FILE *out)
{
    static const char dashes[] =
        "-----------------------------------------------------------------"
        "-----------------------------------------------------------------";
    int width = 4;
    for (size_t i = 0; i < results->count; i++)
        if ((int)strlen(results->items[i].spec.name) > width)
            width = (int)strlen(results->items[i].spec.name);
    fprintf(out, "\n| %-*s | %9s | %9s | %-16s | %6s | %-13s |\n", width, "case", "set-up ms",
            "median ms", "range", "GB/s", "share");
    fprintf(out, "|%.*s|%.10s:|%.10s:|%.18s|%.7s:|%.15s|\n", width + 2, dashes, dashes, dashes,
            dashes, dashes, dashes);
    for (size_t i = 0; i < results->count; i++)
        print_row(&results->items[i], width, out);
}

// The least share among the goals of the kind; NULL where there is none.
static const bench_axis_case *slowest(const bench_axis_results *results, bench_axis_kind kind)
{
    const bench_axis_case *found = NULL;
    for (size_t i = 0; i < results->count; i++) {
        const bench_axis_case *it = &results->items[i];
        if (it->spec.kind == kind && it->spec.is_goal &&
            (found == NULL || it->report.share < found->report.share))
            found = it;
    }
    return found;
}

static void print_slowest(const bench_axis_results *results, bench_axis_kind kind, const char *what,
                          FILE *out)
{
    const bench_axis_case *it = slowest(results, kind);
    if (it != NULL)
        fprintf(out, "%s: at least %.2f (%s)\n", what, it->report.share, it->spec.name);
}

void bench_axis_print(const bench_axis_results *results, FILE *out)
{
    const bench_axis_case *longest = NULL;
    if (results->count == 0)
        return;
    print_rows(results, out);
    fputc('\n', out);
    print_slowest(results, BENCH_REDUCE, "share of reading, f32 sum, max and mean", out);
    print_slowest(results, BENCH_SOFTMAX, "share of copying, f32 softmax", out);
    print_slowest(results, BENCH_LAYER_NORM, "share of copying, f32 layer normalisation", out);
    for (size_t i = 0; i < results->count; i++)
        if (!isnan(results->items[i].launches) &&
            (longest == NULL || results->items[i].launches > longest->launches))
            longest = &results->items[i];
    if (longest != NULL)
        fprintf(out, "time of small cases: at most %.1f times an empty launch (%s)\n",
                longest->launches, longest->spec.name);
}

void bench_axis_free(bench_axis_results *results)
{
    free(results->items);
    *results = (bench_axis_results){0};
}
