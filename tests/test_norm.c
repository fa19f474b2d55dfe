// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalisation: every data type, kind of number and set of last axes, with w and b
// and without, what the calls refuse, and what they say that they would do.
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};

static void test_every_type_and_number(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int op = LAYER_NORM; op <= RMS_NORM; op++)
        for (int type = 0; type < 4; type++)
            for (int numbers = 0; numbers < N_NUMBERS; numbers++) {
                const rewrite_case of = {.seed = ++seed,
                                         .op = (rewrite_op)op,
                                         .dtype = dtypes[type],
                                         .ndim = 2,
                                         .shape = {5, is_reduced ? 37 : 300},
                                         .axis = 1,
                                         .number = numbers == OUT_OF_RANGE ? 0 : 1e-5,
                                         .has_weight = true,
                                         .has_bias = true,
                                         .numbers = (rewrite_numbers)numbers};
                if (!is_reduced || (type + op + numbers) % 4 == 0)
                    rewrite_run(ctx, &of);
            }
}

// Each number of last axes, in every layout; over X every other time.
static void test_last_axes(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < (is_reduced ? 103 : 124); seed++)
        for (int n_axes = 1; n_axes <= 4; n_axes++) {
            const rewrite_case of = {.seed = seed,
                                     .op = seed % 2 ? LAYER_NORM : RMS_NORM,
                                     .ndim = 4,
                                     .shape = {3, 5, is_reduced ? 4 : 18, 17},
                                     .axis = n_axes,
                                     .number = 1e-3,
                                     .has_weight = seed % 4 < 2, // layer norms have b, too
                                     .has_bias = seed % 4 == 1,
                                     .in_layout = (strided_layout)(seed % N_LAYOUTS),
                                     .out_layout = (strided_layout)(seed / 2 % LAYOUT_REPEATING),
                                     .over = seed / 4 % 2 ? 1 : 0};
            if (!is_reduced || n_axes % 2 == (int)seed % 2)
                rewrite_run(ctx, &of);
        }
}

static void test_extents_around_every_tile(void **state)
{
    (void)state;
    static const int64_t extents[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,   17,  31,
                                      32, 33, 63, 65, 127, 128, 129, 511, 1025, 4099};
    const bool vector_widths = weft_context_limits(ctx)->vector_width > 1;
    uint64_t seed = 200;
    for (int op = LAYER_NORM; op <= RMS_NORM; op++)
        for (int64_t high = 0; high < 4; high++)
            for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
                seed++;
                const rewrite_case of = {.seed = seed,
                                         .op = (rewrite_op)op,
                                         .ndim = 2,
                                         .shape = {high, extents[i]},
                                         .axis = 1,
                                         .number = 1e-5,
                                         .has_weight = true,
                                         .has_bias = true,
                                         .numbers = seed % 2 ? FAR_AWAY : FRACTIONS};
                const bool is_picked = is_reduced
                                           ? seed % 7 == 0 && extents[i] < 1000
                                           : vector_widths || i % 3 == 0; // each may be a program
                if (is_picked)
                    rewrite_run(ctx, &of);
            }
}

static void test_epsilons(void **state)
{
    (void)state;
    static const double epsilons[] = {0, 1e-30, 1e-5, 1, 1e30};
    for (int op = LAYER_NORM; op <= RMS_NORM; op++)
        for (int i = 0; i < 5; i++) {
            const rewrite_case of = {.seed = 300 + (uint64_t)i,
                                     .op = (rewrite_op)op,
                                     .ndim = 2,
                                     .shape = {4, 33},
                                     .axis = 1,
                                     .number = epsilons[i],
                                     .has_weight = true,
                                     .has_bias = true};
            rewrite_run(ctx, &of);
        }
}

// By hand: 1, 2, 3, 6 have mean 3, variance 3.5 and mean square 12.5.
static void expect(rewrite_op op, double epsilon, const float x[4], double mean, double square)
{
    const rewrite_case of = {.op = op, .ndim = 1, .shape = {4}, .axis = 1, .number = epsilon};
    rewrite_operands o;
    rewrite_create(&o, ctx, &of);
    memcpy((float *)o.in[0].memory + o.in[0].t.offset, x, 4 * sizeof(float));
    rewrite_restore(&o);
    rewrite_call(&o);
    float *y = strided_read(&o.out, o.queue);
    for (int i = 0; i < 4; i++) {
        const double got = (double)y[o.out.t.offset + i];
        const double want = ((double)x[i] - mean) / sqrt(square + epsilon);
        if (!(fabs(got - want) < 1e-6) && !(isnan(want) && isnan(got)))
            fail_msg("%s, element %d: %g, not %g", rewrite_name(op), i, got, want);
    }
    free(y);
    rewrite_destroy(&o);
}

static void test_by_hand(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 6}, same[4] = {7, 7, 7, 7}, zero[4] = {0};
    const float far[4] = {1e7f, 1e7f + 1, 1e7f + 2, 1e7f + 3};
    const float tiny[4] = {1e-25f, -1e-25f, 2e-25f, .5e-25f};
    const float large[4] = {1e30f, -1e30f, 2e30f, .5e30f};
    const float broken[4] = {1, NAN, 2, 3}, infinite[4] = {1, INFINITY, 2, 3};
    expect(LAYER_NORM, 0, x, 3, 3.5);
    expect(LAYER_NORM, 0.5, x, 3, 3.5);
    expect(LAYER_NORM, 0, far, 1e7 + 1.5, 1.25);
    expect(LAYER_NORM, 0, tiny, 0.625e-25, 1.171875e-50);
    expect(LAYER_NORM, 0, large, 0.625e30, 1.171875e60);
    expect(LAYER_NORM, 1, tiny, 0.625e-25, 0);
    expect(RMS_NORM, 0, tiny, 0, 1.5625e-50);
    expect(RMS_NORM, 0, large, 0, 1.5625e60);
    expect(RMS_NORM, 0, x, 0, 12.5);
    expect(RMS_NORM, 3.5, x, 0, 12.5);
    expect(LAYER_NORM, 1, same, 7, 0);
    expect(LAYER_NORM, 0, same, 7, 0); // 0 / 0
    expect(RMS_NORM, 0, zero, 0, 0);
    expect(LAYER_NORM, 1, broken, NAN, NAN);
    expect(RMS_NORM, 1, broken, NAN, NAN);
    expect(LAYER_NORM, 1, infinite, NAN, NAN);
}

static void test_long_lines(void **state)
{
    (void)state;
    for (int op = LAYER_NORM; op <= RMS_NORM && !is_reduced; op++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const rewrite_case of = {.seed = 400 + (uint64_t)op,
                                     .op = (rewrite_op)op,
                                     .ndim = 2,
                                     .shape = {2, 300007},
                                     .axis = 1,
                                     .number = 1e-5,
                                     .in_layout = transposed ? LAYOUT_TRANSPOSED : LAYOUT_DENSE,
                                     .out_layout = transposed ? LAYOUT_TRANSPOSED : LAYOUT_DENSE,
                                     .numbers = FAR_AWAY};
            rewrite_run(ctx, &of);
        }
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int op = LAYER_NORM; op <= RMS_NORM; op++) {
        const rewrite_case of = {.seed = 500,
                                 .op = (rewrite_op)op,
                                 .ndim = 2,
                                 .shape = {is_reduced ? 3 : 100, 1000},
                                 .axis = 1,
                                 .number = 1e-5,
                                 .has_weight = true,
                                 .has_bias = true};
        rewrite_operands o;
        rewrite_create(&o, ctx, &of);
        rewrite_call(&o);
        void *first = strided_read(&o.out, o.queue);
        rewrite_restore(&o);
        rewrite_call(&o);
        void *next = strided_read(&o.out, o.queue);
        assert_memory_equal(next, first, o.out.bytes);
        free(next);
        free(first);
        rewrite_destroy(&o);
    }
}

// What describes a call compiles its kernels, and the call then none.
static void test_words_are_of_the_same_program(void **state)
{
    (void)state;
    for (int op = LAYER_NORM; op <= RMS_NORM; op++) {
        const rewrite_case of = {
            .seed = 600, .op = (rewrite_op)op, .ndim = 2, .shape = {3, 37}, .axis = 1, .number = 1};
        weft_context *own = open_context(NULL);
        rewrite_operands o;
        rewrite_create(&o, own, &of);
        rewrite_words(&o);
        const uint64_t described = weft_context_get_stats(own).programs_built;
        assert_true(described > 0);
        rewrite_call(&o);
        assert_int_equal(weft_context_get_stats(own).programs_built, described);
        rewrite_destroy(&o);
        weft_context_destroy(&own);
    }
}

// ---- the door

static rewrite_operands operands; // of the running test: X 6 x 10, w and b

typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    double epsilon;
    weft_tensor X, Y, w, b;
    int n_axes;
    weft_norm_params params;
} call;

static call good_call(void)
{
    return (call){ctx,
                  operands.queue,
                  1e-5,
                  operands.in[0].t,
                  operands.out.t,
                  operands.in[1].t,
                  operands.in[2].t,
                  1,
                  {.size = sizeof(weft_norm_params)}};
}

static int make_operands(void **state)
{
    (void)state;
    const rewrite_case of = {.seed = 3,
                             .op = LAYER_NORM,
                             .ndim = 2,
                             .shape = {6, 10},
                             .axis = 1,
                             .number = 1e-5,
                             .has_weight = true,
                             .has_bias = true};
    rewrite_create(&operands, ctx, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    rewrite_destroy(&operands);
    return 0;
}

// The call fails, says so, enqueues nothing, hands out no event and leaves Y alone.
static void refuse(call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    c->params.weight = &c->w;
    c->params.bias = &c->b;
    c->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status =
        weft_layer_norm(c->ctx, c->queue, c->epsilon, &c->X, c->n_axes, &c->Y, &c->params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = strided_read(&operands.out, operands.queue);
    assert_memory_equal(after, operands.out.memory, operands.out.bytes);
    free(after);
}

#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_refusals(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    const weft_axis_tiling unfilled = {0};
    REFUSE(bad, "n_axes is 0, X has 2 dimensions", c.n_axes = 0);
    REFUSE(bad, "n_axes is 3, X has 2 dimensions", c.n_axes = 3);
    REFUSE(bad, "epsilon is -1", c.epsilon = -1);
    REFUSE(bad, "epsilon is nan", c.epsilon = (double)NAN);
    REFUSE(bad, "epsilon is inf", c.epsilon = (double)INFINITY);
    REFUSE(WEFT_BAD_SHAPE, "X has 2 dimensions, Y 1", c.Y.ndim = 1);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of X is 6, of Y 5", c.Y.shape[0] = 5);
    REFUSE(WEFT_BAD_SHAPE, "weight has 1 dimensions, 2 are normalised", c.n_axes = 2);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of weight is 9, X's axis 1 has 10", c.w.shape[0] = 9);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of bias is 1, X's axis 1 has 10", c.b.shape[0] = 1);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, Y f16", c.Y.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, weight f16", c.w.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, bias bf16", c.b.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "X is i32", c.X.dtype = c.Y.dtype = WEFT_I32);
    REFUSE(bad, "layer_norm: tiling.items is 0", c.params.tiling = TILING_TEXT(axis, &unfilled));
    assert_int_equal(weft_rms_norm(ctx, operands.queue, 0, NULL, 1, &operands.out.t, NULL), bad);
    assert_says("rms_norm: X is NULL");
    assert_int_equal(weft_rms_norm(ctx, operands.queue, 0, &operands.in[0].t, 1, NULL, NULL), bad);
    assert_says("rms_norm: Y is NULL");
    rewrite_call(&operands);
    rewrite_check(&operands);
}

static void test_empty(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{0, 3, 4}, {2, 0, 4}, {2, 3, 0}};
    for (int i = 0; i < 3; i++)
        for (int n_axes = 1; n_axes <= 3; n_axes++) {
            const rewrite_case of = {.op = RMS_NORM,
                                     .ndim = 3,
                                     .shape = {shapes[i][0], shapes[i][1], shapes[i][2]},
                                     .axis = n_axes,
                                     .has_weight = true};
            const uint64_t launches = weft_context_get_stats(ctx).launches;
            rewrite_operands o;
            rewrite_create(&o, ctx, &of);
            rewrite_call(&o);
            assert_string_equal(rewrite_words(&o), "nothing to do");
            rewrite_check(&o);
            rewrite_destroy(&o);
            assert_int_equal(weft_context_get_stats(ctx).launches, launches);
        }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_every_type_and_number),
        cmocka_unit_test(test_last_axes),
        cmocka_unit_test(test_extents_around_every_tile),
        cmocka_unit_test(test_epsilons),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_words_are_of_the_same_program),
        cmocka_unit_test_setup_teardown(test_refusals, make_operands, destroy_operands),
        cmocka_unit_test(test_empty),
    };
    const int failed = cmocka_run_group_tests_name("norm", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
