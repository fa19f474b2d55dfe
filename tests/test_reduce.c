// SPDX-License-Identifier: Apache-2.0
// Reductions: every op and data type, the extents around every tile, no elements, numbers that are
// none, and the same bits each time.
#include "reduce_case.h"

#include <math.h>

#include "random.h"

static weft_context *ctx;
static bool is_reduced; // the small set

enum { N_OPS = WEFT_LOGSUMEXP + 1 };

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16,
                                    WEFT_I32, WEFT_I64, WEFT_U8};
enum { N_DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPS; i++) {
        weft_reduction op = (weft_reduction)-1;
        assert_true(weft_reduction_find(weft_reduction_name((weft_reduction)i), &op));
        assert_int_equal(op, i);
    }
    weft_reduction op;
    assert_string_equal(weft_reduction_name(WEFT_NORM_INF), "norm_inf");
    assert_null(weft_reduction_name((weft_reduction)N_OPS));
    assert_null(weft_reduction_name((weft_reduction)-1));
    assert_false(weft_reduction_find("median", &op));
    assert_false(weft_reduction_find("", &op));
    assert_false(weft_reduction_find(NULL, &op));
}

// Y's data type besides the usual one; every fourth is tried: each is a program.
static weft_dtype other_result(weft_reduction op, weft_dtype dtype)
{
    if (op == WEFT_ARGMIN || op == WEFT_ARGMAX)
        return WEFT_I32;
    if (op == WEFT_ANY || op == WEFT_ALL)
        return WEFT_U8;
    if (dtype == WEFT_F16 || dtype == WEFT_BF16)
        return WEFT_F32;
    const bool is_whole = dtype == WEFT_I32 || dtype == WEFT_I64 || dtype == WEFT_U8;
    const bool gives_floats = op == WEFT_MEAN || op >= WEFT_NORM1;
    return is_whole && gives_floats ? WEFT_F32 : WEFT_DEFAULT;
}

// Columns in whole vectors: one program for each. In f32 rows, all of it, and columns that are not
// whole vectors besides.
static void run_op(weft_reduction op, weft_dtype dtype, weft_dtype result, uint64_t seed)
{
    static const unsigned masks[] = {2, 4, 7, 2};
    for (int i = 0; i < (dtype == WEFT_F32 && !is_reduced ? 4 : 1); i++) {
        const reduce_case one = {.seed = seed * 10 + (uint64_t)i,
                                 .op = op,
                                 .dtype = dtype,
                                 .result = result,
                                 .ndim = 3,
                                 .shape = {3, is_reduced ? 11 : 37, i == 3 ? 19 : 48},
                                 .mask = masks[i],
                                 .keepdims = seed % 2,
                                 .numbers = (reduce_numbers)((seed + (uint64_t)i) % N_NUMBERS),
                                 .correction = (int64_t)seed % 2};
        reduce_run(ctx, &one);
    }
}

static void test_every_op_and_type(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int op = 0; op < N_OPS; op++)
        for (int i = 0; i < N_DTYPES; i++) {
            seed++;
            const weft_dtype other = other_result((weft_reduction)op, dtypes[i]);
            if (is_reduced && seed % 4)
                continue;
            run_op((weft_reduction)op, dtypes[i], WEFT_DEFAULT, seed);
            if (other != WEFT_DEFAULT && !is_reduced && (op + i) % 4 == 0)
                run_op((weft_reduction)op, dtypes[i], other, seed);
        }
}

// Numbers of every kind through every op of f32, f16 and i64.
static void test_every_kind_of_number(void **state)
{
    (void)state;
    static const weft_dtype some[] = {WEFT_F32, WEFT_F16, WEFT_I64};
    for (int op = 0; op < N_OPS; op++)
        for (int i = 0; i < (is_reduced ? 1 : 3); i++)
            for (int numbers = 0; numbers < N_NUMBERS; numbers++)
                for (uint64_t seed = 0; seed < (is_reduced ? 1 : 4); seed++) {
                    const reduce_case one = {.seed = 3000 + seed,
                                             .op = (weft_reduction)op,
                                             .dtype = some[i],
                                             .ndim = 3,
                                             .shape = {2, 9 + 8 * (int64_t)seed, 48},
                                             .mask = 2,
                                             .numbers = (reduce_numbers)numbers,
                                             .correction = 1};
                    reduce_run(ctx, &one);
                }
}

static void test_extents_around_every_tile(void **state)
{
    (void)state;
    static const int64_t highs[] = {0, 1, 3};
    static const int64_t mids[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 257};
    static const int64_t lows[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,
                                   15, 16, 17, 31, 33, 48, 65, 129, 1030};
    static const weft_reduction ops[] = {WEFT_SUM, WEFT_ARGMAX, WEFT_VAR};
    uint64_t seed = 10000;
    for (size_t h = 0; h < 3; h++)
        for (size_t m = 0; m < sizeof(mids) / sizeof(mids[0]); m++)
            for (size_t l = 0; l < sizeof(lows) / sizeof(lows[0]); l++) {
                seed++;
                const reduce_case one = {.seed = seed,
                                         .op = ops[seed % 3],
                                         .ndim = 3,
                                         .shape = {highs[h], mids[m], lows[l]},
                                         .mask = 2,
                                         .numbers = WHOLE};
                if (!is_reduced || (seed % 19 == 0 && lows[l] * mids[m] < 3000))
                    reduce_run(ctx, &one);
            }
}

// ---- no elements

static double first_of(const reduce_operands *o, const void *after)
{
    const char *at = (const char *)after + (size_t)o->Y.offset * weft_dtype_size(o->of.result);
    float f32;
    int64_t i64;
    if (o->of.result == WEFT_U8)
        return *(const unsigned char *)at;
    if (o->of.result == WEFT_I64) {
        memcpy(&i64, at, sizeof(i64));
        return (double)i64;
    }
    memcpy(&f32, at, sizeof(f32));
    return f32;
}

static void test_no_elements(void **state)
{
    (void)state;
    static const struct {
        weft_reduction op;
        weft_dtype dtype, result;
        double want;
    } cases[] = {
        {WEFT_SUM, WEFT_F32, WEFT_F32, 0},
        {WEFT_SUM, WEFT_I32, WEFT_I64, 0},
        {WEFT_PROD, WEFT_F32, WEFT_F32, 1},
        {WEFT_PROD, WEFT_U8, WEFT_I64, 1},
        {WEFT_MEAN, WEFT_F32, WEFT_F32, NAN},
        {WEFT_MEAN, WEFT_I32, WEFT_F32, NAN},
        {WEFT_ANY, WEFT_F32, WEFT_U8, 0},
        {WEFT_ANY, WEFT_I64, WEFT_U8, 0},
        {WEFT_ALL, WEFT_F32, WEFT_U8, 1},
        {WEFT_ALL, WEFT_U8, WEFT_U8, 1},
        {WEFT_NORM1, WEFT_F32, WEFT_F32, 0},
        {WEFT_NORM2, WEFT_F32, WEFT_F32, 0},
        {WEFT_NORM_INF, WEFT_F32, WEFT_F32, 0},
        {WEFT_NORM_INF, WEFT_I32, WEFT_F32, 0},
        {WEFT_VAR, WEFT_F32, WEFT_F32, NAN},
        {WEFT_STD, WEFT_F32, WEFT_F32, NAN},
        {WEFT_LOGSUMEXP, WEFT_F32, WEFT_F32, -INFINITY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const reduce_case one = {.seed = i,
                                 .op = cases[i].op,
                                 .dtype = cases[i].dtype,
                                 .result = cases[i].result,
                                 .ndim = 3,
                                 .shape = {3, 0, 5},
                                 .mask = 2,
                                 .y_layout = LAYOUT_ANY};
        reduce_operands o;
        reduce_create(&o, ctx, &one);
        reduce_call(&o);
        reduce_check(&o);
        void *after = reduce_read(&o);
        const double got = first_of(&o, after);
        if (got != cases[i].want && !(isnan(got) && isnan(cases[i].want)))
            fail_msg("%s of nothing is %g", weft_reduction_name(one.op), got);
        free(after);
        reduce_destroy(&o);
    }
}

// No results, whether or not they would have elements: nothing is enqueued, and nothing is refused.
static void test_no_results(void **state)
{
    (void)state;
    for (int op = 0; op < N_OPS; op++)
        for (int64_t mid = 0; mid < 3; mid++) {
            const reduce_case one = {
                .op = (weft_reduction)op, .ndim = 3, .shape = {4, mid, 0}, .mask = 2};
            const uint64_t launches = weft_context_get_stats(ctx).launches;
            reduce_operands o;
            reduce_create(&o, ctx, &one);
            reduce_call(&o);
            assert_string_equal(reduce_words(&o), "nothing to do");
            reduce_check(&o);
            reduce_destroy(&o);
            assert_int_equal(weft_context_get_stats(ctx).launches, launches);
        }
}

// A scalar; and one axis of one element.
static void test_single_elements(void **state)
{
    (void)state;
    for (int op = 0; op < N_OPS; op++)
        for (int ndim = 0; ndim < 3; ndim++) {
            const reduce_case one = {.seed = 500 + (uint64_t)op,
                                     .op = (weft_reduction)op,
                                     .ndim = ndim,
                                     .shape = {1, 1, 1},
                                     .all = op % 2,
                                     .mask = 1};
            reduce_run(ctx, &one);
        }
}

// ---- long sums

// A million terms: the bound is that of short runs.
static void test_long_sums(void **state)
{
    (void)state;
    static const weft_reduction ops[] = {WEFT_SUM, WEFT_MEAN, WEFT_NORM2, WEFT_VAR, WEFT_LOGSUMEXP};
    for (int i = 0; i < 5 && !is_reduced; i++)
        for (int rows = 0; rows < 2; rows++) {
            const reduce_case one = {.seed = 70 + (uint64_t)i,
                                     .op = ops[i],
                                     .ndim = 2,
                                     .shape = {rows ? 2 : 500003, rows ? 500003 : 2},
                                     .mask = rows ? 2 : 1,
                                     .numbers = i % 2 ? FAR_AWAY : FRACTIONS};
            reduce_run(ctx, &one);
        }
}

static void test_same_bits(void **state)
{
    (void)state;
    static const weft_reduction ops[] = {WEFT_SUM, WEFT_VAR, WEFT_LOGSUMEXP, WEFT_ARGMIN};
    for (int i = 0; i < 4; i++) {
        const int64_t rows = is_reduced ? 50 : 5000;
        const reduce_case one = {.seed = 90 + (uint64_t)i,
                                 .op = ops[i],
                                 .ndim = 2,
                                 .shape = {rows, 100},
                                 .mask = i % 2 ? 1 : 3,
                                 .numbers = FRACTIONS};
        reduce_operands o;
        reduce_create(&o, ctx, &one);
        reduce_call(&o);
        void *first = reduce_read(&o);
        for (int again = 0; again < 5; again++) {
            reduce_restore(&o);
            reduce_call(&o);
            void *next = reduce_read(&o);
            assert_memory_equal(next, first, o.y_bytes);
            free(next);
        }
        free(first);
        reduce_destroy(&o);
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = reduce_context(NULL, true);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_op_and_type),
        cmocka_unit_test(test_every_kind_of_number),
        cmocka_unit_test(test_extents_around_every_tile),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_no_results),
        cmocka_unit_test(test_single_elements),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_same_bits),
    };
    const int failed = cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
