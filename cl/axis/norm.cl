// SPDX-License-Identifier: Apache-2.0
// Y = (X - mean) / sqrt(var + epsilon) w + b along mid of X seen as (high, mid, low); or, with RMS,
// Y = X / sqrt(mean of X^2 + epsilon) w + b.
//
//   norm_lines  one sweep computes mean and variance, then Y is written
//   norm_parts  if mid is divided into parts: the state of each part
//   norm_apply  writes each part with the combined state of all
//
// The host guarantees what reduce.cl requires; X and Y are the same memory or share none. Without w
// or b another buffer is passed, which is not read.

#ifndef RMS
#define RMS 0
#endif
#ifndef WEIGHTED // 1: there is w
#define WEIGHTED 1
#endif
#ifndef BIASED // 1: there is b
#define BIASED 1
#endif

#if RMS
#define FIELDS(F)    F(ACC, sum) F(ACC, compensation) F(ACC, scale)
#define SQUARES      sum
#define COMPENSATION compensation
#else
#define FIELDS(F)                                                                                  \
    F(ACC, n)                                                                                      \
    F(ACC, mean) F(ACC, compensation) F(ACC, squares) F(ACC, squares_compensation) F(ACC, scale)
#define SQUARES      squares
#define COMPENSATION squares_compensation
#endif
#define READS     1
#define TAKES_FEW 1
#define SQUARED   1
#include "axis/axis.clh"
#include "base/sums.clh"

#include "axis/ranges.clh"

#if RMS
#include "axis/totals.clh"
#define FINALS(F) F(ACC, factor)
#else
#include "axis/moments.clh"
#define FINALS(F) F(ACC, mean) F(ACC, compensation) F(ACC, factor)
#endif
#define EXTRAS  (WEIGHTED + BIASED)
#define OPTIONS ACC // epsilon
#include "axis/norm_parameters.h"
#include "axis/rewrite.clh"

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
    to[0] = RMS ? x[0] * x[0] : x[0];
}

INLINE void find_final(finals *f, const state *s, const walk *w, ACC epsilon)
{
    const ACC n = (ACC)(w->outer * w->mid);
#if RMS
    f->factor = inverse_root(sum_with_compensation(s->sum, s->compensation) / n, s->scale, epsilon);
#else
    f->mean = s->mean;
    f->compensation = s->compensation;
    f->factor = inverse_root(sum_with_compensation(s->squares, s->squares_compensation) / n,
                             s->scale, epsilon);
#endif
}

// y from a distance from the mean, or with RMS from x itself.
INLINE ACCS normalised(const finals *f, ACCS x, const ACCS extra[EXTRAS + 1])
{
    ACCS y = x * f->factor;
    if (WEIGHTED)
        y *= extra[0];
    if (BIASED)
        y += extra[WEIGHTED];
    return y;
}

INLINE ACCS rewritten(const finals *f, const ACCS x[READS], const ACCS extra[EXTRAS + 1])
{
#if RMS
    return normalised(f, x[0], extra);
#else
    return normalised(f, (x[0] - f->mean) - f->compensation, extra);
#endif
}

INLINE operands operands_of(const view *x, global const T *X, const view *weight_view,
                            global const T *weight, const view *bias_view, global const T *bias,
                            const view *y, global T *Y)
{
    operands o;
    o.views[0] = x;
    o.bases[0] = X;
    o.scale = (ACC)1;
    if (WEIGHTED) {
        o.extra_views[0] = weight_view;
        o.extra_bases[0] = weight;
    }
    if (BIASED) {
        o.extra_views[WEIGHTED] = bias_view;
        o.extra_bases[WEIGHTED] = bias;
    }
    o.y = y;
    o.Y = Y;
    return o;
}

#if HELD
// w and b are the same for all rows. One vector of them at a time saves registers.
INLINE void normalise_row(ACC x[HELD_ELEMENTS], const finals *f, const walk *w, const operands *o)
{
    global const T *bases[EXTRAS + 1];
#pragma unroll
    for (int k = 0; k < EXTRAS; k++)
        bases[k] = o->extra_bases[k] + o->extra_views[k]->start + held_at(0);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        ACC read[EXTRAS + 1][UNROLL] = {{0}};
#pragma unroll
        for (int k = 0; k < EXTRAS; k++)
            if (is_held(w, i))
                load_wide(read[k], bases[k] + i * ITEMS_Y * UNROLL);
#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
            ACC extra[EXTRAS + 1];
#pragma unroll
            for (int k = 0; k < EXTRAS; k++)
                extra[k] = read[k][j];
            x[i * UNROLL + j] = normalised(f, x[i * UNROLL + j], extra);
        }
    }
}

INLINE void norm_held(const walk *w, const operands *o, ACC epsilon, local ACC *shared)
{
    EACH_ROW(*w, high)
    {
        ACC x[HELD_ELEMENTS];
        state s;
        finals f;
        global const T *row = o->bases[0] + high_offset(w, o->views[0], high);
        get_row(x, w, row, is_row(w, high), (ACC)1, (ACC)0);
#if RMS
        hold_squares(&s, x, shared);
#else
        hold_moments(&s, x, w, shared);
#endif
        find_final(&f, &s, w, epsilon);
        normalise_row(x, &f, w, o);
        put_row(x, w, o->Y + high_offset(w, o->y, high), is_row(w, high));
    }
}
#endif

#define OPERANDS NORM_PARAMETERS(DECLARE, COMMA)

#if !PARTED
kernel GROUP void norm_lines(OPERANDS)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    GET_VIEW(weight_view);
    GET_VIEW(bias_view);
    const operands o = operands_of(&x, X, &weight_view, weight, &bias_view, bias, &y, Y);
#if HELD
    local ACC shared[HELD_SHARED];
    norm_held(&w, &o, epsilon, shared);
#else
    local state shared[GROUP_ITEMS];
    sweep_and_rewrite(&w, &o, epsilon, shared, 0);
#endif
}
#else
kernel GROUP void norm_parts(OPERANDS, global char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    GET_VIEW(weight_view);
    GET_VIEW(bias_view);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&x, X, &weight_view, weight, &bias_view, bias, &y, Y);
    sweep_part(&w, &o, scratch, shared);
}

kernel GROUP void norm_apply(OPERANDS, global const char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    GET_VIEW(weight_view);
    GET_VIEW(bias_view);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&x, X, &weight_view, weight, &bias_view, bias, &y, Y);
    rewrite_part(&w, &o, scratch, epsilon, shared);
}
#endif
