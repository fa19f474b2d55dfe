// SPDX-License-Identifier: Apache-2.0
// What the device's caches do at best, measured: the yardstick of cases whose operands they hold.
//
//   read  GB/s   each unit goes through half of its cache again and again
//   copy  GB/s   one read and one write a byte, from a quarter of it to another
//
// All units at once. The first and second level are a unit's own, of the last one each has its
// share. Levels whose size the limits do not have are left out.
#ifndef WEFT_TOOLS_BENCH_CACHES_H
#define WEFT_TOOLS_BENCH_CACHES_H

#include <stdio.h>

#include <jansson.h>

#include "bench_queue.h"

enum { BENCH_CACHES = 3 };

typedef struct bench_cache {
    const char *name;  // "L1", "L2", "last"
    uint64_t bytes;    // of the cache
    uint64_t together; // of those of all units
    double read, copy; // GB/s
} bench_cache;

typedef struct bench_caches {
    bench_cache levels[BENCH_CACHES];
    size_t n_levels;
} bench_caches;

// By the kernels of limits.cl, in two arrays that are at least as large as the caches.
bool bench_caches_measure(bench_caches *out, weft_context *ctx, const bench_queue *queue,
                          cl_program program, const cl_mem arrays[2], size_t array_bytes,
                          complaint *why);

// The nearest caches that together hold so many bytes; NULL where none was measured.
const bench_cache *bench_caches_holding(const bench_caches *caches, double bytes);

// "caches" of the limits' JSON: a list of {level, bytes, read_gbps, copy_gbps}.
json_t *bench_caches_json(const bench_caches *caches);

// The same, a line for each.
void bench_caches_print(const bench_caches *caches, FILE *out);

#endif
