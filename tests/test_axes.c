// SPDX-License-Identifier: Apache-2.0
// Sorted axes: whatever the strides, walking (high, outer, mid, low) comes to every element once,
// at the right place in every operand; and the layouts that people have come out as expected.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "axis/axes.h"
#include "random.h"

enum { N_RANDOM = 30000, MOST_ELEMENTS = 3000 };

// A tensor's axes as a test has them, with one operand that has a place of its own for each
// element.
typedef struct problem {
    weft_axes_request request;
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_AXES_MOST_OPERANDS][WEFT_MAX_NDIM];
    int key;          // that operand
    int64_t n;        // elements
    int64_t n_places; // of the key
} problem;

static void connect(problem *p)
{
    p->request.shape = p->shape;
    for (int i = 0; i < p->request.n_operands; i++)
        p->request.stride[i] = p->stride[i];
}

// Strides of a dense tensor whose axes are in a random order and now and then sliced, so that
// elements keep apart; some axes run backwards. Returns how many places it spans, from 0.
static int64_t random_layout(random_state *random, problem *p, int operand, const int *order)
{
    int64_t step = 1;
    p->request.start[operand] = 0;
    for (int k = 0; k < p->request.ndim; k++) {
        const int d = order[k];
        if (random_below(random, 6) == 0)
            step *= random_between(random, 2, 3);
        p->stride[operand][d] = step;
        step *= p->shape[d];
        if (random_below(random, 5) == 0) {
            p->request.start[operand] += (p->shape[d] - 1) * p->stride[operand][d];
            p->stride[operand][d] *= -1;
        }
    }
    return step;
}

static void shuffle(random_state *random, int *order, int n)
{
    for (int k = 0; k < n; k++)
        order[k] = n - 1 - k;
    if (random_below(random, 3) == 0)
        return;
    for (int k = n - 1; k > 0; k--) {
        const int other = (int)random_below(random, k + 1), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

static void random_problem(random_state *random, problem *p)
{
    *p = (problem){.n = 1};
    weft_axes_request *r = &p->request;
    r->ndim = (int)random_below(random, WEFT_MAX_NDIM + 1);
    for (int d = 0; d < r->ndim; d++) {
        p->shape[d] = random_between(random, 1, random_below(random, 4) ? 4 : 40);
        if (p->n * p->shape[d] > MOST_ELEMENTS)
            p->shape[d] = 1;
        p->n *= p->shape[d];
        r->is_reduced[d] = random_below(random, 2);
    }
    r->in_order = random_below(random, 3) == 0;
    r->holds = random_below(random, 2) != 0;
    r->n_operands = (int)random_between(random, 1, WEFT_AXES_MOST_OPERANDS);
    r->n_lines = (int)random_between(random, 1, r->n_operands);
    p->key = (int)random_below(random, r->n_operands);
    int order[WEFT_MAX_NDIM];
    shuffle(random, order, r->ndim);
    for (int i = 0; i < r->n_operands; i++) {
        if (random_below(random, 3) == 0)
            shuffle(random, order, r->ndim);
        const int64_t n_places = random_layout(random, p, i, order);
        if (i == p->key)
            p->n_places = n_places;
        else
            for (int d = 0; d < r->ndim; d++)
                if (random_below(random, 6) == 0)
                    p->stride[i][d] = 0;
        r->start[i] += random_below(random, 100);
    }
    p->n_places += r->start[p->key];
    connect(p);
}

static int64_t place_of(const problem *p, int operand, const int64_t *index)
{
    int64_t place = p->request.start[operand];
    for (int d = 0; d < p->request.ndim; d++)
        place += index[d] * p->stride[operand][d];
    return place;
}

// Counts up, last axis fastest; false after the last one.
static bool next_index(const problem *p, int64_t *index)
{
    for (int d = p->request.ndim - 1; d >= 0; d--) {
        if (++index[d] < p->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

// One element as it stands in the tensor: which result it belongs to, and which of that result's
// elements it is.
typedef struct element {
    int64_t index[WEFT_MAX_NDIM];
    int64_t result, place;
    bool is_there, was_seen;
} element;

// The elements at their places in the key.
static element *elements_of(const problem *p)
{
    element *elements = calloc((size_t)p->n_places, sizeof(*elements));
    assert_non_null(elements);
    int64_t index[WEFT_MAX_NDIM] = {0};
    do {
        element *e = &elements[place_of(p, p->key, index)];
        assert_false(e->is_there);
        e->is_there = true;
        memcpy(e->index, index, sizeof(index));
        for (int d = 0; d < p->request.ndim; d++) {
            int64_t *number = p->request.is_reduced[d] ? &e->place : &e->result;
            *number = *number * p->shape[d] + index[d];
        }
    } while (next_index(p, index));
    return elements;
}

// Where `number`, counted along the axes, last one fastest, stands in an operand.
static int64_t along(const weft_axis *axis, int n, int operand, int64_t number)
{
    int64_t place = 0;
    for (int k = n - 1; k >= 0; k--) {
        place += number % axis[k].extent * axis[k].stride[operand];
        number /= axis[k].extent;
    }
    return place;
}

static int64_t walked_to(const weft_axes *a, int operand, int64_t high, int64_t outer, int64_t mid,
                         int64_t low)
{
    return a->start[operand] + along(a->high, a->n_high, operand, high) +
           along(a->outer, a->n_outer, operand, outer) + mid * a->mid.stride[operand] +
           low * a->low.stride[operand];
}

// One result's elements: all of one result, each once, each at its place in every operand.
static void check_result(const problem *p, const weft_axes *a, element *elements, int64_t high,
                         int64_t low)
{
    int64_t result = -1, last = -1;
    for (int64_t outer = 0; outer < a->outer_extent; outer++)
        for (int64_t mid = 0; mid < a->mid.extent; mid++) {
            const int64_t place = walked_to(a, p->key, high, outer, mid, low);
            assert_in_range(place, 0, p->n_places - 1);
            element *e = &elements[place];
            assert_true(e->is_there && !e->was_seen);
            e->was_seen = true;
            for (int i = 0; i < p->request.n_operands; i++)
                assert_int_equal(walked_to(a, i, high, outer, mid, low), place_of(p, i, e->index));
            if (result >= 0)
                assert_int_equal(e->result, result);
            result = e->result;
            if (p->request.in_order)
                assert_int_equal(e->place, last + 1);
            last = e->place;
        }
}

static void check_adjacency(const problem *p, const weft_axes *a)
{
    bool low_adjacent = true, mid_adjacent = true;
    const bool is_along_mid = a->low.extent == 1;
    const weft_axis *line = is_along_mid ? &a->mid : &a->low;
    for (int i = 0; i < p->request.n_lines; i++) {
        low_adjacent &= line->extent == 1 || line->stride[i] == 1;
        mid_adjacent &= is_along_mid || a->mid.stride[i] == a->low.extent * a->low.stride[i];
    }
    assert_int_equal(a->low_adjacent, low_adjacent);
    assert_int_equal(a->mid_adjacent, mid_adjacent);
}

// No two neighbours that are one axis, nothing of extent 1, and what is fast comes last.
static void check_sorted(const weft_axis *axis, int n, bool is_sorted)
{
    for (int k = 0; k < n; k++) {
        assert_true(axis[k].extent > 1);
        if (is_sorted)
            assert_true(axis[k].stride[0] >= 0);
        if (is_sorted && k > 0 && axis[k - 1].stride[0] != 0)
            assert_true(axis[k].stride[0] != 0 && axis[k - 1].stride[0] >= axis[k].stride[0]);
    }
}

static void check_problem(const problem *p)
{
    const weft_axes a = weft_axes_sort(&p->request);
    assert_int_equal(a.n_operands, p->request.n_operands);
    assert_int_equal(a.high_extent * a.outer_extent * a.mid.extent * a.low.extent, p->n);
    element *elements = elements_of(p);
    for (int64_t high = 0; high < a.high_extent; high++)
        for (int64_t low = 0; low < a.low.extent; low++)
            check_result(p, &a, elements, high, low);
    for (int64_t place = 0; place < p->n_places; place++)
        assert_int_equal(elements[place].is_there, elements[place].was_seen);
    free(elements);
    check_adjacency(p, &a);
    check_sorted(a.high, a.n_high, true);
    check_sorted(a.outer, a.n_outer, !p->request.in_order);
}

static void test_random_strides(void **state)
{
    (void)state;
    random_state random = {31};
    for (int i = 0; i < N_RANDOM; i++) {
        problem p;
        random_problem(&random, &p);
        check_problem(&p);
    }
}

// A row-major tensor of f32 and its row-major copy, reduced along the axes of `mask` (bit 0 is axis
// 0).
static weft_axes dense(int ndim, const int64_t *shape, unsigned mask)
{
    problem p = {.request = {.ndim = ndim, .n_operands = 2, .n_lines = 2}};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        p.shape[d] = shape[d];
        p.stride[0][d] = p.stride[1][d] = step;
        p.request.is_reduced[d] = mask >> d & 1;
        step *= shape[d];
    }
    connect(&p);
    return weft_axes_sort(&p.request);
}

static void check_extents(const weft_axes *a, int64_t high, int64_t outer, int64_t mid, int64_t low)
{
    if (a->high_extent != high || a->outer_extent != outer || a->mid.extent != mid ||
        a->low.extent != low)
        fail_msg("high %" PRId64 ", outer %" PRId64 ", mid %" PRId64 ", low %" PRId64,
                 a->high_extent, a->outer_extent, a->mid.extent, a->low.extent);
}

static void test_dense_tensors(void **state)
{
    (void)state;
    static const struct {
        int ndim;
        int64_t shape[4];
        unsigned mask;
        int64_t high, outer, mid, low;
        bool low_adjacent, mid_adjacent;
    } cases[] = {
        {3, {512, 896, 48}, 2, 512, 1, 896, 48, true, true},
        {3, {64, 1000, 1024}, 2, 64, 1, 1000, 1024, true, true},
        {3, {4096, 1024, 16}, 2, 4096, 1, 1024, 16, true, true},
        {2, {24576, 896}, 2, 24576, 1, 896, 1, true, true},           // innermost
        {2, {24576, 896}, 1, 1, 1, 24576, 896, true, true},           // outermost
        {3, {512, 896, 48}, 7, 1, 1, 512 * 896 * 48, 1, true, true},  // all: one axis
        {3, {512, 896, 48}, 6, 512, 1, 896 * 48, 1, true, true},      // neighbours: one axis
        {3, {512, 896, 48}, 3, 1, 1, 512 * 896, 48, true, true},      //
        {3, {512, 896, 48}, 5, 896, 512, 48, 1, true, true},          // axes 0 and 2: 512 times 48
        {4, {2, 3, 5, 7}, 5, 3, 2, 5, 7, true, true},                 // two kept: the inner one
        {3, {1, 896, 1}, 2, 1, 1, 896, 1, true, true},                // axes of 1 are nothing
        {3, {512, 896, 48}, 0, 1, 1, 1, 512 * 896 * 48, true, false}, // nothing is reduced
        {0, {0}, 0, 1, 1, 1, 1, true, true},                          // a scalar
        {2, {100000, 20}, 2, 1, 1, 20, 100000, false, false}, // short rows: one for each lane
        {2, {100000, 32}, 2, 100000, 1, 32, 1, true, true},
        {2, {7, 20}, 2, 7, 1, 20, 1, true, true}, // but not for want of rows
        {3, {1000, 5, 3}, 2, 3, 1, 5, 1000, false, false},
        {3, {1000, 30, 3}, 2, 1000, 1, 30, 3, true, true}, // 90 elements as they lie
        {3, {10, 5, 3}, 2, 10, 1, 5, 3, true, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_axes a = dense(cases[i].ndim, cases[i].shape, cases[i].mask);
        check_extents(&a, cases[i].high, cases[i].outer, cases[i].mid, cases[i].low);
        assert_int_equal(a.low_adjacent, cases[i].low_adjacent);
        assert_int_equal(a.mid_adjacent, cases[i].mid_adjacent);
    }
}

// Short rows that stay in registers keep the lanes, if they are whole and their elements are side
// by side in every operand.
static void test_short_rows_in_registers(void **state)
{
    (void)state;
    problem p = {.request = {.ndim = 3, .holds = true, .n_operands = 2, .n_lines = 2},
                 .shape = {100000, 5, 20},
                 .stride = {{100, 20, 1}, {100, 20, 1}}};
    p.request.is_reduced[2] = true;
    connect(&p);
    weft_axes a = weft_axes_sort(&p.request);
    check_extents(&a, 500000, 1, 20, 1);
    assert_true(a.low_adjacent && a.holds);

    p.request.is_reduced[0] = true;
    p.shape[0] = 5, p.shape[1] = 1000;
    p.stride[0][0] = p.stride[1][0] = 20000;
    a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 5, 20, 1000);

    p.request.is_reduced[0] = false;
    p.stride[1][2] = 2, p.stride[1][1] = 40, p.stride[1][0] = 40000;
    a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 1, 20, 5000);

    p.request.n_lines = 1; // one result a row may be anywhere
    a = weft_axes_sort(&p.request);
    check_extents(&a, 5000, 1, 20, 1);

    p.request.holds = false;
    a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 1, 20, 5000);
}

// Softmax over the channels of an image that lies with its channels last, whatever its axes are
// called: what counts is where neighbours are.
static void test_permuted_copies(void **state)
{
    (void)state;
    problem p = {.request = {.ndim = 4, .n_operands = 2, .n_lines = 2},
                 .shape = {8, 64, 30, 40},
                 .stride = {{64 * 30 * 40, 1, 64 * 40, 64}, {64 * 30 * 40, 1, 64 * 40, 64}}};
    p.request.is_reduced[1] = true;
    connect(&p);
    weft_axes a = weft_axes_sort(&p.request);
    check_extents(&a, 8 * 30 * 40, 1, 64, 1);
    assert_int_equal(a.n_high, 1);

    // Into a copy whose channels come first: nothing merges but rows and columns, and nothing is
    // adjacent in both.
    p.stride[1][0] = 64 * 30 * 40, p.stride[1][1] = 30 * 40;
    p.stride[1][2] = 40, p.stride[1][3] = 1;
    a = weft_axes_sort(&p.request);
    check_extents(&a, 8 * 30 * 40, 1, 64, 1);
    assert_int_equal(a.n_high, 2);
    assert_false(a.low_adjacent);

    // Every other one of 48 columns, counted down: a line is not adjacent, nor backwards.
    problem q = {.request = {.ndim = 3, .n_operands = 1, .n_lines = 1, .start = {46}},
                 .shape = {512, 896, 24},
                 .stride = {{896 * 48, 48, -2}}};
    q.request.is_reduced[1] = true;
    connect(&q);
    a = weft_axes_sort(&q.request);
    check_extents(&a, 512, 1, 896, 24);
    assert_int_equal(a.start[0], 0);
    assert_int_equal(a.low.stride[0], 2);
    assert_false(a.low_adjacent);
    assert_true(a.mid_adjacent);
}

// argmax of a transposed matrix, over all of it: places count rows, so columns stay inside them.
static void test_order(void **state)
{
    (void)state;
    problem p = {.request = {.ndim = 2, .n_operands = 1, .n_lines = 1, .is_reduced = {true, true}},
                 .shape = {300, 200},
                 .stride = {{1, 300}}};
    connect(&p);
    weft_axes a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 1, 60000, 1);
    p.request.in_order = true;
    a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 300, 200, 1);
    assert_int_equal(a.mid.stride[0], 300);
    assert_false(a.low_adjacent);
}

// One row, read again for each result or for each element: that is the slowest axis.
static void test_repeated_elements(void **state)
{
    (void)state;
    problem p = {.request = {.ndim = 2, .n_operands = 1, .n_lines = 1, .is_reduced = {true, true}},
                 .shape = {896, 48},
                 .stride = {{1, 0}}};
    connect(&p);
    const weft_axes a = weft_axes_sort(&p.request);
    check_extents(&a, 1, 48, 896, 1);
    assert_true(a.low_adjacent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_tensors),  cmocka_unit_test(test_permuted_copies),
        cmocka_unit_test(test_order),          cmocka_unit_test(test_repeated_elements),
        cmocka_unit_test(test_random_strides), cmocka_unit_test(test_short_rows_in_registers),
    };
    return cmocka_run_group_tests_name("axes", tests, NULL, NULL);
}
