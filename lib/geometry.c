// SPDX-License-Identifier: Apache-2.0
// 2-D launch geometry: (high, mid, low) and limits to blocks and grids. The formula stands in
// <weft/geometry.h>.
#include <weft/geometry.h>

#include "arithmetic.h"

// Lanes of y that may share an output: those in one item are free, items only as far as a team
// pays.
static int64_t max_block_y(const weft_limits *limits, int64_t block_x)
{
    int64_t in_item = max_i64(limits->fold / block_x, 1);
    return min_i64(limits->max_block / block_x, limits->max_team * in_item);
}

// Lanes of x that one item carries where it has a choice.
static int64_t max_fold_x(const weft_limits *limits)
{
    return (int64_t)limits->fold * limits->vectors;
}

weft_geometry weft_geometry_for(const weft_limits *limits, int64_t high, int64_t mid, int64_t low)
{
    high = max_i64(high, 1);
    mid = max_i64(mid, 1);
    low = max_i64(low, 1);

    int64_t block_x = min_i64(pow2_up(low), limits->warp);
    const int64_t block_y = min_i64(pow2_up(mid), max_block_y(limits, block_x));
    block_x = min_i64(pow2_up(low), limits->max_block / block_y);

    const int64_t fold_x = min_i64(block_x, max_fold_x(limits));
    const int64_t fold_y = min_i64(block_y, max_i64(limits->fold / block_x, 1));

    const int64_t grid_x = min_i64(ceil_div(low, block_x), limits->max_blocks);
    const int64_t grid_y = min_i64(ceil_div(limits->max_blocks, grid_x), high);

    return (weft_geometry){
        .block_x = (int)block_x,
        .block_y = (int)block_y,
        .fold_x = (int)fold_x,
        .fold_y = (int)fold_y,
        .grid_x = grid_x,
        .grid_y = grid_y,
    };
}

void weft_geometry_sizes(const weft_geometry *geometry, size_t global[2], size_t local[2])
{
    local[0] = (size_t)(geometry->block_x / geometry->fold_x);
    local[1] = (size_t)(geometry->block_y / geometry->fold_y);
    global[0] = (size_t)geometry->grid_x * local[0];
    global[1] = (size_t)geometry->grid_y * local[1];
}
