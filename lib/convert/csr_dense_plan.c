// SPDX-License-Identifier: Apache-2.0
// How conversions between sparse and dense are cut into groups: limits and a problem to a tiling.
#include "convert/csr_dense_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/tiling_given.h"
#include "op/items.h"

enum { MAX_ROWS = 1 << 15, MAX_COLUMNS = 1 << 20 };

enum {
    SPREAD_COLUMNS = 1024, // of a GPU's group, unless there are enough groups
    SPREAD_SUMS = 1024,    // of a GPU's group
    VECTORIZED_SUMS = 1 << 16,
    LEAST_SUMS = 32,       // a word's columns
    SPREAD_NARROW = 32,    // items, for rows of up to so many columns
    GROUP_ELEMENTS = 4096, // that pay for a group
    TASKS = 4,             // groups for each that can be resident
};

size_t weft_csr_dense_words_bytes(int columns)
{
    return (size_t)ceil_div(columns, 32) * sizeof(uint32_t);
}

// No more than make a difference.
static int64_t local_bytes_of(const weft_limits *limits)
{
    return limits->local_bytes < INT32_MAX ? (int64_t)limits->local_bytes : INT32_MAX;
}

static bool holds_sums(const weft_csr_dense_problem *problem)
{
    return problem->dtype != WEFT_F16 && problem->dtype != WEFT_BF16;
}

int weft_csr_dense_sums(const weft_limits *limits, int columns,
                        const weft_csr_dense_problem *problem)
{
    if (holds_sums(problem))
        return 1;
    const int64_t left = local_bytes_of(limits) - 2 * (int64_t)weft_csr_dense_words_bytes(columns);
    const int64_t room = left / weft_sum_bytes(problem->dtype);
    const int64_t most = limits->vector_width > 1 ? VECTORIZED_SUMS : SPREAD_SUMS;
    return (int)pow2_down(min_i64(max_i64(room, LEAST_SUMS), most));
}

static int64_t local_bytes_for(int columns, const weft_csr_dense_problem *problem)
{
    const int64_t least_sums = holds_sums(problem) ? 1 : LEAST_SUMS;
    return 2 * (int64_t)weft_csr_dense_words_bytes(columns) +
           least_sums * weft_sum_bytes(problem->dtype);
}

// As wide as a row, or as half of the local memory has bits for; on a GPU narrower until there are
// enough groups.
static int64_t columns_for(const weft_limits *limits, const weft_csr_dense_problem *problem)
{
    const int64_t left = local_bytes_of(limits) / 2 - local_bytes_for(0, problem);
    const int64_t most = min_i64(max_i64(problem->n_cols, 1), MAX_COLUMNS);
    const int64_t room = min_i64(pow2_down(max_i64(4 * left, 1)), pow2_up(most));
    if (limits->vector_width > 1)
        return room;
    const double elements = (double)problem->n_rows * (double)problem->n_cols;
    const double share = elements / ((double)limits->max_blocks * TASKS);
    return min_i64(room,
                   max_i64(share < MAX_COLUMNS ? pow2_up(max_i64((int64_t)share, 1)) : MAX_COLUMNS,
                           SPREAD_COLUMNS));
}

weft_csr_dense_tiling weft_csr_dense_tiling_for(const weft_limits *limits,
                                                const weft_csr_dense_problem *problem)
{
    const int64_t n_cols = max_i64(problem->n_cols, 1);
    const int64_t items = n_cols <= SPREAD_NARROW ? SPREAD_NARROW : INT32_MAX;
    const int64_t share = ceil_div(problem->n_rows, (int64_t)limits->max_blocks * TASKS);
    const int64_t rows = min_i64(ceil_div(GROUP_ELEMENTS, n_cols), share);
    return (weft_csr_dense_tiling){
        .items = (int)min_i64(weft_items_for(limits), items),
        .rows = (int)max_i64(rows, 1),
        .columns = (int)columns_for(limits, problem),
    };
}

weft_status weft_csr_dense_tiling_check(const weft_csr_dense_tiling *tiling,
                                        const weft_limits *limits,
                                        const weft_csr_dense_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "csr_dense"));
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "csr_dense"));
    if (tiling->rows < 1 || tiling->rows > MAX_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "csr_dense: tiling.rows is %d: 1 to %d is wanted",
                    tiling->rows, MAX_ROWS);
    if (tiling->columns < 1 || tiling->columns > MAX_COLUMNS)
        return fail(WEFT_BAD_ARGUMENT, "csr_dense: tiling.columns is %d: 1 to %d is wanted",
                    tiling->columns, MAX_COLUMNS);
    const int64_t bytes = local_bytes_for(tiling->columns, problem);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "csr_dense: tiling.columns %d require %" PRId64 " bytes; local memory has %zu",
                    tiling->columns, bytes, limits->local_bytes);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_csr_dense_tiling, items),
    TILING_FIELD(weft_csr_dense_tiling, rows),
    TILING_FIELD(weft_csr_dense_tiling, columns),
};

const weft_tiling_table weft_csr_dense_tiling_table = TILING_TABLE(fields);

int weft_csr_dense_tiling_print(const weft_csr_dense_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_csr_dense_tiling_table, tiling, text, size);
}
