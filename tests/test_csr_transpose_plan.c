// SPDX-License-Identifier: Apache-2.0
// Tilings of transpositions and running sums, for every known device: within its limits, through
// all bits of a column, and no more passes than the counters force.
#include <weft/csr_transpose.h>

#include "base/arithmetic.h"
#include "convert/csr_transpose_call.h"
#include "op/scan.h"
#include "random.h"

#include "convert/csr_transpose_plan.h"
#include "runtime.h"

static weft_csr_transpose_problem random_problem(random_state *random)
{
    const int64_t n_cols = random_extent(random), nnz = random_extent(random);
    return (weft_csr_transpose_problem){
        .n_cols = n_cols > INT32_MAX ? random_between(random, 0, INT32_MAX) : n_cols,
        .nnz = nnz > INT64_C(1) << 40 ? 0 : nnz,
        .offset_dtype = nnz > INT32_MAX || random_below(random, 2) ? WEFT_I64 : WEFT_I32};
}

static void test_tilings_for_every_known_device(void **state)
{
    (void)state;
    random_state random = {1};
    for (int i = 0; i < 20000; i++) {
        const weft_limits *limits = weft_profile_at((size_t)i % weft_profile_count());
        const weft_csr_transpose_problem problem = random_problem(&random);
        const weft_csr_transpose_tiling t = weft_csr_transpose_tiling_for(limits, &problem);
        if (weft_csr_transpose_tiling_check(&t, limits, &problem) != WEFT_OK)
            fail_msg("%s: %s", limits->name, weft_last_error());
        const int passes = weft_csr_transpose_passes(&t, problem.n_cols);
        assert_true(passes >= 1 && passes <= (limits->vector_width > 1 ? 3 : 11));
        assert_true(passes * t.bits >= 31 || problem.n_cols <= INT64_C(1) << passes * t.bits);
        if (t.bits > 1 && passes > 1) { // fewer bits would take more passes
            weft_csr_transpose_tiling less = t;
            less.bits--;
            assert_true(weft_csr_transpose_passes(&less, problem.n_cols) > passes);
        }
        if (limits->vector_width > 1)
            assert_int_equal(t.items, 1);
    }
}

static void test_passes(void **state)
{
    (void)state;
    static const int64_t cases[][3] = {// bits, columns, passes
                                       {4, 0, 1},          {4, 1, 1},      {4, 16, 1},
                                       {4, 17, 2},         {1, 2, 1},      {1, 3, 2},
                                       {11, 2048, 1},      {11, 2049, 2},  {16, INT32_MAX, 2},
                                       {1, INT32_MAX, 31}, {8, 1 << 24, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_csr_transpose_tiling t = {.items = 1, .bits = (int)cases[i][0], .run = 1};
        assert_int_equal(weft_csr_transpose_passes(&t, cases[i][1]), cases[i][2]);
    }
}

static void test_counters_fill_no_more_than_local_memory(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-a100");
    const weft_csr_transpose_problem problem = {1 << 20, 1000, WEFT_I64};
    weft_csr_transpose_tiling t = {.items = 64, .bits = 6, .run = 32};
    limits.local_bytes = 65 * 64 * 8;
    assert_int_equal(weft_csr_transpose_tiling_check(&t, &limits, &problem), WEFT_OK);
    limits.local_bytes--;
    assert_int_equal(weft_csr_transpose_tiling_check(&t, &limits, &problem), WEFT_BAD_ARGUMENT);
    assert_says("counters of 33280 bytes; local memory has 33279");
}

static void test_running_sums_for_every_known_device(void **state)
{
    (void)state;
    random_state random = {2};
    for (int i = 0; i < 20000; i++) {
        const weft_limits *limits = weft_profile_at((size_t)i % weft_profile_count());
        const int64_t n = random_extent(&random) % (INT64_C(1) << 40);
        const int items = 1 << random_below(&random, 8);
        const weft_scan scan = weft_scan_for(limits, items, WEFT_I32, n);
        assert_true(scan.n_groups >= 1 && scan.span % (WEFT_SCAN_RUN * items) == 0);
        assert_true(scan.span <= INT64_C(32768) * items);
        assert_int_equal(scan.n_groups, max_i64(ceil_div(n, scan.span), 1));
    }
}

static void test_a_tiling_prints_itself(void **state)
{
    (void)state;
    char text[100];
    const weft_csr_transpose_tiling t = {.items = 64, .bits = 5, .run = 32};
    const int length = weft_csr_transpose_tiling_print(&t, text, sizeof(text));
    assert_int_equal(length, (int)strlen(text));
    assert_string_equal(text, "items 64, bits 5, run 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tilings_for_every_known_device),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_counters_fill_no_more_than_local_memory),
        cmocka_unit_test(test_running_sums_for_every_known_device),
        cmocka_unit_test(test_a_tiling_prints_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
