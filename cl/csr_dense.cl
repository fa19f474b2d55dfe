// SPDX-License-Identifier: Apache-2.0
// A sparse matrix by rows (CSR) as a dense one, and back.
//
// A group goes through `rows` rows, one after the other; its items have columns side by side.
//
//   csr_to_dense        D = A, `columns` columns of a row for each group: which entry is the first
//                       at each place, then every place written
//   dense_to_csr_count  elements of each row that are kept
//   (running sums of that: the offsets)
//   dense_to_csr_fill   these elements, each row from where its offset says
//
// Elements are moved as they stand in memory. They are reckoned with only where several entries
// share a place; and magnitudes are compared as whole numbers, which have the same order.
#include "types.clh"

#include "rows.clh"
#include "scan.clh"
#include "stretches.clh"

#ifndef MOVED // a whole number as large as an element
#define MOVED uint
#endif
#ifndef RUN // adjacent columns that an item fills from at a time
#define RUN (ITEMS > 1 ? 8 : 64)
#endif

#define DENSE(name) long name##_start, long name##_row, long name##_column

// ---- to dense

#define NO_ENTRY INT_MAX // of the row
#define REPEATED INT_MIN // or-ed to the first of several

// Whether the column is one of the group's, counted from 0.
INLINE bool is_within(long column, long width)
{
    return column >= 0 && column < width;
}

// The first of the n entries at each of the width columns from `from` on. All items pass. What
// atomics leave here does not depend on their order.
INLINE void find_firsts(local int *firsts, int item, global const INDEX *indices, int n, long from,
                        long width)
{
    for (long c = item; c < width; c += ITEMS)
        firsts[c] = NO_ENTRY;
    ALL_PASS;
    for (int i = item; i < n; i += ITEMS) {
        const long c = indices[i] - from;
        if (!is_within(c, width))
            continue;
#if ITEMS > 1
        atomic_min(firsts + c, i);
#else
        firsts[c] = firsts[c] == NO_ENTRY ? i : firsts[c] | REPEATED;
#endif
    }
#if ITEMS > 1
    ALL_PASS;
    for (int i = item; i < n; i += ITEMS) {
        const long c = indices[i] - from;
        if (is_within(c, width) && (atomic_or(firsts + c, 0) & ~REPEATED) != i)
            atomic_or(firsts + c, REPEATED);
    }
    ALL_PASS;
#endif
}

// Of the item's columns where entries are repeated: their sums, in order.
INLINE void sum_repeated(local ACC *sums, local const int *firsts, int item,
                         global const INDEX *indices, global const T *values, int n, long from,
                         long width)
{
    for (int i = 0; i < n; ++i) {
        const long c = indices[i] - from;
        if (!is_within(c, width) || c % ITEMS != item || firsts[c] >= 0)
            continue;
        const ACC value = load_one(values + i);
        sums[c] = i == (firsts[c] & ~REPEATED) ? value : sums[c] + value;
    }
}

// The item's columns of one row.
INLINE void write_row(local const int *firsts, local ACC *sums, int item,
                      global const INDEX *indices, global const MOVED *values, int n, long from,
                      long width, global MOVED *D, long step)
{
    bool is_repeated = false;
    for (long c = item; c < width; c += ITEMS)
        D[c * step] = 0;
    for (long c = item; c < width; c += ITEMS) {
        const int first = firsts[c];
        is_repeated |= first < 0;
        if (first >= 0 && first != NO_ENTRY)
            D[c * step] = values[first];
    }
    if (!is_repeated)
        return;
    sum_repeated(sums, firsts, item, indices, (global const T *)values, n, from, width);
    for (long c = item; c < width; c += ITEMS)
        if (firsts[c] < 0)
            store_one(sums[c], (global T *)(D + c * step));
}

kernel GROUP void csr_to_dense(long n_rows, long n_cols, long rows, int columns,
                               global const OFFSET *restrict offsets, long offsets_start,
                               global const INDEX *restrict indices, long indices_start,
                               global const MOVED *restrict values, long values_start,
                               long values_batch, global MOVED *restrict D, DENSE(d), long d_batch,
                               local int *firsts, local ACC *sums)
{
    ROWS_OF_GROUP(rows, n_rows);
    const long batch = GROUP_ALONG_Z;
    const long from = GROUP_ALONG_Y(1) * columns, width = min((long)columns, n_cols - from);
    for (long row = first_row; row < last_row; ++row) {
        const long start = offsets[offsets_start + row];
        const int n = (int)(offsets[offsets_start + row + 1] - start);
        global const INDEX *const of_row = indices + indices_start + start;
        find_firsts(firsts, item, of_row, n, from, width);
        write_row(firsts, sums, item, of_row, values + values_start + batch * values_batch + start,
                  n, from, width, D + d_start + batch * d_batch + row * d_row + from * d_column,
                  d_column);
        ALL_PASS;
    }
}

// ---- from dense

#define MAGNITUDE ((MOVED) ~(MOVED)0 >> 1) // all bits but the sign

// Its magnitude passes the threshold's, or it is NaN, whose bits are above those of infinity.
INLINE bool is_kept(MOVED x, MOVED threshold)
{
    return (x & MAGNITUDE) > threshold;
}

kernel GROUP void dense_to_csr_count(long n_rows, long n_cols, long rows, MOVED threshold,
                                     global const MOVED *restrict D, DENSE(d),
                                     global OFFSET *restrict offsets, long offsets_start)
{
    ROWS_OF_GROUP(rows, n_rows);
    local NUMBER nodes[2 * ITEMS];
    for (long row = first_row; row < last_row; ++row) {
        global const MOVED *const of_row = D + d_start + row * d_row;
        NUMBER n = 0, total;
        for (long c = item; c < n_cols; c += ITEMS)
            n += is_kept(of_row[c * d_column], threshold);
        sum_before(n, item, nodes, &total);
        if (item == 0)
            offsets[offsets_start + row] = total;
    }
}

// The kept ones of n columns from c on, to `place` and behind; never from `stop` on. What is not
// kept is written, too, and then written over: that is cheaper than to ask.
INLINE void fill_run(global const MOVED *of_row, long c, int n, long step, MOVED threshold,
                     global INDEX *indices, global MOVED *values, long place, long stop)
{
    for (int j = 0; j < n && place < stop; ++j) {
        const MOVED x = of_row[(c + j) * step];
        indices[place] = (INDEX)(c + j);
        values[place] = x;
        place += is_kept(x, threshold);
    }
}

kernel GROUP void dense_to_csr_fill(long n_rows, long n_cols, long rows, MOVED threshold,
                                    global const MOVED *restrict D, DENSE(d),
                                    global const OFFSET *restrict offsets, long offsets_start,
                                    global INDEX *restrict indices, long indices_start,
                                    global MOVED *restrict values, long values_start)
{
    ROWS_OF_GROUP(rows, n_rows);
    local NUMBER nodes[2 * ITEMS];
    for (long row = first_row; row < last_row; ++row) {
        global const MOVED *const of_row = D + d_start + row * d_row;
        const long stop = offsets[offsets_start + row + 1];
        long place = offsets[offsets_start + row];
        for (long tile = 0; tile < n_cols; tile += ITEMS * RUN) {
            const long c = tile + item * RUN;
            const int n_columns = (int)clamp(n_cols - c, 0L, (long)RUN);
            NUMBER n = 0, total;
            for (int j = 0; j < n_columns; ++j)
                n += is_kept(of_row[(c + j) * d_column], threshold);
            const long begin = place + sum_before(n, item, nodes, &total);
            fill_run(of_row, c, n_columns, d_column, threshold, indices + indices_start,
                     values + values_start, begin, min(begin + n, stop));
            place += total;
        }
    }
}
