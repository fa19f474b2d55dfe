// SPDX-License-Identifier: Apache-2.0
// The axes of tensors, sorted for work along some of them: the axis that lanes run along, reduced
// axes and others. Axes that are adjacent in memory are merged.
#ifndef WEFT_LIB_AXES_H
#define WEFT_LIB_AXES_H

#include <weft/dtype.h>
#include <weft/geometry.h>
#include <weft/tensor.h>

enum { WEFT_AXES_MOST_OPERANDS = 6 };

// One axis, and its stride in each operand, in elements.
typedef struct weft_axis {
    int64_t extent;
    int64_t stride[WEFT_AXES_MOST_OPERANDS];
} weft_axis;

// An element of operand i is at start[i] plus index times stride along each of these axes.
// A missing axis has extent 1 and strides 0.
typedef struct weft_axes {
    int n_operands, n_lines; // as in the request
    int64_t start[WEFT_AXES_MOST_OPERANDS];
    weft_axis low;                     // the kept axis that lanes run along
    weft_axis mid;                     // the innermost reduced axis
    int n_high, n_outer;               // the other axes, slowest first:
    weft_axis high[WEFT_MAX_NDIM];     // kept axes
    weft_axis outer[WEFT_MAX_NDIM];    // reduced axes
    int64_t high_extent, outer_extent; // their products
    bool low_adjacent, mid_adjacent;   // as in weft_axis_problem
    bool holds;                        // as in the request
} weft_axes;

// The axes to sort. Kept axes get the memory order of the first operand, and are reversed if its
// stride is negative; so are reduced ones, unless in_order. Every operand has a stride for every
// axis of `shape`, 0 along axes that it lacks.
typedef struct weft_axes_request {
    int ndim;
    const int64_t *shape; // no extent is 0
    bool is_reduced[WEFT_MAX_NDIM];
    bool in_order;      // reduced axes are neither sorted nor reversed
    bool is_vectorized; // items process vectors: any line of adjacent elements is one load
    bool holds;         // rows may stay in registers, if whole: the same
    int n_operands;     // the first one determines the order
    int n_lines;        // operands that are read or written line by line
    int64_t start[WEFT_AXES_MOST_OPERANDS];
    const int64_t *stride[WEFT_AXES_MOST_OPERANDS];
} weft_axes_request;

// The axis of the lanes depends on strides and extents, and for short lines on is_vectorized and
// holds.
weft_axes weft_axes_sort(const weft_axes_request *request);

#endif
