// SPDX-License-Identifier: Apache-2.0
// 2-D launch geometry for work along any axis of a tensor seen as (high, mid, low).
//
//   mid   the axis that is reduced or normalised
//   low   product of the extents inside it: neighbours in memory
//   high  product of the extents outside it
//
// Neighbouring lanes (x) own neighbouring outputs along low, and the lanes of y share mid:
//
//   bx = min(pow2(low), warp)
//   by = min(pow2(mid), max_block / bx)
//   bx = min(pow2(low), max_block / by)
//   gx = min(ceil(low / bx), max_blocks)
//   gy = min(ceil(max_blocks / gx), high)
//
// with pow2 rounding up. low 48, mid 896, high 512 on warp 32, max_block 1024, max_blocks 160 gives
// blocks of 32 x 32 lanes in a grid of 2 x 80. Strided loops over low and high cover what the grid
// does not. low = 1 is a reduction of the innermost axis: all lanes run along mid.
//
// A CPU is a device whose lanes are elements of a vector in one item. There (max_items_y = 1) by is
// limited to the lanes of one item, and bx grows to several vectors if low is wide, so that whole
// cache lines are used, as long as there are groups for the whole device:
//
//   warp 16, vector_width 16, vectors 8, max_block 128, max_items_y 1, max_blocks 8
//   low  mid  high     lanes of a group, all in one item    grid
//     1  896   512     1 x 16                               1 x 8
//     4  896   512     4 x 4                                1 x 8
//    48  896   512     64 x 1                               1 x 8
//  1024  896   512     128 x 1                              8 x 1
//   128  896     1     16 x 1                               8 x 1
//
// The method is PyTorch's and others' "spatial" softmax launch, generalised by the vector width.
#ifndef WEFT_GEOMETRY_H
#define WEFT_GEOMETRY_H

#include <weft/limits.h>

WEFT_BEGIN

typedef struct weft_geometry {
    int block_x, block_y;   // lanes of a group
    int lanes_x, lanes_y;   // of one item: a group has block_x / lanes_x by block_y / lanes_y items
    int64_t grid_x, grid_y; // groups
} weft_geometry;

// Never empty: an extent below 1 counts as 1. A pure function. `limits` must pass
// weft_limits_check(), except max_items and max_items_along: blocks never exceed them, however low
// they are, so that they may have a kernel's own limit.
WEFT_API weft_geometry weft_geometry_for(const weft_limits *limits, int64_t high, int64_t mid,
                                         int64_t low);

// The same in items, as OpenCL requires.
WEFT_API void weft_geometry_sizes(const weft_geometry *geometry, size_t global[2], size_t local[2]);

WEFT_END

#endif
