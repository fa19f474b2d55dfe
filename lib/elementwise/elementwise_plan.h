// SPDX-License-Identifier: Apache-2.0
// How the elements of a nest of loops are divided into blocks.
#ifndef WEFT_LIB_ELEMENTWISE_PLAN_H
#define WEFT_LIB_ELEMENTWISE_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// Inputs of a tiling, besides the limits. The elements are a nest of loops: columns are the one
// along which the output's neighbours are adjacent, rows the next, outers the rest.
typedef struct weft_elementwise_problem {
    int64_t columns, rows, outers;
    int element_bytes; // of all operands together
    int out_bytes;     // of the output whose elements are narrowest
    int number_bytes;  // in arithmetic: 4 or 8; 0 counts as 4
    int n_across;      // inputs whose neighbours along rows are adjacent: they are transposed
    bool aligned; // all columns are adjacent or the same, and rows start at multiples of 4 elements
    const weft_why *why; // receives reasons; NULL: none
} weft_elementwise_problem;

enum { WEFT_ELEMENTWISE_TILE = 1024 }; // columns and rows of a block in local memory, at most

// A group computes blocks. If tiled, inputs along rows are transposed: in vectors, or block by
// block in local memory if vector_width is 1.
typedef struct weft_elementwise_tiling {
    int vector_width;   // columns in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // that an item fetches before it writes one: 1, 2, 4 or 8
    int items, items_y; // of a group, along columns and rows; powers of two; 1 if tiled in vectors
    bool tiled;
    bool aligned;                   // vectors are read and written at multiples of their size
    int64_t columns, rows;          // of a block; in local memory the same power of two
    int64_t grid_x, grid_y, grid_z; // groups along columns, rows and outers
} weft_elementwise_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_elementwise_tiling weft_elementwise_tiling_for(const weft_limits *limits,
                                                    const weft_elementwise_problem *problem);

// Checks a forced tiling against the limits and the problem: WEFT_BAD_ARGUMENT names the field.
weft_status weft_elementwise_tiling_check(const weft_elementwise_tiling *tiling,
                                          const weft_limits *limits,
                                          const weft_elementwise_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_elementwise_tiling_print(const weft_elementwise_tiling *tiling, char *text, size_t size);

// For printing and parsing it.
extern const weft_tiling_table weft_elementwise_tiling_table;

#endif
