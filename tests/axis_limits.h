// SPDX-License-Identifier: Apache-2.0
// Two devices that tilings along an axis are tested with.
#ifndef WEFT_TESTS_AXIS_LIMITS_H
#define WEFT_TESTS_AXIS_LIMITS_H

#include <weft/limits.h>

// The device of the known answer in <weft/geometry.h>.
static const weft_limits gpu = {
    .name = "a GPU",
    .warp = 32,
    .vector_width = 1,
    .vectors = 1,
    .max_block = 1024,
    .max_items_y = 1024,
    .max_blocks = 160,
    .max_items = 1024,
    .max_items_along = {1024, 1024, 64},
    .local_bytes = 49152,
    .max_alloc_bytes = UINT64_C(1) << 32,
    .global_bytes = UINT64_C(1) << 34,
    .compute_units = 80,
    .load_bytes = 16,
    .cache_line_bytes = 128,
};

// Two cores with vectors of 16.
static const weft_limits cpu = {
    .name = "a CPU",
    .warp = 16,
    .vector_width = 16,
    .vectors = 8,
    .max_block = 128,
    .max_items_y = 1,
    .max_blocks = 8,
    .max_items = 4096,
    .max_items_along = {4096, 4096, 4096},
    .local_bytes = 1 << 20,
    .max_alloc_bytes = UINT64_C(1) << 32,
    .global_bytes = UINT64_C(1) << 34,
    .compute_units = 2,
    .load_bytes = 64,
    .l2_bytes = 1 << 20,
    .cache_line_bytes = 64,
};

#endif
