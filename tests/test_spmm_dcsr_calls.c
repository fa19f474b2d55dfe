// SPDX-License-Identifier: Apache-2.0
// SpMM by stored rows alone, as a call: what is refused, what is checked of the numbers of rows,
// plans, events, and the same bits every time.
#include "queues.h"
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;

// Of the running test: 5 x 4 times 4 x 3, with a workspace and space for arguments.
static spmm_operands o;
static cl_mem spare;
enum { SPARE_BYTES = 4096 };

static int make_operands(void **state)
{
    (void)state;
    const spmm_case of = {.seed = 4,
                          .is_dcsr = true,
                          .m = 5,
                          .k = 4,
                          .n = 3,
                          .rows = ROWS_RANDOM,
                          .offsets_start = 2,
                          .alpha = 1,
                          .has_bias = true,
                          .bias_step = 1,
                          .with_plan = true};
    spmm_create(&o, ctx, queue, &of);
    assert_true(o.D.n_stored > 1 && o.D.n_stored < 5);
    void *zeros = memory_filled(SPARE_BYTES, 0);
    spare = buffer_of(ctx, zeros, SPARE_BYTES);
    free(zeros);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    spmm_destroy(&o);
    clReleaseMemObject(spare);
    return 0;
}

// ---- what is refused

typedef struct call {
    weft_dcsr D;
    weft_tensor B, C, arguments;
    weft_spmm_params params;
} call;

static call good_call(void)
{
    call c = {o.D, o.B, o.C, o.C, spmm_params(&o)};
    c.arguments.dtype = WEFT_I32;
    c.arguments.buffer = spare;
    return c;
}

static void refuse(const call *c, weft_status want, const char *part)
{
    size_t bytes;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = weft_spmm_dcsr(ctx, queue, 1, &c->D, &c->B, 0, &c->C, &c->params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    if (!c->params.workspace) {
        assert_int_equal(weft_spmm_dcsr_workspace(ctx, &c->D, &c->B, &c->C, &c->params, &bytes),
                         want);
        assert_int_equal(weft_spmm_dcsr_describe(ctx, &c->D, &c->B, &c->C, &c->params, NULL, 0),
                         -1);
        assert_says(part);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_sizes_that_do_not_fit(void **state)
{
    (void)state;
    char text[128];
    const int n = (int)o.D.n_stored, nnz = (int)o.D.nnz;
    REFUSE(WEFT_BAD_SHAPE, "spmm: op(A) B is 6 x 3, C is 5 x 3", c.D.n_rows = 6);
    REFUSE(WEFT_BAD_SHAPE, "spmm: op(A) is 5 x 7, B has 4 rows", c.D.n_cols = 7);
    snprintf(text, sizeof(text), "spmm: A stores %d rows of 1, with %d entries", n, nnz);
    REFUSE(WEFT_BAD_SHAPE, text, c.D.n_rows = 1);
    snprintf(text, sizeof(text), "spmm: A stores %d rows of 5, with 1 entries", n);
    REFUSE(WEFT_BAD_SHAPE, text, c.D.nnz = 1);
    snprintf(text, sizeof(text), "spmm: A stores 0 rows of 5, with %d entries", nnz);
    REFUSE(WEFT_BAD_SHAPE, text, c.D.n_stored = 0);
    weft_dcsr tall = o.D;
    weft_spmm_plan *plan = NULL;
    tall.n_rows = INT32_MAX;
    assert_int_equal(weft_spmm_dcsr_plan_create(&plan, ctx, queue, &tall, NULL), WEFT_BAD_SHAPE);
    assert_says("spmm_plan: A is 2147483647 x 4; at most 2147479551 rows and columns");
    tall.n_rows = 1;
    assert_int_equal(weft_spmm_dcsr_plan_create(&plan, ctx, queue, &tall, NULL), WEFT_BAD_SHAPE);
    snprintf(text, sizeof(text), "spmm_plan: A stores %d rows of 1", n);
    assert_says(text);
    assert_null(plan);
}

static void test_nulls(void **state)
{
    (void)state;
    assert_int_equal(weft_spmm_dcsr(ctx, queue, 1, NULL, &o.B, 0, &o.C, NULL), WEFT_BAD_ARGUMENT);
    assert_says("spmm: A is NULL");
    assert_int_equal(weft_spmm_dcsr_workspace(ctx, &o.D, &o.B, &o.C, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("bytes is NULL");
}

static void test_plans_of_other_matrices(void **state)
{
    (void)state;
    weft_spmm_plan *of_csr, *transposed;
    const weft_csr alone = weft_dcsr_stored(&o.D);
    assert_ok(weft_spmm_plan_create(&of_csr, ctx, queue, &alone, NULL));
    assert_ok(weft_spmm_dcsr_plan_create(&transposed, ctx, queue, &o.D,
                                         WEFT_SPMM_PLAN(.transpose_a = true)));
    REFUSE(WEFT_BAD_ARGUMENT, "spmm: the plan was made for a CSR, A is a DCSR",
           c.params.plan = of_csr);
    REFUSE(WEFT_BAD_ARGUMENT, "the plan was made for A^T, the call is for A",
           c.params.plan = transposed);
    REFUSE(WEFT_BAD_ARGUMENT, "spmm: A^T requires a plan",
           (c.params.transpose_a = true, c.params.plan = NULL, c.B.shape[0] = 5, c.B.stride[0] = 0,
            c.C.shape[0] = 4, c.params.bias = NULL));
    char text[96];
    snprintf(text, sizeof(text), "the plan was made for %d stored rows, A has %d",
             (int)o.D.n_stored, (int)o.D.n_stored - 1);
    REFUSE(WEFT_BAD_SHAPE, text, c.D.n_stored--);
    assert_int_equal(weft_spmm(ctx, queue, 1, &o.A, &o.B, 0, &o.C, WEFT_SPMM(.plan = o.plan)),
                     WEFT_BAD_ARGUMENT);
    assert_says("spmm: the plan was made for a DCSR, A is a CSR");
    assert_int_equal(weft_spmm_plan_rows(o.plan)->n_rows, o.D.n_stored);
    assert_int_equal(weft_spmm_plan_rows(transposed)->n_rows, 4);
    weft_spmm_plan_destroy(&of_csr);
    weft_spmm_plan_destroy(&transposed);
}

// ---- numbers of rows

typedef struct lie {
    int at, number;
    const char *says;
} lie;

// The whole array anew: Oclgrind takes one that was written in part for uninitialised.
static void put_rows(const int32_t *numbers, int at, int32_t number)
{
    int32_t changed[3];
    memcpy(changed, numbers, sizeof(changed));
    changed[at] = number;
    buffer_put(queue, spare, changed, sizeof(changed));
}

static void test_row_numbers_are_checked(void **state)
{
    (void)state;
    static const int32_t sound[3] = {0, 2, 4}, offsets[4] = {0, 1, 2, 3}, indices[3] = {3, 0, 1};
    static const lie lies[] = {
        {0, -1, "stored row 0 is row -1, after row -1 of 5: they must rise"},
        {1, 0, "stored row 1 is row 0, after row 0 of 5"},
        {2, 5, "stored row 2 is row 5, after row 2 of 5"},
    };
    weft_context *checking = NULL;
    assert_ok(weft_context_create(&checking, weft_context_cl(ctx), weft_context_device(ctx),
                                  WEFT_CONTEXT(.check_matrices = true)));
    weft_dcsr D = {.n_rows = 5, .n_cols = 4, .n_stored = 3, .nnz = 3, .rows = spare};
    D.offsets = buffer_of(ctx, offsets, sizeof(offsets));
    D.indices = buffer_of(ctx, indices, sizeof(indices));
    D.values = buffer_of(ctx, offsets, sizeof(offsets));
    for (int i = 0; i < 4; i++) {
        weft_spmm_plan *plan = NULL;
        const weft_status want = i < 3 ? WEFT_BAD_DATA : WEFT_OK;
        const char *says = i < 3 ? lies[i].says : "";
        put_rows(sound, i < 3 ? lies[i].at : 0, i < 3 ? lies[i].number : 0);
        assert_int_equal(weft_dcsr_check(ctx, queue, &D, WEFT_CSR_SOUND, NULL), want);
        if (i < 3)
            assert_says("dcsr_check: stored row");
        assert_int_equal(weft_spmm_dcsr_plan_create(&plan, ctx, queue, &D, NULL), want);
        if (i < 3)
            assert_says(says);
        const uint64_t launches = weft_context_get_stats(checking).launches;
        assert_int_equal(weft_spmm_dcsr(checking, queue, 1, &D, &o.B, 0, &o.C, NULL), want);
        if (i < 3)
            assert_says(says);
        assert_int_equal(weft_context_get_stats(checking).launches > launches, i == 3);
        weft_spmm_plan_destroy(&plan);
    }
    D.n_cols = 3; // there, columns 0, 1 and 3 do not fit
    assert_int_equal(weft_dcsr_check(ctx, queue, &D, WEFT_CSR_SOUND, NULL), WEFT_BAD_DATA);
    assert_says("dcsr_check: row 0: entry 0 has column 3");
    assert_int_equal(weft_dcsr_check(ctx, queue, NULL, WEFT_CSR_SOUND, NULL), WEFT_BAD_ARGUMENT);
    D.rows = NULL;
    assert_int_equal(weft_dcsr_check(ctx, queue, &D, WEFT_CSR_SOUND, NULL), WEFT_BAD_BUFFER);
    assert_says("dcsr_check: the DCSR's rows: the buffer is NULL");
    clFinish(queue);
    cl_mem buffers[] = {D.offsets, D.indices, D.values};
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(buffers[i]);
    weft_context_destroy(&checking);
}

// ---- among other work

// One product waits for a gate, and another for it, on a queue without order of its own.
static void test_events(void **state)
{
    (void)state;
    cl_command_queue other = queue_with(ctx, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), first = NULL, second = NULL;
    weft_spmm_params params = spmm_params(&o);
    o.queue = other ? other : queue;
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &first;
    assert_ok(spmm_start(&o, &params));
    assert_int_not_equal(event_state(first), CL_COMPLETE);
    params.wait = &first;
    params.event = &second;
    assert_ok(spmm_start(&o, &params));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &second), CL_SUCCESS);
    assert_int_equal(event_state(first), CL_COMPLETE);
    o.queue = queue;
    spmm_check(&o);
    clReleaseEvent(first);
    clReleaseEvent(second);
    clReleaseEvent(gate);
    if (other)
        clReleaseCommandQueue(other);
}

// C = 1 C is not even launched, but waits like any other call and completes.
static void check_staying(bool is_dcsr, double alpha)
{
    const spmm_case of = {.seed = 3,
                          .is_dcsr = is_dcsr,
                          .m = 6,
                          .k = 4,
                          .n = 5,
                          .rows = alpha == 0 ? ROWS_FULL : ROWS_EMPTY,
                          .alpha = alpha,
                          .beta = 1};
    spmm_operands same;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    spmm_create(&same, ctx, queue, &of);
    weft_spmm_params params = spmm_params(&same);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(spmm_start(&same, &params));
    const cl_int state = event_state(done); // nothing fails while the queue waits
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_not_equal(state, CL_COMPLETE);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    spmm_check(&same);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    spmm_destroy(&same);
}

static void test_what_stays_launches_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_staying(i % 2 == 1, i / 2);
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const spmm_case of = {.seed = 11,
                              .is_dcsr = true,
                              .m = 200,
                              .k = 60,
                              .n = 17,
                              .rows = i == 3 ? ROWS_ONE_FULL : ROWS_FAR,
                              .numbers = FRACTIONS,
                              .alpha = 0.7,
                              .beta = 0.3,
                              .transpose_a = i == 2,
                              .with_plan = i > 0,
                              .plan_row_chunk = 7};
        spmm_check_same_bits(ctx, &of);
    }
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_sizes_that_do_not_fit),
        WITH_OPERANDS(test_nulls),
        WITH_OPERANDS(test_plans_of_other_matrices),
        WITH_OPERANDS(test_row_numbers_are_checked),
        WITH_OPERANDS(test_events),
        cmocka_unit_test(test_what_stays_launches_nothing),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
