// SPDX-License-Identifier: Apache-2.0
// The device's best measured rates: the yardstick of every other figure of a bench.
//
//   copy  GB/s   one read and one write a byte, from one array to another
//   read  GB/s   both arrays, one after the other
//   FMA   GFLOP/s of f32 multiply-adds in registers, each counted as two
//
// Each array is twice the last-level cache, at least 256 MiB, within the largest buffer and an
// eighth of the memory, and smaller on a device that needs longer than 200 ms to copy it.
//
// Every family of kernels in limits.cl is tried in all shapes that suit the device; the three
// fastest are then measured longer, and the best median is the rate. The winner then runs
// alternately with the cases: the speed of a shared machine changes within seconds.
#ifndef WEFT_TOOLS_BENCH_LIMITS_H
#define WEFT_TOOLS_BENCH_LIMITS_H

#include <stdio.h>

#include <jansson.h>

#include <weft/context.h>

#include "bench_caches.h"
#include "bench_queue.h"

typedef struct bench_limits bench_limits;

typedef enum bench_rate {
    BENCH_COPY, // GB/s
    BENCH_READ, // GB/s
    BENCH_FMA,  // GFLOP/s
} bench_rate;

// Compiles, allocates and fills; measures nothing yet. On failure *out is NULL.
bool bench_limits_create(bench_limits **out, weft_context *ctx, complaint *why);
void bench_limits_destroy(bench_limits **limits);

// The queue of the limits and of all cases that are compared with them.
const bench_queue *bench_limits_queue(const bench_limits *limits);

// Measures all shapes, once. The functions below require it.
bool bench_limits_measure(bench_limits *limits, complaint *why);

// Milliseconds of one run of the best shape, of 2 ms and more, until it is done.
bool bench_limits_run(const bench_limits *limits, bench_rate rate, double *ms, complaint *why);

// The rate at which such a run took `ms`.
double bench_limits_rate(const bench_limits *limits, bench_rate rate, double ms);

// What the caches did.
const bench_caches *bench_limits_caches(const bench_limits *limits);

// Enqueues one empty launch, of a group for each compute unit.
bool bench_limits_enqueue_nothing(const bench_limits *limits, complaint *why);

// Milliseconds of one empty launch, until it is done.
bool bench_limits_launch(const bench_limits *limits, double *ms, complaint *why);

// "limits" of the bench's JSON: copy_gbps, read_gbps, fma_gflops, the arrays' size, the winning
// shapes and the caches. NULL where memory ran out.
json_t *bench_limits_json(const bench_limits *limits);

// The same in three lines and one for each cache.
void bench_limits_print(const bench_limits *limits, FILE *out);

#endif
