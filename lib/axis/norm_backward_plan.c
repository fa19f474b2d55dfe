// SPDX-License-Identifier: Apache-2.0
// Chooses between one pass for dX, dW and db and several.
#include "axis/norm_backward_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/dtype.h"
#include "base/lanes.h"
#include "base/refuse.h"

enum {
    SUM_NUMBERS = 4,       // in the state of a column
    GROUPS_A_CORE = 16,    // most: they end together
    GROUP_BYTES = 1 << 16, // of X that pay for a group: with less, joining costs more than it saves
    GROUP_ROWS = 64,       // the same, if that many are left for every core: a group leaves sums
                           // of four times a row's size
};

static const char IN_ONE[] = "dX, dW and db in one pass";

// Bytes that a group uses again and again: X and dY of rows read together, and the columns' sums.
static int64_t used_bytes(const weft_axis_problem *of_rows, int64_t bytes, int64_t unroll)
{
    const int64_t accumulator = bytes == 8 ? 8 : 4;
    int64_t used;
    return mul_i64(of_rows->mid, 2 * unroll * bytes + SUM_NUMBERS * accumulator, &used) ? used
                                                                                        : INT64_MAX;
}

static bool fits(const weft_axis_tiling *rows, const weft_limits *limits,
                 const weft_axis_problem *of_rows, int64_t bytes, bool are_even)
{
    const weft_why *why = of_rows->why;
    if (rows->vector_width == 1)
        return refuse(why, IN_ONE, "items process single elements");
    if (!are_even || of_rows->low > 1 || of_rows->outer > 1 || !of_rows->low_adjacent ||
        rows->widen == 1)
        return refuse(why, IN_ONE, "rows are not contiguous, at equal distances");
    if (rows->parts > 1)
        return refuse(why, IN_ONE, "rows are in %" PRId64 " parts", rows->parts);
    const int64_t used = used_bytes(of_rows, bytes, rows->unroll);
    const int64_t room = weft_caches_of(limits).l2_bytes;
    if (used > room)
        return refuse(why, IN_ONE, "%d rows and their sums are %" PRId64 " bytes, L2 has %" PRId64,
                      rows->unroll, used, room);
    const int64_t few = (int64_t)limits->compute_units * rows->unroll;
    return of_rows->high >= few || of_rows->high * of_rows->mid * bytes <= GROUP_BYTES ||
           refuse(why, IN_ONE, "there are %" PRId64 " rows for %d units, %d at a time",
                  of_rows->high, limits->compute_units, rows->unroll);
}

// Rows of a group.
static int64_t run_for(const weft_limits *limits, const weft_axis_problem *of_rows, int64_t bytes,
                       int64_t unroll)
{
    const int64_t most = (int64_t)limits->compute_units * GROUPS_A_CORE;
    const int64_t a_core = ceil_div(of_rows->high, (int64_t)limits->compute_units);
    const int64_t pays = ceil_div((int64_t)GROUP_BYTES, of_rows->mid * bytes);
    const int64_t least = max_i64(pays, min_i64(a_core, GROUP_ROWS));
    return ceil_div(max_i64(ceil_div(of_rows->high, most), least), unroll) * unroll;
}

bool weft_norm_backward_in_one(weft_axis_tiling *rows, weft_axis_tiling *columns,
                               const weft_limits *limits, const weft_axis_problem *of_rows,
                               const weft_axis_problem *of_columns, bool are_even)
{
    const int64_t bytes = (int64_t)weft_dtype_size(weft_dtype_or(of_rows->dtype, WEFT_F32));
    weft_axis_problem unheard = *of_rows;
    unheard.why = NULL;
    const weft_axis_tiling of_dx = weft_axis_tiling_for(limits, &unheard);
    if (!fits(&of_dx, limits, of_rows, bytes, are_even))
        return false;
    *rows = of_dx;
    rows->run = run_for(limits, of_rows, bytes, of_dx.unroll);
    rows->grid_y = ceil_div(of_rows->high, rows->run);
    *columns = weft_axis_tiling_for(limits, of_columns);
    columns->parts = rows->grid_y;
    return true;
}
