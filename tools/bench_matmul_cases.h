// SPDX-License-Identifier: Apache-2.0
// The dense products that a bench measures.
#ifndef WEFT_TOOLS_BENCH_MATMUL_CASES_H
#define WEFT_TOOLS_BENCH_MATMUL_CASES_H

#include <weft/dtype.h>

#include "bench_limits.h"

// Groups of the summary.
typedef enum bench_matmul_goal {
    BENCH_NO_MATMUL_GOAL,
    BENCH_MATMUL_SQUARE,
    BENCH_MATMUL_TRANSPOSED, // A or B is stored transposed
    BENCH_MATMUL_BATCH,
    BENCH_MATMUL_VECTOR,
} bench_matmul_goal;

enum {
    BENCH_MATMUL_QUICK = 1, // among the few
    BENCH_TRANSPOSED_A = 2, // column-major; else row-major
    BENCH_TRANSPOSED_B = 4,
};

// A product, and the memory order of its factors.
typedef struct bench_product {
    const char *title;
    bench_matmul_goal goal;
    bench_rate limit;
    int64_t batch, m, n, k;
    weft_dtype dtype;
    unsigned flags;
} bench_product;

// One case, named by its kind and C's rows, columns and k:
//
//   square-1024x1024x1024     transposed_a-1024x1024x1024     batch-512-64x64x64
//   matvec-8192x1x8192        square-1024x1024x1024-f16
typedef struct bench_matmul_spec {
    bench_product of;
    char name[96];
} bench_matmul_spec;

enum { BENCH_MATMUL_CASES = 32 }; // at most

// Fills `out`, which has room for BENCH_MATMUL_CASES, and returns how many there are. Quick: a few.
size_t bench_matmul_list(bench_matmul_spec *out, bool quick);

#endif
