// SPDX-License-Identifier: Apache-2.0
// Nests of loops over views.
#include "operand/nest.h"

#include "base/arithmetic.h"
#include "operand/view.h"

// The stride of a view along a dimension of the first view, counted from the last.
static int64_t stride_of(const weft_tensor *view, int from_last)
{
    const int d = view->ndim - 1 - from_last;
    return d < 0 || view->shape[d] == 1 ? 0 : view->stride[d];
}

static void add_loops(weft_nest *nest, const weft_tensor *const *views)
{
    const weft_tensor *first = views[0];
    for (int from_last = 0; from_last < first->ndim; from_last++) {
        const int64_t extent = first->shape[first->ndim - 1 - from_last];
        if (extent == 1)
            continue;
        const int d = nest->n_loops++;
        nest->extent[d] = extent;
        for (int i = 0; i < nest->n_operands; i++)
            nest->stride[i][d] = stride_of(views[i], from_last);
    }
}

// Reverses a loop, so that the first operand counts upwards.
static void reverse_loop(weft_nest *nest, int d)
{
    for (int i = 0; i < nest->n_operands; i++) {
        nest->start[i] += (nest->extent[d] - 1) * nest->stride[i][d];
        nest->stride[i][d] = -nest->stride[i][d];
    }
}

static void swap_loops(weft_nest *nest, int a, int b)
{
    const int64_t extent = nest->extent[a];
    nest->extent[a] = nest->extent[b];
    nest->extent[b] = extent;
    for (int i = 0; i < nest->n_operands; i++) {
        const int64_t stride = nest->stride[i][a];
        nest->stride[i][a] = nest->stride[i][b];
        nest->stride[i][b] = stride;
    }
}

static void sort_loops(weft_nest *nest)
{
    for (int d = 1; d < nest->n_loops; d++)
        for (int at = d; at > 0 && nest->stride[0][at - 1] > nest->stride[0][at]; at--)
            swap_loops(nest, at - 1, at);
}

// Whether loop d + 1 goes on where loop d ends, in every operand.
static bool follows(const weft_nest *nest, int d)
{
    for (int i = 0; i < nest->n_operands; i++) {
        int64_t next;
        if (!mul_i64(nest->extent[d], nest->stride[i][d], &next) || nest->stride[i][d + 1] != next)
            return false;
    }
    return true;
}

static void drop_loop(weft_nest *nest, int d)
{
    nest->n_loops--;
    for (; d < nest->n_loops; d++)
        swap_loops(nest, d, d + 1);
}

static void merge_loops(weft_nest *nest)
{
    for (int d = 0; d + 1 < nest->n_loops;)
        if (follows(nest, d)) {
            nest->extent[d] *= nest->extent[d + 1];
            drop_loop(nest, d + 1);
        } else {
            d++;
        }
}

static void fill_up(weft_nest *nest)
{
    for (int d = nest->n_loops; d < WEFT_MAX_NDIM; d++) {
        nest->extent[d] = 1;
        for (int i = 0; i < nest->n_operands; i++)
            nest->stride[i][d] = 0;
    }
    if (nest->n_loops < 2)
        nest->n_loops = 2;
}

weft_nest weft_nest_of(int n_views, const weft_tensor *const *views)
{
    weft_nest nest = {.n_operands = n_views};
    for (int i = 0; i < n_views; i++)
        nest.start[i] = views[i]->offset;
    add_loops(&nest, views);
    for (int d = 0; d < nest.n_loops; d++)
        if (nest.stride[0][d] < 0)
            reverse_loop(&nest, d);
    sort_loops(&nest);
    merge_loops(&nest);
    fill_up(&nest);
    return nest;
}

void weft_nest_raise(weft_nest *nest, int d)
{
    for (; d > 1; d--)
        swap_loops(nest, d - 1, d);
}

int64_t weft_nest_count(const weft_nest *nest, int d)
{
    int64_t n = 1;
    for (; d < nest->n_loops; d++)
        n *= nest->extent[d];
    return n;
}

int64_t weft_nest_reach(const weft_nest *nest)
{
    int64_t most = weft_nest_count(nest, 0);
    for (int i = 0; i < nest->n_operands; i++) {
        int64_t reach = 0;
        for (int d = 0; d < nest->n_loops; d++)
            reach += (nest->extent[d] - 1) * abs_i64(nest->stride[i][d]);
        most = max_i64(most, reach);
    }
    return most;
}
