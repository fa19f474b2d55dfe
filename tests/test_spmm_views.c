// SPDX-License-Identifier: Apache-2.0
// SpMM through every kind of view of its operands: layouts, starts, batches, alpha and beta.
#include "spmm_case.h"

#include <math.h>

#include "random.h"
#include "sparse/spmm_tiling.h"

static weft_context *ctx;
static int step; // of the small set: every step-th case

static bool is_taken(uint64_t seed)
{
    return seed % (uint64_t)step == 0;
}

static void test_layouts_of_b_and_c(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int b = 0; b < N_LAYOUTS; b++)
        for (int c = 0; c < N_OUTPUT_LAYOUTS; c++)
            for (int n_batches = 0; n_batches <= 3; n_batches++) {
                ++seed;
                const spmm_case one = {.seed = seed,
                                       .m = 4,
                                       .k = 6,
                                       .n = 5,
                                       .n_batches = n_batches,
                                       .numbers = (spmm_numbers)(seed % WILD_INPUT),
                                       .rows = (sparse_rows)(seed / 7 % N_ROWS),
                                       .b_layout = (dense_layout)b,
                                       .c_layout = (dense_layout)c,
                                       .b_start = (int64_t)seed % 4,
                                       .c_start = (int64_t)seed / 3 % 4,
                                       .alpha = seed % 5 ? 2 : 0,
                                       .beta = seed % 2 ? 0 : -1,
                                       .with_plan = seed % 3 == 0};
                if (is_taken(seed))
                    spmm_run(ctx, &one);
            }
}

// Narrow types: rows of B and C begin on any element.
static void test_layouts_of_narrow_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    uint64_t seed = 5000;
    for (int i = 0; i < 2; i++)
        for (int layout = 0; layout < N_OUTPUT_LAYOUTS; layout++)
            for (int start = 0; start < 4; start++) {
                ++seed;
                const spmm_case one = {.seed = seed,
                                       .dtype = dtypes[i],
                                       .m = 5,
                                       .k = 7,
                                       .n = 5,
                                       .numbers = seed % 2 ? FRACTIONS : WHOLE,
                                       .b_layout = (dense_layout)layout,
                                       .c_layout = (dense_layout)layout,
                                       .b_start = start,
                                       .c_start = 3 - start,
                                       .alpha = 1,
                                       .beta = seed % 3 ? 0.5 : 0};
                if (is_taken(seed))
                    spmm_run(ctx, &one);
            }
}

// Whole numbers that narrow storage has no room for: many lie in the middle between two that it
// has.
static void test_rounding_of_narrow_results(void **state)
{
    (void)state;
    for (uint64_t seed = 7000; seed < 7020; seed++) {
        const bool is_bf16 = seed % 2;
        const spmm_case one = {.seed = seed,
                               .dtype = is_bf16 ? WEFT_BF16 : WEFT_F16,
                               .m = 20,
                               .k = 15,
                               .n = 5,
                               .rows = ROWS_FULL,
                               .c_layout = seed % 4 < 2 ? ROW_MAJOR : COLUMN_MAJOR,
                               .alpha = is_bf16 ? 37 : 171,
                               .beta = seed % 3};
        if (is_taken(seed))
            spmm_run(ctx, &one);
    }
}

static void test_batches(void **state)
{
    (void)state;
    static const weft_spmm_tiling cut = {.vector_width = 2,
                                         .vectors = 2,
                                         .lanes = 1,
                                         .rows_per_group = 2,
                                         .load = 1,
                                         .unroll = 2,
                                         .row_chunk = 2};
    for (uint64_t seed = 9000; seed < 9200; seed++) {
        random_state random = {seed};
        const bool is_cut = random_below(&random, 2);
        const bool transpose_a = random_below(&random, 2);
        const spmm_case one = {.seed = seed,
                               .m = random_below(&random, 8),
                               .k = random_below(&random, 12),
                               .n = is_cut ? random_between(&random, 2, 9) : 5,
                               .n_batches = random_between(&random, 1, 5),
                               .own_values = random_below(&random, 3),
                               .rows = (sparse_rows)random_below(&random, N_ROWS),
                               .numbers = (spmm_numbers)random_below(&random, WILD_INPUT),
                               .values_start = random_below(&random, 4),
                               .b_layout = (dense_layout)random_below(&random, COLUMN_MAJOR),
                               .c_layout = random_below(&random, 2) ? BATCH_BETWEEN : ROW_MAJOR,
                               .alpha = 1,
                               .beta = random_below(&random, 2),
                               .transpose_a = transpose_a,
                               .with_plan = transpose_a || random_below(&random, 2),
                               .plan_row_chunk = is_cut ? 2 : 0,
                               .tiling = is_cut ? &cut : NULL};
        if (is_taken(seed))
            spmm_run(ctx, &one);
    }
}

// With and without a plan, op(A) either one, A by all rows or by those that it stores.
static void test_vectors(void **state)
{
    (void)state;
    uint64_t seed = 30000;
    for (int kind = 0; kind < 6; kind++)
        for (int layout = 0; layout < COLUMN_MAJOR; layout++)
            for (int i = 0; i < 4; i++) {
                const bool transpose_a = kind % 3 == 2;
                ++seed;
                const spmm_case one = {.seed = seed,
                                       .m = 37,
                                       .k = 23,
                                       .n = 1,
                                       .are_vectors = true,
                                       .rows = (sparse_rows)(seed % N_ROWS),
                                       .numbers = (spmm_numbers)(seed % WILD_INPUT),
                                       .b_layout = (dense_layout)layout,
                                       .c_layout = layout % 2 ? COLUMN_MAJOR : ROW_MAJOR,
                                       .b_start = i,
                                       .c_start = 3 - i,
                                       .alpha = 2,
                                       .beta = i % 2,
                                       .has_bias = i == 3,
                                       .bias_step = 1,
                                       .is_dcsr = kind >= 3,
                                       .transpose_a = transpose_a,
                                       .with_plan = transpose_a || kind % 3 == 1};
                if (is_taken(seed))
                    spmm_run(ctx, &one);
            }
}

// Rows that begin anywhere between two aligned loads, after and before foreign entries.
static void test_starts_of_the_arrays(void **state)
{
    (void)state;
    static const weft_spmm_tiling tiling = {.vector_width = 1,
                                            .vectors = 1,
                                            .lanes = 2,
                                            .rows_per_group = 2,
                                            .stage = 4,
                                            .load = 4,
                                            .unroll = 1,
                                            .row_chunk = 5};
    static const weft_dtype indices[] = {WEFT_I32, WEFT_I16};
    uint64_t seed = 20000;
    for (int start = 0; start < 9; start++)
        for (int apart = 0; apart < 2; apart++)
            for (int numbers = WHOLE; numbers <= WILD_A; numbers++)
                for (int i = 0; i < 8; i++) {
                    ++seed;
                    const spmm_case one = {.seed = seed,
                                           .m = 7,
                                           .k = 11,
                                           .n = 3,
                                           .rows = (sparse_rows)(seed % N_ROWS),
                                           .numbers = (spmm_numbers)numbers,
                                           .index_dtype = indices[seed / 3 % 2],
                                           .offsets_start = start,
                                           .indices_start = start,
                                           .values_start = start + 4 * apart,
                                           .alpha = 1,
                                           .with_plan = seed % 2,
                                           .plan_row_chunk = 3,
                                           .tiling = &tiling};
                    if (is_taken(seed))
                        spmm_run(ctx, &one);
                }
}

// alpha 0 reads neither A nor B, beta 0 does not read C: all that is not read is NaN.
static void test_alpha_and_beta(void **state)
{
    (void)state;
    static const double scalars[] = {0, 1, -1, 2, -0.5, 3};
    uint64_t seed = 30000;
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int rows = 0; rows < N_ROWS; rows++) {
                ++seed;
                const spmm_case one = {.seed = seed,
                                       .m = 5,
                                       .k = 7,
                                       .n = 5,
                                       .rows = (sparse_rows)rows,
                                       .numbers = scalars[a] == 0 ? WILD_INPUT : WHOLE,
                                       .alpha = scalars[a],
                                       .beta = scalars[b],
                                       .with_plan = seed % 2};
                if (is_taken(seed))
                    spmm_run(ctx, &one);
            }
}

// C that is infinite or NaN goes through beta, and through no other element.
static void test_wild_output(void **state)
{
    (void)state;
    static const float wild[] = {1, (float)INFINITY, -2, (float)NAN};
    spmm_operands o;
    const spmm_case of = {.seed = 1, .m = 2, .k = 3, .n = 2, .rows = ROWS_EMPTY, .beta = 2};
    spmm_create(&o, ctx, weft_context_queue(ctx), &of);
    memcpy((float *)o.c_before + o.C.offset, wild, sizeof(wild));
    spmm_restore(&o);
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

int main(void)
{
    need_device();
    step = getenv("WEFT_TEST_REDUCED") ? 7 : 1;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_b_and_c),
        cmocka_unit_test(test_layouts_of_narrow_types),
        cmocka_unit_test(test_rounding_of_narrow_results),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_starts_of_the_arrays),
        cmocka_unit_test(test_alpha_and_beta),
        cmocka_unit_test(test_wild_output),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
