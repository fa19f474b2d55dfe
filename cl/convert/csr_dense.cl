// SPDX-License-Identifier: Apache-2.0
// A sparse matrix by rows (CSR) as a dense one, and back.
//
// A group converts `rows` rows, one after the other; its items have columns side by side.
//
//   csr_to_dense        D = A, `columns` columns of a row for each group: zeros, then the entries,
//                       but their sums where several share a place
//   dense_to_csr_count  counts the elements of each row that are kept
//   (running sums of the counts: the offsets)
//   dense_to_csr_fill   writes these elements, each row from its offset on
//
// Elements are moved bit by bit. There is arithmetic only where several entries share a place;
// magnitudes are compared as integers, which have the same order.
#include "base/types.clh"

#include "base/parameters.clh"
#include "convert/csr_dense_parameters.h"
#include "op/scan.clh"
#include "operand/rows.clh"
#include "operand/stretches.clh"

#ifndef MOVED // an integer as large as an element
#define MOVED uint
#endif
#ifndef RUN // adjacent columns that an item fills from at a time
#define RUN (ITEMS > 1 ? 8 : 64)
#endif

// ---- to dense

#ifndef SUMS // columns whose sums are in local memory, where an element of D cannot hold them
#define SUMS 1024
#endif

#define WORD 32 // bits, of a column each

// An element of D has all the bits of a sum.
#define SUMS_IN_PLACE (DTYPE == DTYPE_F32 || DTYPE == DTYPE_F64)

#if ITEMS > 1
#define ALL_SEE WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define ALL_SEE (void)0
#endif

// `width` columns from `from` on, with two bits each: has entries, and has several.
typedef struct {
    long from;
    int width;
    local uint *seen, *repeated;
} stretch;

// A row's entries, and its first column of the stretch.
typedef struct {
    global const INDEX *indices;
    global const MOVED *values;
    int n;
    global MOVED *D;
    long step;
} dense_row;

// The column of entry i, counted from 0, where the stretch has it; else -1.
INLINE int column_in(const stretch *s, const dense_row *r, int i)
{
    const long c = r->indices[i] - s->from;
    return c >= 0 && c < s->width ? (int)c : -1;
}

INLINE bool has_bit(local const uint *words, int c)
{
    return words[c / WORD] >> c % WORD & 1;
}

INLINE void clear_row(const stretch *s, const dense_row *r, int item)
{
    for (int i = item; i * WORD < s->width; i += ITEMS)
        s->seen[i] = s->repeated[i] = 0;
    for (int c = item; c < s->width; c += ITEMS)
        r->D[c * r->step] = 0;
}

// Moves entries that share no place, or, with one item, the first of several too. The result of the
// atomics does not depend on their order. All items pass.
INLINE void move_entries(const stretch *s, const dense_row *r, int item)
{
    for (int i = item; i < r->n; i += ITEMS) {
        const int c = column_in(s, r, i);
        if (c < 0)
            continue;
        const uint bit = 1u << c % WORD;
#if ITEMS > 1
        if (atomic_or(s->seen + c / WORD, bit) & bit)
            atomic_or(s->repeated + c / WORD, bit);
#else
        if (s->seen[c / WORD] & bit)
            s->repeated[c / WORD] |= bit;
        else
            r->D[c * r->step] = r->values[i];
        s->seen[c / WORD] |= bit;
#endif
    }
#if ITEMS > 1
    ALL_PASS;
    for (int i = item; i < r->n; i += ITEMS) {
        const int c = column_in(s, r, i);
        if (c >= 0 && !has_bit(s->repeated, c))
            r->D[c * r->step] = r->values[i];
    }
#endif
}

// Whether entries are repeated in the item's words among those of columns first .. last - 1.
INLINE bool is_repeated(const stretch *s, int first, int last, int item)
{
    uint any = 0;
    for (int i = first / WORD + item; i * WORD < last; i += ITEMS)
        any |= s->repeated[i];
    return any != 0;
}

// The sums of columns first .. last - 1 where entries are repeated, in the order of the entries: an
// item has every ITEMS-th word of the columns. A column's bit is taken from `seen` at its first
// entry.
INLINE void sum_repeated(const stretch *s, const dense_row *r, int first, int last, int item,
                         local ACC *sums)
{
    for (int i = 0; i < r->n; ++i) {
        const int c = column_in(s, r, i);
        if (c < first || c >= last || (c - first) / WORD % ITEMS != item ||
            !has_bit(s->repeated, c))
            continue;
        global T *const to = (global T *)(r->D + c * r->step);
        const bool is_first = has_bit(s->seen, c);
        const ACC value = load_one((global const T *)r->values + i);
        ACC sum = value;
        if (is_first)
            s->seen[c / WORD] &= ~(1u << c % WORD);
        else
            sum += SUMS_IN_PLACE ? load_one(to) : sums[c - first];
        store_one(sum, to);
        if (!SUMS_IN_PLACE)
            sums[c - first] = sum;
    }
}

kernel GROUP void csr_to_dense(TO_DENSE_PARAMETERS(DECLARE, COMMA))
{
    ROWS_OF_GROUP(rows, n_rows);
    const long batch = GROUP_ALONG_Z;
    const long from = GROUP_ALONG_Y(1) * columns;
    const stretch s = {from, (int)min((long)columns, n_cols - from), seen, repeated};
    for (long row = first_row; row < last_row; ++row) {
        const long start = offsets[offsets_start + row];
        const dense_row r = {
            indices + indices_start + start, values + values_start + batch * values_batch + start,
            (int)(offsets[offsets_start + row + 1] - start),
            D + d_start + batch * d_batch + row * d_row + from * d_column, d_column};
        clear_row(&s, &r, item);
        ALL_SEE;
        move_entries(&s, &r, item);
        ALL_SEE;
        const int part = SUMS_IN_PLACE ? s.width : SUMS;
        for (int first = 0; first < s.width; first += part) {
            const int last = min(first + part, s.width);
            if (is_repeated(&s, first, last, item))
                sum_repeated(&s, &r, first, last, item, sums);
        }
        ALL_PASS;
    }
}

// ---- from dense

#define MAGNITUDE ((MOVED) ~(MOVED)0 >> 1) // all bits but the sign

// Its magnitude is above the threshold's, or it is NaN, whose bits are above those of infinity.
INLINE bool is_kept(MOVED x, MOVED threshold)
{
    return (x & MAGNITUDE) > threshold;
}

kernel GROUP void dense_to_csr_count(FROM_DENSE_PARAMETERS(DECLARE, COMMA),
                                     COUNT_PARAMETERS(DECLARE, COMMA))
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

// Writes the kept elements of n columns from c on, from `place` on and before `stop`. Others are
// written, too, and then overwritten, because that is cheaper than a branch.
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

kernel GROUP void dense_to_csr_fill(FROM_DENSE_PARAMETERS(DECLARE, COMMA),
                                    FILL_PARAMETERS(DECLARE, COMMA))
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
