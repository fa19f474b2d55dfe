// SPDX-License-Identifier: Apache-2.0
// Tilings of dense products: their local memory, checks and text.
#include "dense/matmul_tiling.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/tiling_given.h"
#include "operand/view.h"

enum { MAX_VECTOR_WIDTH = 16, MAX_VECTORS = 8, MAX_SPAN = 64, MAX_ROWS = 16, MAX_SPAN_ROWS = 8 };

enum { TILE_BUFFERS = 2 }; // of both factors, as in matmul_tile.clh

static const char *const names[] = {
    [WEFT_MATMUL_BLOCKS] = "blocks",
    [WEFT_MATMUL_DOTS] = "dots",
    [WEFT_MATMUL_ROWS] = "rows",
    [WEFT_MATMUL_DIRECT] = "direct",
};

enum { N_METHODS = sizeof(names) / sizeof(names[0]) };

const char *weft_matmul_method_name(weft_matmul_method method)
{
    return (int)method >= 0 && (int)method < N_METHODS ? names[method] : NULL;
}

// ---- local memory

bool weft_matmul_is_one_tile(const weft_matmul_tiling *t)
{
    return t->method == WEFT_MATMUL_BLOCKS && t->items * t->items_y > 1 &&
           t->block_rows == (int64_t)t->items_y * t->rows &&
           t->block_columns == (int64_t)t->items * t->vectors * t->vector_width;
}

// INT64_MAX if it overflows, which does not fit in local memory either.
static int64_t bytes_of(int64_t each, int64_t a, int64_t b)
{
    int64_t bytes;
    return mul_i64(a, b, &bytes) && mul_i64(bytes, each, &bytes) ? bytes : INT64_MAX;
}

void weft_matmul_arrays(int64_t bytes[WEFT_MATMUL_ARRAYS], const weft_matmul_tiling *t,
                        weft_dtype dtype, int64_t m)
{
    const int64_t each = weft_sum_bytes(weft_dtype_or(dtype, WEFT_F32));
    const int64_t strip = (int64_t)t->items_y * t->rows;
    for (int i = 0; i < WEFT_MATMUL_ARRAYS; ++i)
        bytes[i] = each;
    if (weft_matmul_is_one_tile(t)) {
        const int64_t lines = (int64_t)TILE_BUFFERS * t->depth;
        bytes[0] = bytes_of(each, lines,
                            ceil_div(strip, t->vector_width) * t->vector_width + t->vector_width);
        bytes[1] = bytes_of(each, lines, t->block_columns + t->vector_width);
    } else if (t->method == WEFT_MATMUL_BLOCKS) {
        bytes[0] = bytes_of(each, strip, (int64_t)t->depth + t->vector_width);
        bytes[1] = bytes_of(each, t->depth, t->block_columns);
        bytes[2] = bytes_of(each, t->block_rows, t->block_columns);
    } else if (t->method == WEFT_MATMUL_DOTS) {
        bytes[0] = bytes_of(each, m, t->depth);
        bytes[1] = bytes_of(each, m, t->block_columns);
        if (t->items > 1)
            bytes[2] = bytes_of(each, strip * t->vectors, t->items);
    }
}

int64_t weft_matmul_local_bytes(const weft_matmul_tiling *tiling, weft_dtype dtype, int64_t m)
{
    int64_t bytes[WEFT_MATMUL_ARRAYS], all = 0;
    weft_matmul_arrays(bytes, tiling, dtype, m);
    for (int i = 0; i < WEFT_MATMUL_ARRAYS; ++i)
        if (!add_i64(all, bytes[i], &all))
            return INT64_MAX;
    return all;
}

// ---- checks

static weft_status range_check(const char *field, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.%s is %" PRId64 ": %" PRId64 " to %" PRId64 " is wanted", field,
                    value, least, most);
    return WEFT_OK;
}

static weft_status pow2_check(const char *field, int64_t value, int64_t most)
{
    if (!is_pow2_upto(value, most))
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.%s is %" PRId64 ": a power of two up to %" PRId64 " is wanted",
                    field, value, most);
    return WEFT_OK;
}

static weft_status multiple_check(const char *field, int64_t value, const char *of, int64_t step,
                                  int most)
{
    if (value < 1 || value % step != 0 || value > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.%s is %" PRId64 ": a multiple of %s, %" PRId64
                    ", up to %d is wanted",
                    field, value, of, step, most);
    return WEFT_OK;
}

// Rows or columns of a group's items at a time.
static weft_status margin_check(const char *what, int64_t value)
{
    if (value > WEFT_MATMUL_MARGIN)
        return fail(WEFT_BAD_ARGUMENT, "matmul: tiling.%s are %" PRId64 ": at most %d are wanted",
                    what, value, WEFT_MATMUL_MARGIN);
    return WEFT_OK;
}

static weft_status items_check(const weft_matmul_tiling *t, const weft_limits *limits)
{
    TRY(pow2_check("items", t->items, weft_limits_items_along(limits, 0)));
    TRY(pow2_check("items_y", t->items_y, weft_limits_items_along(limits, 1)));
    if ((uint64_t)t->items * (uint64_t)t->items_y > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.items %d x items_y %d are more than the %zu items of a group",
                    t->items, t->items_y, limits->max_items);
    return WEFT_OK;
}

static weft_status blocks_check(const weft_matmul_tiling *t, int64_t k)
{
    const int64_t chunks = ceil_div(max_i64(k, 1), t->chunk);
    if (weft_matmul_is_one_tile(t) && chunks > WEFT_MATMUL_MOST_GROUPS)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.chunk is %" PRId64 ": %" PRId64
                    " chunks of k are more than the %d that such blocks may have",
                    t->chunk, chunks, WEFT_MATMUL_MOST_GROUPS);
    TRY(range_check("vectors", t->vectors, 1, MAX_VECTORS));
    TRY(range_check("rows", t->rows, 1, MAX_ROWS));
    TRY(margin_check("items_y x rows", (int64_t)t->items_y * t->rows));
    TRY(margin_check("items x vectors x vector_width",
                     (int64_t)t->items * t->vectors * t->vector_width));
    TRY(multiple_check("depth", t->depth, "vector_width", t->vector_width, WEFT_MATMUL_MARGIN));
    TRY(multiple_check("block_rows", t->block_rows, "items_y x rows", (int64_t)t->items_y * t->rows,
                       WEFT_MATMUL_MAX_EXTENT));
    return multiple_check("block_columns", t->block_columns, "items x vectors x vector_width",
                          (int64_t)t->items * t->vectors * t->vector_width, WEFT_MATMUL_MAX_EXTENT);
}

static weft_status direct_check(const weft_matmul_tiling *t, int64_t k)
{
    const int64_t panel = (int64_t)t->vectors * t->vector_width;
    TRY(range_check("vectors", t->vectors, 1, MAX_VECTORS));
    TRY(range_check("rows", t->rows, 1, MAX_ROWS));
    TRY(range_check("items", t->items, 1, 1));
    TRY(range_check("items_y", t->items_y, 1, 1));
    TRY(range_check("depth", t->depth, 1, WEFT_MATMUL_MARGIN));
    TRY(range_check("chunk", t->chunk, max_i64(k, 1), WEFT_MATMUL_MAX_EXTENT));
    TRY(multiple_check("block_rows", t->block_rows, "rows", t->rows, WEFT_MATMUL_MAX_EXTENT));
    return multiple_check("block_columns", t->block_columns, "vectors x vector_width", panel,
                          WEFT_MATMUL_MAX_EXTENT);
}

// The method requires neighbours of B, or of A if transposed, to be adjacent.
static weft_status along_check(const weft_matmul_tiling *t, const weft_matmul_problem *p)
{
    const bool is_dots = t->method == WEFT_MATMUL_DOTS;
    const bool along_n = t->transposed ? p->a_along_m : p->b_along_n;
    const bool along_k = t->transposed ? p->a_along_k : p->b_along_k;
    if (t->method != WEFT_MATMUL_BLOCKS && !(is_dots ? along_k : along_n))
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.method is %s%s: neighbours along %s are adjacent then in %s",
                    weft_matmul_method_name(t->method), t->transposed ? ", transposed" : "",
                    is_dots         ? "k"
                    : t->transposed ? "m"
                                    : "n",
                    t->transposed ? "A" : "B");
    return WEFT_OK;
}

static weft_status rows_check(const weft_matmul_tiling *t, int64_t m)
{
    const int64_t vector = (int64_t)t->items * t->vector_width;
    TRY(range_check("vectors", t->vectors, 1, MAX_SPAN));
    TRY(pow2_check("rows", t->rows, MAX_SPAN_ROWS));
    TRY(range_check("block_rows", t->block_rows, 1, WEFT_MATMUL_MAX_EXTENT));
    TRY(margin_check("items_y x rows", (int64_t)t->items_y * t->rows));
    TRY(margin_check("items x vector_width", vector));
    TRY(multiple_check("block_columns", t->block_columns, "items x vector_width", vector,
                       WEFT_MATMUL_MAX_EXTENT));
    const int64_t rows = min_i64(t->vectors == 1 ? t->rows : m, t->rows);
    if (t->block_columns / vector * rows > (int64_t)t->rows * t->vectors)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.block_columns is %" PRId64 ": %" PRId64
                    " rows of these are more than the %d x %d vectors of an item have room for",
                    t->block_columns, rows, t->rows, t->vectors);
    return WEFT_OK;
}

static weft_status dots_check(const weft_matmul_tiling *t, int64_t m)
{
    const int64_t columns = (int64_t)t->items_y * t->vectors;
    TRY(range_check("vectors", t->vectors, 1, MAX_VECTORS));
    TRY(range_check("rows", t->rows, 1, MAX_ROWS));
    TRY(margin_check("items_y x vectors", columns));
    TRY(multiple_check("depth", t->depth, "items x vector_width",
                       (int64_t)t->items * t->vector_width, WEFT_MATMUL_MARGIN));
    TRY(multiple_check("block_columns", t->block_columns, "items_y x vectors", columns,
                       WEFT_MATMUL_MAX_EXTENT));
    TRY(multiple_check("block_columns", t->block_columns, "vector_width", t->vector_width,
                       WEFT_MATMUL_MAX_EXTENT));
    if (t->block_rows < m || m > WEFT_MATMUL_FEW)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.block_rows is %" PRId64 ": all %" PRId64
                    " rows are wanted, and at most %d there can be, for dots",
                    t->block_rows, m, WEFT_MATMUL_FEW);
    return WEFT_OK;
}

weft_status weft_matmul_tiling_check(const weft_matmul_tiling *t, const weft_limits *limits,
                                     const weft_matmul_problem *problem)
{
    TRY(weft_tiling_given_check(t, limits, problem, "matmul"));
    const int64_t m = max_i64(t->transposed ? problem->n : problem->m, 1);
    if (!weft_matmul_method_name(t->method))
        return fail(WEFT_BAD_ARGUMENT, "matmul: tiling.method is %d, which is none",
                    (int)t->method);
    TRY(pow2_check("vector_width", t->vector_width, MAX_VECTOR_WIDTH));
    TRY(items_check(t, limits));
    TRY(range_check("chunk", t->chunk, 1, WEFT_MATMUL_MAX_EXTENT));
    TRY(along_check(t, problem));
    TRY(t->method == WEFT_MATMUL_ROWS     ? rows_check(t, m)
        : t->method == WEFT_MATMUL_DOTS   ? dots_check(t, m)
        : t->method == WEFT_MATMUL_DIRECT ? direct_check(t, problem->k)
                                          : blocks_check(t, problem->k));
    const int64_t bytes = weft_matmul_local_bytes(t, problem->dtype, m);
    if (t->method != WEFT_MATMUL_ROWS && bytes > clamped_i64(limits->local_bytes))
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: tiling.depth %d and blocks of %" PRId64 " x %" PRId64 " take %" PRId64
                    " bytes; local memory has %zu",
                    t->depth, t->block_rows, t->block_columns, bytes, limits->local_bytes);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_WORD(weft_matmul_tiling, method, names), TILING_FIELD(weft_matmul_tiling, transposed),
    TILING_FIELD(weft_matmul_tiling, vector_width), TILING_FIELD(weft_matmul_tiling, vectors),
    TILING_FIELD(weft_matmul_tiling, rows),         TILING_FIELD(weft_matmul_tiling, items),
    TILING_FIELD(weft_matmul_tiling, items_y),      TILING_FIELD(weft_matmul_tiling, depth),
    TILING_FIELD(weft_matmul_tiling, block_rows),   TILING_FIELD(weft_matmul_tiling, block_columns),
    TILING_FIELD(weft_matmul_tiling, chunk),
};

const weft_tiling_table weft_matmul_tiling_table = TILING_TABLE(fields);

int weft_matmul_tiling_print(const weft_matmul_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_matmul_tiling_table, tiling, text, size);
}
