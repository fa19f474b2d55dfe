// SPDX-License-Identifier: Apache-2.0
// weft_spmm_host(): the bits of the whole product, wherever blocks end, for every layout, data type
// and reduction, in little memory of the device.
#include <math.h>

#include "spmm_host_case.h"

static weft_context *ctx, *wide; // as on the device itself, and as on a GPU
static bool is_reduced;
static spmm_host_blocks most; // of all cases

// In as little memory as possible, in a little more, and in what the device has.
static void run_on(weft_context *on, const spmm_host_case *of)
{
    spmm_host_operands o;
    spmm_host_create(&o, on, of);
    spmm_host_want(&o);
    const uint64_t least = spmm_host_least(&o), sizes[] = {least, 3 * least / 2, 4 * least, 0};
    for (int i = 0; i < (is_reduced ? 1 : 4); i++) {
        spmm_host_blocks blocks;
        assert_true(spmm_host_blocks_of(&blocks, &o, sizes[i]));
        assert_ok(spmm_host_call(&o, sizes[i]));
        assert_int_equal(o.done, of->m);
        spmm_host_check(&o);
        most.n_rows = blocks.n_rows > most.n_rows ? blocks.n_rows : most.n_rows;
        most.n_columns = blocks.n_columns > most.n_columns ? blocks.n_columns : most.n_columns;
    }
    if (on == ctx)
        assert_true(spmm_host_is_usual(&o));
    spmm_host_destroy(&o);
}

static void run(const spmm_host_case *of)
{
    run_on(ctx, of);
    if (!is_reduced || is_on_pocl_or_by_hand())
        run_on(wide, of);
}

// ---- cases

static void test_layouts(void **state)
{
    (void)state;
    const host_layout layouts[] = {HOST_ROWS, HOST_PADDED, HOST_COLUMNS, HOST_REVERSED, HOST_STEPS};
    for (int i = 0; i < 5; i++)
        run(&(spmm_host_case){.m = 130,
                              .k = 300,
                              .n = 150,
                              .mean = 6,
                              .longest = 100,
                              .b_layout = layouts[i],
                              .c_layout = layouts[(i + 1) % 5],
                              .alpha = 0.7,
                              .beta = i % 2 ? -0.3 : 0,
                              .has_bias = i % 2 == 0});
    assert_in_range(most.n_rows, is_reduced ? 2 : 4, 1000);
    assert_in_range(most.n_columns, 2, 1000);
}

static void test_data_types(void **state)
{
    (void)state;
    const struct {
        weft_dtype dtype, offsets, indices;
        bool has_wide_c;
    } types[] = {{WEFT_F64, WEFT_I64, WEFT_I32, false},
                 {WEFT_F16, WEFT_I32, WEFT_I16, false},
                 {WEFT_BF16, WEFT_I64, WEFT_I16, true}};
    for (int i = 0; i < 3; i++) {
        if (types[i].dtype == WEFT_F64 && !weft_context_limits(ctx)->has_f64)
            continue;
        run(&(spmm_host_case){.m = 90,
                              .k = 200,
                              .n = 70,
                              .mean = 9,
                              .longest = 60,
                              .dtype = types[i].dtype,
                              .offset_dtype = types[i].offsets,
                              .index_dtype = types[i].indices,
                              .has_wide_c = types[i].has_wide_c,
                              .b_layout = HOST_PADDED,
                              .alpha = -1.5,
                              .beta = 0.5,
                              .has_bias = true,
                              .activation = WEFT_ACTIVATION_RELU});
    }
}

// Few columns: the entries of a row are side by side, and end with A's.
static void test_few_columns(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 5; n += 2)
        run(&(spmm_host_case){
            .m = 400, .k = 300, .n = n, .mean = 11, .longest = 300, .alpha = 1, .beta = n == 3});
    run(&(spmm_host_case){.m = 77,
                          .k = 60,
                          .n = 1,
                          .mean = 5,
                          .b_layout = HOST_VECTOR,
                          .c_layout = HOST_VECTOR,
                          .alpha = 2,
                          .beta = 1});
}

static void test_reductions(void **state)
{
    (void)state;
    for (int i = WEFT_SPMM_MEAN; i <= WEFT_SPMM_MIN; i++)
        run(&(spmm_host_case){.m = 120,
                              .k = 90,
                              .n = i == WEFT_SPMM_MAX ? 3 : 40,
                              .mean = 8,
                              .longest = 90,
                              .alpha = -0.9,
                              .beta = 0.25,
                              .reduction = (weft_spmm_reduction)i});
}

// Rows that are cut, by a tiling whose row chunks are short: they end where those of A do.
static void test_row_chunks(void **state)
{
    (void)state;
    const char *const tilings[] = {
        "vector_width 2, vectors 2, lanes 1, rows_per_group 2, rows_per_item 3, load 1, unroll 2, "
        "row_chunk 7",
        "vector_width 2, vectors 1, lanes 2, rows_per_group 2, stage 4, load 4, unroll 1, "
        "row_chunk 10"};
    for (int i = 0; i < 2; i++)
        for (int reduction = WEFT_SPMM_SUM; reduction <= (i == 0 ? WEFT_SPMM_MAX : WEFT_SPMM_MEAN);
             reduction++)
            if (takes_groups_of(4))
                run_on(ctx, &(spmm_host_case){.m = 100,
                                              .k = 211,
                                              .n = 23,
                                              .mean = 13,
                                              .longest = 200,
                                              .alpha = 0.3,
                                              .beta = 1,
                                              .reduction = (weft_spmm_reduction)reduction,
                                              .tiling = tilings[i]});
}

// Blocks without entries add alpha times nothing; without alpha, k or entries nothing is read.
static void test_nothing_to_add(void **state)
{
    (void)state;
    const spmm_host_case cases[] = {
        {.m = 40, .k = 30, .n = 20, .mean = 0, .longest = 9, .alpha = -1},
        {.m = 40, .k = 30, .n = 20, .mean = 0, .longest = 9, .alpha = INFINITY, .beta = 1},
        {.m = 40, .k = 30, .n = 20, .mean = 0, .alpha = INFINITY, .beta = 0.5},
        {.m = 40, .k = 30, .n = 20, .mean = 3, .alpha = 0, .beta = -1, .has_bias = true},
        {.m = 40, .k = 0, .n = 20, .alpha = 1, .beta = 2},
        {.m = 40, .k = 0, .n = 20, .alpha = 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_on(ctx, &cases[i]);
    spmm_host_operands o;
    for (int i = 0; i < 2; i++) {
        spmm_host_create(&o, ctx, &(spmm_host_case){.m = i, .k = 3, .n = 1 - i, .mean = 1});
        assert_ok(spmm_host_call(&o, 1));
        assert_int_equal(o.done, i);
        assert_memory_equal(o.c_memory, o.c_before, o.c_bytes);
        spmm_host_destroy(&o);
    }
}

// Operands of twenty times the memory that the call may use.
static void test_twenty_times_the_memory(void **state)
{
    (void)state;
    const spmm_host_case of = {.m = is_reduced ? 1500 : 20000,
                               .k = is_reduced ? 300 : 3000,
                               .n = is_reduced ? 64 : 256,
                               .mean = 16,
                               .alpha = 1,
                               .beta = 1};
    spmm_host_operands o;
    spmm_host_blocks blocks;
    spmm_host_create(&o, ctx, &of);
    const uint64_t bytes = (uint64_t)(o.A.nnz * 8 + 4 * (of.m + 1) + 4 * (of.m + of.k) * of.n);
    spmm_host_want(&o);
    assert_true(spmm_host_blocks_of(&blocks, &o, bytes / 20));
    assert_in_range(blocks.n_rows, 5, 100000);
    assert_in_range(blocks.n_columns, 2, 1000);
    assert_ok(spmm_host_call(&o, bytes / 20));
    spmm_host_check(&o);
    spmm_host_destroy(&o);
}

static void refuse_call(spmm_host_operands *o, weft_status wanted, const char *words)
{
    assert_int_equal(spmm_host_call(o, 1 << 20), wanted);
    assert_says(words);
    assert_int_equal(o->done, 0);
    assert_memory_equal(o->c_memory, o->c_before, o->c_bytes);
}

static void test_refused_operands(void **state)
{
    (void)state;
    spmm_host_operands o;
    spmm_host_create(&o, ctx, &(spmm_host_case){.m = 9, .k = 8, .n = 7, .mean = 2, .alpha = 1});
    const weft_host_tensor B = o.B;
    o.B.shape[0] = 9;
    refuse_call(&o, WEFT_BAD_SHAPE, "spmm_host: op(A) is 9 x 8, B has 9 rows");
    o.B.ndim = 3;
    refuse_call(&o, WEFT_BAD_SHAPE, "spmm_host: B has 3 dimensions: 2, or 1: a vector, is wanted");
    o.B = B;
    o.B.dtype = WEFT_F16;
    refuse_call(&o, WEFT_BAD_DTYPE, "spmm_host: A is f32, B f16, C f32");
    o.B = B;
    o.B.data = NULL;
    refuse_call(&o, WEFT_BAD_ARGUMENT, "spmm_host: B has no data: it is NULL");
    o.B.data = o.C.data;
    refuse_call(&o, WEFT_BAD_BUFFER, "spmm_host: C overlaps B in the host's memory");
    o.B = B;
    o.C.stride[0] = 1;
    refuse_call(&o, WEFT_BAD_SHAPE, "spmm_host: C");
    o.C.stride[0] = 7;
    o.of.tiling = "vector_width 1, vectors 1, lanes 1, rows_per_group 1, load 1, unroll 1, "
                  "row_chunk 9, packed";
    refuse_call(&o, WEFT_BAD_ARGUMENT, "spmm_host: tiling.tasks is 0, packed");
    o.of.tiling =
        "vector_width 3, vectors 1, lanes 1, rows_per_group 1, load 1, unroll 1, row_chunk 9";
    refuse_call(&o, WEFT_BAD_ARGUMENT, "spmm_host: tiling.vector_width is 3");
    o.of.tiling = NULL;
    ((int32_t *)o.A.offsets)[4] = 100;
    refuse_call(&o, WEFT_BAD_DATA, "spmm_host: A: row 3 ends at offset 100");
    assert_int_equal(weft_spmm_host(ctx, 1, NULL, &o.B, 0, &o.C, NULL), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_spmm_host(NULL, 1, &o.A, &o.B, 0, &o.C, NULL), WEFT_BAD_ARGUMENT);
    spmm_host_destroy(&o);
}

static void test_too_little_memory(void **state)
{
    (void)state;
    spmm_host_operands o;
    spmm_host_create(
        &o, ctx,
        &(spmm_host_case){.m = 50, .k = 80, .n = 70, .mean = 2, .longest = 500, .alpha = 1});
    assert_int_equal(spmm_host_call(&o, 4096), WEFT_NO_MEMORY);
    assert_says("and row 37 of A and C takes ");
    assert_says(" are needed, 4096 are allowed");
    assert_memory_equal(o.c_memory, o.c_before, o.c_bytes);
    spmm_host_destroy(&o);
}

// A context that checks matrices finds columns out of range on the host, and else computes the
// same.
static void test_checked_matrices(void **state)
{
    (void)state;
    weft_context *careful;
    assert_ok(weft_context_open(&careful, WEFT_CONTEXT(.cache_dir = "", .check_matrices = true)));
    spmm_host_operands o;
    spmm_host_create(&o, careful,
                     &(spmm_host_case){.m = 60, .k = 80, .n = 30, .mean = 4, .alpha = 1});
    spmm_host_want(&o);
    assert_ok(spmm_host_call(&o, spmm_host_least(&o)));
    spmm_host_check(&o);
    ((int32_t *)o.A.indices)[3] = 80;
    refuse_call(&o, WEFT_BAD_DATA, "entry 3 has column 80, the matrix has 80 columns");
    spmm_host_destroy(&o);
    weft_context_destroy(&careful);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") != NULL;
    ctx = open_context(NULL);
    wide = open_context(weft_profile_find("nvidia-a100"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_data_types),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_row_chunks),
        cmocka_unit_test(test_nothing_to_add),
        cmocka_unit_test(test_twenty_times_the_memory),
        cmocka_unit_test(test_refused_operands),
        cmocka_unit_test(test_too_little_memory),
        cmocka_unit_test(test_checked_matrices),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&wide);
    weft_context_destroy(&ctx);
    return failed;
}
