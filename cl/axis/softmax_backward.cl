// SPDX-License-Identifier: Apache-2.0
// dX = scale Y (dY - sum of Y dY), the gradient of softmax along mid, seen as (high, mid, low); or
// of its logarithm, dX = scale (dY - exp(Y) sum of dY).
//
//   softmax_backward_lines  one sweep computes the sum, then dX is written
//   softmax_backward_parts  if mid is divided into parts: the state of each part
//   softmax_backward_apply  writes each part with the combined state of all
//
// The host guarantees what reduce.cl requires; dX is the same memory as Y or dY, or shares none.

#ifndef LOG // 1: of log-softmax
#define LOG 0
#endif

#define FIELDS(F) F(ACC, sum) F(ACC, compensation)
#define READS     2 // Y, dY
#define TAKES_FEW 1
#include "axis/axis.clh"
#include "base/exp.clh"
#include "base/sums.clh"

#include "axis/totals.clh"

#define FINALS(F) F(ACC, sum) F(ACC, scale)
#define EXTRAS    0
#define OPTIONS   ACC // the scale
#include "axis/rewrite.clh"
#include "axis/softmax_backward_parameters.h"

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
    to[0] = LOG ? x[1] : x[0] * x[1];
}

INLINE void find_final(finals *f, const state *s, const walk *w, ACC scale)
{
    f->sum = sum_with_compensation(s->sum, s->compensation);
    f->scale = (ACCS)scale;
}

// exp() of a logarithm that may be a little above 0, or anything.
INLINE ACCS power_of(ACCS y)
{
    return exp_below(y > (ACCS)EXP_OVERFLOWS ? (ACCS)EXP_OVERFLOWS : y);
}

INLINE ACCS rewritten(const finals *f, const ACCS x[READS], const ACCS extra[EXTRAS + 1])
{
    if (LOG)
        return f->scale * (x[1] - power_of(x[0]) * f->sum);
    return f->scale * x[0] * (x[1] - f->sum);
}

INLINE operands operands_of(const view *y, global const T *Y, const view *dy, global const T *dY,
                            const view *dx, global T *dX)
{
    operands o;
    o.views[0] = y;
    o.views[1] = dy;
    o.bases[0] = Y;
    o.bases[1] = dY;
    o.scale = (ACC)1;
    o.y = dx;
    o.Y = dX;
    return o;
}

#if HELD
INLINE void softmax_backward_held(const walk *w, const operands *o, ACC scale, local ACC *shared)
{
    EACH_ROW(*w, high)
    {
        ACC y[HELD_ELEMENTS], dy[HELD_ELEMENTS];
        const bool exists = is_row(w, high);
        get_row(y, w, o->bases[0] + high_offset(w, o->views[0], high), exists, (ACC)1, (ACC)0);
        get_row(dy, w, o->bases[1] + high_offset(w, o->views[1], high), exists, (ACC)1, (ACC)0);
        const ACC sum = sum_of_row(LOG ? held_sum(dy) : held_products(y, dy), shared);
#pragma unroll
        for (int i = 0; i < HELD_ELEMENTS; i++)
            y[i] = LOG ? scale * (dy[i] - power_of(y[i]) * sum) : scale * y[i] * (dy[i] - sum);
        put_row(y, w, o->Y + high_offset(w, o->y, high), exists);
    }
}
#endif

#if !PARTED
kernel GROUP void softmax_backward_lines(SOFTMAX_BACKWARD_PARAMETERS(DECLARE, COMMA))
{
    GET_WALK;
    GET_VIEW(y);
    GET_VIEW(dy);
    GET_VIEW(dx);
    const operands o = operands_of(&y, Y, &dy, dY, &dx, dX);
#if HELD
    local ACC shared[GROUP_ITEMS];
    softmax_backward_held(&w, &o, scale, shared);
#else
    local state shared[GROUP_ITEMS];
    sweep_and_rewrite(&w, &o, scale, shared, 0);
#endif
}
#else
kernel GROUP void softmax_backward_parts(SOFTMAX_BACKWARD_PARAMETERS(DECLARE, COMMA),
                                         global char *scratch)
{
    GET_WALK;
    GET_VIEW(y);
    GET_VIEW(dy);
    GET_VIEW(dx);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&y, Y, &dy, dY, &dx, dX);
    sweep_part(&w, &o, scratch, shared);
}

kernel GROUP void softmax_backward_apply(SOFTMAX_BACKWARD_PARAMETERS(DECLARE, COMMA),
                                         global const char *scratch)
{
    GET_WALK;
    GET_VIEW(y);
    GET_VIEW(dy);
    GET_VIEW(dx);
    local state shared[GROUP_ITEMS];
    const operands o = operands_of(&y, Y, &dy, dY, &dx, dX);
    rewrite_part(&w, &o, scratch, scale, shared);
}
#endif
