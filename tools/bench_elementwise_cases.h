// SPDX-License-Identifier: Apache-2.0
// The formulas that a bench measures, and the memory order of their operands.
#ifndef WEFT_TOOLS_BENCH_ELEMENTWISE_CASES_H
#define WEFT_TOOLS_BENCH_ELEMENTWISE_CASES_H

#include <weft/elementwise.h>

#include "complaint.h"

enum { BENCH_OPERANDS = 4 };

// Groups of the summary.
typedef enum bench_elementwise_goal {
    BENCH_NO_GOAL,
    BENCH_CONTIGUOUS,
    BENCH_ROW, // a row, a column or the axes around the middle one are broadcast
    BENCH_COLUMN,
    BENCH_MIDDLE,
    BENCH_CAST,
    BENCH_CHAIN,
    BENCH_TRANSPOSE,
    BENCH_PERMUTE,
} bench_elementwise_goal;

enum {
    BENCH_QUICK = 1,    // among the few
    BENCH_SQUARE = 2,   // the result is: its sides the largest power of two that fits
    BENCH_ONE = 4,      // all inputs are one array, which must be read once
    BENCH_SMALL = 8,    // a few thousand elements: compared with an empty launch
    BENCH_PLANNED = 16, // called with a plan
    BENCH_CACHED = 32,  // all operands stay in the caches
};

// A formula and its operands. `axes` is each input's memory order: the axes of the result that it
// has, outermost first; along others it is broadcast.
//
//   "01"  as the result       "1"   a row for all rows      "0231"  axis 1 is innermost
//   "10"  transposed          "0"   a column for all        "02"    broadcast along the middle
typedef struct bench_formula {
    const char *title;
    const char *formula; // may name x, which is 2
    bench_elementwise_goal goal;
    weft_dtype in, out;
    int64_t shape[4];                 // of the result; 0 behind its last axis
    const char *axes[BENCH_OPERANDS]; // NULL: there are no more inputs
    unsigned flags;
} bench_formula;

// One case, named by its kind and the shape of the result:
//
//   add-16384x4096      add_row-16384x4096      cast_f16_f32-16384x4096      add-64x64-planned
//   add-512x512-in_cache
typedef struct bench_elementwise_spec {
    bench_formula of;
    int ndim, n_inputs;
    char name[96];
} bench_elementwise_spec;

typedef struct bench_elementwise_specs {
    bench_elementwise_spec *items;
    size_t count;
} bench_elementwise_specs;

// The cases: the largest array of each has about `array_bytes`. Quick: a few. The caller frees with
// bench_elementwise_specs_free().
bool bench_elementwise_list(bench_elementwise_specs *out, bool quick, uint64_t array_bytes,
                            complaint *why);
void bench_elementwise_specs_free(bench_elementwise_specs *specs);

#endif
