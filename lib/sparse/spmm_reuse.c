// SPDX-License-Identifier: Apache-2.0
// Rows in clusters that share columns, by labels that spread through the pattern.
#include "sparse/spmm_reuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/element.h"
#include "base/fail.h"
#include "sparse/spmm_misses.h"

enum { ROUNDS = 2 }; // of labels, from rows to columns and back

// The pattern by rows and by columns, in arrays that are faster to read. A label is a column, or
// n_cols for a row without entries.
typedef struct {
    const weft_pattern *p;
    int64_t row_chunk;
    int64_t n_rows, n_cols, nnz;
    int64_t *row_starts, *column_starts;
    int32_t *columns; // of the entries, row by row
    int32_t *rows;    // of the entries, column by column
    int32_t *row_labels, *column_labels;
    int32_t *votes;    // for each label; 0 between the rows
    int32_t *searched; // rows in the order of a search
    char *is_row_seen, *is_column_seen;
} clusters;

static void clusters_free(clusters *c)
{
    void *const arrays[] = {c->row_starts,  c->column_starts, c->columns, c->rows,
                            c->row_labels,  c->column_labels, c->votes,   c->searched,
                            c->is_row_seen, c->is_column_seen};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); ++i)
        free(arrays[i]);
}

static weft_status clusters_allocate(clusters *c)
{
    const struct {
        void *out;
        int64_t n;
        size_t size;
    } arrays[] = {
        {&c->row_starts, c->n_rows + 1, sizeof(int64_t)},
        {&c->column_starts, c->n_cols + 2, sizeof(int64_t)},
        {&c->columns, c->nnz, sizeof(int32_t)},
        {&c->rows, c->nnz, sizeof(int32_t)},
        {&c->row_labels, c->n_rows, sizeof(int32_t)},
        {&c->column_labels, c->n_cols, sizeof(int32_t)},
        {&c->votes, c->n_cols + 1, sizeof(int32_t)},
        {&c->searched, c->n_rows, sizeof(int32_t)},
        {&c->is_row_seen, c->n_rows, 1},
        {&c->is_column_seen, c->n_cols, 1},
    };
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); ++i) {
        void *array = NULL;
        TRY(weft_plan_allocate(&array, arrays[i].n, arrays[i].size));
        memcpy(arrays[i].out, &array, sizeof(array));
    }
    return WEFT_OK;
}

// Rows that are long have no entries here: they are cut into row chunks.
static void list_columns(clusters *c)
{
    const weft_pattern *p = c->p;
    int64_t n = 0;
    for (int64_t row = 0; row < c->n_rows; ++row) {
        c->row_starts[row] = n;
        if (weft_pattern_is_long(p, row, c->row_chunk))
            continue;
        for (int64_t e = weft_pattern_start(p, row); e < weft_pattern_start(p, row + 1); ++e)
            c->columns[n++] = (int32_t)integer_at(p->indices, p->index_dtype, e);
    }
    c->row_starts[c->n_rows] = n;
}

static void list_rows(clusters *c)
{
    int64_t *next = c->column_starts + 1; // next[column]: position of its next row
    for (int64_t e = 0; e < c->row_starts[c->n_rows]; ++e)
        next[c->columns[e] + 1]++;
    for (int64_t column = 0; column < c->n_cols; ++column)
        next[column + 1] += next[column];
    for (int64_t row = 0; row < c->n_rows; ++row)
        for (int64_t e = c->row_starts[row]; e < c->row_starts[row + 1]; ++e)
            c->rows[next[c->columns[e]]++] = (int32_t)row;
}

// A permutation of 32 bits that looks random.
static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

static bool is_before(int32_t label, int32_t other)
{
    return mixed((uint32_t)label) < mixed((uint32_t)other);
}

static void label_rows(clusters *c)
{
    for (int64_t row = 0; row < c->n_rows; ++row) {
        const int64_t first = c->row_starts[row], stop = c->row_starts[row + 1];
        int32_t label = first < stop ? c->columns[first] : (int32_t)c->n_cols;
        for (int64_t e = first; e < stop; ++e)
            if (is_before(c->columns[e], label))
                label = c->columns[e];
        c->row_labels[row] = label;
    }
}

// The most frequent label of n neighbours, of equally frequent ones the first by hash; `own` if
// there are none.
static int32_t elected(clusters *c, int32_t own, const int32_t *neighbours, int64_t n,
                       const int32_t *labels)
{
    int32_t best = own, most = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t label = labels[neighbours[i]], votes = ++c->votes[label];
        if (votes > most || (votes == most && is_before(label, best))) {
            most = votes;
            best = label;
        }
    }
    for (int64_t i = 0; i < n; ++i)
        c->votes[labels[neighbours[i]]] = 0;
    return best;
}

static void spread_labels(clusters *c)
{
    for (int64_t column = 0; column < c->n_cols; ++column) {
        const int64_t first = c->column_starts[column];
        c->column_labels[column] = elected(c, (int32_t)column, c->rows + first,
                                           c->column_starts[column + 1] - first, c->row_labels);
    }
    for (int64_t row = 0; row < c->n_rows; ++row) {
        const int64_t first = c->row_starts[row];
        c->row_labels[row] = elected(c, c->row_labels[row], c->columns + first,
                                     c->row_starts[row + 1] - first, c->column_labels);
    }
}

static int64_t see_row(clusters *c, int32_t row, int64_t n)
{
    if (!c->is_row_seen[row])
        c->searched[n++] = row;
    c->is_row_seen[row] = true;
    return n;
}

// Breadth first: after a row come the rows that share its columns.
static void search(clusters *c)
{
    int64_t n = 0, done = 0;
    for (int64_t start = 0; start < c->n_rows; ++start) {
        n = see_row(c, (int32_t)start, n);
        for (; done < n; ++done) {
            const int32_t row = c->searched[done];
            for (int64_t e = c->row_starts[row]; e < c->row_starts[row + 1]; ++e) {
                const int32_t column = c->columns[e];
                if (c->is_column_seen[column])
                    continue;
                c->is_column_seen[column] = true;
                for (int64_t i = c->column_starts[column]; i < c->column_starts[column + 1]; ++i)
                    n = see_row(c, c->rows[i], n);
            }
        }
    }
}

// Lists the rows that are not long by label, those of a label as they come: as in `rows`, or in A's
// order if it is NULL. Labels come in the order of their first rows.
static weft_status list_by_label(int32_t *order, int64_t *n_listed, clusters *c,
                                 const int32_t *rows)
{
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, c->n_cols + 3, sizeof(int64_t)));
    int64_t *next = memory;                // next[rank]: position of the next row of that label
    int32_t *rank = c->votes, n_ranks = 0; // of each label, from 1
    for (int64_t i = 0; i < c->n_rows; ++i) {
        const int64_t row = rows ? rows[i] : i;
        if (weft_pattern_is_long(c->p, row, c->row_chunk))
            continue;
        const int32_t label = c->row_labels[row];
        rank[label] = rank[label] > 0 ? rank[label] : ++n_ranks;
        next[rank[label] + 1]++;
    }
    for (int64_t i = 1; i <= n_ranks; ++i)
        next[i + 1] += next[i];
    *n_listed = next[n_ranks + 1];
    for (int64_t i = 0; i < c->n_rows; ++i) {
        const int64_t row = rows ? rows[i] : i;
        if (!weft_pattern_is_long(c->p, row, c->row_chunk))
            order[next[rank[c->row_labels[row]]]++] = (int32_t)row;
    }
    memset(c->votes, 0, (size_t)(c->n_cols + 1) * sizeof(*c->votes));
    free(memory);
    return WEFT_OK;
}

// Whether rows of equal first labels, which is cheap to try, are worth the rest.
static weft_status is_promising(bool *out, int32_t *order, int64_t *n, clusters *c, int64_t room,
                                double most)
{
    double missed = 0;
    TRY(list_by_label(order, n, c, NULL));
    TRY(weft_spmm_misses(&missed, c->p, order, *n, room));
    *out = missed < most;
    return WEFT_OK;
}

static weft_status find_order(int32_t *order, int64_t *n, bool *found, clusters *c, int64_t room,
                              double most)
{
    TRY(clusters_allocate(c));
    list_columns(c);
    label_rows(c);
    TRY(is_promising(found, order, n, c, room, most));
    if (!*found)
        return WEFT_OK;
    list_rows(c);
    for (int i = 0; i < ROUNDS; ++i)
        spread_labels(c);
    search(c);
    return list_by_label(order, n, c, c->searched);
}

weft_status weft_spmm_order_for_reuse(int32_t *order, int64_t *n, bool *found,
                                      const weft_pattern *p, int64_t row_chunk, int64_t room,
                                      double most)
{
    clusters c = {
        .p = p, .row_chunk = row_chunk, .n_rows = p->n_rows, .n_cols = p->n_cols, .nnz = p->nnz};
    const weft_status status = find_order(order, n, found, &c, room, most);
    clusters_free(&c);
    return status;
}
