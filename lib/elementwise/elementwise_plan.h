// SPDX-License-Identifier: Apache-2.0
// How elements of a nest of loops are cut into blocks.
#ifndef WEFT_LIB_ELEMENTWISE_PLAN_H
#define WEFT_LIB_ELEMENTWISE_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits. The elements are a nest of loops: columns
// are the one along which the output has its neighbours, rows the next, outers the rest.
typedef struct weft_elementwise_problem {
    int64_t columns, rows, outers;
    int element_bytes; // of all operands together
    int out_bytes;     // of the output whose elements are narrowest
    int number_bytes;  // in arithmetic: 4 or 8; 0 counts as 4
    int n_across;      // inputs whose neighbours lie along rows: they are transposed round
    bool aligned; // every operand's columns are adjacent or all the same, and each row starts at a
                  // multiple of 4 elements in all of them
    const weft_why *why; // where reasons go; NULL: nowhere
} weft_elementwise_problem;

enum { WEFT_ELEMENTWISE_TILE = 1024 }; // columns and rows of a block in local memory, at most

// How the work is cut. A block is a group's.
typedef struct weft_elementwise_tiling {
    int vector_width;   // columns in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // that an item fetches before it writes one: 1, 2, 4 or 8
    int items, items_y; // of a group: along columns and along rows; powers of two, and 1 where
                        // tiles are transposed in vectors
    bool
        tiled; // what lies across is transposed round: in vectors, or if vector width is 1 block by
               // block in local memory
    bool aligned;                   // vectors are read and written at multiples of their size
    int64_t columns, rows;          // of a block; in local memory the same power of two
    int64_t grid_x, grid_y, grid_z; // groups along columns, rows and outers
} weft_elementwise_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_elementwise_tiling weft_elementwise_tiling_for(const weft_limits *limits,
                                                    const weft_elementwise_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_elementwise_tiling_check(const weft_elementwise_tiling *tiling,
                                          const weft_limits *limits,
                                          const weft_elementwise_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_elementwise_tiling_print(const weft_elementwise_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_elementwise_tiling_table;

#endif
