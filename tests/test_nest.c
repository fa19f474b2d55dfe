// SPDX-License-Identifier: Apache-2.0
// Nests of loops over views: what becomes of the layouts that people have, and that any nest comes
// to the same elements of all operands together as plain index arithmetic.
#include "base/arithmetic.h"
#include "operand/nest.h"
#include "random.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_OPERANDS = 4, MOST_ELEMENTS = 500, N_RANDOM = 6000 };

// ---- known layouts, as text: extents; start + strides of each operand

static void nest_text(const weft_nest *nest, char *text, size_t size)
{
    size_t used = 0;
    for (int d = 0; d < nest->n_loops; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d > 0 ? " x " : "",
                                 nest->extent[d]);
    for (int i = 0; i < nest->n_operands; i++) {
        used += (size_t)snprintf(text + used, size - used, "; %" PRId64, nest->start[i]);
        for (int d = 0; d < nest->n_loops; d++)
            used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d > 0 ? ", " : " + ",
                                     nest->stride[i][d]);
    }
    assert_true(used < size);
}

static void check_text(const weft_nest *nest, const char *expected)
{
    char text[1024];
    nest_text(nest, text, sizeof(text));
    if (strcmp(text, expected) != 0)
        fail_msg("\"%s\" instead of \"%s\"", text, expected);
}

static weft_tensor row_major(int ndim, const int64_t *shape)
{
    weft_tensor view = {.ndim = ndim};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = step;
        step *= shape[d];
    }
    return view;
}

#define ROW_MAJOR(ndim, ...) row_major(ndim, (const int64_t[]){__VA_ARGS__})

static weft_nest nest_of(int n_views, const weft_tensor *first, const weft_tensor *second)
{
    const weft_tensor *const views[] = {first, second};
    return weft_nest_of(n_views, views);
}

static void check_one(weft_tensor view, const char *expected)
{
    const weft_nest nest = nest_of(1, &view, NULL);
    check_text(&nest, expected);
}

static void check_two(weft_tensor first, weft_tensor second, const char *expected)
{
    const weft_nest nest = nest_of(2, &first, &second);
    check_text(&nest, expected);
}

static void test_contiguous(void **state)
{
    (void)state;
    check_one((weft_tensor){.offset = 5}, "1 x 1; 5 + 0, 0");
    check_one(ROW_MAJOR(1, 7), "7 x 1; 0 + 1, 0");
    check_one(ROW_MAJOR(3, 3, 4, 5), "60 x 1; 0 + 1, 0");
    for (int ndim = 1; ndim <= WEFT_MAX_NDIM; ndim++) {
        const weft_tensor view = ROW_MAJOR(ndim, 2, 3, 2, 3, 2, 3, 2, 3);
        const weft_nest nest = nest_of(2, &view, &view);
        assert_int_equal(nest.n_loops, 2);
        assert_int_equal(nest.extent[0], weft_nest_count(&nest, 0));
        assert_int_equal(nest.extent[0], view.shape[0] * view.stride[0]);
        assert_int_equal(nest.stride[1][0], 1);
    }
    // Rows with a gap between them stay loops.
    check_one((weft_tensor){.ndim = 2, .shape = {4, 5}, .stride = {6, 1}}, "5 x 4; 0 + 1, 6");
    // Gaps between elements do not keep rows apart.
    check_one((weft_tensor){.ndim = 2, .shape = {4, 5}, .stride = {10, 2}}, "20 x 1; 0 + 2, 0");
}

static void test_broadcasting(void **state)
{
    (void)state;
    const weft_tensor matrix = ROW_MAJOR(2, 3, 5), cube = ROW_MAJOR(3, 4, 3, 5);
    check_two(matrix, (weft_tensor){.offset = 9}, "15 x 1; 0 + 1, 0; 9 + 0, 0");
    check_two(matrix, ROW_MAJOR(1, 5), "5 x 3; 0 + 1, 5; 0 + 1, 0");
    check_two(matrix, ROW_MAJOR(2, 3, 1), "5 x 3; 0 + 1, 5; 0 + 0, 1");
    check_two(matrix, ROW_MAJOR(2, 1, 5), "5 x 3; 0 + 1, 5; 0 + 1, 0");
    check_two(cube, ROW_MAJOR(2, 3, 5), "15 x 4; 0 + 1, 15; 0 + 1, 0");
    check_two(cube, ROW_MAJOR(3, 4, 1, 1), "15 x 4; 0 + 1, 15; 0 + 0, 1");
    check_two(cube, ROW_MAJOR(3, 4, 1, 5), "5 x 3 x 4; 0 + 1, 5, 15; 0 + 1, 0, 5");
    // A stride along an extent of 1 says nothing.
    const weft_tensor column = {.ndim = 2, .shape = {3, 1}, .stride = {2, 1000}};
    check_two(matrix, column, "5 x 3; 0 + 1, 5; 0 + 0, 2");
}

static void test_transposes(void **state)
{
    (void)state;
    const weft_tensor matrix = ROW_MAJOR(2, 3, 5);
    const weft_tensor transposed = {.ndim = 2, .shape = {3, 5}, .stride = {1, 3}};
    check_one(transposed, "15 x 1; 0 + 1, 0");
    check_two(transposed, transposed, "15 x 1; 0 + 1, 0; 0 + 1, 0");
    check_two(matrix, transposed, "5 x 3; 0 + 1, 5; 0 + 3, 1");
    check_two(transposed, matrix, "3 x 5; 0 + 1, 3; 0 + 5, 1");
    // Channels last, read from where they come first: rows and columns are one loop.
    const weft_tensor last = {.ndim = 4, .shape = {2, 3, 4, 5}, .stride = {60, 1, 15, 3}};
    check_two(last, ROW_MAJOR(4, 2, 3, 4, 5), "3 x 20 x 2; 0 + 1, 3, 60; 0 + 20, 1, 60");
}

static void test_negative_strides(void **state)
{
    (void)state;
    const weft_tensor down = {.ndim = 1, .offset = 6, .shape = {7}, .stride = {-1}};
    const weft_tensor half = {.ndim = 2, .offset = 4, .shape = {3, 5}, .stride = {5, -1}};
    check_one(down, "7 x 1; 0 + 1, 0");
    check_two(down, down, "7 x 1; 0 + 1, 0; 0 + 1, 0");
    check_two(down, ROW_MAJOR(1, 7), "7 x 1; 0 + 1, 0; 6 + -1, 0");
    check_two(ROW_MAJOR(1, 7), down, "7 x 1; 0 + 1, 0; 6 + -1, 0");
    check_two(half, ROW_MAJOR(2, 3, 5), "5 x 3; 0 + 1, 5; 4 + -1, 5");
    check_two(half, ROW_MAJOR(1, 5), "5 x 3; 0 + 1, 5; 4 + -1, 0");
    // Backwards in both directions is backwards along one.
    const weft_tensor back = {.ndim = 2, .offset = 114, .shape = {3, 5}, .stride = {-5, -1}};
    check_two(back, ROW_MAJOR(2, 3, 5), "15 x 1; 100 + 1, 0; 14 + -1, 0");
}

static void test_extents_of_1(void **state)
{
    (void)state;
    check_one(ROW_MAJOR(4, 1, 1, 1, 1), "1 x 1; 0 + 0, 0");
    check_one(ROW_MAJOR(5, 1, 3, 1, 5, 1), "15 x 1; 0 + 1, 0");
    const weft_tensor odd = {
        .ndim = 4, .offset = 2, .shape = {1, 3, 1, 5}, .stride = {-7, 5, 99, 1}};
    check_one(odd, "15 x 1; 2 + 1, 0");
    check_two(odd, ROW_MAJOR(4, 1, 3, 1, 1), "5 x 3; 2 + 1, 5; 0 + 0, 1");
}

static void test_raise(void **state)
{
    (void)state;
    const weft_tensor sliced = {
        .ndim = 4, .shape = {2, 3, 4, 5}, .stride = {1000, 100, 10, 1}, .offset = 7};
    static const char *const expected[] = {
        "5 x 4 x 3 x 2; 7 + 1, 10, 100, 1000",
        "5 x 4 x 3 x 2; 7 + 1, 10, 100, 1000",
        "5 x 3 x 4 x 2; 7 + 1, 100, 10, 1000",
        "5 x 2 x 4 x 3; 7 + 1, 1000, 10, 100",
    };
    for (int d = 1; d < 4; d++) {
        weft_nest nest = nest_of(1, &sliced, NULL);
        check_text(&nest, expected[0]);
        weft_nest_raise(&nest, d);
        check_text(&nest, expected[d]);
    }
}

static void test_count_and_reach(void **state)
{
    (void)state;
    const weft_tensor sliced = {.ndim = 3, .shape = {2, 3, 4}, .stride = {1000, 100, 10}};
    weft_nest nest = nest_of(1, &sliced, NULL);
    assert_int_equal(weft_nest_count(&nest, 0), 24);
    assert_int_equal(weft_nest_count(&nest, 1), 6);
    assert_int_equal(weft_nest_count(&nest, 2), 2);
    assert_int_equal(weft_nest_count(&nest, 3), 1);
    assert_int_equal(weft_nest_reach(&nest), 1230);
    // An input's reach, though it runs backwards; where it starts does not matter.
    const weft_tensor dense = ROW_MAJOR(3, 2, 3, 4);
    const weft_tensor back = {
        .ndim = 3, .offset = 5000, .shape = {2, 3, 4}, .stride = {-1000, 100, 10}};
    nest = nest_of(2, &dense, &back);
    assert_int_equal(weft_nest_reach(&nest), 1230);
    // Elements count where they are more than any operand reaches.
    nest = nest_of(1, &dense, NULL);
    assert_int_equal(weft_nest_reach(&nest), 24);
    const weft_tensor large = ROW_MAJOR(2, INT64_C(1) << 31, INT64_C(1) << 29);
    nest = nest_of(1, &large, NULL);
    assert_int_equal(weft_nest_reach(&nest), INT64_C(1) << 60);
}

// ---- any views

typedef struct problem {
    int n_views;
    weft_tensor views[MOST_OPERANDS];
    const weft_tensor *pointers[MOST_OPERANDS];
} problem;

static void shuffle(random_state *random, int *order, int n)
{
    for (int k = 0; k < n; k++)
        order[k] = n - 1 - k;
    if (random_below(random, 2) == 0)
        return;
    for (int k = n - 1; k > 0; k--) {
        const int other = (int)random_below(random, k + 1), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

// Dense but for a few gaps, in any order, some dimensions backwards: no two elements at one place.
static void random_strides(random_state *random, weft_tensor *view)
{
    int order[WEFT_MAX_NDIM];
    shuffle(random, order, view->ndim);
    int64_t step = 1;
    for (int k = 0; k < view->ndim; k++) {
        const int d = order[k];
        if (random_below(random, 6) == 0)
            step *= random_between(random, 2, 3);
        view->stride[d] = random_below(random, 5) == 0 ? -step : step;
        if (view->shape[d] == 1 && random_below(random, 2) == 0)
            view->stride[d] = random_between(random, -50, 50);
        step *= view->shape[d];
    }
}

static weft_tensor random_output(random_state *random)
{
    weft_tensor view = {.ndim = (int)random_below(random, WEFT_MAX_NDIM + 1)};
    int64_t n = 1;
    for (int d = 0; d < view.ndim; d++) {
        const int64_t extent = random_between(random, 1, random_below(random, 4) ? 4 : 20);
        view.shape[d] = n * extent > MOST_ELEMENTS ? 1 : extent;
        n *= view.shape[d];
    }
    view.offset = random_below(random, 1000);
    random_strides(random, &view);
    return view;
}

// The output's view, or one whose strides are its own, with or without some of the dimensions.
static weft_tensor random_input(random_state *random, const weft_tensor *output)
{
    weft_tensor view = *output;
    if (random_below(random, 4) == 0)
        return view;
    const int missing = random_below(random, 3) ? 0 : (int)random_below(random, view.ndim + 1);
    view.ndim -= missing;
    view.offset = random_below(random, 1000);
    for (int d = 0; d < view.ndim; d++)
        view.shape[d] = random_below(random, 6) ? output->shape[d + missing] : 1;
    random_strides(random, &view);
    for (int d = 0; d < view.ndim; d++)
        if (random_below(random, 12) == 0)
            view.stride[d] = random_between(random, -3, 3);
    return view;
}

static void random_problem(random_state *random, problem *p)
{
    *p = (problem){.n_views = (int)random_between(random, 1, MOST_OPERANDS)};
    for (int i = 0; i < p->n_views; i++) {
        p->views[i] = i == 0 ? random_output(random) : random_input(random, &p->views[0]);
        p->pointers[i] = &p->views[i];
    }
}

// Offsets of all operands together, once for each element.
typedef struct places {
    int64_t n;
    int64_t of[MOST_ELEMENTS][MOST_OPERANDS];
} places;

static int64_t place_of(const weft_tensor *view, int ndim, const int64_t *index)
{
    int64_t place = view->offset;
    for (int d = 0; d < view->ndim; d++)
        if (view->shape[d] > 1)
            place += index[ndim - view->ndim + d] * view->stride[d];
    return place;
}

static void places_in_views(const problem *p, places *all)
{
    *all = (places){0};
    const weft_tensor *output = &p->views[0];
    int64_t index[WEFT_MAX_NDIM] = {0};
    for (bool is_done = false; !is_done; all->n++) {
        for (int i = 0; i < p->n_views; i++)
            all->of[all->n][i] = place_of(&p->views[i], output->ndim, index);
        int d = output->ndim - 1;
        for (; d >= 0 && ++index[d] == output->shape[d]; d--)
            index[d] = 0;
        is_done = d < 0;
    }
}

static void places_in_nest(const weft_nest *nest, places *all)
{
    *all = (places){.n = weft_nest_count(nest, 0)};
    assert_in_range(all->n, 1, MOST_ELEMENTS);
    for (int64_t k = 0; k < all->n; k++) {
        int64_t rest = k;
        for (int i = 0; i < nest->n_operands; i++)
            all->of[k][i] = nest->start[i];
        for (int d = 0; d < nest->n_loops; d++) {
            for (int i = 0; i < nest->n_operands; i++)
                all->of[k][i] += rest % nest->extent[d] * nest->stride[i][d];
            rest /= nest->extent[d];
        }
    }
}

static int compare_places(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(int64_t[MOST_OPERANDS]));
}

static void check_places(const places *expected, const weft_nest *nest)
{
    static places walked;
    places_in_nest(nest, &walked);
    assert_int_equal(walked.n, expected->n);
    qsort(walked.of, (size_t)walked.n, sizeof(walked.of[0]), compare_places);
    assert_memory_equal(walked.of, expected->of, (size_t)walked.n * sizeof(walked.of[0]));
}

static bool is_one_loop(const weft_nest *nest, int d)
{
    for (int i = 0; i < nest->n_operands; i++)
        if (nest->stride[i][d + 1] != nest->extent[d] * nest->stride[i][d])
            return false;
    return true;
}

// The first operand's strides rise from loop to loop, and no two loops are one.
static void check_order(const weft_nest *nest, int n_views)
{
    assert_int_equal(nest->n_operands, n_views);
    assert_in_range(nest->n_loops, 2, WEFT_MAX_NDIM);
    const int n = nest->n_loops > 2 || nest->extent[1] > 1 ? nest->n_loops
                  : nest->extent[0] > 1                    ? 1
                                                           : 0;
    for (int d = 0; d < n; d++) {
        assert_true(nest->extent[d] > 1);
        assert_true(nest->stride[0][d] > (d > 0 ? nest->stride[0][d - 1] : 0));
        assert_false(d + 1 < n && is_one_loop(nest, d));
    }
    for (int d = n; d < WEFT_MAX_NDIM; d++) {
        assert_int_equal(nest->extent[d], 1);
        for (int i = 0; i < n_views; i++)
            assert_int_equal(nest->stride[i][d], 0);
    }
}

static void check_reach(const weft_nest *nest, const places *all)
{
    int64_t reach = all->n;
    for (int i = 0; i < nest->n_operands; i++) {
        int64_t least = INT64_MAX, most = INT64_MIN;
        for (int64_t k = 0; k < all->n; k++) {
            least = min_i64(least, all->of[k][i]);
            most = max_i64(most, all->of[k][i]);
        }
        reach = max_i64(reach, most - least);
    }
    assert_int_equal(weft_nest_reach(nest), reach);
}

static void check_problem(random_state *random, const problem *p)
{
    static places expected;
    places_in_views(p, &expected);
    qsort(expected.of, (size_t)expected.n, sizeof(expected.of[0]), compare_places);
    weft_nest nest = weft_nest_of(p->n_views, p->pointers);
    check_order(&nest, p->n_views);
    check_places(&expected, &nest);
    check_reach(&nest, &expected);
    weft_nest_raise(&nest, (int)random_between(random, 1, nest.n_loops - 1));
    check_places(&expected, &nest);
    check_reach(&nest, &expected);
}

static void test_random_views(void **state)
{
    (void)state;
    random_state random = {41};
    for (int i = 0; i < N_RANDOM; i++) {
        problem p;
        random_problem(&random, &p);
        check_problem(&random, &p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contiguous),      cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_transposes),      cmocka_unit_test(test_negative_strides),
        cmocka_unit_test(test_extents_of_1),    cmocka_unit_test(test_raise),
        cmocka_unit_test(test_count_and_reach), cmocka_unit_test(test_random_views),
    };
    return cmocka_run_group_tests_name("nest", tests, NULL, NULL);
}
