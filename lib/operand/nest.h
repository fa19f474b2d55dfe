// SPDX-License-Identifier: Apache-2.0
// The axes of several views as a nest of loops over all their elements: sorted by the first
// one's strides, and merged where they are adjacent in all.
#ifndef WEFT_LIB_NEST_H
#define WEFT_LIB_NEST_H

#include <weft/tensor.h>

enum { WEFT_NEST_OPERANDS = 12 };

// An element of operand i is at start[i] plus index times stride[i][d] along each loop d, the
// fastest first.
typedef struct weft_nest {
    int n_loops; // at least 2, with extents of 1 if necessary
    int64_t extent[WEFT_MAX_NDIM];
    int n_operands;
    int64_t start[WEFT_NEST_OPERANDS];
    int64_t stride[WEFT_NEST_OPERANDS][WEFT_MAX_NDIM];
} weft_nest;

// `views` have the first one's shape, without an extent of 0; missing leading dimensions and
// extents of 1 count as strides of 0. The first one's strides make its elements distinct.
weft_nest weft_nest_of(int n_views, const weft_tensor *const *views);

// Makes loop d, from 1 on, the second one.
void weft_nest_raise(weft_nest *nest, int d);

// Loops d to n_loops together.
int64_t weft_nest_count(const weft_nest *nest, int d);

// The largest distance between any two elements of an operand, or of their numbers in the nest.
int64_t weft_nest_reach(const weft_nest *nest);

#endif
