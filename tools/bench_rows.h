// SPDX-License-Identifier: Apache-2.0
// Results of a bench's cases, which run alternately with the device's best: as JSON and as rows of
// a table.
#ifndef WEFT_TOOLS_BENCH_ROWS_H
#define WEFT_TOOLS_BENCH_ROWS_H

#include "bench_limits.h"
#include "report.h"

// One measured case.
typedef struct bench_row {
    char name[96];
    char plan[512];      // in words
    bench_rate limit;    // that its share refers to
    const char *cache;   // whose rate that is; NULL: the memory's
    int goal;            // group of the summary; below 0: none
    double launches;     // small cases: the time as a multiple of an empty launch; else NaN
    timed_report report; // gflops where the limit is that, else gbps
} bench_row;

typedef struct bench_rows {
    bench_row *items;
    size_t count;
} bench_rows;

// Room for so many; empty at first. The caller frees with bench_rows_free().
bool bench_rows_create(bench_rows *out, size_t room, complaint *why);
void bench_rows_free(bench_rows *rows);

// The call of a row.
typedef struct bench_task {
    const bench_limits *limits;
    weft_status (*call)(const void *of); // enqueues in the limits' queue
    const void *of;
    double work; // bytes that must be moved; operations if the limit is BENCH_FMA
    bool is_small, is_quick;
    bool in_cache;   // caches hold the work: its share is theirs, where one was measured
    bool on_request; // standard input says when it is run
    size_t n_runs;   // after the first; 0: as many as the time of a case allows
} bench_task;

// Runs the case, alternately with row->limit or, if it is small, with an empty launch; in a cache
// alone. Needs the row's name and limit; sets report's times, speed, limit and share, cache and
// launches. On request: serves that (bench_request.h), and sets nothing.
bool bench_row_measure(bench_row *row, const bench_task *task, complaint *why);

// Appends an object for each row.
void bench_rows_json(const bench_rows *rows, json_t *cases);

// The table.
void bench_rows_print(const bench_rows *rows, FILE *out);

// "<what>: at least 0.93 (<name>)": the least share among the rows of a goal. Prints nothing if
// there are none.
void bench_rows_print_least(const bench_rows *rows, int goal, const char *what, FILE *out);

// The longest of the small cases, if any.
void bench_rows_print_longest(const bench_rows *rows, FILE *out);

#endif
