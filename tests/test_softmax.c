// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and their backward: every data type and kind of number, the extents around
// every tile, what stands beside NaN and infinities, and the same bits each time.
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tiling_text.h"
#include "tilings.h"

#include <float.h>
#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};

// Columns; f32 in rows too. (What a test costs is the programs: one for each op, type and way.)
static void run_both_ways(rewrite_case of)
{
    rewrite_run(ctx, &of);
    if (is_reduced || (of.dtype != WEFT_DEFAULT && of.dtype != WEFT_F32))
        return;
    of.seed++;
    of.ndim = 2;
    of.shape[0] = 5;
    of.shape[1] = 133;
    of.axis = -1;
    rewrite_run(ctx, &of);
}

static void test_every_type_and_number(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD; op++)
        for (int type = 0; type < 4; type++)
            for (int numbers = 0; numbers < N_NUMBERS; numbers++)
                for (int masked = 0; masked < 2; masked++) {
                    seed += 2;
                    if (!is_reduced || (type + op + numbers) % 4 == 0)
                        run_both_ways(
                            (rewrite_case){.seed = seed,
                                           .op = (rewrite_op)op,
                                           .dtype = dtypes[type],
                                           .ndim = 3,
                                           .shape = {2, is_reduced ? 7 : 37, is_reduced ? 20 : 48},
                                           .axis = 1,
                                           .number = 1,
                                           .masked = masked,
                                           .numbers = (rewrite_numbers)numbers});
                }
}

static void test_scales(void **state)
{
    (void)state;
    static const double scales[] = {0, -1, 0.125, 3, -0.7, 1e30, -1e30, 1e-30};
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD; op++)
        for (int i = 0; i < (is_reduced ? 2 : 8); i++)
            for (int numbers = 0; numbers < (op <= LOG_SOFTMAX ? N_NUMBERS : FAR_AWAY); numbers++)
                run_both_ways((rewrite_case){.seed = 700 + (uint64_t)(i + 10 * numbers),
                                             .op = (rewrite_op)op,
                                             .ndim = 3,
                                             .shape = {2, 13, is_reduced ? 20 : 48},
                                             .axis = -2,
                                             .number = scales[i],
                                             .numbers = (rewrite_numbers)numbers});
}

static void test_in_place(void **state)
{
    (void)state;
    static const strided_layout layouts[] = {LAYOUT_DENSE, LAYOUT_ANY};
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD; op++)
        for (int over = 1; over <= (rewrite_is_backward((rewrite_op)op) ? 2 : 1); over++)
            for (int i = 0; i < 2; i++) {
                const rewrite_case of = {.seed = 900 + (uint64_t)i,
                                         .op = (rewrite_op)op,
                                         .ndim = 3,
                                         .shape = {3, is_reduced ? 9 : 71, is_reduced ? 20 : 48},
                                         .axis = 1,
                                         .number = 1,
                                         .in_layout = layouts[i],
                                         .over = over};
                rewrite_run(ctx, &of);
            }
}

static void test_extents_around_every_tile(void **state)
{
    (void)state;
    static const int64_t highs[] = {0, 1, 3};
    static const int64_t mids[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 257};
    static const int64_t lows[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,
                                   15, 16, 17, 31, 33, 48, 65, 129, 1030};
    uint64_t seed = 10000;
    for (size_t h = 0; h < 3; h++)
        for (size_t m = 0; m < sizeof(mids) / sizeof(mids[0]); m++)
            for (size_t l = 0; l < sizeof(lows) / sizeof(lows[0]); l++) {
                seed++;
                const rewrite_case of = {.seed = seed,
                                         .op = seed % 7 ? SOFTMAX : SOFTMAX_BACKWARD,
                                         .ndim = 3,
                                         .shape = {highs[h], mids[m], lows[l]},
                                         .axis = 1,
                                         .number = 1,
                                         .numbers = STEEP};
                if (!is_reduced || (seed % 31 == 0 && lows[l] * mids[m] < 2000))
                    rewrite_run(ctx, &of);
            }
}

// By hand: two numbers, and a row of nothing but -infinity.
static void expect(rewrite_op op, bool masked, const float *x, float first, float second)
{
    const rewrite_case of = {
        .op = op, .ndim = 1, .shape = {2}, .number = 1, .masked = masked, .numbers = FRACTIONS};
    rewrite_operands o;
    rewrite_create(&o, ctx, &of);
    memcpy((float *)o.in[0].memory + o.in[0].t.offset, x, 2 * sizeof(float));
    rewrite_restore(&o);
    rewrite_call(&o);
    float *y = strided_read(&o.out, o.queue);
    const float *got = y + o.out.t.offset, want[2] = {first, second};
    for (int i = 0; i < 2; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i]) || got[i] == want[i] ||
              (isnan(got[i]) && isnan(want[i]))))
            fail_msg("%s of %g and %g is %g and %g", rewrite_name(op), (double)x[0], (double)x[1],
                     (double)got[0], (double)got[1]);
    free(y);
    rewrite_destroy(&o);
}

static void test_by_hand(void **state)
{
    (void)state;
    const float even[2] = {7, 7}, far[2] = {-1e30f, 1e30f}, steep[2] = {0, 1.0986123f};
    const float none[2] = {-INFINITY, -INFINITY}, one[2] = {-INFINITY, 5}, up[2] = {INFINITY, 0};
    const float most[2] = {FLT_MAX, FLT_MAX}, least[2] = {-FLT_MAX, -FLT_MAX};
    const float all[2] = {-FLT_MAX, FLT_MAX}, low[2] = {-INFINITY, -FLT_MAX};
    expect(SOFTMAX, false, even, 0.5f, 0.5f);
    expect(SOFTMAX, false, steep, 0.25f, 0.75f);
    expect(SOFTMAX, false, far, 0, 1);
    expect(SOFTMAX, false, most, 0.5f, 0.5f);
    expect(SOFTMAX, false, least, 0.5f, 0.5f);
    expect(SOFTMAX, false, all, 0, 1);
    expect(SOFTMAX, true, low, 0, 1);
    expect(SOFTMAX, false, one, 0, 1);
    expect(SOFTMAX, false, none, NAN, NAN);
    expect(SOFTMAX, true, none, 0, 0);
    expect(SOFTMAX, true, up, NAN, NAN);
    expect(LOG_SOFTMAX, false, even, -0.6931472f, -0.6931472f);
    expect(LOG_SOFTMAX, false, one, -INFINITY, 0);
    expect(LOG_SOFTMAX, false, none, NAN, NAN);
    expect(LOG_SOFTMAX, true, none, -INFINITY, -INFINITY);
    expect(LOG_SOFTMAX, false, far, -2e30f, 0);
    expect(LOG_SOFTMAX, false, least, -0.6931472f, -0.6931472f);
    expect(LOG_SOFTMAX, true, low, -INFINITY, 0);
}

static void test_no_elements(void **state)
{
    (void)state;
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD; op++)
        for (int axis = 0; axis < 3; axis++) {
            const rewrite_case of = {
                .op = (rewrite_op)op, .ndim = 3, .shape = {4, 0, 2}, .axis = axis, .number = 1};
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

static void run_rows(weft_context *of, int64_t width, uint64_t seed)
{
    for (int numbers = 0; numbers < N_NUMBERS; numbers++)
        for (int masked = 0; masked < 2; masked++) {
            const rewrite_case one = {
                .seed = seed + (uint64_t)numbers,
                .op = !is_reduced && numbers == STEEP && masked ? LOG_SOFTMAX : SOFTMAX,
                .dtype = is_reduced ? WEFT_F32 : dtypes[(width + numbers) % 4],
                .ndim = 2,
                .shape = {is_on("oclgrind") ? 70
                          : is_reduced      ? 150
                                            : 309,
                          width},
                .axis = 1,
                .number = numbers % 2 ? 1 : 0.7,
                .masked = masked,
                .in_layout = masked ? LAYOUT_DENSE : LAYOUT_SLICED,
                .numbers = (rewrite_numbers)numbers,
                .over = masked};
            rewrite_run(of, &one);
        }
}

// Rows that end within UNROLL vectors, with whole vectors and within one, shorter than that and
// longer; in sets of rows, and those that are left. Those larger than the caches are prefetched.
static void test_ends_of_rows(void **state)
{
    (void)state;
    static const int64_t widths[] = {50, 143, 128, 16, 17, 64, 65, 112, 127, 129, 192, 256, 1000};
    weft_limits limits = *weft_context_limits(ctx);
    limits.cache_bytes = 1;
    weft_context *far = open_context(&limits);
    const int n = is_on("oclgrind") ? 1 : is_reduced ? 3 : 13;
    for (int i = 0; i < n; i++) {
        run_rows(ctx, widths[i], 500 + 100 * (uint64_t)i);
        if (!is_on("oclgrind") && (!is_reduced || i < 2))
            run_rows(far, widths[i], 500 + 100 * (uint64_t)i);
    }
    weft_context_destroy(&far);
}

// A long row and a few long columns, which are cut into parts.
static void test_long_lines(void **state)
{
    (void)state;
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD && !is_reduced; op++)
        for (int rows = 0; rows < 2; rows++) {
            const rewrite_case of = {.seed = 70 + (uint64_t)op,
                                     .op = (rewrite_op)op,
                                     .ndim = 2,
                                     .shape = {rows ? 2 : 300007, rows ? 300007 : 2},
                                     .axis = rows,
                                     .number = 1,
                                     .numbers = STEEP};
            rewrite_run(ctx, &of);
        }
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int op = SOFTMAX; op <= LOG_SOFTMAX_BACKWARD; op++) {
        const rewrite_case of = {.seed = 90 + (uint64_t)op,
                                 .op = (rewrite_op)op,
                                 .ndim = 2,
                                 .shape = {is_reduced ? 50 : 5000, 100},
                                 .axis = op % 2,
                                 .number = 1,
                                 .numbers = STEEP};
        rewrite_operands o;
        rewrite_create(&o, ctx, &of);
        rewrite_call(&o);
        void *first = strided_read(&o.out, o.queue);
        for (int again = 0; again < (is_reduced ? 1 : 5); again++) {
            rewrite_restore(&o);
            rewrite_call(&o);
            void *next = strided_read(&o.out, o.queue);
            assert_memory_equal(next, first, o.out.bytes);
            free(next);
        }
        free(first);
        rewrite_destroy(&o);
    }
}

// Rows of 100 in memory of 112 each, of which whole vectors may be read: `fill` stands in between.
enum { PADDED_ROWS = 40, PADDED = 100, PITCH = 112 };

static void fill_rows(float *x, float fill)
{
    random_state random = {57};
    for (int i = 0; i < PADDED_ROWS * PITCH; i++)
        x[i] = i % PITCH < PADDED ? 2 + 2 * (float)random_float(&random) : fill;
}

// What becomes of the rows, all at once.
static void soften(rewrite_op op, const weft_axis_tiling *tiling, float fill, bool in_place,
                   float y[PADDED_ROWS][PADDED])
{
    static float x[PADDED_ROWS * PITCH];
    fill_rows(x, fill);
    cl_command_queue queue = weft_context_queue(ctx);
    cl_mem in = strided_zeros(ctx, sizeof(x), CL_MEM_READ_WRITE);
    cl_mem out = strided_zeros(ctx, sizeof(x), CL_MEM_READ_WRITE);
    assert_int_equal(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL),
                     CL_SUCCESS);
    const weft_tensor X = {in, WEFT_F32, 0, 2, {PADDED_ROWS, PADDED}, {PITCH, 1}};
    weft_tensor Y = X;
    Y.buffer = in_place ? in : out;
    const weft_softmax_params *params = WEFT_SOFTMAX(.tiling = TILING_TEXT(axis, tiling));
    const weft_status status = op == SOFTMAX ? weft_softmax(ctx, queue, 1, &X, -1, &Y, params)
                                             : weft_log_softmax(ctx, queue, 1, &X, -1, &Y, params);
    if (status != WEFT_OK)
        fail_msg("%s", weft_last_error());
    assert_int_equal(clEnqueueReadBuffer(queue, Y.buffer, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < PADDED_ROWS; i++)
        memcpy(y[i], x + i * PITCH, sizeof(y[i]));
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

static void test_same_bits_whatever_stands_beside(void **state)
{
    (void)state;
    static const weft_axis_tiling rows[] = {TILING(8, 1, 1, 1, 4, 8, 2, 1, 2, 1),
                                            TILING(8, 2, 1, 1, 2, 16, 1, 1, 1, 3)};
    static const float fills[] = {100, NAN, INFINITY, -100};
    static float first[PADDED_ROWS][PADDED], next[PADDED_ROWS][PADDED];
    for (int i = 0; i < 3; i++) {
        const rewrite_op op = i % 2 ? LOG_SOFTMAX : SOFTMAX;
        const weft_axis_tiling *tiling = i < 2 && takes_vectors() ? &rows[i] : NULL;
        soften(op, tiling, 0, false, first);
        for (int k = 0; k < 4; k++) {
            soften(op, tiling, fills[k], false, next);
            assert_memory_equal(next, first, sizeof(first));
        }
        soften(op, tiling, 100, true, next);
        assert_memory_equal(next, first, sizeof(first));
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
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_extents_around_every_tile),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_ends_of_rows),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_same_bits_whatever_stands_beside),
    };
    const int failed = cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
