// SPDX-License-Identifier: Apache-2.0
// What weft_sddmm_sparse() refuses, each in a sentence and without enqueuing anything; what it says
// that it would do; products that are empty; and events.
#include "queues.h"
#include "sddmm_sparse_case.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_limits.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static masked_operands o; // A and B sparse, 5 x 6 and 4 x 6, all 20 places of C
static weft_tensor dX;    // dense, 4 x 6

static const weft_sddmm_sparse_tiling some_tiling = {1, 1, 4, 3};

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr A, B, C;
    weft_tensor X; // where it is not B
    bool is_dense; // then it is X
    weft_tensor D;
    weft_sddmm_sparse_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const masked_case of = {.seed = 3,
                            .m = 5,
                            .n = 4,
                            .k = 6,
                            .A = {.rows = ROWS_FULL},
                            .B = {.rows = ROWS_FULL},
                            .rows = ROWS_FULL,
                            .alpha = 2,
                            .beta = 1};
    masked_create(&o, ctx, queue, &of);
    dX = weft_matrix(buffer_zeroed(ctx, 4 * 6 * sizeof(float), CL_MEM_READ_WRITE), WEFT_F32, 4, 6);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    clReleaseMemObject(dX.buffer);
    masked_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){ctx,   queue, o.A.sparse.csr,   o.B.sparse.csr, o.C, dX,
                  false, o.D,   masked_params(&o)};
}

static weft_status start(const call *c, const weft_sddmm_sparse_params *params)
{
    const weft_factor A = {.sparse = &c->A};
    return weft_sddmm_sparse(c->ctx, c->queue, o.of.alpha, &A,
                             c->is_dense ? WEFT_DENSE(&c->X) : WEFT_SPARSE(&c->B), &c->C, o.of.beta,
                             &c->D, params);
}

// The call fails, says so, enqueues nothing, hands out no event and leaves D alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_sddmm_sparse_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(c, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_true(says_by("sddmm_sparse"));
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = masked_read(&o);
    assert_memory_equal(after, o.d_before, o.d_bytes);
    free(after);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

// The same with a dense B.
#define REFUSE_DENSE(status, part, change) REFUSE(status, part, (c.is_dense = true, change))

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    masked_restore(&o);
    masked_call(&o);
    masked_check(&o);
}

// As many columns as there may be, of which only those that are stored want room.
static void test_the_most_columns(void **state)
{
    (void)state;
    static const weft_sddmm_sparse_tiling tilings[] = {{1, 1, 4, 3}, {1, 1, 100, 50}, {8, 4, 9, 7}};
    call c = good_call();
    c.A.n_cols = c.B.n_cols = WEFT_SPARSE_MAX_EXTENT;
    for (int i = 0; i < 4; i++) {
        c.params.tiling = TILING_TEXT(sddmm_sparse, i < 3 ? &tilings[i] : NULL);
        masked_restore(&o);
        if (start(&c, &c.params) != WEFT_OK)
            fail_msg("%s", weft_last_error());
        masked_check(&o);
    }
    masked_restore(&o);
}

static void test_nulls(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    const weft_factor *A = WEFT_SPARSE(&o.A.sparse.csr), *B = WEFT_SPARSE(&o.B.sparse.csr);
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, NULL, B, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm_sparse: A is NULL");
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, A, NULL, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm_sparse: B is NULL");
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, A, B, NULL, 0, &o.D, NULL), status);
    assert_says("sddmm_sparse: C is NULL");
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, A, B, &o.C, 0, NULL, NULL), status);
    assert_says("sddmm_sparse: D is NULL");
}

static void test_factors_of_no_kind(void **state)
{
    (void)state;
    const weft_factor none = {0}, *A = WEFT_SPARSE(&o.A.sparse.csr);
    const weft_factor two = {.sparse = &o.A.sparse.csr, .dense = &dX};
    const weft_status status = WEFT_BAD_ARGUMENT;
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, &none, A, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm_sparse: A is neither dense nor sparse: one of both is wanted");
    assert_int_equal(weft_sddmm_sparse(ctx, queue, 1, A, &two, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm_sparse: B is dense and sparse: one of both is wanted");
    assert_int_equal(
        weft_sddmm_sparse(ctx, queue, 1, WEFT_DENSE(&dX), WEFT_DENSE(&dX), &o.C, 0, &o.D, NULL),
        status);
    assert_says("sddmm_sparse: A and B are both dense: weft_sddmm() is for these");
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    const int64_t many = INT32_MAX - 4095;
    REFUSE(status, "sddmm_sparse: A is 5 x 6, B has 7 columns", c.B.n_cols = 7);
    REFUSE(status, "sddmm_sparse: A B^T is 5 x 3, C is 5 x 4", c.B.n_rows = 3);
    REFUSE(status, "sddmm_sparse: A B^T is 4 x 4, C is 5 x 4", c.A.n_rows = 4);
    REFUSE(status, "sddmm_sparse: A B^T is 5 x 4, C is 5 x 9", c.C.n_cols = 9);
    REFUSE(status, "m 5, n 4, k 2147479552; at most 2147479551 each",
           c.A.n_cols = c.B.n_cols = many);
    REFUSE(status, "C has 20 entries, but no rows", c.A.n_rows = c.C.n_rows = c.A.nnz = 0);
    REFUSE(status, "C has 20 entries, but no columns", c.B.n_rows = c.C.n_cols = c.B.nnz = 0);
    REFUSE(status, "sddmm_sparse: D has 2 dimensions; 1 is wanted", c.D.ndim = 2);
    REFUSE(status, "D has 19 values, C 20 entries", c.D.shape[0] = 19);
    REFUSE(status, "D has stride -1 from value to value; 1 is wanted",
           (c.D.stride[0] = -1, c.D.offset += 19));
    REFUSE_DENSE(status, "sddmm_sparse: B has 1 dimensions; 2 are wanted", c.X.ndim = 1);
    REFUSE_DENSE(status, "sddmm_sparse: A is 5 x 6, B has 5 columns", c.X.shape[1] = 5);
    REFUSE_DENSE(status, "sddmm_sparse: A B^T is 5 x 3, C is 5 x 4", c.X.shape[0] = 3);
}

static void test_types_that_disagree(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_DTYPE;
    REFUSE(status, "A is f32, B bf16, C f32; all three", c.B.dtype = WEFT_BF16);
    REFUSE(status, "A is f16, B f32, C f32; all three", c.A.dtype = WEFT_F16);
    REFUSE(status, "A is f32, B f32, C f16; all three", c.C.dtype = WEFT_F16);
    REFUSE(status, "D is f16, C f32; both", c.D.dtype = WEFT_F16);
    REFUSE(status, "D is f16, C bf16; both",
           (c.A.dtype = c.B.dtype = c.C.dtype = WEFT_BF16, c.D.dtype = WEFT_F16));
    REFUSE_DENSE(status, "A is f32, B f16, C f32; all three", c.X.dtype = WEFT_F16);
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    masked_operands p;
    const masked_case of = {.m = 2, .n = 2, .k = 2, .rows = ROWS_FULL};
    masked_create(&p, other, weft_context_queue(other), &of);
    const weft_factor A = masked_side_factor(&p.A), B = masked_side_factor(&p.B);
    p.A.sparse.csr.dtype = p.B.sparse.csr.dtype = p.C.dtype = p.D.dtype = WEFT_F64;
    p.D.offset = 0;
    assert_int_equal(weft_sddmm_sparse(other, p.queue, 1, &A, &B, &p.C, 0, &p.D, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("sddmm_sparse: D is f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    masked_destroy(&p);
    weft_context_destroy(&other);
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_sddmm_sparse_tiling tiling = some_tiling;
    tiling.items = 3;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.items is 3",
           c.params.tiling = TILING_TEXT(sddmm_sparse, &tiling));
    tiling = some_tiling;
    tiling.lanes = 2;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.lanes is 2",
           c.params.tiling = TILING_TEXT(sddmm_sparse, &tiling));
    tiling = some_tiling;
    tiling.columns = 0;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.columns is 0",
           c.params.tiling = TILING_TEXT(sddmm_sparse, &tiling));
    tiling = some_tiling;
    tiling.entries = 0;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.entries is 0",
           c.params.tiling = TILING_TEXT(sddmm_sparse, &tiling));
    REFUSE_DENSE(WEFT_BAD_ARGUMENT, "tiling.columns is 4: with a dense B 0 is wanted",
                 c.params.tiling = TILING_TEXT(sddmm_sparse, &some_tiling));
}

// No entries of C: no kernel, but an event, whatever else there is or is not.
static void test_nothing_to_do(void **state)
{
    (void)state;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int i = 0; i < 3; i++) {
        cl_event done = NULL;
        call c = good_call();
        c.params.event = &done;
        c.C.nnz = c.D.shape[0] = 0;
        c.C.indices = c.C.values = c.D.buffer = NULL;
        if (i == 1)
            c.A.n_rows = c.C.n_rows = c.A.nnz = 0;
        if (i == 2)
            c.B.n_rows = c.C.n_cols = c.B.nnz = 0;
        assert_ok(start(&c, &c.params));
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    call c = good_call();
    masked_restore(&o);
    c.params.n_wait = 1;
    c.params.wait = &gate;
    c.params.event = &done;
    assert_ok(start(&c, &c.params));
    assert_int_not_equal(event_state(done), CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    masked_check(&o);
}

// One after the other, D += 2 (A B^T) .* C.
static void test_calls_keep_their_order(void **state)
{
    (void)state;
    call c = good_call();
    masked_restore(&o);
    masked_call(&o);
    float *once = masked_read(&o);
    masked_call(&o);
    masked_call(&o);
    float *thrice = masked_read(&o);
    for (int64_t e = c.D.offset; e < c.D.offset + 20; e++) {
        const float before = ((float *)o.d_before)[e], step = once[e] - before;
        assert_true(thrice[e] == before + 3 * step);
    }
    free(once);
    free(thrice);
    masked_restore(&o);
}

static void test_descriptions(void **state)
{
    (void)state;
    char text[128];
    call c = good_call();
    const weft_factor *A = WEFT_SPARSE(&c.A), *B = WEFT_SPARSE(&c.B);
    const weft_sddmm_sparse_params *params =
        WEFT_SDDMM_SPARSE(.tiling = TILING_TEXT(sddmm_sparse, &some_tiling));
    const int length = weft_sddmm_sparse_describe(ctx, A, B, &c.C, &c.D, params, text, 128);
    assert_int_equal(length, strlen(text));
    assert_string_equal(text, "items 1, lanes 1, columns 4, entries 3");
    assert_true(weft_sddmm_sparse_describe(ctx, A, B, &c.C, &c.D, NULL, text, 128) > 0);
    assert_int_equal(weft_sddmm_sparse_describe(ctx, B, A, &c.C, &c.D, NULL, text, 128), -1);
    assert_says("sddmm_sparse: A B^T is 4 x 5, C is 5 x 4");
    c.A.n_cols = c.B.n_cols = c.A.nnz = c.B.nnz = 0;
    weft_sddmm_sparse_describe(ctx, A, B, &c.C, &c.D, NULL, text, 128);
    assert_string_equal(text, "D = beta D");
    c.C.nnz = c.D.shape[0] = 0;
    weft_sddmm_sparse_describe(ctx, A, B, &c.C, &c.D, NULL, text, 128);
    assert_string_equal(text, "nothing to do");
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_most_columns),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_factors_of_no_kind),
        cmocka_unit_test(test_shapes_that_disagree),
        cmocka_unit_test(test_types_that_disagree),
        cmocka_unit_test(test_f64_where_there_is_none),
        cmocka_unit_test(test_tilings_that_do_not_serve),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_calls_keep_their_order),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_a_good_call_is_good),
        cmocka_unit_test(test_descriptions),
    };
    const int failed = cmocka_run_group_tests(tests, make_operands, destroy_operands);
    weft_context_destroy(&ctx);
    return failed;
}
