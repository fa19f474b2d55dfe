// SPDX-License-Identifier: Apache-2.0
// How many entries each row of C = A B has: see spgemm.clh.
#include "sparse/spgemm.clh"

#if ITEMS == 1
// Counts the entries of a stretch while it marks them, in words *first to *last. Returns what
// sweep_row() does.
INLINE int count_and_mark(const factors *f, long row, const stretch *s, NUMBER *n, int *first,
                          int *last)
{
    int next = NO_COLUMN;
    const long stop = f->a_offsets[row + 1];
    for (long e = f->a_offsets[row]; e < stop; ++e) {
        const int inner = f->a_indices[e];
        const long b_stop = f->b_offsets[inner + 1];
        for (long g = f->b_offsets[inner]; g < b_stop; ++g) {
            const int column = f->b_indices[g], c = column - s->from;
            if (c >= s->width) {
                next = min(next, column);
            } else if (c >= 0) {
                const int w = (int)((uint)c / WORD);
                const mark_word before = s->marks[w];
                *n += (before & mark_of(c)) == 0 ? 1 : 0;
                s->marks[w] = before | mark_of(c);
                if (before == 0) {
                    *first = min(*first, w);
                    *last = max(*last, w);
                }
            }
        }
    }
    return next;
}

// Clears the words of a row's products.
INLINE void clear_products(const factors *f, long row, const stretch *s)
{
    const long stop = f->a_offsets[row + 1];
    for (long e = f->a_offsets[row]; e < stop; ++e) {
        const int inner = f->a_indices[e];
        const long b_stop = f->b_offsets[inner + 1];
        for (long g = f->b_offsets[inner]; g < b_stop; ++g) {
            const int c = f->b_indices[g] - s->from;
            if (c >= 0 && c < s->width)
                s->marks[(uint)c / WORD] = 0;
        }
    }
}

// For a row with fewer products than words. Those that have marks are cleared one after the other
// where they are close together.
INLINE int count_few(const factors *f, long row, int n_products, const stretch *s, NUMBER *n)
{
    int first = INT_MAX, last = -1;
    const int next = count_and_mark(f, row, s, n, &first, &last);
    if (last - first >= n_products)
        clear_products(f, row, s);
    else
        for (int w = first; w <= last; ++w)
            s->marks[w] = 0;
    return next;
}
#endif

// Adds the entries of a stretch to *n, those that this item counts. Returns what sweep_row() does.
INLINE int count_stretch(const factors *f, long row, int n_products, const stretch *s, NUMBER *n,
                         item_group group)
{
#if ITEMS == 1
    if (s->has_tops)
        return count_few(f, row, n_products, s, n);
#endif
    const int next = sweep_row(f, row, s, TO_MARK, group);
    *n += count_and_clear(s, group.item);
    return next;
}

kernel GROUP void spgemm_count(COUNT_PARAMETERS(DECLARE, COMMA), FACTORS, LEFT(IN), NOTES,
                               OFFSETS(SOLE_OUT), MARKS)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    GET_ITEM_GROUP(item);
    stretch s = new_stretch(n_cols, marks, words, 0, 0, 0, item);
    const long last_left_row = LAST_LEFT_ROW;
    for (long row = first_row; row < last_left_row; ++row) {
        const int n_products = products_of_row(&f, row, group);
        fetch_row(&f, row + 1, last_row, false);
        const bool is_theirs = is_of_others(notes + notes_start, most_noted, row,
                                            is_sorted_by_group(&f, row, n_products, sorted),
                                            IS_LONG(n_products), group);
        NUMBER n = 0, total;
        for (int from = is_theirs ? n_cols : 0; from < n_cols;) {
            begin_stretch(&s, from, n_cols, n_products);
            from = count_stretch(&f, row, n_products, &s, &n, group);
        }
        sum_before(n, item, nodes, &total);
        if (item == 0 && !is_theirs)
            c_offsets[c_offsets_start + row] = total;
    }
}

#if SHARED
// How many of the words' bits are set. All items pass.
INLINE NUMBER count_marks(local const mark_word *words, int n_words, item_group group)
{
    NUMBER n = 0, total;
    for (int i = group.item; i < n_words; i += ITEMS)
        n += (NUMBER)popcount(words[i]);
    sum_before(n, group.item, group.nodes, &total);
    return total;
}

// A group has `share` chunks of each noted row.
kernel GROUP void spgemm_count_long(COUNT_LONG_PARAMETERS(DECLARE, COMMA), FACTORS, NOTES,
                                    COUNTS(OUT), MARKS)
{
    const int item = get_local_id(0);
    const long first = get_group_id(0) * share * chunk;
    const int last = (int)min(first + share * chunk, (long)n_cols);
    GET_FACTORS;
    GET_ITEM_GROUP(item);
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        global NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        stretch s = {0};
        for (int from = (int)first; from < last; from += s.width) {
            s = new_stretch(last - from, marks, words, 0, 0, 0, item);
            begin_stretch(&s, from, last, MOST_PRODUCTS);
            sweep_row(&f, row, &s, TO_MARK, group);
            const long end = (long)from + s.width;
            for (long i_chunk = from / chunk; i_chunk * chunk < end; ++i_chunk) {
                const long begin = max(i_chunk * chunk, (long)from);
                const long stop = min((i_chunk + 1) * chunk, end);
                const NUMBER n = count_marks(marks + (begin - from) / WORD,
                                             words_of((int)(stop - begin)), group);
                if (item == 0)
                    of_row[i_chunk] = n + (begin > i_chunk * chunk ? of_row[i_chunk] : 0);
            }
        }
    }
}

kernel GROUP void spgemm_join_long(JOIN_LONG_PARAMETERS(DECLARE, COMMA), NOTES, COUNTS(IN),
                                   OFFSETS(SOLE_OUT))
{
    GET_ITEM_GROUP(get_local_id(0));
    EACH_NOTED_ROW(i)
    {
        global const NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        const NUMBER n = sum_of_chunks(of_row, n_chunks, group);
        if (group.item == 0)
            c_offsets[c_offsets_start + notes[notes_start + 1 + i]] = n;
    }
}
#endif
