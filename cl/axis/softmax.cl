// SPDX-License-Identifier: Apache-2.0
// Y = softmax(scale X), or its logarithm, along mid of X seen as (high, mid, low).
//
//   softmax_lines   one sweep computes running maxima and sums, then Y is written
//   softmax_parts   if mid is divided into parts: the state of each part
//   softmax_apply   writes each part with the combined state of all
//
// The host guarantees what reduce.cl requires; X and Y are the same memory or share none.

#ifndef LOG // 1: log-softmax
#define LOG 0
#endif
#ifndef SHORT_ROWS // 1: if they are cached, their largest elements are found first
#define SHORT_ROWS 0
#endif

#define FIELDS(F) F(ACC, top) F(ACC, sum) F(ACC, compensation)
#define READS     1
#define FILLED    (!CACHED)
#include "axis/axis.clh"
#include "base/exp.clh"
#include "base/log.clh"
#include "base/sums.clh"

#include "axis/max_min.clh"

// y = exp(x - top) factor, or x - top - factor for the logarithm.
#define FINALS(F) F(ACC, top) F(ACC, factor)
#define EXTRAS    0
#define OPTIONS   int // 1: where all are -infinity, exp(y) is 0
#include "axis/rewrite.clh"
#include "axis/softmax_parameters.h"

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
    to[0] = x[0];
}

INLINE void find_final(finals *f, const state *s, const walk *w, int masked)
{
    const ACCS sum = sum_with_compensation(s->sum, s->compensation);
    f->top = s->top;
    f->factor = LOG ? log_of_sum(sum) : (ACC)1 / sum;
    if (masked)
        f->factor = sum == (ACCS)0 ? (ACCS)0 : f->factor;
}

INLINE ACCS rewritten(const finals *f, const ACCS x[READS], const ACCS extra[EXTRAS + 1])
{
    if (LOG)
        return x[0] - f->top - f->factor;
    return exp_below(x[0] - f->top) * f->factor;
}

#if CACHED
INLINE void make_relative(finals *f, ACCS to)
{
    if (any_lane(to != f->top))
        f->factor *= exp_below(to - f->top);
    f->top = to;
}

INLINE ACCS cached_rewritten(const finals *f, ACCS cached)
{
    return cached * f->factor;
}
#endif

INLINE operands operands_of(const view *x, global const T *X, const view *y, global T *Y, ACC scale)
{
    operands o;
    o.views[0] = x;
    o.bases[0] = X;
    o.scale = scale;
    o.y = y;
    o.Y = Y;
    return o;
}

#if USES_NEUTRAL
INLINE ACCS neutral(void)
{
    return (ACCS)-INFINITY;
}
#endif

#define BY_ROWS                                                                                    \
    (SHORT_ROWS && CACHED && ROWS && ADJACENT && VECTOR_WIDTH > 1 && VECTORS == 1 && ITEMS == 1 && \
     ITEMS_Y == 1)
#if BY_ROWS
#include "axis/softmax_rows.clh"
#endif

#if HELD
INLINE void softmax_held(const walk *w, const operands *o, int masked, local ACC *shared)
{
    EACH_ROW(*w, high)
    {
        ACC x[HELD_ELEMENTS], powers[HELD_ELEMENTS];
        state s;
        finals f;
        get_row(x, w, o->bases[0] + high_offset(w, o->views[0], high), is_row(w, high), o->scale,
                (ACC)-INFINITY);
        hold_powers(&s, powers, x, shared);
        find_final(&f, &s, w, masked);
#pragma unroll
        for (int i = 0; i < HELD_ELEMENTS; i++)
            x[i] = LOG ? x[i] - f.top - f.factor : powers[i] * f.factor;
        put_row(x, w, o->Y + high_offset(w, o->y, high), is_row(w, high));
    }
}
#endif

#if CACHED
#define CACHE_PARAMETER , local ACCS *cache
#define CACHE_ARGUMENT  cache
#else
#define CACHE_PARAMETER
#define CACHE_ARGUMENT 0
#endif

#if !PARTED
kernel GROUP void softmax_lines(SOFTMAX_PARAMETERS(DECLARE, COMMA) CACHE_PARAMETER)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    const operands o = operands_of(&x, X, &y, Y, scale);
#if BY_ROWS
    softmax_rows(&w, &o, masked, cache);
#elif HELD
    local ACC shared[GROUP_ITEMS];
    softmax_held(&w, &o, masked, shared);
#else
    local state shared[GROUP_ITEMS];
    sweep_and_rewrite(&w, &o, masked, shared, CACHE_ARGUMENT);
#endif
}
#else
kernel GROUP void softmax_parts(SOFTMAX_PARAMETERS(DECLARE, COMMA), global char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&x, X, &y, Y, scale);
    sweep_part(&w, &o, scratch, shared);
}

kernel GROUP void softmax_apply(SOFTMAX_PARAMETERS(DECLARE, COMMA), global const char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&x, X, &y, Y, scale);
    rewrite_part(&w, &o, scratch, masked, shared);
}
#endif
