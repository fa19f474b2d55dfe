// SPDX-License-Identifier: Apache-2.0
// The axes of a tensor sorted for work along some of them: which lanes lie along, which are
// reduced, and what else there is, merged wherever neighbours are in memory.
#ifndef WEFT_LIB_AXES_H
#define WEFT_LIB_AXES_H

#include <weft/dtype.h>
#include <weft/geometry.h>
#include <weft/tensor.h>

enum { WEFT_AXES_MOST_OPERANDS = 6 };

// One axis, and what a step along it is in each operand, in elements.
typedef struct weft_axis {
    int64_t extent;
    int64_t stride[WEFT_AXES_MOST_OPERANDS];
} weft_axis;

// An element of operand i stands at start[i] plus index times stride along each of these axes.
// Where an axis is missing its extent is 1 and its strides are 0.
typedef struct weft_axes {
    int n_operands;
    int64_t start[WEFT_AXES_MOST_OPERANDS];
    weft_axis low;                     // kept: lanes lie along it
    weft_axis mid;                     // reduced: the innermost one
    int n_high, n_outer;               // the other axes, slowest first:
    weft_axis high[WEFT_MAX_NDIM];     // kept
    weft_axis outer[WEFT_MAX_NDIM];    // reduced
    int64_t high_extent, outer_extent; // their products
    bool low_adjacent, mid_adjacent;   // as weft_axis_problem has them
} weft_axes;

// What to sort. Kept axes are put in the order that the first operand has in memory, and transposed
// around where it counts down; so are reduced ones, unless they are wanted in order. Every operand
// has a stride for every axis of `shape`, 0 along axes that it lacks.
typedef struct weft_axes_request {
    int ndim;
    const int64_t *shape; // no extent is 0
    bool is_reduced[WEFT_MAX_NDIM];
    bool in_order; // reduced axes are neither sorted nor transposed around
    bool
        is_vectorized; // items compensation vectors: a line of neighbours is one load, however short
    int n_operands;    // the first decides about the order
    int n_lines;       // operands that are read or written line by line
    int64_t start[WEFT_AXES_MOST_OPERANDS];
    const int64_t *stride[WEFT_AXES_MOST_OPERANDS];
} weft_axes_request;

// What lanes lie along is chosen by strides and extents alone, but for short lines.
weft_axes weft_axes_sort(const weft_axes_request *request);

#endif
