// SPDX-License-Identifier: Apache-2.0
// Times reductions, softmax and normalisation, and prints what they came to.
#ifndef WEFT_TOOLS_BENCH_AXIS_H
#define WEFT_TOOLS_BENCH_AXIS_H

#include "bench_axis_cases.h"
#include "bench_limits.h"
#include "report.h"

typedef struct bench_axis_case {
    bench_axis_spec spec;
    char plan[256];      // in words
    double launches;     // small cases: the time as a multiple of an empty launch; else NaN
    timed_report report; // gbps is of what must be moved
} bench_axis_case;

typedef struct bench_axis_results {
    bench_axis_case *items;
    size_t count;
} bench_axis_results;

// Measures the cases of the sets (bits of bench_axis_cases.h), reductions against reading, what
// writes as much as it reads against copying. Notes on standard error name what is
// left out: a data type that the device has not, an array too large for it.
bool bench_axis_run(bench_axis_results *out, weft_context *ctx, const bench_limits *limits,
                    unsigned sets, bool quick, complaint *why);

// Appends an object for each case.
void bench_axis_json(const bench_axis_results *results, json_t *cases);

// The table, and the lines about the worst of it.
void bench_axis_print(const bench_axis_results *results, FILE *out);

void bench_axis_free(bench_axis_results *results);

#endif
