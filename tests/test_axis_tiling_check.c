// SPDX-License-Identifier: Apache-2.0
// What is refused of a tiling of work along an axis that somebody filled in, and the local memory
// that tilings take. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "axis/axis_plan.h"
#include "axis_limits.h"

static const weft_axis_problem usual = {.high = 512,
                                        .mid = 896,
                                        .low = 50,
                                        .low_adjacent = true,
                                        .mid_adjacent = true,
                                        .writes_all = true};
static const weft_axis_tiling plain = {.vector_width = 1,
                                       .vectors = 1,
                                       .items = 1,
                                       .items_y = 1,
                                       .unroll = 1,
                                       .widen = 1,
                                       .run = 1,
                                       .grid_x = 1,
                                       .grid_y = 1,
                                       .parts = 1};

static void check_refused(const weft_limits *limits, const weft_axis_problem *problem,
                          const weft_axis_tiling *t, const char *words)
{
    assert_int_equal(weft_axis_tiling_check(t, limits, problem), WEFT_BAD_ARGUMENT);
    const char *start = "axis: tiling.";
    if (strncmp(weft_last_error(), start, strlen(start)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", weft_last_error(), start);
    if (!strstr(weft_last_error(), words))
        fail_msg("\"%s\" is not in \"%s\"", words, weft_last_error());
}

#define REFUSED(words, ...)                                                                        \
    do {                                                                                           \
        weft_axis_tiling t = plain;                                                                \
        __VA_ARGS__;                                                                               \
        check_refused(&gpu, &usual, &t, words);                                                    \
    } while (0)

static void test_refused_ranges(void **state)
{
    (void)state;
    assert_int_equal(weft_axis_tiling_check(&plain, &gpu, &usual), WEFT_OK);
    assert_int_equal(weft_axis_tiling_check(&plain, &cpu, &usual), WEFT_OK);
    REFUSED("vector_width is 0", t.vector_width = 0);
    REFUSED("vector_width is 3", t.vector_width = 3);
    REFUSED("vector_width is 32", t.vector_width = 32);
    REFUSED("vectors is 0", t.vectors = 0);
    REFUSED("vectors is 2049", t.vectors = 2049);
    REFUSED("items is 0", t.items = 0);
    REFUSED("items is 2000", t.items = 2000);
    REFUSED("items_y is 3", t.items_y = 3);
    REFUSED("items_y is 2048", t.items_y = 2048);
    REFUSED("items 64 x items_y 32", t.items = 64, t.items_y = 32);
    REFUSED("items_z is -1", t.items_z = -1);
    REFUSED("items_z is 65", t.items_z = 65);
    REFUSED("items_z 3 of 32 x 16 items", t.items = 32, t.items_y = 16, t.items_z = 3);
    REFUSED("items_z is 2: 1 is wanted", t.items_z = 2, t.parts = 2);
    REFUSED("items_z is 2: 1 is wanted", t.items_z = 2, t.vector_width = 2);
    REFUSED("unroll is 16", t.unroll = 16);
    REFUSED("widen is 0", t.widen = 0);
    REFUSED("widen is 897", t.widen = 897);
    REFUSED("run is 0", t.run = 0);
    REFUSED("grid_x is 0", t.grid_x = 0);
    REFUSED("grid_y is -1", t.grid_y = -1);
    REFUSED("parts is 0", t.parts = 0);
    REFUSED("parts is 1025", t.parts = 1025);
}

// Lines of 50: three vectors of 16 and one that is moved back by 14.
static void test_refused_lines(void **state)
{
    (void)state;
    REFUSED("vectors is 3", t.vector_width = 16, t.vectors = 3);
    REFUSED("vectors is 1", t.vector_width = 16, t.vectors = 1);
    REFUSED("items is 2", t.vector_width = 16, t.vectors = 2, t.items = 2);
    REFUSED("whole vectors of 16", t.vector_width = 16, t.vectors = 64, t.widen = 4);
    REFUSED("at most 24 of them", t.vector_width = 16, t.vectors = 24, t.widen = 8);
    REFUSED("one item's", t.vectors = 64, t.widen = 2, t.items = 2);
    weft_axis_tiling t = plain;
    t.vector_width = 16, t.vectors = 2;
    assert_int_equal(weft_axis_tiling_check(&t, &gpu, &usual), WEFT_OK);
    t.vectors = 4;
    assert_int_equal(weft_axis_tiling_check(&t, &gpu, &usual), WEFT_OK);
    t.vectors = 25, t.widen = 8;
    assert_int_equal(weft_axis_tiling_check(&t, &gpu, &usual), WEFT_OK);

    weft_axis_problem problem = usual;
    problem.mid_adjacent = false;
    check_refused(&gpu, &problem, &t, "does not step on");
    problem.low = 15;
    t = plain;
    t.vector_width = 16;
    check_refused(&gpu, &problem, &t, "lines have 15 columns");
}

// Rows of 5 in one vector of 16, or of fewer, but in no more than one.
static void test_short_rows(void **state)
{
    (void)state;
    weft_axis_problem row = {.high = 9, .mid = 5, .low = 1, .low_adjacent = true};
    weft_axis_tiling t = plain;
    t.vector_width = 16, t.widen = 16;
    assert_int_equal(weft_axis_tiling_check(&t, &cpu, &row), WEFT_OK);
    t.vector_width = 4, t.widen = 4;
    assert_int_equal(weft_axis_tiling_check(&t, &cpu, &row), WEFT_OK);
    t.widen = 8, t.vectors = 2;
    check_refused(&cpu, &row, &t, "widen is 8: 1 to 5");
    t.vector_width = 16, t.widen = 32;
    check_refused(&cpu, &row, &t, "widen is 32: 1 to 16");
    t.widen = 16, t.vectors = 1;
    row.low_adjacent = false;
    check_refused(&cpu, &row, &t, "widen is 16: 1 to 5");
}

// Five numbers of four bytes for each of a group's lanes: 20480 bytes; ten where an operation keeps
// so many.
static const weft_axis_problem held_problem = {.high = 512,
                                               .mid = 100,
                                               .low = 1,
                                               .low_adjacent = true,
                                               .writes_all = true,
                                               .caches = true,
                                               .holds = true,
                                               .alignment = 4};

#define REFUSED_HELD(words, ...)                                                                   \
    do {                                                                                           \
        weft_axis_tiling t = plain;                                                                \
        weft_axis_problem problem = held_problem;                                                  \
        t.items_y = 8, t.unroll = 4, t.held = 4;                                                   \
        assert_int_equal(weft_axis_tiling_check(&t, &gpu, &problem), WEFT_OK);                     \
        __VA_ARGS__;                                                                               \
        check_refused(&gpu, &problem, &t, words);                                                  \
    } while (0)

static void test_refused_held(void **state)
{
    (void)state;
    REFUSED_HELD("held is -1", t.held = -1);
    REFUSED_HELD("held is 9: 0 to 8 is wanted", t.held = 9);
    REFUSED_HELD("held is 3: 8 items need 4 vectors of 4 for 100", t.held = 3);
    REFUSED_HELD("held is 5: 8 items need 4 vectors of 4 for 100", t.held = 5);
    REFUSED_HELD("held is 13: 8 items need 16 vectors of 1", t.unroll = 1, t.held = 13);
    REFUSED_HELD("unroll is 8, but rows are aligned to 4", t.unroll = 8, t.held = 2);
    REFUSED_HELD("unroll is 4, but rows are aligned to 1", problem.alignment = 0);
    REFUSED_HELD("only rows whose elements are side by side", problem.holds = false);
    REFUSED_HELD("only rows whose elements are side by side", problem.low = 2);
    REFUSED_HELD("only rows whose elements are side by side", problem.outer = 2);
    REFUSED_HELD("only rows whose elements are side by side", problem.low_adjacent = false);
    REFUSED_HELD("of 1 are wanted, and no cache", t.run = 2);
    REFUSED_HELD("of 1 are wanted, and no cache", t.parts = 2);
    REFUSED_HELD("of 1 are wanted, and no cache", t.items = 2);
    REFUSED_HELD("of 1 are wanted, and no cache", t.vectors = 2);
    REFUSED_HELD("of 1 are wanted, and no cache", t.cache = true);
}

static void test_refused_memory(void **state)
{
    (void)state;
    weft_axis_tiling t = plain;
    t.items = t.items_y = 32;
    weft_limits limits = gpu;
    weft_axis_problem problem = usual;
    for (problem.numbers = 5; problem.numbers <= 10; problem.numbers += 5) {
        limits.local_bytes = 4096 * (size_t)problem.numbers;
        assert_int_equal(weft_axis_tiling_check(&t, &limits, &problem), WEFT_OK);
        limits.local_bytes--;
        check_refused(&limits, &problem, &t,
                      problem.numbers == 5 ? "items_y takes 20480 bytes; local memory has 20479"
                                           : "items_y takes 40960 bytes; local memory has 40959");
    }
}

// Rows of 896: on the CPU 56 vectors in chunks of eight, each with one more; on the GPU 28 numbers
// of each of 4 x 32 items, in three such chunks and four alone.
static void test_cached(void **state)
{
    (void)state;
    weft_axis_problem row = {.high = 24576,
                             .mid = 896,
                             .low = 1,
                             .low_adjacent = true,
                             .mid_adjacent = true,
                             .writes_all = true,
                             .caches = true};
    weft_axis_tiling t = weft_axis_tiling_for(&cpu, &row);
    assert_int_equal(weft_axis_tiling_cached_bytes(&t, &row), 7 * 9 * 64 + 7 * 64);
    t = weft_axis_tiling_for(&gpu, &row);
    assert_int_equal(weft_axis_tiling_cached_bytes(&t, &row), 4 * 32 * (3 * 9 + 4 * 2) * 4);
    row.mid = 100000;
    assert_false(weft_axis_tiling_for(&cpu, &row).cache || weft_axis_tiling_for(&gpu, &row).cache);
    check_refused(&gpu, &row, &t, "cache takes 1804800 bytes");
    row.caches = false;
    check_refused(&gpu, &row, &t, "only softmax caches");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_ranges), cmocka_unit_test(test_refused_lines),
        cmocka_unit_test(test_short_rows),     cmocka_unit_test(test_refused_memory),
        cmocka_unit_test(test_cached),         cmocka_unit_test(test_refused_held),
    };
    return cmocka_run_group_tests_name("axis tiling check", tests, NULL, NULL);
}
