// SPDX-License-Identifier: Apache-2.0
// Tilings that keep rows in registers, and the lengths of rows that they go with. Include after the
// library's own headers.
#ifndef WEFT_TESTS_HELD_TILINGS_H
#define WEFT_TESTS_HELD_TILINGS_H

#include "axis/axis_plan.h"

typedef struct held_rows {
    int64_t mid;
    weft_axis_tiling tiling;
} held_rows;

// Rows of `mid` elements, each of t items with h vectors of u; n rows a group.
#define HELD_ROWS(m, t, n, u, h)                                                                   \
    {                                                                                              \
        .mid = m, .tiling = {                                                                      \
            .vector_width = 1,                                                                     \
            .vectors = 1,                                                                          \
            .items = 1,                                                                            \
            .items_y = t,                                                                          \
            .unroll = u,                                                                           \
            .widen = 1,                                                                            \
            .run = 1,                                                                              \
            .grid_x = 1,                                                                           \
            .grid_y = 2,                                                                           \
            .parts = 1,                                                                            \
            .items_z = n,                                                                          \
            .held = h                                                                              \
        }                                                                                          \
    }

static const held_rows held_tilings[] = {
    HELD_ROWS(100, 8, 4, 4, 4),  // the last vectors of some items are past the end
    HELD_ROWS(96, 8, 2, 4, 3),   // none is
    HELD_ROWS(28, 8, 2, 1, 4),   // all but the first of some items are
    HELD_ROWS(61, 16, 3, 1, 4),  // the same; groups of three rows
    HELD_ROWS(150, 16, 2, 2, 6), // the last two vectors may be
    HELD_ROWS(208, 8, 1, 8, 4),  // the widest
    HELD_ROWS(300, 32, 2, 4, 3), // a warp, or two sub-groups
    HELD_ROWS(900, 64, 1, 4, 4), // more than a warp
    HELD_ROWS(13, 1, 3, 1, 16),  // an item alone
    HELD_ROWS(3, 4, 5, 1, 1),    // more items than elements
    HELD_ROWS(16, 4, 8, 4, 1),   // a vector of each item
    HELD_ROWS(4, 1, 4, 4, 1),    // one alone, of a whole row
};
enum { N_HELD_TILINGS = sizeof(held_tilings) / sizeof(held_tilings[0]) };

#endif
