// SPDX-License-Identifier: Apache-2.0
// Converts sorted axes and a tiling to arguments of kernels.
#include "axis/axis_walk.h"

#include <assert.h>

#include "base/arithmetic.h"
#include "operand/view.h"
#include "runtime/context.h"

enum { FEW_VECTORS = 8, MANY_VECTORS = 512 }; // most in a class: of groups of items, of any

enum { PAGE_ELEMENTS = 1024, FAR_ELEMENTS = 16 * PAGE_ELEMENTS }; // of f32

// Lines that are read together are taken far apart if several would fit into a page or all are
// contiguous, and each then covers a few pages: CPUs prefetch several long runs of memory better
// than one, or than scattered pages, and do not prefetch jumps within a page.
static bool reads_far_apart(const weft_walk *w, int64_t mid_step, int64_t strip_width)
{
    const int64_t step = abs_i64(mid_step);
    const bool is_near = step < PAGE_ELEMENTS / w->widen || step <= strip_width / w->widen;
    return is_near && step * w->widen * min_i64(w->part_lines, w->full) >= FAR_ELEMENTS;
}

weft_walk weft_walk_of(const weft_axes *axes, const weft_axis_tiling *tiling)
{
    weft_walk w = {
        .high = axes->high_extent,
        .outer = axes->outer_extent,
        .mid = axes->mid.extent,
        .low = axes->low.extent,
        .widen = tiling->widen,
        .parts = tiling->parts,
        .n_high = axes->n_high,
        .n_outer = axes->n_outer,
        .vectors = tiling->vectors,
        .full = axes->mid.extent / tiling->widen,
        .lines = ceil_div(axes->mid.extent, tiling->widen),
        .rest = axes->mid.extent % tiling->widen * axes->low.extent,
    };
    const int64_t items_z = max_i64(tiling->items_z, 1);
    w.run = min_i64(tiling->run, ceil_div(axes->high_extent, items_z)) * items_z;
    w.part_lines = ceil_div(w.outer * w.lines, w.parts);
    // Rows are prefetched, and are faster from end to end.
    if (!(axes->low.extent == 1 && axes->low_adjacent) &&
        reads_far_apart(&w, axes->mid.stride[0], (int64_t)tiling->vectors * tiling->vector_width))
        w.reads |= WEFT_READS_SPREAD;
    for (int i = 0; i < axes->n_high; ++i)
        w.high_extents[i] = axes->high[i].extent;
    for (int i = 0; i < axes->n_outer; ++i)
        w.outer_extents[i] = axes->outer[i].extent;
    return w;
}

size_t weft_axis_group(const weft_axis_tiling *tiling, size_t local[3])
{
    local[0] = (size_t)tiling->items * (size_t)tiling->items_y;
    local[1] = 1;
    local[2] = (size_t)(tiling->items_z > 1 ? tiling->items_z : 1);
    return local[0] * local[1] * local[2];
}

int64_t weft_walk_groups(const weft_walk *walk, const weft_axis_tiling *tiling)
{
    return min_i64(tiling->grid_y, ceil_div(walk->high, walk->run));
}

void weft_walk_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                    size_t local[3])
{
    weft_axis_group(tiling, local);
    global[0] = (size_t)tiling->grid_x * local[0];
    global[1] = (size_t)weft_walk_groups(walk, tiling) * local[1];
    global[2] = (size_t)tiling->parts * local[2];
}

void weft_walk_join_grid(const weft_walk *walk, const weft_axis_tiling *tiling, size_t global[3],
                         size_t local[3])
{
    weft_axis_group(tiling, local);
    const int64_t outputs = (int64_t)tiling->items * tiling->vector_width * (int64_t)local[2];
    global[0] = (size_t)ceil_div(walk->high * walk->low, outputs) * local[0];
    global[1] = local[1];
    global[2] = local[2];
}

void weft_walk_clear(weft_walk *walk)
{
    walk->mid = walk->full = walk->lines = walk->rest = walk->part_lines = 0;
}

void weft_view_close(weft_view *view)
{
    view->end = 0;
}

// The distance from the first element of an axis to its last.
static int64_t reach(const weft_axis *axis, int operand)
{
    return max_i64(axis->stride[operand], 0) * (axis->extent - 1);
}

// If lanes run along mid, a step from column to column is one along mid.
weft_view weft_view_of(const weft_axes *axes, int operand)
{
    assert(operand < axes->n_operands);
    const bool is_along_mid = axes->low.extent == 1;
    weft_view v = {
        .start = axes->start[operand],
        .mid = axes->mid.stride[operand],
        .low = is_along_mid ? axes->mid.stride[operand] : axes->low.stride[operand],
    };
    v.end = v.start + 1 + reach(&axes->low, operand) + reach(&axes->mid, operand);
    for (int i = 0; i < axes->n_high; ++i)
        v.end += reach(&axes->high[i], operand);
    for (int i = 0; i < axes->n_outer; ++i)
        v.end += reach(&axes->outer[i], operand);
    for (int i = 0; i < axes->n_high; ++i)
        v.high[i] = axes->high[i].stride[operand];
    for (int i = 0; i < axes->n_outer; ++i)
        v.outer[i] = axes->outer[i].stride[operand];
    return v;
}

// A power of two that divides the place of each row in every operand that is read or written in
// rows, and their length.
static int64_t row_alignment(const weft_axes *axes)
{
    int64_t all = axes->mid.extent;
    for (int i = 0; i < axes->n_lines; ++i) {
        if (axes->mid.stride[i] == 0)
            continue;
        all |= axes->start[i];
        for (int k = 0; k < axes->n_high; ++k)
            all |= axes->high[k].stride[i];
    }
    return pow2_divisor(all);
}

weft_axis_problem weft_axis_problem_of(const weft_axes *axes, weft_dtype dtype)
{
    return (weft_axis_problem){
        .high = axes->high_extent,
        .mid = axes->mid.extent,
        .low = axes->low.extent,
        .outer = axes->outer_extent,
        .dtype = dtype,
        .low_adjacent = axes->low_adjacent,
        .mid_adjacent = axes->mid_adjacent,
        .holds = axes->holds,
        .alignment = row_alignment(axes),
    };
}

bool weft_walk_pitch(int64_t outputs, int64_t *pitch)
{
    if (outputs > INT64_MAX - WEFT_WALK_PITCH)
        return false;
    *pitch = ceil_div(outputs, (int64_t)WEFT_WALK_PITCH) * WEFT_WALK_PITCH;
    return true;
}

bool weft_walk_scratch(const weft_walk *walk, int n_numbers, size_t *bytes)
{
    int64_t n;
    *bytes = 0;
    if (!mul_i64(walk->high, walk->low, &n) || !weft_walk_pitch(n, &n) ||
        !mul_i64(n, walk->parts, &n) || !mul_i64(n, (int64_t)sizeof(cl_long) * n_numbers, &n) ||
        (uint64_t)n > SIZE_MAX / 2)
        return false;
    // The last vector may begin at the last output.
    *bytes = (size_t)n + WEFT_WALK_PITCH * sizeof(cl_long);
    return true;
}

// Few classes mean few programs: a single vector stays in registers, if that is worth a program,
// and items of a group have little private memory each, which does not matter on a CPU.
static int vectors_at_most(const weft_axis_tiling *tiling, bool is_adjacent)
{
    size_t local[3];
    const bool is_alone = weft_axis_group(tiling, local) == 1;
    const bool is_slow = is_alone && (tiling->vector_width < 8 || !is_adjacent);
    if (tiling->vectors == 1 && !is_slow)
        return 1;
    if (!is_alone && tiling->vectors <= FEW_VECTORS)
        return FEW_VECTORS;
    return tiling->vectors <= MANY_VECTORS ? MANY_VECTORS : WEFT_AXIS_MOST_VECTORS;
}

enum { SHUFFLED_ITEMS = 32 }; // that exchange states by shuffles: NVIDIA's warp

// Shuffles in a last warp that is not full would read items that do not exist; and with items_z
// above 1 each group of items must be whole sub-groups, or within one.
static bool are_shuffled(const weft_axis_tiling *tiling)
{
    size_t local[3];
    const size_t items = weft_axis_group(tiling, local);
    const bool is_even = local[2] == 1 || is_pow2_upto(tiling->items, SHUFFLED_ITEMS);
    return tiling->items_y > 1 && tiling->vector_width == 1 && is_even &&
           (items <= SHUFFLED_ITEMS || items % SHUFFLED_ITEMS == 0);
}

void weft_axis_defines(weft_defines *defines, const weft_context *ctx, const weft_axes *axes,
                       const weft_axis_tiling *tiling, bool needs_registers)
{
    weft_defines_add(defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(defines, "VECTORS", vectors_at_most(tiling, axes->low_adjacent));
    weft_defines_add(defines, "ITEMS", tiling->items);
    weft_defines_add(defines, "ITEMS_Y", tiling->items_y);
    if (tiling->items_z > 1)
        weft_defines_add(defines, "ITEMS_Z", tiling->items_z);
    if (needs_registers)
        weft_defines_add_registers(defines, ctx->least_subgroup);
    else
        weft_defines_add_sub_group(defines, ctx->least_subgroup, WEFT_WIDE_SUB_GROUP);
    weft_defines_add(defines, "UNROLL", tiling->unroll);
    if (tiling->held > 0)
        weft_defines_add(defines, "HELD", tiling->held);
    weft_defines_add(defines, "ADJACENT", axes->low_adjacent && tiling->vector_width > 1);
    weft_defines_add(defines, "WIDENED", tiling->vector_width > 1 || tiling->widen > 1);
    weft_defines_add(defines, "ROWS", tiling->widen > 1 && axes->low.extent == 1);
    weft_defines_add_shuffles(defines, ctx, are_shuffled(tiling));
}
