// SPDX-License-Identifier: Apache-2.0
// Y = op over mid of X, for X seen as (high, mid, low).
//
//   reduce_lines    each group: some highs, a strip of the lines, a part of mid; writes Y, or with
//                   several parts the state of each
//   reduce_combine  each ITEMS_Y items: VECTOR_WIDTH elements of Y; combines their parts, always in
//                   the same order
//
// States of parts are stored number by number, each [parts x outputs], outputs in steps of 16.
//
// The host guarantees: offsets within buffers; lines at least VECTOR_WIDTH wide; widen 1 unless
// WIDENED; a strip of no moved vector alone.

#define OP_SUM       0
#define OP_PROD      1
#define OP_MEAN      2
#define OP_MIN       3
#define OP_MAX       4
#define OP_ARGMIN    5
#define OP_ARGMAX    6
#define OP_ANY       7
#define OP_ALL       8
#define OP_NORM1     9
#define OP_NORM2     10
#define OP_NORM_INF  11
#define OP_VAR       12
#define OP_STD       13
#define OP_LOGSUMEXP 14

#ifndef OP
#define OP OP_SUM
#endif
#ifndef RESULT // DTYPE_* of Y
#define RESULT DTYPE_F32
#endif

// ---- the state of a lane

#define IS_SUM (OP == OP_SUM || OP == OP_MEAN || OP == OP_NORM1 || OP == OP_NORM2)
#define IS_EXTREME                                                                                 \
    (OP == OP_MIN || OP == OP_MAX || OP == OP_NORM_INF || OP == OP_ANY || OP == OP_ALL)
#define IS_PLACE  (OP == OP_ARGMIN || OP == OP_ARGMAX)
#define IS_SPREAD (OP == OP_VAR || OP == OP_STD)

#if OP == OP_NORM2
#define FIELDS(F)    F(ACC, sum) F(ACC, compensation) F(ACC, scale)
#define SQUARES      sum
#define COMPENSATION compensation
#elif IS_SUM
#define FIELDS(F) F(ACC, sum) F(ACC, compensation)
#elif OP == OP_PROD
#define FIELDS(F) F(ACC, product)
#elif IS_EXTREME
#define FIELDS(F) F(ACC, best)
#elif IS_PLACE
#define FIELDS(F) F(ACC, best) F(long, place)
#elif IS_SPREAD
#define FIELDS(F)                                                                                  \
    F(ACC, n)                                                                                      \
    F(ACC, mean) F(ACC, compensation) F(ACC, squares) F(ACC, squares_compensation) F(ACC, scale)
#define SQUARES      squares
#define COMPENSATION squares_compensation
#else
#define FIELDS(F) F(ACC, top) F(ACC, sum) F(ACC, compensation)
#endif
#define READS     1
#define FILLED    (!IS_SPREAD && !IS_PLACE)
#define TAKES_FEW IS_SPREAD
#define SQUARED   (OP == OP_NORM2 || IS_SPREAD)
// Few rounds lose few digits; rows have their sums in registers.
#define TOUCHES_PAGES (IS_SUM || IS_EXTREME)
#define ROUNDS        (IS_SUM && VECTOR_WIDTH > 1 && !ROWS ? 4 : 1)
// If lanes run along mid, VECTOR_WIDTH highs are swept before their lanes are combined, all at
// once, which costs little more than for one of them.
#define BY_ROWS (ROWS && !PARTED && VECTOR_WIDTH > 1 && VECTORS == 1 && ITEMS == 1 && ITEMS_Y == 1)
#include "axis/axis.clh"
#include "axis/reduce_parameters.h"
#include "base/exp.clh"
#include "base/sums.clh"
#if SQUARED
#include "axis/ranges.clh"
#endif

#define GREATEST (OP == OP_MAX || OP == OP_ARGMAX || OP == OP_ANY || OP == OP_NORM_INF)

// MOST is no better than any other number.
#if IN_REALS
#define MOST INFINITY
#elif ARITHMETIC == DTYPE_I32
#define MOST (GREATEST ? INT_MIN : INT_MAX)
#else
#define MOST (GREATEST ? LONG_MIN : LONG_MAX)
#endif

#if IS_EXTREME || IS_PLACE
// Maxima of reals are computed as minima of negated numbers. Those of integers are not: Intel's
// runtime for CPUs (2026.2) loses a complement of what it has just complemented.
INLINE ACCS order(ACCS x)
{
#if GREATEST && IN_REALS
    return -x;
#else
    return x;
#endif
}

INLINE MASKS is_better(ACCS a, ACCS b)
{
#if GREATEST && !IN_REALS
    return a > b;
#else
    return a < b;
#endif
}
#endif

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
#if OP == OP_NORM1 || OP == OP_NORM_INF
    to[0] = fabs(x[0]);
#elif OP == OP_NORM2
    to[0] = x[0] * x[0];
#elif OP == OP_ANY || OP == OP_ALL
    to[0] = x[0] != (ACCS)0 ? (ACCS)1 : (ACCS)0;
#elif IS_PLACE
    to[0] = order(x[0]);
#else
    to[0] = x[0];
#endif
}

#if USES_NEUTRAL
INLINE ACCS neutral(void)
{
#if OP == OP_PROD
    return (ACCS)1;
#elif OP == OP_LOGSUMEXP
    return (ACCS)-INFINITY;
#elif IS_EXTREME
    return order((ACCS)MOST);
#else
    return (ACCS)0;
#endif
}
#endif

// ---- sums

#if IS_SUM
#include "axis/totals.clh"

#if BY_ROWS
INLINE void set_several(state *s, const ACCS x[UNROLL])
{
    set_one(s, sum_of(x), (PLACES)0);
}
#endif

INLINE ACCS result_of(const state *s, long n, long correction)
{
    const ACCS sum = sum_with_compensation(s->sum, s->compensation);
#if OP == OP_MEAN
    return sum / (ACC)n;
#elif OP == OP_NORM2
    return sqrt(sum) / s->scale;
#else
    return sum;
#endif
}
#endif

// ---- products

#if OP == OP_PROD
INLINE void clear(state *s)
{
    s->product = (ACCS)1;
}

INLINE void set_one(state *s, ACCS x, PLACES place)
{
    s->product = x;
}

INLINE void take_one(state *a, ACCS x[VALUES], PLACES place)
{
    a->product = IN_UNSIGNED(a->product, *, x[0]);
}

INLINE void take(state *a, ACCS x[VALUES][UNROLL], PLACES place, long step)
{
#pragma unroll
    for (int i = 0; i < UNROLL; i++)
        a->product = IN_UNSIGNED(a->product, *, x[0][i]);
}

INLINE void join(state *a, const state *b)
{
    a->product = IN_UNSIGNED(a->product, *, b->product);
}

INLINE ACCS result_of(const state *s, long n, long correction)
{
    return s->product;
}
#endif

// ---- largest and smallest

#if IS_EXTREME
#include "base/extremes.clh"

INLINE ACCS better(ACCS a, ACCS b)
{
#if IN_REALS
    return smaller(a, b);
#else
    return is_better(b, a) ? b : a;
#endif
}

INLINE void clear(state *s)
{
    s->best = (ACCS)MOST;
}

INLINE void set_one(state *s, ACCS x, PLACES place)
{
    s->best = order(x);
}

INLINE void take_one(state *a, ACCS x[VALUES], PLACES place)
{
    a->best = better(a->best, order(x[0]));
}

// Of vectors NaN and the signs of zeros are examined once for all elements; of single elements,
// as on GPUs, that saves nothing.
INLINE void set_several(state *s, const ACCS x[UNROLL])
{
#if IN_REALS && VECTOR_WIDTH > 1
    s->best = order(GREATEST ? greatest_of(x) : least_of(x));
#else
    ACCS ordered[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; i++)
        ordered[i] = order(x[i]);
    s->best = TREE(better, ordered);
#endif
}

INLINE void take(state *a, ACCS x[VALUES][UNROLL], PLACES place, long step)
{
    state several;
    set_several(&several, x[0]);
    a->best = better(a->best, several.best);
}

INLINE void join(state *a, const state *b)
{
    a->best = better(a->best, b->best);
}

// Of NaN always the same bits.
INLINE ACCS result_of(const state *s, long n, long correction)
{
#if IN_REALS
    return unordered(s->best, s->best) ? (ACCS)NAN : order(s->best);
#else
    return order(s->best);
#endif
}
#endif

// ---- places

#if IS_PLACE
INLINE void clear(state *s)
{
    s->best = (ACCS)MOST;
    s->place = (PLACES)LONG_MAX;
}

// Of equal elements the first one; all NaN are equal.
INLINE void join(state *a, const state *b)
{
#if IN_REALS
    const MASKS a_is_nan = unordered(a->best, a->best);
    const MASKS b_is_nan = unordered(b->best, b->best);
    // Oclgrind 21.10 takes the opposite of a vector's comparison for true.
    const MASKS better_one = (b->best < a->best || b_is_nan) && a->best == a->best;
    const MASKS equal_ones = b->best == a->best || (a_is_nan && b_is_nan);
#else
    const MASKS better_one = is_better(b->best, a->best);
    const MASKS equal_ones = b->best == a->best;
#endif
    const MASKS is_first = JOIN(convert_, MASKS)(b->place < a->place);
    const MASKS wins = better_one || (equal_ones && is_first);
    a->best = wins ? b->best : a->best;
    a->place = select(a->place, b->place, JOIN(convert_, PLACES)(wins));
}

INLINE void set_one(state *s, ACCS x, PLACES place)
{
    s->best = x;
    s->place = place;
}

INLINE void take_one(state *a, ACCS x[VALUES], PLACES place)
{
    state one;
    set_one(&one, x[0], place);
    join(a, &one);
}

INLINE void take(state *a, ACCS x[VALUES][UNROLL], PLACES place, long step)
{
#pragma unroll
    for (int i = 0; i < UNROLL; i++)
        take_one(a, &x[0][i], place + i * step);
}

INLINE PLACES result_of(const state *s, long n, long correction)
{
    return s->place;
}
#endif

#if OP == OP_PROD || IS_EXTREME || IS_PLACE
INLINE void renormalize(state *s)
{
}

INLINE void join_few(state *a, const state *b)
{
    join(a, b);
}

INLINE void join_across(state *s)
{
    join_lanes(s);
}
#endif

// ---- variances

#if IS_SPREAD
#include "axis/moments.clh"

INLINE ACCS result_of(const state *s, long n, long correction)
{
    // Infinite elements are visible only as a compensation that is NaN.
    const ACCS variance = (s->compensation - s->compensation) +
                          sum_with_compensation(s->squares, s->squares_compensation) /
                              (ACCS)(ACC)max(n - correction, 0L);
    return OP == OP_STD ? sqrt(variance) / s->scale : variance / s->scale / s->scale;
}
#endif

// ---- logsumexp

#if OP == OP_LOGSUMEXP
#define INFINITE_TOP 0 // infinity must give infinity, not infinity - infinity
#include "axis/max_min.clh"
#include "base/log.clh"

INLINE ACCS result_of(const state *s, long n, long correction)
{
    return s->top + log_of_sum(sum_with_compensation(s->sum, s->compensation));
}
#endif

// ---- writing

#if RESULT == DTYPE_F64 || RESULT == DTYPE_F32
#define Y_TYPE ACC
#elif RESULT == DTYPE_F16
#define Y_TYPE half
#elif RESULT == DTYPE_BF16
#define Y_TYPE ushort
#elif RESULT == DTYPE_I32
#define Y_TYPE int
#elif RESULT == DTYPE_I64
#define Y_TYPE long
#else
#define Y_TYPE uchar
#endif
#if IS_PLACE
#define FOUND long
#else
#define FOUND ACC
#endif

INLINE void put_result(global Y_TYPE *y, FOUND x)
{
#if RESULT == DTYPE_F16
    vstore_half_rte(x, 0, y);
#elif RESULT == DTYPE_BF16
    *y = bf16_narrow(x);
#else
    *y = (Y_TYPE)x;
#endif
}

// Lanes first to last of VECTOR_WIDTH neighbouring results, the 0th of them at y.
INLINE void put_results(global Y_TYPE *y, long step, const state *s, int first, int last, long n,
                        long correction)
{
#if VECTOR_WIDTH == 1
    if (first < last)
        put_result(y, result_of(s, n, correction));
#else
    FOUND lanes[VECTOR_WIDTH];
    JOIN(vstore, VECTOR_WIDTH)(result_of(s, n, correction), 0, lanes);
    for (int i = first; i < last; i++)
        put_result(y + i * step, lanes[i]);
#endif
}

// ---- kernels

typedef struct {
    global Y_TYPE *Y;
    global char *scratch;
    long part, n, correction;
} output;

INLINE void write_found(output out, const walk *w, const view *y, long high, long column,
                        const state *s, int first, int last)
{
    if (PARTED)
        put_found(out.scratch, w, out.part, high * w->low + column, s, first, last);
    else
        put_results(out.Y + high_offset(w, y, high) + column * y->low, y->low, s, first, last,
                    out.n, out.correction);
}

INLINE void write_line(output out, const walk *w, const view *y, columns c, long high,
                       const state found[VECTORS])
{
    if (!WIDENED || w->widen == 1) {
        EACH_VECTOR(v, c.n)
        {
            write_found(out, w, y, high, column(c, v), &found[v], moved(c, v), VECTOR_WIDTH);
        }
        return;
    }
    state s;
    if (ROWS) {
        join_vectors(&s, found, w);
        write_found(out, w, y, high, 0, &s, 0, 1);
        return;
    }
    line_states l;
    join_steps(&l, found, w);
    for (long i = 0; i < w->low; i += VECTOR_WIDTH) {
        line_get(&s, &l, i);
        write_found(out, w, y, high, i, &s, 0, (int)min(w->low - i, (long)VECTOR_WIDTH));
    }
}

#include "axis/reduce_rows.clh"

// What elements of a row in registers are past its end; other states leave them out.
#if OP == OP_LOGSUMEXP
#define MISSING ((ACC)-INFINITY)
#else
#define MISSING ((ACC)0)
#endif

#if HELD
// What items exchange: numbers, or whole states.
#if SQUARED || OP == OP_LOGSUMEXP
#define SHARED ACC
#else
#define SHARED state
#endif

// A row's state, in the first of its items.
INLINE void reduce_row(state *s, ACC x[HELD_ELEMENTS], const walk *w, local SHARED *shared)
{
#if IS_SPREAD
    hold_moments(s, x, w, shared);
#elif OP == OP_NORM2
    hold_squares(s, x, shared);
#elif OP == OP_LOGSUMEXP
    hold_powers(s, x, x, shared);
#else
    clear(s);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        ACC some[VALUES][UNROLL];
        const long place = held_at(i);
#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
            ACC one[VALUES];
            element(one, x + i * UNROLL + j, w, place + j);
            some[0][j] = one[0];
        }
        if (is_held(w, i))
            take(s, some, place, 1);
    }
    if (ITEMS_Y > 1)
        join_items_y(s, shared);
#endif
}

INLINE void reduce_held(output out, const walk *w, const view *x, global const T *X, const view *y,
                        local SHARED *shared)
{
    EACH_ROW(*w, high)
    {
        ACC read[HELD_ELEMENTS];
        state s;
        global const T *row = X + high_offset(w, x, high);
        get_row(read, w, row, is_row(w, high), (ACC)1, MISSING);
        reduce_row(&s, read, w, shared);
        if (item_y() == 0 && is_row(w, high))
            write_found(out, w, y, high, 0, &s, 0, 1);
    }
}
#endif

kernel GROUP void reduce_lines(REDUCE_LINES_PARAMETERS(DECLARE, COMMA))
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    const output out = {Y, scratch, get_group_id(2), w.outer * w.mid, correction};
#if BY_ROWS
    for (long chunk = get_group_id(1); chunk * w.run < w.high; chunk += get_num_groups(1)) {
        const long start = chunk * w.run;
        const long stop = min(w.high, start + w.run);
        for (long high = start; high < stop; high += VECTOR_WIDTH)
            reduce_rows(&w, &x, &y, X, Y, high, min(stop, high + VECTOR_WIDTH), out);
    }
#elif HELD
    local SHARED shared[HELD_SHARED];
    reduce_held(out, &w, &x, X, &y, shared);
#else
    local state shared[GROUP_ITEMS];
    const view *const views[READS] = {&x};
    global const T *const bases[READS] = {X};
    EACH_BLOCK(w, high, strip)
    {
        const columns c = columns_of(&w, high, strip);
        const long offsets[READS] = {high_offset(&w, &x, high)};
        state found[VECTORS];
        sweep(found, &w, c, views, bases, offsets, (ACC)1, out.part, 0);
        EACH_OF_ITEMS_Y(join_items_y, found, &w, shared);
        if (item_y() == 0)
            write_line(out, &w, &y, c, high, found);
    }
#endif
}

#if PARTED
kernel GROUP void reduce_combine(REDUCE_COMBINE_PARAMETERS(DECLARE, COMMA))
{
    GET_WALK;
    GET_VIEW(y);
    local state shared[GROUP_ITEMS];
    const long outputs = w.high * w.low;
    state s;
    const long first = join_outputs(&s, scratch, &w, shared);
    if (first >= outputs)
        return;
    FOUND lanes[VECTOR_WIDTH];
#if VECTOR_WIDTH == 1
    lanes[0] = result_of(&s, w.outer * w.mid, correction);
#else
    JOIN(vstore, VECTOR_WIDTH)(result_of(&s, w.outer * w.mid, correction), 0, lanes);
#endif
    for (long i = first; i < min(outputs, first + VECTOR_WIDTH); i++)
        put_result(Y + output_offset(&w, &y, i), lanes[i - first]);
}
#endif
