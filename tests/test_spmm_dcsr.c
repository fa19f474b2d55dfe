// SPDX-License-Identifier: Apache-2.0
// SpMM by stored rows alone: every small shape through every kernel that writes C, in every data
// type, and as it is planned; against plain loops, and bit by bit against the product of all rows.
#include "sparse/spmm_tiling.h"
#include "spmm_arguments.h"
#include "spmm_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

static const weft_spmm_tiling k_blocked = {.vector_width = 2,
                                           .vectors = 1,
                                           .lanes = 1,
                                           .rows_per_group = 1,
                                           .rows_per_item = 3,
                                           .k_block = 2,
                                           .load = 1,
                                           .unroll = 1,
                                           .row_chunk = 5};

// One build: what every case of a run shares.
typedef struct variant {
    const weft_spmm_tiling *tiling;
    weft_dtype dtype, offset_dtype, index_dtype;
    bool has_wide_c;
    weft_spmm_reduction reduction;
    weft_dtype arguments; // WEFT_DEFAULT: none
    bool transpose_a, has_bias;
    weft_activation activation;
} variant;

static const variant variants[] = {
    {.tiling = &spmm_vectorized},
    {.tiling = &spmm_spread, .offset_dtype = WEFT_I64},
    {.tiling = &spmm_staged, .index_dtype = WEFT_I16},
    {.tiling = &k_blocked, .has_bias = true},
    {.tiling = &spmm_packed, .activation = WEFT_ACTIVATION_RELU},
    {.tiling = &spmm_staged_b, .has_bias = true, .index_dtype = WEFT_I16},
    {.tiling = &spmm_staged_b, .transpose_a = true, .dtype = WEFT_F16, .has_wide_c = true},
    {.tiling = &spmm_vectorized, .dtype = WEFT_F16},
    {.tiling = &spmm_staged,
     .dtype = WEFT_BF16,
     .has_bias = true,
     .activation = WEFT_ACTIVATION_RELU},
    {.tiling = &spmm_spread, .reduction = WEFT_SPMM_MEAN},
    {.tiling = &k_blocked, .reduction = WEFT_SPMM_MEAN, .dtype = WEFT_BF16, .has_wide_c = true},
    {.tiling = &spmm_vectorized, .reduction = WEFT_SPMM_MAX, .arguments = WEFT_I32},
    {.tiling = &spmm_spread, .reduction = WEFT_SPMM_MIN, .arguments = WEFT_I64, .has_bias = true},
    {.tiling = &spmm_vectorized, .reduction = WEFT_SPMM_MAX},
    {.tiling = &spmm_vectorized, .transpose_a = true, .dtype = WEFT_BF16},
    {.tiling = &spmm_staged,
     .transpose_a = true,
     .index_dtype = WEFT_I16,
     .offset_dtype = WEFT_I64},
    {.tiling = &spmm_vectorized,
     .transpose_a = true,
     .reduction = WEFT_SPMM_MAX,
     .arguments = WEFT_I32},
};
static const variant wide_variants[] = {
    {.tiling = &spmm_vectorized, .dtype = WEFT_F64},
    {.tiling = &spmm_staged, .dtype = WEFT_F64, .has_bias = true},
    {.tiling = &spmm_spread, .dtype = WEFT_F64, .reduction = WEFT_SPMM_MIN, .arguments = WEFT_I32},
};
enum {
    N_VARIANTS = sizeof(variants) / sizeof(variants[0]),
    N_WIDE = sizeof(wide_variants) / sizeof(wide_variants[0]),
};

// What changes from case to case without a program of its own.
static spmm_case varied(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    random_state random = {seed};
    spmm_case of = {.seed = seed,
                    .is_dcsr = true,
                    .dtype = v->dtype,
                    .has_wide_c = v->has_wide_c,
                    .offset_dtype = v->offset_dtype,
                    .index_dtype = v->index_dtype,
                    .transpose_a = v->transpose_a,
                    .reduction = v->reduction,
                    .has_bias = v->has_bias,
                    .bias_step = 1,
                    .activation = v->activation,
                    .tiling = v->tiling};
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (spmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0)
        of.numbers = WILD_INPUT;
    of.with_plan = of.transpose_a || random_below(&random, 2);
    of.plan_row_chunk = random_below(&random, 4);
    of.offsets_start = random_below(&random, 3);
    of.indices_start = of.values_start = random_below(&random, 4);
    of.n_batches = random_below(&random, 3);
    of.own_values = random_below(&random, 2) && (!v->tiling || v->tiling->load == 1);
    of.b_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.c_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.b_start = random_below(&random, 4);
    of.c_start = random_below(&random, 4);
    return of;
}

static void run(weft_context *on, const variant *v, const spmm_case *of)
{
    if (v->arguments != WEFT_DEFAULT)
        spmm_arguments_run(on, of, v->arguments, 1);
    else
        spmm_run(on, of);
}

static void run_shapes(const variant *v)
{
    static uint64_t seed;
    const uint64_t step = is_reduced ? 7 : 1; // prime to the number of shapes
    const int64_t vector_width = v->tiling ? v->tiling->vector_width : 1;
    for (int64_t m = 0; m <= 4; m++)
        for (int64_t k = 0; k <= 5; k++)
            for (int64_t n = 0; n <= 5; n++) {
                if (++seed % step != 0 || (n > 0 && n < vector_width))
                    continue;
                spmm_case of = varied(v, seed);
                of.m = m;
                of.k = k;
                of.n = n;
                run(ctx, v, &of);
            }
}

static void test_small_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        if (has_turn(i))
            run_shapes(&variants[i]);
}

static void test_small_shapes_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    for (int i = 0; i < N_WIDE; i++)
        run_shapes(&wide_variants[i]);
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_shapes(&(const variant){.tiling = NULL});
}

// Columns and batches of C that lie anywhere.
static void test_layouts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (is_reduced ? 9 : 4 * N_OUTPUT_LAYOUTS); seed++) {
        const variant v = {.tiling = &spmm_spread};
        spmm_case of = varied(&v, seed);
        of.m = 9;
        of.k = 4;
        of.n = 5;
        of.c_layout = (dense_layout)(seed % N_OUTPUT_LAYOUTS);
        of.n_batches = (int64_t)seed % 3;
        spmm_run(ctx, &of);
    }
}

// Rows that stand far apart, one in twelve, in groups that have many: as the device takes them, and
// as GPUs of several widths do. Long ones are cut where the plan says so.
static void run_far_rows(weft_context *on)
{
    static const weft_spmm_reduction reductions[] = {WEFT_SPMM_SUM, WEFT_SPMM_MAX, WEFT_SPMM_MEAN};
    for (uint64_t seed = 0; seed < (is_reduced ? 6 : 24); seed++) {
        const variant v = {.reduction = reductions[seed / 2 % 3],
                           .arguments = seed / 2 % 3 == 1 ? WEFT_I32 : WEFT_DEFAULT};
        spmm_case of = varied(&v, seed);
        of.m = seed % 2 ? 1211 : 300;
        of.k = 8 + (int64_t)seed;
        of.n = seed % 4 == 1 ? 1 : 9;
        of.rows = seed % 5 == 4 ? ROWS_ONE_FULL : ROWS_FAR;
        of.transpose_a = seed % 6 == 5;
        of.with_plan = of.transpose_a || seed % 2;
        run(on, &v, &of);
    }
}

static void test_far_rows_as_planned(void **state)
{
    (void)state;
    static const char *const names[] = {"nvidia-a100", "amd-mi300x", "intel-uhd-630"};
    run_far_rows(ctx);
    for (int i = 0; i < 3; i++) {
        weft_context *gpu = open_context(weft_profile_find(names[i]));
        run_far_rows(gpu);
        weft_context_destroy(&gpu);
    }
}

static void test_every_order(void **state)
{
    (void)state;
    for (int schedule = WEFT_SPMM_ROW_SCHEDULE_GIVEN; schedule <= WEFT_SPMM_ROW_SCHEDULE_REUSE;
         schedule++)
        for (uint64_t seed = 0; seed < (is_reduced ? 2 : 8); seed++) {
            const variant v = {.tiling = &spmm_spread};
            spmm_case of = varied(&v, seed);
            of.m = 60;
            of.k = 12;
            of.n = 5;
            of.rows = seed % 2 ? ROWS_FAR : ROWS_RANDOM;
            of.alpha = 2;
            of.numbers = WHOLE;
            of.with_plan = true;
            of.plan_row_chunk = 1 + (int64_t)seed % 3;
            of.row_schedule = (weft_spmm_row_schedule)schedule;
            spmm_run(ctx, &of);
        }
}

// A plan for a CPU cuts dense rows into segments.
static void test_segments(void **state)
{
    (void)state;
    if (weft_context_limits(ctx)->vector_width == 1)
        skip();
    const spmm_case of = {.seed = 8,
                          .is_dcsr = true,
                          .m = 70,
                          .k = 1500,
                          .n = 128,
                          .rows = ROWS_RANDOM,
                          .numbers = FRACTIONS,
                          .alpha = 1,
                          .beta = -1,
                          .with_plan = true};
    spmm_operands o;
    char text[512], left[64];
    spmm_create(&o, ctx, queue, &of);
    const weft_spmm_params params = spmm_params(&o);
    assert_true(spmm_describe(&o, &params, text, sizeof(text)) > 0);
    snprintf(left, sizeof(left), "; rows that are not stored: %d", (int)(70 - o.D.n_stored));
    assert_non_null(strstr(text, "in segments"));
    assert_non_null(strstr(text, left));
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

// With one tiling the product has the bits of that of all rows.
static void check_same_bits(const spmm_case *of)
{
    spmm_operands o;
    spmm_create(&o, ctx, queue, of);
    spmm_call(&o);
    void *got = spmm_read(&o);
    spmm_operands whole = o;
    whole.of.is_dcsr = false;
    whole.plan = NULL;
    whole.workspace = NULL;
    if (of->with_plan)
        assert_ok(weft_spmm_plan_create(
            &whole.plan, ctx, queue, &o.A,
            WEFT_SPMM_PLAN(.transpose_a = of->transpose_a, .row_chunk = of->plan_row_chunk)));
    const weft_spmm_params params = spmm_params(&whole);
    size_t bytes;
    assert_ok(spmm_workspace(&whole, &params, &bytes));
    if (bytes > 0)
        whole.workspace = buffer_zeroed(ctx, bytes, CL_MEM_READ_WRITE);
    spmm_restore(&o);
    spmm_call(&whole);
    void *want = spmm_read(&o);
    assert_memory_equal(got, want, o.c_bytes);
    if (whole.workspace)
        clReleaseMemObject(whole.workspace);
    weft_spmm_plan_destroy(&whole.plan);
    free(got);
    free(want);
    spmm_destroy(&o);
}

static void test_same_bits_as_of_all_rows(void **state)
{
    (void)state;
    static const weft_spmm_tiling *const tilings[] = {&spmm_vectorized, &spmm_staged, &k_blocked};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_BF16};
    static const weft_spmm_reduction reductions[] = {WEFT_SPMM_SUM, WEFT_SPMM_MEAN, WEFT_SPMM_MAX};
    for (uint64_t seed = 0; seed < 12; seed++) {
        const spmm_case of = {.seed = seed,
                              .is_dcsr = true,
                              .dtype = dtypes[seed / 3 % 2],
                              .m = 50,
                              .k = 30,
                              .n = 9,
                              .rows = seed % 2 ? ROWS_FAR : ROWS_RANDOM,
                              .numbers = FRACTIONS,
                              .alpha = 0.7,
                              .beta = seed % 4 < 2 ? -0.3 : 1,
                              .reduction = reductions[seed / 3 % (seed % 3 == 0 ? 3 : 2)],
                              .has_bias = seed % 5 == 0,
                              .with_plan = seed >= 6,
                              .plan_row_chunk = 3,
                              .tiling = tilings[seed % 3]};
        check_same_bits(&of);
    }
}

// What stays is neither read nor written: signalling NaN would come out quiet.
static void test_beta_1_leaves_rows(void **state)
{
    (void)state;
    static const uint32_t signalling = 0x7fa00001;
    const spmm_case of = {.seed = 2,
                          .is_dcsr = true,
                          .m = 40,
                          .k = 6,
                          .n = 5,
                          .rows = ROWS_FAR,
                          .alpha = 1,
                          .beta = 1};
    spmm_operands o;
    spmm_create(&o, ctx, queue, &of);
    EACH_ELEMENT(&o.C, batch, row, column)
    if (sparse_row(&o.sparse.host, row).first == sparse_row(&o.sparse.host, row).stop)
        memcpy((char *)o.c_before + dense_place(&o.C, batch, row, column) * 4, &signalling, 4);
    spmm_restore(&o);
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    spmm_call(&o);
    const uint64_t taken = weft_context_get_stats(ctx).launches - launches;
    char *after = spmm_read(&o);
    EACH_ELEMENT(&o.C, batch, row, column)
    if (sparse_row(&o.sparse.host, row).first == sparse_row(&o.sparse.host, row).stop)
        assert_memory_equal(after + dense_place(&o.C, batch, row, column) * 4, &signalling, 4);
    free(after);
    o.of.beta = 2; // a kernel more
    spmm_call(&o);
    assert_int_equal(weft_context_get_stats(ctx).launches - launches, 2 * taken + 1);
    spmm_destroy(&o);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_far_rows_as_planned),
        cmocka_unit_test(test_every_order),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_same_bits_as_of_all_rows),
        cmocka_unit_test(test_beta_1_leaves_rows),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
