// SPDX-License-Identifier: Apache-2.0
// Dense products of many random shapes: their speed, and the number of programs.
#ifndef WEFT_TOOLS_BENCH_SWEEP_H
#define WEFT_TOOLS_BENCH_SWEEP_H

#include <stdio.h>

#include <jansson.h>

#include "bench.h"
#include "bench_limits.h"

enum {
    BENCH_SWEEP_SHAPES = 500,
    BENCH_SWEEP_QUICK = 40,
    BENCH_SWEEP_LEAST = 16, // m, n and k, each drawn uniformly
    BENCH_SWEEP_MOST = 2048,
    BENCH_SWEEP_SLOWEST = 5, // that are named
};

// Their common name, as a case.
#define BENCH_SWEEP_NAME "random"

typedef struct bench_sweep_shape {
    int64_t m, n, k;
    double share; // of multiply-adds, each counted as two
} bench_sweep_shape;

typedef struct bench_sweep {
    bench_sweep_shape shapes[BENCH_SWEEP_SHAPES]; // the slowest first
    size_t count;                                 // 0: there was no sweep
    uint64_t programs;                            // that all of them together had compiled
} bench_sweep;

// If that case is chosen, but never on request, measures f32 products of random shapes, the same
// ones each time, in a context of its own without programs from before. After 90 s no more are
// begun, and a note says so.
bool bench_sweep_run(bench_sweep *out, weft_context *ctx, const bench_limits *limits,
                     const bench_choice *choice, complaint *why);

// Shapes, programs, the worst, median and best share, and the slowest shapes.
json_t *bench_sweep_json(const bench_sweep *sweep);

// The same as text. Prints nothing if there was no sweep.
void bench_sweep_print(const bench_sweep *sweep, FILE *out);

#endif
