// SPDX-License-Identifier: Apache-2.0
// SpMM with means, largest and smallest products instead of sums, and where these come from: over
// every small shape in every data type, on tilings for CPUs and GPUs.
#include "spmm_arguments.h"

#include "random.h"
#include "sparse/spmm_tiling.h"

static weft_context *ctx;
static bool is_reduced;

// Columns, rows, entries and row chunks all end within 0 .. 5.
static const weft_spmm_tiling vectorized = {.vector_width = 2,
                                            .vectors = 2,
                                            .lanes = 1,
                                            .rows_per_group = 2,
                                            .load = 1,
                                            .unroll = 2,
                                            .row_chunk = 2};
static const weft_spmm_tiling spread = {.vector_width = 1,
                                        .vectors = 2,
                                        .lanes = 2,
                                        .rows_per_group = 2,
                                        .load = 1,
                                        .unroll = 1,
                                        .row_chunk = 2};
static const weft_spmm_tiling staged = {.vector_width = 2,
                                        .vectors = 1,
                                        .lanes = 2,
                                        .rows_per_group = 2,
                                        .stage = 2,
                                        .load = 2,
                                        .unroll = 1,
                                        .row_chunk = 2};
static const weft_spmm_tiling k_blocked = {.vector_width = 2,
                                           .vectors = 1,
                                           .lanes = 1,
                                           .rows_per_group = 1,
                                           .rows_per_item = 2,
                                           .k_block = 2,
                                           .load = 1,
                                           .unroll = 1,
                                           .row_chunk = 4};

// Entries side by side: in one vector, and in items.
static const weft_spmm_tiling beside = {.vector_width = 2,
                                        .vectors = 1,
                                        .lanes = 1,
                                        .entry_lanes = 4,
                                        .rows_per_group = 1,
                                        .rows_per_item = 3,
                                        .load = 1,
                                        .unroll = 1,
                                        .row_chunk = 7};
static const weft_spmm_tiling beside_alone = {.vector_width = 1,
                                              .vectors = 1,
                                              .lanes = 1,
                                              .entry_lanes = 8,
                                              .rows_per_group = 1,
                                              .rows_per_item = 2,
                                              .load = 1,
                                              .unroll = 1,
                                              .row_chunk = 9};
static const weft_spmm_tiling in_items = {.vector_width = 2,
                                          .vectors = 1,
                                          .lanes = 2,
                                          .row_split = 4,
                                          .entry_lanes = 4,
                                          .rows_per_group = 2,
                                          .rows_per_item = 2,
                                          .load = 1,
                                          .unroll = 2,
                                          .row_chunk = 6};

// One build: what every case of a run shares. arguments 0: nobody wants them.
typedef struct variant {
    weft_spmm_reduction reduction;
    const weft_spmm_tiling *tiling;
    weft_dtype dtype, arguments, offset_dtype, index_dtype;
    bool transpose_a;
    int64_t step; // of the arguments' strides; 0: 1
} variant;

static const variant variants[] = {
    {WEFT_SPMM_MAX, &vectorized, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MAX, &vectorized, WEFT_F32, WEFT_DEFAULT, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &spread, WEFT_F32, WEFT_I64, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &vectorized, WEFT_F16, WEFT_I32, WEFT_I32, WEFT_I16, false, 0},
    {WEFT_SPMM_MAX, &spread, WEFT_BF16, WEFT_I32, WEFT_I64, WEFT_I32, false, 2},
    {WEFT_SPMM_MAX, &vectorized, WEFT_F32, WEFT_I64, WEFT_I64, WEFT_I16, true, 0},
    {WEFT_SPMM_MIN, &spread, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, true, 3},
    {WEFT_SPMM_MIN, &spread, WEFT_BF16, WEFT_DEFAULT, WEFT_I32, WEFT_I32, true, 0},
    {WEFT_SPMM_MAX, &beside, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &beside, WEFT_BF16, WEFT_DEFAULT, WEFT_I64, WEFT_I16, true, 0},
    {WEFT_SPMM_MIN, &beside_alone, WEFT_F32, WEFT_I64, WEFT_I64, WEFT_I32, false, 2},
    {WEFT_SPMM_MAX, &beside_alone, WEFT_F16, WEFT_I32, WEFT_I32, WEFT_I32, true, 0},
    {WEFT_SPMM_MAX, &in_items, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &in_items, WEFT_F16, WEFT_DEFAULT, WEFT_I64, WEFT_I16, true, 0},
    {WEFT_SPMM_MEAN, &beside, WEFT_F32, WEFT_DEFAULT, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MEAN, &in_items, WEFT_F32, WEFT_DEFAULT, WEFT_I32, WEFT_I32, true, 0},
    {WEFT_SPMM_MEAN, &vectorized, WEFT_F32, WEFT_DEFAULT, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MEAN, &staged, WEFT_F16, WEFT_DEFAULT, WEFT_I64, WEFT_I32, false, 0},
    {WEFT_SPMM_MEAN, &k_blocked, WEFT_BF16, WEFT_DEFAULT, WEFT_I32, WEFT_I16, true, 0},
};
static const variant wide_variants[] = {
    {WEFT_SPMM_MAX, &vectorized, WEFT_F64, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &spread, WEFT_F64, WEFT_I64, WEFT_I64, WEFT_I32, true, 0},
    {WEFT_SPMM_MAX, &beside, WEFT_F64, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    {WEFT_SPMM_MIN, &in_items, WEFT_F64, WEFT_I64, WEFT_I64, WEFT_I32, false, 0},
    {WEFT_SPMM_MEAN, &staged, WEFT_F64, WEFT_DEFAULT, WEFT_I32, WEFT_I32, false, 0},
};
enum {
    N_VARIANTS = sizeof(variants) / sizeof(variants[0]),
    N_WIDE = sizeof(wide_variants) / sizeof(wide_variants[0]),
};

// What changes from case to case without a program of its own.
// Of narrow types, those by i32 offsets have a C in f32.
static spmm_case varied(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    random_state random = {seed};
    spmm_case of = {.seed = seed,
                    .dtype = v->dtype,
                    .has_wide_c = weft_dtype_size(v->dtype) == 2 && v->offset_dtype == WEFT_I32,
                    .offset_dtype = v->offset_dtype,
                    .index_dtype = v->index_dtype,
                    .transpose_a = v->transpose_a,
                    .reduction = v->reduction,
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
    of.indices_start = random_below(&random, 4);
    of.values_start = of.indices_start + 2 * random_below(&random, 3);
    of.n_batches = random_below(&random, 3);
    of.own_values = v->tiling->load == 1 && random_below(&random, 2);
    of.b_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.c_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.b_start = random_below(&random, 4);
    of.c_start = random_below(&random, 4);
    return of;
}

static void run(const variant *v, const spmm_case *of)
{
    if (v->arguments)
        spmm_arguments_run(ctx, of, v->arguments, v->step > 0 ? v->step : 1);
    else
        spmm_run(ctx, of);
}

// n = 1 has a stride of its own, and where strides are longer than 1 a program of its own.
static void run_shapes(const variant *v)
{
    static uint64_t seed;
    const uint64_t step = is_reduced ? 7 : 1; // prime to the number of shapes
    for (int64_t m = 0; m <= 3; m++)
        for (int64_t k = 0; k <= 5; k++)
            for (int64_t n = 0; n <= 5; n++) {
                if (++seed % step != 0 || (n > 0 && n < v->tiling->vector_width) ||
                    (n == 1 && v->step > 1))
                    continue;
                spmm_case of = varied(v, seed);
                of.m = m;
                of.k = k;
                of.n = n;
                of.are_vectors = n == 1 && of.n_batches == 0 && k % 2;
                run(v, &of);
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

// Turns of the main loop and rests, rows of an item, n-tiles and rests of them, rows in many row
// chunks.
static void test_larger_shapes(void **state)
{
    (void)state;
    static const weft_spmm_tiling wide = {.vector_width = 4,
                                          .vectors = 2,
                                          .lanes = 1,
                                          .rows_per_group = 1,
                                          .rows_per_item = 5,
                                          .load = 1,
                                          .unroll = 4,
                                          .row_chunk = 9};
    static const weft_spmm_tiling group = {.vector_width = 2,
                                           .vectors = 1,
                                           .lanes = 4,
                                           .rows_per_group = 2,
                                           .load = 1,
                                           .unroll = 4,
                                           .row_chunk = 6};
    static const variant larger[] = {
        {WEFT_SPMM_MIN, &wide, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
        {WEFT_SPMM_MAX, &group, WEFT_F32, WEFT_I32, WEFT_I32, WEFT_I32, false, 0},
    };
    for (uint64_t seed = 0; seed < (is_reduced ? 16 : 120); seed++) {
        const variant *v = &larger[seed % 2];
        random_state random = {seed};
        spmm_case of = varied(v, 4000 + seed);
        of.m = random_between(&random, 1, 30);
        of.k = random_between(&random, 1, is_reduced ? 30 : 90);
        of.n = random_between(&random, v->tiling->vector_width, 21);
        run(v, &of);
    }
}

// Where B and C, and with them the arguments, do not lie along n; and aligned vectors of all three.
static void test_layouts(void **state)
{
    (void)state;
    static const weft_spmm_tiling aligned = {.vector_width = 4,
                                             .vectors = 1,
                                             .lanes = 2,
                                             .rows_per_group = 2,
                                             .load = 1,
                                             .unroll = 1,
                                             .row_chunk = 3,
                                             .aligned = true};
    static const variant apart = {WEFT_SPMM_MAX, &vectorized, WEFT_F32, WEFT_I32,
                                  WEFT_I32,      WEFT_I32,    false,    0};
    static const variant together = {WEFT_SPMM_MAX, &aligned, WEFT_F32, WEFT_I64,
                                     WEFT_I32,      WEFT_I32, false,    0};
    for (uint64_t seed = 0; seed < 3 * N_OUTPUT_LAYOUTS; seed++) {
        spmm_case of = varied(&apart, 5000 + seed);
        of.m = 4;
        of.k = 6;
        of.n = 7;
        of.b_layout = (dense_layout)(seed % 2 ? COLUMN_MAJOR : COLUMNS_APART);
        of.c_layout = (dense_layout)(seed % N_OUTPUT_LAYOUTS);
        run(&apart, &of);
        of.tiling = &aligned;
        of.b_layout = of.c_layout = ROWS_ALIGNED;
        of.n = seed % 2 ? 8 : 20;
        of.b_start = of.c_start = 4 * (int64_t)(seed % 3);
        run(&together, &of);
    }
}

// ---- as planned

static void run_planned(weft_context *there, uint64_t seed)
{
    static const int64_t widths[] = {128, 33};
    random_state random = {seed};
    const spmm_case of = {.seed = seed,
                          .m = random_between(&random, 1, 40),
                          .k = random_between(&random, 1, 80),
                          .n = widths[seed / 4 % 2],
                          .rows = (sparse_rows)random_below(&random, N_ROWS),
                          .numbers = seed % 8 < 4 ? FRACTIONS : WILD_B,
                          .alpha = -1.5,
                          .beta = seed % 3 ? 0 : 2,
                          .reduction = (weft_spmm_reduction)(seed % 4),
                          .with_plan = random_below(&random, 2)};
    if (of.reduction == WEFT_SPMM_MAX || (of.reduction == WEFT_SPMM_MIN && seed % 8 < 4))
        spmm_arguments_run(there, &of, WEFT_I32, 1);
    else
        spmm_run(there, &of);
}

static void test_as_planned(void **state)
{
    (void)state;
    weft_context *gpu = open_context(weft_profile_find("nvidia-a100"));
    for (uint64_t seed = 0; seed < (is_reduced ? 8 : 64); seed++) {
        const bool is_profile = getenv("WEFT_PROFILE");
        if (!is_profile)
            run_planned(gpu, seed);
        if (is_profile || !is_on("rusticl")) // which compiles the widest vectors for minutes
            run_planned(ctx, seed);
    }
    weft_context_destroy(&gpu);
}

// On a CPU a plan cuts rows into segments where A is dense: of a mean, not of a peak.
static void test_of_dense_rows_with_a_plan(void **state)
{
    (void)state;
    if (is_reduced || weft_context_limits(ctx)->vector_width < 16)
        skip();
    spmm_case of = {.seed = 8,
                    .m = 70,
                    .k = 1500,
                    .n = 128,
                    .rows = ROWS_RANDOM,
                    .numbers = FRACTIONS,
                    .alpha = 1,
                    .with_plan = true};
    for (int i = WEFT_SPMM_MEAN; i <= WEFT_SPMM_MIN; i++) {
        spmm_operands o;
        char text[512];
        of.reduction = (weft_spmm_reduction)i;
        spmm_create(&o, ctx, weft_context_queue(ctx), &of);
        const weft_spmm_params params = spmm_params(&o);
        assert_true(weft_spmm_describe(ctx, &o.A, &o.B, &o.C, &params, text, sizeof(text)) > 0);
        assert_int_equal(strstr(text, "in segments") != NULL, i == WEFT_SPMM_MEAN);
        spmm_call(&o);
        spmm_check(&o);
        spmm_destroy(&o);
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes),  cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_larger_shapes), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_as_planned),    cmocka_unit_test(test_of_dense_rows_with_a_plan),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
