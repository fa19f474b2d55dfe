// SPDX-License-Identifier: Apache-2.0
// How conversions between sparse and dense are cut into groups: limits and a problem to a tiling.
#include <inttypes.h>
#include <stdio.h>

#include "arithmetic.h"
#include "csr_dense_call.h"
#include "fail.h"
#include "items.h"

enum { MAX_ROWS = 1 << 15, MAX_COLUMNS = 1 << 15 };

enum {
    FOLDED_COLUMNS = 4096, // what a CPU keeps near
    SPREAD_COLUMNS = 1024, // what leaves room for other groups on a GPU
    SPREAD_NARROW = 32,    // items for rows that are no longer
    GROUP_ELEMENTS = 4096, // that pay for a group
    ERRANDS = 4,           // groups for each that can be resident
};

int64_t weft_csr_dense_column_bytes(const weft_csr_dense_problem *problem)
{
    const int64_t sum_bytes = weft_sum_bytes(problem->dtype);
    return (int64_t)sizeof(int32_t) + sum_bytes;
}

weft_csr_dense_tiling weft_csr_dense_tiling_for(const weft_limits *limits,
                                                const weft_csr_dense_problem *problem)
{
    const bool is_folded = limits->fold > 1;
    const int64_t n_cols = max_i64(problem->n_cols, 1);
    const int64_t items = n_cols <= SPREAD_NARROW ? SPREAD_NARROW : INT32_MAX;
    const int64_t room = (int64_t)(limits->local_bytes / 2) / weft_csr_dense_column_bytes(problem);
    const int64_t columns = min_i64(is_folded ? FOLDED_COLUMNS : SPREAD_COLUMNS, pow2_down(room));
    const int64_t share = ceil_div(problem->n_rows, (int64_t)limits->max_blocks * ERRANDS);
    const int64_t rows = min_i64(ceil_div(GROUP_ELEMENTS, n_cols), share);
    return (weft_csr_dense_tiling){
        .items = (int)min_i64(weft_items_for(limits), items),
        .rows = (int)max_i64(rows, 1),
        .columns = (int)max_i64(columns, 1),
    };
}

weft_status weft_csr_dense_tiling_check(const weft_csr_dense_tiling *tiling,
                                        const weft_limits *limits,
                                        const weft_csr_dense_problem *problem)
{
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "csr_dense"));
    if (tiling->rows < 1 || tiling->rows > MAX_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "csr_dense: tiling.rows is %d: 1 to %d is wanted",
                    tiling->rows, MAX_ROWS);
    if (tiling->columns < 1 || tiling->columns > MAX_COLUMNS)
        return fail(WEFT_BAD_ARGUMENT, "csr_dense: tiling.columns is %d: 1 to %d is wanted",
                    tiling->columns, MAX_COLUMNS);
    const int64_t bytes = tiling->columns * weft_csr_dense_column_bytes(problem);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "csr_dense: tiling.columns %d want %" PRId64 " bytes; local memory has %zu",
                    tiling->columns, bytes, limits->local_bytes);
    return WEFT_OK;
}

int weft_csr_dense_tiling_print(const weft_csr_dense_tiling *tiling, char *text, size_t size)
{
    return snprintf(text, size, "groups of %d items, %d rows, %d columns of each", tiling->items,
                    tiling->rows, tiling->columns);
}
