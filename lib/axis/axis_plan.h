// SPDX-License-Identifier: Apache-2.0
// How work along an axis is cut: what reductions, softmax and normalisation share.
//
// A tensor is seen as (high, mid, low), as in <weft/geometry.h>: mid are the axes that are reduced
// or normalised, low the kept axis that lanes lie along, high the kept axes besides. No data is
// moved for that: all are strides.
//
// A line is what lanes read side by side: `low` elements, or, where low is narrow and its
// neighbours along mid follow in memory, `widen` times as many. Each lane works on one column of
// the lines, its group of items takes turns at the lines, and what they found is joined in a fixed
// order.
//
//     high = 1, mid = 6, low = 3, widen = 2            line 0:  00 01 02 10 11 12
//     element "21" is mid 2, low 1                     line 1:  20 21 22 30 31 32
//                                                      line 2:  40 41 42 50 51 52
#ifndef WEFT_LIB_AXIS_PLAN_H
#define WEFT_LIB_AXIS_PLAN_H

#include <weft/dtype.h>
#include <weft/geometry.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_axis_problem {
    int64_t high, mid, low;
    int64_t outer;    // mid that often, elsewhere in memory: further reduced axes; 0 counts as 1
    weft_dtype dtype; // WEFT_DEFAULT is f32
    int accumulator_bytes; // of one number in arithmetic; 0: 8 for f64 and i64, else 4
    int numbers;           // that are remembered of a column: 1 for a maximum, 5 for a variance; 0
                           // counts as the 2 of a sum
    bool low_adjacent;     // neighbours of a line are neighbours in memory, in every operand
    bool mid_adjacent;     // and mid steps on where low ends: lines may be widened
    bool writes_all;       // writes as many elements as it reads: softmax, normalisation
    bool keeps;            // and can write them from what it made of them while it read: softmax
    const weft_why *why;   // where reasons go; NULL: nowhere
} weft_axis_problem;

enum { WEFT_AXIS_MOST_VECTORS = 2048 }; // of an item

typedef struct weft_axis_tiling {
    int vector_width;   // neighbours of a line in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // such vectors of a line that an item takes, 1 to WEFT_AXIS_MOST_VECTORS
    int items, items_y; // of a group: items along a line, and items that share its columns
    int unroll;         // lines that an item reads at a time: 1, 2, 4 or 8
    int64_t widen;      // steps of mid in a line
    int64_t run;        // consecutive highs that each group of items of a group takes at a time
    int64_t grid_x, grid_y; // groups along low and along high
    int64_t parts; // mid is cut into so many, each a group's; 2 and more: a second kernel joins
                   // them, always in the same order
    bool keep;     // what was made of the elements stays in local memory until it is written
    int items_z; // of a group, each at highs of its own; 0 counts as 1; 2 and more: vector width, widen
                 // and parts are 1
} weft_axis_tiling;

// Chooses, on weft_geometry_for(); a pure function. `limits` must pass weft_limits_check().
weft_axis_tiling weft_axis_tiling_for(const weft_limits *limits, const weft_axis_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_axis_tiling_check(const weft_axis_tiling *tiling, const weft_limits *limits,
                                   const weft_axis_problem *problem);

// Of local memory for each group that a tiling keeps elements in; 0 where it keeps none. Of tilings
// that weft_axis_tiling_check() takes.
int64_t weft_axis_tiling_kept_bytes(const weft_axis_tiling *tiling,
                                    const weft_axis_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_axis_tiling_print(const weft_axis_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_axis_tiling_table;

// weft_axis_tiling_check() of one that is there, whose sentence begins with what it is of whom:
// "softmax: tiling".
weft_status weft_axis_named_tiling_check(const char *name, const weft_axis_tiling *tiling,
                                         const weft_limits *limits,
                                         const weft_axis_problem *problem);

#endif
