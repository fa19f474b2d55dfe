// SPDX-License-Identifier: Apache-2.0
// SpMM, timed: one set of cases after another.
#include "bench_spmm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/spmm.h>

#include "bench.h"
#include "bench_request.h"
#include "buffer.h"
#include "progress.h"
#include "random.h"

enum { MAX_RUNS = 101, MIN_RUNS = 7, QUICK_MIN_RUNS = 5, SEED = 1 };
enum { MAX_RUNNERS = 2 * BENCH_SET_MATRICES, PASSES = 2 };

static const double SET_MS = 3000; // for the runs of a set, about
static const double BRIEF_SET_MS = 600;
static const double QUICK_SET_MS = 400;

// One case: a matrix, with its plan or without.
typedef struct bench_runner {
    const bench_matrix *matrix;
    const weft_csr *A;
    weft_spmm_params params;
    double setup_ms;
    double runs_ms[MAX_RUNS];
} bench_runner;

// A set on the device.
typedef struct bench_stage {
    const bench_set *set;
    const char *patterns; // a folder, or NULL
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    weft_csr A[BENCH_SET_MATRICES];
    weft_spmm_plan *plans[BENCH_SET_MATRICES];
    cl_mem buffer_B, buffer_C;
    weft_tensor B, C;
    size_t n_runners;
    bench_runner runners[MAX_RUNNERS];
    double limit_ms[MAX_RUNS];
} bench_stage;

static bool is_too_large(const bench_stage *stage, int64_t n_rows)
{
    const uint64_t limit = weft_context_limits(stage->ctx)->max_alloc_bytes;
    const uint64_t row_bytes = (uint64_t)stage->set->n * weft_dtype_size(stage->set->dtype);
    return (uint64_t)n_rows > limit / row_bytes;
}

static bool create_dense(bench_stage *stage, int64_t n_rows, const char *name, cl_mem *buffer,
                         weft_tensor *view, complaint *why)
{
    const bench_set *set = stage->set;
    const int64_t count = n_rows * set->n;
    const size_t bytes = (size_t)count * weft_dtype_size(set->dtype);
    void *data = malloc(bytes + 1);
    if (data == NULL)
        return complain(why, "no memory for %s, %zu bytes", name, bytes);
    random_fill(SEED, RANDOM_DENSE, set->dtype, data, count);
    const bool ok = buffer_create(buffer, stage->ctx, data, bytes, name, why);
    free(data);
    *view = weft_matrix(*buffer, set->dtype, n_rows, set->n);
    return ok;
}

static void add_runner(bench_stage *stage, int i, const weft_spmm_plan *plan, double setup_ms)
{
    bench_runner *runner = &stage->runners[stage->n_runners++];
    runner->matrix = &stage->set->matrices[i];
    runner->A = &stage->A[i];
    runner->setup_ms = setup_ms;
    runner->params = (weft_spmm_params){
        .size = sizeof(runner->params), .plan = plan, .transpose_a = stage->set->transpose_a};
}

static bool upload(bench_stage *stage, int i, const weft_csr_host *host, complaint *why)
{
    const bool transpose_a = stage->set->transpose_a;
    if (weft_csr_create(&stage->A[i], stage->ctx, stage->queue, host) != WEFT_OK)
        return complain_weft(why);
    const double start_ms = timing_now_ms();
    if (weft_spmm_plan_create(&stage->plans[i], stage->ctx, stage->queue, &stage->A[i],
                              WEFT_SPMM_PLAN(.transpose_a = transpose_a)) != WEFT_OK)
        return complain_weft(why);
    add_runner(stage, i, stage->plans[i], timing_now_ms() - start_ms);
    if (!transpose_a)
        add_runner(stage, i, NULL, 0);
    return true;
}

// Continues without that file.
static bool leave_out(bench_cases *cases, const bench_matrix *matrix, complaint *why)
{
    bench_note("%s: skipped: %s", matrix->name, why->text);
    bench_unread *unread = realloc(cases->unread, (cases->n_unread + 1) * sizeof(*unread));
    if (unread == NULL)
        return complain(why, "no memory for %zu files that cannot be read", cases->n_unread + 1);
    cases->unread = unread;
    unread = &cases->unread[cases->n_unread++];
    memcpy(unread->path, matrix->path, sizeof(unread->path));
    unread->why = *why;
    return true;
}

// Puts the set on the device. *fits: it is possible; if not, a note says why.
static bool set_up(bench_stage *stage, bench_cases *cases, bool *fits, complaint *why)
{
    const bench_set *set = stage->set;
    *fits = false;
    if (set->dtype == WEFT_F64 && !weft_context_limits(stage->ctx)->has_f64) {
        bench_note("%s: skipped: the device has no f64", set->matrices[0].name);
        return true;
    }
    for (int i = 0; i < set->n_matrices; i++) {
        const bench_matrix *matrix = &set->matrices[i];
        weft_csr_host host;
        progress_show("spmm: %s: making the matrix", matrix->name);
        if (!bench_matrix_make(&host, matrix, set->dtype, why))
            return matrix->source == BENCH_FILE && leave_out(cases, matrix, why);
        const int64_t m = set->transpose_a ? host.n_cols : host.n_rows;
        const int64_t k = set->transpose_a ? host.n_rows : host.n_cols;
        const bool too_large = is_too_large(stage, m) || is_too_large(stage, k);
        bool ok = too_large || (bench_pattern_save(&host, stage->patterns, matrix->name, why) &&
                                upload(stage, i, &host, why));
        if (ok && !too_large && i == 0)
            ok = create_dense(stage, k, "B", &stage->buffer_B, &stage->B, why) &&
                 create_dense(stage, m, "C", &stage->buffer_C, &stage->C, why);
        weft_csr_host_destroy(&host);
        if (too_large)
            bench_note("%s: skipped: too large for the device's buffers", matrix->name);
        if (!ok || too_large)
            return ok;
    }
    *fits = true;
    return true;
}

// With a plan and without; A^T requires one.
static size_t ways_of(const bench_stage *stage)
{
    return stage->set->transpose_a ? 1 : 2;
}

// First all matrices with their plans, then all without: a matrix that was read a moment ago would
// come from a nearer cache.
static bench_runner *runner_at(bench_stage *stage, size_t call)
{
    const size_t ways = ways_of(stage);
    const size_t n_matrices = stage->n_runners / ways;
    const size_t place = call % stage->n_runners;
    return &stage->runners[place % n_matrices * ways + place / n_matrices];
}

static bool enqueue(const bench_stage *stage, const bench_runner *runner, cl_event *event,
                    complaint *why)
{
    weft_spmm_params params = runner->params;
    params.event = event;
    return weft_spmm(stage->ctx, stage->queue, 1, runner->A, &stage->B, 0, &stage->C, &params) ==
               WEFT_OK ||
           complain_weft(why);
}

// When each call ended, by the host's clock.
static bool call_and_wait(bench_stage *stage, size_t n_calls, cl_ulong *ends_ns, complaint *why)
{
    for (size_t call = 0; call < n_calls; call++) {
        if (!enqueue(stage, runner_at(stage, call), NULL, why) ||
            !bench_queue_finish(bench_limits_queue(stage->limits), why))
            return false;
        ends_ns[call] = (cl_ulong)(1e6 * timing_now_ms());
    }
    return true;
}

// Fills the queue before it waits; times are by the device's clock.
static bool call_in_a_row(bench_stage *stage, size_t n_calls, cl_ulong *ends_ns, complaint *why)
{
    cl_event events[PASSES * MAX_RUNNERS] = {NULL};
    bool ok = true;
    for (size_t call = 0; ok && call < n_calls; call++)
        ok = enqueue(stage, runner_at(stage, call), &events[call], why);
    ok = ok && bench_queue_finish(bench_limits_queue(stage->limits), why);
    for (size_t call = 0; ok && call < n_calls; call++)
        ok = bench_queue_end(events[call], &ends_ns[call], why);
    for (size_t call = 0; call < n_calls; call++)
        if (events[call])
            clReleaseEvent(events[call]);
    return ok;
}

// Every runner twice, alternately. The second time counts: no call is the first of a queue, and
// each matrix was last read one pass ago. *ms is the time of the whole round.
static bool run_round(bench_stage *stage, size_t run, double *ms, complaint *why)
{
    const size_t n_calls = PASSES * stage->n_runners;
    cl_ulong ends_ns[PASSES * MAX_RUNNERS];
    const bench_queue *queue = bench_limits_queue(stage->limits);
    const double start_ms = timing_now_ms();
    if (!(queue->tick_ns > 0 ? call_in_a_row(stage, n_calls, ends_ns, why)
                             : call_and_wait(stage, n_calls, ends_ns, why)))
        return false;
    *ms = timing_now_ms() - start_ms;
    for (size_t call = n_calls - stage->n_runners; call < n_calls; call++)
        runner_at(stage, call)->runs_ms[run] =
            bench_queue_between_ms(queue, ends_ns[call - 1], ends_ns[call]);
    return true;
}

// The first round compiles, the second determines how many the time allows.
static bool run_rounds(bench_stage *stage, bool quick, size_t *n_runs, complaint *why)
{
    double ms;
    if (!run_round(stage, 0, &ms, why) || !run_round(stage, 0, &ms, why))
        return false;
    const double wanted = (quick                  ? QUICK_SET_MS
                           : stage->set->is_brief ? BRIEF_SET_MS
                                                  : SET_MS) /
                          ms;
    const size_t least = quick ? QUICK_MIN_RUNS : MIN_RUNS;
    *n_runs = wanted < (double)least ? least : wanted > MAX_RUNS ? MAX_RUNS : (size_t)wanted;
    for (size_t run = 0; run < *n_runs; run++)
        if (!run_round(stage, run, &ms, why) ||
            !bench_limits_run(stage->limits, BENCH_FMA, &stage->limit_ms[run], why))
            return false;
    return true;
}

static bench_case *add_case(bench_cases *cases, complaint *why)
{
    if (cases->count == cases->room) {
        const size_t room = 2 * cases->room + 32;
        bench_case *items = realloc(cases->items, room * sizeof(*items));
        if (items == NULL) {
            complaint_keep(why, "no memory for %zu cases", room);
            return NULL;
        }
        cases->items = items;
        cases->room = room;
    }
    return &cases->items[cases->count++];
}

static bool describe(const bench_stage *stage, const bench_runner *runner, char *text, size_t size,
                     complaint *why)
{
    return weft_spmm_describe(stage->ctx, runner->A, &stage->B, &stage->C, &runner->params, text,
                              size) >= 0 ||
           complain_weft(why);
}

// Without times.
static timed_report new_report(const bench_stage *stage, const bench_runner *runner)
{
    timed_report report =
        report_new("spmm", weft_context_limits(stage->ctx)->name, stage->set->dtype);
    report.is_product = true;
    report.m = stage->C.shape[0];
    report.k = stage->B.shape[0];
    report.n = stage->set->n;
    report.nnz = runner->A->nnz;
    report.setup_ms = runner->setup_ms;
    return report;
}

// A planned runner is followed by the one without, but for A^T.
static double ratio_to_unplanned(const bench_stage *stage, const bench_runner *runner,
                                 size_t n_runs)
{
    return runner->params.plan != NULL && ways_of(stage) > 1
               ? timing_ratio(runner[1].runs_ms, runner->runs_ms, n_runs)
               : NAN;
}

static bool report_runner(bench_cases *cases, const bench_stage *stage, bench_runner *runner,
                          size_t even, double limit, size_t n_runs, complaint *why)
{
    bench_case *it = add_case(cases, why);
    if (it == NULL)
        return false;
    *it = (bench_case){.planned = runner->params.plan != NULL,
                       .to_unplanned = ratio_to_unplanned(stage, runner, n_runs),
                       .is_layer = runner->matrix->source == BENCH_LAYER,
                       .is_file = runner->matrix->source == BENCH_FILE,
                       .even = even};
    memcpy(it->name, runner->matrix->name, sizeof(it->name));
    timed_report *report = &it->report;
    *report = new_report(stage, runner);
    const double ratio = timing_ratio(runner->runs_ms, stage->limit_ms, n_runs);
    report->time = timing_of(runner->runs_ms, n_runs);
    const double gflop = 2e-6 * (double)report->nnz * (double)report->n; // in a millisecond
    report->gflops = gflop / report->time.median_ms;
    report->limit = limit;
    report->share = gflop * ratio / bench_limits_rate(stage->limits, BENCH_FMA, 1);
    return describe(stage, runner, it->plan, sizeof(it->plan), why);
}

static weft_status call_runner(const void *of, size_t which)
{
    const bench_stage *stage = of;
    const bench_runner *runner = &stage->runners[which];
    return weft_spmm(stage->ctx, stage->queue, 1, runner->A, &stage->B, 0, &stage->C,
                     &runner->params);
}

static json_t *runner_json(const bench_stage *stage, const bench_runner *runner)
{
    timed_report report = new_report(stage, runner);
    report.name = runner->matrix->name;
    json_t *object = report_json(&report);
    json_object_set_new(object, "planned", json_boolean(runner->params.plan != NULL));
    return object;
}

static bool serve(const bench_stage *stage, complaint *why)
{
    const bench_request request = {
        .limits = stage->limits, .n_cases = stage->n_runners, .call = call_runner, .of = stage};
    json_t *cases = json_array();
    for (size_t i = 0; i < stage->n_runners; i++)
        json_array_append_new(cases, runner_json(stage, &stage->runners[i]));
    return bench_request_serve(&request, cases, why);
}

static bool measure(bench_cases *cases, bench_stage *stage, const bench_choice *choice,
                    complaint *why)
{
    const size_t first = cases->count;
    const size_t ways = ways_of(stage);
    size_t n_runs;
    progress_show("spmm: %s", stage->set->matrices[0].name);
    if (choice->on_request)
        return serve(stage, why);
    if (!run_rounds(stage, choice->quick, &n_runs, why))
        return false;
    double sorted_ms[MAX_RUNS];
    memcpy(sorted_ms, stage->limit_ms, n_runs * sizeof(*sorted_ms));
    const double limit =
        bench_limits_rate(stage->limits, BENCH_FMA, timing_of(sorted_ms, n_runs).median_ms);
    for (size_t i = 0; i < stage->n_runners; i++)
        if (!report_runner(cases, stage, &stage->runners[i], first + i % ways, limit, n_runs, why))
            return false;
    return true;
}

static void tear_down(bench_stage *stage)
{
    clFinish(stage->queue);
    for (int i = 0; i < BENCH_SET_MATRICES; i++) {
        weft_spmm_plan_destroy(&stage->plans[i]);
        weft_csr_destroy(&stage->A[i]);
    }
    buffer_release(&stage->buffer_B);
    buffer_release(&stage->buffer_C);
}

bool bench_chooses_set(const bench_choice *choice, const bench_set *set)
{
    for (int i = 0; i < set->n_matrices; i++)
        if (bench_chooses(choice, set->matrices[i].name))
            return true;
    return false;
}

bool bench_spmm_run(bench_cases *out, weft_context *ctx, const bench_limits *limits,
                    const bench_sets *sets, const bench_choice *choice, complaint *why)
{
    for (size_t i = 0; i < sets->count; i++) {
        if (!bench_chooses_set(choice, &sets->items[i]))
            continue;
        bench_stage stage = {.set = &sets->items[i],
                             .patterns = choice->patterns,
                             .ctx = ctx,
                             .queue = bench_limits_queue(limits)->cl,
                             .limits = limits};
        bool fits;
        const bool ok =
            set_up(&stage, out, &fits, why) && (!fits || measure(out, &stage, choice, why));
        tear_down(&stage);
        if (!ok)
            return false;
    }
    progress_clear();
    return true;
}

void bench_cases_close(bench_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        cases->items[i].report.name = cases->items[i].name;
        cases->items[i].report.plan = cases->items[i].plan;
    }
}

void bench_cases_free(bench_cases *cases)
{
    free(cases->items);
    free(cases->unread);
    *cases = (bench_cases){0};
}
