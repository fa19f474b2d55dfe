// SPDX-License-Identifier: Apache-2.0
// How a sampled dense product is cut into slices, groups and tiles: limits and a problem to a
// tiling.
#include "sparse/sddmm_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "base/tiling_given.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_plan.h"

enum {
    MAX_FOLD = 16,
    MAX_VECTORS = 16,
    SLICE_STEP = 16,  // entries: vectors of D begin where vectors do
    PASSES_USES = 8,  // of each column of B, from which sums are worth keeping it near
    PACKED_USES = 8,  // and from which it is worth writing and reading once more
    APART_USES = 1,   // the same where its elements are far from each other, to turn it, too
    ACROSS_USES = 32, // and where they are near, but vectors reach over the ends of lines
};

// Where an item carries whole vectors: CPUs.
enum {
    FOLDED_ERRANDS = 32,   // slices for each core, so that the last ones end together
    FOLDED_ENTRIES = 2048, // that cost a core tens of microseconds
    FOLDED_LEAST = 64,
    FOLDED_AHEAD = 16, // entries: about as long as memory takes
    FOLDED_VECTORS = 8,
};

// Where its rows go side by side through windows of B's columns.
enum {
    WINDOW_ROW = 64,         // entries on average: several blocks, whose ends are a small part
                             // then; of one tile alone, as several would be packed and launched
    WINDOW_ERRANDS = 8,      // slices for each core, at least: columns wait longer for longer ones
    WINDOW_MOST_USES = 16,   // of a column by a slice, after which no more is won
    WINDOW_LEAST_USES = 4,   // and before which windows only cost, of one tile
    WINDOW_PART = 8,         // so many windows fill L2: rows of A and sums pass through it, too
    WINDOW_NEAR_PART = 2,    // B that fills such a part of L2 needs none
    WINDOW_WIDE_VECTOR = 64, // bytes: processors with such vectors have 32 of them
};

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 128,   // of a group
    SPREAD_FOLD = 4,      // widest vector that is loaded at once, in elements
    SPREAD_VECTORS = 4,   // loads in flight for each item
    SPREAD_LANES = 8,     // which read a cache line together, and fit the narrowest sub-group
    SPREAD_ENTRIES = 128, // of a slice: finding its first row is then a small part
    SPREAD_LEAST = 16,
};

// What plans say that they do without.
static const char PACKED[] = "packed B", TURNED[] = "turned B";
static const char PASSES[] = "a pass for each tile of k";
static const char AHEAD[] = "columns asked for ahead", ALIGNED[] = "aligned vectors";
static const char WINDOWS[] = "rows side by side through windows of columns";

// A forgiving view of the problem: defaults filled in, extents at least 1. What is aligned are A's
// rows, and A's rows and B's columns together.
typedef struct {
    int64_t k, n, a_alignment, alignment, bytes, sum_bytes, all_entries;
    const weft_why *why;
} facts;

static facts facts_of(const weft_sddmm_problem *problem)
{
    const weft_dtype dtype = weft_dtype_or(problem->dtype, WEFT_F32);
    const int64_t n_batches = min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t a_alignment = problem->a_adjacent ? max_i64(problem->alignment, 1) : 1;
    return (facts){
        .k = max_i64(problem->k, 1),
        .n = min_i64(max_i64(problem->n, 1), WEFT_SPARSE_MAX_EXTENT),
        .a_alignment = a_alignment,
        .alignment = problem->b_adjacent ? a_alignment : 1,
        .bytes = (int64_t)weft_dtype_size(dtype),
        .sum_bytes = weft_sum_bytes(dtype),
        .all_entries = min_i64(problem->nnz, INT64_MAX / WEFT_SPARSE_MARGIN) * n_batches,
        .why = problem->why,
    };
}

// Entries of a slice, so that there are so many slices, in whole steps.
static int64_t slice_entries(const facts *f, int64_t slices, int64_t least, int64_t most)
{
    const int64_t each = f->all_entries / max_i64(slices, 1);
    return min_i64(max_i64(each / SLICE_STEP * SLICE_STEP, least), most);
}

// How often each column of B is used.
static int64_t uses_of(const weft_sddmm_problem *problem, const facts *f)
{
    return problem->nnz / f->n;
}

// Copying B pays where columns are used often, and their elements stand apart; or a tile of them is
// a part of columns so long that it would occupy few sets of a cache; or vectors of them, read out
// of cache, reach over the ends of lines.
static bool pays_packing(const weft_sddmm_tiling *tiling, const weft_sddmm_problem *problem,
                         const facts *f, int64_t tile_bytes, int64_t l2_bytes)
{
    const bool sweeps = tiling->window > 0;
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->fold;
    const bool is_long = f->k > tile && tile_bytes >= l2_bytes / 8 && !sweeps;
    const bool is_across = sweeps && f->alignment < tiling->fold;
    if (problem->b_adjacent && !is_long && !is_across)
        return sweeps
                   ? refuse(problem->why, PACKED,
                            "columns of B lie together, and windows keep them near")
                   : refuse(problem->why, PACKED,
                            "columns of B lie together, and a tile of them has %" PRId64 " bytes",
                            tile_bytes);
    const int64_t wanted = !problem->b_adjacent ? APART_USES : is_long ? PACKED_USES : ACROSS_USES;
    return uses_of(problem, f) >= wanted ||
           refuse(problem->why, PACKED,
                  "each column of B is used %" PRId64 " times: %" PRId64 " are wanted",
                  uses_of(problem, f), wanted);
}

// Whether tiles of k go from end to end: where columns are used often, so that one tile of all of
// them stays near.
static bool pays_passes(const weft_sddmm_tiling *tiling, const weft_sddmm_problem *problem,
                        const facts *f)
{
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->fold;
    const int64_t uses = uses_of(problem, f);
    return (f->k > tile || refuse(problem->why, PASSES, "one tile has all of k, %" PRId64, f->k)) &&
           (tiling->window > 0 || uses >= PASSES_USES ||
            refuse(problem->why, PASSES,
                   "each column of B is used %" PRId64 " times: %d are wanted", uses, PASSES_USES));
}

// What becomes of B, whose columns are named in any order. What is not near is asked for.
static void choose_passes(weft_sddmm_tiling *tiling, const weft_limits *limits,
                          const weft_sddmm_problem *problem, const facts *f)
{
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->fold;
    const weft_caches near = weft_caches_of(limits);
    const int64_t tile_bytes = f->n * min_i64(tile, f->k) * f->bytes;
    tiling->packed = pays_packing(tiling, problem, f, tile_bytes, near.l2_bytes);
    tiling->passes = tiling->packed || pays_passes(tiling, problem, f);
    const bool is_far = tile_bytes > near.l2_bytes && (problem->b_adjacent || tiling->packed);
    if (tiling->window > 0)
        refuse(problem->why, AHEAD, "windows of %" PRId64 " columns stay near", tiling->window);
    else if (is_far)
        tiling->ahead = FOLDED_AHEAD;
    else
        refuse(problem->why, AHEAD,
               "a tile of B's columns has %" PRId64 " bytes, of which %" PRId64 " are near",
               tile_bytes, near.l2_bytes);
}

// Vectors of an item, so that tiles are as few as can be and about the same.
static int vectors_for(int64_t k, int64_t fold, int64_t most)
{
    const int64_t needed = ceil_div(k, fold);
    return (int)ceil_div(needed, ceil_div(needed, most));
}

// Lanes are elements of one item's vectors, and nothing is shared.
static weft_sddmm_tiling folded_tiling(const weft_limits *limits, const facts *f)
{
    const int64_t widest = weft_limits_fold(limits, f->sum_bytes, MAX_FOLD);
    const int64_t fold = min_i64(widest, pow2_down(f->k));
    const int64_t slices = (int64_t)limits->compute_units * FOLDED_ERRANDS;
    return (weft_sddmm_tiling){
        .fold = (int)fold,
        .vectors = vectors_for(f->k, fold, min_i64(limits->vectors, FOLDED_VECTORS)),
        .lanes = 1,
        .slices_per_group = 1,
        .entries = slice_entries(f, slices, FOLDED_LEAST, FOLDED_ENTRIES),
    };
}

// Entries of a slice where windows are to serve it: as many as all cores can have several of.
static int64_t window_entries(const weft_limits *limits, const facts *f)
{
    const int64_t slices = (int64_t)limits->compute_units * WINDOW_ERRANDS;
    const int64_t most = min_i64(WINDOW_MOST_USES * f->n, WEFT_SDDMM_MOST_ENTRIES);
    return slice_entries(f, slices, FOLDED_LEAST, most / SLICE_STEP * SLICE_STEP);
}

// Rows go side by side where B has several tiles, which then stay where they are, and slices may be
// so long that they use its columns; or where they are long, B is more than stays near by itself,
// and slices use its columns several times.
static bool pays_windows(const weft_limits *limits, const weft_sddmm_problem *problem,
                         const facts *f, int64_t tile)
{
    const bool has_tiles = f->k > tile;
    const int64_t row = problem->nnz / max_i64(problem->m, 1);
    const int64_t bytes = f->n * min_i64(f->k, tile) * f->bytes;
    const int64_t near = weft_caches_of(limits).l2_bytes / WINDOW_NEAR_PART;
    const int64_t uses = min_i64(window_entries(limits, f), problem->nnz) / f->n;
    const int64_t wanted = has_tiles ? 1 : WINDOW_LEAST_USES;
    return (limits->max_turns == 0 ||
            refuse(problem->why, WINDOWS, "this device's loops end after %d turns",
                   limits->max_turns)) &&
           (has_tiles || row >= WINDOW_ROW ||
            refuse(problem->why, WINDOWS, "rows have %" PRId64 " entries on average: %d are wanted",
                   row, WINDOW_ROW)) &&
           (has_tiles || bytes > near ||
            refuse(problem->why, WINDOWS, "B has %" PRId64 " bytes, of which %" PRId64 " are near",
                   bytes, near)) &&
           (uses >= wanted || refuse(problem->why, WINDOWS,
                                     "a slice, one of %d for each core, uses a column %" PRId64
                                     " times: %" PRId64 " are wanted",
                                     WINDOW_ERRANDS, uses, wanted));
}

static void choose_windows(weft_sddmm_tiling *tiling, const weft_limits *limits,
                           const weft_sddmm_problem *problem, const facts *f)
{
    if (!pays_windows(limits, problem, f, (int64_t)tiling->vectors * tiling->fold))
        return;
    const bool is_wide = weft_limits_fold(limits, 1, INT64_MAX) >= WINDOW_WIDE_VECTOR;
    const int64_t most = is_wide ? 2 * FOLDED_VECTORS : FOLDED_VECTORS;
    tiling->vectors = vectors_for(f->k, tiling->fold, min_i64(most, 2 * (int64_t)limits->vectors));
    const int64_t bytes = (int64_t)tiling->vectors * tiling->fold * f->bytes;
    const int64_t near = weft_caches_of(limits).l2_bytes / WINDOW_PART;
    tiling->window = min_i64(max_i64(near / bytes, SLICE_STEP), f->n);
    tiling->entries = max_i64(tiling->entries, window_entries(limits, f));
}

// What lanes tell each other, of one slice.
static int64_t shared_bytes_of(int64_t lanes, const facts *f)
{
    return lanes * (lanes + 1) * f->sum_bytes;
}

static int64_t turned_block_bytes(const facts *f)
{
    return WEFT_SDDMM_TURNED_BLOCK * (WEFT_SDDMM_TURNED_BLOCK + 1) * f->bytes;
}

// Items that read neighbouring elements of a column want them to be neighbours in memory.
static bool pays_turning(const weft_limits *limits, const weft_sddmm_problem *problem,
                         const facts *f)
{
    return (!problem->b_adjacent || refuse(problem->why, TURNED, "columns of B lie together")) &&
           ((uint64_t)turned_block_bytes(f) <= limits->local_bytes ||
            refuse(problem->why, TURNED, "a block of it has %" PRId64 " bytes, local memory %zu",
                   turned_block_bytes(f), limits->local_bytes)) &&
           (uses_of(problem, f) >= APART_USES ||
            refuse(problem->why, TURNED,
                   "each column of B is used %" PRId64 " times: %d are wanted", uses_of(problem, f),
                   APART_USES));
}

// Lanes are items: they read neighbouring elements of A and B, and join their sums.
static weft_sddmm_tiling spread_tiling(const weft_limits *limits, const facts *f, bool is_turned)
{
    const int64_t widest = max_i64(min_i64(limits->load_bytes / f->bytes, SPREAD_FOLD), 1);
    const int64_t alignment = is_turned ? f->a_alignment : f->alignment;
    const int64_t fold = min_i64(pow2_down(widest), min_i64(alignment, pow2_divisor(f->k)));
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t most = min_i64(min_i64(limits->warp, items), SPREAD_LANES);
    int64_t lanes = min_i64(most, pow2_up(ceil_div(f->k, fold)));
    while (lanes > 1 && (uint64_t)shared_bytes_of(lanes, f) > limits->local_bytes)
        lanes /= 2;
    const int64_t slices_there = clamped_i64(limits->local_bytes) / 2 / shared_bytes_of(lanes, f);
    const int64_t room = pow2_down(max_i64(slices_there, 1));
    const int64_t slices =
        min_i64(min_i64(items / lanes, weft_limits_items_along(limits, 1)), room);
    refuse(f->why, PASSES, "between them sums of items would go through memory");
    if (fold < pow2_down(widest))
        refuse(f->why, ALIGNED,
               "of %" PRId64 ": k is %" PRId64 ", and rows begin at multiples of %" PRId64,
               pow2_down(widest), f->k, alignment);
    return (weft_sddmm_tiling){
        .fold = (int)fold,
        .vectors = vectors_for(f->k, fold * lanes, SPREAD_VECTORS),
        .lanes = (int)lanes,
        .slices_per_group = (int)slices,
        .entries = slice_entries(f, limits->max_blocks * slices, SPREAD_LEAST, SPREAD_ENTRIES),
        .turned = is_turned,
        .aligned = fold > 1,
    };
}

weft_sddmm_tiling weft_sddmm_tiling_for(const weft_limits *limits,
                                        const weft_sddmm_problem *problem)
{
    const facts f = facts_of(problem);
    weft_sddmm_tiling tiling;
    if (weft_lanes_are_folded(limits, problem->why)) {
        tiling = folded_tiling(limits, &f);
        choose_windows(&tiling, limits, problem, &f);
        choose_passes(&tiling, limits, problem, &f);
    } else {
        tiling = spread_tiling(limits, &f, pays_turning(limits, problem, &f));
    }
    return tiling;
}

weft_sddmm_tiling weft_sddmm_tiling_short_of(const weft_limits *limits,
                                             const weft_sddmm_problem *problem, uint64_t most)
{
    const facts f = facts_of(problem);
    if (!weft_lanes_are_folded(limits, problem->why)) {
        refuse(problem->why, TURNED, "scratch memory has room for %" PRIu64 " bytes", most);
        return spread_tiling(limits, &f, false);
    }
    weft_sddmm_tiling tiling = folded_tiling(limits, &f);
    refuse(problem->why, WINDOWS, "scratch memory has room for %" PRIu64 " bytes", most);
    choose_passes(&tiling, limits, problem, &f);
    return tiling;
}

static weft_status group_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                               const facts *f)
{
    const int64_t lanes = tiling->lanes, slices = tiling->slices_per_group;
    const int64_t most_slices =
        min_i64(clamped_i64(limits->max_items_along[1]), WEFT_SPARSE_MARGIN);
    if (!is_pow2_upto(lanes, WEFT_SDDMM_MOST_LANES) || (uint64_t)lanes > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes is %" PRId64 ": a power of two up to %zu is wanted", lanes,
                    limits->max_items_along[0] < WEFT_SDDMM_MOST_LANES
                        ? limits->max_items_along[0]
                        : (size_t)WEFT_SDDMM_MOST_LANES);
    if (slices < 1 || slices > most_slices)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.slices_per_group is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    slices, most_slices);
    if ((uint64_t)(lanes * slices) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes %" PRId64 " x slices_per_group %" PRId64
                    " are more than the %zu items of a group",
                    lanes, slices, limits->max_items);
    if (lanes > 1 && (uint64_t)(slices * shared_bytes_of(lanes, f)) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes %" PRId64 " x slices_per_group %" PRId64 " share %" PRId64
                    " bytes; local memory has %zu",
                    lanes, slices, slices * shared_bytes_of(lanes, f), limits->local_bytes);
    return WEFT_OK;
}

static weft_status tile_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                              const weft_sddmm_problem *problem, const facts *f)
{
    if (!is_pow2_upto(tiling->fold, MAX_FOLD) || tiling->fold > f->k)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.fold is %d: 1, 2, 4, 8 or 16 and at most k = %" PRId64
                    " is wanted",
                    tiling->fold, f->k);
    if (tiling->vectors < 1 || tiling->vectors > MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.vectors is %d: 1 to %d is wanted",
                    tiling->vectors, MAX_VECTORS);
    const int64_t tile = (int64_t)tiling->fold * tiling->vectors * tiling->lanes;
    if (tile > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.fold %d x vectors %d x lanes %d are %" PRId64
                    " elements along k: at most %d are wanted",
                    tiling->fold, tiling->vectors, tiling->lanes, tile, WEFT_SPARSE_MARGIN);
    const int64_t alignment = tiling->turned ? f->a_alignment : f->alignment;
    if (tiling->aligned && (alignment % tiling->fold != 0 || f->k % tiling->fold != 0))
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.aligned with fold %d: rows of A and columns of B start on "
                    "multiples of %" PRId64 ", k is %" PRId64,
                    tiling->fold, alignment, f->k);
    if (tiling->ahead < 0 || tiling->ahead > WEFT_SDDMM_MOST_AHEAD)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.ahead is %d: 0 to %d is wanted",
                    tiling->ahead, WEFT_SDDMM_MOST_AHEAD);
    if (tiling->ahead > 0 && !tiling->packed && !tiling->turned && !problem->b_adjacent)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.ahead is %d, but the elements of B's columns "
                    "stand apart, and are not packed",
                    tiling->ahead);
    if (tiling->turned && tiling->packed)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.turned and tiling.packed exclude each other");
    if (tiling->turned && (uint64_t)turned_block_bytes(f) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.turned wants %" PRId64 " bytes of local memory, which has %zu",
                    turned_block_bytes(f), limits->local_bytes);
    if (tiling->packed && !tiling->passes)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.packed wants tiling.passes");
    if (tiling->window < 0 || tiling->window > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.window is %" PRId64 ": 0 to %d is wanted",
                    tiling->window, WEFT_SPARSE_MAX_EXTENT);
    if (tiling->window > 0 && tiling->lanes > 1)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.window is %" PRId64 ", but tiling.lanes is %d: 1 is wanted",
                    tiling->window, tiling->lanes);
    if (tiling->window > 0 && tile < f->k && !tiling->passes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.window with tiles of %" PRId64 " and k = %" PRId64
                    " wants tiling.passes",
                    tile, f->k);
    return WEFT_OK;
}

weft_status weft_sddmm_tiling_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                                    const weft_sddmm_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "sddmm"));
    const facts f = facts_of(problem);
    TRY(group_check(tiling, limits, &f));
    TRY(tile_check(tiling, limits, problem, &f));
    const int64_t step = max_i64(tiling->lanes, SLICE_STEP);
    if (tiling->entries < step || tiling->entries % step != 0 ||
        tiling->entries > WEFT_SDDMM_MOST_ENTRIES)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.entries is %" PRId64 ": a multiple of %" PRId64
                    " up to %d is wanted",
                    tiling->entries, step, WEFT_SDDMM_MOST_ENTRIES);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_sddmm_tiling, fold),    TILING_FIELD(weft_sddmm_tiling, vectors),
    TILING_FIELD(weft_sddmm_tiling, lanes),   TILING_FIELD(weft_sddmm_tiling, slices_per_group),
    TILING_FIELD(weft_sddmm_tiling, entries), TILING_FIELD(weft_sddmm_tiling, passes),
    TILING_FIELD(weft_sddmm_tiling, packed),  TILING_FIELD(weft_sddmm_tiling, turned),
    TILING_FIELD(weft_sddmm_tiling, aligned), TILING_FIELD(weft_sddmm_tiling, ahead),
    TILING_FIELD(weft_sddmm_tiling, window),
};

const weft_tiling_table weft_sddmm_tiling_table = TILING_TABLE(fields);

int weft_sddmm_tiling_print(const weft_sddmm_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_sddmm_tiling_table, tiling, text, size);
}
