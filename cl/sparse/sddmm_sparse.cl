// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B^T) .* C + beta D at the entries of C, where A or B is sparse, by rows (CSR), or
// both are.
//
// A group has `entries` consecutive entries of C, of whatever rows. LANES of its items share each
// one's sum, and ITEMS / LANES entries are computed side by side. A sum is over the terms, the
// elements of a sparse row, times the elements of the other row in their columns:
//
// Where B is sparse the terms are a row of B, and the other row is of A, in local memory, each
// element at its column. Of a sparse A there is also a flag for each stored column: elsewhere the
// row is 0, which is wrong only if the sum is NaN. Then it is computed again over stored columns.
// Where rows have more columns than there is room for, a dense one is loaded in parts, one after
// the other, and sums wait; elements of a sparse one are placed by the hashes of their columns, and
// loaded in parts only if they are too many. Where B is dense the terms are a row of A, and the
// other row is of B.
#ifndef VECTOR_WIDTH // terms that an item adds at once, if it is a group: 4, 8 or 16; else 1
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
#ifndef SHUFFLES // lanes exchange sums by: 0 local memory, 1 emulated shuffles, 2 shuffles
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
#define AHEAD   8    // entries ahead, for one item, that rows of terms are prefetched
#define FETCHED 128  // bytes of their columns, and of their values

#define SIDE_BY_SIDE (ITEMS / LANES)
#define BOTH_SPARSE  (A_SPARSE && B_SPARSE)
#define HASHED       (BOTH_SPARSE && PARTS)

// Local memory in which the items of a group exchange values.
typedef struct {
    int places[BOTH_SPARSE ? ITEMS : 1]; // of elements of A
    ACC values[BOTH_SPARSE ? ITEMS : 1];
    state shares[LANES > 1 ? ITEMS : 1]; // partial sums
    ACC waiting[PARTS ? WAITING : 1];
} exchange;

#define DENSE_OR_SPARSE(OFFSETS, INDEXES, x)                                                       \
    SDDMM_SPARSE_FACTOR_PARAMETERS(DECLARE, COMMA, OFFSETS, INDEXES, x)

// A factor that is dense or sparse.
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

// ---- terms and the other row

#if B_SPARSE
#define TERM_FACTOR b_factor
#define TERM_INDEX  B_INDEX
#include "sparse/sddmm_sparse_row.clh"
#else
#define TERM_FACTOR a_factor
#define TERM_INDEX  A_INDEX
typedef uchar known; // not used
// A row of B.
typedef struct {
    global const T *values;
    long stride;
} other_row;

INLINE int place_of(const other_row other, int column, bool is_careful)
{
    return column;
}

INLINE ACC value_at(const other_row other, int place)
{
    return load_one(other.values + place * other.stride);
}
#endif

// Sum over every LANES-th term of a row.
INLINE ACC some_of_row(const TERM_FACTOR terms, long row, const other_row other, int lane,
                       bool is_careful)
{
    ACC sum = 0;
    const long stop = terms.offsets[row + 1];
    for (long from = terms.offsets[row] + lane; from < stop; from += CHUNK * LANES) {
        const long upto = min(stop, from + CHUNK * LANES);
        ACC some = 0;
        for (long p = from; p < upto; p += LANES) {
            const int place = place_of(other, terms.indices[p], is_careful);
            if (place >= 0)
                some += load_one(terms.values + p) * value_at(other, place);
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

// The other row in the columns of VECTOR_WIDTH adjacent terms. Columns are extracted from words,
// because for a vector compilers gather, which takes AMD's processors twice as long.
INLINE ACCS values_at(const other_row other, global const TERM_INDEX *columns)
{
    ACC lanes[VECTOR_WIDTH];
#pragma unroll
    for (int i = 0; i < VECTOR_WIDTH; ++i) {
        const ulong word = JOIN(WORD_, TERM_INDEX)(columns + i / IN_WORD * IN_WORD);
        lanes[i] = value_at(other, (TERM_INDEX)(word >> i % IN_WORD * (64 / IN_WORD)));
    }
    return VLOAD(lanes);
}

INLINE ACCS add_terms(ACCS sum, const TERM_FACTOR terms, long p, const other_row other)
{
    return multiply_add(load_vector(terms.values + p), values_at(other, terms.indices + p), sum);
}

// Sum over all terms of a row that ends VECTOR_WIDTH or more after the first term of all. The last
// vector ends where the row does; its terms that are repeated or of the row before are left out.
INLINE ACC all_of_row(const TERM_FACTOR terms, long start, long stop, const other_row other)
{
    ACCS sum = 0;
    long p = start;
    while (p + VECTOR_WIDTH <= stop) {
        const long upto = min(stop, p + CHUNK * VECTOR_WIDTH);
        ACCS some = 0;
        for (; p + VECTOR_WIDTH <= upto; p += VECTOR_WIDTH)
            some = add_terms(some, terms, p, other);
        sum += some;
    }
    if (p < stop) {
        const int others = (int)(p + VECTOR_WIDTH - stop);
        sum = JOIN(first_, ACC)(others, add_terms(sum, terms, stop - VECTOR_WIDTH, other), sum);
    }
    ACROSS(SUM_OF, sum)
    return any_of(sum);
}
#endif

INLINE ACC share_of_row(const TERM_FACTOR terms, long row, const other_row other, int lane)
{
#if VECTOR_WIDTH > 1 && !PARTS
    const long start = terms.offsets[row], stop = terms.offsets[row + 1];
    if (stop - terms.offsets[0] >= VECTOR_WIDTH)
        return all_of_row(terms, start, stop, other);
#endif
    return some_of_row(terms, row, other, lane, false);
}

INLINE ACC sum_of_row(const TERM_FACTOR terms, long row, const other_row other, int lane)
{
    ACC sum = share_of_row(terms, row, other, lane);
#if BOTH_SPARSE && !HASHED
    if (sum != sum)
        sum = some_of_row(terms, row, other, lane, true);
#endif
    return sum;
}

// The sum over LANES neighbours, for the first of them. All items pass.
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

// Unsigned: where clang finds a quotient and a remainder of the same int it writes `freeze`, which
// Oclgrind 21.10 does not know.
#define LANE_GROUP_OF(item) ((long)((uint)(item) / LANES))

// As many iterations for each item, with entry e, which may be `stop` or more.
#define EACH_ENTRY(e, r)                                                                           \
    for (long from = (r).start, e = from + LANE_GROUP_OF(item); from < (r).stop;                   \
         from += SIDE_BY_SIDE, e = from + LANE_GROUP_OF(item))

#if B_SPARSE
// Prefetches the terms of a later entry, and the offset of those twice as far ahead: C has rows of
// B in any order.
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

// Adds one part to the sums, which wait for further parts. All items pass.
INLINE void add_part(const b_factor b, const run r, const other_row other, const output o,
                     bool is_first, int item, local exchange *x)
{
    EACH_ENTRY(e, r)
    {
        fetch_terms(b, r, e);
        ACC sum = e < r.stop ? sum_of_row(b, r.columns[e], other, item % LANES) : 0;
        sum = sum_of_lanes(sum, item, x);
        if (e >= r.stop || item % LANES > 0)
            continue;
        if (PARTS)
            x->waiting[e - r.start] = is_first ? sum : x->waiting[e - r.start] + sum;
        else
            write_entry(sum, o, e);
    }
    ALL_PASS; // before an item writes other elements there, or reads waiting sums
}

INLINE void take_run(const a_factor a, const b_factor b, const run r, other_row other, int k,
                     int most, const output o, int item, local exchange *x)
{
    const part all = row_of_a(a, r.row, k);
    part now = {all.start, all.start};
    do {
        now.start = now.stop;
        now.stop = PARTS ? min(all.stop, now.start + most) : all.stop;
        put_part(a, r.row, now, &other, most, item, x);
        add_part(b, r, other, o, now.start == all.start, item, x);
        take_back(a, now, other, item, x);
    } while (now.stop < all.stop);
    for (long e = r.start + item; PARTS && e < r.stop; e += ITEMS)
        write_entry(x->waiting[e - r.start], o, e);
    if (PARTS)
        ALL_PASS;
}
#else
INLINE void take_run(const a_factor a, const b_factor b, const run r, other_row other, int k,
                     int most, const output o, int item, local exchange *x)
{
    EACH_ENTRY(e, r)
    {
        ACC sum = 0;
        if (e < r.stop) {
            other.values = b.values + r.columns[e] * b.row;
            sum = sum_of_row(a, r.row, other, item % LANES);
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
    const other_row other = {.values = row_values, .known = row_known};
    clear_row(other, k, item);
#else
    const other_row other = {b.values, b.column};
#endif
    run r = {.columns = indices + indices_start, .row = -1, .start = first, .last_stop = stop};
    for (long end = first; r.start < stop; r.start = r.stop) {
        if (r.start >= end) {
            r.row = next_row(rows, n_rows, r.row, r.start);
            end = min((long)rows[r.row + 1], stop);
        }
        r.stop = PARTS ? min(end, r.start + WAITING) : end;
        take_run(a, b, r, other, k, most, o, item, &x);
    }
}
