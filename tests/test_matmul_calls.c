// SPDX-License-Identifier: Apache-2.0
// What weft_matmul() refuses, each in a sentence and without enqueuing anything.
#include "dense/matmul_tiling.h"
#include "matmul_good.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static cl_command_queue queue;
static matmul_operands o; // of the running test

static int make_operands(void **state)
{
    (void)state;
    matmul_create(&o, ctx, queue, &matmul_good_case);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    matmul_destroy(&o);
    return 0;
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        matmul_good c;                                                                             \
        matmul_good_make(&c, &o);                                                                  \
        change;                                                                                    \
        matmul_refuse(&c, &o, status, part);                                                       \
    } while (0)

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    matmul_good c;
    matmul_good_make(&c, &o);
    assert_ok(matmul_good_call(&c, &c.params));
    matmul_check(&o);
}

static void test_arguments(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "matmul: params.n_inputs is -1, 0 to 4", c.params.n_inputs = -1);
    REFUSE(bad, "matmul: params.n_inputs is 5, 0 to 4", c.params.n_inputs = 5);
    REFUSE(bad, "matmul: params.n_values is -1, 0 to 16", c.params.n_values = -1);
    REFUSE(bad, "matmul: params.n_values is 17, 0 to 16", c.params.n_values = 17);
    REFUSE(bad, "params.n_inputs is 2, but params.inputs is NULL", c.params.inputs = NULL);
    REFUSE(bad, "params.n_values is 2, but params.values is NULL", c.params.values = NULL);
    REFUSE(bad, "input x1 is NULL", c.inputs[1].tensor = NULL);
    REFUSE(bad, "2 inputs and 2 values, but params.epilogue is NULL", c.params.epilogue = NULL);
    assert_int_equal(weft_matmul(ctx, queue, 1, NULL, &o.b.t, 0, &o.c.t, NULL), bad);
    assert_says("matmul: A is NULL");
    assert_int_equal(weft_matmul(ctx, queue, 1, &o.a.t, NULL, 0, &o.c.t, NULL), bad);
    assert_says("matmul: B is NULL");
    assert_int_equal(weft_matmul(ctx, queue, 1, &o.a.t, &o.b.t, 0, NULL, NULL), bad);
    assert_says("matmul: C is NULL");
}

static void test_names(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "'x1', is there twice", c.inputs[0].name = "x1");
    REFUSE(bad, "'c', is there twice", c.inputs[0].name = "c");
    REFUSE(bad, "'x0', is there twice", c.values[0].name = "x0");
    REFUSE(bad, "'c', is there twice", c.values[1].name = "c");
    REFUSE(bad, "'1st', is no identifier", c.inputs[0].name = "1st");
    REFUSE(bad, "'exp', is a function", c.inputs[1].name = "exp");
    REFUSE(bad, "'float4', is a word of OpenCL C", c.values[0].name = "float4");
    REFUSE(bad, "the name of input 1 is NULL", c.inputs[1].name = NULL);
    REFUSE(bad, "the name of value 0 is NULL", c.values[0].name = NULL);
}

// The sentence shows the caller's text.
static void test_formulas(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "c + + ;", c.params.epilogue = "c + + ;");
    REFUSE(bad, "v0 * c + w", c.params.epilogue = "v0 * c + w"); // unknown
    REFUSE(bad, "column 10", c.params.epilogue = "v0 * c + w");
    REFUSE(bad, "sqrt(c, x0)", c.params.epilogue = "sqrt(c, x0)");
    REFUSE(bad, "c = x0", c.params.epilogue = "c = x0");
    REFUSE(bad, "c[0]", c.params.epilogue = "c[0]");
    REFUSE(bad, "matmul", c.params.epilogue = "");
    REFUSE(WEFT_BAD_DTYPE, "\"c & x0\" has & | ^", c.params.epilogue = "c & x0");
    REFUSE(bad, "c * v2", c.params.epilogue = "c * v2");
    REFUSE(bad, "c * x2", c.params.epilogue = "c * x2");
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_SHAPE;
    REFUSE(bad, "A is 5 x 6, B is 5 x 4", c.B.shape[0] = 5);
    REFUSE(bad, "A B is 4 x 4, C is 5 x 4", c.A.shape[1] = 4);
    REFUSE(bad, "A B is 5 x 3, C is 5 x 4", c.B.shape[1] = 3);
    REFUSE(bad, "A has 1 dimensions", c.A.ndim = 1);
    REFUSE(bad, "B has 0 dimensions", c.B.ndim = 0);
    REFUSE(bad, "C has 1 dimensions", c.C.ndim = 1);
    REFUSE(bad, "A [2 x 5 x 6] does not broadcast to C [1 x 5 x 4]", c.C.shape[0] = 1);
    REFUSE(
        bad, "A [2 x 5 x 6] does not broadcast to C [5 x 4]",
        (c.C.ndim = 2, c.C.shape[0] = 5, c.C.shape[1] = 4, c.C.stride[0] = 4, c.C.stride[1] = 1));
    REFUSE(bad, "input x0 [3] does not broadcast to C [2 x 5 x 4]", c.x[0].shape[0] = 3);
    REFUSE(bad, "input x1 [2 x 4 x 1] does not broadcast to C [2 x 5 x 4]", c.x[1].shape[1] = 4);
}

static void test_extents_beyond_the_kernels(void **state)
{
    (void)state;
    const int64_t most = INT32_MAX - 4096;
    weft_tensor A = {.buffer = o.a.t.buffer, .ndim = 2, .shape = {2, most + 1}};
    weft_tensor B = {.buffer = o.b.t.buffer, .ndim = 2, .shape = {most + 1, 3}};
    weft_tensor C = {.buffer = o.c.t.buffer, .ndim = 2, .shape = {2, 3}, .stride = {3, 1}};
    assert_int_equal(weft_matmul(ctx, queue, 1, &A, &B, 0, &C, NULL), WEFT_BAD_SHAPE);
    assert_says("m 2, n 3, k 2147479552; at most 2147479551 each");
    matmul_expect_untouched(&o);
}

static void test_types(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_DTYPE;
    REFUSE(bad, "A is f32, B bf16", c.B.dtype = WEFT_BF16);
    REFUSE(bad, "A is f16, B f32", c.A.dtype = WEFT_F16);
    if (weft_context_limits(ctx)->has_f64)
        REFUSE(bad, "A is f32, C f64", (c.C.dtype = WEFT_F64, c.C.offset = 0));
    REFUSE(bad, "A is f32, C i32", c.C.dtype = WEFT_I32);
    REFUSE(bad, "A is u8", c.A.dtype = c.B.dtype = WEFT_U8);
    REFUSE(bad, "A is i32", c.A.dtype = c.B.dtype = c.C.dtype = WEFT_I32);
    REFUSE(bad, "A is i8, C f32", c.A.dtype = c.B.dtype = WEFT_I8);
    REFUSE(bad, "A is i8, C i8; i32 is wanted", c.A.dtype = c.B.dtype = c.C.dtype = WEFT_I8);
}

// ---- whole numbers

// alpha, beta and values must be whole, and fit.
static void refuse_whole(double alpha, double beta, double value, const char *part)
{
    matmul_good c;
    matmul_good_make(&c, &o);
    c.A.dtype = c.B.dtype = WEFT_I8;
    c.C.dtype = c.x[0].dtype = c.x[1].dtype = WEFT_I32;
    c.alpha = alpha;
    c.beta = beta;
    c.values[0].value = value;
    c.values[1].value = 3;
    matmul_refuse(&c, &o, WEFT_BAD_ARGUMENT, part);
}

static void test_scalars_that_are_not_whole(void **state)
{
    (void)state;
    refuse_whole(0.5, 0, 2, "alpha is 0.5");
    refuse_whole(1, -1.25, 2, "beta is -1.25");
    refuse_whole(0x1p31, 0, 2, "alpha is 2147483648");
    refuse_whole(1, -0x1p31 - 1, 2, "beta is -2147483649");
    refuse_whole((double)NAN, 0, 2, "alpha is nan");
    refuse_whole(1, (double)INFINITY, 2, "beta is inf");
    refuse_whole(1, 0, 0.5, "v0 is 0.5");
    refuse_whole(1, 0, 0x1p40, "v0 is 1099511627776");
}

// So must the numbers in a formula.
static void refuse_literal(const char *epilogue, const char *part)
{
    matmul_good c;
    matmul_good_make(&c, &o);
    c.A.dtype = c.B.dtype = WEFT_I8;
    c.C.dtype = c.x[0].dtype = c.x[1].dtype = WEFT_I32;
    c.alpha = c.values[0].value = c.values[1].value = 1;
    c.beta = 0;
    c.params.epilogue = epilogue;
    matmul_refuse(&c, &o, WEFT_BAD_ARGUMENT, part);
}

static void test_literals_that_do_not_fit(void **state)
{
    (void)state;
    refuse_literal("c + 3000000000", "matmul: column 5: the number 3000000000 is beyond i32");
    refuse_literal("c - 2147483648", "column 5: the number 2147483648 is beyond i32");
    refuse_literal("c + -2147483649", "column 6: the number -2147483649 is beyond i32");
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *there = open_context(&limits);
    cl_mem memory[4];
    for (int i = 0; i < 4; i++)
        memory[i] = strided_zeros(there, 128, CL_MEM_READ_WRITE);
    weft_tensor A = weft_matrix(memory[0], WEFT_F64, 2, 3);
    weft_tensor B = weft_matrix(memory[1], WEFT_F64, 3, 4);
    weft_tensor C = weft_matrix(memory[2], WEFT_F64, 2, 4);
    const weft_tensor x = weft_matrix(memory[3], WEFT_F64, 2, 4);
    cl_command_queue on = weft_context_queue(there);
    assert_int_equal(weft_matmul(there, on, 1, &A, &B, 0, &C, NULL), WEFT_UNSUPPORTED);
    assert_says("C is f64, which");
    A.dtype = B.dtype = C.dtype = WEFT_F32;
    assert_int_equal(weft_matmul(there, on, 1, &A, &B, 0, &C,
                                 WEFT_MATMUL(.epilogue = "c + x", WEFT_MATMUL_WITH({"x", &x}))),
                     WEFT_UNSUPPORTED);
    assert_says("input x is f64, which");
    assert_int_equal(weft_context_get_stats(there).launches, 0);
    for (int i = 0; i < 4; i++)
        clReleaseMemObject(memory[i]);
    weft_context_destroy(&there);
}

// ---- buffers

static void test_outputs_that_overlap_inputs(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_BUFFER;
    REFUSE(bad, "overlaps A", (c.A = c.C, c.A.shape[2] = 6));
    REFUSE(bad, "overlaps A", (c.A = c.C, c.B.shape[0] = 4)); // not even as the same view
    REFUSE(bad, "overlaps input x1", (c.x[1] = c.C, c.x[1].offset++, c.x[1].shape[2] = 1));
    REFUSE(bad, "overlaps input x1", (c.x[1] = c.C, c.x[1].shape[0] = 1));
    REFUSE(bad, "overlaps input x0", (c.x[0] = c.C, c.x[0].dtype = WEFT_I32));
}

// Side by side in one buffer, A and B one matrix, and one input twice.
static void test_operands_that_share(void **state)
{
    (void)state;
    matmul_good c;
    matmul_good_make(&c, &o);
    cl_mem shared = strided_zeros(ctx, 4096, CL_MEM_READ_WRITE);
    c.A = c.C = weft_matrix(shared, WEFT_F32, 6, 6);
    c.C.offset = 36;
    c.B = weft_tensor_transposed(&c.A);
    c.x[0] = c.x[1] = c.C;
    assert_ok(matmul_good_call(&c, &c.params));
    c.x[1] = c.A;
    assert_ok(matmul_good_call(&c, &c.params));
    c.A.stride[0] = c.B.stride[1] = c.C.stride[0] = 12; // columns in turns
    c.C.offset = 6;
    c.x[0] = c.x[1] = c.C;
    assert_ok(matmul_good_call(&c, &c.params));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(shared);
}

// ---- tilings and scratch memory

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    weft_matmul_tiling t = matmul_in_chunks;
    t.vector_width = 3;
    REFUSE(bad, "matmul: tiling.vector_width is 3", c.params.tiling = TILING_TEXT(matmul, &t));
    t = matmul_in_chunks;
    t.vectors = 9;
    REFUSE(bad, "matmul: tiling.vectors is 9", c.params.tiling = TILING_TEXT(matmul, &t));
    t = matmul_in_chunks;
    t.items = 1 << 20;
    REFUSE(bad, "tiling.items", c.params.tiling = TILING_TEXT(matmul, &t));
    t = matmul_in_chunks;
    t.chunk = 0;
    REFUSE(bad, "tiling.chunk is 0", c.params.tiling = TILING_TEXT(matmul, &t));
    t = matmul_in_chunks;
    t.method = WEFT_MATMUL_ROWS;
    REFUSE(bad, "tiling.method is rows: neighbours along n are adjacent then in B",
           (c.params.tiling = TILING_TEXT(matmul, &t), c.B = weft_tensor_transposed(&c.B),
            c.B.shape[0] = 6, c.B.shape[1] = 4));
    t = matmul_in_chunks;
    t.method = (weft_matmul_method)4;
    REFUSE(bad, "matmul: tiling: there is no method '4', at character 8",
           c.params.tiling = TILING_TEXT(matmul, &t));
}

// alpha 0 reads nothing, but A and B must be sound all the same.
static void test_factors_that_are_not_read(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_BUFFER, "A: the buffer is NULL", (c.alpha = 0, c.A.buffer = NULL));
    REFUSE(WEFT_BAD_BUFFER, "B [6 x 4] needs", (c.alpha = 0, c.B.offset += 100));
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

// With k 0, strides and offsets of A and B may be anything: no arithmetic of theirs overflows.
static void test_factors_without_elements(void **state)
{
    (void)state;
    const float ones[18] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[18] = {0};
    float found[18];
    cl_mem memory = strided_zeros(ctx, sizeof(ones), CL_MEM_READ_WRITE);
    assert_int_equal(
        clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof(ones), ones, 0, NULL, NULL),
        CL_SUCCESS);
    const weft_tensor A = {NULL, WEFT_F32, INT64_MAX, 3, {3, 2, 0}, {INT64_MAX, INT64_MIN, 1}};
    const weft_tensor B = {NULL, WEFT_F32, 1, 3, {3, 0, 3}, {INT64_MIN, 3, INT64_MAX}};
    const weft_tensor C = {memory, WEFT_F32, 12, 3, {3, 2, 3}, {-6, 3, 1}};
    if (weft_matmul(ctx, queue, 1, &A, &B, 0, &C, NULL) != WEFT_OK)
        fail_msg("%s", weft_last_error());
    assert_int_equal(
        clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL),
        CL_SUCCESS);
    assert_memory_equal(found, zeros, sizeof(zeros));
    clReleaseMemObject(memory);
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_a_good_call_is_good),
        with_operands(test_arguments),
        with_operands(test_names),
        with_operands(test_formulas),
        with_operands(test_shapes_that_disagree),
        with_operands(test_extents_beyond_the_kernels),
        with_operands(test_types),
        with_operands(test_scalars_that_are_not_whole),
        with_operands(test_literals_that_do_not_fit),
        with_operands(test_f64_where_there_is_none),
        with_operands(test_outputs_that_overlap_inputs),
        with_operands(test_operands_that_share),
        with_operands(test_tilings_that_do_not_serve),
        with_operands(test_factors_that_are_not_read),
        with_operands(test_factors_without_elements),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
