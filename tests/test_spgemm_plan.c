// SPDX-License-Identifier: Apache-2.0
// The tiling of sparse x sparse products: sound for every known device and any problem, and within
// what local memory there is. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weft/spgemm.h>

#include "expect.h"
#include "random.h"
#include "sparse/spgemm_plan.h"
#include "spgemm_case.h"

enum { N_RANDOM = 20000 }; // over all profiles

static weft_spgemm_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    return (weft_spgemm_problem){
        .m = random_extent(random) % INT32_MAX,
        .k = random_extent(random) % INT32_MAX,
        .n = random_extent(random) % INT32_MAX,
        .a_nnz = random_extent(random),
        .b_nnz = random_extent(random),
        .dtype = dtypes[random_below(random, 5)],
    };
}

static void every_plan_is_sound(void **state)
{
    (void)state;
    random_state random = {6};
    int n_shared = 0; // plans in which rows may be long
    int n_sorted = 0; // in which rows may be sorted
    int n_by_groups = 0;
    for (int i = 0; i < N_RANDOM; i++) {
        const weft_limits *limits = weft_profile_at((size_t)i % weft_profile_count());
        const weft_spgemm_problem problem = random_problem(&random);
        const weft_spgemm_tiling t = weft_spgemm_tiling_for(limits, &problem);
        if (weft_spgemm_tiling_check(&t, limits, &problem) != WEFT_OK)
            fail_msg("%s: %s", limits->name, weft_last_error());
        assert_true(limits->vector_width == 1 || t.items == 1);
        assert_true((t.items > 1 && t.sorted > 0) == (t.sort_items > 0));
        assert_true(t.sort_rows == 0 || t.sort_rows < 2 * t.rows);
        n_by_groups += t.sort_items > 0;
        n_shared += t.long_from > 0;
        n_sorted += t.sorted > 0;
    }
    assert_in_range(n_sorted, N_RANDOM / 20, N_RANDOM - N_RANDOM / 20);
    assert_in_range(n_by_groups, N_RANDOM / 20, N_RANDOM - N_RANDOM / 20);
    assert_in_range(n_shared, N_RANDOM / 20, N_RANDOM - N_RANDOM / 20);
}

// Marks, ranks and sums, and what items tell each other.
static void local_memory_is_bounded(void **state)
{
    (void)state;
    weft_limits little = *weft_profile_at(0);
    little.local_bytes = 4096;
    const weft_spgemm_problem some = {3, 4, 5, 12, 20, WEFT_F32};
    weft_spgemm_tiling full = {.items = 1, .rows = 1, .columns = 512};
    expect(weft_spgemm_tiling_check(&full, &little, &some), WEFT_BAD_ARGUMENT,
           "tiling.columns 512 and items 1 require 5216 bytes; local memory has 4096");
    full.items = 32;
    expect(weft_spgemm_tiling_check(&full, &little, &some), WEFT_BAD_ARGUMENT,
           "tiling.columns 512 and items 32 require 4616 bytes; local memory has 4096");
    full.items = full.columns = 1;
    full.long_columns = 512;
    assert_int_equal(weft_spgemm_tiling_check(&full, &little, &some), WEFT_OK);
    full.long_from = full.long_groups = 1;
    expect(weft_spgemm_tiling_check(&full, &little, &some), WEFT_BAD_ARGUMENT,
           "tiling.long_columns 512 and items 1 require 5216 bytes; local memory has 4096");
}

// As many as there is room for, and numbers beside the columns of C in a key of 32 bits.
static void products_are_sorted_where_keys_have_room(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        int sorted;
    } cases[] = {{16, 0},         {64, 32},           {3000, 2048}, {1 << 20, 4096},
                 {1 << 21, 2048}, {(1 << 28) + 1, 0}, {1 << 28, 16}};
    const weft_limits *cpu = NULL;
    for (size_t i = 0; i < weft_profile_count(); i++)
        cpu = weft_profile_at(i)->kind == WEFT_DEVICE_CPU ? weft_profile_at(i) : cpu;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_spgemm_problem problem = {100, 100, cases[i].n, 800, 800, WEFT_F32};
        assert_int_equal(weft_spgemm_tiling_for(cpu, &problem).sorted, cases[i].sorted);
    }
}

// Twice the average row, 256 at least: the longer, the more items a group has, and the shorter, the
// more rows it sorts at once, as far as keys of 32 bits, local memory and the rows of a group go.
static void groups_sort_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t n, row; // entries of a row of both factors
        weft_dtype dtype;
        int sorted, items, rows;
        bool counts; // by sorting, too: not where marks have few stretches
    } cases[] = {
        {4096, 41, WEFT_F32, 2048, 128, 1, false}, {300000, 41, WEFT_F32, 2048, 128, 1, true},
        {100000, 41, WEFT_F64, 0, 0, 0, false},    {100000, 30, WEFT_F64, 1024, 64, 1, false},
        {500000, 3, WEFT_F32, 256, 32, 32, true},  {2048, 8, WEFT_F32, 256, 32, 4, false},
        {100000, 8, WEFT_F32, 256, 32, 4, true},   {5000000, 3, WEFT_F32, 256, 32, 2, true},
        {1 << 24, 3, WEFT_F32, 256, 32, 1, true},  {1 << 26, 3, WEFT_F32, 64, 32, 1, true},
        {100000, 46, WEFT_F32, 0, 0, 0, false},
    };
    const weft_limits *gpu = weft_profile_find("nvidia-h100");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t m = 1 << 17, nnz = m * cases[i].row;
        const weft_spgemm_problem problem = {m, m, cases[i].n, nnz, nnz, cases[i].dtype};
        const weft_spgemm_tiling t = weft_spgemm_tiling_for(gpu, &problem);
        if (t.sorted != cases[i].sorted || t.sort_items != cases[i].items ||
            t.sort_rows != cases[i].rows || t.sort_counts != cases[i].counts)
            fail_msg("case %d: sorted %d, sort_items %d, sort_rows %d, sort_counts %d", (int)i,
                     t.sorted, t.sort_items, t.sort_rows, t.sort_counts);
    }
    const weft_spgemm_problem few = {4096, 4096, 500000, 12288, 12288, WEFT_F32};
    const weft_spgemm_tiling t = weft_spgemm_tiling_for(gpu, &few);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.sort_rows, 2);
}

static void groups_that_cannot_sort(void **state)
{
    (void)state;
    weft_limits little = *weft_profile_find("nvidia-h100");
    little.local_bytes = 16384;
    const weft_spgemm_problem wide = {3, 4, 1 << 24, 12, 20, WEFT_F32};
    weft_spgemm_tiling t = {
        .items = 32, .rows = 1, .columns = 1, .sorted = 512, .sort_items = 64, .sort_rows = 1};
    expect(
        weft_spgemm_tiling_check(&t, &little, &wide), WEFT_BAD_ARGUMENT,
        "tiling.sorted is 512: with sort_rows 1 and 16777216 columns of C a key has more than 32");
    t.sorted = 256;
    assert_int_equal(weft_spgemm_tiling_check(&t, &little, &wide), WEFT_OK);
    t.sort_rows = 2;
    expect(weft_spgemm_tiling_check(&t, &little, &wide), WEFT_BAD_ARGUMENT, "with sort_rows 2 and");
    t.sort_rows = 128;
    expect(weft_spgemm_tiling_check(&t, &little, &wide), WEFT_BAD_ARGUMENT,
           "tiling.sort_rows is 128: a power of two up to sort_items, 64, is wanted");
    t.sort_rows = t.sort_items = 1;
    expect(weft_spgemm_tiling_check(&t, &little, &wide), WEFT_BAD_ARGUMENT,
           "tiling.sort_items is 1: 2 or more");
    const weft_spgemm_problem some = {3, 4, 5, 12, 20, WEFT_F32};
    t.sort_items = 64;
    t.sorted = 1024;
    expect(weft_spgemm_tiling_check(&t, &little, &some), WEFT_BAD_ARGUMENT,
           "tiling.sorted 1024 and sort_items 64 require 17688 bytes; local memory has 16384");
}

static void plans_are_told_in_a_line(void **state)
{
    (void)state;
    char text[100];
    weft_spgemm_tiling_print(&tilings[0], text, sizeof(text));
    assert_string_equal(text, "items 1, rows 3, columns 4");
    const weft_spgemm_tiling sorts = {.items = 1, .rows = 2, .columns = 64, .sorted = 32};
    weft_spgemm_tiling_print(&sorts, text, sizeof(text));
    assert_string_equal(text, "items 1, rows 2, columns 64, sorted 32");
    weft_spgemm_tiling_print(&tilings[3], text, sizeof(text));
    assert_string_equal(text, "items 1, rows 4, columns 4, long_from 1, long_columns 64, "
                              "long_groups 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_sound),
        cmocka_unit_test(local_memory_is_bounded),
        cmocka_unit_test(products_are_sorted_where_keys_have_room),
        cmocka_unit_test(groups_sort_rows),
        cmocka_unit_test(groups_that_cannot_sort),
        cmocka_unit_test(plans_are_told_in_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
