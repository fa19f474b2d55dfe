// SPDX-License-Identifier: Apache-2.0
// Cases of a bench: measured, listed, summed up.
#include "bench_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_request.h"

enum { MAX_RUNS = TIMING_MOST_RUNS, MIN_RUNS = 9, QUICK_MIN_RUNS = 5, SMALL_RUNS = 201 };

static const double CASE_MS = 800; // for the runs of a case, about
static const double QUICK_CASE_MS = 150;
static const double LONG_MS = 10; // waking the device is negligible beside it
static const struct timespec REST = {.tv_sec = 2, .tv_nsec = 500000000};

bool bench_rows_create(bench_rows *out, size_t room, complaint *why)
{
    *out = (bench_rows){.items = calloc(room + 1, sizeof(*out->items))};
    return out->items != NULL || complain(why, "no memory for %zu cases", room);
}

void bench_rows_free(bench_rows *rows)
{
    free(rows->items);
    *rows = (bench_rows){0};
}

// ---- measuring

// Times of a case, and of its comparison.
typedef struct run_times {
    size_t count;
    double setup_ms;
    double runs_ms[MAX_RUNS], limit_ms[MAX_RUNS];
} run_times;

static bool call_once(const bench_row *row, const bench_task *task, cl_event *after, complaint *why)
{
    if (task->call(task->of) != WEFT_OK)
        return complain(why, "%s: %s", row->name, weft_last_error());
    if (!after)
        return true;
    const cl_int code =
        clEnqueueMarkerWithWaitList(bench_limits_queue(task->limits)->cl, 0, NULL, after);
    return code == CL_SUCCESS || complain_cl(why, "clEnqueueMarkerWithWaitList", code);
}

static bool call_and_wait(const bench_row *row, const bench_task *task, double *ms, complaint *why)
{
    const double start_ms = timing_now_ms();
    if (!call_once(row, task, NULL, why) ||
        !bench_queue_finish(bench_limits_queue(task->limits), why))
        return false;
    *ms = timing_now_ms() - start_ms;
    return true;
}

// Twice, and the second time counts.
static bool call_in_a_row(const bench_row *row, const bench_task *task, double *ms, complaint *why)
{
    const bench_queue *queue = bench_limits_queue(task->limits);
    cl_event events[2] = {NULL};
    cl_ulong ends_ns[2];
    const bool ok = call_once(row, task, &events[0], why) &&
                    call_once(row, task, &events[1], why) && bench_queue_finish(queue, why) &&
                    bench_queue_end(events[0], &ends_ns[0], why) &&
                    bench_queue_end(events[1], &ends_ns[1], why);
    for (int i = 0; i < 2; i++)
        if (events[i])
            clReleaseEvent(events[i]);
    if (ok)
        *ms = bench_queue_between_ms(queue, ends_ns[0], ends_ns[1]);
    return ok;
}

// Whose rate bounds the task; NULL: the device's.
static const bench_cache *cache_of(const bench_row *row, const bench_task *task)
{
    return task->in_cache && row->limit != BENCH_FMA
               ? bench_caches_holding(bench_limits_caches(task->limits), task->work)
               : NULL;
}

// In a cache nothing runs between, which would take the operands out of it.
static bool run_limit(const bench_row *row, const bench_task *task, double *ms, complaint *why)
{
    *ms = NAN;
    if (cache_of(row, task))
        return true;
    return task->is_small ? bench_limits_launch(task->limits, ms, why)
                          : bench_limits_run(task->limits, row->limit, ms, why);
}

// As many runs as the time of a case allows, if one takes `ms`.
static size_t runs_for(const bench_task *task, double ms)
{
    const double wanted = (task->is_quick ? QUICK_CASE_MS : CASE_MS) / ms;
    const size_t least = task->is_quick ? QUICK_MIN_RUNS : MIN_RUNS;
    if (task->n_runs > 0 || task->is_small)
        return task->n_runs > 0 ? task->n_runs : SMALL_RUNS;
    return wanted < (double)least ? least : wanted > MAX_RUNS ? MAX_RUNS : (size_t)wanted;
}

// Allocating or releasing memory keeps virtual machines busy for two seconds, in which memory
// accesses take two or three times as long.
static void rest(const bench_row *row, const bench_task *task)
{
    if (row->limit != BENCH_FMA && !task->is_small && !task->in_cache && !task->is_quick)
        nanosleep(&REST, NULL);
}

// The first run compiles, the second wakes the device and gives the time of one.
static bool run_all(run_times *times, const bench_row *row, const bench_task *task, complaint *why)
{
    double ms = 0;
    if (!call_and_wait(row, task, &times->setup_ms, why))
        return false;
    rest(row, task);
    if (!call_and_wait(row, task, &ms, why))
        return false;
    times->count = runs_for(task, ms);
    const bool waits =
        task->is_small || ms > LONG_MS || bench_limits_queue(task->limits)->tick_ns == 0;
    for (size_t run = 0; run < times->count; run++)
        if (!(waits ? call_and_wait : call_in_a_row)(row, task, &times->runs_ms[run], why) ||
            !run_limit(row, task, &times->limit_ms[run], why))
            return false;
    return true;
}

static weft_status call_of(const void *of, size_t which)
{
    const bench_task *task = of;
    (void)which;
    return task->call(task->of);
}

static bool serve(const bench_row *row, const bench_task *task, complaint *why)
{
    const bench_request request = {
        .limits = task->limits, .n_cases = 1, .call = call_of, .of = task};
    return bench_request_serve(&request, json_pack("[o]", report_json(&row->report)), why);
}

// Sets the share, or the launches that a small case takes.
static void compare(bench_row *row, const bench_task *task, run_times *times)
{
    const bench_cache *cache = cache_of(row, task);
    timed_report *report = &row->report;
    row->launches = NAN;
    if (cache) {
        row->cache = cache->name;
        report->limit = row->limit == BENCH_READ ? cache->read : cache->copy;
        report->share = report->gbps / report->limit;
        return;
    }
    const double ratio = timing_ratio(times->runs_ms, times->limit_ms, times->count);
    if (task->is_small) {
        row->launches = 1 / ratio;
        return;
    }
    const double limit_ms = timing_of(times->limit_ms, times->count).median_ms;
    report->limit = bench_limits_rate(task->limits, row->limit, limit_ms);
    report->share = 1e-6 * task->work * ratio / bench_limits_rate(task->limits, row->limit, 1);
}

bool bench_row_measure(bench_row *row, const bench_task *task, complaint *why)
{
    if (task->on_request)
        return serve(row, task, why);
    run_times times;
    timed_report *report = &row->report;
    if (!run_all(&times, row, task, why))
        return false;
    report->setup_ms = times.setup_ms;
    report->time = timing_of(times.runs_ms, times.count);
    *(row->limit == BENCH_FMA ? &report->gflops : &report->gbps) =
        1e-6 * task->work / report->time.median_ms;
    compare(row, task, &times);
    return true;
}

// ---- what they came to

static const char *const rate_names[] = {"copy", "read", "FMA"};

// "copy", "L2 copy"
static void name_bound(const bench_row *row, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", row->cache ? row->cache : "", row->cache ? " " : "",
             rate_names[row->limit]);
}

void bench_rows_json(const bench_rows *rows, json_t *cases)
{
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *row = &rows->items[i];
        json_t *object = report_json(&row->report);
        char bound[16];
        name_bound(row, bound, sizeof(bound));
        if (!isnan(row->launches))
            json_object_set_new(object, "launches", report_number(row->launches, 4));
        else
            json_object_set_new(object, "bound", json_string(bound));
        json_array_append_new(cases, object);
    }
}

static void print_row(const bench_row *row, int width, FILE *out)
{
    const timed_report *report = &row->report;
    const double speed = row->limit == BENCH_FMA ? report->gflops : report->gbps;
    char range[32], share[32], bound[16];
    name_bound(row, bound, sizeof(bound));
    snprintf(range, sizeof(range), "%.3g to %.3g", report->time.min_ms, report->time.max_ms);
    if (!isnan(row->launches))
        snprintf(share, sizeof(share), "%.1f launches", row->launches);
    else
        snprintf(share, sizeof(share), "%.2f of %s", report->share, bound);
    fprintf(out, "| %-*s | %9.3g | %9.4g | %-16s | %6.1f | %-17s |\n", width, row->name,
            report->setup_ms, report->time.median_ms, range, speed, share);
}

void bench_rows_print(const bench_rows *rows, FILE *out)
{
    static const char dashes[] =
        "-----------------------------------------------------------------"
        "-----------------------------------------------------------------";
    int width = 4;
    for (size_t i = 0; i < rows->count; i++)
        if ((int)strlen(rows->items[i].name) > width)
            width = (int)strlen(rows->items[i].name);
    fprintf(out, "\n| %-*s | %9s | %9s | %-16s | %6s | %-17s |\n", width, "case", "set-up ms",
            "median ms", "range", "G/s", "share");
    fprintf(out, "|%.*s|%.10s:|%.10s:|%.18s|%.7s:|%.19s|\n", width + 2, dashes, dashes, dashes,
            dashes, dashes, dashes);
    for (size_t i = 0; i < rows->count; i++)
        print_row(&rows->items[i], width, out);
    fputc('\n', out);
}

void bench_rows_print_least(const bench_rows *rows, int goal, const char *what, FILE *out)
{
    const bench_row *least = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *row = &rows->items[i];
        if (row->goal == goal && (least == NULL || row->report.share < least->report.share))
            least = row;
    }
    if (least != NULL)
        fprintf(out, "%s: at least %.2f (%s)\n", what, least->report.share, least->name);
}

void bench_rows_print_longest(const bench_rows *rows, FILE *out)
{
    const bench_row *longest = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *row = &rows->items[i];
        if (!isnan(row->launches) && (longest == NULL || row->launches > longest->launches))
            longest = row;
    }
    if (longest != NULL)
        fprintf(out, "time of small cases: at most %.1f times an empty launch (%s)\n",
                longest->launches, longest->name);
}
