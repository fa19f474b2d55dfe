// SPDX-License-Identifier: Apache-2.0
// Tilings of sparse x dense products: checks and text.
#include "sparse/spmm_tiling.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/lanes.h"
#include "base/tiling_given.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"
#include "sparse/spmm_reduction.h"

weft_spmm_facts weft_spmm_facts_of(const weft_spmm_problem *problem)
{
    const weft_dtype dtype = weft_dtype_or(problem->dtype, WEFT_F32);
    const bool has_places = weft_spmm_is_max_min(problem->reduction);
    return (weft_spmm_facts){
        .dtype = dtype,
        .n = max_i64(problem->n, 1),
        .alignment = problem->columns_adjacent ? max_i64(problem->alignment, 1) : 1,
        .entry_alignment = max_i64(problem->entry_alignment, 1),
        .part_bytes = weft_sum_bytes(dtype) + (has_places ? (int64_t)sizeof(int64_t) : 0),
    };
}

int64_t weft_spmm_resident_groups(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                  const weft_why *why)
{
    const int64_t items = weft_spmm_row_items(tiling) * tiling->rows_per_group;
    const int64_t resident = (int64_t)limits->max_blocks * limits->max_block;
    return weft_lanes_are_vectors(limits, why) ? limits->max_blocks : max_i64(resident / items, 1);
}

static weft_status columns_check(const weft_spmm_tiling *tiling, const weft_spmm_facts *f)
{
    if (!is_pow2_upto(tiling->vector_width, WEFT_SPMM_MAX_VECTOR_WIDTH) ||
        tiling->vector_width > f->n)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.vector_width is %d: 1, 2, 4, 8 or 16 and at most n = %" PRId64
                    " is wanted",
                    tiling->vector_width, f->n);
    if (tiling->vectors < 1 || tiling->vectors > WEFT_SPMM_MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.vectors is %d: 1 to %d is wanted",
                    tiling->vectors, WEFT_SPMM_MAX_VECTORS);
    const int64_t columns = (int64_t)tiling->vector_width * tiling->vectors * tiling->lanes;
    if (columns > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.vector_width %d x vectors %d x lanes %d are %" PRId64
                    " columns: at most %d are wanted",
                    tiling->vector_width, tiling->vectors, tiling->lanes, columns,
                    WEFT_SPARSE_MARGIN);
    if (tiling->aligned &&
        (f->alignment % tiling->vector_width != 0 || f->n % tiling->vector_width != 0))
        return fail(
            WEFT_BAD_ARGUMENT,
            "spmm: tiling.aligned with vector_width %d: rows of B and C start on multiples of "
            "%" PRId64 ", n is %" PRId64,
            tiling->vector_width, f->alignment, f->n);
    return WEFT_OK;
}

static weft_status row_split_check(const weft_spmm_tiling *tiling, const weft_limits *limits)
{
    const int64_t items = weft_spmm_row_items(tiling);
    if (tiling->row_split < 0 || tiling->row_split > WEFT_SPMM_MAX_ROW_SPLIT)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.row_split is %d: 0 to %d is wanted",
                    tiling->row_split, WEFT_SPMM_MAX_ROW_SPLIT);
    if ((uint64_t)items > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.lanes %d x row_split %d are %" PRId64
                    " items: at most %zu are wanted",
                    tiling->lanes, tiling->row_split, items, limits->max_items_along[0]);
    if (tiling->row_split > 1 && !is_pow2_upto(tiling->lanes, INT32_MAX))
        return fail(
            WEFT_BAD_ARGUMENT,
            "spmm: tiling.row_split is %d, lanes %d: with row splits a power of two is wanted",
            tiling->row_split, tiling->lanes);
    if (tiling->row_split > 1 && (tiling->k_block > 0 || tiling->row_blocks_per_copy > 0))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.row_split is %d, k_block %d, row_blocks_per_copy %d: k-blocks "
                    "and staged B require a row_split of 1",
                    tiling->row_split, tiling->k_block, tiling->row_blocks_per_copy);
    return WEFT_OK;
}

static weft_status group_check(const weft_spmm_tiling *tiling, const weft_limits *limits)
{
    const int64_t lanes = tiling->lanes, rows = tiling->rows_per_group;
    const int64_t most_rows = min_i64(clamped_i64(limits->max_items_along[1]), WEFT_SPARSE_MARGIN);
    if (lanes < 1 || (uint64_t)lanes > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.lanes is %" PRId64 ": 1 to %zu is wanted",
                    lanes, limits->max_items_along[0]);
    if (rows < 1 || rows > most_rows)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.rows_per_group is %" PRId64 ": 1 to %" PRId64 " is wanted", rows,
                    most_rows);
    TRY(row_split_check(tiling, limits));
    const int64_t items = weft_spmm_row_items(tiling);
    if ((uint64_t)(items * rows) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.lanes %" PRId64 " x row_split %" PRId64
                    " x rows_per_group %" PRId64 " are more than the %zu items of a group",
                    lanes, items / lanes, rows, limits->max_items);
    if (tiling->rows_per_item < 0 || tiling->rows_per_item > WEFT_SPMM_MOST_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.rows_per_item is %d: 0 to %d is wanted",
                    tiling->rows_per_item, WEFT_SPMM_MOST_ROWS);
    if (tiling->k_block < 0 || tiling->k_block > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.k_block is %d: 0 to %d is wanted",
                    tiling->k_block, WEFT_SPARSE_MARGIN);
    if (tiling->k_block_from < 0)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.k_block_from is %d: 0 or more is wanted",
                    tiling->k_block_from);
    return WEFT_OK;
}

// Local memory for the rows of a group: entries, and the sums of all parts of a row split except
// the first. `stage` must not be negative.
static uint64_t staged_bytes(const weft_spmm_tiling *tiling, const weft_spmm_facts *f)
{
    const uint64_t entry_bytes = 4 + weft_dtype_size(f->dtype);
    const uint64_t row_bytes = tiling->stage > 0 ? (uint64_t)tiling->stage * entry_bytes + 4 : 0;
    const uint64_t n_tile = (uint64_t)tiling->vector_width * (uint64_t)tiling->vectors *
                            (uint64_t)(weft_spmm_row_items(tiling) - tiling->lanes);
    return (uint64_t)tiling->rows_per_group * (row_bytes + n_tile * (uint64_t)f->part_bytes);
}

static weft_status entries_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                 const weft_spmm_facts *f)
{
    if (tiling->stage < 0 || staged_bytes(tiling, f) > limits->local_bytes)
        return fail(
            WEFT_BAD_ARGUMENT,
            "spmm: tiling.stage is %d entries for each of %d rows, row_split %d; local memory "
            "has %zu bytes",
            tiling->stage, tiling->rows_per_group, tiling->row_split, limits->local_bytes);
    if (tiling->stage > 0 && tiling->lanes == 1)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.stage is %d, but one lane shares entries with no other",
                    tiling->stage);
    if (!is_pow2_upto(tiling->load, WEFT_SPMM_MAX_LOAD) || tiling->load > f->entry_alignment ||
        tiling->load > max_i64(tiling->stage, 1) || tiling->stage % tiling->load != 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.load is %d: 1, 2 or 4 that divides stage %d and the distance of "
                    "indices and values, %" PRId64 ", is wanted",
                    tiling->load, tiling->stage, f->entry_alignment);
    if (!is_pow2_upto(tiling->unroll, WEFT_SPMM_MAX_UNROLL))
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.unroll is %d: 1, 2, 4 or 8 is wanted",
                    tiling->unroll);
    if (tiling->row_chunk < 1 || tiling->row_chunk > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.row_chunk is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    tiling->row_chunk, INT64_MAX / 4);
    return WEFT_OK;
}

// Local memory must have room for a group's staged entries and its copy of an n-tile of B.
static weft_status staged_b_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                  const weft_spmm_problem *problem, const weft_spmm_facts *f)
{
    if (tiling->row_blocks_per_copy < 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.row_blocks_per_copy is %d: 0 or more is wanted",
                    tiling->row_blocks_per_copy);
    if (tiling->row_blocks_per_copy == 0)
        return WEFT_OK;
    if (tiling->packed)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.row_blocks_per_copy is %d: a packed B is not staged",
                    tiling->row_blocks_per_copy);
    const uint64_t staged = staged_bytes(tiling, f);
    const uint64_t room = limits->local_bytes > staged ? limits->local_bytes - staged : 0;
    const uint64_t n_tile = (uint64_t)tiling->vector_width * tiling->vectors * tiling->lanes;
    const uint64_t row_bytes = n_tile * (uint64_t)weft_sum_bytes(f->dtype);
    if ((uint64_t)max_i64(problem->k, 0) > room / row_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.row_blocks_per_copy is %d: %" PRId64 " rows of %" PRIu64
                    " bytes of B; local memory has %zu bytes, of which entries take %" PRIu64,
                    tiling->row_blocks_per_copy, problem->k, row_bytes, limits->local_bytes,
                    staged);
    return WEFT_OK;
}

// In one vector, or of a row split.
static weft_status entry_lanes_check(const weft_spmm_tiling *tiling)
{
    const int entries = tiling->entry_lanes;
    const bool is_split = tiling->row_split > 1;
    const bool fits_vector = tiling->lanes == 1 &&
                             is_pow2_upto(entries, WEFT_SPMM_MAX_ENTRY_LANES) &&
                             tiling->vector_width * entries <= WEFT_SPMM_MAX_VECTOR_WIDTH;
    if (entries == 0 || entries == 1)
        return WEFT_OK;
    if (is_split ? entries != tiling->row_split : !fits_vector)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.entry_lanes is %d, vector_width %d, lanes %d, row_split %d: "
                    "row_split is wanted, or with lanes and row_split 1 at most %d, a power of "
                    "two, and at most %d elements",
                    entries, tiling->vector_width, tiling->lanes, tiling->row_split,
                    WEFT_SPMM_MAX_ENTRY_LANES, WEFT_SPMM_MAX_VECTOR_WIDTH);
    if (tiling->stage > 0 || tiling->k_block > 0 || tiling->row_blocks_per_copy > 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.entry_lanes is %d, stage %d, k_block %d, row_blocks_per_copy %d: "
                    "the last three must be 0",
                    entries, tiling->stage, tiling->k_block, tiling->row_blocks_per_copy);
    return WEFT_OK;
}

// Equal shares of entries, which leave nothing to split.
static weft_status tasks_check(const weft_spmm_tiling *tiling)
{
    const int most = tiling->stage > 0 ? tiling->stage - tiling->load + 1 : WEFT_SPMM_MOST_TASKS;
    if (tiling->tasks < 0 || tiling->tasks > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.tasks is %d, stage %d, load %d: 0 to %d is wanted", tiling->tasks,
                    tiling->stage, tiling->load, most);
    if (tiling->tasks > 0 && (tiling->row_split > 1 || tiling->entry_lanes > 1 ||
                              tiling->k_block > 0 || tiling->row_blocks_per_copy > 0))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.tasks is %d, row_split %d, entry_lanes %d, k_block %d, "
                    "row_blocks_per_copy %d: with tasks the first two are at most 1, the others 0",
                    tiling->tasks, tiling->row_split, tiling->entry_lanes, tiling->k_block,
                    tiling->row_blocks_per_copy);
    return WEFT_OK;
}

// A row is split only between items that take its entries side by side.
static weft_status max_min_check(const weft_spmm_tiling *tiling, const weft_spmm_problem *problem)
{
    const bool is_cut = tiling->row_split > 1 && tiling->entry_lanes != tiling->row_split;
    if (weft_spmm_is_max_min(problem->reduction) &&
        (tiling->k_block > 0 || tiling->stage > 0 || tiling->packed || tiling->tasks > 0 ||
         tiling->row_blocks_per_copy > 0 || is_cut))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.k_block is %d, stage %d, row_blocks_per_copy %d, tasks %d, "
                    "row_split %d, entry_lanes %d, %s: a %s has none of the first four, no packed "
                    "B, and as many entry_lanes as a row_split",
                    tiling->k_block, tiling->stage, tiling->row_blocks_per_copy, tiling->tasks,
                    tiling->row_split, tiling->entry_lanes,
                    tiling->packed ? "packed" : "not packed",
                    weft_spmm_reduction_name(problem->reduction));
    return WEFT_OK;
}

weft_status weft_spmm_tiling_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                   const weft_spmm_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "spmm"));
    const weft_spmm_facts f = weft_spmm_facts_of(problem);
    TRY(group_check(tiling, limits));
    TRY(columns_check(tiling, &f));
    TRY(entries_check(tiling, limits, &f));
    TRY(staged_b_check(tiling, limits, problem, &f));
    TRY(entry_lanes_check(tiling));
    TRY(tasks_check(tiling));
    return max_min_check(tiling, problem);
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_spmm_tiling, vector_width),
    TILING_FIELD(weft_spmm_tiling, vectors),
    TILING_FIELD(weft_spmm_tiling, lanes),
    TILING_FIELD(weft_spmm_tiling, row_split),
    TILING_FIELD(weft_spmm_tiling, entry_lanes),
    TILING_FIELD(weft_spmm_tiling, rows_per_group),
    TILING_FIELD(weft_spmm_tiling, rows_per_item),
    TILING_FIELD(weft_spmm_tiling, k_block),
    TILING_FIELD(weft_spmm_tiling, k_block_from),
    TILING_FIELD(weft_spmm_tiling, stage),
    TILING_FIELD(weft_spmm_tiling, load),
    TILING_FIELD(weft_spmm_tiling, unroll),
    TILING_FIELD(weft_spmm_tiling, row_chunk),
    TILING_FIELD(weft_spmm_tiling, tasks),
    TILING_FIELD(weft_spmm_tiling, packed),
    TILING_FIELD(weft_spmm_tiling, row_blocks_per_copy),
    TILING_FIELD(weft_spmm_tiling, aligned),
};

const weft_tiling_table weft_spmm_tiling_table = TILING_TABLE(fields);

int weft_spmm_tiling_print(const weft_spmm_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_spmm_tiling_table, tiling, text, size);
}
