// SPDX-License-Identifier: Apache-2.0
// The entries of C = A B, from C's offsets: see spgemm.clh. A sweep over a row's products marks
// their columns. It adds them up, too, where each column has a sum; else further sweeps do so, each
// for as many entries as there is room for. One item sorts the products of a row that has few, and
// adds them up in that order.
#include "sparse/spgemm.clh"

#if ITEMS == 1
#include "sparse/spgemm_sorted.clh"
#endif

#ifndef C_INDEX // of C; its offsets are NUMBER
#define C_INDEX int
#endif

// Entry i of a row is element place + i of C; nothing is written from `stop` on, where the next row
// begins.
typedef struct {
    global C_INDEX *indices;
    global T *values;
    long place, stop;
} entries;

// Sums start at -0, so that the first product does not change. Compensations have a loop of their
// own: in one loop a CPU would store them under a mask, and where it is empty and the page not
// there, the store takes a hundred times as long.
INLINE void clear_sums(const stretch *s, int n, int item)
{
    for (int i = item; i < n; i += ITEMS)
        s->sums[i] = -(ACC)0;
    for (int i = s->has_compensations ? item : n; i < n; i += ITEMS)
        s->sums[s->room + i] = 0;
}

// How many of a stretch's entries precede this item's; 0 of an old stretch. For several items, also
// how many there are. All items pass.
INLINE int entries_before(const stretch *s, bool is_new, item_group group, NUMBER *total)
{
#if ITEMS == 1
    return 0;
#else
    const int item = group.item;
    WORDS_OF_ITEM;
    NUMBER n = 0;
    for (int w = first; w < last && is_new; ++w)
        n += (NUMBER)popcount(s->marks[w]);
    return (int)sum_before(n, item, group.nodes, total);
#endif
}

// Writes indices of this item's entries, which n entries precede, and their values where each
// column has a sum, or else the words' ranks. Returns how many entries precede the next item's.
INLINE int put_indices(const stretch *s, int n, entries to, int item)
{
    WORDS_OF_ITEM;
    EACH_MARKED_WORD(w)
    {
        if (!s->has_sums)
            s->ranks[w] = n;
        for (mark_word left = s->marks[w]; left != 0; left &= left - 1, ++n) {
            const int c = w * WORD + lowest_of(left);
            const long at = to.place + n;
            if (at >= to.stop)
                continue;
            to.indices[at] = (C_INDEX)(s->from + c);
            if (s->has_sums)
                store_one(sum_at(s, c), to.values + at);
        }
    }
    return n;
}

// Writes values of entries that have ranks and now sums.
INLINE void put_values(const stretch *s, entries to, int item)
{
    const long place = to.place + s->first;
    for (int i = item; i < s->n_sums && place + i < to.stop; i += ITEMS)
        store_one(sum_at(s, i), to.values + place + i);
}

// A sweep. For one item there is a loop for each purpose; for several it would compile too long.
INLINE int sweep_row_to(int purpose, const factors *f, long row, const stretch *s, item_group group)
{
#if ITEMS == 1
    if (purpose == TO_MARK)
        return sweep_row(f, row, s, TO_MARK, group);
    if (purpose == TO_SUM)
        return sweep_row(f, row, s, TO_SUM, group);
    return sweep_row(f, row, s, TO_BOTH, group);
#else
    return sweep_row(f, row, s, purpose, group);
#endif
}

// Writes the entries of columns first .. last - 1 of a row: one stretch after the other, each in
// one sweep that marks columns and further ones for as many sums as there is room for, unless each
// column has one. All items pass. All sweeps are one call, so that it compiles quickly.
INLINE void fill_range(const factors *f, long row, int n_products, int first, int last, int room,
                       stretch *s, entries to, item_group group)
{
    int from = first, next = first, n = 0;
    s->n_sums = 0;
    s->has_compensations = has_long_sums(f, row, room);
    s->room = s->has_compensations ? room / 2 : room;
    while (from < last) {
        const bool is_new = s->n_sums == 0;
        if (is_new)
            begin_stretch(s, from, last, n_products);
        clear_sums(s, s->has_sums ? s->width : s->n_sums, group.item);
        const int purpose = s->has_sums ? TO_BOTH : TO_MARK;
        const int beyond = sweep_row_to(is_new ? purpose : TO_SUM, f, row, s, group);
        NUMBER total = 0;
        const int before = entries_before(s, is_new, group, &total);
        if (is_new) {
            next = beyond;
            n = put_indices(s, before, to, group.item);
            n = ITEMS > 1 ? (int)total : n;
            s->first = s->has_sums ? n : 0;
        } else {
            put_values(s, to, group.item);
            s->first += s->n_sums;
        }
        s->n_sums = min(s->room, n - s->first);
        if (s->n_sums == 0) {
            count_and_clear(s, group.item);
            to.place += n;
            from = next;
        }
        ALL_PASS; // before an item clears sums that others write
    }
}

#if ITEMS == 1
// Writes the entries of a row of n sorted products.
INLINE void put_sorted(const products *p, int n, entries to)
{
    long at = to.place - 1;
    uint column = UINT_MAX;
    ACC sum = 0;
    for (int i = 0; i < n; ++i) {
        const uint key = p->keys[i], number = key & ((1U << p->bits) - 1);
        const bool is_new = i == 0 || key >> p->bits != column;
        column = key >> p->bits;
        at += is_new ? 1 : 0;
        sum = multiply_add(p->a[number], p->b[number], is_new ? -(ACC)0 : sum);
        if (at < to.stop) {
            to.indices[at] = (C_INDEX)column;
            store_one(sum, to.values + at);
        }
    }
}

// Writes the entries of a row of n products, 2^bits at most; products and keys lie where sums and
// ranks of other rows do. Returns false where C has fewer columns from the row's first, *first, to
// before *last, so that sums for all of them are faster.
INLINE bool fill_few(const factors *f, long row, int n, int bits, const stretch *s, entries to,
                     int *first, int *last)
{
    products p = {
        .keys = (local uint *)s->ranks, .a = s->sums, .b = s->sums + (1 << bits), .bits = bits};
    gather_products(f, row, &p);
    *first = p.first;
    *last = p.last + 1;
    if (p.last - p.first < n)
        return false;
    sort_keys(p.keys, (n + KEYS - 1) / KEYS);
    put_sorted(&p, n, to);
    return true;
}

// Whether a row's products are sorted: they are few, also for the columns, and its sums are plain.
INLINE bool is_sorted(const factors *f, long row, int n_products, int n_cols, int sorted, int room)
{
    return n_products > 0 && n_products <= sorted &&
           n_cols > COLUMNS_PER_PRODUCT * (long)n_products && !has_long_sums(f, row, room);
}
#endif

#define SPARSE_C                                                                                   \
    OFFSETS(SOLE_IN), MARKS, SUMS_PARAMETERS(DECLARE, COMMA), ENTRIES_PARAMETERS(DECLARE, COMMA)

// The entries of a row after the first `before`.
#define ENTRIES(row, before)                                                                       \
    {                                                                                              \
        c_indices + c_indices_start, c_values + c_values_start,                                    \
            c_offsets[c_offsets_start + (row)] + (before), c_offsets[c_offsets_start + (row) + 1]  \
    }

kernel GROUP void spgemm_fill(FILL_PARAMETERS(DECLARE, COMMA), FACTORS, LEFT(IN), NOTES, SPARSE_C)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    GET_ITEM_GROUP(item);
    stretch s = new_stretch(n_cols, marks, words, ranks, sums, columns, item);
    const long last_left_row = LAST_LEFT_ROW;
    for (long row = first_row; row < last_left_row; ++row) {
        const int n_products = products_of_row(&f, row, group);
        fetch_row(&f, row + 1, last_row, true);
        const bool is_theirs = is_of_others(notes + notes_start, most_noted, row,
                                            is_sorted_by_group(&f, row, n_products, sorted),
                                            IS_LONG(n_products), group);
        const entries to = ENTRIES(row, 0);
        int first = is_theirs ? n_cols : 0, last = n_cols;
#if ITEMS == 1
        const bool is_few = !is_theirs && is_sorted(&f, row, n_products, n_cols, sorted, columns);
        const int bits = 31 - (int)clz(sorted);
        if (is_few && fill_few(&f, row, n_products, bits, &s, to, &first, &last))
            continue;
#endif
        fill_range(&f, row, n_products, first, last, columns, &s, to, group);
    }
}

#if SHARED
// A group has one chunk of each noted row.
kernel GROUP void spgemm_fill_long(FILL_LONG_PARAMETERS(DECLARE, COMMA), FACTORS, NOTES, COUNTS(IN),
                                   SPARSE_C)
{
    const int number = get_group_id(0);
    const int first = (int)(number * chunk), last = (int)min(first + chunk, (long)n_cols);
    GET_FACTORS;
    GET_ITEM_GROUP(get_local_id(0));
    stretch s = new_stretch(last - first, marks, words, ranks, sums, columns, group.item);
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        global const NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        const entries to = ENTRIES(row, sum_of_chunks(of_row, number, group));
        fill_range(&f, row, MOST_PRODUCTS, first, last, columns, &s, to, group);
    }
}
#endif
