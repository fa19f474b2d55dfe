// SPDX-License-Identifier: Apache-2.0
// SpMM by plans that cut rows of A where windows of B end: rows side by side and single ones, of
// every length, in vectors of 16 and of 8.
#include "spmm_case.h"

static bool is_reduced;

// Dense enough for a plan to cut it; a third of random rows is empty, and k is no multiple of a
// window.
static spmm_case dense_case(uint64_t seed, int64_t k)
{
    static const int64_t widths[] = {64, 65, 100, 128, 50, 130};
    static const sparse_rows rows[] = {ROWS_RANDOM, ROWS_FULL, ROWS_RANDOM};
    static const weft_dtype offsets[] = {WEFT_I32, WEFT_I64}, indices[] = {WEFT_I32, WEFT_I16};
    return (spmm_case){
        .seed = seed,
        .m = 110 + (int64_t)(seed % 3) * 20,
        .k = k + (int64_t)seed,
        .n = widths[seed % 6],
        .n_batches = seed % 4 == 3 ? 2 : 0,
        .own_values = seed % 8 == 3,
        .rows = rows[seed % 3],
        .numbers = seed % 5 == 4   ? WILD_A
                   : seed % 5 == 3 ? WILD_B
                   : seed % 2      ? WHOLE
                                   : FRACTIONS,
        .dtype = seed % 4 == 2 ? WEFT_F64 : WEFT_F32,
        .offset_dtype = offsets[seed / 2 % 2],
        .index_dtype = indices[seed % 2],
        .b_layout = (dense_layout)(seed % ROWS_ALIGNED),
        .c_layout = (dense_layout)(seed / 2 % COLUMN_MAJOR),
        .values_start = (int64_t)(seed % 3),
        .alpha = seed % 3 ? 1 : -2,
        .beta = seed % 4 == 1 ? 0.5 : 0,
        .reduction = seed % 7 == 6 ? WEFT_SPMM_MEAN : WEFT_SPMM_SUM,
        .has_bias = seed % 6 == 5,
        .bias_step = 1,
        .activation = seed % 6 == 5 ? WEFT_ACTIVATION_RELU : WEFT_ACTIVATION_NONE,
        .with_plan = true,
    };
}

static bool has_segments(const spmm_operands *o)
{
    char text[512];
    const weft_spmm_params params = spmm_params(o);
    assert_true(weft_spmm_describe(o->ctx, &o->A, &o->B, &o->C, &params, text, sizeof(text)) > 0);
    return strstr(text, "in segments") != NULL;
}

static void check_case(weft_context *ctx, const spmm_case *of, bool is_cut)
{
    spmm_operands o;
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    if (has_segments(&o) != is_cut)
        spmm_fail(&o, is_cut ? "no segments" : "segments");
    spmm_call(&o);
    spmm_check(&o);
    void *first = spmm_read(&o);
    spmm_restore(&o);
    spmm_call(&o);
    void *second = spmm_read(&o);
    assert_memory_equal(first, second, o.c_bytes);
    free(first);
    free(second);
    spmm_destroy(&o);
}

static void check_profile(const char *name, int64_t k)
{
    weft_context *ctx = open_context(weft_profile_find(name));
    for (uint64_t seed = 0; seed < (is_reduced ? 6 : 24); seed++) {
        const spmm_case of = dense_case(seed, k);
        if (of.dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64)
            check_case(ctx, &of, true);
    }
    weft_context_destroy(&ctx);
}

static void test_four_rows_side_by_side(void **state)
{
    (void)state;
    if (is_on("rusticl")) // which compiles the widest vectors for minutes
        skip();
    check_profile("intel-xeon-8380", 300);
}

static void test_two_rows_side_by_side(void **state)
{
    (void)state;
    if (is_on("rusticl") && is_reduced)
        skip();
    check_profile("amd-ryzen-5950x", 600);
}

// Columns that go down past a window, and what plans do not cut: right all the same.
static void test_what_is_not_cut(void **state)
{
    (void)state;
    weft_context *ctx =
        open_context(weft_profile_find(is_on("rusticl") ? "amd-ryzen-5950x" : "intel-xeon-8380"));
    spmm_case of = dense_case(1, 600);
    of.rows = ROWS_REPEATED;
    check_case(ctx, &of, false);
    of = dense_case(1, 600);
    of.index_dtype = WEFT_I32;
    of.transpose_a = true;
    check_case(ctx, &of, false);
    of = dense_case(1, 600);
    of.dtype = WEFT_F16;
    check_case(ctx, &of, false);
    weft_context_destroy(&ctx);
}

// Of each element the sum has one order, whatever the slices.
static void test_slices_of_every_width(void **state)
{
    (void)state;
    if (is_on("rusticl"))
        skip();
    weft_context *ctx = open_context(weft_profile_find("intel-xeon-8380"));
    spmm_case of = dense_case(0, 300);
    of.alpha = 1;
    of.dtype = WEFT_F32;
    spmm_operands o;
    spmm_create(&o, ctx, weft_context_queue(ctx), &of);
    spmm_call(&o);
    void *whole = spmm_read(&o);
    const weft_spmm_problem problem = spmm_problem(&o);
    weft_spmm_tiling t = weft_spmm_tiling_for(weft_context_limits(ctx), &problem);
    if (o.workspace)
        clReleaseMemObject(o.workspace);
    o.workspace = NULL;
    o.of.tiling = &t;
    for (t.fold = 16; t.fold >= (is_reduced ? 8 : 4); t.fold /= 2)
        for (t.vectors = 1; t.vectors <= 4; t.vectors++) {
            const bool fits = t.fold * t.vectors >= 8;
            if (has_segments(&o) != fits)
                spmm_fail(&o, "other than expected");
            spmm_restore(&o);
            spmm_call(&o);
            spmm_check(&o);
            void *now = spmm_read(&o);
            assert_memory_equal(now, whole, o.c_bytes);
            free(now);
        }
    free(whole);
    spmm_destroy(&o);
    weft_context_destroy(&ctx);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_rows_side_by_side),
        cmocka_unit_test(test_two_rows_side_by_side),
        cmocka_unit_test(test_what_is_not_cut),
        cmocka_unit_test(test_slices_of_every_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
