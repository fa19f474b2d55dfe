// SPDX-License-Identifier: Apache-2.0
// dX of layer normalisation along mid, for X seen as (high, mid, low): with g = dY w and n elements
// along mid,
//
//     r = 1 / sqrt(var + epsilon),  xh = (x - mean) r
//     dx = r (g - mean(g) - xh mean(g xh))
//
// or, with RMS, r = 1 / sqrt(mean(x^2) + epsilon), xh = x r and dx = r (g - xh mean(g xh)).
//
//   norm_backward_lines  one sweep computes moments of x and sums with g, then dX is written
//   norm_backward_parts  if mid is divided into parts: the state of each part
//   norm_backward_apply  writes each part with the combined state of all
//   norm_backward_columns  norm_backward_lines, and the sums for dW and db of each group's rows
//
// With SAVES_STATISTICS r and mean are written to `statistics`, for norm_scaling.cl.
// The host guarantees what reduce.cl requires; dX is the same memory as X or dY, or shares none.
// Without w another buffer is passed, which is not read. States of parts are in scratch memory from
// `found` bytes on, behind the statistics.

#ifndef RMS
#define RMS 0
#endif
#ifndef WEIGHTED // 1: there is w
#define WEIGHTED 1
#endif
#ifndef COLUMNS // 1: dW and db are computed beside dX, row by row
#define COLUMNS 0
#endif
#ifndef SAVES_STATISTICS // 1: r and mean of each row are written
#define SAVES_STATISTICS 0
#endif

#if RMS
#define FIELDS(F)                                                                                  \
    F(ACC, sum) F(ACC, compensation) F(ACC, scale) F(ACC, products) F(ACC, products_compensation)
#define SQUARES      sum
#define COMPENSATION compensation
#else
#define FIELDS(F)                                                                                  \
    F(ACC, n)                                                                                      \
    F(ACC, mean)                                                                                   \
    F(ACC, compensation)                                                                           \
    F(ACC, squares)                                                                                \
    F(ACC, squares_compensation)                                                                   \
    F(ACC, scale)                                                                                  \
    F(ACC, total) F(ACC, total_compensation) F(ACC, products) F(ACC, products_compensation)
#define SQUARES      squares
#define COMPENSATION squares_compensation
#endif
#define READS     (2 + WEIGHTED) // X, dY, w
#define VALUES    2
#define TAKES_FEW 1
#define SQUARED   1
#include "axis/axis.clh"
#include "base/sums.clh"

#include "axis/ranges.clh"

// slope is mean(g xh), center mean(g).
#if RMS
#include "axis/totals.clh"
#define FINALS(F)     F(ACC, factor) F(ACC, slope)
#define STATISTICS(F) F(ACC, factor)
#else
#include "axis/moments.clh"
#define FINALS(F)     F(ACC, mean) F(ACC, compensation) F(ACC, factor) F(ACC, center) F(ACC, slope)
#define STATISTICS(F) F(ACC, factor) F(ACC, mean) F(ACC, compensation)
#endif
#define EXTRAS  0
#define OPTIONS ACC // epsilon
#include "axis/norm_backward_parameters.h"
#include "axis/rewrite.clh"

INLINE ACCS gradient_of(const ACCS x[READS])
{
    return WEIGHTED ? x[1] * x[READS - 1] : x[1];
}

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
    const ACCS g = gradient_of(x);
    to[0] = RMS ? x[0] * x[0] : x[0];
    to[1] = RMS ? x[0] * g : g;
}

INLINE void find_final(finals *f, const state *s, const walk *w, ACC epsilon)
{
    const ACC n = (ACC)(w->outer * w->mid);
    f->factor =
        inverse_root(sum_with_compensation(s->SQUARES, s->COMPENSATION) / n, s->scale, epsilon);
    f->slope =
        sum_with_compensation(s->products, s->products_compensation) / n * (f->factor / s->scale);
#if !RMS
    f->mean = s->mean;
    f->compensation = s->compensation;
    f->center = sum_with_compensation(s->total, s->total_compensation) / n;
#endif
}

INLINE ACCS rewritten(const finals *f, const ACCS x[READS], const ACCS extra[EXTRAS + 1])
{
    const ACCS g = gradient_of(x);
#if RMS
    return f->factor * (g - x[0] * f->factor * f->slope);
#else
    const ACCS normalised = ((x[0] - f->mean) - f->compensation) * f->factor;
    return f->factor * ((g - f->center) - normalised * f->slope);
#endif
}

INLINE operands operands_of(const view *x, global const T *X, const view *dy, global const T *dY,
                            const view *weight_view, global const T *weight, const view *dx,
                            global T *dX, global char *scratch)
{
    operands o;
    o.views[0] = x;
    o.bases[0] = X;
    o.views[1] = dy;
    o.bases[1] = dY;
    if (WEIGHTED) {
        o.views[READS - 1] = weight_view;
        o.bases[READS - 1] = weight;
    }
    o.scale = (ACC)1;
    o.y = dx;
    o.Y = dX;
#if SAVES_STATISTICS
    o.statistics = (global ACC *)scratch;
#endif
    return o;
}

#if HELD
// dY becomes dY w. w is the same for all rows.
INLINE void weigh_row(ACC dy[HELD_ELEMENTS], const walk *w, const operands *o)
{
    global const T *base = o->bases[READS - 1] + o->views[READS - 1]->start + held_at(0);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        ACC weight[UNROLL] = {0};
        if (is_held(w, i))
            load_wide(weight, base + i * ITEMS_Y * UNROLL);
#pragma unroll
        for (int j = 0; j < UNROLL; j++)
            dy[i * UNROLL + j] *= weight[j];
    }
}

// The finals of a row with gradients g. x become distances from the mean, or with RMS stay, and are
// scaled: their squares and their products with g then cost one step each. The slope is that of
// scaled distances.
INLINE void hold_finals(finals *f, ACC x[HELD_ELEMENTS], const ACC g[HELD_ELEMENTS], const walk *w,
                        ACC epsilon, local ACC *shared)
{
    const ACC share = (ACC)1 / (ACC)w->mid;
#if RMS
    const ACC scale = held_scale(x, shared);
    if (RANGED)
        EACH_HELD(i) x[i] *= scale;
#else
    state s;
    const ACC rest = hold_mean(&s, x, w, shared);
    f->mean = s.mean;
    f->compensation = s.compensation;
    f->center = sum_of_row(held_part(g, share), shared);
    // The rest is far below the largest distance: it needs no scale, and its squares past the end
    // of the row count for nothing.
    const ACC scale = held_scale(x, shared);
    EACH_HELD(i) x[i] = multiply_add(x[i], scale, -rest * scale);
#endif
    const ACC squares = sum_of_row(held_products(x, x), shared);
    f->factor = inverse_root(squares * share, scale, epsilon);
    const ACC factor = f->factor * inverse_scale(scale);
    f->slope = sum_of_row(held_products(x, g), shared) * share * factor * factor;
}

INLINE void norm_backward_held(const walk *w, const operands *o, ACC epsilon, local ACC *shared)
{
    EACH_ROW(*w, high)
    {
        ACC x[HELD_ELEMENTS], g[HELD_ELEMENTS];
        finals f;
        const bool exists = is_row(w, high);
        get_row(x, w, o->bases[0] + high_offset(w, o->views[0], high), exists, (ACC)1, (ACC)0);
        get_row(g, w, o->bases[1] + high_offset(w, o->views[1], high), exists, (ACC)1, (ACC)0);
        if (WEIGHTED)
            weigh_row(g, w, o);
        hold_finals(&f, x, g, w, epsilon, shared);
#if SAVES_STATISTICS
        put_statistics(o->statistics, w, high, &f, 0, exists && item_y() == 0);
#endif
#if RMS
        EACH_HELD(i) x[i] = f.factor * (g[i] - x[i] * f.slope);
#else
        EACH_HELD(i) x[i] = f.factor * ((g[i] - f.center) - x[i] * f.slope);
#endif
        put_row(x, w, o->Y + high_offset(w, o->y, high), exists);
    }
}
#endif

#define OPERANDS NORM_BACKWARD_PARAMETERS(DECLARE, COMMA)

#define GET_OPERANDS(scratch)                                                                      \
    GET_WALK;                                                                                      \
    GET_VIEW(x);                                                                                   \
    GET_VIEW(dy);                                                                                  \
    GET_VIEW(weight_view);                                                                         \
    GET_VIEW(dx);                                                                                  \
    const operands o = operands_of(&x, X, &dy, dY, &weight_view, weight, &dx, dX, scratch)

#if COLUMNS
#include "axis/norm_columns.clh"
#elif !PARTED
#if SAVES_STATISTICS
kernel GROUP void norm_backward_lines(OPERANDS, global char *scratch)
#else
kernel GROUP void norm_backward_lines(OPERANDS)
#endif
{
#if SAVES_STATISTICS
    GET_OPERANDS(scratch);
#else
    GET_OPERANDS(0);
#endif
#if HELD
    local ACC shared[HELD_SHARED];
    norm_backward_held(&w, &o, epsilon, shared);
#else
    local state shared[GROUP_ITEMS];
    sweep_and_rewrite(&w, &o, epsilon, shared, 0);
#endif
}
#else
kernel GROUP void norm_backward_parts(OPERANDS, global char *scratch)
{
    local state shared[GROUP_ITEMS];
    GET_OPERANDS(scratch);
    sweep_part(&w, &o, scratch + found, shared);
}

kernel GROUP void norm_backward_apply(OPERANDS, global char *scratch)
{
    local state shared[GROUP_ITEMS];
    GET_OPERANDS(scratch);
    rewrite_part(&w, &o, scratch + found, epsilon, shared);
}
#endif
