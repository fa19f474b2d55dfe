// SPDX-License-Identifier: Apache-2.0
// T = A^T, both by rows (CSR): A's entries sorted by column, those of a column in A's order.
// (Columns, rows) are sorted by `bits` bits of the column at a time, lowest first (LSD radix sort);
// each pass is stable.
//
// Item i of all has entries i * run .. (i + 1) * run - 1 of a pass, one after the other. A digit's
// places are distributed group by group and, within a group, item by item.
//
//   csr_transpose_count    counts each digit in each group: [digit][group]
//   (running sums of the counts: the first places of a group)
//   csr_transpose_scatter  writes each entry to its place, in scratch memory or, last, in T
//   csr_transpose_offsets  finds the offsets of T
//
// Whatever columns A has, every place gets one entry and nothing is written beyond nnz.
#include "base/types.clh"

#include "base/parameters.clh"
#include "convert/csr_transpose_parameters.h"
#include "op/scan.clh"
#include "operand/rows.clh"

#ifndef T_OFFSET // of T: int or long
#define T_OFFSET int
#endif
#ifndef T_INDEX // int or short
#define T_INDEX int
#endif
#ifndef MOVED // as large as a value, which is only moved
#define MOVED uint
#endif

// Counters of a digit, one for each item, and padding, so that those of one item are in different
// banks of local memory.
#define PITCH (ITEMS > 1 ? ITEMS + 1 : 1)

INLINE int column_at(long e, int is_first, global const INDEX *indices, global const int *columns)
{
    return is_first ? (int)indices[e] : columns[e];
}

#define COLUMN_AT(e) column_at(e, is_first, indices + indices_start, whole + columns_in)

// The counter of item `item` for a column's digit.
INLINE int counter_of(int column, int shift, int bits, int item)
{
    return (column >> shift & ((1 << bits) - 1)) * PITCH + item;
}

#define COUNTER_OF(column) counter_of(column, shift, bits, item)

#define OWN_ENTRIES                                                                                \
    const int item = get_local_id(0);                                                              \
    const long group = get_group_id(0), n_groups = get_num_groups(0);                              \
    const long first = min((group * ITEMS + item) * run, nnz), stop = min(first + run, nnz);       \
    const int n_digits = 1 << bits

#define COUNT_DIGITS                                                                               \
    for (int digit = 0; digit < n_digits; ++digit)                                                 \
        counters[digit * PITCH + item] = 0;                                                        \
    for (long e = first; e < stop; ++e)                                                            \
        ++counters[COUNTER_OF(COLUMN_AT(e))];                                                      \
    ALL_PASS

kernel GROUP void csr_transpose_count(COLUMNS_PARAMETERS(DECLARE, COMMA),
                                      COUNT_PARAMETERS(DECLARE, COMMA))
{
    OWN_ENTRIES;
    COUNT_DIGITS;
    for (int digit = item; digit < n_digits; digit += ITEMS) {
        OFFSET sum = 0;
        for (int i = 0; i < ITEMS; ++i)
            sum += counters[digit * PITCH + i];
        table[digit * n_groups + group] = sum;
    }
}

// The row of entry e, which follows an entry of `row`.
INLINE int row_at_or_after(int row, global const OFFSET *offsets, int n_rows, long e)
{
    if (e < offsets[row + 1])
        return row;
    const int next = min(row + 1, n_rows - 1);
    return e < offsets[next + 1] ? next : row_of_entry(offsets, n_rows, e);
}

#if ITEMS > 1
// From a digit's counters to the places of each item's entries.
INLINE void find_places(local OFFSET *counters, OFFSET place)
{
    for (int i = 0; i < ITEMS; ++i) {
        const OFFSET n = counters[i];
        counters[i] = place;
        place += n;
    }
}
#endif

kernel GROUP void csr_transpose_scatter(COLUMNS_PARAMETERS(DECLARE, COMMA),
                                        SCATTER_PARAMETERS(DECLARE, COMMA))
{
    OWN_ENTRIES;
#if ITEMS > 1
    COUNT_DIGITS;
#endif
    for (int digit = item; digit < n_digits; digit += ITEMS) {
#if ITEMS > 1
        find_places(counters + digit * PITCH, table[digit * n_groups + group]);
#else
        counters[digit] = table[digit * n_groups + group];
#endif
    }
    ALL_PASS;

    global const OFFSET *const row_starts = offsets + offsets_start;
    int row = is_first && first < stop ? row_of_entry(row_starts, n_rows, first) : 0;
    for (long e = first; e < stop; ++e) {
        const int column = COLUMN_AT(e);
        const long place = counters[COUNTER_OF(column)]++;
        const OFFSET from = is_first ? (OFFSET)e : wide[sources_in + e];
        row = is_first ? row_at_or_after(row, row_starts, n_rows, e) : whole[rows_in + e];
        whole[columns_out + place] = column;
        if (!is_last) {
            whole[rows_out + place] = row;
            wide[sources_out + place] = from;
            continue;
        }
        t_indices[t_indices_start + place] = (T_INDEX)row;
        if (has_values)
            t_values[t_values_start + place] = values[values_start + from];
        if (has_source)
            source[source_start + place * source_stride] = from;
    }
}

// Items have adjacent columns, so that they write adjacent offsets.
kernel GROUP void csr_transpose_offsets(OFFSETS_PARAMETERS(DECLARE, COMMA))
{
    const int item = get_local_id(0);
    const long group = get_group_id(0);
    const long first = group * ITEMS * run + item, stop = min((group + 1) * ITEMS * run, n_offsets);
    long low = 0;
    for (long column = first; column < stop; column += ITEMS) {
        low = first_from(whole + columns_in, low, nnz, column);
        t_offsets[t_offsets_start + column] = (T_OFFSET)low;
    }
}
