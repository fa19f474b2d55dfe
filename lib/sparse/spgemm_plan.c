// SPDX-License-Identifier: Apache-2.0
// How a sparse x sparse product is cut into groups: limits and a problem to a tiling.
#include "sparse/spgemm_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/tiling_given.h"
#include "op/items.h"
#include "operand/view.h"

enum {
    MAX_ROWS = 1 << 15,
    MAX_COLUMNS = 1 << 15,
    MIN_SORTED = 16, // whole vectors of keys
    MAX_SORTED = 1 << 12,
    MAX_LONG_COLUMNS = 1 << 16,
    MAX_LONG_GROUPS = 256,
};

enum {
    VECTORIZED_COLUMNS = 1 << 15,      // these fit the cache of a CPU
    SPREAD_COLUMNS = 1024,             // these leave room for other groups on a GPU
    LONG_VECTORIZED_COLUMNS = 1 << 16, // the same for rows that groups share
    LONG_SPREAD_COLUMNS = 2048,
    SPREAD_MARKS = 8,      // for each sum: with their ranks they are half as large as f32 sums
    VECTORIZED_MARKS = 32, // one item reads only words that have any
    SPREAD_ITEMS = 32,     // of a group
    LEAST_SORTED = 256,    // 8 products for each of these: what an item exchanges at a time
    ITEM_SORTED = 16,      // products of an item, of larger groups
    // Warp instructions to count entries, about: by marks for each stretch of a row and for each
    // product there; sorted for each batch of rows and for each product.
    MARKED_STRETCH = 400,
    MARKED_PRODUCT = 2,
    SORTED_BATCH = 3000,
    SORTED_PRODUCT = 12,
    GROUP_PRODUCTS = 4096, // that pay for a group
    LONG_PRODUCTS = 4096,  // that pay for several
    TASKS = 8,             // groups for each that can be resident
};

int weft_spgemm_word(int items)
{
    return items > 1 ? 32 : 64;
}

int64_t weft_spgemm_words(int64_t sums, int items)
{
    const int64_t marks = sums * (items > 1 ? SPREAD_MARKS : VECTORIZED_MARKS);
    return ceil_div(marks, weft_spgemm_word(items));
}

// For one item two more levels follow them, with a bit for each word of the level below.
int64_t weft_spgemm_marks_bytes(int64_t words, int items)
{
    const int64_t word = weft_spgemm_word(items);
    const int64_t tops = items > 1 ? 0 : ceil_div(words, word);
    return (words + tops + ceil_div(tops, word)) * word / 8;
}

// To count, `columns` words of marks; to fill, so many sums, and marks and ranks that go with them.
static int64_t column_bytes(const weft_spgemm_problem *problem, int64_t columns, int items)
{
    const int64_t words = weft_spgemm_words(columns, items);
    const int64_t to_count = weft_spgemm_marks_bytes(columns, items);
    const int64_t to_fill = weft_spgemm_marks_bytes(words, items) +
                            words * (int64_t)sizeof(int32_t) +
                            columns * weft_sum_bytes(problem->dtype);
    return max_i64(to_count, to_fill);
}

// What the items of a group exchange besides: two numbers each for sums, an entry of A and a
// product.
static int64_t exchange_bytes(const weft_spgemm_problem *problem, int items)
{
    const int64_t sum_bytes = weft_sum_bytes(problem->dtype);
    const int64_t item_bytes = 4 * (int64_t)sizeof(int64_t) + (int64_t)sizeof(int32_t);
    return items * (item_bytes + 3 * sum_bytes) + (int64_t)sizeof(int64_t);
}

// Products of a row, on average, and at least 1; limited to what makes a difference to a tiling.
static int64_t products_of_row(const weft_spgemm_problem *problem)
{
    const double a_row = (double)problem->a_nnz / (double)max_i64(problem->m, 1);
    const double b_row = (double)problem->b_nnz / (double)max_i64(problem->k, 1);
    const double products = a_row * b_row;
    return products > MAX_COLUMNS ? MAX_COLUMNS : max_i64((int64_t)products, 1);
}

// No more than make a difference.
static int64_t local_bytes_of(const weft_limits *limits)
{
    return limits->local_bytes < INT32_MAX ? (int64_t)limits->local_bytes : INT32_MAX;
}

// Columns that a group has local memory for, a power of two.
static int64_t columns_in(const weft_spgemm_problem *problem, int64_t bytes, int items)
{
    const int64_t left = bytes - exchange_bytes(problem, items);
    int64_t columns = 1;
    while (columns < MAX_LONG_COLUMNS && column_bytes(problem, 2 * columns, items) <= left)
        columns *= 2;
    return columns;
}

// Sorted products and their keys lie where sums and ranks do otherwise. A key of 32 bits has a
// product's column and its number.
static bool can_sort(int64_t products, int64_t columns, int64_t n)
{
    return 2 * products <= columns && n <= (INT64_C(1) << 32) / products;
}

static int sorted_for(const weft_spgemm_tiling *tiling, const weft_spgemm_problem *problem)
{
    int products = tiling->items == 1 ? MAX_SORTED : 0;
    while (products > 0 && !can_sort(products, tiling->columns, problem->n))
        products = products > MIN_SORTED ? products / 2 : 0;
    return products;
}

int weft_spgemm_column_bits(int64_t n)
{
    int bits = 0;
    while (INT64_C(1) << bits < n)
        bits++;
    return bits;
}

// A key of 32 bits has a product's row, of those sorted at once, its column and its number.
static bool keys_fit(int64_t sorted, int64_t rows, int64_t n)
{
    return sorted * rows <= INT64_C(1) << (32 - weft_spgemm_column_bits(n));
}

// Of a group that sorts: products with their keys and both factors, and where an entry's begin; for
// each item an entry of A and a row; and two numbers for sums.
static int64_t sort_bytes(const weft_spgemm_problem *problem, int64_t sorted, int64_t items)
{
    const int64_t sum_bytes = weft_sum_bytes(problem->dtype);
    const int64_t product_bytes = (int64_t)(sizeof(int32_t) + sizeof(int16_t)) + 2 * sum_bytes;
    const int64_t item_bytes = 3 * (int64_t)sizeof(int64_t) + 6 * (int64_t)sizeof(int32_t);
    return sorted * product_bytes + items * (item_bytes + sum_bytes) + 3 * (int64_t)sizeof(int64_t);
}

// A power of two: the more products a group sorts, the more items it has.
static int sort_items_for(const weft_limits *limits, int64_t sorted)
{
    const int64_t wanted = max_i64(sorted / ITEM_SORTED, max_i64(SPREAD_ITEMS, limits->warp));
    return (int)min_i64(wanted, weft_items_for(limits));
}

// Whether it takes less to count the entries of an average row where products are sorted: marks are
// swept for each stretch of columns that has any.
static bool pays_to_count(const weft_spgemm_tiling *tiling, const weft_spgemm_problem *problem)
{
    const int64_t products = products_of_row(problem);
    const int64_t word = weft_spgemm_word(tiling->items);
    const int64_t width =
        word * min_i64(max_i64(WEFT_SPGEMM_ROOM * products, WEFT_SPGEMM_LEAST), tiling->columns);
    const int64_t stretches = min_i64(products, ceil_div(max_i64(problem->n, 1), width));
    return stretches * (MARKED_STRETCH + MARKED_PRODUCT * products) >
           SORTED_BATCH / tiling->sort_rows + SORTED_PRODUCT * products;
}

// Rows of twice the average are sorted, if local memory has room for more than one such group. Rows
// are sorted together where they are short.
static void sort_short_rows(weft_spgemm_tiling *tiling, const weft_limits *limits,
                            const weft_spgemm_problem *problem)
{
    const int64_t average = products_of_row(problem);
    const int64_t room = local_bytes_of(limits) / 4 * 3;
    int64_t sorted = min_i64(max_i64(pow2_up(2 * average), LEAST_SORTED), MAX_SORTED);
    while (sorted >= MIN_SORTED &&
           (!keys_fit(sorted, 1, problem->n) ||
            sort_bytes(problem, sorted, sort_items_for(limits, sorted)) > room))
        sorted /= 2;
    if (sorted < max_i64(average, MIN_SORTED))
        return;
    tiling->sorted = (int)sorted;
    tiling->sort_items = sort_items_for(limits, sorted);
    int64_t rows = min_i64(min_i64(tiling->sort_items, pow2_up(tiling->rows)),
                           pow2_up(max_i64(sorted / average, 1)));
    while (!keys_fit(sorted, rows, problem->n))
        rows /= 2;
    tiling->sort_rows = (int)rows;
    tiling->sort_counts = pays_to_count(tiling, problem);
}

// Groups share no rows where one has room for a sum for each column of C, or where no row can be
// long.
static void share_long_rows(weft_spgemm_tiling *tiling, const weft_limits *limits,
                            const weft_spgemm_problem *problem)
{
    const bool is_vectorized = limits->vector_width > 1;
    const int64_t room = columns_in(problem, local_bytes_of(limits), tiling->items);
    const int64_t columns =
        min_i64(is_vectorized ? LONG_VECTORIZED_COLUMNS : LONG_SPREAD_COLUMNS, room);
    const int64_t from = max_i64(tiling->columns, LONG_PRODUCTS);
    const int64_t groups = min_i64(ceil_div(problem->n, columns), limits->max_blocks);
    const bool can_be_long = (double)problem->a_nnz * (double)problem->b_nnz >= (double)from;
    if (groups <= 1 || columns < WEFT_SPGEMM_LEAST_LONG || !can_be_long)
        return;
    tiling->long_from = (int)from;
    tiling->long_columns = (int)columns;
    tiling->long_groups = (int)min_i64(groups, MAX_LONG_GROUPS);
}

weft_spgemm_tiling weft_spgemm_tiling_for(const weft_limits *limits,
                                          const weft_spgemm_problem *problem)
{
    const int64_t products = products_of_row(problem);
    const int items = (int)min_i64(weft_items_for(limits), SPREAD_ITEMS);
    const int64_t room = columns_in(problem, local_bytes_of(limits) / 2, items);
    // A long row has two sums for each column.
    const int64_t wanted =
        limits->vector_width > 1
            ? min_i64(pow2_up(max_i64(problem->n, 2)), VECTORIZED_COLUMNS)
            : min_i64(pow2_up(max_i64(WEFT_SPGEMM_ROOM * products, WEFT_SPGEMM_LEAST)),
                      SPREAD_COLUMNS);
    const int64_t share = ceil_div(problem->m, (int64_t)limits->max_blocks * TASKS);
    const int64_t rows = min_i64(ceil_div(GROUP_PRODUCTS, products), share);
    weft_spgemm_tiling tiling = {
        .items = items,
        .rows = (int)max_i64(rows, 1),
        .columns = (int)min_i64(wanted, room),
    };
    if (items > 1)
        sort_short_rows(&tiling, limits, problem);
    else
        tiling.sorted = sorted_for(&tiling, problem);
    share_long_rows(&tiling, limits, problem);
    return tiling;
}

// One item has local memory for it; for a group there is more.
static weft_status sort_check(const weft_spgemm_tiling *tiling, const weft_limits *limits,
                              const weft_spgemm_problem *problem)
{
    const int items = tiling->sort_items, rows = tiling->sort_rows, sorted = tiling->sorted;
    TRY(weft_items_check(items, "tiling.sort_items", limits, "spgemm"));
    if (items < 2)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.sort_items is 1: 2 or more are wanted");
    if (!is_pow2_upto(rows, items))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sort_rows is %d: a power of two up to sort_items, %d, is "
                    "wanted",
                    rows, items);
    if (!keys_fit(sorted, rows, problem->n))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sorted is %d: with sort_rows %d and %" PRId64
                    " columns of C a key has more than 32 bits",
                    sorted, rows, problem->n);
    const int64_t bytes = sort_bytes(problem, sorted, items);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sorted %d and sort_items %d require %" PRId64
                    " bytes; local memory has %zu",
                    sorted, items, bytes, limits->local_bytes);
    return WEFT_OK;
}

static weft_status sorted_check(const weft_spgemm_tiling *tiling, const weft_limits *limits,
                                const weft_spgemm_problem *problem)
{
    const int sorted = tiling->sorted;
    if (sorted != 0 && (sorted < MIN_SORTED || !is_pow2_upto(sorted, MAX_SORTED)))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sorted is %d: 0, or a power of two from %d to %d is wanted",
                    sorted, MIN_SORTED, MAX_SORTED);
    if (sorted > 0 && tiling->items > 1)
        return sort_check(tiling, limits, problem);
    if (tiling->sort_items != 0 || tiling->sort_rows != 0 || tiling->sort_counts)
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sort_items is %d, sort_rows %d, sort_counts %d: 0 is wanted "
                    "where one item sorts, or none",
                    tiling->sort_items, tiling->sort_rows, tiling->sort_counts);
    if (sorted > 0 && !can_sort(sorted, tiling->columns, problem->n))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.sorted is %d: at most half of columns, %d, and 2^32 by %" PRId64
                    " columns of C is wanted",
                    sorted, tiling->columns, problem->n);
    return WEFT_OK;
}

static weft_status long_check(const weft_spgemm_tiling *tiling)
{
    const int from = tiling->long_from, columns = tiling->long_columns;
    if (from < 0 || from > WEFT_SPGEMM_MOST_PRODUCTS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.long_from is %d: 0 to %d is wanted", from,
                    WEFT_SPGEMM_MOST_PRODUCTS);
    if (from == 0)
        return WEFT_OK;
    if (columns < WEFT_SPGEMM_LEAST_LONG || !is_pow2_upto(columns, MAX_LONG_COLUMNS))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.long_columns is %d: a power of two from %d to %d is wanted",
                    columns, WEFT_SPGEMM_LEAST_LONG, MAX_LONG_COLUMNS);
    if (tiling->long_groups < 1 || tiling->long_groups > MAX_LONG_GROUPS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.long_groups is %d: 1 to %d is wanted",
                    tiling->long_groups, MAX_LONG_GROUPS);
    return WEFT_OK;
}

static weft_status memory_check(int columns, const char *field, const weft_spgemm_tiling *tiling,
                                const weft_limits *limits, const weft_spgemm_problem *problem)
{
    const int64_t bytes =
        column_bytes(problem, columns, tiling->items) + exchange_bytes(problem, tiling->items);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: tiling.%s %d and items %d require %" PRId64
                    " bytes; local memory has %zu",
                    field, columns, tiling->items, bytes, limits->local_bytes);
    return WEFT_OK;
}

weft_status weft_spgemm_tiling_check(const weft_spgemm_tiling *tiling, const weft_limits *limits,
                                     const weft_spgemm_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "spgemm"));
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "spgemm"));
    if (tiling->rows < 1 || tiling->rows > MAX_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.rows is %d: 1 to %d is wanted", tiling->rows,
                    MAX_ROWS);
    if (tiling->columns < 1 || tiling->columns > MAX_COLUMNS)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: tiling.columns is %d: 1 to %d is wanted",
                    tiling->columns, MAX_COLUMNS);
    TRY(sorted_check(tiling, limits, problem));
    TRY(long_check(tiling));
    TRY(memory_check(tiling->columns, "columns", tiling, limits, problem));
    return tiling->long_from > 0
               ? memory_check(tiling->long_columns, "long_columns", tiling, limits, problem)
               : WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_spgemm_tiling, items),        TILING_FIELD(weft_spgemm_tiling, rows),
    TILING_FIELD(weft_spgemm_tiling, columns),      TILING_FIELD(weft_spgemm_tiling, sorted),
    TILING_FIELD(weft_spgemm_tiling, sort_items),   TILING_FIELD(weft_spgemm_tiling, sort_rows),
    TILING_FIELD(weft_spgemm_tiling, sort_counts),  TILING_FIELD(weft_spgemm_tiling, long_from),
    TILING_FIELD(weft_spgemm_tiling, long_columns), TILING_FIELD(weft_spgemm_tiling, long_groups),
};

const weft_tiling_table weft_spgemm_tiling_table = TILING_TABLE(fields);

int weft_spgemm_tiling_print(const weft_spgemm_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_spgemm_tiling_table, tiling, text, size);
}
