// SPDX-License-Identifier: Apache-2.0
// How a sparse x dense product is cut into n-tiles and groups where lanes are items: on GPUs.
#include "sparse/spmm_plan_spread.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/refuse.h"
#include "operand/view.h"
#include "sparse/spmm_packing.h"
#include "sparse/spmm_reduction.h"
#include "sparse/spmm_tasks.h"

enum {
    SPREAD_ITEMS = 256,       // of a group at most
    SPREAD_LEAST_ITEMS = 64,  // and at least: a compute unit has room for enough such groups
    SPREAD_VECTOR_WIDTH = 4,  // widest vector that is loaded at once, in elements
    SPREAD_UNROLL = 8,        // loads of B in flight for each item, half as many of 64 bits
    SPREAD_STAGE = 128,       // entries of a row, or of a task, in local memory,
    SPREAD_LARGE_STAGE = 256, // for a row_split of the next number or more,
    SPREAD_LARGE_ROW_SPLIT = 8,
    SPREAD_FEW_STAGE = 64,      // and where tasks would be few: more have more parts of rows
    SPREAD_FEW_TASKS = 4,       // a share of those for which the device has room, less registers
    SPREAD_NARROW_COLUMNS = 16, // of a row, so few that items take its entries side by side,
    SPREAD_NARROW_UNROLL = 4,   // with so many loads of B in flight
    SPREAD_PART = 16, // entries of each part of a row split, which pay for combining its sum
    // row_split grows if an item would wait for the longest row for more than this many entries,
    // about the time of a launch, and more than this many times as long as for all other rows.
    SPREAD_WAIT = 128,
    SPREAD_LONG = 2,
    SPREAD_WAIT_SPLIT = 8,   // in larger row splits shorter rows leave items idle: tasks are even
    SPREAD_ROW_CHUNK = 1024, // entries that cost a group about as much as a row block of usual rows
    SPREAD_SHORT_ROW_CHUNK = 256, // the same where rows are cut, or may be: without a plan only if
    SPREAD_SUMS_BYTES = 1 << 24,  // sums of all row chunks take at most so many bytes
};

// Features, named in the reasons for not using them.
static const char PACKED[] = "packed B", STAGED[] = "entries in local memory";
static const char ALIGNED[] = "aligned vectors", ROW_SPLITS[] = "larger row splits";
static const char TASKS[] = "tasks of equal size";

// Entries of one row that fit in the group's local memory, index and value. They use half of it, so
// that two groups can be resident.
static int stage_for(const weft_limits *limits, const weft_spmm_problem *problem, int64_t lanes,
                     int64_t row_split, int64_t rows)
{
    const int64_t entry_bytes =
        4 + (int64_t)weft_dtype_size(weft_dtype_or(problem->dtype, WEFT_F32));
    if (lanes == 1)
        return refuse(problem->why, STAGED, "one lane shares them with no other");
    int64_t stage = row_split < SPREAD_LARGE_ROW_SPLIT ? SPREAD_STAGE : SPREAD_LARGE_STAGE;
    while (stage > 0 && rows * (stage * entry_bytes + 4) > (int64_t)(limits->local_bytes / 2)) {
        refuse(problem->why, stage > 1 ? "more entries in local memory" : STAGED,
               "%" PRId64 " of each of %" PRId64 " rows pass half of %zu bytes", stage, rows,
               limits->local_bytes);
        stage /= 2;
    }
    return (int)stage;
}

// Cutting rows costs two more kernels: where they are needed anyway, shorter row chunks cost
// nothing. Without a plan scratch memory is for all possible row chunks, and must stay small.
static int64_t spread_row_chunk(const weft_spmm_problem *problem)
{
    const int64_t longest = problem->rows ? problem->rows->max : min_i64(problem->k, problem->nnz);
    const double bytes = (double)problem->nnz / SPREAD_SHORT_ROW_CHUNK * (double)problem->n *
                         (double)weft_sum_bytes(weft_dtype_or(problem->dtype, WEFT_F32));
    if (longest <= 2 * SPREAD_ROW_CHUNK || (!problem->rows && bytes > SPREAD_SUMS_BYTES))
        return SPREAD_ROW_CHUNK;
    return SPREAD_SHORT_ROW_CHUNK;
}

// Rows of a group, which wait for each other: as few as fill a group.
static int64_t spread_rows(const weft_limits *limits, int64_t items, int64_t lanes,
                           int64_t row_split)
{
    const int64_t rows = min_i64(items, SPREAD_LEAST_ITEMS) / (lanes * row_split);
    return min_i64(max_i64(rows, 1), weft_limits_items_along(limits, 1));
}

static bool spread_packs(const weft_spmm_problem *problem, const weft_spmm_facts *f)
{
    return (!problem->columns_adjacent ||
            refuse(problem->why, PACKED, "columns of B are adjacent")) &&
           weft_spmm_packing_pays(problem, f->n, (int64_t)weft_dtype_size(f->dtype), 0);
}

// Possible row splits: each is a program.
static const int64_t spread_row_splits[] = {4, 8, 32};

// Sets of lanes that are resident on the device, for each set that has a row.
static double idle_sets(const weft_limits *limits, const weft_spmm_problem *problem,
                        const weft_spmm_facts *f, int64_t lanes, int64_t columns)
{
    const double resident = (double)limits->max_blocks * limits->max_block;
    const double rows = (double)max_i64(problem->m, 1), n_tiles = (double)ceil_div(f->n, columns);
    return resident / (rows * n_tiles * (double)lanes);
}

// Rows are split where there are too few of them to occupy the device; and further where the
// longest known row would still run when all others have ended. The batch does not matter, because
// another row split changes the bits of C.
static int64_t row_split_for(const weft_limits *limits, const weft_spmm_problem *problem,
                             const weft_spmm_facts *f, int64_t items, int64_t lanes,
                             int64_t columns)
{
    const double idle = idle_sets(limits, problem, f, lanes, columns);
    const double entries = (double)problem->nnz / (double)max_i64(problem->m, 1); // of a row
    const int64_t longest =
        problem->rows ? min_i64(problem->rows->max, 2 * spread_row_chunk(problem)) : 0;
    const int64_t room = clamped_i64(limits->local_bytes) / 2;
    if (weft_spmm_is_max_min(problem->reduction))
        return 1 + refuse(problem->why, ROW_SPLITS, "not used for %s",
                          weft_spmm_reduction_name(problem->reduction));
    int64_t row_split = 1;
    for (size_t i = 0; i < sizeof(spread_row_splits) / sizeof(spread_row_splits[0]); i++) {
        const int64_t next = spread_row_splits[i];
        if (next > items / lanes)
            break;
        const double at_once =
            (double)row_split < idle ? (double)row_split : idle; // items for a row
        const int64_t wait = longest / row_split;                // entries of the longest one
        const bool fills = i == 0 && (double)next <= idle && entries >= (double)next * SPREAD_PART;
        const bool evens = wait > SPREAD_WAIT && (double)wait > SPREAD_LONG * entries / at_once;
        const int64_t bytes = spread_rows(limits, items, lanes, next) * (next - 1) * columns *
                              weft_sum_bytes(f->dtype);
        if (!fills && !evens) {
            refuse(problem->why, ROW_SPLITS,
                   "rows have %.3g entries, the longest that is known %" PRId64
                   ", and the device has room for %.3g times as many",
                   entries, longest, idle);
            break;
        }
        if (bytes > room) {
            refuse(problem->why, ROW_SPLITS,
                   "their sums are %" PRId64 " bytes: there is room for %" PRId64, bytes, room);
            break;
        }
        row_split = next;
    }
    return row_split;
}

// Whether the longest row, known or possible, would still run when all others have ended, in a row
// split. Where it is known all rows would be split by SPREAD_WAIT_SPLIT for it; else as is usual.
static bool rows_would_wait(const weft_limits *limits, const weft_spmm_problem *problem,
                            const weft_spmm_facts *f, int64_t items, int64_t lanes, int64_t columns)
{
    const double entries = (double)problem->nnz / (double)max_i64(problem->m, 1); // of a row
    const double idle = idle_sets(limits, problem, f, lanes, columns);
    const int64_t fills = min_i64(items / lanes, spread_row_splits[0]);
    const bool are_split = (double)fills <= idle && entries >= (double)fills * SPREAD_PART;
    const int64_t usual = are_split ? fills : 1;
    const int64_t split = problem->rows ? min_i64(items / lanes, SPREAD_WAIT_SPLIT) : usual;
    const int64_t longest = problem->rows ? problem->rows->max : min_i64(problem->k, problem->nnz);
    const double at_once = (double)usual < idle ? (double)usual : idle; // items for a row
    const double wait = (double)longest / (double)split;
    return (wait > SPREAD_WAIT && wait > SPREAD_LONG * entries / at_once) ||
           refuse(problem->why, TASKS,
                  "rows have %.3g entries, the longest %s %" PRId64 ", which %" PRId64
                  " sets of lanes share",
                  entries, problem->rows ? "that is known" : "there can be", longest, split);
}

// Rows and entries of a task, which stages all of its entries at once. 0: groups have rows.
static int spread_tasks(const weft_limits *limits, const weft_spmm_problem *problem,
                        const weft_spmm_facts *f, int64_t items, int64_t lanes, int64_t columns)
{
    const double resident = (double)limits->max_blocks * limits->max_block / (double)lanes;
    const double wanted = resident / SPREAD_FEW_TASKS;
    const double all =
        ((double)problem->m + (double)problem->nnz) * (double)ceil_div(f->n, columns);
    const int stage = all / SPREAD_STAGE < wanted ? SPREAD_FEW_STAGE : SPREAD_STAGE; // programs
    const int size = stage - WEFT_SPMM_MAX_LOAD + 1;
    const int64_t entry_bytes = 4 + (int64_t)weft_dtype_size(f->dtype);
    const int64_t local = spread_rows(limits, items, lanes, 1) * stage * entry_bytes;
    const int64_t n = weft_spmm_n_tasks(problem, size);
    size_t bytes = SIZE_MAX;
    if (weft_spmm_is_max_min(problem->reduction))
        return refuse(problem->why, TASKS, "not used for %s",
                      weft_spmm_reduction_name(problem->reduction));
    if (f->n <= SPREAD_NARROW_COLUMNS)
        return refuse(problem->why, TASKS, "n is %" PRId64 ": more than %d is wanted", f->n,
                      SPREAD_NARROW_COLUMNS);
    if (lanes == 1)
        return refuse(problem->why, TASKS, "one lane shares entries with no other");
    if (problem->keeps_rows)
        return refuse(problem->why, TASKS, "rows are taken as the plan object lists them");
    if (problem->is_transposed && limits->least_subgroup > 0)
        return refuse(problem->why, TASKS, "not used for A^T on Intel's GPUs");
    if (!rows_would_wait(limits, problem, f, items, lanes, columns))
        return 0;
    if (problem->rows && all / stage < wanted)
        return refuse(problem->why, TASKS, "%.3g of %d leave the device idle: %.3g are wanted",
                      all / stage, size, wanted);
    if (local > clamped_i64(limits->local_bytes) / 2)
        return refuse(problem->why, TASKS,
                      "%d entries of each are %" PRId64 " bytes: more than half of %zu", stage,
                      local, limits->local_bytes);
    if (n == 0 || !weft_spmm_parts_bytes(&bytes, problem, n) ||
        (problem->scratch_bytes > 0 && bytes > problem->scratch_bytes))
        return refuse(problem->why, TASKS,
                      "parts of rows are %zu bytes: scratch memory has room for %" PRIu64, bytes,
                      problem->scratch_bytes);
    if (limits->max_iterations > 0 && n > limits->max_iterations)
        return refuse(problem->why, TASKS,
                      "a row may be in %" PRId64 " of them: the device ends loops after %d", n,
                      limits->max_iterations);
    return size;
}

// Entries that items take side by side where B has few columns: about as many as a row has, and
// more where the longest row would still run when others have ended. 8 or 32, because each is a
// program; 1: none.
static int64_t spread_entry_lanes(const weft_limits *limits, const weft_spmm_problem *problem,
                                  const weft_spmm_facts *f, int64_t items, int64_t lanes,
                                  int64_t columns)
{
    const double entries = (double)problem->nnz / (double)max_i64(problem->m, 1); // of a row
    const int64_t longest =
        problem->rows ? min_i64(problem->rows->max, 2 * spread_row_chunk(problem)) : 0;
    const int64_t room = clamped_i64(limits->local_bytes) / 2;
    int64_t entry_lanes = 1;
    for (size_t i = 1; i < sizeof(spread_row_splits) / sizeof(spread_row_splits[0]); i++) {
        const int64_t next = spread_row_splits[i];
        const int64_t bytes =
            spread_rows(limits, items, lanes, next) * (next - 1) * columns * f->part_bytes;
        const bool pays = i == 1 || entries >= (double)next || longest / entry_lanes > SPREAD_WAIT;
        if (!pays || next * lanes > items || bytes > room) {
            refuse(problem->why, "more entries side by side",
                   "rows have %.3g entries, the longest known %" PRId64 "; %" PRId64
                   " lanes for columns, %" PRId64 " items, and %" PRId64 " bytes of sums",
                   entries, longest, lanes, next * lanes, bytes);
            break;
        }
        entry_lanes = next;
    }
    return entry_lanes;
}

// Each item reads its own entries and rows of B.
static weft_spmm_tiling spread_narrow_tiling(const weft_limits *limits,
                                             const weft_spmm_problem *problem,
                                             const weft_spmm_facts *f, int64_t vector_width,
                                             int64_t lanes, int64_t items, int64_t entry_lanes)
{
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = 1,
        .lanes = (int)lanes,
        .row_split = (int)entry_lanes,
        .entry_lanes = (int)entry_lanes,
        .rows_per_group = (int)spread_rows(limits, items, lanes, entry_lanes),
        .rows_per_item = 1,
        .load = 1,
        .unroll = SPREAD_NARROW_UNROLL / (weft_sum_bytes(f->dtype) > 4 ? 2 : 1),
        .row_chunk = spread_row_chunk(problem),
        .packed = spread_packs(problem, f),
        .aligned = vector_width > 1,
    };
}

// Lanes are items: they share an n-tile, and the entries of its row in local memory.
weft_spmm_tiling weft_spmm_spread_tiling(const weft_limits *limits,
                                         const weft_spmm_problem *problem, const weft_spmm_facts *f)
{
    const int64_t bytes = (int64_t)weft_dtype_size(f->dtype);
    const int64_t widest =
        pow2_down(max_i64(min_i64(limits->load_bytes / bytes, SPREAD_VECTOR_WIDTH), 1));
    const int64_t fits = min_i64(f->alignment, pow2_divisor(f->n));
    const int64_t vector_width = fits >= widest ? widest : 1; // each is a program
    const int64_t units = ceil_div(f->n, vector_width);
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t warp = min_i64(limits->warp, items);
    const int64_t lanes = units <= warp / 4 ? warp / 4 : warp;
    const int64_t few = pow2_up(min_i64(units, warp));
    const int64_t entry_lanes =
        f->n <= SPREAD_NARROW_COLUMNS && few < lanes
            ? spread_entry_lanes(limits, problem, f, items, few, few * vector_width)
            : 1;
    if (entry_lanes > 1)
        return spread_narrow_tiling(limits, problem, f, vector_width, few, items, entry_lanes);
    const int usual = units > lanes ? 2 : 1;
    const int few_vectors = limits->least_subgroup > 0 ? 1 : usual; // registers of Intel's GPUs
    const int tasks =
        spread_tasks(limits, problem, f, items, lanes, lanes * few_vectors * vector_width);
    const int vectors = tasks > 0 ? few_vectors : usual;
    const int64_t row_split =
        tasks > 0 ? 1
                  : row_split_for(limits, problem, f, items, lanes, lanes * vectors * vector_width);
    const int64_t rows = spread_rows(limits, items, lanes, row_split);
    const bool stages = !weft_spmm_is_max_min(problem->reduction) ||
                        refuse(problem->why, STAGED, "not used for %s",
                               weft_spmm_reduction_name(problem->reduction));
    const int stage = tasks > 0 ? tasks + WEFT_SPMM_MAX_LOAD - 1
                      : stages  ? stage_for(limits, problem, lanes, row_split, rows)
                                : 0;
    if (vector_width < widest)
        refuse(problem->why, ALIGNED,
               "of %" PRId64 ": n is %" PRId64 ", and rows begin at multiples of %" PRId64, widest,
               f->n, f->alignment);
    const int64_t load = min_i64(
        min_i64(limits->load_bytes / max_i64(bytes, 4), WEFT_SPMM_MAX_LOAD), f->entry_alignment);
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors,
        .lanes = (int)lanes,
        .row_split = (int)row_split,
        .rows_per_group = (int)rows,
        .rows_per_item = 1,
        .stage = stage,
        .load = (int)pow2_down(max_i64(min_i64(load, stage), 1)),
        .unroll = SPREAD_UNROLL / vectors / (weft_sum_bytes(f->dtype) > 4 ? 2 : 1),
        .row_chunk = spread_row_chunk(problem),
        .tasks = tasks,
        .packed = spread_packs(problem, f),
        .aligned = vector_width > 1,
    };
}
