// SPDX-License-Identifier: Apache-2.0
// What weft_spmm() refuses, each in a sentence and without enqueuing anything; how much scratch
// memory it wants; what it says that it would do; and products that are empty.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static spmm_operands o; // of the running test: A 5 x 6, n 4, a batch of 2

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr A;
    weft_tensor B, C;
    weft_spmm_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const spmm_case of = {.seed = 3,
                          .m = 5,
                          .k = 6,
                          .n = 4,
                          .n_batches = 2,
                          .rows = ROWS_FULL,
                          .alpha = 1,
                          .beta = 1};
    spmm_create(&o, ctx, queue, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    spmm_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){ctx, queue, o.A, o.B, o.C, spmm_params(&o)};
}

// The call fails, says so, enqueues nothing, hands out no event and leaves C alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_spmm_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = weft_spmm(c->ctx, c->queue, 1, &c->A, &c->B, 1, &c->C, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = spmm_read(&o);
    assert_memory_equal(after, o.c_before, o.c_bytes);
    free(after);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    spmm_call(&o);
    spmm_check(&o);
}

// Later calls build nothing, and take their own beta.
static void test_calls_that_are_remembered(void **state)
{
    (void)state;
    spmm_call(&o);
    const uint64_t built = weft_context_get_stats(ctx).programs_built;
    for (int i = 0; i < 3; i++) {
        o.of.beta = 1 - i;
        spmm_restore(&o);
        spmm_call(&o);
        spmm_check(&o);
    }
    assert_int_equal(weft_context_get_stats(ctx).programs_built, built);
}

// Whether one stands where another stood or not.
static void test_plan_objects_are_told_apart(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        char text[512];
        call c = good_call();
        weft_spmm_plan *plan;
        assert_ok(weft_spmm_plan_create(&plan, ctx, queue, &o.A,
                                        WEFT_SPMM_PLAN(.row_chunk = i % 2 == 0 ? 2 : 0)));
        c.params.plan = plan;
        assert_true(weft_spmm_describe(ctx, &c.A, &c.B, &c.C, &c.params, text, sizeof(text)) > 0);
        assert_non_null(strstr(text, i % 2 == 0 ? ", 15 row chunks" : ", 0 row chunks"));
        spmm_restore(&o);
        assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 1, &c.C, &c.params));
        spmm_check(&o);
        weft_spmm_plan_destroy(&plan);
    }
}

static void test_nulls(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    assert_int_equal(weft_spmm(ctx, queue, 1, NULL, &o.B, 0, &o.C, NULL), status);
    assert_says("spmm: A is NULL");
    assert_int_equal(weft_spmm(ctx, queue, 1, &o.A, NULL, 0, &o.C, NULL), status);
    assert_says("spmm: B is NULL");
    assert_int_equal(weft_spmm(ctx, queue, 1, &o.A, &o.B, 0, NULL, NULL), status);
    assert_says("spmm: C is NULL");
}

static void test_values_that_a_batch_passes(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_BUFFER, "spmm: A's values", c.A.values_batch_stride = 1000);
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    REFUSE(status, "B has 1 dimensions and C 3", c.B.ndim = 1);
    REFUSE(status, "B has 3 dimensions and C 2", c.C.ndim = 2);
    REFUSE(status, "op(A) is 5 x 6, B has 5 rows", c.B.shape[1] = 5);
    REFUSE(status, "op(A) B is 5 x 4, C is 4 x 4", c.C.shape[1] = 4);
    REFUSE(status, "B has 1 dimensions and C 2", (c.B.ndim = 1, c.C.ndim = 2));
    REFUSE(status, "op(A) is 5 x 6, B has 7 rows",
           (c.B.ndim = c.C.ndim = 1, c.B.shape[0] = 7, c.B.stride[0] = 1, c.C.stride[0] = 1));
    REFUSE(status, "op(A) B is 5 x 1, C is 4 x 1",
           (c.B.ndim = c.C.ndim = 1, c.B.shape[0] = 6, c.C.shape[0] = 4, c.C.stride[0] = 1));
    REFUSE(status, "op(A) B is 5 x 3, C is 5 x 4", c.B.shape[2] = 3);
    REFUSE(status, "B is a batch of 1, C of 2", c.B.shape[0] = 1);
}

// Nothing is read of matrices without an element, but n is too large all the same.
static void test_extents_beyond_the_kernels(void **state)
{
    (void)state;
    const int64_t n = INT32_MAX - 4095;
    const weft_csr A = {.offsets = o.A.offsets};
    const weft_tensor B = {.ndim = 2, .shape = {0, n}, .stride = {n, 1}};
    assert_int_equal(weft_spmm(ctx, queue, 1, &A, &B, 0, &B, NULL), WEFT_BAD_SHAPE);
    assert_says("n 2147479552; at most 2147479551");
}

static void test_types_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_DTYPE, "A is f32, B bf16, C f32", c.B.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "A is f32, B f32, C f16", c.C.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "A is f16, B f16, C bf16",
           (c.A.dtype = c.B.dtype = WEFT_F16, c.C.dtype = WEFT_BF16));
    REFUSE(WEFT_BAD_DTYPE, "A is f16, B f16, C f64",
           (c.A.dtype = c.B.dtype = WEFT_F16, c.C.dtype = WEFT_F64));
    REFUSE(WEFT_BAD_DTYPE, "A is f16, B f32, C f32", c.A.dtype = WEFT_F16);
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    spmm_operands p;
    const spmm_case of = {.m = 2, .k = 2, .n = 2, .dtype = WEFT_F32};
    spmm_create(&p, other, weft_context_queue(other), &of);
    p.A.dtype = p.B.dtype = p.C.dtype = WEFT_F64;
    p.B.offset = p.C.offset = 0; // the buffers are long enough for that
    assert_int_equal(weft_spmm(other, p.queue, 1, &p.A, &p.B, 0, &p.C, NULL), WEFT_UNSUPPORTED);
    assert_says("spmm: A, B and C are f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    spmm_destroy(&p);
    weft_context_destroy(&other);
}

// One buffer with, for each matrix of the batch, A's values and then C.
static void test_values_and_results_by_turns(void **state)
{
    (void)state;
    enum { VALUES = 30, RESULTS = 20, BOTH = VALUES + RESULTS };
    cl_mem shared = buffer_zeroed(ctx, 4096, CL_MEM_READ_WRITE);
    call c = good_call();
    c.A.values = c.C.buffer = shared;
    c.A.values_start = 0;
    c.A.values_batch_stride = c.C.stride[0] = BOTH;
    c.C.offset = VALUES;
    c.C.stride[1] = RESULTS / 5;
    c.C.stride[2] = 1;
    c.params.event = NULL;
    assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 0, &c.C, &c.params));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    c.C.offset = VALUES - 1;
    refuse(&c, WEFT_BAD_BUFFER, "overlaps A's values");
    clReleaseMemObject(shared);
}

static void test_plans_and_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_spmm_problem problem = spmm_problem(&o);
    weft_spmm_tiling tiling = weft_spmm_tiling_for(weft_context_limits(ctx), &problem);
    REFUSE(WEFT_BAD_SHAPE, "op(A) is 6 x 5", c.params.transpose_a = true);
    REFUSE(WEFT_BAD_ARGUMENT, "A^T requires a plan",
           (c.params.transpose_a = true, c.A.n_rows = 6, c.A.n_cols = 5));
    tiling.unroll = 5;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.unroll is 5", c.params.tiling = TILING_TEXT(spmm, &tiling));
    tiling.unroll = 1;
    tiling.vector_width = 8;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.vector_width is 8",
           c.params.tiling = TILING_TEXT(spmm, &tiling));
    tiling.vector_width = 1;
    tiling.lanes = 1 << 20;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.lanes is 1048576",
           c.params.tiling = TILING_TEXT(spmm, &tiling));
}

// ---- scratch memory

static weft_spmm_tiling cutting_tiling(bool is_packed)
{
    return (weft_spmm_tiling){.vector_width = 2,
                              .vectors = 2,
                              .lanes = 1,
                              .rows_per_group = 2,
                              .load = 1,
                              .unroll = 1,
                              .row_chunk = 2,
                              .packed = is_packed};
}

static void check_workspace(bool is_packed)
{
    const weft_spmm_tiling tiling = cutting_tiling(is_packed);
    call c = good_call();
    size_t bytes = 0;
    c.params.tiling = TILING_TEXT(spmm, &tiling);
    assert_ok(weft_spmm_workspace(ctx, &c.A, &c.B, &c.C, &c.params, &bytes));
    assert_true(bytes >= 15 * 4 * 2 * sizeof(float)); // row chunks of A, columns, matrices
    cl_mem enough = buffer_zeroed(ctx, bytes, CL_MEM_READ_WRITE);
    c.params.workspace = enough;
    assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 1, &c.C, &c.params));
    spmm_check(&o);
    clReleaseMemObject(enough);
}

static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    check_workspace(false);
    spmm_restore(&o);
    check_workspace(true);
}

static void test_no_workspace_where_none_is_needed(void **state)
{
    (void)state;
    size_t bytes = 1;
    assert_ok(weft_spmm_workspace(ctx, &o.A, &o.B, &o.C, NULL, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(weft_spmm_workspace(ctx, &o.A, &o.B, &o.C, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_says("bytes is NULL");
    weft_tensor B = o.B;
    B.shape[1] = 7;
    bytes = 1;
    assert_int_equal(weft_spmm_workspace(ctx, &o.A, &B, &o.C, NULL, &bytes), WEFT_BAD_SHAPE);
    assert_int_equal(bytes, 0);
}

// The pool is bounded, and says by what.
static void test_scratch_memory_is_bounded(void **state)
{
    (void)state;
    weft_context *other;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = 64)));
    const weft_spmm_tiling tiling = cutting_tiling(false);
    spmm_operands p;
    spmm_create(&p, other, weft_context_queue(other), &o.of);
    assert_int_equal(weft_spmm(other, p.queue, 1, &p.A, &p.B, 1, &p.C,
                               WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling))),
                     WEFT_NO_MEMORY);
    assert_says("64 are allowed (scratch_bytes");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    spmm_destroy(&p);
    weft_context_destroy(&other);
}

// Nobody has seen the rows: they could be long, and none is. Scratch memory for row chunks is no
// reason to fail.
static void test_short_rows_need_no_scratch_memory(void **state)
{
    (void)state;
    weft_context *other;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = 64)));
    const spmm_case of = {
        .seed = 11, .m = 3000, .k = 9000, .n = 2, .rows = ROWS_SPARSE, .alpha = 1};
    spmm_operands p;
    spmm_create(&p, other, weft_context_queue(other), &of);
    assert_true(p.A.nnz > 9000);
    assert_ok(weft_spmm(other, p.queue, 1, &p.A, &p.B, 0, &p.C, NULL)); // by the pool
    spmm_check(&p);
    spmm_destroy(&p);
    weft_context_destroy(&other);
}

// ---- words

static void test_describe(void **state)
{
    (void)state;
    char text[512], tiling_text[256], little[8];
    weft_spmm_tiling tiling = cutting_tiling(false);
    tiling.row_split = tiling.rows_per_item = 1; // as 0 counts
    const weft_spmm_params *params = WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling));
    const int length = weft_spmm_describe(ctx, &o.A, &o.B, &o.C, params, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    weft_spmm_tiling_print(&tiling, tiling_text, sizeof(tiling_text));
    assert_true(strncmp(text, tiling_text, strlen(tiling_text)) == 0);
    assert_non_null(strstr(text, "no plan"));
    assert_non_null(strstr(text, "15 row chunks of long rows"));
    assert_int_equal(weft_spmm_describe(ctx, &o.A, &o.B, &o.C, params, little, sizeof(little)),
                     length);
    assert_int_equal(strlen(little), sizeof(little) - 1);
    assert_int_equal(weft_spmm_describe(ctx, &o.A, &o.B, &o.C, params, NULL, 0), length);
    assert_int_equal(weft_spmm_describe(ctx, NULL, &o.B, &o.C, params, text, sizeof(text)), -1);
    assert_says("A is NULL");
}

// ---- nothing to do

// Whatever the empty extent is, the call succeeds and its event completes.
static void check_empty(const weft_csr *A, const weft_tensor *B, const weft_tensor *C)
{
    cl_event done = NULL;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(weft_spmm(ctx, queue, 1, A, B, 0, C, WEFT_SPMM(.event = &done)));
    assert_non_null(done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    char text[512];
    assert_true(weft_spmm_describe(ctx, A, B, C, NULL, text, sizeof(text)) > 0);
}

static void test_empty_products(void **state)
{
    (void)state;
    call c = good_call();
    c.B.shape[0] = c.C.shape[0] = 0;
    check_empty(&c.A, &c.B, &c.C);
    c = good_call();
    c.B.shape[2] = c.C.shape[2] = 0;
    c.B.buffer = c.C.buffer = NULL;
    check_empty(&c.A, &c.B, &c.C);
    c.A = (weft_csr){.n_cols = 6, .offsets = o.A.offsets};
    c.B = o.B;
    c.C.shape[1] = 0;
    c.C.shape[2] = 4;
    check_empty(&c.A, &c.B, &c.C);
}

// Entries in a matrix without columns: what they say is not read.
static void test_no_columns(void **state)
{
    (void)state;
    call c = good_call();
    c.A.n_cols = c.B.shape[1] = 0;
    c.B.buffer = NULL;
    assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 1, &c.C, NULL));
    void *after = spmm_read(&o);
    assert_memory_equal(after, o.c_before, o.c_bytes);
    free(after);
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_a_good_call_is_good),
        with_operands(test_calls_that_are_remembered),
        with_operands(test_plan_objects_are_told_apart),
        with_operands(test_nulls),
        with_operands(test_values_that_a_batch_passes),
        with_operands(test_shapes_that_disagree),
        with_operands(test_extents_beyond_the_kernels),
        with_operands(test_types_that_disagree),
        with_operands(test_f64_where_there_is_none),
        with_operands(test_values_and_results_by_turns),
        with_operands(test_plans_and_tilings_that_do_not_serve),
        with_operands(test_workspace_of_the_size_asked_for),
        with_operands(test_no_workspace_where_none_is_needed),
        with_operands(test_scratch_memory_is_bounded),
        with_operands(test_short_rows_need_no_scratch_memory),
        with_operands(test_describe),
        with_operands(test_empty_products),
        with_operands(test_no_columns),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
