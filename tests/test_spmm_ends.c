// SPDX-License-Identifier: Apache-2.0
// What C goes through when SpMM writes it: a bias and an activation, in every kernel that writes C
// and in every data type; and what is refused of them.
#include "spmm_case.h"

#include "random.h"
#include "sparse/spmm_tiling.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

enum { N_ACTIVATIONS = WEFT_ACTIVATION_TANH + 1 };

static const weft_spmm_tiling k_blocked = {.vector_width = 4,
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
    weft_dtype dtype;
    weft_activation activation;
    bool has_bias;
    weft_spmm_reduction reduction;
    bool transpose_a;
} variant;

static const variant variants[] = {
    {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_NONE, true, WEFT_SPMM_SUM, false},
    {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_RELU, true, WEFT_SPMM_SUM, false},
    {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_RELU, false, WEFT_SPMM_SUM, true},
    {&spmm_spread, WEFT_F32, WEFT_ACTIVATION_GELU, true, WEFT_SPMM_SUM, false},
    {&spmm_staged, WEFT_F32, WEFT_ACTIVATION_GELU_TANH, true, WEFT_SPMM_SUM, false},
    {&k_blocked, WEFT_F32, WEFT_ACTIVATION_SILU, true, WEFT_SPMM_SUM, false},
    {&spmm_packed, WEFT_F32, WEFT_ACTIVATION_SIGMOID, false, WEFT_SPMM_SUM, false},
    {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_TANH, true, WEFT_SPMM_SUM, false},
    {&spmm_staged_b, WEFT_F32, WEFT_ACTIVATION_SILU, true, WEFT_SPMM_SUM, false},
    {&spmm_staged_b, WEFT_F16, WEFT_ACTIVATION_NONE, false, WEFT_SPMM_MEAN, true},
    {&spmm_vectorized, WEFT_F16, WEFT_ACTIVATION_GELU, true, WEFT_SPMM_SUM, false},
    {&spmm_spread, WEFT_BF16, WEFT_ACTIVATION_SILU, true, WEFT_SPMM_SUM, true},
    {&spmm_staged, WEFT_F16, WEFT_ACTIVATION_NONE, true, WEFT_SPMM_SUM, false},
    {&spmm_staged, WEFT_BF16, WEFT_ACTIVATION_RELU, true, WEFT_SPMM_MEAN, false},
    {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_RELU, true, WEFT_SPMM_MAX, false},
    {&spmm_spread, WEFT_F32, WEFT_ACTIVATION_SIGMOID, true, WEFT_SPMM_MIN, true},
};
static const variant wide_variants[] = {
    {&spmm_vectorized, WEFT_F64, WEFT_ACTIVATION_GELU, true, WEFT_SPMM_SUM, false},
    {&spmm_vectorized, WEFT_F64, WEFT_ACTIVATION_GELU_TANH, true, WEFT_SPMM_SUM, false},
    {&spmm_spread, WEFT_F64, WEFT_ACTIVATION_SILU, false, WEFT_SPMM_SUM, false},
    {&spmm_spread, WEFT_F64, WEFT_ACTIVATION_SIGMOID, true, WEFT_SPMM_SUM, true},
    {&k_blocked, WEFT_F64, WEFT_ACTIVATION_TANH, true, WEFT_SPMM_SUM, false},
    {&spmm_spread, WEFT_F64, WEFT_ACTIVATION_RELU, true, WEFT_SPMM_MAX, false},
};
enum {
    N_VARIANTS = sizeof(variants) / sizeof(variants[0]),
    N_WIDE = sizeof(wide_variants) / sizeof(wide_variants[0]),
};

// What changes from case to case without a program of its own.
// Of narrow types, those with a bias have a C in f32.
static spmm_case varied(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    static const int64_t steps[] = {1, 0, -1, 3, -2};
    random_state random = {seed};
    spmm_case of = {.seed = seed,
                    .dtype = v->dtype,
                    .has_wide_c = weft_dtype_size(v->dtype) == 2 && v->has_bias,
                    .transpose_a = v->transpose_a,
                    .reduction = v->reduction,
                    .has_bias = v->has_bias,
                    .activation = v->activation,
                    .tiling = v->tiling};
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (spmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0)
        of.numbers = WILD_INPUT;
    of.bias_step = v->has_bias ? steps[random_below(&random, 5)] : 0;
    of.with_plan = of.transpose_a || random_below(&random, 2);
    of.plan_row_chunk = random_below(&random, 4);
    of.indices_start = of.values_start = random_below(&random, 4);
    of.n_batches = random_below(&random, 3);
    of.b_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.c_layout = (dense_layout)random_below(&random, ROWS_BACKWARDS + 1);
    of.b_start = random_below(&random, 4);
    of.c_start = random_below(&random, 4);
    return of;
}

static void run_shapes(const variant *v)
{
    static uint64_t seed;
    const uint64_t step = is_reduced ? 11 : 2; // prime to the number of shapes, or near it
    for (int64_t m = 0; m <= 4; m++)
        for (int64_t k = 0; k <= 6; k++)
            for (int64_t n = 0; n <= 9; n++) {
                if (++seed % step != 0 || (n > 0 && n < v->tiling->vector_width))
                    continue;
                spmm_case of = varied(v, seed);
                of.m = m;
                of.k = k;
                of.n = n;
                spmm_run(ctx, &of);
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

// C that does not lie along n, so that its columns are read and written one by one.
static void test_layouts(void **state)
{
    (void)state;
    static const variant v = {&spmm_vectorized, WEFT_F32, WEFT_ACTIVATION_SILU, true,
                              WEFT_SPMM_SUM,    false};
    for (uint64_t seed = 0; seed < 2 * N_OUTPUT_LAYOUTS; seed++) {
        spmm_case of = varied(&v, 5000 + seed);
        of.m = 4;
        of.k = 6;
        of.n = 7;
        of.b_layout = COLUMN_MAJOR;
        of.c_layout = (dense_layout)(seed % N_OUTPUT_LAYOUTS);
        spmm_run(ctx, &of);
    }
}

// Where nothing is added to beta C, bias and activation are left.
static void test_nothing_to_add(void **state)
{
    (void)state;
    for (int f = 0; f < N_ACTIVATIONS; f++)
        for (int i = 0; i < 4; i++) {
            const spmm_case of = {.seed = 1,
                                  .m = 5,
                                  .k = i == 0 ? 0 : 6,
                                  .n = 7,
                                  .rows = i == 1 ? ROWS_EMPTY : ROWS_FULL,
                                  .numbers = i >= 2 ? WILD_INPUT : WHOLE,
                                  .alpha = i >= 2 ? 0 : 1,
                                  .beta = i % 2 ? 0 : 1,
                                  .has_bias = true,
                                  .bias_step = 1,
                                  .activation = (weft_activation)f,
                                  .tiling = &spmm_vectorized};
            spmm_run(ctx, &of);
        }
}

// Rows of several groups, which have several each: as a CPU does it, and as a GPU of few groups.
static void test_nothing_to_add_to_many_rows(void **state)
{
    (void)state;
    weft_context *gpu = open_context(weft_profile_find("intel-uhd-630"));
    for (uint64_t seed = 0; seed < (is_reduced ? 4 : 16); seed++) {
        const spmm_case of = {.seed = seed,
                              .m = 1290 + (int64_t)seed,
                              .k = 4,
                              .n = seed % 2 ? 1 : 9,
                              .n_batches = seed % 3 == 2 ? 2 : 0,
                              .rows = ROWS_EMPTY,
                              .c_layout = (dense_layout)(seed % N_OUTPUT_LAYOUTS),
                              .c_start = (int64_t)seed % 4,
                              .alpha = 1,
                              .beta = seed % 4 < 2 ? -2 : 0,
                              .has_bias = true,
                              .bias_step = 1};
        spmm_run(gpu, &of);
        spmm_run(ctx, &of);
    }
    weft_context_destroy(&gpu);
}

// ---- as planned

static void test_as_planned(void **state)
{
    (void)state;
    weft_context *gpu = open_context(weft_profile_find("nvidia-a100"));
    for (uint64_t seed = 0; seed < (is_reduced ? 7 : 28); seed++) {
        const spmm_case of = {.seed = seed,
                              .m = 20 + (int64_t)seed,
                              .k = 70,
                              .n = seed % 2 ? 128 : 33,
                              .rows = (sparse_rows)(seed % N_ROWS),
                              .numbers = FRACTIONS,
                              .alpha = -1.5,
                              .beta = seed % 3 ? 0 : 2,
                              .has_bias = seed % 4 != 3,
                              .bias_step = 1,
                              .activation = (weft_activation)(seed % N_ACTIVATIONS),
                              .with_plan = seed % 2};
        spmm_run(gpu, &of);
        if (!is_on("rusticl")) // which compiles the widest vectors for minutes
            spmm_run(ctx, &of);
    }
    weft_context_destroy(&gpu);
}

// A plan for a CPU cuts dense rows into segments: all of a dense matrix, or the one there is.
static void run_segments(weft_dtype dtype, sparse_rows rows)
{
    const spmm_case of = {.seed = 8,
                          .m = rows == ROWS_ONE_FULL ? 30 : 70,
                          .k = 1500,
                          .n = 128,
                          .dtype = dtype,
                          .rows = rows,
                          .numbers = FRACTIONS,
                          .alpha = 1,
                          .has_bias = true,
                          .bias_step = 1,
                          .activation = WEFT_ACTIVATION_RELU,
                          .with_plan = true};
    spmm_operands o;
    char text[512];
    spmm_create(&o, ctx, queue, &of);
    const weft_spmm_params params = spmm_params(&o);
    assert_true(weft_spmm_describe(ctx, &o.A, &o.B, &o.C, &params, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "in segments"));
    assert_int_equal(strstr(text, "k_block_from 226") != NULL, rows == ROWS_ONE_FULL);
    assert_non_null(strstr(text, "; bias; relu"));
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

static void test_segments(void **state)
{
    (void)state;
    if (weft_context_limits(ctx)->vector_width < 16)
        skip();
    run_segments(WEFT_F32, ROWS_RANDOM);
    run_segments(WEFT_F32, ROWS_ONE_FULL);
    run_segments(WEFT_BF16, ROWS_RANDOM);
}

// ---- what is refused

typedef struct call {
    weft_csr A;
    weft_tensor B, C, bias;
    weft_spmm_params params;
} call;

static spmm_operands o; // of the running test

static int make_operands(void **state)
{
    (void)state;
    const spmm_case of = {.seed = 3, // brings its own workspace
                          .m = 5,
                          .k = 6,
                          .n = 4,
                          .n_batches = 2,
                          .rows = ROWS_FULL,
                          .alpha = 1,
                          .beta = 1,
                          .has_bias = true,
                          .bias_step = 1,
                          .activation = WEFT_ACTIVATION_RELU,
                          .tiling = &spmm_vectorized};
    spmm_create(&o, ctx, queue, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    spmm_destroy(&o);
    return 0;
}

// The call fails, says so, enqueues nothing and leaves C alone.
static void refuse(call *c, weft_status want, const char *part)
{
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    c->params.bias = &c->bias;
    const weft_status status = weft_spmm(ctx, queue, 1, &c->A, &c->B, 1, &c->C, &c->params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = spmm_read(&o);
    assert_memory_equal(after, o.c_before, o.c_bytes);
    free(after);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = {o.A, o.B, o.C, o.bias, spmm_params(&o)};                                         \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_what_does_not_serve(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_ARGUMENT, "spmm: params.activation is 7: no weft_activation",
           c.params.activation = (weft_activation)N_ACTIVATIONS);
    REFUSE(WEFT_BAD_ARGUMENT, "spmm: params.activation is -1",
           c.params.activation = (weft_activation)-1);
    REFUSE(WEFT_BAD_SHAPE, "spmm: bias has 2 dimensions; 1 is wanted",
           (c.bias.ndim = 2, c.bias.shape[1] = 1));
    REFUSE(WEFT_BAD_SHAPE, "spmm: bias has 4 numbers, C 5 rows", c.bias.shape[0] = 4);
    REFUSE(WEFT_BAD_DTYPE, "spmm: bias is f16, A f32; both must be the same",
           c.bias.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_BUFFER, "spmm: bias: the buffer is NULL", c.bias.buffer = NULL);
    REFUSE(WEFT_BAD_BUFFER, "spmm: bias [5] needs", c.bias.offset += 1000);
    REFUSE(WEFT_BAD_BUFFER, "bias", (c.bias.buffer = c.C.buffer, c.bias.offset = c.C.offset));
    REFUSE(WEFT_BAD_BUFFER, "bias", (c.bias.buffer = c.params.workspace, c.bias.offset = 0));
    assert_says("workspace");
}

static void test_arguments_apart_from_the_bias(void **state)
{
    (void)state;
    weft_tensor arguments = o.C;
    arguments.dtype = WEFT_I32;
    arguments.buffer = o.bias.buffer;
    arguments.offset = 0;
    arguments.shape[0] = 1;
    spmm_operands one = o;
    one.C.shape[0] = one.B.shape[0] = arguments.shape[0];
    REFUSE(WEFT_BAD_BUFFER, "bias",
           (c.B = one.B, c.C = one.C, c.bias.shape[0] = 5, c.params.reduction = WEFT_SPMM_MAX,
            arguments.stride[1] = 1, arguments.stride[2] = 5, c.C.shape[2] = c.B.shape[2] = 1,
            arguments.shape[2] = 1, c.params.arguments = &arguments));
    assert_says("arguments");
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "relu",    "gelu", "gelu_tanh",
                                        "silu", "sigmoid", "tanh"};
    for (int f = 0; f < N_ACTIVATIONS; f++)
        assert_string_equal(weft_activation_name((weft_activation)f), names[f]);
    assert_null(weft_activation_name((weft_activation)N_ACTIVATIONS));
    assert_null(weft_activation_name((weft_activation)-1));
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
#define REFUSED(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_nothing_to_add),
        cmocka_unit_test(test_nothing_to_add_to_many_rows),
        cmocka_unit_test(test_as_planned),
        cmocka_unit_test(test_segments),
        REFUSED(test_what_does_not_serve),
        REFUSED(test_arguments_apart_from_the_bias),
        cmocka_unit_test(test_names),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
