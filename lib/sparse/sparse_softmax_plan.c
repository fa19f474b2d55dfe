// SPDX-License-Identifier: Apache-2.0
// How softmax over sparse rows is cut into groups: limits and a problem to a tiling.
#include "sparse/sparse_softmax_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/lanes.h"
#include "base/tiling_given.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"

enum { MAX_VECTOR_WIDTH = 16 };

// Where an item computes whole vectors: CPUs.
enum {
    VECTORIZED_TASKS = 32,            // groups for each core, so that the last ones end together
    VECTORIZED_CHUNK = 1 << 17,       // most entries and rows of a group: its start costs little
    VECTORIZED_LEAST = 1 << 10,       // least of them
    VECTORIZED_ROW_CHUNK = 1 << 14,   // entries that cost a core ten microseconds
    VECTORIZED_CACHED = 1 << 12,      // bytes of terms: enough rows to hide latency, while L1 holds
                                      // them, their marks, and those of the rows before
    VECTORIZED_MOST_CACHED = 1 << 11, // entries: most that there is room for in a usual row
    VECTORIZED_SPARE = 4,             // part of it added, for rows that are longer than usual
};

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 128,     // of a group
    SPREAD_EACH = 4,        // entries of a usual row for each item
    SPREAD_NARROW_EACH = 8, // most that it caches, where registers are few
    SPREAD_LANES = 4,       // of a row at least: neighbours read neighbours
    SPREAD_CHUNK = 2048,
    SPREAD_LEAST = 256,
    SPREAD_ROW_CHUNK = 4096, // entries that a group sweeps in the time of a few launches
};

static int64_t clamp_i64(int64_t x, int64_t least, int64_t most)
{
    return max_i64(min_i64(x, most), least);
}

// Entries and rows of one matrix.
static int64_t positions(const weft_sparse_softmax_problem *problem)
{
    return min_i64(problem->nnz, INT64_MAX / 4) + problem->n_rows;
}

// Entries and rows of the whole batch for each of n_groups groups.
static int64_t share_of(const weft_sparse_softmax_problem *problem, int64_t n_groups)
{
    const int64_t each = ceil_div(positions(problem), n_groups);
    return each * min_i64(max_i64(problem->n_batches, 1), n_groups);
}

static int64_t usual_row(const weft_sparse_softmax_problem *problem)
{
    return ceil_div(problem->nnz, max_i64(problem->n_rows, 1));
}

// Room for a usual row, and for many short ones. Backward, two values of each entry are in L1, too.
static int vectorized_cached(const weft_sparse_softmax_problem *problem, int64_t term_bytes)
{
    const int64_t many = VECTORIZED_CACHED / term_bytes / (problem->is_backward ? 2 : 1);
    const int64_t cached = clamp_i64(pow2_up(usual_row(problem)), many, VECTORIZED_MOST_CACHED);
    return (int)(cached + cached / VECTORIZED_SPARE);
}

// Lanes are elements of one item's vectors.
static weft_sparse_softmax_tiling vectorized_tiling(const weft_limits *limits,
                                                    const weft_sparse_softmax_problem *problem)
{
    const int64_t term_bytes = weft_sum_bytes(problem->dtype);
    const int64_t vector_width = weft_limits_vector_width(limits, term_bytes, MAX_VECTOR_WIDTH);
    const int64_t share = share_of(problem, (int64_t)limits->compute_units * VECTORIZED_TASKS);
    return (weft_sparse_softmax_tiling){
        .vector_width = (int)vector_width,
        .lanes = 1,
        .rows_per_group = 1,
        .cache = vector_width > 1 ? vectorized_cached(problem, term_bytes) : 1,
        .chunk = clamp_i64(share, VECTORIZED_LEAST, VECTORIZED_CHUNK),
        .row_chunk = VECTORIZED_ROW_CHUNK,
    };
}

// Lanes are items, and share a row.
static weft_sparse_softmax_tiling spread_tiling(const weft_limits *limits,
                                                const weft_sparse_softmax_problem *problem)
{
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t warp = min_i64(limits->warp, items);
    const int64_t usual = min_i64(max_i64(usual_row(problem), 1), INT32_MAX);
    const int64_t wanted = pow2_up(ceil_div(usual, SPREAD_EACH));
    const int64_t lanes = min_i64(max_i64(wanted, SPREAD_LANES), warp);
    // As many as registers have room for, because longer rows are slow. Backward, two values each.
    const bool is_narrow = limits->least_subgroup > 0 && problem->is_backward;
    const int64_t each = is_narrow ? SPREAD_NARROW_EACH : WEFT_SPARSE_SOFTMAX_MOST_EACH;
    return (weft_sparse_softmax_tiling){
        .vector_width = 1,
        .lanes = (int)lanes,
        .rows_per_group = (int)min_i64(items / lanes, weft_limits_items_along(limits, 1)),
        .cache = (int)(each * lanes),
        .chunk = clamp_i64(share_of(problem, limits->max_blocks), SPREAD_LEAST, SPREAD_CHUNK),
        .row_chunk = SPREAD_ROW_CHUNK,
    };
}

weft_sparse_softmax_tiling weft_sparse_softmax_tiling_for(
    const weft_limits *limits, const weft_sparse_softmax_problem *problem)
{
    return weft_lanes_are_vectors(limits, problem->why) ? vectorized_tiling(limits, problem)
                                                        : spread_tiling(limits, problem);
}

static weft_status group_check(const weft_sparse_softmax_tiling *tiling, const weft_limits *limits)
{
    const int64_t lanes = tiling->lanes, most_lanes = weft_limits_items_along(limits, 0);
    const int64_t rows = tiling->rows_per_group;
    const int64_t most_rows = min_i64(weft_limits_items_along(limits, 1), WEFT_SPARSE_MARGIN);
    if (!is_pow2_upto(lanes, most_lanes))
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.lanes is %" PRId64 ": a power of two up to %" PRId64
                    " is wanted",
                    lanes, most_lanes);
    if (!is_pow2_upto(rows, most_rows))
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.rows_per_group is %" PRId64
                    ": a power of two up to %" PRId64 " is wanted",
                    rows, most_rows);
    if ((uint64_t)(lanes * rows) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.lanes %" PRId64 " x rows_per_group %" PRId64
                    " are more than the %zu items of a group",
                    lanes, rows, limits->max_items);
    return WEFT_OK;
}

static weft_status vectors_check(const weft_sparse_softmax_tiling *tiling)
{
    if (!is_pow2_upto(tiling->vector_width, MAX_VECTOR_WIDTH))
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.vector_width is %d: 1, 2, 4, 8 or 16 is wanted",
                    tiling->vector_width);
    const int64_t lanes = tiling->lanes, most = lanes * WEFT_SPARSE_SOFTMAX_MOST_EACH;
    if (tiling->vector_width == 1 &&
        (tiling->cache < 0 || tiling->cache > most || tiling->cache % lanes != 0))
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.cache is %d: with vector_width 1 a multiple of %" PRId64
                    " lanes up to %" PRId64 " is wanted",
                    tiling->cache, lanes, most);
    if (tiling->vector_width == 1)
        return WEFT_OK;
    if (tiling->lanes != 1 || tiling->rows_per_group != 1)
        return fail(
            WEFT_BAD_ARGUMENT,
            "sparse_softmax: tiling.lanes %d x rows_per_group %d: with vector_width %d one item is "
            "wanted",
            tiling->lanes, tiling->rows_per_group, tiling->vector_width);
    if (tiling->cache < tiling->vector_width || tiling->cache > WEFT_SPARSE_SOFTMAX_MOST_CACHED)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.cache is %d: vector_width %d to %d is wanted",
                    tiling->cache, tiling->vector_width, WEFT_SPARSE_SOFTMAX_MOST_CACHED);
    return WEFT_OK;
}

weft_status weft_sparse_softmax_tiling_check(const weft_sparse_softmax_tiling *tiling,
                                             const weft_limits *limits,
                                             const weft_sparse_softmax_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "sparse_softmax"));
    TRY(group_check(tiling, limits));
    TRY(vectors_check(tiling));
    if (tiling->chunk < 1 || tiling->chunk > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.chunk is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    tiling->chunk, INT64_MAX / 4);
    if (tiling->row_chunk < 1 || tiling->row_chunk > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_softmax: tiling.row_chunk is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    tiling->row_chunk, INT64_MAX / 4);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_sparse_softmax_tiling, vector_width),
    TILING_FIELD(weft_sparse_softmax_tiling, lanes),
    TILING_FIELD(weft_sparse_softmax_tiling, rows_per_group),
    TILING_FIELD(weft_sparse_softmax_tiling, cache),
    TILING_FIELD(weft_sparse_softmax_tiling, chunk),
    TILING_FIELD(weft_sparse_softmax_tiling, row_chunk),
};

const weft_tiling_table weft_sparse_softmax_tiling_table = TILING_TABLE(fields);

int weft_sparse_softmax_tiling_print(const weft_sparse_softmax_tiling *tiling, char *text,
                                     size_t size)
{
    return weft_tiling_print(&weft_sparse_softmax_tiling_table, tiling, text, size);
}
