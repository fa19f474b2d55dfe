// SPDX-License-Identifier: Apache-2.0
// Arguments of cl/axis/axis.clh: the problem, the location of each operand's elements, and the
// defines that select its code.
#ifndef WEFT_LIB_AXIS_WALK_H
#define WEFT_LIB_AXIS_WALK_H

#include "axis/axes.h"
#include "axis/axis_plan.h"
#include "runtime/program.h"

// `walk` and `view` of cl/axis/axis.clh. Each is two arguments, vectors or structs: 8 extents or
// strides of high axes and 8 of outer ones; then numbers in the order of the kernels. A walk and
// four views, which normalisation passes, are 896 bytes; devices guarantee 1024.
typedef struct weft_walk {
    cl_long high_extents[WEFT_MAX_NDIM], outer_extents[WEFT_MAX_NDIM];
    cl_long high, outer, mid, low, widen, run, parts, full, lines, rest, part_lines;
    cl_long n_high, n_outer, vectors, stream, reads;
} weft_walk;

// Bits of `reads`: lines are read far from each other; rows are prefetched.
enum { WEFT_READS_SPREAD = 1, WEFT_READS_AHEAD = 2 };

typedef struct weft_view {
    cl_long high[WEFT_MAX_NDIM], outer[WEFT_MAX_NDIM];
    cl_long start, mid, low, end;
} weft_view;

// Two arguments each, for a list of arguments.
#define WALK_ARGUMENTS(walk)                                                                       \
    {16 * sizeof(cl_long), (walk).high_extents, false},                                            \
    {                                                                                              \
        16 * sizeof(cl_long), &(walk).high, false                                                  \
    }
#define VIEW_ARGUMENTS(view)                                                                       \
    {16 * sizeof(cl_long), (view).high, false},                                                    \
    {                                                                                              \
        4 * sizeof(cl_long), &(view).start, false                                                  \
    }

weft_walk weft_walk_of(const weft_axes *axes, const weft_axis_tiling *tiling);

// Sets the size of a work-group: ITEMS * ITEMS_Y, 1 and ITEMS_Z. Returns their product.
size_t weft_axis_group(const weft_axis_tiling *tiling, size_t local[3]);

// Groups along y: the tiling's grid_y, or fewer if high has fewer runs.
int64_t weft_walk_groups(const weft_walk *walk, const weft_axis_tiling *tiling);

// Grids: over strips, indices of high and parts; or over the outputs whose parts are combined
// (join_outputs() of cl/base/join.clh).
void weft_walk_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                    size_t local[3]);
void weft_walk_join_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                         size_t local[3]);

weft_view weft_view_of(const weft_axes *axes, int operand);

// For an input that is also written, maybe by another group: no unneeded element is read.
void weft_view_close(weft_view *view);

// For a reduction of no elements: nothing is read.
void weft_walk_clear(weft_walk *walk);

// The operation fills in accumulator_bytes, writes_all, caches and holds.
weft_axis_problem weft_axis_problem_of(const weft_axes *axes, weft_dtype dtype);

// Rounds a number of outputs up to a multiple of WEFT_WALK_PITCH, their pitch in scratch memory, as
// in cl/base/join.clh; false on overflow.
enum { WEFT_WALK_PITCH = 16 };
bool weft_walk_pitch(int64_t outputs, int64_t *pitch);

// Bytes of the states of all columns and parts, 8 for each number; false on overflow.
bool weft_walk_scratch(const weft_walk *walk, int n_numbers, size_t *bytes);

// VECTOR_WIDTH, VECTORS, ITEMS, ITEMS_Y, ITEMS_Z, SUB_GROUP, UNROLL, HELD, ADJACENT, WIDENED, ROWS,
// SHUFFLES; and more registers for kernels with large states.
void weft_axis_defines(weft_defines *defines, const weft_context *ctx, const weft_axes *axes,
                       const weft_axis_tiling *tiling, bool needs_registers);

#endif
