// SPDX-License-Identifier: Apache-2.0
// dW = sum of dY xh and db = sum of dY over rows, which are normalised separately: mid of X and dY
// seen as (high, mid, low). xh = (x - mean) r, or, with RMS, x r; norm_backward.cl has written r,
// and mean as the sum of two numbers, of each row.
//
//   norm_scaling_parts  each group: some highs, a strip of the lines, a part of mid; writes the
//                       state of each to scratch memory
//   norm_scaling_join   each ITEMS_Y items: VECTOR_WIDTH elements of dW and db, whose parts are
//                       combined, always in the same order
//
// The host guarantees what reduce.cl requires, and statistics of rows in the order of places.

#ifndef RMS
#define RMS 0
#endif

#define FIELDS(F) F(ACC, sum) F(ACC, compensation) F(ACC, products) F(ACC, products_compensation)
#define READS     2 // X, dY
#define VALUES    2
#define PLACED    1
#include "axis/axis.clh"
#include "base/sums.clh"

#include "axis/norm_scaling_parameters.h"
#include "axis/totals.clh"

// A row's statistic for each lane. A line that is not widened has one row.
INLINE ACCS statistic_at(global const ACC *numbers, const walk *w, PLACES place)
{
    const long last = w->outer * w->mid - 1;
#if VECTOR_WIDTH == 1
    return numbers[WIDENED ? min(place, last) : place];
#else
    if (w->widen == 1)
        return (ACCS)numbers[place.s0];
    long places[VECTOR_WIDTH];
    ACC lanes[VECTOR_WIDTH];
    JOIN(vstore, VECTOR_WIDTH)(place, 0, places);
    for (int i = 0; i < VECTOR_WIDTH; i++)
        lanes[i] = numbers[min(places[i], last)];
    return VLOAD(lanes);
#endif
}

INLINE void element(ACCS to[VALUES], const ACCS x[READS], const walk *w, PLACES place)
{
    const long pitch = pitch_for(w->outer * w->mid);
    global const ACC *const means = w->numbers + pitch, *const compensations = means + pitch;
    ACCS off = x[0];
    if (!RMS)
        off = (off - statistic_at(means, w, place)) - statistic_at(compensations, w, place);
    to[0] = x[1];
    to[1] = x[1] * (off * statistic_at(w->numbers, w, place));
}

kernel GROUP void norm_scaling_parts(NORM_SCALING_PARTS_PARAMETERS(DECLARE, COMMA))
{
    walk w = walk_of(walk_axes, walk_numbers);
    GET_VIEW(x);
    GET_VIEW(dy);
    local state shared[GROUP_ITEMS];
    const view *const views[READS] = {&x, &dy};
    global const T *const bases[READS] = {X, dY};
    w.numbers = (global const ACC *)scratch;
    EACH_BLOCK(w, high, strip)
    {
        const columns c = columns_of(&w, high, strip);
        const long offsets[READS] = {high_offset(&w, &x, high), high_offset(&w, &dy, high)};
        state sums[VECTORS];
        sweep(sums, &w, c, views, bases, offsets, (ACC)1, get_group_id(2), 0);
        EACH_OF_ITEMS_Y(join_items_y, sums, &w, shared);
        if (item_y() == 0)
            put_line_found(scratch + found, &w, c, high, get_group_id(2), sums);
    }
}

// For a missing dW or db another buffer is passed, which is not accessed.
kernel GROUP void norm_scaling_join(NORM_SCALING_JOIN_PARAMETERS(DECLARE, COMMA))
{
    GET_WALK;
    GET_VIEW(dw);
    GET_VIEW(db);
    local state shared[GROUP_ITEMS];
    state s;
    const long outputs = w.high * w.low, first = join_outputs(&s, scratch + found, &w, shared);
    ACC of_w[VECTOR_WIDTH], of_b[VECTOR_WIDTH];
    VSTORE(sum_with_compensation(s.products, s.products_compensation), of_w);
    VSTORE(sum_with_compensation(s.sum, s.compensation), of_b);
    for (long i = first; i < min(outputs, first + VECTOR_WIDTH); i++) {
        if (wants_dw)
            store_one(of_w[i - first], dW + output_offset(&w, &dw, i));
        if (wants_db)
            store_one(of_b[i - first], dB + output_offset(&w, &db, i));
    }
}
