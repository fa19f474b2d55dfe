// SPDX-License-Identifier: Apache-2.0
// How a sampled product of sparse factors is cut into groups: limits and a problem to a tiling.
#include "sparse/sddmm_sparse_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/tiling_given.h"
#include "op/items.h"

enum { MAX_COLUMNS = 1 << 18, LEAST_PLACES = 2 };
static const int64_t MAX_ENTRIES = INT64_C(1) << 60;

// Where an item is a group: CPUs.
enum {
    VECTORIZED_COLUMNS = 1 << 18, // these fit the cache, if there is that much local memory
    VECTORIZED_TASKS = 32,        // groups for each core, so that the last ones end together
    VECTORIZED_MOST = 1 << 14,    // entries of a group
    VECTORIZED_LEAST = 256,       // the least, because each group clears local memory
    VECTORIZED_HASHED = 4096,     // columns that are quickly cleared, however few the terms are
    COLUMNS_FOR_TERM = 4,         // that are cleared in the time that hashing a term takes
};

// Where groups have many: GPUs.
enum {
    SPREAD_COLUMNS = 4096, // these leave room for other groups
    SPREAD_TASKS = 4,      // groups for each that can be resident
    SPREAD_MOST = 2048,    // entries of a group
    SPREAD_LEAST = 64,     // the least, because each group scatters rows of A to local memory
    SPREAD_EACH = 4,       // terms of a usual sum for each lane
    SPREAD_LANES = 4,      // the least, which read neighbours, where there are so many items
};

// Where a device's loops end early.
enum {
    ITERATIONS_PART = 4,   // of those that a device allows, because rows differ
    ITERATIONS_LEAST = 8,  // for each entry, besides its terms
    ITERATIONS_TO_PUT = 3, // to write an element of A, and to clear it again
};

static bool are_sparse(const weft_sddmm_sparse_problem *problem)
{
    return problem->a_sparse && problem->b_sparse;
}

bool weft_sddmm_sparse_has_parts(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem)
{
    return problem->b_sparse && problem->k > tiling->columns;
}

bool weft_sddmm_sparse_is_hashed(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem)
{
    return problem->a_sparse && weft_sddmm_sparse_has_parts(tiling, problem);
}

// An element for each column, and a flag whether it is stored.
static int64_t column_bytes(const weft_sddmm_sparse_problem *problem)
{
    return weft_sum_bytes(problem->dtype) + (are_sparse(problem) ? 1 : 0);
}

// Places in as much memory, of an element and its column each.
int64_t weft_sddmm_sparse_places(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem)
{
    const int64_t bytes = tiling->columns * column_bytes(problem);
    const int64_t places = bytes / (weft_sum_bytes(problem->dtype) + (int64_t)sizeof(int32_t));
    return max_i64(pow2_down(max_i64(places, 1)), LEAST_PLACES);
}

// Half of the places stay free.
int weft_sddmm_sparse_most(const weft_sddmm_sparse_tiling *tiling,
                           const weft_sddmm_sparse_problem *problem)
{
    return weft_sddmm_sparse_is_hashed(tiling, problem)
               ? (int)(weft_sddmm_sparse_places(tiling, problem) / 2)
               : tiling->columns;
}

// What the items of a group exchange, sums that wait, and the places that are always there.
static int64_t exchange_bytes(const weft_sddmm_sparse_problem *problem, int64_t items)
{
    const int64_t sum_bytes = weft_sum_bytes(problem->dtype);
    return items * (2 * sum_bytes + (int64_t)sizeof(int32_t)) +
           WEFT_SDDMM_SPARSE_WAITING * sum_bytes +
           LEAST_PLACES * (sum_bytes + (int64_t)sizeof(int32_t));
}

// The average, limited so that nothing overflows for any problem.
static int64_t per_row(int64_t nnz, int64_t rows)
{
    return min_i64(max_i64(nnz, 0) / max_i64(rows, 1), INT32_MAX);
}

// Average terms of the rows that are read for each entry.
static int64_t usual_row(const weft_sddmm_sparse_problem *problem)
{
    return problem->b_sparse ? per_row(problem->b_nnz, problem->n)
                             : per_row(problem->a_nnz, problem->m);
}

// Entries of a group, whatever rows they have.
static int64_t share_of(const weft_limits *limits, const weft_sddmm_sparse_problem *problem)
{
    const bool is_vectorized = limits->vector_width > 1;
    const int64_t groups = is_vectorized ? (int64_t)limits->compute_units * VECTORIZED_TASKS
                                         : (int64_t)limits->max_blocks * SPREAD_TASKS;
    const int64_t share = ceil_div(problem->nnz, groups);
    return is_vectorized ? min_i64(max_i64(share, VECTORIZED_LEAST), VECTORIZED_MOST)
                         : min_i64(max_i64(share, SPREAD_LEAST), SPREAD_MOST);
}

// Columns that pay: each is cleared once for a group, and hashing costs each term.
static int64_t wanted_columns(const weft_limits *limits, const weft_sddmm_sparse_problem *problem)
{
    if (limits->vector_width <= 1)
        return SPREAD_COLUMNS;
    const int64_t terms = share_of(limits, problem) * usual_row(problem);
    return are_sparse(problem)
               ? min_i64(max_i64(terms * COLUMNS_FOR_TERM, VECTORIZED_HASHED), VECTORIZED_COLUMNS)
               : VECTORIZED_COLUMNS;
}

// A whole row, or as much as there is room for beside other groups.
static int64_t columns_for(const weft_limits *limits, const weft_sddmm_sparse_problem *problem,
                           int items)
{
    const int64_t wanted = min_i64(max_i64(problem->k, 1), wanted_columns(limits, problem));
    const int64_t left = clamped_i64(limits->local_bytes) / 2 - exchange_bytes(problem, items);
    const int64_t room = max_i64(left / column_bytes(problem), 1);
    return problem->b_sparse ? min_i64(wanted, room) : 0;
}

static int64_t lanes_for(const weft_limits *limits, const weft_sddmm_sparse_problem *problem,
                         int items)
{
    const int64_t wanted = pow2_up(max_i64(ceil_div(usual_row(problem), SPREAD_EACH), 1));
    const int64_t most = min_i64(items, pow2_down(limits->warp));
    return min_i64(max_i64(wanted, SPREAD_LANES), most);
}

// Parts of a row of A: all terms are read for each.
static int64_t parts_of(const weft_sddmm_sparse_problem *problem, int64_t columns, int64_t row_of_a)
{
    const weft_sddmm_sparse_tiling tiling = {.columns = (int)columns};
    return weft_sddmm_sparse_has_parts(&tiling, problem)
               ? max_i64(ceil_div(row_of_a, weft_sddmm_sparse_most(&tiling, problem)), 1)
               : 1;
}

// Entries of a group that needs a part of the iterations after which loops end.
static int64_t entries_in_iterations(const weft_limits *limits,
                                     const weft_sddmm_sparse_problem *problem, int64_t columns)
{
    const int64_t rows = min_i64(problem->m, problem->nnz);
    const int64_t row_of_a =
        problem->a_sparse ? per_row(problem->a_nnz, rows) : per_row(problem->k, 1);
    const int64_t row_of_c = max_i64(per_row(problem->nnz, rows), 1);
    const int64_t to_put = problem->b_sparse ? ITERATIONS_TO_PUT * row_of_a / row_of_c : 0;
    const int64_t parts = min_i64(parts_of(problem, columns, row_of_a), limits->max_iterations);
    const int64_t each = (usual_row(problem) + ITERATIONS_LEAST) * parts;
    return max_i64(limits->max_iterations / ITERATIONS_PART / (each + to_put), 1);
}

static int64_t entries_for(const weft_limits *limits, const weft_sddmm_sparse_problem *problem,
                           int64_t columns)
{
    const int64_t share = share_of(limits, problem);
    return limits->max_iterations > 0
               ? min_i64(share, entries_in_iterations(limits, problem, columns))
               : share;
}

weft_sddmm_sparse_tiling weft_sddmm_sparse_tiling_for(const weft_limits *limits,
                                                      const weft_sddmm_sparse_problem *problem)
{
    int items = weft_items_for(limits);
    while (items > 1 && exchange_bytes(problem, items) + column_bytes(problem) >
                            clamped_i64(limits->local_bytes))
        items /= 2;
    const int64_t columns = columns_for(limits, problem, items);
    return (weft_sddmm_sparse_tiling){
        .items = items,
        .lanes = (int)lanes_for(limits, problem, items),
        .columns = (int)columns,
        .entries = entries_for(limits, problem, columns),
    };
}

static weft_status columns_check(const weft_sddmm_sparse_tiling *tiling, const weft_limits *limits,
                                 const weft_sddmm_sparse_problem *problem)
{
    const int columns = tiling->columns;
    if (!problem->b_sparse && columns != 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm_sparse: tiling.columns is %d: with a dense B 0 is wanted", columns);
    if (problem->b_sparse && (columns < 1 || columns > MAX_COLUMNS))
        return fail(WEFT_BAD_ARGUMENT, "sddmm_sparse: tiling.columns is %d: 1 to %d is wanted",
                    columns, MAX_COLUMNS);
    const int64_t bytes = columns * column_bytes(problem) + exchange_bytes(problem, tiling->items);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm_sparse: tiling.columns %d and items %d require %" PRId64
                    " bytes; local memory has %zu",
                    columns, tiling->items, bytes, limits->local_bytes);
    return WEFT_OK;
}

weft_status weft_sddmm_sparse_tiling_check(const weft_sddmm_sparse_tiling *tiling,
                                           const weft_limits *limits,
                                           const weft_sddmm_sparse_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "sddmm_sparse"));
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "sddmm_sparse"));
    if (!is_pow2_upto(tiling->lanes, tiling->items))
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm_sparse: tiling.lanes is %d: a power of two up to items %d is wanted",
                    tiling->lanes, tiling->items);
    if (tiling->entries < 1 || tiling->entries > MAX_ENTRIES)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm_sparse: tiling.entries is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    tiling->entries, MAX_ENTRIES);
    return columns_check(tiling, limits, problem);
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_sddmm_sparse_tiling, items),
    TILING_FIELD(weft_sddmm_sparse_tiling, lanes),
    TILING_FIELD(weft_sddmm_sparse_tiling, columns),
    TILING_FIELD(weft_sddmm_sparse_tiling, entries),
};

const weft_tiling_table weft_sddmm_sparse_tiling_table = TILING_TABLE(fields);

int weft_sddmm_sparse_tiling_print(const weft_sddmm_sparse_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_sddmm_sparse_tiling_table, tiling, text, size);
}
