// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation along every axis of tensors of up to six dimensions, whatever their
// strides; lines that leave their neighbours alone; and how few programs a thousand shapes take.
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tilings.h"

#include <inttypes.h>
#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

// Each axis in turn, counted from either end; of norms, each number of last axes.
static void run_every_axis(rewrite_case *of)
{
    for (int axis = 0; axis < of->ndim; axis++) {
        of->seed += 1000;
        of->axis = rewrite_is_norm(of->op) ? axis + 1 : of->seed % 2 ? axis : axis - of->ndim;
        if (!is_reduced || axis % 2 == (int)of->seed % 2)
            rewrite_run(ctx, of);
    }
}

static void run_shapes(rewrite_op op, weft_dtype dtype, uint64_t first, int n_shapes,
                       const weft_axis_tiling *tiling)
{
    for (uint64_t seed = first; seed < first + (uint64_t)n_shapes; seed++) {
        rewrite_case of = rewrite_random(op, seed, 1 + (int)(seed % 6), is_reduced ? 200 : 8000);
        of.dtype = dtype;
        of.tiling = tiling;
        if (rewrite_is_backward(op) && !rewrite_is_norm(op) && of.numbers > WILD)
            of.numbers = STEEP;
        run_every_axis(&of);
    }
}

static void test_softmax(void **state)
{
    (void)state;
    run_shapes(SOFTMAX, WEFT_F32, 100, is_reduced ? 8 : 60, NULL);
}

static void test_log_softmax(void **state)
{
    (void)state;
    run_shapes(LOG_SOFTMAX, WEFT_BF16, 300, is_reduced ? 4 : 24, planned(ctx));
}

static void test_backward(void **state)
{
    (void)state;
    run_shapes(SOFTMAX_BACKWARD, WEFT_F32, 400, is_reduced ? 4 : 36, planned(ctx));
    run_shapes(LOG_SOFTMAX_BACKWARD, WEFT_F64, 500, is_reduced ? 4 : 24, planned(ctx));
}

static void test_norms(void **state)
{
    (void)state;
    run_shapes(LAYER_NORM, WEFT_F32, 600, is_reduced ? 6 : 48, planned(ctx));
    run_shapes(RMS_NORM, WEFT_F16, 700, is_reduced ? 4 : 24, planned(ctx));
}

static void test_norms_backward(void **state)
{
    (void)state;
    run_shapes(LAYER_NORM_BACKWARD, WEFT_F32, 800, is_reduced ? 6 : 48, planned(ctx));
    run_shapes(RMS_NORM_BACKWARD, WEFT_BF16, 900, is_reduced ? 4 : 24, planned(ctx));
}

// ---- neighbours

static const float broken[] = {NAN, INFINITY, -INFINITY};

// One element of the middle line becomes no number. Whether the other lines keep their bits.
static bool neighbours_keep_their_bits(rewrite_operands *o, int which)
{
    const strided *out = rewrite_target(o);
    rewrite_call(o);
    float *before = strided_read(out, o->queue);
    const int64_t at[3] = {1, 20, 5};
    ((float *)o->in[0].memory)[strided_place(&o->in[0].t, at)] = broken[which];
    rewrite_restore(o);
    rewrite_call(o);
    rewrite_check(o);
    float *after = strided_read(out, o->queue);
    int64_t index[WEFT_MAX_NDIM] = {0};
    bool same = true;
    do {
        const int64_t place = strided_place(&out->t, index);
        const bool is_of_line =
            index[0] == at[0] && (o->of.ndim < 3 || index[2] == at[2] || rewrite_is_norm(o->of.op));
        const bool is_norm_line = rewrite_is_norm(o->of.op) && index[1] == at[1];
        if (rewrite_is_norm(o->of.op) ? is_of_line && is_norm_line : is_of_line)
            continue;
        same = same && memcmp(before + place, after + place, sizeof(float)) == 0;
    } while (strided_next(&out->t, index));
    free(before);
    free(after);
    return same;
}

static void test_lines_leave_their_neighbours_alone(void **state)
{
    (void)state;
    for (int op = SOFTMAX; op < N_REWRITES; op++)
        for (int which = 0; which < 3; which++) {
            const rewrite_case of = {.seed = 40 + (uint64_t)which,
                                     .op = (rewrite_op)op,
                                     .ndim = 3,
                                     .shape = {3, is_reduced ? 21 : 41, is_reduced ? 7 : 50},
                                     .axis = 1,
                                     .number = 1,
                                     .numbers = STEEP};
            rewrite_operands o;
            if (is_reduced && which != op % 3)
                continue;
            rewrite_create(&o, ctx, &of);
            if (!neighbours_keep_their_bits(&o, which))
                fail_msg("%s: a line with %g changes others; %s", rewrite_name(of.op),
                         (double)broken[which], rewrite_words(&o));
            rewrite_destroy(&o);
        }
}

// ---- few programs

static uint64_t programs_for(int n_shapes)
{
    weft_context *fresh = open_context(NULL);
    for (uint64_t seed = 5000; seed < 5000 + (uint64_t)n_shapes; seed++) {
        rewrite_case of = rewrite_random(SOFTMAX, seed, 1 + (int)(seed % 6), 300000);
        of.axis = (int)(seed / 6) % of.ndim;
        rewrite_operands o;
        rewrite_create(&o, fresh, &of);
        const char *words = rewrite_words(&o);
        if (!strstr(words, "grid") && strcmp(words, "nothing to do") != 0)
            fail_msg("seed %" PRIu64 ": %s", seed, words);
        rewrite_destroy(&o);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    weft_context_destroy(&fresh);
    return built;
}

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(is_reduced ? 100 : 1000);
    print_message("# %" PRIu64 " programs\n", built);
    if (weft_context_limits(ctx)->vector_width > 1)
        assert_in_range(built, 3, 12);
    else
        assert_in_range(built, 3, 60); // groups of every shape
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_log_softmax),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_norms_backward),
        cmocka_unit_test(test_lines_leave_their_neighbours_alone),
        cmocka_unit_test(test_few_programs_for_many_shapes),
    };
    const int failed = cmocka_run_group_tests_name("rewrite views", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
