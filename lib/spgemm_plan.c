// SPDX-License-Identifier: Apache-2.0
// How a sparse x sparse product is cut into groups: limits and a problem to a tiling.
#include <inttypes.h>
#include <stdio.h>

#include "arithmetic.h"
#include "fail.h"
#include "items.h"
#include "spgemm_call.h"
#include "view.h"

enum { MAX_ROWS = 1 << 15, MAX_COLUMNS = 1 << 15 };

enum {
    LEAST_COLUMNS = 256,   // of a group at a time
    FOLDED_COLUMNS = 4096, // what a CPU keeps near
    SPREAD_COLUMNS = 1024, // what leaves room for other groups on a GPU
    ROOM = 4,              // columns for each product that a row has on average
    SPREAD_ITEMS = 32,     // of a group: all of them go through all products
    GROUP_PRODUCTS = 4096, // that pay for a group
    ERRANDS = 8,           // groups for each that can be resident
};

int64_t weft_spgemm_column_bytes(const weft_spgemm_problem *problem)
{
    const int64_t sum_bytes = weft_sum_bytes(problem->dtype);
    return (int64_t)sizeof(int32_t) + sum_bytes;
}

// What the items of a group tell each other besides: two numbers each.
static int64_t nodes_bytes(int64_t items)
{
    return 2 * items * (int64_t)sizeof(int64_t);
}

// Of a row, on average, and at least 1; no more than a tiling makes a difference for.
static int64_t products_of_row(const weft_spgemm_problem *problem)
{
    const double a_row = (double)problem->a_nnz / (double)max_i64(problem->m, 1);
    const double b_row = (double)problem->b_nnz / (double)max_i64(problem->k, 1);
    const double products = a_row * b_row;
    return products > MAX_COLUMNS ? MAX_COLUMNS : max_i64((int64_t)products, 1);
}

weft_spgemm_tiling weft_spgemm_tiling_for(const weft_limits *limits,
                                          const weft_spgemm_problem *problem)
{
    const bool is_folded = limits->fold > 1;
    const int64_t products = products_of_row(problem);
    const int64_t items = min_i64(weft_items_for(limits), SPREAD_ITEMS);
    const int64_t left = (int64_t)(limits->local_bytes / 2) - nodes_bytes(items);
    const int64_t room = max_i64(left, 1) / weft_spgemm_column_bytes(problem);
    const int64_t most =
        min_i64(is_folded ? FOLDED_COLUMNS : SPREAD_COLUMNS, pow2_down(max_i64(room, 1)));
    const int64_t wanted = pow2_up(max_i64(ROOM * products, LEAST_COLUMNS));
    const int64_t share = ceil_div(problem->m, (int64_t)limits->max_blocks * ERRANDS);
    const int64_t rows = min_i64(ceil_div(GROUP_PRODUCTS, products), share);
    return (weft_spgemm_tiling){
        .items = (int)items,
        .rows = (int)max_i64(rows, 1),
        .columns = (int)min_i64(wanted, most),
    };
}

weft_status weft_spgemm_tiling_check(const weft_spgemm_tiling *tiling, const weft_limits *limits,
                                     const weft_spgemm_problem *problem)
{
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "spgemm"));
    if (tiling->rows < 1 || tiling->rows > MAX_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.rows is %d: 1 to %d is wanted", tiling->rows,
                    MAX_ROWS);
    if (tiling->columns < 1 || tiling->columns > MAX_COLUMNS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.columns is %d: 1 to %d is wanted",
                    tiling->columns, MAX_COLUMNS);
    const int64_t bytes =
        tiling->columns * weft_spgemm_column_bytes(problem) + nodes_bytes(tiling->items);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.columns %d and items %d want %" PRId64
                    " bytes; local memory has %zu",
                    tiling->columns, tiling->items, bytes, limits->local_bytes);
    return WEFT_OK;
}

int weft_spgemm_tiling_print(const weft_spgemm_tiling *tiling, char *text, size_t size)
{
    return snprintf(text, size, "groups of %d items, %d rows, %d columns at a time", tiling->items,
                    tiling->rows, tiling->columns);
}
