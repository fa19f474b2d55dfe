// SPDX-License-Identifier: Apache-2.0
// What cl/axis/axis.clh takes: the problem, where each operand's elements stand, and the defines
// that shape its code.
#ifndef WEFT_LIB_AXIS_WALK_H
#define WEFT_LIB_AXIS_WALK_H

#include "axis/axes.h"
#include "axis/axis_plan.h"
#include "runtime/program.h"

// `walk` and `view` of cl/axis/axis.clh, as the two arguments that they come in, vectors or
// structs: 8 extents or strides of high axes, 8 of outer ones, then numbers in the order of the
// kernels. A walk and four views, as norms have them, are 896 bytes, where devices promise room for
// 1024.
typedef struct weft_walk {
    cl_long high_extents[WEFT_MAX_NDIM], outer_extents[WEFT_MAX_NDIM];
    cl_long high, outer, mid, low, widen, run, parts, full, lines, rest, part_lines;
    cl_long n_high, n_outer, vectors, stream, spread;
} weft_walk;

typedef struct weft_view {
    cl_long high[WEFT_MAX_NDIM], outer[WEFT_MAX_NDIM];
    cl_long start, mid, low, end;
} weft_view;

// Two arguments each, for a list of them.
#define WALK_ARGUMENTS(walk)                                                                       \
    {16 * sizeof(cl_long), (walk).high_extents},                                                   \
    {                                                                                              \
        16 * sizeof(cl_long), &(walk).high                                                         \
    }
#define VIEW_ARGUMENTS(view)                                                                       \
    {16 * sizeof(cl_long), (view).high},                                                           \
    {                                                                                              \
        4 * sizeof(cl_long), &(view).start                                                         \
    }

weft_walk weft_walk_of(const weft_axes *axes, const weft_axis_tiling *tiling);

// Of a group: ITEMS times ITEMS_Y, 1 and ITEMS_Z. Gives their product.
size_t weft_axis_group(const weft_axis_tiling *tiling, size_t local[3]);

// Groups along y: the tiling's, but for those beyond the turns that there are.
int64_t weft_walk_groups(const weft_walk *walk, const weft_axis_tiling *tiling);

// What runs: every strip of every part at each of the highs; or the outputs whose parts are joined
// (join_outputs() of cl/base/join.clh).
void weft_walk_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                    size_t local[3]);
void weft_walk_join_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                         size_t local[3]);

weft_view weft_view_of(const weft_axes *axes, int operand);

// Of an input that is written too, by another group perhaps: nothing beyond what is wanted is read.
void weft_view_close(weft_view *view);

// No elements are reduced: nothing is read.
void weft_walk_clear(weft_walk *walk);

// accumulator_bytes, writes_all and keeps are the operation's to add.
weft_axis_problem weft_axis_problem_of(const weft_axes *axes, weft_dtype dtype);

// So many numbers stand in scratch memory rounded up to that, as in cl/base/join.clh; false where
// that does not fit.
enum { WEFT_WALK_PITCH = 16 };
bool weft_walk_pitch(int64_t outputs, int64_t *pitch);

// Of what a kernel keeps for each column and part, 8 bytes a number; false where that does not fit.
bool weft_walk_scratch(const weft_walk *walk, int n_numbers, size_t *bytes);

// VECTOR_WIDTH, VECTORS, ITEMS, ITEMS_Y, ITEMS_Z, SUB_GROUP, UNROLL, ADJACENT, WIDENED, ROWS,
// SHUFFLES; and registers for kernels that keep much of a column.
void weft_axis_defines(weft_defines *defines, const weft_context *ctx, const weft_axes *axes,
                       const weft_axis_tiling *tiling, bool keeps_much);

#endif
