// SPDX-License-Identifier: Apache-2.0
// How sparse attention is cut into rows, groups and n-tiles: limits and a problem to a tiling.
#include "sparse/sparse_attention_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "base/tiling_given.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_plan.h"

enum { MAX_VECTOR_WIDTH = 16, MAX_VECTORS = 8, MOST_LANES = 64, MOST_ROWS = 64 };

// Where an item computes whole vectors: CPUs.
enum {
    VECTORIZED_TASKS = 32,       // items for each core, so that the last ones end together
    VECTORIZED_ROW_CHUNK = 4096, // entries that cost a core a hundred microseconds
};

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 128,      // of a group
    SPREAD_VECTOR_WIDTH = 4, // widest vector that is loaded at once, in elements
    SPREAD_VECTORS = 2,      // of an item at most: it has few registers
    SPREAD_LANES = 16,       // that share a row
    SPREAD_ROW_CHUNK = 1024, // entries that cost a group about as much as a row block of usual rows
};

// Features that plans report as not used.
static const char STEPS[] = "three steps", ALIGNED[] = "aligned vectors";

// The problem with defaults filled in, extents at least 1.
typedef struct {
    int64_t k, d, alignment, bytes, sum_bytes;
    const weft_why *why;
} facts;

static facts facts_of(const weft_sparse_attention_problem *problem)
{
    const weft_dtype dtype = weft_dtype_or(problem->dtype, WEFT_F32);
    const bool are_adjacent = problem->qk_adjacent && problem->vo_adjacent;
    return (facts){
        .k = problem->k > 0 ? problem->k : max_i64(problem->d, 1), // of none, nothing is read
        .d = max_i64(problem->d, 1),
        .alignment = are_adjacent ? max_i64(problem->alignment, 1) : 1,
        .bytes = (int64_t)weft_dtype_size(dtype),
        .sum_bytes = weft_sum_bytes(dtype),
        .why = problem->why,
    };
}

// Lanes are elements of one item's vectors, and nothing is shared.
static weft_sparse_attention_tiling vectorized_tiling(const weft_limits *limits,
                                                      const weft_sparse_attention_problem *problem,
                                                      const facts *f)
{
    const int64_t widest = weft_limits_vector_width(limits, f->sum_bytes, MAX_VECTOR_WIDTH);
    const int64_t vector_width = min_i64(widest, pow2_down(min_i64(f->k, f->d)));
    const int64_t most = min_i64(limits->vectors, MAX_VECTORS);
    const int64_t m = min_i64(problem->m, WEFT_SPARSE_MAX_EXTENT);
    const int64_t all = m * min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t rows =
        pow2_down(max_i64(all / ((int64_t)limits->compute_units * VECTORIZED_TASKS), 1));
    return (weft_sparse_attention_tiling){
        .vector_width = (int)vector_width,
        .vectors = weft_vectors_for(f->k, vector_width, most),
        .outputs = weft_vectors_for(f->d, vector_width, most),
        .lanes = 1,
        .rows_per_group = 1,
        .rows_per_item = (int)min_i64(rows, MOST_ROWS),
        .row_chunk = VECTORIZED_ROW_CHUNK,
    };
}

// Local memory for each row of a group: partial products, products, weights and iterations.
static int64_t shared_bytes(const facts *f, int64_t lanes)
{
    return (lanes * (lanes + 1) + 2 * lanes) * f->sum_bytes + 4;
}

// Rows that share a group: where there are few, the device has as many groups as it can, as long as
// these are whole warps.
static int64_t rows_of_group(const weft_limits *limits,
                             const weft_sparse_attention_problem *problem, int64_t items,
                             int64_t lanes)
{
    const int64_t m = min_i64(problem->m, WEFT_SPARSE_MAX_EXTENT);
    const int64_t all = m * min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t least = max_i64(min_i64(limits->warp, items) / lanes, 1);
    return min_i64(max_i64(pow2_down(max_i64(all / limits->max_blocks, 1)), least), items / lanes);
}

// Lanes are items: they read neighbouring elements, and reduce their products.
static weft_sparse_attention_tiling spread_tiling(const weft_limits *limits,
                                                  const weft_sparse_attention_problem *problem,
                                                  const facts *f)
{
    const int64_t widest = max_i64(min_i64(limits->load_bytes / f->bytes, SPREAD_VECTOR_WIDTH), 1);
    const int64_t divisor = min_i64(pow2_divisor(f->k), pow2_divisor(f->d));
    const int64_t vector_width = min_i64(pow2_down(widest), min_i64(f->alignment, divisor));
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t most = min_i64(min_i64(limits->warp, items), SPREAD_LANES);
    const int64_t units = ceil_div(max_i64(f->k, f->d), vector_width);
    int64_t lanes = min_i64(most, pow2_up(units));
    while (lanes > 1 && (uint64_t)shared_bytes(f, lanes) > limits->local_bytes)
        lanes /= 2;
    const int64_t room = clamped_i64(limits->local_bytes) / 2 / shared_bytes(f, lanes);
    const int64_t rows =
        min_i64(rows_of_group(limits, problem, items, lanes), weft_limits_items_along(limits, 1));
    if (vector_width < pow2_down(widest))
        refuse(problem->why, ALIGNED,
               "of %" PRId64 ": k is %" PRId64 ", V has %" PRId64
               " columns, and rows begin at multiples of %" PRId64,
               pow2_down(widest), f->k, f->d, f->alignment);
    return (weft_sparse_attention_tiling){
        .vector_width = (int)vector_width,
        .vectors = weft_vectors_for(f->k, vector_width * lanes, SPREAD_VECTORS),
        .outputs = weft_vectors_for(f->d, vector_width * lanes, SPREAD_VECTORS),
        .lanes = (int)lanes,
        .rows_per_group = (int)min_i64(rows, pow2_down(max_i64(room, 1))),
        .rows_per_item = 1,
        .row_chunk = SPREAD_ROW_CHUNK,
        .aligned = vector_width > 1,
    };
}

weft_sparse_attention_tiling weft_sparse_attention_tiling_for(
    const weft_limits *limits, const weft_sparse_attention_problem *problem)
{
    const facts f = facts_of(problem);
    weft_sparse_attention_tiling tiling = weft_lanes_are_vectors(limits, problem->why)
                                              ? vectorized_tiling(limits, problem, &f)
                                              : spread_tiling(limits, problem, &f);
    // A sweep would compute the products once for each n-tile of V's columns.
    const int64_t n_tile = (int64_t)tiling.lanes * tiling.outputs * tiling.vector_width;
    tiling.in_steps =
        (f.d > n_tile ||
         refuse(problem->why, STEPS, "one n-tile of %" PRId64 " columns has all %" PRId64 " of V",
                n_tile, f.d)) &&
        (f.bytes == f.sum_bytes ||
         refuse(problem->why, STEPS, "products would be rounded on the way"));
    return tiling;
}

static weft_status group_check(const weft_sparse_attention_tiling *tiling,
                               const weft_limits *limits, const facts *f)
{
    const int64_t lanes = tiling->lanes, rows = tiling->rows_per_group;
    const int64_t most_rows = min_i64(clamped_i64(limits->max_items_along[1]), WEFT_SPARSE_MARGIN);
    if (!is_pow2_upto(lanes, MOST_LANES) || (uint64_t)lanes > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.lanes is %" PRId64
                    ": a power of two up to %d and %zu is wanted",
                    lanes, MOST_LANES, limits->max_items_along[0]);
    if (rows < 1 || rows > most_rows)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.rows_per_group is %" PRId64 ": 1 to %" PRId64
                    " is wanted",
                    rows, most_rows);
    if ((uint64_t)(lanes * rows) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.lanes %" PRId64 " x rows_per_group %" PRId64
                    " are more than the %zu items of a group",
                    lanes, rows, limits->max_items);
    if (lanes > 1 && (uint64_t)(rows * shared_bytes(f, lanes)) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.lanes %" PRId64 " x rows_per_group %" PRId64
                    " share %" PRId64 " bytes; local memory has %zu",
                    lanes, rows, rows * shared_bytes(f, lanes), limits->local_bytes);
    return WEFT_OK;
}

static weft_status vectors_check(const weft_sparse_attention_tiling *tiling, const facts *f)
{
    const int64_t shorter = min_i64(f->k, f->d);
    const int64_t most = tiling->vectors > tiling->outputs ? tiling->vectors : tiling->outputs;
    if (!is_pow2_upto(tiling->vector_width, MAX_VECTOR_WIDTH) || tiling->vector_width > shorter)
        return fail(
            WEFT_BAD_ARGUMENT,
            "sparse_attention: tiling.vector_width is %d: 1, 2, 4, 8 or 16 and at most %" PRId64
            " (of k %" PRId64 " and d %" PRId64 ") is wanted",
            tiling->vector_width, shorter, f->k, f->d);
    if (tiling->vectors < 1 || tiling->vectors > MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention: tiling.vectors is %d: 1 to %d is wanted",
                    tiling->vectors, MAX_VECTORS);
    if (tiling->outputs < 1 || tiling->outputs > MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention: tiling.outputs is %d: 1 to %d is wanted",
                    tiling->outputs, MAX_VECTORS);
    if ((int64_t)tiling->vector_width * most * tiling->lanes > WEFT_SPARSE_MARGIN)
        return fail(
            WEFT_BAD_ARGUMENT,
            "sparse_attention: tiling.vector_width %d x vectors %d or outputs %d x lanes %d are "
            "%" PRId64 " elements: at most %d are wanted",
            tiling->vector_width, tiling->vectors, tiling->outputs, tiling->lanes,
            (int64_t)tiling->vector_width * most * tiling->lanes, WEFT_SPARSE_MARGIN);
    if (tiling->aligned && (f->alignment % tiling->vector_width != 0 ||
                            f->k % tiling->vector_width != 0 || f->d % tiling->vector_width != 0))
        return fail(
            WEFT_BAD_ARGUMENT,
            "sparse_attention: tiling.aligned with vector_width %d: rows start on multiples of "
            "%" PRId64 ", k is %" PRId64 ", d %" PRId64,
            tiling->vector_width, f->alignment, f->k, f->d);
    return WEFT_OK;
}

weft_status weft_sparse_attention_tiling_check(const weft_sparse_attention_tiling *tiling,
                                               const weft_limits *limits,
                                               const weft_sparse_attention_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "sparse_attention"));
    const facts f = facts_of(problem);
    if (tiling->in_steps)
        return f.bytes == f.sum_bytes
                   ? WEFT_OK
                   : fail(WEFT_BAD_ARGUMENT,
                          "sparse_attention: tiling.in_steps would round products to %s",
                          weft_dtype_name(problem->dtype));
    TRY(group_check(tiling, limits, &f));
    TRY(vectors_check(tiling, &f));
    if (tiling->rows_per_item < 1 || tiling->rows_per_item > MOST_ROWS)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.rows_per_item is %d: 1 to %d is wanted",
                    tiling->rows_per_item, MOST_ROWS);
    if (tiling->row_chunk < 1 || tiling->row_chunk > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: tiling.row_chunk is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    tiling->row_chunk, INT64_MAX / 4);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_sparse_attention_tiling, vector_width),
    TILING_FIELD(weft_sparse_attention_tiling, vectors),
    TILING_FIELD(weft_sparse_attention_tiling, outputs),
    TILING_FIELD(weft_sparse_attention_tiling, lanes),
    TILING_FIELD(weft_sparse_attention_tiling, rows_per_group),
    TILING_FIELD(weft_sparse_attention_tiling, rows_per_item),
    TILING_FIELD(weft_sparse_attention_tiling, row_chunk),
    TILING_FIELD(weft_sparse_attention_tiling, aligned),
    TILING_FIELD(weft_sparse_attention_tiling, in_steps),
};

const weft_tiling_table weft_sparse_attention_tiling_table = TILING_TABLE(fields);

int weft_sparse_attention_tiling_print(const weft_sparse_attention_tiling *tiling, char *text,
                                       size_t size)
{
    return weft_tiling_print(&weft_sparse_attention_tiling_table, tiling, text, size);
}
