// SPDX-License-Identifier: Apache-2.0
// Launch geometry: the method's known answer, what a CPU's vectors make of it, and a million random
// problems on every known device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include <weft/geometry.h>

#include "base/arithmetic.h"
#include "random.h"

enum { N_RANDOM = 1000000 };

// The device of the known answer.
static const weft_limits gpu = {
    .name = "a GPU",
    .warp = 32,
    .vector_width = 1,
    .vectors = 1,
    .max_block = 1024,
    .max_items_y = 1024,
    .max_blocks = 160,
    .max_items = 2048, // more than max_block: that one decides
    .max_items_along = {2048, 1024, 64},
    .max_alloc_bytes = UINT64_C(1) << 32,
    .global_bytes = UINT64_C(1) << 34,
    .compute_units = 80,
    .load_bytes = 16,
    .cache_line_bytes = 128,
};

// The one in <weft/geometry.h>: its lanes are the elements of vectors of 16.
static const weft_limits cpu = {
    .name = "a CPU",
    .warp = 16,
    .vector_width = 16,
    .vectors = 8,
    .max_block = 128,
    .max_items_y = 1,
    .max_blocks = 8,
    .max_items = 4096,
    .max_items_along = {4096, 4096, 4096},
    .max_alloc_bytes = UINT64_C(1) << 32,
    .global_bytes = UINT64_C(1) << 34,
    .compute_units = 2,
    .load_bytes = 64,
    .cache_line_bytes = 64,
};

typedef struct known {
    int64_t high, mid, low;
    weft_geometry expected;
} known;

static void check_known(const weft_limits *limits, const known *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const weft_geometry *e = &cases[i].expected;
        const weft_geometry g =
            weft_geometry_for(limits, cases[i].high, cases[i].mid, cases[i].low);
        if (g.block_x != e->block_x || g.block_y != e->block_y || g.lanes_x != e->lanes_x ||
            g.lanes_y != e->lanes_y || g.grid_x != e->grid_x || g.grid_y != e->grid_y)
            fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 "): %d x %d lanes, %d x %d an item, "
                     "grid %" PRId64 " x %" PRId64,
                     limits->name, cases[i].high, cases[i].mid, cases[i].low, g.block_x, g.block_y,
                     g.lanes_x, g.lanes_y, g.grid_x, g.grid_y);
    }
}

static void test_lanes_as_items(void **state)
{
    (void)state;
    static const known cases[] = {
        {512, 896, 48, {32, 32, 1, 1, 2, 80}},     // the method's known answer
        {512, 3, 1024, {256, 4, 1, 1, 4, 40}},     // a short mid leaves its lanes to low
        {512, 1, 48, {64, 1, 1, 1, 1, 160}},       // no mid at all
        {24576, 896, 1, {1, 1024, 1, 1, 1, 160}},  // innermost axis: all lanes along mid
        {24576, 20, 3, {4, 32, 1, 1, 1, 160}},     // a small problem, a small group
        {3, 896, 48, {32, 32, 1, 1, 2, 3}},        // no more groups than high has
        {1, 1, 1, {1, 1, 1, 1, 1, 1}},             // a scalar
        {1, 1000, 1 << 20, {32, 32, 1, 1, 160, 1}} // low alone fills the device
    };
    check_known(&gpu, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_lanes_as_vector_elements(void **state)
{
    (void)state;
    static const known cases[] = {
        {512, 896, 1, {1, 16, 1, 16, 1, 8}},     // a vector along mid
        {512, 896, 2, {2, 8, 2, 8, 1, 8}},       // shared between both
        {512, 896, 4, {4, 4, 4, 4, 1, 8}},       //
        {512, 896, 16, {16, 1, 16, 1, 1, 8}},    // a vector along low
        {512, 896, 48, {64, 1, 64, 1, 1, 8}},    // several
        {512, 896, 1024, {128, 1, 128, 1, 8, 1}} // as many as an item may compensation
    };
    check_known(&cpu, cases, sizeof(cases) / sizeof(cases[0]));
}

// One row of 128 columns is one group of 128 lanes, on one core; of 16 lanes it is eight groups.
static void test_groups_for_the_whole_cpu(void **state)
{
    (void)state;
    static const known cases[] = {
        {1, 896, 128, {16, 1, 16, 1, 8, 1}},   {2, 896, 128, {32, 1, 32, 1, 4, 2}},
        {8, 896, 128, {128, 1, 128, 1, 1, 8}}, {1, 896, 1024, {128, 1, 128, 1, 8, 1}},
        {1, 896, 20, {16, 1, 16, 1, 2, 1}},
    };
    check_known(&cpu, cases, sizeof(cases) / sizeof(cases[0]));
}

// A vector width on a device with groups of items: vector loads.
static void test_vectors_of_a_gpu(void **state)
{
    (void)state;
    weft_limits limits = gpu;
    limits.vector_width = 4;
    limits.max_items = 256;
    static const known cases[] = {
        {512, 896, 48, {32, 32, 4, 1, 2, 80}},
        {512, 896, 2, {2, 512, 2, 2, 1, 160}},
        {512, 896, 1, {1, 1024, 1, 4, 1, 160}},
    };
    check_known(&limits, cases, sizeof(cases) / sizeof(cases[0]));
}

// A kernel that takes fewer items than the device: low goes first, as ever.
static void test_few_items(void **state)
{
    (void)state;
    weft_limits limits = gpu;
    limits.max_items = 32;
    static const known few[] = {{512, 896, 48, {32, 1, 1, 1, 2, 80}},
                                {512, 896, 4, {4, 8, 1, 1, 1, 160}}};
    check_known(&limits, few, 2);

    limits.max_items = 1024;
    limits.max_items_along[0] = 4;
    static const known narrow[] = {{512, 896, 48, {4, 256, 1, 1, 12, 14}}};
    check_known(&limits, narrow, 1);

    limits.max_items_along[0] = 1024;
    limits.max_items_along[1] = 1;
    static const known flat[] = {{512, 896, 48, {64, 1, 1, 1, 1, 160}}};
    check_known(&limits, flat, 1);
}

static void test_sizes_in_items(void **state)
{
    (void)state;
    assert_int_equal(weft_limits_check(&gpu), WEFT_OK);
    assert_int_equal(weft_limits_check(&cpu), WEFT_OK);

    size_t global[2], local[2];
    const weft_geometry on_gpu = weft_geometry_for(&gpu, 512, 896, 48);
    weft_geometry_sizes(&on_gpu, global, local);
    assert_int_equal(local[0], 32);
    assert_int_equal(local[1], 32);
    assert_int_equal(global[0], 64);
    assert_int_equal(global[1], 2560);

    const weft_geometry on_cpu = weft_geometry_for(&cpu, 512, 896, 48);
    weft_geometry_sizes(&on_cpu, global, local);
    assert_int_equal(local[0], 1);
    assert_int_equal(local[1], 1);
    assert_int_equal(global[0], 1);
    assert_int_equal(global[1], 8);
}

static bool is_pow2(int64_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

// The lanes that a device whose items may work together must use: 64, where problem and device have
// them.
static int64_t least_lanes(const weft_limits *limits, int64_t mid, int64_t low)
{
    const int64_t mid_lanes = min_i64(pow2_up(mid), 64), low_lanes = min_i64(pow2_up(low), 64);
    const int64_t wanted = min_i64(mid_lanes * low_lanes, 64);
    return min_i64(wanted, min_i64(limits->max_block, limits->max_items_y));
}

// What is wrong with a geometry; NULL where nothing is.
static const char *fault_of_block(const weft_limits *limits, const weft_geometry *g)
{
    if (!is_pow2(g->block_x) || !is_pow2(g->block_y) || !is_pow2(g->lanes_x) ||
        !is_pow2(g->lanes_y))
        return "not powers of two";
    if (g->block_x % g->lanes_x != 0 || g->block_y % g->lanes_y != 0)
        return "an item compensations more lanes than the block has";
    if ((int64_t)g->block_x * g->block_y > limits->max_block)
        return "more lanes than max_block";
    if ((int64_t)g->lanes_x * g->lanes_y > (int64_t)limits->vector_width * limits->vectors)
        return "more lanes in an item than vector_width x vectors";
    if (g->block_y / g->lanes_y > limits->max_items_y)
        return "more items on one output than max_items_y";
    return NULL;
}

static const char *fault_of_items(const weft_limits *limits, const weft_geometry *g)
{
    size_t global[2], local[2];
    weft_geometry_sizes(g, global, local);
    if (local[0] < 1 || local[1] < 1)
        return "a group without items";
    if (local[0] * local[1] > limits->max_items)
        return "more items than max_items";
    if (local[0] > limits->max_items_along[0] || local[1] > limits->max_items_along[1])
        return "more items than max_items_along";
    if (global[0] != local[0] * (size_t)g->grid_x || global[1] != local[1] * (size_t)g->grid_y)
        return "global size is not groups of the local one";
    return NULL;
}

static const char *fault_of_grid(const weft_limits *limits, const weft_geometry *g, int64_t high,
                                 int64_t low)
{
    if (g->grid_x < 1 || g->grid_y < 1)
        return "an empty grid";
    if (g->grid_x > limits->max_blocks)
        return "more groups along x than max_blocks";
    if ((g->grid_x - 1) * g->block_x >= low || g->grid_y > high)
        return "a group without work";
    if (g->grid_x < limits->max_blocks && g->grid_x * g->block_x < low)
        return "low is not covered, with groups to spare";
    if (g->grid_y < high && g->grid_x * g->grid_y < limits->max_blocks)
        return "high is not covered, with groups to spare";
    if ((g->grid_y - 1) * g->grid_x >= limits->max_blocks)
        return "more groups than max_blocks asks for";
    return NULL;
}

static void check_problem(const weft_limits *limits, int64_t high, int64_t mid, int64_t low)
{
    const weft_geometry g = weft_geometry_for(limits, high, mid, low);
    high = max_i64(high, 1);
    mid = max_i64(mid, 1);
    low = max_i64(low, 1);

    const char *fault = fault_of_block(limits, &g);
    if (!fault)
        fault = fault_of_items(limits, &g);
    if (!fault)
        fault = fault_of_grid(limits, &g, high, low);
    if (fault)
        fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 "): %s: %d x %d lanes, %d x %d an item, "
                 "grid %" PRId64 " x %" PRId64,
                 limits->name, high, mid, low, fault, g.block_x, g.block_y, g.lanes_x, g.lanes_y,
                 g.grid_x, g.grid_y);
}

// Lanes are there where the problem has them, and grow with it.
static void check_items_y(const weft_limits *limits, int64_t high, int64_t mid, int64_t low)
{
    const weft_geometry g = weft_geometry_for(limits, high, mid, low);
    const weft_geometry longer = weft_geometry_for(limits, high, min_i64(mid, 1 << 30) * 2, low);
    const weft_geometry wider = weft_geometry_for(limits, high, mid, min_i64(low, 1 << 30) * 2);
    const int64_t lanes = (int64_t)g.block_x * g.block_y;
    if (lanes < least_lanes(limits, mid, low))
        fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 "): only %d x %d lanes", limits->name,
                 high, mid, low, g.block_x, g.block_y);
    if ((int64_t)longer.block_x * longer.block_y < lanes ||
        (int64_t)wider.block_x * wider.block_y < lanes)
        fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 "): fewer lanes for a larger problem",
                 limits->name, high, mid, low);
}

static void check_extremes(const weft_limits *limits)
{
    static const int64_t extents[] = {INT64_MIN,        -1,       0, 1, 2, INT32_MAX,
                                      INT64_C(1) << 62, INT64_MAX};
    enum { N = sizeof(extents) / sizeof(extents[0]) };
    for (int i = 0; i < N * N * N; i++)
        check_problem(limits, extents[i / N / N], extents[i / N % N], extents[i % N]);
}

static void check_random(const weft_limits *limits, int n)
{
    random_state random = {7};
    for (int i = 0; i < n; i++) {
        const int64_t high = random_extent(&random);
        const int64_t mid = random_extent(&random);
        const int64_t low = random_extent(&random);
        check_problem(limits, high, mid, low);
        if (limits->max_items_y > 1 && i % 16 == 0)
            check_items_y(limits, high, mid, low);
    }
}

static void test_random_problems(void **state)
{
    (void)state;
    check_random(&gpu, random_cases(N_RANDOM));
    check_random(&cpu, random_cases(N_RANDOM));
    check_extremes(&gpu);
    check_extremes(&cpu);
}

static void test_random_problems_on_every_profile(void **state)
{
    (void)state;
    assert_true(weft_profile_count() > 0);
    for (size_t i = 0; i < weft_profile_count(); i++) {
        check_random(weft_profile_at(i), random_cases(N_RANDOM));
        check_extremes(weft_profile_at(i));
    }
}

// A kernel that takes fewer items than the device: a block never asks for more.
static void test_lower_limits_of_a_kernel(void **state)
{
    (void)state;
    static const size_t all[] = {1, 3, 32, 100}, along[] = {1, 2, 48, 4096};
    random_state random = {11};
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int k = 0; k < 64; k++) {
            weft_limits limits = *weft_profile_at(i);
            limits.max_items = all[k % 4];
            limits.max_items_along[0] = along[k / 4 % 4];
            limits.max_items_along[1] = along[k / 16];
            for (int n = 0; n < 200; n++)
                check_problem(&limits, random_extent(&random), random_extent(&random),
                              random_extent(&random));
        }
}

// Any limits that pass the check, sensible or not.
static void test_random_limits(void **state)
{
    (void)state;
    random_state random = {13};
    int n_sound = 0;
    for (int i = 0; i < 200000; i++) {
        weft_limits limits = gpu;
        snprintf(limits.name, sizeof(limits.name), "limits %d", i);
        limits.warp = 1 << random_below(&random, 8);
        limits.vector_width = 1 << random_below(&random, 5);
        limits.vectors = 1 << random_below(&random, 4);
        limits.max_block = 1 << random_below(&random, 13);
        limits.max_items_y = 1 << random_below(&random, 11);
        limits.max_blocks = (int)random_between(&random, 1, 5000);
        limits.max_items = (size_t)random_between(&random, 1, 5000);
        if (weft_limits_check(&limits) != WEFT_OK)
            continue;
        n_sound++;
        for (int n = 0; n < 20; n++)
            check_problem(&limits, random_extent(&random), random_extent(&random),
                          random_extent(&random));
    }
    assert_true(n_sound > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_as_items),
        cmocka_unit_test(test_lanes_as_vector_elements),
        cmocka_unit_test(test_groups_for_the_whole_cpu),
        cmocka_unit_test(test_vectors_of_a_gpu),
        cmocka_unit_test(test_few_items),
        cmocka_unit_test(test_sizes_in_items),
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
