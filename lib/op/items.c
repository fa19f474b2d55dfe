// SPDX-License-Identifier: Apache-2.0
// Kernels with one-dimensional groups of items: number and length of groups, enqueueing.
#include "op/items.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"

enum {
    SPREAD_ITEMS = 128,     // of a group if lanes are items
    VECTORIZED_LEAST = 256, // least iterations for a group of one item
    MOST_ITERATIONS = 1 << 14,
    TASKS = 4, // groups per resident group
};

int weft_items_for(const weft_limits *limits)
{
    const int64_t most = weft_limits_items_along(limits, 0);
    return limits->vector_width > 1
               ? 1
               : (int)pow2_down(min_i64(min_i64(limits->max_block, SPREAD_ITEMS), most));
}

weft_status weft_items_check(int items, const char *field, const weft_limits *limits,
                             const char *op)
{
    const int64_t most = weft_limits_items_along(limits, 0);
    if (!is_pow2_upto(items, most))
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is %d: a power of two up to %" PRId64 " is wanted",
                    op, field, items, most);
    return WEFT_OK;
}

int64_t weft_items_run(const weft_limits *limits, int items, int64_t n)
{
    const int64_t wanted = (int64_t)limits->max_blocks * TASKS;
    const int64_t run = ceil_div(ceil_div(n, items), wanted);
    return max_i64(min_i64(run, MOST_ITERATIONS), limits->vector_width > 1 ? VECTORIZED_LEAST : 1);
}

int64_t weft_items_groups(int items, int64_t run, int64_t n)
{
    return ceil_div(n, items * run);
}

weft_status weft_items_enqueue(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, int items, const int64_t groups[3])
{
    const size_t local[3] = {(size_t)items, 1, 1};
    const size_t global[3] = {(size_t)groups[0] * local[0], (size_t)max_i64(groups[1], 1),
                              (size_t)max_i64(groups[2], 1)};
    return weft_launch_kernel(launch, kernel, n_arguments, arguments, global, local);
}

const char *weft_word(weft_dtype dtype)
{
    return dtype == WEFT_I16 ? "short" : dtype == WEFT_I64 ? "long" : "int";
}

const char *weft_moved_word(weft_dtype dtype)
{
    static const char *const words[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    return words[weft_dtype_size(dtype)];
}
