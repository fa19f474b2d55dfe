// SPDX-License-Identifier: Apache-2.0
// Tilings along axes that several tests force, and which implementations take them. Include after
// the library's own headers.
#ifndef WEFT_TESTS_TILINGS_H
#define WEFT_TESTS_TILINGS_H

#include "axis/axis_plan.h"

#include "runtime.h"

// vector width, vectors, items, group of items, unroll, widen, run, grid_x, grid_y, parts
#define TILING(f, v, i, t, u, w, r, x, y, p)                                                       \
    {                                                                                              \
        .vector_width = f, .vectors = v, .items = i, .items_y = t, .unroll = u, .widen = w,        \
        .run = r, .grid_x = x, .grid_y = y, .parts = p                                             \
    }

// Of groups of n groups of items.
#define ITEMS_Z(v, i, t, n, u, r, x, y)                                                            \
    {                                                                                              \
        .vector_width = 1, .vectors = v, .items = i, .items_y = t, .unroll = u, .widen = 1,        \
        .run = r, .grid_x = x, .grid_y = y, .parts = 1, .items_z = n                               \
    }

static inline size_t items_of_group(const weft_axis_tiling *t)
{
    return (size_t)t->items * (size_t)t->items_y * (size_t)(t->items_z > 1 ? t->items_z : 1);
}

// One that serves every shape: where groups have every shape, each plan is a program.
// The groups are many: llvmpipe ends an item's loops after 65535 turns of all of them.
static const weft_axis_tiling any_shape = {.vector_width = 1,
                                           .vectors = 3,
                                           .items = 1,
                                           .items_y = 1,
                                           .unroll = 2,
                                           .widen = 1,
                                           .run = 2,
                                           .grid_x = 30,
                                           .grid_y = 20,
                                           .parts = 1};

// As planned, where that takes few programs.
static inline const weft_axis_tiling *planned(const weft_context *ctx)
{
    return weft_context_limits(ctx)->vector_width > 1 ? NULL : &any_shape;
}

// Any vectors are for who takes wide ones: no plan of the others has them.
static inline bool takes_vectors(void)
{
    return takes_wide_vectors();
}

static inline bool is_left_out(const weft_axis_tiling *tiling)
{
    return tiling->vector_width > 1 && !takes_vectors();
}

#endif
