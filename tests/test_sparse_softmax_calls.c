// SPDX-License-Identifier: Apache-2.0
// What softmax over sparse rows refuses, each in a sentence and without enqueuing anything; how
// much scratch memory it wants; what it says that it would do; and calls with nothing to do.
#include "sparse/sparse_softmax_plan.h"
#include "sparse_softmax_case.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;
static sparse_operands o; // of the running test: backward, a batch of 2

// Every kernel of a call.
static const weft_sparse_softmax_tiling cutting = {
    .vector_width = 4, .lanes = 1, .rows_per_group = 1, .cache = 16, .chunk = 40, .row_chunk = 9};

// One call with everything that it is given: Y is the CSR's values.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    double scale;
    weft_csr Y;
    weft_tensor dY, dX;
    weft_sparse_softmax_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const sparse_case of = {.seed = 2, // from where workspaces of the caller's are brought
                            .n_rows = 5,
                            .longest = 6,
                            .n_batches = 2,
                            .rows = ROWS_FULL,
                            .is_backward = true,
                            .scale = 1};
    sparse_operands_create(&o, ctx, queue, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    sparse_operands_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){ctx, queue, 1, o.csr, o.dY, o.out, sparse_params(&o)};
}

// All zero: Oclgrind's check for uninitialised memory wants buffers that the host has written.
static cl_mem new_buffer(weft_context *of, size_t bytes, cl_mem_flags flags)
{
    cl_int code;
    void *zeros = calloc(bytes, 1);
    assert_non_null(zeros);
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(of), flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

static void check_untouched(const sparse_operands *p)
{
    void *after = sparse_target_now(p);
    assert_memory_equal(after, sparse_target(p)->before, sparse_target(p)->bytes);
    free(after);
}

// The backward call fails, says so, enqueues nothing, hands out no event and leaves dX alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_sparse_softmax_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status =
        weft_sparse_softmax_backward(c->ctx, c->queue, c->scale, &c->Y, &c->dY, &c->dX, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    check_untouched(&o);
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
    sparse_call(&o);
    sparse_check(&o);
}

static void test_nulls(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    assert_int_equal(weft_sparse_softmax(ctx, queue, 1, NULL, &o.out, NULL), status);
    assert_says("sparse_softmax: X is NULL");
    assert_int_equal(weft_sparse_softmax(ctx, queue, 1, &o.csr, NULL, NULL), status);
    assert_says("sparse_softmax: Y is NULL");
    assert_int_equal(weft_sparse_softmax_backward(ctx, queue, 1, NULL, &o.dY, &o.out, NULL),
                     status);
    assert_says("sparse_softmax_backward: Y is NULL");
    assert_int_equal(weft_sparse_softmax_backward(ctx, queue, 1, &o.csr, NULL, &o.out, NULL),
                     status);
    assert_says("sparse_softmax_backward: dY is NULL");
    assert_int_equal(weft_sparse_softmax_backward(ctx, queue, 1, &o.csr, &o.dY, NULL, NULL),
                     status);
    assert_says("sparse_softmax_backward: dX is NULL");
}

static void test_scales_that_are_not_finite(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_ARGUMENT, "scale is inf: a finite one", c.scale = INFINITY);
    REFUSE(WEFT_BAD_ARGUMENT, "scale is nan: a finite one", c.scale = fabs(NAN));
    REFUSE(WEFT_BAD_ARGUMENT, "scale is 1e+39: a finite one", c.scale = 1e39);
}

static void test_unsound_matrices(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "Y has 2147479552 rows; at most 2147479551",
           c.Y.n_rows = INT64_C(2147479552));
}

static void test_values_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "dY has 20 values, Y 30 entries", c.dY.shape[1] = 20);
    REFUSE(WEFT_BAD_SHAPE, "dX has 29 values, Y 30 entries", c.dX.shape[1] = 29);
    REFUSE(WEFT_BAD_SHAPE, "dX has 3 dimensions",
           (c.dX.ndim = 3, c.dX.shape[2] = 1, c.dX.stride[2] = 1));
    REFUSE(WEFT_BAD_SHAPE, "dY has 1 dimensions, dX 2",
           (c.dY.ndim = 1, c.dY.shape[0] = 30, c.dY.stride[0] = 1));
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of dY is 1, of dX 2", c.dY.shape[0] = 1);
    REFUSE(WEFT_BAD_SHAPE, "dY has stride 0 from value to value", c.dY.stride[1] = 0);
    REFUSE(WEFT_BAD_SHAPE, "dX has stride -1 from value to value",
           (c.dX.stride[1] = -1, c.dX.offset += 29));
    REFUSE(WEFT_BAD_DTYPE, "dY is bf16, Y f32", c.dY.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "dX is f16, Y f32", c.dX.dtype = WEFT_F16);
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    sparse_operands p;
    const sparse_case of = {.n_rows = 2, .longest = 8, .rows = ROWS_FULL, .scale = 1};
    sparse_operands_create(&p, other, weft_context_queue(other), &of);
    p.csr.dtype = p.out.dtype = WEFT_F64;
    p.out.offset = 0;
    p.csr.nnz = p.out.shape[0] = 4; // what the buffers are long enough for
    assert_int_equal(weft_sparse_softmax(other, p.queue, 1, &p.csr, &p.out, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("sparse_softmax: Y is f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    sparse_operands_destroy(&p);
    weft_context_destroy(&other);
}

// The output may be the values of a matrix, but not of one that each of the batch has.
static void test_values_of_one_matrix_for_a_batch(void **state)
{
    (void)state;
    cl_mem large = new_buffer(ctx, 1 << 12, CL_MEM_READ_WRITE);
    REFUSE(WEFT_BAD_BUFFER, "Y",
           (c.dX.buffer = c.Y.values = large, c.dX.offset = 0, c.Y.values_batch_stride = 0));
    clReleaseMemObject(large);
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_sparse_softmax_tiling t = cutting;
    t.vector_width = 5;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.vector_width is 5",
           c.params.tiling = TILING_TEXT(sparse_softmax, &t));
}

// ---- scratch memory

static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    size_t bytes;
    call c = good_call();
    c.params.tiling = TILING_TEXT(sparse_softmax, &cutting);
    c.Y.n_cols = 18; // a row may have 18 entries: no more than two row chunks of 9
    assert_ok(weft_sparse_softmax_workspace(ctx, &c.Y, &c.dX, &c.params, &bytes));
    assert_int_equal(bytes, 0);
    c.Y.n_cols = 19;
    assert_ok(weft_sparse_softmax_workspace(ctx, &c.Y, &c.dX, &c.params, &bytes));
    assert_int_equal(bytes, rounded(2 * 4 * 8)); // matrices, row chunks, and what each has found
    sparse_call(&o);
    sparse_check(&o);
}

static sparse_case heavy_case(uint64_t seed)
{
    return (sparse_case){.seed = seed,
                         .n_rows = 40,
                         .longest = is_reduced ? 30 : 200,
                         .rows = ROWS_RANDOM,
                         .numbers = STEEP,
                         .is_backward = seed % 2,
                         .place = APART,
                         .scale = 0.5,
                         .tiling = &cutting};
}

static void test_workspace_of_all_row_chunks(void **state)
{
    (void)state;
    sparse_operands p;
    const sparse_case of = heavy_case(1);
    size_t bytes;
    sparse_operands_create(&p, ctx, queue, &of);
    const weft_sparse_softmax_params params = sparse_params(&p);
    assert_ok(weft_sparse_softmax_workspace(ctx, &p.csr, &p.out, &params, &bytes));
    assert_int_equal(bytes, rounded((size_t)(p.nnz + 8) / 9 * 8));
    sparse_operands_destroy(&p);
}

static void test_workspace_of_bad_calls(void **state)
{
    (void)state;
    size_t bytes = 1;
    assert_int_equal(weft_sparse_softmax_workspace(ctx, &o.csr, &o.out, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("bytes is NULL");
    assert_int_equal(weft_sparse_softmax_workspace(ctx, NULL, &o.out, NULL, &bytes),
                     WEFT_BAD_ARGUMENT);
    assert_int_equal(bytes, 0);
}

// The pool is bounded. Where nobody asked for short row chunks, longer ones do.
static void test_scratch_memory_is_bounded(void **state)
{
    (void)state;
    weft_context *other;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = 8, .cache_dir = "")));
    sparse_operands p;
    sparse_case of = heavy_case(1);
    sparse_operands_create(&p, other, weft_context_queue(other), &of);
    weft_sparse_softmax_params params = sparse_params(&p);
    params.workspace = NULL;
    assert_int_equal(sparse_call_with(&p, &params), WEFT_NO_MEMORY);
    assert_says("8 are allowed (scratch_bytes");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    sparse_operands_destroy(&p);

    of.tiling = NULL;
    of.longest = is_reduced ? 3000 : 50000;
    of.rows = ROWS_ONE_LONG;
    sparse_run(other, &of);
    weft_context_destroy(&other);
}

// ---- words

static void test_describe(void **state)
{
    (void)state;
    char text[512], tiling_text[256], little[8];
    sparse_operands p;
    const sparse_case of = heavy_case(2);
    sparse_operands_create(&p, ctx, queue, &of);
    const weft_sparse_softmax_params params = sparse_params(&p);
    const int length =
        weft_sparse_softmax_describe(ctx, &p.csr, &p.out, &params, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    weft_sparse_softmax_tiling_print(&cutting, tiling_text, sizeof(tiling_text));
    assert_true(strncmp(text, tiling_text, strlen(tiling_text)) == 0);
    assert_non_null(strstr(text, " row chunks of long rows"));
    assert_int_equal(
        weft_sparse_softmax_describe(ctx, &p.csr, &p.out, &params, little, sizeof(little)), length);
    assert_int_equal(weft_sparse_softmax_describe(ctx, &p.csr, &p.out, &params, NULL, 0), length);
    assert_int_equal(weft_sparse_softmax_describe(ctx, NULL, &p.out, &params, text, sizeof(text)),
                     -1);
    assert_says("X is NULL");
    char backward[512];
    assert_int_equal(weft_sparse_softmax_backward_describe(ctx, &p.csr, &p.out, &p.out, &params,
                                                           backward, sizeof(backward)),
                     length);
    assert_string_equal(backward, text);
    assert_int_equal(
        weft_sparse_softmax_backward_describe(ctx, &p.csr, NULL, &p.out, &params, backward, 1), -1);
    assert_says("sparse_softmax_backward: dY is NULL");
    sparse_operands_destroy(&p);
}

// ---- nothing to do

// The call succeeds and its event completes.
static void check_empty(const weft_csr *X, const weft_tensor *Y)
{
    cl_event done = NULL;
    char text[64];
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(weft_sparse_softmax(ctx, queue, 1, X, Y, WEFT_SPARSE_SOFTMAX(.event = &done)));
    assert_non_null(done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    assert_true(weft_sparse_softmax_describe(ctx, X, Y, NULL, text, sizeof(text)) > 0);
    assert_string_equal(text, "nothing to do");
}

static void test_empty_calls(void **state)
{
    (void)state;
    call c = good_call();
    c.dX.shape[0] = 0;
    check_empty(&c.Y, &c.dX);
    const weft_csr no_entries = {.n_rows = 5, .n_cols = 6, .offsets = o.csr.offsets};
    const weft_csr no_rows = {.offsets = o.csr.offsets};
    weft_csr nowhere = c.Y; // entries, but no row for them
    nowhere.n_rows = 0;
    const weft_tensor none = {.ndim = 1, .shape = {0}, .stride = {1}};
    check_empty(&no_entries, &none);
    check_empty(&no_rows, &none);
    c = good_call();
    check_empty(&nowhere, &c.dX);
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_a_good_call_is_good),
        with_operands(test_nulls),
        with_operands(test_scales_that_are_not_finite),
        with_operands(test_unsound_matrices),
        with_operands(test_values_that_disagree),
        cmocka_unit_test(test_f64_where_there_is_none),
        with_operands(test_values_of_one_matrix_for_a_batch),
        with_operands(test_tilings_that_do_not_serve),
        with_operands(test_workspace_of_the_size_asked_for),
        cmocka_unit_test(test_workspace_of_all_row_chunks),
        with_operands(test_workspace_of_bad_calls),
        cmocka_unit_test(test_scratch_memory_is_bounded),
        cmocka_unit_test(test_describe),
        with_operands(test_empty_calls),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
