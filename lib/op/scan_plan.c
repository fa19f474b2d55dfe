// SPDX-License-Identifier: Apache-2.0
// How prefix sums are divided into groups.
#include "base/arithmetic.h"
#include "op/scan.h"

enum {
    MOST_ITERATIONS = 1 << 15, // of an item's loops
    VECTORIZED_LEAST = 512,    // tiles of a group on a CPU: with fewer its overhead dominates
    SPREAD_LEAST = 4,
};

weft_scan weft_scan_for(const weft_limits *limits, int items, weft_dtype dtype, int64_t n)
{
    const int64_t tile = (int64_t)items * WEFT_SCAN_RUN;
    const int64_t least = limits->vector_width > 1 ? VECTORIZED_LEAST : SPREAD_LEAST;
    const int64_t tiles = ceil_div(ceil_div(n, tile), limits->max_blocks);
    const int64_t span = tile * min_i64(max_i64(tiles, least), MOST_ITERATIONS / WEFT_SCAN_RUN);
    return (weft_scan){
        .dtype = dtype,
        .n = n,
        .items = items,
        .span = span,
        .n_groups = max_i64(ceil_div(n, span), 1),
    };
}
