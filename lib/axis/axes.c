// SPDX-License-Identifier: Apache-2.0
// Sorts axes: kept and reduced ones, each slowest first and merged, and picks the kept axis that
// lanes run along.
#include "axis/axes.h"

#include <string.h>

#include "base/arithmetic.h"
#include "operand/view.h"

enum {
    // Least extent of a kept axis of stride 1 for lanes to run along it: 8 elements of f32 are half
    // a vector of the widest CPUs, and the 32 bytes that GPUs fetch at least. Along another axis
    // lanes would fetch each element separately.
    WIDE_LOW = 8,
    // Or a narrower one, where lines may be widened to this: four vectors, so that the overlap at
    // the end of a line and the combining of lanes cost little.
    WIDE_LINE = 64,
    // Else lanes run along an axis this many times longer: separate fetches, but no idle lanes.
    LONGER = 4,
    // Least extent of mid for lanes along it: two vectors, or a GPU's warp. Below, combining the
    // lanes of each result costs more than separate fetches for as many results at a time.
    LONG_MID = 32,
    // Least number of results for such fetches: half a vector.
    MANY_RESULTS = 8,
};

typedef struct {
    weft_axis axis[WEFT_MAX_NDIM];
    int n;
} axes;

static axes axes_of(const weft_axes_request *request, bool are_reduced)
{
    axes found = {.n = 0};
    for (int d = 0; d < request->ndim; d++)
        if (request->is_reduced[d] == are_reduced && request->shape[d] != 1) {
            weft_axis *axis = &found.axis[found.n++];
            axis->extent = request->shape[d];
            for (int i = 0; i < request->n_operands; i++)
                axis->stride[i] = request->stride[i][d];
        }
    return found;
}

// Whether the first operand with a stride along this axis has a negative one.
static bool is_backward(const weft_axis *axis, int n_operands)
{
    int i = 0;
    while (i < n_operands - 1 && axis->stride[i] == 0)
        i++;
    return axis->stride[i] < 0;
}

static void make_strides_positive(weft_axes *sorted, axes *some)
{
    for (int k = 0; k < some->n; k++) {
        weft_axis *axis = &some->axis[k];
        if (!is_backward(axis, sorted->n_operands))
            continue;
        for (int i = 0; i < sorted->n_operands; i++) {
            sorted->start[i] += (axis->extent - 1) * axis->stride[i];
            axis->stride[i] = -axis->stride[i];
        }
    }
}

// Axes of large stride come first, those of stride 0 before all: an operand that is read repeatedly
// is then read in the order of memory each time.
static int64_t slowness(int64_t stride)
{
    return stride == 0 ? INT64_MAX : abs_i64(stride);
}

static bool is_slower(const weft_axis *a, const weft_axis *b, int n_operands)
{
    for (int i = 0; i < n_operands; i++)
        if (slowness(a->stride[i]) != slowness(b->stride[i]))
            return slowness(a->stride[i]) > slowness(b->stride[i]);
    return false;
}

static void sort(axes *some, int n_operands)
{
    for (int k = 1; k < some->n; k++) {
        const weft_axis axis = some->axis[k];
        int place = k;
        for (; place > 0 && is_slower(&axis, &some->axis[place - 1], n_operands); place--)
            some->axis[place] = some->axis[place - 1];
        some->axis[place] = axis;
    }
}

// Whether a step of `slow` is the whole length of `fast`, in each of the first n operands.
static bool continues(const weft_axis *slow, const weft_axis *fast, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t end;
        if (!mul_i64(fast->stride[i], fast->extent, &end) || slow->stride[i] != end)
            return false;
    }
    return true;
}

static void merge(axes *some, int n_operands)
{
    int n = 0;
    for (int k = 0; k < some->n; k++) {
        weft_axis axis = some->axis[k];
        if (n > 0 && continues(&some->axis[n - 1], &axis, n_operands))
            axis.extent *= some->axis[--n].extent;
        some->axis[n++] = axis;
    }
    some->n = n;
}

static bool steps_by_one(const weft_axis *axis, int n_lines)
{
    for (int i = 0; i < n_lines; i++)
        if (axis->stride[i] != 1)
            return false;
    return true;
}

// The index of a kept axis; -1 if there is none.

static int adjacent_one(const axes *kept)
{
    for (int k = kept->n - 1; k >= 0; k--)
        if (kept->axis[k].stride[0] == 1)
            return k;
    return -1;
}

static int longest_one(const axes *kept)
{
    int longest = -1;
    for (int k = kept->n - 1; k >= 0; k--)
        if (longest < 0 || kept->axis[k].extent > kept->axis[longest].extent)
            longest = k;
    return longest;
}

// The last one, as they are sorted, unless its stride is 0.
static int fastest_one(const axes *kept)
{
    return kept->n > 0 && kept->axis[kept->n - 1].stride[0] != 0 ? kept->n - 1 : -1;
}

// Some kept axis has stride 1.
static int low_beside(const axes *kept, int adjacent, const weft_axis *mid, int n_lines)
{
    const weft_axis *axis = &kept->axis[adjacent];
    if (axis->extent >= WIDE_LOW)
        return adjacent;
    const bool is_dense = steps_by_one(axis, n_lines) && continues(mid, axis, n_lines);
    if (is_dense && mid->extent * axis->extent >= WIDE_LINE)
        return adjacent;
    const int longest = longest_one(kept);
    return kept->axis[longest].extent > LONGER * axis->extent ? longest : adjacent;
}

// No kept axis has stride 1: mid has the smallest stride.
static int low_or_mid(const axes *kept, const weft_axis *mid, int n_lines, bool reads_lines)
{
    if (mid->extent >= LONG_MID || (reads_lines && steps_by_one(mid, n_lines)))
        return -1;
    const int longest = longest_one(kept);
    return longest >= 0 && kept->axis[longest].extent >= MANY_RESULTS ? longest : -1;
}

// The kept axis that lanes run along, or -1: they run along mid. With `reads_lines` elements of mid
// that are side by side are read together, however few they are.
static int low_of(const axes *kept, const weft_axis *mid, int n_lines, bool reads_lines)
{
    const int adjacent = adjacent_one(kept), fastest = fastest_one(kept);
    if (adjacent >= 0)
        return low_beside(kept, adjacent, mid, n_lines);
    if (mid->extent == 1)
        return fastest >= 0 ? fastest : longest_one(kept);
    if (fastest >= 0 && kept->axis[fastest].stride[0] < abs_i64(mid->stride[0]))
        return fastest;
    return low_or_mid(kept, mid, n_lines, reads_lines);
}

// Removes an axis from `some`.
static weft_axis taken(axes *some, int which)
{
    if (which < 0)
        return (weft_axis){.extent = 1};
    const weft_axis axis = some->axis[which];
    some->n--;
    for (int k = which; k < some->n; k++)
        some->axis[k] = some->axis[k + 1];
    return axis;
}

static int64_t extent_of(const axes *some)
{
    int64_t extent = 1;
    for (int k = 0; k < some->n; k++)
        extent *= some->axis[k].extent;
    return extent;
}

weft_axes weft_axes_sort(const weft_axes_request *request)
{
    const int n_operands = request->n_operands, n_lines = request->n_lines;
    weft_axes sorted = {.n_operands = n_operands, .n_lines = n_lines, .holds = request->holds};
    memcpy(sorted.start, request->start, sizeof(sorted.start));

    axes kept = axes_of(request, false), reduced = axes_of(request, true);
    make_strides_positive(&sorted, &kept);
    sort(&kept, n_operands);
    merge(&kept, n_operands);
    if (!request->in_order) {
        make_strides_positive(&sorted, &reduced);
        sort(&reduced, n_operands);
    }
    merge(&reduced, n_operands);

    sorted.mid = taken(&reduced, reduced.n - 1);
    const bool reads_lines = request->is_vectorized || (request->holds && reduced.n == 0);
    sorted.low = taken(&kept, low_of(&kept, &sorted.mid, n_lines, reads_lines));
    sorted.n_high = kept.n;
    sorted.n_outer = reduced.n;
    memcpy(sorted.high, kept.axis, sizeof(sorted.high));
    memcpy(sorted.outer, reduced.axis, sizeof(sorted.outer));
    sorted.high_extent = extent_of(&kept);
    sorted.outer_extent = extent_of(&reduced);

    const bool has_low = sorted.low.extent > 1, has_mid = sorted.mid.extent > 1;
    sorted.low_adjacent = has_low   ? steps_by_one(&sorted.low, n_lines)
                          : has_mid ? steps_by_one(&sorted.mid, n_lines)
                                    : true;
    sorted.mid_adjacent = !has_low || continues(&sorted.mid, &sorted.low, n_lines);
    return sorted;
}
