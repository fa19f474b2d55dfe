// SPDX-License-Identifier: Apache-2.0
// Checks, before any measurement, that --only leaves a bench something to measure.
#ifndef WEFT_TOOLS_BENCH_CHOSEN_H
#define WEFT_TOOLS_BENCH_CHOSEN_H

#include <weft/limits.h>

#include "bench.h"
#include "bench_sets.h"

// What to measure, by the bits of bench_axis_cases.h and bench_sparse_cases.h.
typedef struct bench_lists {
    const bench_sets *spmm; // empty where it is left out
    unsigned sparse, axis;
    bool has_matmul, has_elementwise;
} bench_lists;

// Complains if no case of them is chosen.
bool bench_chooses_any(const bench_choice *choice, const bench_lists *lists,
                       const weft_limits *device, complaint *why);

#endif
