// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C, with a dense C: see spgemm.clh. Each column has a sum; that of a long row
// is of LONG_SUM entries at a time, and added to a total after the `room` sums of a stretch.
#include "sparse/spgemm.clh"

#ifndef COLUMNS_ADJACENT // C has stride 1 along its rows
#define COLUMNS_ADJACENT 1
#endif

#define DENSE_C ELEMENTS_PARAMETERS(DECLARE, COMMA)

// Column c of a row of C is C[c * step].
typedef struct {
    global T *C;
    long step;
    ACC alpha, beta;
} dense_row;

#define DENSE_ROW(row)                                                                             \
    {                                                                                              \
        C + c_start + (row)*c_row, c_column, alpha, beta                                           \
    }

// x + beta C in one column; beta == 0 never reads C.
INLINE void put_element(const dense_row to, int column, ACC x)
{
    global T *p = to.C + (COLUMNS_ADJACENT ? column : column * to.step);
    store_one(to.beta != 0 ? multiply_add(to.beta, load_one(p), x) : x, p);
}

// Adds the sums of a row chunk to the totals.
INLINE void add_row_chunk(const stretch *s, int item)
{
    for (int c = item; c < s->width; c += ITEMS) {
        s->sums[s->room + c] += s->sums[c];
        s->sums[c] = 0;
    }
}

// Writes all sums of a stretch. -0 becomes 0, as outside of the stretch.
INLINE void put_sums(const dense_row to, const stretch *s, local const ACC *sums, int item)
{
    for (int c = item; c < s->width; c += ITEMS) {
        const ACC sum = sums[c];
        put_element(to, s->from + c, sum != 0 ? to.alpha * sum : 0);
    }
}

// Writes columns first .. last - 1 with sums of 0.
INLINE void put_nothing(const dense_row to, int first, int last, int item)
{
    for (int left = last - first - item; left > 0; left -= ITEMS)
        put_element(to, last - left, 0);
}

// Computes columns first .. last - 1, at most `most` at a time, with room for `all` sums. A column
// is cleared, summed and written by the same item. All items pass.
INLINE void put_range(const factors *f, long row, int first, int last, int most, int all,
                      local ACC *sums, const dense_row to, item_group group)
{
    if (to.alpha == 0) {
        put_nothing(to, first, last, group.item);
        return;
    }
    const bool in_row_chunks = has_long_sums(f, row, all);
    const int room = in_row_chunks ? all / 2 : all;
    local ACC *const totals = in_row_chunks ? sums + room : sums;
    int from = first;
    while (from < last) {
        const stretch s = {
            .from = from, .width = min(min(most, room), last - from), .room = room, .sums = sums};
        for (int c = group.item; c < s.width; c += ITEMS)
            sums[c] = totals[c] = 0;
        int next = last;
        // The offsets are read again each time: Intel's Max 1550 has no registers left for them.
        for (long e = f->a_offsets[row]; e < f->a_offsets[row + 1]; e += LONG_SUM) {
            const long stop = min(e + LONG_SUM, (long)f->a_offsets[row + 1]);
            next = min(next, sweep_entries(f, e, stop, &s, TO_DENSE, group));
            if (in_row_chunks)
                add_row_chunk(&s, group.item);
        }
        put_sums(to, &s, totals, group.item);
        put_nothing(to, s.from + s.width, next, group.item);
        from = next;
    }
}

kernel GROUP void spgemm_dense(DENSE_PARAMETERS(DECLARE, COMMA), FACTORS, NOTES, DENSE_C)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    GET_ITEM_GROUP(item);
    const long last_product_row = alpha != 0 ? last_row : first_row;
    for (long row = first_row; row < last_row; ++row) {
        const dense_row to = DENSE_ROW(row);
        const int n_products = alpha != 0 ? products_of_row(&f, row, group) : 0;
        fetch_row(&f, row + 1, last_product_row, true);
        const bool is_theirs =
            is_of_others(notes + notes_start, most_noted, row, false, IS_LONG(n_products), group);
        if (!is_theirs) // not an empty range, for which one compiler runs out of registers
            put_range(&f, row, 0, n_cols, width_for(n_products, n_cols, columns, 1), columns, sums,
                      to, group);
    }
}

#if SHARED
// A group has one chunk of each noted row.
kernel GROUP void spgemm_dense_long(DENSE_LONG_PARAMETERS(DECLARE, COMMA), FACTORS, NOTES, DENSE_C)
{
    const int first = (int)(get_group_id(0) * chunk), last = (int)min(first + chunk, (long)n_cols);
    GET_FACTORS;
    GET_ITEM_GROUP(get_local_id(0));
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        const dense_row to = DENSE_ROW(row);
        put_range(&f, row, first, last, columns, columns, sums, to, group);
    }
}
#endif
