// SPDX-License-Identifier: Apache-2.0
// Reductions of every set of axes of tensors of up to six dimensions, whatever their strides; and
// how few programs a thousand shapes take.
#include "reduce_case.h"
#include "tilings.h"

#include <inttypes.h>
#include <math.h>

#include "axis/axis_plan.h"
#include "random.h"
#include "tiling_text.h"

static weft_context *ctx;
static bool is_reduced; // the small set

// Each set of axes of one shape; of large sets of sets, some.
static void run_all_sets(reduce_case *of, int most)
{
    const int n = (1 << of->ndim) - 1;
    const int step = n > most ? n / most + 1 : 1;
    for (int i = 1 + (int)(of->seed % (uint64_t)step); i <= n; i += step) {
        of->mask = (unsigned)i;
        of->seed += 1000;
        of->keepdims = of->seed % 2 ^ (i & 1);
        reduce_run(ctx, of);
    }
}

static void run_shapes(weft_reduction op, weft_dtype dtype, uint64_t first, int n_shapes,
                       const weft_axis_tiling *tiling)
{
    for (uint64_t seed = first; seed < first + (uint64_t)n_shapes; seed++) {
        random_state random = {seed};
        reduce_case one = {.seed = seed,
                           .op = op,
                           .dtype = dtype,
                           .x_layout = (reduce_layout)random_below(&random, N_LAYOUTS),
                           .y_layout = (reduce_layout)random_below(&random, LAYOUT_REPEATING),
                           .numbers = random_below(&random, 2) ? WHOLE : FRACTIONS,
                           .tiling = tiling};
        reduce_random_shape(&one, seed, 1 + (int)(seed % 6), is_reduced ? 300 : 20000);
        run_all_sets(&one, is_reduced ? 2 : 16);
    }
}

static void test_sums(void **state)
{
    (void)state;
    run_shapes(WEFT_SUM, WEFT_F32, 100, is_reduced ? 12 : 90, NULL);
}

// Places depend on the order of axes.
static void test_places(void **state)
{
    (void)state;
    run_shapes(WEFT_ARGMIN, WEFT_F32, 300, is_reduced ? 12 : 90, planned(ctx));
}

// Elements narrower than a number in arithmetic.
static void test_halves(void **state)
{
    (void)state;
    run_shapes(WEFT_MAX, WEFT_F16, 700, is_reduced ? 6 : 24, planned(ctx));
}

static void test_other_types(void **state)
{
    (void)state;
    run_shapes(WEFT_STD, WEFT_F32, 500, is_reduced ? 6 : 48, &any_shape);
    run_shapes(WEFT_SUM, WEFT_U8, 800, is_reduced ? 4 : 48, &any_shape);
    if (weft_context_limits(ctx)->has_f64)
        run_shapes(WEFT_LOGSUMEXP, WEFT_F64, 900, is_reduced ? 4 : 48, &any_shape);
}

// Every layout of X with every one of Y, where lanes lie along columns, along rows, and along
// neither.
static void test_layouts(void **state)
{
    (void)state;
    uint64_t seed = 2000;
    for (int x = 0; x < N_LAYOUTS; x++)
        for (int y = 0; y < LAYOUT_REPEATING; y++)
            for (unsigned mask = 1; mask < 8; mask++) {
                const reduce_case one = {.seed = ++seed,
                                         .op = mask % 2 ? WEFT_SUM : WEFT_ARGMIN,
                                         .ndim = 3,
                                         .shape = {5, 34, 21},
                                         .mask = mask,
                                         .x_layout = (reduce_layout)x,
                                         .y_layout = (reduce_layout)y};
                if (!is_reduced || seed % 23 == 0)
                    reduce_run(ctx, &one);
            }
}

// ---- few programs

static uint64_t programs_for(const weft_limits *limits, int n_shapes)
{
    weft_context *fresh = open_context(limits);
    for (uint64_t seed = 5000; seed < 5000 + (uint64_t)n_shapes; seed++) {
        random_state random = {seed};
        reduce_case one = {.seed = seed,
                           .x_layout = (reduce_layout)random_below(&random, N_LAYOUTS),
                           .y_layout = (reduce_layout)random_below(&random, LAYOUT_REPEATING)};
        reduce_random_shape(&one, seed, 1 + (int)(seed % 6), 300000);
        one.mask = (unsigned)random_between(&random, 1, (1 << one.ndim) - 1);
        reduce_operands o;
        reduce_create(&o, fresh, &one);
        if (strstr(reduce_words(&o), "grid") == NULL && strcmp(reduce_words(&o), "nothing to do"))
            fail_msg("seed %" PRIu64 ": %s", seed, reduce_words(&o));
        reduce_destroy(&o);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    weft_context_destroy(&fresh);
    return built;
}

// One op, one data type.
static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(NULL, is_reduced ? 100 : 1000);
    print_message("# %" PRIu64 " programs\n", built);
    if (weft_context_limits(ctx)->vector_width > 1)
        assert_in_range(built, 3, 16);
    else
        assert_in_range(built, 3, 60); // groups of every shape
}

// Logarithms of sums over rows of 100, in memory of 112 each, with `fill` between them.
enum { PADDED_ROWS = 40, PADDED = 100, PITCH = 112 };

static void add_exponentials(const weft_axis_tiling *tiling, float fill, float y[PADDED_ROWS])
{
    static float x[PADDED_ROWS * PITCH];
    random_state random = {57};
    for (int i = 0; i < PADDED_ROWS * PITCH; i++)
        x[i] = i % PITCH < PADDED ? 2 + 2 * (float)random_float(&random) : fill;
    cl_int code;
    cl_command_queue queue = weft_context_queue(ctx);
    cl_mem in = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(x), x, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem out = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR,
                                PADDED_ROWS * sizeof(float), y, &code);
    assert_int_equal(code, CL_SUCCESS);
    const weft_tensor X = {in, WEFT_F32, 0, 2, {PADDED_ROWS, PADDED}, {PITCH, 1}};
    const weft_tensor Y = {out, WEFT_F32, 0, 1, {PADDED_ROWS}, {1}};
    const weft_status status = weft_reduce(ctx, queue, WEFT_LOGSUMEXP, &X, 1, (int[]){1}, &Y,
                                           WEFT_REDUCE(.tiling = TILING_TEXT(axis, tiling)));
    if (status != WEFT_OK)
        fail_msg("%s", weft_last_error());
    assert_int_equal(
        clEnqueueReadBuffer(queue, out, CL_TRUE, 0, PADDED_ROWS * sizeof(float), y, 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

static void test_same_bits_whatever_stands_beside(void **state)
{
    (void)state;
    static const weft_axis_tiling rows = TILING(8, 1, 1, 1, 4, 8, 8, 1, 2, 1);
    static const float fills[] = {100, NAN, INFINITY, -100};
    static float first[PADDED_ROWS], next[PADDED_ROWS];
    for (int i = 0; i < 2; i++) {
        const weft_axis_tiling *tiling = i == 0 && takes_vectors() ? &rows : NULL;
        add_exponentials(tiling, 0, first);
        for (int k = 0; k < 4; k++) {
            add_exponentials(tiling, fills[k], next);
            assert_memory_equal(next, first, sizeof(first));
        }
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_few_programs_for_many_shapes),
        cmocka_unit_test(test_same_bits_whatever_stands_beside),
    };
    const int failed = cmocka_run_group_tests_name("reduce views", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
