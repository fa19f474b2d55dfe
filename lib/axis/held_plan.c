// SPDX-License-Identifier: Apache-2.0
// Plans rows that stay in registers.
#include "axis/held_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/fail.h"
#include "base/groups.h"
#include "base/refuse.h"

enum {
    HELD_ITEMS = 256,    // of a group, as elsewhere where all elements are written
    HELD_WARPS = 4,      // of a group of several rows
    HELD_TASKS = 4,      // groups for each resident one: they end together
    HELD_UNROLL = 8,     // most neighbours in a vector
    HELD_BYTES = 128,    // of a row, most for each item,
    FEW_BYTES = 64,      // and where a sub-group of 16 has all registers of a thread
    HELD_USUAL = 4,      // vectors of an item: the more, the fewer steps of combining for each
    HELD_NEIGHBOURS = 8, // least items of a row: 128 bytes side by side
    HELD_SPARE = 4,      // neighbours of an item, at most, in vectors that may be past the row
};

static const char HELD[] = "rows in registers";

// Neighbours that an item reads at a time, and vectors of so many that its registers hold.
static int64_t held_width(const weft_limits *limits, const weft_axis_facts *f)
{
    const int64_t widest =
        min_i64(pow2_down(max_i64(limits->load_bytes / f->bytes, 1)), HELD_UNROLL);
    return min_i64(widest, f->alignment);
}

static int64_t held_most(const weft_axis_facts *f, int64_t width)
{
    return HELD_BYTES / f->accumulator_bytes / width;
}

static int64_t planned_most(const weft_limits *limits, const weft_axis_facts *f, int64_t width)
{
    const int64_t bytes = limits->least_subgroup > 0 ? FEW_BYTES : HELD_BYTES;
    return bytes / f->accumulator_bytes / width;
}

// Vectors of an item that may be past the end of a row: the others are whole in every item. So the
// lengths of rows differ in few programs.
static int64_t held_spare(int64_t width)
{
    return max_i64(HELD_SPARE / width, 1);
}

// Vectors of each of so many items.
static int64_t held_vectors(const weft_axis_facts *f, int64_t width, int64_t items)
{
    const int64_t vectors = ceil_div(f->mid, items * width), spare = held_spare(width);
    return vectors <= spare ? vectors : ceil_div(vectors, spare) * spare;
}

// Items that share a row: as few as that takes, as long as all rows together fill the device, and
// a warp at most, which needs no barriers; or as many as have registers for it.
static int64_t held_items(const weft_limits *limits, const weft_axis_facts *f, int64_t width)
{
    const int64_t resident = (int64_t)limits->max_blocks * limits->max_block;
    const int64_t vectors = ceil_div(f->mid, width);
    const int64_t usual = max_i64(pow2_up(ceil_div(vectors, HELD_USUAL)), HELD_NEIGHBOURS);
    const int64_t wanted = max_i64(usual, pow2_up(ceil_div(resident, f->high)));
    const int64_t most = min_i64(pow2_up(vectors), limits->warp);
    return max_i64(min_i64(wanted, most),
                   pow2_up(ceil_div(vectors, planned_most(limits, f, width))));
}

// Items of a group that have room in local memory.
static int64_t sharing_items(const weft_limits *limits, const weft_axis_facts *f)
{
    return min_i64(clamped_i64(limits->local_bytes) / f->shared_bytes,
                   clamped_i64(limits->max_items));
}

static int64_t most_held_items(const weft_limits *limits, const weft_axis_facts *f)
{
    const int64_t most = min_i64(limits->max_block, clamped_i64(limits->max_items_along[0]));
    return min_i64(min_i64(HELD_ITEMS, most), sharing_items(limits, f));
}

bool weft_held_pays(const weft_limits *limits, const weft_axis_facts *f)
{
    if (!f->holds || f->low > 1) // no variant, or no rows
        return false;
    if (f->outer > 1 || !f->low_adjacent)
        return refuse(f->why, HELD, "their elements are not side by side");
    const int64_t width = held_width(limits, f), items = held_items(limits, f, width);
    return items <= most_held_items(limits, f) ||
           refuse(f->why, HELD,
                  "%" PRId64 " elements, %" PRId64 " side by side, take %" PRId64 " items: %" PRId64
                  " share a row at most",
                  f->mid, width, items, most_held_items(limits, f));
}

// Rows of a group: those of a few warps, or of one where barriers separate its items, which then
// cost nothing. Longer rows have barriers of their own.
static int64_t held_rows(const weft_limits *limits, const weft_axis_facts *f, int64_t items)
{
    const int64_t warps = limits->has_subgroups && items <= limits->warp ? HELD_WARPS : 1;
    const int64_t all = min_i64(warps * limits->warp, sharing_items(limits, f));
    const int64_t most = min_i64(f->high, clamped_i64(limits->max_items_along[2]));
    return pow2_down(max_i64(min_i64(all / items, most), 1));
}

weft_axis_tiling weft_held_tiling(const weft_limits *limits, const weft_axis_facts *f)
{
    const int64_t width = held_width(limits, f), items = held_items(limits, f, width);
    const int64_t rows = held_rows(limits, f, items);
    const int64_t resident =
        max_i64((int64_t)limits->max_blocks * limits->max_block / (items * rows), 1);
    return (weft_axis_tiling){
        .vector_width = 1,
        .vectors = 1,
        .items = 1,
        .items_y = (int)items,
        .unroll = (int)width,
        .widen = 1,
        .run = 1,
        .grid_x = 1,
        .grid_y =
            min_i64(ceil_div(f->high, rows), min_i64(HELD_TASKS * resident, WEFT_MOST_GROUPS)),
        .parts = 1,
        .items_z = (int)rows,
        .held = (int)held_vectors(f, width, items),
    };
}

// Every item has the same number of vectors, of which the last few may be past the end of a row.
weft_status weft_held_check(const char *name, const weft_axis_tiling *tiling,
                            const weft_axis_facts *f)
{
    if (tiling->held == 0)
        return WEFT_OK;
    if (tiling->held < 0 || tiling->held > held_most(f, tiling->unroll))
        return fail(WEFT_BAD_ARGUMENT, "%s.held is %d: 0 to %" PRId64 " is wanted", name,
                    tiling->held, held_most(f, tiling->unroll));
    if (!f->holds || f->low > 1 || f->outer > 1 || !f->low_adjacent)
        return fail(
            WEFT_BAD_ARGUMENT,
            "%s.held is %d: only rows whose elements are side by side are kept, by softmax, "
            "normalisation and reductions",
            name, tiling->held);
    if (tiling->vector_width > 1 || tiling->vectors > 1 || tiling->items > 1 || tiling->widen > 1 ||
        tiling->run > 1 || tiling->parts > 1 || tiling->cache)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.held is %d: vector_width, vectors, items, widen, run and parts of 1 are "
                    "wanted, and no cache",
                    name, tiling->held);
    if (tiling->unroll > f->alignment)
        return fail(WEFT_BAD_ARGUMENT, "%s.unroll is %d, but rows are aligned to %" PRId64, name,
                    tiling->unroll, f->alignment);
    const int64_t wanted = held_vectors(f, tiling->unroll, tiling->items_y);
    if (tiling->held != wanted)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.held is %d: %d items need %" PRId64 " vectors of %d for %" PRId64
                    " elements",
                    name, tiling->held, tiling->items_y, wanted, tiling->unroll, f->mid);
    return WEFT_OK;
}
