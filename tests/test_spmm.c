// SPDX-License-Identifier: Apache-2.0
// SpMM over every small shape, in every data type, with and without a plan, for A and for A^T.
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"

static weft_context *ctx;
static int step; // of the small set: every step-th case

static const weft_dtype narrow_dtypes[] = {WEFT_F16, WEFT_BF16};
enum { N_NARROW = sizeof(narrow_dtypes) / sizeof(narrow_dtypes[0]) };

// Slices of four columns, and of one: columns, rows, entries and row chunks all end within 0 .. 5.
static const weft_spmm_tiling vectorized = {.vector_width = 2,
                                            .vectors = 2,
                                            .lanes = 1,
                                            .rows_per_group = 2,
                                            .load = 1,
                                            .unroll = 2,
                                            .row_chunk = 2};
static const weft_spmm_tiling vectorized_narrow = {.vector_width = 1,
                                                   .vectors = 1,
                                                   .lanes = 1,
                                                   .rows_per_group = 2,
                                                   .load = 1,
                                                   .unroll = 2,
                                                   .row_chunk = 2};
static const weft_spmm_tiling spread = {.vector_width = 2,
                                        .vectors = 1,
                                        .lanes = 2,
                                        .rows_per_group = 2,
                                        .stage = 2,
                                        .load = 2,
                                        .unroll = 1,
                                        .row_chunk = 2};
static const weft_spmm_tiling spread_narrow = {.vector_width = 1,
                                               .vectors = 2,
                                               .lanes = 2,
                                               .rows_per_group = 2,
                                               .stage = 2,
                                               .load = 2,
                                               .unroll = 1,
                                               .row_chunk = 2};

// What changes from case to case without a program of its own.
static spmm_case varied(spmm_case of, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    random_state random = {seed};
    of.seed = seed;
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (spmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0)
        of.numbers = WILD_INPUT;
    of.with_plan = of.transpose_a || random_below(&random, 2);
    of.plan_row_chunk = random_below(&random, 4);
    of.offsets_start = random_below(&random, 3);
    of.indices_start = random_below(&random, 4);
    of.values_start = of.indices_start + 2 * random_below(&random, 3);
    of.b_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.c_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.b_start = random_below(&random, 4);
    of.c_start = random_below(&random, 4);
    return of;
}

// A n-tile of one vector is wider than n = 1: there `narrow` is taken, or what the library plans.
static void run_shapes(spmm_case of, const weft_spmm_tiling *wide, const weft_spmm_tiling *narrow)
{
    static uint64_t seed;
    for (of.m = 0; of.m <= 3; of.m++)
        for (of.k = 0; of.k <= 5; of.k++)
            for (of.n = 0; of.n <= 5; of.n++) {
                if (++seed % (uint64_t)step != 0)
                    continue;
                of.tiling = of.n < 2 ? narrow : wide;
                const spmm_case one = varied(of, seed);
                spmm_run(ctx, &one);
            }
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_shapes((spmm_case){.dtype = WEFT_F32}, NULL, NULL);
}

static void test_small_shapes_in_every_type(void **state)
{
    (void)state;
    run_shapes((spmm_case){.dtype = WEFT_F32}, &vectorized, &vectorized_narrow);
    run_shapes((spmm_case){.dtype = WEFT_F32}, &spread, &spread_narrow);
    for (int i = 0; i < N_NARROW; i++) {
        run_shapes((spmm_case){.dtype = narrow_dtypes[i], .has_wide_c = i == 0}, &vectorized, NULL);
        run_shapes((spmm_case){.dtype = narrow_dtypes[i], .has_wide_c = i == 1}, &spread, NULL);
    }
}

static void test_small_shapes_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    run_shapes((spmm_case){.dtype = WEFT_F64}, &vectorized, NULL);
    run_shapes((spmm_case){.dtype = WEFT_F64}, &spread, NULL);
}

static void test_small_shapes_with_every_index_type(void **state)
{
    (void)state;
    run_shapes((spmm_case){.offset_dtype = WEFT_I64}, &spread, NULL);
    run_shapes((spmm_case){.index_dtype = WEFT_I16}, &spread, NULL);
    run_shapes((spmm_case){.offset_dtype = WEFT_I64, .index_dtype = WEFT_I16}, &vectorized, NULL);
}

static void test_small_shapes_transposed(void **state)
{
    (void)state;
    const spmm_case of = {.transpose_a = true};
    const spmm_case narrow = {.transpose_a = true, .index_dtype = WEFT_I16, .dtype = WEFT_BF16};
    const spmm_case wide = {.transpose_a = true, .offset_dtype = WEFT_I64, .dtype = WEFT_F16};
    run_shapes(of, &spread, NULL);
    run_shapes(narrow, &vectorized, NULL);
    run_shapes(wide, &spread, NULL);
}

int main(void)
{
    need_device();
    step = getenv("WEFT_TEST_REDUCED") ? 5 : 1; // prime to the number of shapes
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_small_shapes_in_every_type),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_small_shapes_with_every_index_type),
        cmocka_unit_test(test_small_shapes_transposed),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
