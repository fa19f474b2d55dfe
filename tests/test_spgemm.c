// SPDX-License-Identifier: Apache-2.0
// C = A B, all sparse, against a plain loop: every pattern of small matrices, all data types,
// tilings as for a CPU and for a GPU; what is refused, scratch memory and events.
#include <math.h>

#include "matrix_files.h"
#include "spgemm_product.h"

// ---- products

static void test_every_small_pattern(void **state)
{
    (void)state;
    const uint64_t step = is_reduced ? 7 : 1;
    for (uint64_t a = 0; a < 64; a += step)
        for (uint64_t b = 0; b < 64; b += step) {
            const product_case of = {.seed = a + b,
                                     .tiling = &tilings[(a / step + b / step) % N_TILINGS]};
            run_patterns(pattern_of_cells(2, 3, a), pattern_of_cells(3, 2, b), &of);
        }
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++)
        for (int kinds = 0; kinds < N_PATTERNS * N_PATTERNS; kinds += is_reduced ? 6 : 1)
            for (int j = 0; j <= N_USUAL; j++) {
                const product_case of = {.seed = 100 * i + (uint64_t)kinds,
                                         .a_kind = (pattern_kind)(kinds % N_PATTERNS),
                                         .b_kind = (pattern_kind)(kinds / N_PATTERNS),
                                         .m = small_shapes[i][0],
                                         .k = small_shapes[i][1],
                                         .n = small_shapes[i][2],
                                         .a_nnz = small_shapes[i][3],
                                         .b_nnz = small_shapes[i][4],
                                         .start = j % 2 ? 3 : 0,
                                         .in_fractions = kinds % 3 == 1,
                                         .tiling = tiling_at(j)};
                run(&of);
            }
}

static void test_all_data_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F16, WEFT_BF16};
    for (int i = weft_context_limits(ctx)->has_f64 ? 0 : 1; i < 3; i++)
        for (int j = 0; j < N_USUAL; j++) {
            const product_case of = {
                .seed = 31,
                .m = 12,
                .k = 14,
                .n = 60,
                .a_nnz = 40,
                .b_nnz = 80,
                .dtype = dtypes[i],
                .wide = {i == 0 ? WEFT_I64 : WEFT_I32, i == 1 ? WEFT_I64 : WEFT_I32,
                         i == 2 ? WEFT_I64 : WEFT_I32},
                .narrow = {i == 1 ? WEFT_I16 : WEFT_I32, i == 2 ? WEFT_I16 : WEFT_I32,
                           i == 0 ? WEFT_I16 : WEFT_I32},
                .start = 4,
                .tiling = &tilings[j]};
            if (goes_with(i, j))
                run(&of);
        }
}

// Columns far apart, and more rows than one group of running sums has.
static void test_large_matrices(void **state)
{
    (void)state;
    static const int64_t shapes[][5] = {{300, 300, 100000, 900, 2000}, {30000, 50, 20, 9000, 100}};
    for (int i = 0; i < 2 && !is_reduced; i++)
        for (int j = 0; j <= N_USUAL; j++) {
            const product_case of = {.seed = (uint64_t)(11 + i),
                                     .m = shapes[i][0],
                                     .k = shapes[i][1],
                                     .n = shapes[i][2],
                                     .a_nnz = shapes[i][3],
                                     .b_nnz = shapes[i][4],
                                     .tiling = tiling_at(j)};
            run(&of);
        }
}

// Words of marks, of which most have none: one item finds the others from two levels above.
static void test_few_products_in_many_columns(void **state)
{
    (void)state;
    static const weft_spgemm_tiling cuts[] = {
        {.items = 1, .rows = 2, .columns = 1024},
        {.items = 1, .rows = 4, .columns = 32768}, // where there is room
        {.items = 4, .rows = 2, .columns = 2048},
    };
    for (int i = 0; i < 6; i++) {
        const product_case of = {.seed = (uint64_t)(40 + i),
                                 .m = 4,
                                 .k = 60,
                                 .n = 700000,
                                 .a_nnz = 60,
                                 .b_nnz = i < 3 ? 2000 : 240,
                                 .b_kind = i < 3 ? PATTERN_REPEATED : PATTERN_RANDOM,
                                 .in_fractions = i % 2,
                                 .tiling = &cuts[i % 3]};
        const weft_spgemm_problem problem = {.dtype = WEFT_F32};
        if (weft_spgemm_tiling_check(of.tiling, weft_context_limits(ctx), &problem) == WEFT_OK)
            run(&of);
    }
}

enum { SORTED_COLUMNS = 30000 }; // many for each product

// The bits of of->tiling, with products sorted up to each length.
static void check_sorted(operands *o, const product_case *of)
{
    char *const want = result_of(o, of);
    for (int sorted = 16; sorted <= 1024; sorted *= 4) {
        weft_spgemm_tiling tiling = *of->tiling;
        tiling.sorted = sorted;
        product_case by = *of;
        by.tiling = &tiling;
        check_bits(o, &by, want);
    }
    free(want);
}

// Rows of few products, that one item sorts up to `sorted` of them: of every kind and data type,
// with several products of a column and one, each with the bits that marks give.
static void test_rows_that_are_sorted(void **state)
{
    (void)state;
    static const weft_spgemm_tiling marked = {.items = 1, .rows = 3, .columns = 2048};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};
    const int n_dtypes = weft_context_limits(ctx)->has_f64 ? 4 : 3;
    for (int i = 0; i < N_PATTERNS * N_PATTERNS; i += is_reduced ? 3 : 1) {
        random_state random = {(uint64_t)(300 + i)};
        const weft_dtype dtype = dtypes[i % n_dtypes];
        const weft_spgemm_problem problem = {.n = SORTED_COLUMNS, .dtype = dtype};
        const product_case of = {.seed = random.state,
                                 .dtype = dtype,
                                 .in_fractions = dtype == WEFT_F32,
                                 .tiling = &marked};
        const pattern A = pattern_create(&random, (pattern_kind)(i % N_PATTERNS), 40, 50, 400);
        const pattern B =
            pattern_create(&random, (pattern_kind)(i / N_PATTERNS), 50, SORTED_COLUMNS, 900);
        operands o;
        operands_create(&o, A, B, &of);
        if (weft_spgemm_tiling_check(&marked, weft_context_limits(ctx), &problem) == WEFT_OK)
            check_sorted(&o, &of);
        operands_destroy(&o);
    }
}

// One long row among others, wide rows of B in any order, and C wider than a group has room for:
// as planned, and cut so that several groups have several stretches each.
static void test_long_rows_of_every_kind(void **state)
{
    (void)state;
    const int64_t n = is_reduced ? 5000 : 200000, k = is_reduced ? 600 : 6000;
    for (int i = 0; i < 4; i++) {
        const product_case of = {.seed = 19,
                                 .m = 9,
                                 .k = k,
                                 .n = n,
                                 .a_nnz = k,
                                 .b_nnz = 20 * k,
                                 .a_kind = i % 2 ? PATTERN_ONE_ROW : PATTERN_REPEATED,
                                 .in_fractions = i % 2,
                                 .tiling = i < 3 ? &wide_tilings[i] : NULL};
        run(&of);
    }
}

// Rows of A with so many entries that plain sums of them would have few digits left.
static void test_long_sums(void **state)
{
    (void)state;
    for (int i = 0; i <= N_USUAL; i++) {
        const product_case of = {.seed = 23,
                                 .m = 1,
                                 .k = 1,
                                 .n = 3,
                                 .a_nnz = is_reduced ? 5000 : 1000000,
                                 .b_nnz = 3,
                                 .a_kind = PATTERN_REPEATED,
                                 .in_tenths = true,
                                 .tiling = tiling_at(i)};
        if (goes_with(0, i))
            run(&of);
    }
}

// More long rows than groups share: the last ones are done as all others.
static void test_many_long_rows(void **state)
{
    (void)state;
    const product_case of = {
        .seed = 23, .m = 3000, .k = 20, .n = 70, .a_nnz = 5000, .b_nnz = 90, .tiling = &tilings[3]};
    if (!is_reduced)
        run(&of);
}

// The order of sums is that of A's entries, however the work is cut.
static void test_same_bits_in_every_tiling(void **state)
{
    (void)state;
    operands o;
    random_state random = {77};
    product_case of = {.seed = 77, .in_fractions = true, .tiling = &tilings[0]};
    const pattern A = pattern_create(&random, PATTERN_REPEATED, 10, 20, 80);
    const pattern B = pattern_create(&random, PATTERN_RANDOM, 20, 30, 150);
    operands_create(&o, A, B, &of);
    call(&o, &of, false);
    check(&o, &of);
    char *want = new_array((int64_t)o.values[2].bytes, 1);
    clEnqueueReadBuffer(queue, o.values[2].buffer, CL_TRUE, 0, o.values[2].bytes, want, 0, NULL,
                        NULL);
    for (int i = 0; i < 2 * N_TILINGS; i++) {
        of.tiling = &tilings[i % N_TILINGS];
        guarded_restore(&o.values[2], queue);
        call(&o, &of, false);
        guarded_check(&o.values[2], queue, want, "the same bits");
    }
    free(want);
    operands_destroy(&o);
}

// A A^T: rows with entries at one place at least, and empty ones on both sides.
static void multiply_file(const weft_csr_host *host)
{
    int64_t *source;
    const product_case of = {.seed = (uint64_t)host->nnz, .start = 1};
    if (host->n_rows * host->n_rows > (is_reduced ? 1 << 18 : 1 << 23))
        return;
    const pattern A = pattern_of_host(host);
    run_patterns(A, pattern_transposed(&A, &source), &of);
    free(source);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(multiply_file);
}

// Infinity times 0 is NaN where both are stored; what A does not name changes nothing.
static void test_infinity_and_nan(void **state)
{
    (void)state;
    operands o;
    product_case of = {.seed = 1};
    operands_create(&o, pattern_of_cells(2, 3, 0x11), pattern_of_cells(3, 3, 0x1cb), &of);
    float a[] = {INFINITY, 2}, b[] = {0, 1, 3, NAN, NAN, NAN}, got[3]; // rows 01-, -2-, NaN
    clEnqueueWriteBuffer(queue, o.values[0].buffer, CL_TRUE, 0, sizeof(a), a, 0, NULL, NULL);
    clEnqueueWriteBuffer(queue, o.values[1].buffer, CL_TRUE, 0, sizeof(b), b, 0, NULL, NULL);
    assert_int_equal(o.patterns[2].nnz, 3);
    for (int i = 0; i < N_TILINGS; i++) {
        of.tiling = &tilings[i];
        if (!takes_groups_of(tilings[i].items))
            continue;
        call(&o, &of, true);
        clEnqueueReadBuffer(queue, o.values[2].buffer, CL_TRUE, 0, sizeof(got), got, 0, NULL, NULL);
        assert_true(isnan(got[0]) && isinf(got[1]) && got[2] == 6);
    }
    operands_destroy(&o);
}

// ---- calls

static operands good; // A 3 x 4, B 4 x 5, all entries

static int create_operands(void **state)
{
    (void)state;
    const product_case of = {.seed = 4, .start = 2};
    operands_create(&good, pattern_of_cells(3, 4, 0xfff), pattern_of_cells(4, 5, 0xfffff), &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    operands_destroy(&good);
    return 0;
}

typedef struct product_call {
    weft_csr A, B, C;
    weft_spgemm_params params;
} product_call;

static product_call good_call(void)
{
    return (product_call){good.there[0].csr, good.there[1].csr, good.there[2].csr,
                          *WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, &tilings[0]))};
}

static weft_status start(const product_call *c, bool is_count)
{
    return is_count ? weft_spgemm_count(ctx, queue, &c->A, &c->B, &c->C, NULL, &c->params)
                    : weft_spgemm(ctx, queue, &c->A, &c->B, &c->C, &c->params);
}

static void refuse(product_call *c, bool is_count, weft_status want, const char *part)
{
    cl_event event = NULL;
    c->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(c, is_count);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call of that step.
#define REFUSE(is_count, status, part, change)                                                     \
    do {                                                                                           \
        product_call c = good_call();                                                              \
        change;                                                                                    \
        refuse(&c, is_count, status, part);                                                        \
    } while (0)

// Entries, but no row for them: nothing is done.
static void test_entries_without_rows(void **state)
{
    (void)state;
    product_call c = good_call();
    c.A.n_rows = c.C.n_rows = 0;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(start(&c, false));
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

#define FORCE(t) c.params.tiling = TILING_TEXT(spgemm, t)

static void test_what_is_refused(void **state)
{
    (void)state;
    const weft_spgemm_tiling odd = {.items = 3, .rows = 1, .columns = 1};
    const weft_spgemm_tiling wide = {.items = 1, .rows = 1, .columns = 32769};
    const weft_spgemm_tiling none = {.items = 1, .rows = 0, .columns = 1};
    weft_spgemm_tiling shared[] = {tilings[3], tilings[3], tilings[3], tilings[3], tilings[3]};
    weft_spgemm_tiling sorted[] = {tilings[0], tilings[0], tilings[1], tilings[0]};
    sorted[0].sorted = 24;
    sorted[1].sorted = sorted[2].sorted = 16;
    sorted[3].sort_items = 4;
    shared[0].long_from = -1;
    shared[1].long_from = 262145;
    shared[2].long_columns = 48;
    shared[3].long_columns = 32;
    shared[4].long_groups = 257;
    for (int i = 0; i < 2; i++) {
        REFUSE(i, WEFT_BAD_SHAPE, "A is 3 x 4, B has 5 rows", c.B.n_rows = 5);
        REFUSE(i, WEFT_BAD_SHAPE, "A B is 3 x 5, C is 3 x 6", c.C.n_cols = 6);
        REFUSE(i, WEFT_BAD_SHAPE, "B is 4 x 2147483648; at most",
               c.B.n_cols = c.C.n_cols = INT64_C(1) << 31);
        REFUSE(i, WEFT_BAD_DTYPE, "A is f32, B f16, C f32", c.B.dtype = WEFT_F16);
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.items is 3", FORCE(&odd));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.columns is 32769", FORCE(&wide));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.rows is 0", FORCE(&none));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.sorted is 24: 0, or", FORCE(&sorted[0]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.sorted is 16: at most half of columns, 4, and",
               FORCE(&sorted[1]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.sort_items is 0: a power of two", FORCE(&sorted[2]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.sort_items is 4, sort_rows 0, sort_counts 0: 0 is",
               FORCE(&sorted[3]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.long_from is -1", FORCE(&shared[0]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.long_from is 262145", FORCE(&shared[1]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.long_columns is 48", FORCE(&shared[2]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.long_columns is 32", FORCE(&shared[3]));
        REFUSE(i, WEFT_BAD_ARGUMENT, "tiling.long_groups is 257", FORCE(&shared[4]));
    }
    assert_int_equal(weft_spgemm(ctx, queue, &good.there[0].csr, NULL, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("spgemm: B is NULL");
}

// B changes between the steps: no row of C is written beyond its end.
static void test_patterns_that_change_between_the_steps(void **state)
{
    (void)state;
    product_call c = good_call();
    assert_ok(start(&c, true));
    cl_int ends[] = {0, 1, 2, 3};
    memcpy(good.there[2].offsets.before + 2 * sizeof(cl_int), ends, sizeof(ends));
    guarded_restore(&good.there[2].offsets, queue);
    guarded indices = guarded_create(ctx, NULL, 3, sizeof(cl_int), 2);
    guarded values = guarded_create(ctx, NULL, 3, sizeof(cl_float), 2);
    c.C.indices = indices.buffer;
    c.C.values = values.buffer;
    c.C.indices_start = c.C.values_start = indices.start;
    c.C.nnz = 3;
    static const cl_int want[] = {0, 0, 0};
    cl_float firsts[3]; // what the rows' first entries come to
    for (int row = 0; row < 3; row++)
        firsts[row] = (cl_float)good.sums[row * good.patterns[1].n_cols];
    for (int i = 0; i < N_TILINGS; i++) {
        c.params.tiling = TILING_TEXT(spgemm, &tilings[i]);
        if (!takes_groups_of(tilings[i].items))
            continue;
        guarded_restore(&indices, queue);
        guarded_restore(&values, queue);
        assert_ok(start(&c, false));
        guarded_check(&indices, queue, want, "indices");
        guarded_check(&values, queue, firsts, "values");
    }
    guarded_destroy(&indices);
    guarded_destroy(&values);
}

static void test_events(void **state)
{
    (void)state;
    cl_int code;
    int64_t nnz = 0;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    product_call c = good_call();
    c.params.event = &done;
    assert_ok(weft_spgemm_count(ctx, queue, &c.A, &c.B, &c.C, &nnz, &c.params));
    assert_int_equal(nnz, 15);
    assert_non_null(done);
    clReleaseEvent(done);
    c.params.n_wait = 1;
    c.params.wait = &gate;
    assert_ok(start(&c, false));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    check(&good, &(product_case){.seed = 4});
}

static void test_plans(void **state)
{
    (void)state;
    char text[100];
    const product_call c = good_call();
    assert_true(weft_spgemm_describe(ctx, &c.A, &c.B, &c.C, &c.params, text, sizeof(text)) > 0);
    assert_string_equal(text, "items 1, rows 3, columns 4");
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, create_operands, destroy_operands)

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_pattern),
        cmocka_unit_test(test_patterns_of_every_kind),
        cmocka_unit_test(test_all_data_types),
        cmocka_unit_test(test_large_matrices),
        cmocka_unit_test(test_few_products_in_many_columns),
        cmocka_unit_test(test_rows_that_are_sorted),
        cmocka_unit_test(test_long_rows_of_every_kind),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_many_long_rows),
        cmocka_unit_test(test_same_bits_in_every_tiling),
        cmocka_unit_test(test_matrices_out_of_files),
        cmocka_unit_test(test_infinity_and_nan),
        WITH_OPERANDS(test_what_is_refused),
        WITH_OPERANDS(test_entries_without_rows),
        WITH_OPERANDS(test_patterns_that_change_between_the_steps),
        WITH_OPERANDS(test_events),
        WITH_OPERANDS(test_plans),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
