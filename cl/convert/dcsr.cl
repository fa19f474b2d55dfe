// SPDX-License-Identifier: Apache-2.0
// Offsets of all rows (CSR), and of those that have entries (DCSR).
//
// A group has ITEMS x run adjacent rows, ITEMS at a time.
//
//   dcsr_flags    1 for each row that has entries
//   (running sums of that: where each of them goes)
//   dcsr_rows     its number and its offset
//   dcsr_offsets  offsets of all rows again
#include "base/types.clh"

#include "operand/rows.clh"
#include "op/scan.clh"

#ifndef D_OFFSET // of stored rows: int or long
#define D_OFFSET int
#endif

kernel GROUP void dcsr_flags(long n, long run, global const OFFSET *restrict offsets,
                             long offsets_start, global int *restrict flags)
{
    ROWS_OF_GROUP(ITEMS * run, n);
    for (long row = first_row + item; row < last_row; row += ITEMS)
        flags[row] = offsets[offsets_start + row] < offsets[offsets_start + row + 1];
}

// places[row]: how many rows with entries come before it.
kernel GROUP void dcsr_rows(long n, long run, global const OFFSET *restrict offsets,
                            long offsets_start, global const int *restrict places, long n_stored,
                            global int *restrict rows, long rows_start,
                            global D_OFFSET *restrict d_offsets, long d_offsets_start)
{
    ROWS_OF_GROUP(ITEMS * run, n);
    for (long row = first_row + item; row < last_row; row += ITEMS) {
        const OFFSET begin = offsets[offsets_start + row];
        const int place = places[row];
        if (begin < offsets[offsets_start + row + 1] && place < n_stored) {
            rows[rows_start + place] = (int)row;
            d_offsets[d_offsets_start + place] = (D_OFFSET)begin;
        }
    }
    if (item == 0 && first_row == 0)
        d_offsets[d_offsets_start + n_stored] = (D_OFFSET)offsets[offsets_start + n];
}

// n: one more than there are rows.
kernel GROUP void dcsr_offsets(long n, long run, global const int *restrict rows, long rows_start,
                               long n_stored, global const D_OFFSET *restrict d_offsets,
                               long d_offsets_start, global OFFSET *restrict offsets,
                               long offsets_start)
{
    ROWS_OF_GROUP(ITEMS * run, n);
    long low = 0;
    for (long row = first_row + item; row < last_row; row += ITEMS) {
        low = first_from(rows + rows_start, low, n_stored, row);
        offsets[offsets_start + row] = (OFFSET)d_offsets[d_offsets_start + low];
    }
}
