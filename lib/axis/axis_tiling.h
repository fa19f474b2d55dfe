// SPDX-License-Identifier: Apache-2.0
// How work along an axis is divided, for reductions, softmax and normalisation.
//
// A tensor is seen as (high, mid, low), as in <weft/geometry.h>: mid are the reduced or normalised
// axes, low is the kept axis that lanes run along, high are the other kept axes. Only strides
// change; no data is moved.
//
// A line has the elements that lanes read side by side: `low` elements, or `widen` times as many if
// low is narrow and the next steps of mid follow in memory. Each lane processes one column of the
// lines. The items_y items that share a column alternate between lines, and their states are
// combined in a fixed order.
//
//     high = 1, mid = 6, low = 3, widen = 2            line 0:  00 01 02 10 11 12
//     element "21" is mid 2, low 1                     line 1:  20 21 22 30 31 32
//                                                      line 2:  40 41 42 50 51 52
#ifndef WEFT_LIB_AXIS_TILING_H
#define WEFT_LIB_AXIS_TILING_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/dtype.h>

#include "base/why.h"

typedef struct weft_axis_problem {
    int64_t high, mid, low;
    int64_t outer;         // extent of the other reduced axes; 0 counts as 1
    weft_dtype dtype;      // WEFT_DEFAULT is f32
    int accumulator_bytes; // of one number of a state; 0: 8 for f64 and i64, else 4
    int numbers;           // in the state of a column: 1 for a maximum, 5 for a variance; 0 counts
                           // as the 2 of a sum
    int reads;             // operands that a sweep reads side by side; 0 counts as 1
    bool low_adjacent;     // the elements of a line are adjacent in memory, in every operand
    bool mid_adjacent;     // and a step of mid is the length of low: lines may be widened
    bool writes_all;       // writes as many elements as it reads: softmax, normalisation
    bool caches;           // and can compute them from values cached while reading: softmax
    bool holds;            // and can keep rows in registers
    int64_t alignment;     // elements that the rows of all operands are aligned to, a power of
                           // two; 0 counts as 1
    const weft_why *why;   // receives reasons; NULL: none
} weft_axis_problem;

enum { WEFT_AXIS_MOST_VECTORS = 2048 }; // of an item

typedef struct weft_axis_tiling {
    int vector_width;       // elements of a line in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;            // of a line, processed by one item: 1 to WEFT_AXIS_MOST_VECTORS
    int items, items_y;     // items of a group along a line, and items that share its columns
    int unroll;             // lines that an item reads at a time: 1, 2, 4 or 8
    int64_t widen;          // steps of mid in a line
    int64_t run;            // consecutive indices of high that each of the items_z takes at a time
    int64_t grid_x, grid_y; // groups along low and along high
    int64_t parts; // parts of mid, one per work-group; from 2 on a second kernel combines them,
                   // always in the same order
    bool cache;    // values computed from the elements stay in local memory until they are written
    int items_z;   // items of a group with their own indices of high; 0 counts as 1; from 2 on
                   // vector_width, widen and parts are 1
    int held;      // above 0: rows are read once, and stay in registers until they are written;
                   // each of the items_y has so many vectors of `unroll` neighbours of a row
} weft_axis_tiling;

#endif
