// SPDX-License-Identifier: Apache-2.0
// C = A B, A and B sparse by rows (CSR), C too; or C = alpha A B + beta C with a dense C.
//
// A group goes through `rows` rows of C, one after the other; rows of many products are noted, and
// several groups share each of them, a stretch of `chunk` columns for each. A row's products are
// gone through for some adjacent columns of C at a time, which stand in local memory; the next ones
// begin where the next product is.
//
// Items have products side by side: those of ITEMS entries of A, one row of B after the other. To
// count, an item sets a bit for its product's column. To sum up, the items put their products down,
// and item i takes those of every ITEMS-th column, so that each column is summed by one item, in
// the order of A's entries.
//
//   spgemm_start       no row is noted
//   spgemm_count       entries of each row of C that is not noted
//   spgemm_count_long  entries of each stretch of noted rows
//   spgemm_join_long   entries of each noted row
//   (running sums of that: the offsets)
//   spgemm_fill        the entries, by rising columns, of rows that are not noted
//   spgemm_fill_long   those of noted rows, after spgemm_count_long
//   spgemm_dense       rows of a dense C that are not noted
//   spgemm_dense_long  noted rows
#define FOLD 1 // columns are summed one by one
#include "types.clh"

#include "rows.clh"
#include "scan.clh"
#include "stretches.clh"

#ifndef B_OFFSET // of B: int or long
#define B_OFFSET int
#endif
#ifndef B_INDEX // int or short
#define B_INDEX int
#endif
#ifndef C_INDEX // of C; its offsets are NUMBER
#define C_INDEX int
#endif
#ifndef COLUMNS_ADJACENT // a dense C has stride 1 along its rows
#define COLUMNS_ADJACENT 1
#endif
#ifndef WORD // marks in an int where entries are counted
#define WORD 32
#endif
#ifndef LEAST // columns or words of marks that a row is given, where there are so many
#define LEAST 256
#endif
#ifndef ROOM // and for each of its products
#define ROOM 4
#endif
#ifndef MOST_PRODUCTS // of a row or an item, that make a difference
#define MOST_PRODUCTS (1 << 18)
#endif
#ifndef ROWS_AT_ONCE // noted rows that have groups of their own
#define ROWS_AT_ONCE 32
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
    global const OFFSET *restrict a_offsets, long a_offsets_start,                                 \
        global const INDEX *restrict a_indices, long a_indices_start,                              \
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

// What the items of a group tell each other: of an entry of A each, and of a product each.
typedef struct {
    long starts[ITEMS],
        ends[ITEMS];    // product p of the tile is entry starts[i] + p of B, where i is
                        // the first entry with p < ends[i]
    ACC factors[ITEMS]; // values of A
    int columns[ITEMS]; // from the stretch's first one on; -1 for none
    ACC a[ITEMS], b[ITEMS];
} exchange;

// ---- products of a row

// Columns from `from` on, `width` of them: to count, a bit for each in words of marks; to sum up, a
// mark and a sum, or for a dense row a sum alone, which begins at 0.
typedef struct {
    int from, width;
    local int *marks;
    local ACC *sums;
    bool is_dense;
} stretch;

INLINE void add_product(const stretch *s, int c, ACC a, ACC b)
{
    if (s->is_dense) {
        s->sums[c] = multiply_add(a, b, s->sums[c]);
        return;
    }
    s->sums[c] = s->marks[c] ? multiply_add(a, b, s->sums[c]) : a * b;
    s->marks[c] = 1;
}

#if ITEMS > 1
// The next ITEMS entries of A, from `tile` on. How many products they have. All items pass.
INLINE long stage_entries(const factors *f, long tile, long stop, int item, bool with_sums,
                          local exchange *x)
{
    const long e = tile + item;
    long start = 0, length = 0, before = 0, total = 0;
    if (e < stop) {
        const int inner = f->a_indices[e];
        start = f->b_offsets[inner];
        length = f->b_offsets[inner + 1] - start;
        if (with_sums)
            x->factors[item] = load_one(f->a_values + e);
    }
    x->ends[item] = length;
    ALL_PASS;
    for (int i = 0; i < ITEMS; ++i) {
        before += i < item ? x->ends[i] : 0;
        total += x->ends[i];
    }
    ALL_PASS;
    x->starts[item] = start - before;
    x->ends[item] = before + length;
    ALL_PASS;
    return total;
}

// Which of the entries product p is of.
INLINE int entry_of_product(local const exchange *x, long p)
{
    int entry = 0;
    for (int step = ITEMS / 2; step > 0; step /= 2)
        entry += x->ends[entry + step - 1] <= p ? step : 0;
    return entry;
}

// The products that have been put down, each column's by one item.
INLINE void add_products(const stretch *s, int item, local const exchange *x)
{
    for (int i = 0; i < ITEMS; ++i) {
        const int c = x->columns[i];
        if (c >= 0 && c % ITEMS == item)
            add_product(s, c, x->a[i], x->b[i]);
    }
}

// Marks the columns that the row has products in and, with sums, adds these up. The least column
// behind the stretch that has one; n_cols where there is none. All items pass.
INLINE int sweep_row(const factors *f, long row, int n_cols, const stretch *s, int item,
                     bool with_sums, local exchange *x)
{
    int next = n_cols;
    const long stop = f->a_offsets[row + 1];
    for (long tile = f->a_offsets[row]; tile < stop; tile += ITEMS) {
        const long n = stage_entries(f, tile, stop, item, with_sums, x);
        for (long first = 0; first < n; first += ITEMS) {
            const long p = first + item;
            int c = -1;
            if (p < n) {
                const int entry = entry_of_product(x, p);
                const long g = x->starts[entry] + p;
                const int column = f->b_indices[g];
                c = column - s->from;
                if (c >= s->width) {
                    next = min(next, column);
                    c = -1;
                }
                if (with_sums && c >= 0) {
                    x->a[item] = x->factors[entry];
                    x->b[item] = load_one(f->b_values + g);
                }
                if (!with_sums && c >= 0)
                    atomic_or(s->marks + c / WORD, 1 << c % WORD);
            }
            if (!with_sums)
                continue;
            x->columns[item] = c;
            ALL_PASS;
            add_products(s, item, x);
            ALL_PASS;
        }
        ALL_PASS; // before anybody puts down the next entries
    }
    x->columns[item] = next;
    ALL_PASS;
    for (int i = 0; i < ITEMS; ++i)
        next = min(next, x->columns[i]);
    ALL_PASS;
    return next;
}
#else
INLINE int sweep_row(const factors *f, long row, int n_cols, const stretch *s, int item,
                     bool with_sums, local exchange *x)
{
    int next = n_cols;
    const long stop = f->a_offsets[row + 1];
    for (long e = f->a_offsets[row]; e < stop; ++e) {
        const int inner = f->a_indices[e];
        const long b_stop = f->b_offsets[inner + 1];
        for (long g = f->b_offsets[inner]; g < b_stop; ++g) {
            const int column = f->b_indices[g], c = column - s->from;
            if (c >= s->width)
                next = min(next, column);
            else if (c >= 0 && with_sums)
                add_product(s, c, load_one(f->a_values + e), load_one(f->b_values + g));
            else if (c >= 0)
                s->marks[c / WORD] |= 1 << c % WORD;
        }
    }
    return next;
}
#endif

INLINE void clear_marks(local int *marks, int n, int item)
{
    for (int i = item; i < n; i += ITEMS)
        marks[i] = 0;
    ALL_PASS;
}

// No more than make a difference. All items pass.
INLINE int products_of_row(const factors *f, long row, int item, local NUMBER *nodes)
{
    long n = 0;
    const long stop = f->a_offsets[row + 1];
    for (long e = f->a_offsets[row] + item; e < stop && n < MOST_PRODUCTS; e += ITEMS) {
        const int inner = f->a_indices[e];
        n += f->b_offsets[inner + 1] - f->b_offsets[inner];
    }
    NUMBER total;
    sum_before((NUMBER)min(n, (long)MOST_PRODUCTS), item, nodes, &total);
    return (int)total;
}

// Columns of a row that are gone through at a time, of n columns and `most` at most, where there is
// a word for `columns_of_word` of them.
INLINE int width_for(int products, int n, int most, int columns_of_word)
{
    const long wanted = max((long)products * ROOM, (long)LEAST) * columns_of_word;
    return (int)min(n <= ROOM * wanted ? (long)n : wanted, (long)most);
}

// How many of n columns are gone through first: all of them, or none where one stretch may not hold
// them; then `most` from the first product on.
INLINE int first_width(int n, int most)
{
    return n <= most ? n : 0;
}

// ---- noted rows

// How many rows are noted, or should have been; then `most_noted` of them.
#define NOTES global int *notes, long notes_start, int most_noted

kernel GROUP void spgemm_start(NOTES)
{
    if (get_local_id(0) == 0)
        notes[notes_start] = 0;
}

// Whether a long row is left to several groups. All items pass.
INLINE bool note_row(global int *notes, int most_noted, long row, bool is_long, int item,
                     local NUMBER *nodes)
{
    if (item == 0) {
        const int at = is_long ? atomic_inc(notes) : most_noted;
        if (at < most_noted)
            notes[1 + at] = (int)row;
        nodes[0] = at;
    }
    ALL_PASS;
    const bool is_noted = nodes[0] < most_noted;
    ALL_PASS;
    return is_noted;
}

#define IS_LONG(n_products) (long_from > 0 && (n_products) >= long_from)

// One after the other of the noted rows that are this group's, which is one of ROWS_AT_ONCE.
#define EACH_NOTED_ROW(i)                                                                          \
    const int n_noted = min(notes[notes_start], most_noted);                                       \
    for (int i = GROUP_ALONG_Y(1); i < n_noted; i += ROWS_AT_ONCE)

// ---- how many entries

// How many of the words' bits are set. All items pass.
INLINE NUMBER count_marks(local const int *words, int n_words, int item, local NUMBER *nodes)
{
    NUMBER n = 0, total;
    for (int i = item; i < n_words; i += ITEMS)
        n += popcount(words[i]);
    sum_before(n, item, nodes, &total);
    return total;
}

INLINE int words_of(int columns)
{
    return columns / WORD + (columns % WORD > 0);
}

kernel GROUP void spgemm_count(long n_rows, int n_cols, long rows, int columns, int long_from,
                               FACTORS, NOTES, global NUMBER *restrict c_offsets,
                               long c_offsets_start, local int *marks)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    local exchange x;
    for (long row = first_row; row < last_row; ++row) {
        const int n_products = products_of_row(&f, row, item, nodes);
        const bool is_noted =
            note_row(notes + notes_start, most_noted, row, IS_LONG(n_products), item, nodes);
        const int most = width_for(n_products, n_cols, columns, WORD);
        int from = is_noted ? n_cols : 0, width = first_width(n_cols, most);
        NUMBER n = 0;
        while (from < n_cols) {
            const stretch s = {from, width, marks, 0, false};
            clear_marks(marks, words_of(width), item);
            const int next = sweep_row(&f, row, n_cols, &s, item, false, &x);
            n += count_marks(marks, words_of(width), item, nodes);
            from = next < n_cols ? next - next % WORD : n_cols;
            width = min(most, n_cols - from);
        }
        if (item == 0 && !is_noted)
            c_offsets[c_offsets_start + row] = n;
    }
}

// A group has `share` chunks of each noted row; counts are [noted row][chunk].
kernel GROUP void spgemm_count_long(int n_cols, long chunk, long share, int n_chunks, int columns,
                                    FACTORS, NOTES, global NUMBER *counts, long counts_start,
                                    local int *marks)
{
    const int item = get_local_id(0);
    const long first = get_group_id(0) * share * chunk;
    const int last = (int)min(first + share * chunk, (long)n_cols);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    local exchange x;
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        global NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        for (int from = (int)first; from < last; from += min(columns, last - from)) {
            const stretch s = {from, min(columns, last - from), marks, 0, false};
            clear_marks(marks, words_of(s.width), item);
            sweep_row(&f, row, n_cols, &s, item, false, &x);
            const long end = (long)from + s.width;
            for (long i_chunk = from / chunk; i_chunk * chunk < end; ++i_chunk) {
                const long begin = max(i_chunk * chunk, (long)from);
                const long stop = min((i_chunk + 1) * chunk, end);
                const NUMBER n = count_marks(marks + (begin - from) / WORD,
                                             words_of((int)(stop - begin)), item, nodes);
                if (item == 0)
                    of_row[i_chunk] = n + (begin > i_chunk * chunk ? of_row[i_chunk] : 0);
            }
        }
    }
}

// Entries of n chunks. All items pass.
INLINE NUMBER sum_of_chunks(global const NUMBER *counts, int n, int item, local NUMBER *nodes)
{
    NUMBER sum = 0, total;
    for (int i = item; i < n; i += ITEMS)
        sum += counts[i];
    sum_before(sum, item, nodes, &total);
    return total;
}

kernel GROUP void spgemm_join_long(int n_chunks, NOTES, global const NUMBER *counts,
                                   long counts_start, global NUMBER *restrict c_offsets,
                                   long c_offsets_start)
{
    const int item = get_local_id(0);
    local NUMBER nodes[2 * ITEMS];
    EACH_NOTED_ROW(i)
    {
        global const NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        const NUMBER n = sum_of_chunks(of_row, n_chunks, item, nodes);
        if (item == 0)
            c_offsets[c_offsets_start + notes[notes_start + 1 + i]] = n;
    }
}

// ---- entries

typedef struct {
    global C_INDEX *indices;
    global T *values;
} entries;

// Nothing is written from `stop` on, where the next row begins. All items pass.
INLINE long fill_columns(const stretch *s, int item, local NUMBER *nodes, const entries *to,
                         long place, long stop)
{
    for (int tile = 0; tile < s->width; tile += ITEMS) {
        const int c = tile + item;
        const bool is_entry = c < s->width && s->marks[c];
        NUMBER total;
        const long at = place + sum_before(is_entry, item, nodes, &total);
        if (is_entry && at < stop) {
            to->indices[at] = (C_INDEX)(s->from + c);
            store_one(s->sums[c], to->values + at);
        }
        place += total;
    }
    return place;
}

// The entries of columns first .. last - 1, at most `most` at a time. All items pass.
INLINE void fill_range(const factors *f, long row, int n_cols, int first, int last, int most,
                       int item, local int *marks, local ACC *sums, local NUMBER *nodes,
                       local exchange *x, const entries *to, long place, long stop)
{
    int from = first, width = first_width(last - first, most);
    while (from < last) {
        const stretch s = {from, width, marks, sums, false};
        clear_marks(marks, width, item);
        from = sweep_row(f, row, n_cols, &s, item, true, x);
        place = fill_columns(&s, item, nodes, to, place, stop);
        width = min(most, last - from);
    }
}

kernel GROUP void spgemm_fill(long n_rows, int n_cols, long rows, int columns, int long_from,
                              FACTORS, NOTES, global const NUMBER *restrict c_offsets,
                              long c_offsets_start, local int *marks, local ACC *sums,
                              global C_INDEX *restrict c_indices, long c_indices_start,
                              global T *restrict c_values, long c_values_start)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    local exchange x;
    const entries to = {c_indices + c_indices_start, c_values + c_values_start};
    for (long row = first_row; row < last_row; ++row) {
        const int n_products = products_of_row(&f, row, item, nodes);
        const bool is_noted =
            note_row(notes + notes_start, most_noted, row, IS_LONG(n_products), item, nodes);
        fill_range(&f, row, n_cols, is_noted ? n_cols : 0, n_cols,
                   width_for(n_products, n_cols, columns, 1), item, marks, sums, nodes, &x, &to,
                   c_offsets[c_offsets_start + row], c_offsets[c_offsets_start + row + 1]);
    }
}

// A group has one chunk of each noted row.
kernel GROUP void spgemm_fill_long(int n_cols, long chunk, int n_chunks, int columns, FACTORS,
                                   NOTES, global const NUMBER *counts, long counts_start,
                                   global const NUMBER *restrict c_offsets, long c_offsets_start,
                                   local int *marks, local ACC *sums,
                                   global C_INDEX *restrict c_indices, long c_indices_start,
                                   global T *restrict c_values, long c_values_start)
{
    const int item = get_local_id(0), number = get_group_id(0);
    const int first = (int)(number * chunk), last = (int)min(first + chunk, (long)n_cols);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    local exchange x;
    const entries to = {c_indices + c_indices_start, c_values + c_values_start};
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        global const NUMBER *const of_row = counts + counts_start + (long)i * n_chunks;
        const long before = sum_of_chunks(of_row, number, item, nodes);
        fill_range(&f, row, n_cols, first, last, columns, item, marks, sums, nodes, &x, &to,
                   c_offsets[c_offsets_start + row] + before, c_offsets[c_offsets_start + row + 1]);
    }
}

// ---- dense rows

#define DENSE_C global T *restrict C, long c_start, long c_row, long c_column, ACC alpha, ACC beta

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

// All sums of a stretch. What is 0 is no -0, as it is not beside the stretch.
INLINE void put_sums(const dense_row to, const stretch *s, int item)
{
    for (int c = item; c < s->width; c += ITEMS) {
        const ACC sum = s->sums[c];
        put_element(to, s->from + c, sum != 0 ? to.alpha * sum : 0);
    }
}

// Columns first .. last - 1, to which nothing is added.
INLINE void put_nothing(const dense_row to, int first, int last, int item)
{
    for (int left = last - first - item; left > 0; left -= ITEMS)
        put_element(to, last - left, 0);
}

// Columns first .. last - 1, at most `most` at a time. A column is cleared, summed up and put by
// the same item. All items pass.
INLINE void put_range(const factors *f, long row, int n_cols, int first, int last, int most,
                      int item, local ACC *sums, local exchange *x, const dense_row to)
{
    if (to.alpha == 0) {
        put_nothing(to, first, last, item);
        return;
    }
    int from = first;
    while (from < last) {
        const stretch s = {from, min(most, last - from), 0, sums, true};
        for (int c = item; c < s.width; c += ITEMS)
            sums[c] = 0;
        from = min(sweep_row(f, row, n_cols, &s, item, true, x), last);
        put_sums(to, &s, item);
        put_nothing(to, s.from + s.width, from, item);
    }
}

kernel GROUP void spgemm_dense(long n_rows, int n_cols, long rows, int columns, int long_from,
                               FACTORS, NOTES, DENSE_C, local ACC *sums)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    local NUMBER nodes[2 * ITEMS];
    local exchange x;
    for (long row = first_row; row < last_row; ++row) {
        const dense_row to = DENSE_ROW(row);
        const int n_products = alpha != 0 ? products_of_row(&f, row, item, nodes) : 0;
        const bool is_noted =
            note_row(notes + notes_start, most_noted, row, IS_LONG(n_products), item, nodes);
        if (!is_noted) // not an empty range, for which some compiler lacks registers
            put_range(&f, row, n_cols, 0, n_cols, width_for(n_products, n_cols, columns, 1), item,
                      sums, &x, to);
    }
}

// A group has one chunk of each noted row.
kernel GROUP void spgemm_dense_long(int n_cols, long chunk, int columns, FACTORS, NOTES, DENSE_C,
                                    local ACC *sums)
{
    const int item = get_local_id(0);
    const int first = (int)(get_group_id(0) * chunk), last = (int)min(first + chunk, (long)n_cols);
    GET_FACTORS;
    local exchange x;
    EACH_NOTED_ROW(i)
    {
        const long row = notes[notes_start + 1 + i];
        const dense_row to = DENSE_ROW(row);
        put_range(&f, row, n_cols, first, last, columns, item, sums, &x, to);
    }
}
