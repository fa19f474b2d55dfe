// SPDX-License-Identifier: Apache-2.0
// Rows that stay in the registers of items: each is read once and, if all elements are written,
// written once: a part of axis_plan.h for GPUs.
//
// Each of the items_y that share a row has `held` vectors of `unroll` neighbours, items_y vectors
// apart:
//
//     items_y = 4, unroll = 2, held = 3       item 0: 00 01  08 09  16 17
//                                             item 3: 06 07  14 15  22 23
//
// The last of them may be past the end of a row; all others are whole, in every item. Thus kernels
// are compiled for a number of vectors, not for a length, and only examine the last ones.
#ifndef WEFT_LIB_HELD_PLAN_H
#define WEFT_LIB_HELD_PLAN_H

#include <weft/limits.h>
#include <weft/status.h>

#include "axis/axis_tiling.h"

// The problem with defaults filled in and extents of at least 1.
typedef struct weft_axis_facts {
    int64_t high, mid, low, outer;
    int64_t bytes, accumulator_bytes; // of an element
    int64_t state_bytes;              // of a column's state
    int64_t shared_bytes;             // of local memory, for each item if several share a column
    int64_t alignment;                // of rows, in elements
    int64_t reads;                    // operands that are read side by side
    bool low_adjacent, mid_adjacent, writes_all, caches, holds;
    const weft_why *why;
} weft_axis_facts;

// Whether rows are kept, on a device whose lanes are items.
bool weft_held_pays(const weft_limits *limits, const weft_axis_facts *f);

// The tiling where that pays.
weft_axis_tiling weft_held_tiling(const weft_limits *limits, const weft_axis_facts *f);

// Checks the caller's tiling, if it keeps rows: WEFT_BAD_ARGUMENT names the field.
weft_status weft_held_check(const char *name, const weft_axis_tiling *tiling,
                            const weft_axis_facts *f);

#endif
