// SPDX-License-Identifier: Apache-2.0
// Which reductions, softmaxes and normalisations a bench measures.
#ifndef WEFT_TOOLS_BENCH_AXIS_CASES_H
#define WEFT_TOOLS_BENCH_AXIS_CASES_H

#include <weft/reduce.h>

#include "complaint.h"

// Sets on the command line: bits.
enum { BENCH_SET_REDUCE = 1, BENCH_SET_SOFTMAX = 2, BENCH_SET_NORM = 4 };

typedef enum bench_axis_kind {
    BENCH_REDUCE,
    BENCH_SOFTMAX,
    BENCH_LOG_SOFTMAX,
    BENCH_SOFTMAX_BACKWARD,
    BENCH_LAYER_NORM,
    BENCH_RMS_NORM,
    BENCH_LAYER_NORM_BACKWARD,
    BENCH_RMS_NORM_BACKWARD,
} bench_axis_kind;

// One case, with such a name:
//
//   sum-512x2730x48-axis1             axis 1 of three, f32
//   max-64x1024x1024-all              all axes
//   softmax-512x896x48-axis1-in_place -f16
//   sum-1000x1000-axis0-in_cache
//   layer_norm-24576x896-axis1        with weight and bias
//   rms_norm_backward-8192x4096-axis1-dx  with weight; without -dx with dW, of layer norms db, too
typedef struct bench_axis_spec {
    char name[96];
    bench_axis_kind kind;
    weft_reduction op; // of BENCH_REDUCE
    weft_dtype dtype;
    int ndim;
    int64_t shape[4];
    int n_axes; // 0: all
    int axes[2];
    bool in_place;
    bool dx_alone; // a backward without dW and db
    bool is_small; // a few thousand elements: compared with an empty launch
    bool in_cache; // a few megabytes at most: faster than memory
    bool is_goal;  // counts in the summary
} bench_axis_spec;

typedef struct bench_axis_specs {
    bench_axis_spec *items;
    size_t count, room;
} bench_axis_specs;

// The cases of the sets. Reductions are of arrays of about `array_bytes`; softmax and normalisation
// of common shapes. Quick: a few of each. The caller frees with bench_axis_specs_free().
bool bench_axis_list(bench_axis_specs *out, unsigned sets, bool quick, uint64_t array_bytes,
                     complaint *why);
void bench_axis_specs_free(bench_axis_specs *specs);

#endif
