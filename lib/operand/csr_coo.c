// SPDX-License-Identifier: Apache-2.0
// A CSR from coordinates: a counting sort by rows, a sort within each unsorted row, and sums of
// entries with equal coordinates.
#include "operand/csr_host.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/element.h"
#include "base/fail.h"

// Coordinates in the order of rows and, within a row, of columns.
typedef struct placed {
    int64_t column, entry;
} placed;

typedef struct coordinates {
    const char *what;
    int64_t n_rows, n_cols, n_entries;
    const int64_t *rows, *cols;
    const double *values; // NULL: all ones
    int64_t *starts;      // of each row in `order`, and the end of the last
    placed *order;
} coordinates;

static weft_status coordinates_check(const coordinates *c)
{
    if (c->n_entries < 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: %" PRId64 " entries", c->what, c->n_entries);
    if (c->n_entries > 0 && (!c->rows || !c->cols))
        return fail(WEFT_BAD_ARGUMENT, "%s: the %s are NULL, with %" PRId64 " entries", c->what,
                    c->rows ? "columns" : "rows", c->n_entries);
    for (int64_t e = 0; e < c->n_entries; e++)
        if (c->rows[e] < 0 || c->rows[e] >= c->n_rows || c->cols[e] < 0 || c->cols[e] >= c->n_cols)
            return fail(WEFT_BAD_DATA,
                        "%s: entry %" PRId64 " is at row %" PRId64 ", column %" PRId64
                        " of a %" PRId64 " x %" PRId64 " matrix, counted from 0",
                        c->what, e, c->rows[e], c->cols[e], c->n_rows, c->n_cols);
    return WEFT_OK;
}

// A counting sort. Filling rows from their ends preserves the given order within each.
static void place_by_row(coordinates *c)
{
    for (int64_t e = 0; e < c->n_entries; e++)
        c->starts[c->rows[e]]++;
    for (int64_t row = 1; row <= c->n_rows; row++)
        c->starts[row] += c->starts[row - 1];
    for (int64_t e = c->n_entries; e-- > 0;)
        c->order[--c->starts[c->rows[e]]] = (placed){c->cols[e], e};
}

static int compare_placed(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static bool is_sorted(const placed *row, int64_t length)
{
    for (int64_t i = 1; i < length; i++)
        if (row[i].column < row[i - 1].column)
            return false;
    return true;
}

static void sort_within_rows(coordinates *c)
{
    for (int64_t r = 0; r < c->n_rows; r++) {
        placed *row = c->order + c->starts[r];
        const int64_t length = c->starts[r + 1] - c->starts[r];
        if (!is_sorted(row, length))
            qsort(row, (size_t)length, sizeof(*row), compare_placed);
    }
}

// The end of the run of entries in `row` that have the column of entry i.
static int64_t run_end(const coordinates *c, int64_t row, int64_t i)
{
    const int64_t column = c->order[i].column;
    while (i < c->starts[row + 1] && c->order[i].column == column)
        i++;
    return i;
}

static int64_t count_distinct(const coordinates *c)
{
    int64_t n = 0;
    for (int64_t row = 0; row < c->n_rows; row++)
        for (int64_t i = c->starts[row]; i < c->starts[row + 1]; i = run_end(c, row, i))
            n++;
    return n;
}

static double value_at(const coordinates *c, int64_t i)
{
    return c->values ? c->values[c->order[i].entry] : 1;
}

static double sum_of(const coordinates *c, int64_t begin, int64_t end)
{
    double sum = value_at(c, begin);
    for (int64_t i = begin + 1; i < end; i++)
        sum += value_at(c, i);
    return sum;
}

static void write_rows(const coordinates *c, weft_csr_host *out)
{
    int64_t n = 0;
    for (int64_t row = 0; row < c->n_rows; row++) {
        for (int64_t i = c->starts[row], end; i < c->starts[row + 1]; i = end, n++) {
            end = run_end(c, row, i);
            integer_put(out->indices, out->index_dtype, n, c->order[i].column);
            weft_element_put(out->values, out->dtype, n, sum_of(c, i, end));
        }
        integer_put(out->offsets, out->offset_dtype, row + 1, n);
    }
}

static weft_status convert(coordinates *c, weft_csr_host *out)
{
    void *starts = NULL, *order = NULL;
    weft_status status =
        weft_array_create(&starts, (uint64_t)c->n_rows + 1, sizeof(*c->starts), c->what);
    if (status == WEFT_OK)
        status = weft_array_create(&order, (uint64_t)c->n_entries, sizeof(*c->order), c->what);
    if (status != WEFT_OK)
        goto done;

    c->starts = starts;
    c->order = order;
    place_by_row(c);
    sort_within_rows(c);
    status = weft_csr_host_allocate(out, count_distinct(c), c->what);
    if (status == WEFT_OK)
        write_rows(c, out);
done:
    free(starts);
    free(order);
    return status;
}

weft_status weft_csr_host_from_coo(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                   int64_t n_entries, const int64_t *rows, const int64_t *cols,
                                   const double *values, const weft_csr_params *params)
{
    coordinates c = {
        .what = "csr_from_coo",
        .n_rows = n_rows,
        .n_cols = n_cols,
        .n_entries = n_entries,
        .rows = rows,
        .cols = cols,
        .values = values,
    };
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", c.what);

    *out = (weft_csr_host){0};
    weft_status status = weft_csr_host_choose(out, n_rows, n_cols, params, c.what);
    if (status == WEFT_OK)
        status = coordinates_check(&c);
    if (status == WEFT_OK)
        status = convert(&c, out);
    if (status != WEFT_OK)
        weft_csr_host_destroy(out);
    return status;
}
