// SPDX-License-Identifier: Apache-2.0
// SDDMM over every small shape, in every data type, by C's values and by its pattern alone.
#include "sddmm_case.h"
#include "sparse/sddmm_plan.h"

static weft_context *ctx;
static int step; // of the small set: every step-th case

static const weft_dtype narrow_dtypes[] = {WEFT_F16, WEFT_BF16};
enum { N_NARROW = sizeof(narrow_dtypes) / sizeof(narrow_dtypes[0]) };

// Tiles of four elements along k, and of one or two; chunks of 16 entries end within what there is.
static const weft_sddmm_tiling vectorized = {.vector_width = 2,
                                             .vectors = 2,
                                             .lanes = 1,
                                             .chunks_per_group = 1,
                                             .entries = 16,
                                             .passes = true};
static const weft_sddmm_tiling vectorized_narrow = {
    .vector_width = 1, .vectors = 2, .lanes = 1, .chunks_per_group = 2, .entries = 16};
static const weft_sddmm_tiling packed = {.vector_width = 2,
                                         .vectors = 1,
                                         .lanes = 1,
                                         .chunks_per_group = 2,
                                         .entries = 16,
                                         .passes = true,
                                         .packed = true};
static const weft_sddmm_tiling column_blocks = {.vector_width = 2,
                                                .vectors = 1,
                                                .lanes = 1,
                                                .chunks_per_group = 2,
                                                .entries = 16,
                                                .passes = true,
                                                .column_block = 2};
static const weft_sddmm_tiling spread = {
    .vector_width = 1, .vectors = 2, .lanes = 2, .chunks_per_group = 2, .entries = 16};

// Strides along k of A and B.
typedef enum along { NEIGHBOURS, ANY_STRIDE } along;

static dense_layout some_layout(random_state *random, along k)
{
    return k == NEIGHBOURS ? (dense_layout)random_below(random, ROWS_BACKWARDS + 1)
                           : (dense_layout)random_between(random, COLUMN_MAJOR, COLUMNS_APART);
}

// What changes from case to case without a program of its own.
static sddmm_case varied(sddmm_case of, along k, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    random_state random = {seed};
    of.seed = seed;
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (sddmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0)
        of.numbers = WILD_INPUT;
    of.output = (sddmm_output)random_below(&random, of.has_wide_d ? C_VALUES : N_OUTPUTS);
    of.offsets_start = random_below(&random, 3);
    of.indices_start = random_below(&random, 4);
    of.values_start = random_below(&random, 5);
    of.a_layout = some_layout(&random, k);
    of.b_layout = some_layout(&random, k);
    of.a_start = random_below(&random, 4);
    of.b_start = random_below(&random, 4);
    of.d_start = random_below(&random, 4);
    return of;
}

// A vector of two is longer than k = 1: there `narrow` is taken, or the shape left out.
static void run_shapes(sddmm_case of, along k, const weft_sddmm_tiling *wide,
                       const weft_sddmm_tiling *narrow)
{
    static const int64_t rows[] = {0, 1, 2, 5};
    static uint64_t seed;
    for (int i = 0; i < 4; i++)
        for (of.n = 0; of.n <= 5; of.n++)
            for (of.k = 0; of.k <= 5; of.k++) {
                of.m = rows[i];
                of.tiling = wide && of.k < wide->vector_width ? narrow : wide;
                if (++seed % (uint64_t)step != 0 || (wide && of.k == 1 && !of.tiling))
                    continue;
                const sddmm_case one = varied(of, k, seed);
                sddmm_run(ctx, &one);
            }
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_shapes((sddmm_case){.dtype = WEFT_F32}, NEIGHBOURS, NULL, NULL);
    run_shapes((sddmm_case){.indicator = true}, NEIGHBOURS, NULL, NULL);
}

static void test_small_shapes_with_any_stride(void **state)
{
    (void)state;
    run_shapes((sddmm_case){.dtype = WEFT_F32}, ANY_STRIDE, &vectorized, &vectorized_narrow);
    run_shapes((sddmm_case){.dtype = WEFT_F32}, ANY_STRIDE, &packed, NULL);
}

static void test_small_shapes_in_every_type(void **state)
{
    (void)state;
    run_shapes((sddmm_case){.dtype = WEFT_F32}, NEIGHBOURS, &vectorized, &vectorized_narrow);
    run_shapes((sddmm_case){.dtype = WEFT_F32}, NEIGHBOURS, &column_blocks, &vectorized_narrow);
    run_shapes((sddmm_case){.dtype = WEFT_F32}, NEIGHBOURS, &spread, NULL);
    for (int i = 0; i < N_NARROW; i++) {
        sddmm_case of = {.dtype = narrow_dtypes[i], .indicator = i == 0, .has_wide_d = i == 1};
        run_shapes(of, NEIGHBOURS, &vectorized, NULL);
        of.has_wide_d = i == 0;
        run_shapes(of, NEIGHBOURS, &spread, NULL);
    }
}

static void test_small_shapes_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    run_shapes((sddmm_case){.dtype = WEFT_F64}, NEIGHBOURS, &vectorized, NULL);
    run_shapes((sddmm_case){.dtype = WEFT_F64}, NEIGHBOURS, &spread, NULL);
}

static void test_small_shapes_with_every_index_type(void **state)
{
    (void)state;
    run_shapes((sddmm_case){.offset_dtype = WEFT_I64}, NEIGHBOURS, &spread, NULL);
    run_shapes((sddmm_case){.index_dtype = WEFT_I16}, NEIGHBOURS, &packed, NULL);
    run_shapes((sddmm_case){.offset_dtype = WEFT_I64, .index_dtype = WEFT_I16, .indicator = true},
               NEIGHBOURS, &column_blocks, &vectorized_narrow);
    run_shapes((sddmm_case){.offset_dtype = WEFT_I64, .index_dtype = WEFT_I16, .indicator = true},
               NEIGHBOURS, &vectorized, NULL);
}

int main(void)
{
    need_device();
    step = getenv("WEFT_TEST_REDUCED") ? 5 : 1; // prime to the number of shapes
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_small_shapes_with_any_stride),
        cmocka_unit_test(test_small_shapes_in_every_type),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_small_shapes_with_every_index_type),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
