// SPDX-License-Identifier: Apache-2.0
// Times SpMM with and without a plan. The cases of a set, both ways of each, and the multiply-adds
// for comparison run alternately, so that a change in the machine's speed affects all.
#ifndef WEFT_TOOLS_BENCH_SPMM_H
#define WEFT_TOOLS_BENCH_SPMM_H

#include "bench.h"
#include "bench_limits.h"
#include "bench_sets.h"
#include "report.h"

typedef struct bench_case {
    char name[128];
    char plan[512]; // in words
    bool planned;
    double to_unplanned; // planned: its time as a multiple of that without, the median of rounds;
                         // else NaN
    bool is_layer;       // generated
    bool is_file;        // of --data
    size_t even; // index of the set's most even case that is planned or not like this one; its own
                 // for that one
    timed_report report; // set-up is the making of the plan, 0 without
} bench_case;

// A file of --data that cannot be read.
typedef struct bench_unread {
    char path[1024];
    complaint why;
} bench_unread;

typedef struct bench_cases {
    bench_case *items;
    size_t count, room;
    bench_unread *unread;
    size_t n_unread;
} bench_cases;

// Sets stay complete: their cases are compared.
bool bench_chooses_set(const bench_choice *choice, const bench_set *set);

// Measures each set with a chosen case, as a whole, and appends its cases: a planned one and then,
// but for A^T, one without. Notes on standard error name omitted cases: a data type that the device
// lacks, a matrix too large for the device, a file that cannot be read; such files are also listed.
bool bench_spmm_run(bench_cases *out, weft_context *ctx, const bench_limits *limits,
                    const bench_sets *sets, const bench_choice *choice, complaint *why);

// Points every report to the name and the plan of its case: once no more cases are added.
void bench_cases_close(bench_cases *cases);

void bench_cases_free(bench_cases *cases);

#endif
