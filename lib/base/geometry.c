// SPDX-License-Identifier: Apache-2.0
// 2-D launch geometry: (high, mid, low) and limits to blocks and grids. The formula is in
// <weft/geometry.h>.
#include <weft/geometry.h>

#include "base/arithmetic.h"

// Lanes of x of one item if low is wide enough.
static int64_t most_lanes_x(const weft_limits *limits)
{
    return (int64_t)limits->vector_width * limits->vectors;
}

// Lanes of y of one item beside block_x lanes of x: the rest of one vector.
static int64_t most_lanes_y(const weft_limits *limits, int64_t block_x)
{
    return max_i64(min_i64(limits->vector_width, limits->warp) / block_x, 1);
}

// Items that fit along one dimension of a group beside `others` along the other one.
static int64_t most_items(const weft_limits *limits, int along, int64_t others)
{
    const size_t all = limits->max_items / (size_t)others;
    const size_t here = limits->max_items_along[along];
    const size_t most = here < all ? here : all;
    return pow2_down(most < INT32_MAX ? (int64_t)most : INT32_MAX);
}

static int64_t most_block_x(const weft_limits *limits, int64_t block_y, int64_t items_y)
{
    return min_i64(limits->max_block / block_y,
                   most_items(limits, 0, items_y) * most_lanes_x(limits));
}

// Lanes of y in one item are free; further items are used only up to max_items_y.
static int64_t most_block_y(const weft_limits *limits, int64_t block_x)
{
    const int64_t items_x = ceil_div(block_x, most_lanes_x(limits));
    const int64_t items_y = min_i64(limits->max_items_y, most_items(limits, 1, items_x));
    return min_i64(limits->max_block / block_x, items_y * most_lanes_y(limits, block_x));
}

// If a group is one item, several vectors in it must not leave compute units idle.
static int64_t narrow(const weft_limits *limits, int64_t high, int64_t low, int64_t block_x)
{
    const int64_t wanted_x = ceil_div(limits->max_blocks, high);
    while (block_x > limits->warp && ceil_div(low, block_x) < wanted_x)
        block_x /= 2;
    return block_x;
}

weft_geometry weft_geometry_for(const weft_limits *limits, int64_t high, int64_t mid, int64_t low)
{
    high = max_i64(high, 1);
    mid = max_i64(mid, 1);
    low = max_i64(low, 1);

    const int64_t vector_x = min_i64(limits->warp, most_block_x(limits, 1, 1));
    int64_t block_x = min_i64(pow2_up(low), vector_x);
    const int64_t block_y = min_i64(pow2_up(mid), most_block_y(limits, block_x));
    const int64_t lanes_y = min_i64(block_y, most_lanes_y(limits, block_x));
    block_x = min_i64(pow2_up(low), most_block_x(limits, block_y, block_y / lanes_y));
    if (limits->max_items_y == 1)
        block_x = narrow(limits, high, low, block_x);
    const int64_t lanes_x = min_i64(block_x, most_lanes_x(limits));

    const int64_t grid_x = min_i64(ceil_div(low, block_x), limits->max_blocks);
    const int64_t grid_y = min_i64(ceil_div(limits->max_blocks, grid_x), high);

    return (weft_geometry){
        .block_x = (int)block_x,
        .block_y = (int)block_y,
        .lanes_x = (int)lanes_x,
        .lanes_y = (int)lanes_y,
        .grid_x = grid_x,
        .grid_y = grid_y,
    };
}

void weft_geometry_sizes(const weft_geometry *geometry, size_t global[2], size_t local[2])
{
    local[0] = (size_t)(geometry->block_x / geometry->lanes_x);
    local[1] = (size_t)(geometry->block_y / geometry->lanes_y);
    global[0] = (size_t)geometry->grid_x * local[0];
    global[1] = (size_t)geometry->grid_y * local[1];
}
