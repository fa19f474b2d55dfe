// SPDX-License-Identifier: Apache-2.0
// Offsets of all rows (CSR), and of those that have entries (DCSR).
//
// A group has ITEMS x run adjacent rows, ITEMS at a time.
//
//   dcsr_flags    1 for each row that has entries
//   (running sums of the flags: places of the stored rows)
//   dcsr_rows     number and offset of each stored row
//   dcsr_offsets  offsets of all rows again
#include "base/types.clh"

#include "base/parameters.clh"
#include "convert/dcsr_parameters.h"
#include "op/scan.clh"
#include "operand/rows.clh"

#ifndef D_OFFSET // of stored rows: int or long
#define D_OFFSET int
#endif

kernel GROUP void dcsr_flags(FLAGS_PARAMETERS(DECLARE, COMMA))
{
    ROWS_OF_GROUP(ITEMS * run, n);
    for (long row = first_row + item; row < last_row; row += ITEMS)
        flags[row] = offsets[offsets_start + row] < offsets[offsets_start + row + 1];
}

kernel GROUP void dcsr_rows(ROWS_PARAMETERS(DECLARE, COMMA))
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

kernel GROUP void dcsr_offsets(OFFSETS_PARAMETERS(DECLARE, COMMA))
{
    ROWS_OF_GROUP(ITEMS * run, n);
    long low = 0;
    for (long row = first_row + item; row < last_row; row += ITEMS) {
        low = first_from(rows + rows_start, low, n_stored, row);
        offsets[offsets_start + row] = (OFFSET)d_offsets[d_offsets_start + low];
    }
}
