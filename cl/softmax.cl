// SPDX-License-Identifier: Apache-2.0
// Y = softmax(scale X), or its logarithm, along mid of X seen as (high, mid, low).
//
//   softmax_lines   one sweep finds largest elements and sums, then Y is written
//   softmax_kept    the same, one item a group; the sweep keeps exponentials in local memory
//   softmax_parts   where mid is cut into parts: what each of them finds
//   softmax_apply   and each of them written with what all have found
//
// The host promises what reduce.cl says; X and Y are the same memory or share none.

#ifndef LOG // 1: log-softmax
#define LOG 0
#endif

#define FIELDS(F) F(ACC, top) F(ACC, sum) F(ACC, carry)
#define READS     1
#define LEVELED
#include "axis.clh"
#include "exp.clh"
#include "sums.clh"

#include "peaks.clh"

// y = exp(x - top) factor, or x - top - factor for the logarithm.
#define FINALS(F) F(ACC, top) F(ACC, factor)
#define EXTRAS    0
#define OPTIONS   int // 1: where all are -infinity, exp(y) is 0
#include "rewrite.clh"

INLINE ACCS element(ACCS x)
{
    return x;
}

INLINE finals final_of(state s, const walk *w, int masked)
{
    const ACCS sum = sum_with_carry(s.sum, s.carry);
    finals f;
    f.top = s.top;
    f.factor = LOG ? log(sum) : (ACC)1 / sum;
    if (masked)
        f.factor = sum == (ACCS)0 ? (ACCS)0 : f.factor;
    return f;
}

INLINE ACCS rewritten(finals f, const ACCS x[READS], const ACCS extra[EXTRAS + 1])
{
    if (LOG)
        return x[0] - f.top - f.factor;
    return exp_below(x[0] - f.top) * f.factor;
}

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

kernel GROUP void softmax_lines(WALK, VIEW(x), VIEW(y), global const T *X, global T *Y, ACC scale,
                                int masked)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    local state shared[ITEMS * TEAM];
    const operands o = operands_of(&x, X, &y, Y, scale);
    sweep_and_rewrite(&w, &o, masked, shared);
}

kernel GROUP void softmax_parts(WALK, VIEW(x), VIEW(y), global const T *X, global T *Y, ACC scale,
                                int masked, global char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    local state shared[ITEMS * TEAM];
    const operands o = operands_of(&x, X, &y, Y, scale);
    sweep_part(&w, &o, scratch, shared);
}

kernel GROUP void softmax_apply(WALK, VIEW(x), VIEW(y), global const T *X, global T *Y, ACC scale,
                                int masked, global const char *scratch)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    const operands o = operands_of(&x, X, &y, Y, scale);
    rewrite_part(&w, &o, scratch, masked);
}

// ---- one item a group, exponentials kept

#if !LOG && ITEMS == 1 && TEAM == 1
// Exponentials are kept relative to a base, the top of the sweep so far: nearly all runs of lines
// have the same one, and no exponential is taken twice.

#if FOLD == 1
#define KEPT(p)    (*(p))
#define KEEP(x, p) (*(p) = (x))
#else
#define KEPT(p)    (*(local const ACCS *)(p))
#define KEEP(x, p) (*(local ACCS *)(p) = (x))
#endif

// Lines in runs of UNROLL, single where fewer are left; each run has its bases. `pitch` numbers a
// line or a run.
typedef struct {
    local ACC *exponentials, *bases;
    int pitch;
} store;

// A run of n lines, all or only the first `lanes` columns of a block, at `line` of x; it is the
// run-th one kept, from the kept-th line on.
INLINE state keep_run(state a, const store s, const lines *x, long line, long column, int n,
                      int lanes, int kept, int run)
{
    ACCS some[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; j++)
        some[j] = j < n ? read_scaled(*x, line + j, column, lanes) : some[0];
    ACCS top = largest_of(some);
    top = lanes < FOLD ? JOIN(first_, ACC)(lanes, (ACCS)-LARGEST, top) : top;
    if (any_lane(top > a.top + (ACCS)SLACK))
        a = raised(a, top);
    KEEP(a.top, s.bases + run * s.pitch);
#pragma unroll
    for (int j = 0; j < UNROLL; j++) {
        some[j] = j < n ? exp_below(some[j] - a.top) : (ACCS)0;
        some[j] = lanes < FOLD ? JOIN(first_, ACC)(lanes, (ACCS)0, some[j]) : some[j];
        if (j < n)
            KEEP(some[j], s.exponentials + (kept + j) * s.pitch);
    }
    add_carrying(&a.sum, &a.carry, sum_of(some));
    return a;
}

// What the run's exponentials of one column block are multiplied by.
INLINE ACCS factor_of(finals f, local const ACC *base)
{
    const ACCS kept = KEPT(base);
    return any_lane(kept != f.top) ? f.factor * exp_below(kept - f.top) : f.factor;
}

// Where the lines of an item are: the first of them, and the numbers of what is kept.
typedef struct {
    long line;
    int kept, run;
} place;

// n lines, all whole or the narrower last one; goes on to the next run.
INLINE place keep_runs(state found[VECTORS], const walk *w, columns c, const store s,
                       const lines *x, place p, int n, bool whole)
{
    for (int v = 0; v < c.n; v++) {
        for (int j = 0; j < n; j++)
            prefetch_line(*x, p.line + j, column(w, c, v));
        const store here = {s.exponentials + v * FOLD, s.bases + v * FOLD, s.pitch};
        const long at = column(w, c, v);
        found[v] = keep_run(found[v], here, x, p.line, at, n, whole ? FOLD : lanes_left(w, at),
                            p.kept, p.run);
    }
    const place next = {p.line + n, p.kept + n, p.run + 1};
    return next;
}

INLINE place write_runs(const finals f[VECTORS], const walk *w, columns c, const store s, target y,
                        place p, int n, bool whole)
{
    ACCS factors[VECTORS];
    for (int v = 0; v < c.n; v++)
        factors[v] = factor_of(f[v], s.bases + p.run * s.pitch + v * FOLD);
    const bool streams = whole && y.streams && (c.n == 0 || moved(w, c, c.n - 1) == 0);
    for (int j = 0; j < n; j++)
        for (int v = 0; v < c.n; v++) {
            const ACCS kept = KEPT(s.exponentials + (p.kept + j) * s.pitch + v * FOLD);
            if (streams)
                stream_vector(kept * factors[v], y.at + (p.line + j) * y.line + c.first + v * FOLD);
            else if (whole)
                write_full(y, p.line + j, column(w, c, v), kept * factors[v], moved(w, c, v));
            else
                write_lanes(y, p.line + j, column(w, c, v), kept * factors[v], 0,
                            lanes_left(w, column(w, c, v)));
        }
    const place next = {p.line + n, p.kept + n, p.run + 1};
    return next;
}

INLINE void sweep_kept(state found[VECTORS], const walk *w, columns c, const store s,
                       const operands *o, long high)
{
    for (int v = 0; v < (VECTORS == 1 ? 1 : w->vectors); v++)
        found[v] = nothing();
    place p = {0, 0, 0};
    for (long outer = 0; outer < w->outer; outer++) {
        const view *const x = o->views[0];
        const lines l = lines_at(o->bases[0], high_offset(w, x, high) + outer_offset(w, x, outer),
                                 w, x, o->scale);
        p.line = 0;
        while (p.line + UNROLL <= w->full)
            p = keep_runs(found, w, c, s, &l, p, UNROLL, true);
        while (p.line < w->full)
            p = keep_runs(found, w, c, s, &l, p, 1, true);
        if (p.line < w->lines)
            p = keep_runs(found, w, c, s, &l, p, 1, false);
    }
}

INLINE void write_kept(const finals f[VECTORS], const walk *w, columns c, const store s,
                       const operands *o, long high)
{
    place p = {0, 0, 0};
    for (long outer = 0; outer < w->outer; outer++) {
        const long offset = high_offset(w, o->y, high) + outer_offset(w, o->y, outer);
        const target y = target_at(o->Y, offset, w, o->y);
        p.line = 0;
        while (p.line + UNROLL <= w->full)
            p = write_runs(f, w, c, s, y, p, UNROLL, true);
        while (p.line < w->full)
            p = write_runs(f, w, c, s, y, p, 1, true);
        if (p.line < w->lines)
            p = write_runs(f, w, c, s, y, p, 1, false);
    }
}

kernel GROUP void softmax_kept(WALK, VIEW(x), VIEW(y), global const T *X, global T *Y, ACC scale,
                               int masked, local ACC *exponentials, local ACC *bases)
{
    GET_WALK;
    GET_VIEW(x);
    GET_VIEW(y);
    const operands o = operands_of(&x, X, &y, Y, scale);
    const store s = {exponentials, bases, (VECTORS == 1 ? 1 : w.vectors) * FOLD};
    EACH_BLOCK(w, high, strip)
    {
        const columns c = columns_of(&w, strip);
        state found[VECTORS];
        finals f[VECTORS];
        sweep_kept(found, &w, c, s, &o, high);
        find_finals(f, found, &w, c, masked);
        write_kept(f, &w, c, s, &o, high);
    }
}
#endif
