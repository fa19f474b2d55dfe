// SPDX-License-Identifier: Apache-2.0
// SDDMM through every kind of view of its operands: layouts, starts, batches, alpha and beta, and
// what must not be read.
#include "sddmm_case.h"
#include "sparse/sddmm_plan.h"

#include <math.h>

static weft_context *ctx;
static int step; // of the small set: every step-th case

// One program for each pair of strides along k.
static const weft_sddmm_tiling cut = {.vector_width = 2,
                                      .vectors = 2,
                                      .lanes = 1,
                                      .chunks_per_group = 1,
                                      .entries = 16,
                                      .passes = true};

static void run_taken(const sddmm_case *one)
{
    if (one->seed % (uint64_t)step == 0)
        sddmm_run(ctx, one);
}

static void test_layouts_of_a_and_b(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int a = 0; a < N_LAYOUTS; a++)
        for (int b = 0; b < N_LAYOUTS; b++)
            for (int n_batches = 0; n_batches <= 3; n_batches++) {
                ++seed;
                const sddmm_case one = {.seed = seed,
                                        .m = 4,
                                        .n = 5,
                                        .k = 6 + n_batches % 2,
                                        .n_batches = n_batches,
                                        .numbers = (sddmm_numbers)(seed % WILD_INPUT),
                                        .rows = (sparse_rows)(seed / 7 % N_ROWS),
                                        .a_layout = (dense_layout)a,
                                        .b_layout = (dense_layout)b,
                                        .a_start = (int64_t)seed % 4,
                                        .b_start = (int64_t)seed / 3 % 4,
                                        .alpha = seed % 5 ? 2 : 0,
                                        .beta = seed % 2 ? 0 : -1,
                                        .tiling = &cut};
                run_taken(&one);
            }
}

// B as its transpose lies, and columns that a tile turns round.
static void test_layouts_as_planned(void **state)
{
    (void)state;
    static const dense_layout layouts[] = {ROW_MAJOR, ROWS_PADDED, COLUMN_MAJOR};
    static const int64_t lengths[] = {31, 64, 130};
    for (uint64_t seed = 1000; seed < 1027; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = 30,
                                .n = 20,
                                .k = lengths[seed / 3 % 3],
                                .rows = seed / 9 % 2 ? ROWS_RANDOM : ROWS_SPARSE,
                                .numbers = seed % 2 ? FRACTIONS : WILD_B,
                                .b_layout = layouts[seed % 3],
                                .alpha = 1};
        run_taken(&one);
    }
}

// Narrow types: rows and columns begin on any element.
static void test_starts_of_narrow_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    uint64_t seed = 5000;
    for (int i = 0; i < 2; i++)
        for (int start = 0; start < 16; start++) {
            ++seed;
            const sddmm_case one = {.seed = seed,
                                    .dtype = dtypes[i],
                                    .m = 5,
                                    .n = 7,
                                    .k = 5,
                                    .numbers = seed % 2 ? FRACTIONS : WHOLE,
                                    .a_start = start % 4,
                                    .b_start = start / 4,
                                    .d_start = 3 - start % 4,
                                    .alpha = 1,
                                    .beta = seed % 3 ? 0.5 : 0,
                                    .tiling = &cut};
            run_taken(&one);
        }
}

// Whole numbers that narrow storage has no room for: many lie in the middle between two that it
// has, and some are too large.
static void test_rounding_of_narrow_results(void **state)
{
    (void)state;
    for (uint64_t seed = 7000; seed < 7020; seed++) {
        const bool is_bf16 = seed % 2;
        const sddmm_case one = {.seed = seed,
                                .dtype = is_bf16 ? WEFT_BF16 : WEFT_F16,
                                .m = 20,
                                .n = 15,
                                .k = 19,
                                .rows = ROWS_FULL,
                                .alpha = is_bf16 ? 37 : 171,
                                .beta = seed % 3,
                                .tiling = &cut};
        run_taken(&one);
    }
}

static void test_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 9000; seed < 9150; seed++) {
        random_state random = {seed};
        const bool is_shared = random_below(&random, 4) == 0;
        const sddmm_case one = {.seed = seed,
                                .m = random_below(&random, 8),
                                .n = random_below(&random, 12),
                                .k = random_between(&random, 2, 9),
                                .n_batches = random_between(&random, 1, 5),
                                .own_values = random_below(&random, 3),
                                .gap = random_below(&random, 4),
                                .rows = (sparse_rows)random_below(&random, N_ROWS),
                                .numbers = (sddmm_numbers)random_below(&random, WILD_INPUT),
                                .output = (sddmm_output)random_below(&random, N_OUTPUTS),
                                .values_start = random_below(&random, 4),
                                .a_layout = is_shared ? SAME_MATRIX : BATCH_BETWEEN,
                                .b_layout = random_below(&random, 2) ? BATCH_BACKWARDS : ROW_MAJOR,
                                .alpha = 1,
                                .beta = random_below(&random, 2),
                                .tiling = &cut};
        run_taken(&one);
    }
}

// alpha 0 reads neither A, B nor C's values, beta 0 does not read D: all that is not read is NaN.
static void test_alpha_and_beta(void **state)
{
    (void)state;
    static const double scalars[] = {0, 1, -1, 2, -0.5, 3};
    uint64_t seed = 30000;
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int rows = 0; rows < 2 * N_ROWS; rows++) {
                ++seed;
                const sddmm_case one = {.seed = seed,
                                        .m = 5,
                                        .n = 7,
                                        .k = 5,
                                        .rows = (sparse_rows)(rows / 2),
                                        .numbers = scalars[a] == 0 ? WILD_INPUT : WHOLE,
                                        .output = (sddmm_output)(rows % 2),
                                        .alpha = scalars[a],
                                        .beta = scalars[b],
                                        .indicator = seed / 2 % 2,
                                        .tiling = &cut};
                run_taken(&one);
            }
}

// Too small for the type of the sums: alpha is 0 there, and beta.
static void test_scalars_that_vanish(void **state)
{
    (void)state;
    sddmm_operands o;
    const sddmm_case of = {
        .seed = 1, .m = 5, .n = 7, .k = 5, .rows = ROWS_FULL, .numbers = WILD_INPUT};
    sddmm_create(&o, ctx, weft_context_queue(ctx), &of);
    const weft_sddmm_params params = sddmm_params(&o);
    assert_ok(weft_sddmm(ctx, o.queue, 1e-60, &o.A, &o.B, &o.C, -1e-60, &o.D, &params));
    sddmm_check(&o); // all 0
    sddmm_destroy(&o);
}

// D that is infinite or NaN goes through beta, and through no other element.
static void test_wild_output(void **state)
{
    (void)state;
    static const float wild[] = {1, (float)INFINITY, -2, (float)NAN, 5};
    sddmm_operands o;
    const sddmm_case of = {
        .seed = 1, .m = 1, .n = 5, .k = 4, .rows = ROWS_FULL, .alpha = 1, .beta = 2};
    sddmm_create(&o, ctx, weft_context_queue(ctx), &of);
    memcpy((float *)o.d_before + o.D.offset, wild, sizeof(wild));
    sddmm_restore(&o);
    sddmm_call(&o);
    sddmm_check(&o);
    sddmm_destroy(&o);
}

// Rows of A, or columns of B, as they lie one after the other.
static void put_lines(const sddmm_operands *o, const weft_tensor *t, const float *lines, int64_t n)
{
    size_t bytes;
    assert_int_equal(clGetMemObjectInfo(t->buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL),
                     CL_SUCCESS);
    float *image = buffer_now(o->queue, t->buffer, bytes);
    memcpy(image + t->offset, lines, (size_t)n * sizeof(float));
    buffer_put(o->queue, t->buffer, image, bytes);
    free(image);
}

// The last vector along k is moved back, over elements that it has had: they count once, and an
// infinite one makes no NaN of those that do not count.
static void test_infinite_elements_next_to_the_end(void **state)
{
    (void)state;
    static const weft_sddmm_tiling packed = {.vector_width = 4,
                                             .vectors = 1,
                                             .lanes = 2,
                                             .chunks_per_group = 1,
                                             .entries = 16,
                                             .passes = true,
                                             .packed = true};
    for (int64_t k = 5; k <= 11; k++)
        for (int64_t i = 0; i < 2 * k; i++) {
            const int64_t l = i / 2;
            sddmm_operands o;
            const sddmm_case of = {.seed = (uint64_t)(100 * k + l),
                                   .m = 3,
                                   .n = 3,
                                   .k = k,
                                   .rows = ROWS_FULL,
                                   .alpha = 1,
                                   .indicator = true,
                                   .tiling = i % 2 ? &packed : &cut};
            sddmm_create(&o, ctx, weft_context_queue(ctx), &of);
            float *a = o.rows_A, *b = o.columns_B;
            for (int64_t at = 0; at < 3 * k; at++)
                a[at] = 1 + (float)(at % 3);
            b[l] = (float)INFINITY;
            b[k + l] = -(float)INFINITY;
            put_lines(&o, &o.A, a, 3 * k);
            put_lines(&o, &o.B, b, 3 * k);
            sddmm_call(&o);
            sddmm_check(&o);
            sddmm_destroy(&o);
        }
}

int main(void)
{
    need_device();
    step = getenv("WEFT_TEST_REDUCED") ? 7 : 1;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_a_and_b),
        cmocka_unit_test(test_layouts_as_planned),
        cmocka_unit_test(test_starts_of_narrow_types),
        cmocka_unit_test(test_rounding_of_narrow_results),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_alpha_and_beta),
        cmocka_unit_test(test_scalars_that_vanish),
        cmocka_unit_test(test_wild_output),
        cmocka_unit_test(test_infinite_elements_next_to_the_end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
