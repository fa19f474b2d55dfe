// SPDX-License-Identifier: Apache-2.0
// C = A B, all three sparse, by rows (CSR).
//
// A group goes through `rows` rows of C, one after the other. The row's products are gone through
// for `columns` adjacent columns of C at a time, which stand in local memory; the next ones begin
// where the next product is. All items go through the same products; item i takes those of every
// ITEMS-th column, so that each column is summed by one item, in the order of A's entries.
//
//   spgemm_count  entries of each row of C
//   (running sums of that: the offsets)
//   spgemm_fill   the entries, by rising columns
#define FOLD 1 // columns are summed one by one
#include "types.clh"

#include "rows.clh"
#include "scan.clh"

#ifndef B_OFFSET // of B: int or long
#define B_OFFSET int
#endif
#ifndef B_INDEX // int or short
#define B_INDEX int
#endif
#ifndef C_INDEX // of C; its offsets are NUMBER
#define C_INDEX int
#endif

// A and B from where their arrays begin.
typedef struct {
    global const OFFSET *a_offsets;
    global const INDEX *a_indices;
    global const T *a_values;
    global const B_OFFSET *b_offsets;
    global const B_INDEX *b_indices;
    global const T *b_values;
} factors;

#define FACTORS                                                                                    \
    long n_rows, long n_cols, long rows, int columns, global const OFFSET *restrict a_offsets,     \
        long a_offsets_start, global const INDEX *restrict a_indices, long a_indices_start,        \
        global const T *restrict a_values, long a_values_start,                                    \
        global const B_OFFSET *restrict b_offsets, long b_offsets_start,                           \
        global const B_INDEX *restrict b_indices, long b_indices_start,                            \
        global const T *restrict b_values, long b_values_start

#define GET_FACTORS                                                                                \
    factors f;                                                                                     \
    f.a_offsets = a_offsets + a_offsets_start;                                                     \
    f.a_indices = a_indices + a_indices_start;                                                     \
    f.a_values = a_values + a_values_start;                                                        \
    f.b_offsets = b_offsets + b_offsets_start;                                                     \
    f.b_indices = b_indices + b_indices_start;                                                     \
    f.b_values = b_values + b_values_start

// Marks the item's columns, of `width` from `from` on, that the row has products in, and with sums
// adds these up. The least column behind them all that has one; n_cols where there is none.
INLINE long sweep_row(const factors *f, long row, long n_cols, long from, long width, int item,
                      bool with_sums, local int *marks, local ACC *sums)
{
    long next = n_cols;
    const long stop = f->a_offsets[row + 1];
    for (long e = f->a_offsets[row]; e < stop; ++e) {
        const long inner = f->a_indices[e], b_stop = f->b_offsets[inner + 1];
        for (long g = f->b_offsets[inner]; g < b_stop; ++g) {
            const long column = f->b_indices[g], c = column - from;
            if (c >= width)
                next = min(next, column);
            if (c < 0 || c >= width || c % ITEMS != item)
                continue;
            if (with_sums) {
                const ACC a = load_one(f->a_values + e), b = load_one(f->b_values + g);
                sums[c] = marks[c] ? multiply_add(a, b, sums[c]) : a * b;
            }
            marks[c] = 1;
        }
    }
    return next;
}

INLINE void clear_marks(local int *marks, long width, int item)
{
    for (long c = item; c < width; c += ITEMS)
        marks[c] = 0;
}

// Where the row's first columns begin: at its first product, where one stretch may not hold all.
INLINE long first_column(const factors *f, long row, long n_cols, int columns, int item,
                         local int *marks, local ACC *sums)
{
    return n_cols <= columns ? 0 : sweep_row(f, row, n_cols, 0, 0, item, false, marks, sums);
}

kernel GROUP void spgemm_count(FACTORS, global NUMBER *restrict c_offsets, long c_offsets_start,
                               local int *marks, local ACC *sums)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    for (long row = first_row; row < last_row; ++row) {
        NUMBER n = 0, total;
        long from = first_column(&f, row, n_cols, columns, item, marks, sums);
        while (from < n_cols) {
            const long width = min((long)columns, n_cols - from);
            clear_marks(marks, width, item);
            const long next = sweep_row(&f, row, n_cols, from, width, item, false, marks, sums);
            for (long c = item; c < width; c += ITEMS)
                n += marks[c];
            from = next;
        }
        sum_before(n, item, nodes, &total);
        if (item == 0)
            c_offsets[c_offsets_start + row] = total;
    }
}

// Nothing is written from `stop` on, where the next row begins. All items pass.
INLINE long fill_columns(local const int *marks, local const ACC *sums, long from, long width,
                         int item, local NUMBER *nodes, global C_INDEX *indices, global T *values,
                         long place, long stop)
{
    for (long tile = 0; tile < width; tile += ITEMS) {
        const long c = tile + item;
        const bool is_entry = c < width && marks[c];
        NUMBER total;
        const long at = place + sum_before(is_entry, item, nodes, &total);
        if (is_entry && at < stop) {
            indices[at] = (C_INDEX)(from + c);
            store_one(sums[c], values + at);
        }
        place += total;
    }
    return place;
}

kernel GROUP void spgemm_fill(FACTORS, global const NUMBER *restrict c_offsets,
                              long c_offsets_start, local int *marks, local ACC *sums,
                              global C_INDEX *restrict c_indices, long c_indices_start,
                              global T *restrict c_values, long c_values_start)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    for (long row = first_row; row < last_row; ++row) {
        const long stop = c_offsets[c_offsets_start + row + 1];
        long place = c_offsets[c_offsets_start + row];
        long from = first_column(&f, row, n_cols, columns, item, marks, sums);
        while (from < n_cols) {
            const long width = min((long)columns, n_cols - from);
            clear_marks(marks, width, item);
            const long next = sweep_row(&f, row, n_cols, from, width, item, true, marks, sums);
            place = fill_columns(marks, sums, from, width, item, nodes, c_indices + c_indices_start,
                                 c_values + c_values_start, place, stop);
            from = next;
        }
    }
}
