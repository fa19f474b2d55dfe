// SPDX-License-Identifier: Apache-2.0
// SpMM as it is planned: for the device at hand, and for every known one, as far as the one at hand
// can stand in for it.
#include "spmm_case.h"

static weft_context *ctx;
static bool is_reduced;

// Matrices as wide as layers are: k-blocks of B, packed or not, with and without a plan.
static void test_as_planned_for_layers(void **state)
{
    (void)state;
    static const int64_t widths[] = {100, 256};
    static const sparse_rows rows[] = {ROWS_RANDOM, ROWS_REPEATED, ROWS_FULL, ROWS_ONE_FULL};
    for (uint64_t seed = 0; seed < 24 && !is_reduced; seed++) {
        const spmm_case one = {.seed = 600 + seed,
                               .m = 70 + (int64_t)seed,
                               .k = seed % 2 ? 1500 : 300,
                               .n = widths[seed / 2 % 2],
                               .rows = rows[seed / 4 % 4],
                               .numbers = seed % 5 ? WHOLE : FRACTIONS,
                               .alpha = 1,
                               .beta = seed % 3 ? 0 : 2,
                               .with_plan = seed % 4 > 1,
                               .transpose_a = seed % 4 == 3};
        spmm_run(ctx, &one);
    }
}

// Layers of which two cores hold n-tiles of B in local memory, whatever the device at hand.
static void test_as_planned_with_copies_of_B(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_F64};
    weft_limits limits = *weft_context_limits(ctx);
    if (limits.vector_width < 8 || limits.local_bytes < 512 * 128 || limits.max_iterations > 0 ||
        !takes_wide_vectors())
        skip();
    limits.compute_units = 2;
    limits.l1_bytes = 32 << 10;
    limits.l2_bytes = 1 << 20;
    weft_context *there = open_context(&limits);
    for (uint64_t seed = 0; seed < 12; seed++) {
        const spmm_case of = {.seed = 650 + seed,
                              .m = 300 + (int64_t)seed,
                              .k = 512 - (int64_t)(seed % 4),
                              .n = seed % 2 ? 130 : 256,
                              .dtype = dtypes[limits.has_f64 ? seed % 3 : seed % 2],
                              .has_wide_c = seed == 1 || seed == 7,
                              .rows = ROWS_TENTH,
                              .numbers = seed % 5 ? WHOLE : FRACTIONS,
                              .alpha = 1,
                              .beta = seed % 3 ? 0 : 2,
                              .n_batches = seed % 6 == 5 ? 2 : 0,
                              .with_plan = seed % 4 > 1,
                              .transpose_a = seed % 4 == 3};
        spmm_operands o;
        char text[512];
        spmm_create(&o, there, weft_context_queue(there), &of);
        const weft_spmm_params params = spmm_params(&o);
        assert_true(weft_spmm_describe(there, &o.A, &o.B, &o.C, &params, text, sizeof(text)) > 0);
        if (!strstr(text, "row_blocks_per_copy "))
            fail_msg("%d: %s", (int)seed, text);
        spmm_call(&o);
        spmm_check(&o);
        spmm_destroy(&o);
    }
    weft_context_destroy(&there);
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t widths[] = {33, 128};
    weft_context *there = open_context(limits);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < (is_reduced ? 1 : 4); j++) {
            random_state random = {seed + (uint64_t)j};
            spmm_case one = {.seed = seed + (uint64_t)j,
                             .m = random_between(&random, 1, 40),
                             .k = random_between(&random, 1, 80),
                             .n = widths[i],
                             .rows = (sparse_rows)((seed + (uint64_t)(i + j)) % N_ROWS),
                             .numbers = j % 2 ? FRACTIONS : WHOLE,
                             .alpha = 1,
                             .beta = j % 2 ? 0.5 : 0,
                             .with_plan = (i + j) % 2,
                             .plan_row_chunk = j == 1 ? 3 : 0,
                             .b_layout = widths[i] % 4 ? ROW_MAJOR : ROWS_ALIGNED,
                             .c_layout = ROW_MAJOR};
            spmm_run(there, &one);
        }
    weft_context_destroy(&there);
}

static void test_as_planned_for_every_known_device(void **state)
{
    (void)state;
    const size_t every = is_reduced ? 4 : 1;
    for (size_t i = 0; i < weft_profile_count(); i += every)
        run_profile(weft_profile_at(i), 7 * i);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_planned_for_layers),
        cmocka_unit_test(test_as_planned_with_copies_of_B),
        cmocka_unit_test(test_as_planned_for_every_known_device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
