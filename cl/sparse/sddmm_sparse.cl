// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B^T) .* C + beta D at the entries of C, where A or B is sparse, by rows (CSR), or
// both are.
//
// A group has `entries` consecutive entries of C, of whatever rows. LANES of its items share each
// one's sum, and ITEMS / LANES entries go side by side. A sum is of terms, the elements of a sparse
// row, and of what they meet:
//
// Where B is sparse the terms are a row of B. They meet a row of A that stands in local memory,
// each element at its column. Of a sparse A it is known besides which columns are stored: what a
// term meets elsewhere is 0, which has done harm only if the sum is NaN. Then it is taken once more
// over what is stored. Where rows have more columns than there is room for, a dense one comes in
// parts, one after the other, and sums wait; elements of a sparse one stand where their columns'
// hashes are, and come in parts only if they are too many. Where B is dense the terms are a row of
// A, and meet a row of B.
#ifndef VECTOR_WIDTH // terms that an item takes at once, if it is a group: 4, 8 or 16; else 1
#define VECTOR_WIDTH 1
#endif
#include "base/parameters.clh"
#include "base/types.clh"

#include "base/lanes.clh"

#ifndef A_SPARSE
#define A_SPARSE 1
#endif
#ifndef B_SPARSE
#define B_SPARSE 1
#endif
#ifndef PARTS // 1: a row of A has more columns than there is room for
#define PARTS 0
#endif
#ifndef LANES // items that share a sum
#define LANES 4
#endif
#ifndef INDICATOR // C's values are not read
#define INDICATOR 0
#endif
#ifndef SHUFFLES // lanes join by: 0 local memory, 1 what does as shuffles do, 2 shuffles
#define SHUFFLES 0
#endif
#ifndef WAITING // sums that wait for further parts, at most
#define WAITING 256
#endif
#ifndef A_OFFSET // of A: int or long
#define A_OFFSET int
#endif
#ifndef A_INDEX // int or short
#define A_INDEX int
#endif
#ifndef B_OFFSET // of B
#define B_OFFSET int
#endif
#ifndef B_INDEX
#define B_INDEX int
#endif

#include "op/scan.clh"
#include "operand/results.clh"
#include "operand/rows.clh"
#include "sparse/sddmm_sparse_parameters.h"

typedef struct {
    ACC sum;
} state;
#if LANES > 1 && SHUFFLES
#define FIELDS(F) F(ACC, sum)
#define ITEMS_Y   1
#include "base/shuffle.clh"
#endif

#define CHUNK   2048 // terms that an item adds up at a time, and then to those before
#define AHEAD   8    // entries ahead, for one item, that rows of terms are asked for
#define FETCHED 128  // bytes of their columns, and of their values

#define SIDE_BY_SIDE (ITEMS / LANES)
#define BOTH_SPARSE  (A_SPARSE && B_SPARSE)
#define HASHED       (BOTH_SPARSE && PARTS)

// What the items of a group tell each other.
typedef struct {
    int places[BOTH_SPARSE ? ITEMS : 1]; // of elements of A
    ACC values[BOTH_SPARSE ? ITEMS : 1];
    state shares[LANES > 1 ? ITEMS : 1]; // of sums
    ACC waiting[PARTS ? WAITING : 1];
} exchange;

#define DENSE_OR_SPARSE(OFFSETS, INDEXES, x)                                                       \
    SDDMM_SPARSE_FACTOR_PARAMETERS(DECLARE, COMMA, OFFSETS, INDEXES, x)

// Of a factor that is dense or sparse.
typedef struct {
    global const A_OFFSET *offsets;
    global const A_INDEX *indices;
    global const T *values;
    long row, column; // strides of a dense one
} a_factor;

typedef struct {
    global const B_OFFSET *offsets;
    global const B_INDEX *indices;
    global const T *values;
    long row, column;
} b_factor;

#define FACTOR(x)                                                                                  \
    {                                                                                              \
        x##_offsets + x##_offsets_start, x##_indices + x##_indices_start,                          \
            x##_values + x##_values_start, x##_row, x##_column                                     \
    }

// ---- terms and what they meet

#if B_SPARSE
#define TERM_FACTOR b_factor
#define TERM_INDEX  B_INDEX
#include "sparse/sddmm_sparse_row.clh"
#else
#define TERM_FACTOR a_factor
#define TERM_INDEX  A_INDEX
typedef uchar known; // nothing
// A row of B.
typedef struct {
    global const T *values;
    long stride;
} meeting;

INLINE int place_of(const meeting met, int column, bool is_careful)
{
    return column;
}

INLINE ACC met_at(const meeting met, int place)
{
    return load_one(met.values + place * met.stride);
}
#endif

// A row's terms, every LANES-th of them.
INLINE ACC some_of_row(const TERM_FACTOR terms, long row, const meeting met, int lane,
                       bool is_careful)
{
    ACC sum = 0;
    const long stop = terms.offsets[row + 1];
    for (long from = terms.offsets[row] + lane; from < stop; from += CHUNK * LANES) {
        const long upto = min(stop, from + CHUNK * LANES);
        ACC some = 0;
        for (long p = from; p < upto; p += LANES) {
            const int place = place_of(met, terms.indices[p], is_careful);
            if (place >= 0)
                some += load_one(terms.values + p) * met_at(met, place);
        }
        sum += some;
    }
    return sum;
}

#if VECTOR_WIDTH > 1
#define IN_WORD       (8 / (int)sizeof(TERM_INDEX)) // columns in 64 bits
#define WORD_int(p)   as_ulong(vload2(0, p))
#define WORD_short(p) as_ulong(vload4(0, p))
#define SUM_OF(a, b)  ((a) + (b))

// What VECTOR_WIDTH adjacent terms meet. Their columns are taken out of words: of columns in a
// vector compilers make an instruction that gathers, which takes AMD's processors twice as long.
INLINE ACCS all_met(const meeting met, global const TERM_INDEX *columns)
{
    ACC lanes[VECTOR_WIDTH];
#pragma unroll
    for (int i = 0; i < VECTOR_WIDTH; ++i) {
        const ulong word = JOIN(WORD_, TERM_INDEX)(columns + i / IN_WORD * IN_WORD);
        lanes[i] = met_at(met, (TERM_INDEX)(word >> i % IN_WORD * (64 / IN_WORD)));
    }
    return VLOAD(lanes);
}

INLINE ACCS add_terms(ACCS sum, const TERM_FACTOR terms, long p, const meeting met)
{
    return multiply_add(load_vector(terms.values + p), all_met(met, terms.indices + p), sum);
}

// All terms of a row, VECTOR_WIDTH or more behind the first of all. The last ones are taken up to
// the row's end, and what of them comes twice or belongs to the row before is left out.
INLINE ACC all_of_row(const TERM_FACTOR terms, long start, long stop, const meeting met)
{
    ACCS sum = 0;
    long p = start;
    while (p + VECTOR_WIDTH <= stop) {
        const long upto = min(stop, p + CHUNK * VECTOR_WIDTH);
        ACCS some = 0;
        for (; p + VECTOR_WIDTH <= upto; p += VECTOR_WIDTH)
            some = add_terms(some, terms, p, met);
        sum += some;
    }
    if (p < stop) {
        const int others = (int)(p + VECTOR_WIDTH - stop);
        sum = JOIN(first_, ACC)(others, add_terms(sum, terms, stop - VECTOR_WIDTH, met), sum);
    }
    ACROSS(SUM_OF, sum)
    return any_of(sum);
}
#endif

INLINE ACC share_of_row(const TERM_FACTOR terms, long row, const meeting met, int lane)
{
#if VECTOR_WIDTH > 1 && !PARTS
    const long start = terms.offsets[row], stop = terms.offsets[row + 1];
    if (stop - terms.offsets[0] >= VECTOR_WIDTH)
        return all_of_row(terms, start, stop, met);
#endif
    return some_of_row(terms, row, met, lane, false);
}

INLINE ACC sum_of_row(const TERM_FACTOR terms, long row, const meeting met, int lane)
{
    ACC sum = share_of_row(terms, row, met, lane);
#if BOTH_SPARSE && !HASHED
    if (sum != sum)
        sum = some_of_row(terms, row, met, lane, true);
#endif
    return sum;
}

// What LANES neighbours have, added up, for the first of them. All items pass.
INLINE ACC sum_of_lanes(ACC mine, int item, local exchange *x)
{
#if LANES > 1
    state s = {mine};
#if SHUFFLES
    if (SUB_GROUP_WIDTH >= LANES) {
        state other;
        for (int below = LANES / 2; below > 0; below /= 2) {
            hand_down(&other, &s, below, x->shares);
            s.sum += other.sum;
        }
        return s.sum;
    }
#endif
    for (int below = LANES / 2; below > 0; below /= 2) {
        x->shares[item].sum = s.sum;
        ALL_PASS;
        if (item % LANES < below)
            s.sum += x->shares[item + below].sum;
        ALL_PASS;
    }
    return s.sum;
#else
    return mine;
#endif
}

// ---- entries

// Where results go.
typedef struct {
    global const BITS *c;
    global RESULT_T *d;
    ACC alpha, beta;
} output;

INLINE void write_entry(ACC sum, const output o, long e)
{
    ACC x = 0;
    if (o.alpha != 0) {
        x = sum * o.alpha;
#if !INDICATOR
        x *= load_one((global const T *)o.c + e);
#endif
    }
    if (o.beta != 0)
        x += o.beta * load_result(o.d + e);
    store_result(x, o.d + e);
}

// Entries of C that are in one row: start .. stop - 1. The group goes on up to `last_stop`.
typedef struct {
    global const INDEX *columns;
    int row;
    long start, stop, last_stop;
} run;

// Unsigned: where clang finds a quotient and the rest of the same int it writes `freeze`, which
// Oclgrind 21.10 does not know.
#define ITEMS_Y_OF(item) ((long)((uint)(item) / LANES))

// So many turns for each item, of entry e, if that is one.
#define EACH_ENTRY(e, r)                                                                           \
    for (long turn = (r).start, e = turn + ITEMS_Y_OF(item); turn < (r).stop;                      \
         turn += SIDE_BY_SIDE, e = turn + ITEMS_Y_OF(item))

#if B_SPARSE
// Asks for the terms of an entry that comes later, and twice as late for where they begin: C names
// rows in any order.
INLINE void fetch_terms(const b_factor b, const run r, long e)
{
    if (ITEMS > 1 || e + AHEAD >= r.last_stop)
        return;
    const long start = b.offsets[r.columns[e + AHEAD]];
    FETCH_AHEAD((size_t)(b.offsets + r.columns[min(e + 2 * AHEAD, r.last_stop - 1)]), 1);
#pragma unroll
    for (int i = 0; i < FETCHED; i += 64) {
        FETCH_AHEAD((size_t)(b.indices + start) + i, 1);
        FETCH_AHEAD((size_t)(b.values + start) + i, 1);
    }
}

// A part's share of the sums, which wait for others. All items pass.
INLINE void add_part(const b_factor b, const run r, const meeting met, const output o,
                     bool is_first, int item, local exchange *x)
{
    EACH_ENTRY(e, r)
    {
        fetch_terms(b, r, e);
        ACC sum = e < r.stop ? sum_of_row(b, r.columns[e], met, item % LANES) : 0;
        sum = sum_of_lanes(sum, item, x);
        if (e >= r.stop || item % LANES > 0)
            continue;
        if (PARTS)
            x->waiting[e - r.start] = is_first ? sum : x->waiting[e - r.start] + sum;
        else
            write_entry(sum, o, e);
    }
    ALL_PASS; // before anybody puts other elements there, or takes what waits
}

INLINE void take_run(const a_factor a, const b_factor b, const run r, meeting met, int k, int most,
                     const output o, int item, local exchange *x)
{
    const part all = row_of_a(a, r.row, k);
    part now = {all.start, all.start};
    do {
        now.start = now.stop;
        now.stop = PARTS ? min(all.stop, now.start + most) : all.stop;
        put_part(a, r.row, now, &met, most, item, x);
        add_part(b, r, met, o, now.start == all.start, item, x);
        take_back(a, now, met, item, x);
    } while (now.stop < all.stop);
    for (long e = r.start + item; PARTS && e < r.stop; e += ITEMS)
        write_entry(x->waiting[e - r.start], o, e);
    if (PARTS)
        ALL_PASS;
}
#else
INLINE void take_run(const a_factor a, const b_factor b, const run r, meeting met, int k, int most,
                     const output o, int item, local exchange *x)
{
    EACH_ENTRY(e, r)
    {
        ACC sum = 0;
        if (e < r.stop) {
            met.values = b.values + r.columns[e] * b.row;
            sum = sum_of_row(a, r.row, met, item % LANES);
        }
        sum = sum_of_lanes(sum, item, x);
        if (e < r.stop && item % LANES == 0)
            write_entry(sum, o, e);
    }
}
#endif

// D = beta D, where there is nothing to add.
INLINE void scale_entries(const output o, long first, long stop, int item)
{
    for (long e = first + item; e < stop; e += ITEMS)
        write_entry(0, o, e);
}

kernel GROUP void sddmm_sparse(SDDMM_SPARSE_ENTRIES_PARAMETERS(DECLARE, COMMA),
                               DENSE_OR_SPARSE(A_OFFSET, A_INDEX, a),
                               DENSE_OR_SPARSE(B_OFFSET, B_INDEX, b),
                               SDDMM_SPARSE_ENDING_PARAMETERS(DECLARE, COMMA))
{
    local exchange x;
    const int item = get_local_id(0);
    const long first = get_group_id(0) * entries, stop = min(first + entries, nnz);
    const a_factor a = FACTOR(a);
    const b_factor b = FACTOR(b);
    const output o = {values + values_start, D + d_start, alpha, beta};
    if (alpha == 0) {
        scale_entries(o, first, stop, item);
        return;
    }
    global const OFFSET *const rows = offsets + offsets_start;
#if B_SPARSE
    const meeting met = {.values = row_values, .known = row_known};
    clear_row(met, k, item);
#else
    const meeting met = {b.values, b.column};
#endif
    run r = {.columns = indices + indices_start, .row = -1, .start = first, .last_stop = stop};
    for (long end = first; r.start < stop; r.start = r.stop) {
        if (r.start >= end) {
            r.row = next_row(rows, n_rows, r.row, r.start);
            end = min((long)rows[r.row + 1], stop);
        }
        r.stop = PARTS ? min(end, r.start + WAITING) : end;
        take_run(a, b, r, met, k, most, o, item, &x);
    }
}
