// SPDX-License-Identifier: Apache-2.0
// What conversions between sparse and dense refuse, each in a sentence and without enqueuing
// anything; scratch memory, events, and tilings of every known device.
#include <math.h>

#include <weft/csr_dense.h>

#include "convert/csr_dense_call.h"

#include "convert/csr_dense_plan.h"
#include "format_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;

// Of the running test: A 4 x 6 with every entry, D as large.
static pattern cells;
static device_pattern A;
static guarded values, elements;
static float numbers[24];

typedef struct conversion {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr A;
    weft_tensor D;
    weft_csr_dense_params params;
} conversion;

static int create_operands(void **state)
{
    (void)state;
    for (int e = 0; e < 24; e++)
        numbers[e] = (float)(e + 1);
    cells = pattern_of_cells(4, 6, 0xffffff);
    A = device_pattern_create(ctx, &cells, true, WEFT_I32, WEFT_I32, 2);
    values = guarded_create(ctx, numbers, 24, sizeof(float), 1);
    elements = guarded_create(ctx, numbers, 24, sizeof(float), 3);
    A.csr.values = values.buffer;
    A.csr.values_start = values.start;
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    guarded_destroy(&values);
    guarded_destroy(&elements);
    device_pattern_destroy(&A);
    pattern_destroy(&cells);
    return 0;
}

static conversion good_call(void)
{
    return (conversion){ctx,
                        queue,
                        A.csr,
                        {elements.buffer, WEFT_F32, 3, 2, {4, 6}, {6, 1}},
                        *WEFT_CSR_DENSE(.threshold = 0)};
}

static weft_status start(const conversion *c, weft_csr_dense_step step)
{
    switch (step) {
    case WEFT_CSR_TO_DENSE:
        return weft_csr_to_dense(c->ctx, c->queue, &c->A, &c->D, &c->params);
    case WEFT_DENSE_TO_CSR_COUNT:
        return weft_dense_to_csr_count(c->ctx, c->queue, &c->D, &c->A, NULL, &c->params);
    default:
        return weft_dense_to_csr(c->ctx, c->queue, &c->D, &c->A, &c->params);
    }
}

static void refuse(conversion *c, weft_csr_dense_step step, weft_status want, const char *part)
{
    cl_event event = NULL;
    c->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(c, step);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call of that step.
#define REFUSE(step, status, part, change)                                                         \
    do {                                                                                           \
        conversion c = good_call();                                                                \
        change;                                                                                    \
        refuse(&c, step, status, part);                                                            \
    } while (0)

#define TO    WEFT_CSR_TO_DENSE
#define COUNT WEFT_DENSE_TO_CSR_COUNT
#define FILL  WEFT_DENSE_TO_CSR_FILL

static void test_good_calls_are_good(void **state)
{
    (void)state;
    for (int step = TO; step <= FILL; step++) {
        const conversion c = good_call();
        assert_ok(start(&c, (weft_csr_dense_step)step));
    }
    device_pattern_check(&A, queue, &cells);
    guarded_check(&values, queue, numbers, "values");
    guarded_check(&elements, queue, numbers, "D");
}

static void test_arguments(void **state)
{
    (void)state;
    for (int i = TO; i <= FILL; i++) {
        const weft_csr_dense_step step = (weft_csr_dense_step)i;
        REFUSE(step, WEFT_BAD_ARGUMENT, "the threshold is -1, 0 or more", c.params.threshold = -1);
        REFUSE(step, WEFT_BAD_ARGUMENT, "the threshold is nan", c.params.threshold = (double)NAN);
        REFUSE(step, WEFT_BAD_SHAPE, "A is 4 x 6, D is 6 x 4",
               (c.D.shape[0] = 6, c.D.shape[1] = 4, c.D.stride[0] = 4));
        REFUSE(step, WEFT_BAD_SHAPE, "D has 1 dimensions; 2 are wanted", c.D.ndim = 1);
        REFUSE(step, WEFT_BAD_DTYPE, "A is f16, D f32", c.A.dtype = WEFT_F16);
    }
    assert_int_equal(weft_csr_to_dense(ctx, queue, NULL, &(weft_tensor){0}, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("csr_to_dense: A is NULL");
    assert_int_equal(weft_dense_to_csr(ctx, queue, NULL, &A.csr, NULL), WEFT_BAD_ARGUMENT);
    assert_says("dense_to_csr: D is NULL");
}

static void test_shapes_beyond_the_offsets(void **state)
{
    (void)state;
    REFUSE(COUNT, WEFT_BAD_SHAPE, "D is 65536 x 65536, i32 offsets reach 2147483647",
           (c.A.n_rows = c.A.n_cols = c.D.shape[0] = c.D.shape[1] = 65536, c.D.stride[0] = 0,
            c.D.stride[1] = 0));
    REFUSE(TO, WEFT_BAD_SHAPE, "at most 2147483647 each",
           (c.A.n_cols = c.D.shape[1] = INT64_C(1) << 31, c.D.shape[0] = c.A.n_rows = 0));
    REFUSE(COUNT, WEFT_BAD_SHAPE, "D has 3 dimensions; 2 are wanted",
           (c.D.ndim = 3, c.D.shape[2] = 1, c.D.stride[2] = 1, c.D.stride[1] = 1));
}

// Entries, but no row for them.
static void test_nothing_to_fill(void **state)
{
    (void)state;
    conversion c = good_call();
    c.A.n_rows = c.D.shape[0] = 0;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(start(&c, FILL));
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// What is only written need not be readable; offsets are read.
static void test_outputs_that_nobody_reads(void **state)
{
    (void)state;
    cl_int code;
    cl_mem unread = clCreateBuffer(weft_context_cl(ctx), CL_MEM_WRITE_ONLY, 4096, NULL, &code);
    conversion good = good_call();
    good.A.indices = unread;
    good.A.values_start = 512;
    good.A.values = unread;
    assert_ok(start(&good, FILL));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(unread);
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_csr_dense_tiling t = {.items = 5, .rows = 1, .columns = 4};
    REFUSE(TO, WEFT_BAD_ARGUMENT, "tiling.items is 5: a power of two",
           c.params.tiling = TILING_TEXT(csr_dense, &t));
    t.items = 1;
    t.rows = 0;
    REFUSE(COUNT, WEFT_BAD_ARGUMENT, "tiling.rows is 0: 1 to 32768",
           c.params.tiling = TILING_TEXT(csr_dense, &t));
    t.rows = 1;
    t.columns = 2000000;
    REFUSE(FILL, WEFT_BAD_ARGUMENT, "tiling.columns is 2000000: 1 to 1048576",
           c.params.tiling = TILING_TEXT(csr_dense, &t));
    weft_limits limits = *weft_context_limits(ctx);
    limits.local_bytes = 35;
    t.columns = 100;
    assert_int_equal(
        weft_csr_dense_tiling_check(&t, &limits, &(weft_csr_dense_problem){4, 4, WEFT_F32}),
        WEFT_BAD_ARGUMENT);
    assert_says("tiling.columns 100 require 36 bytes; local memory has 35");
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    cl_mem zeros = new_workspace(other, 4096);
    const weft_csr csr = {.n_rows = 2, .n_cols = 2, .dtype = WEFT_F64, .offsets = zeros};
    const weft_tensor D = {zeros, WEFT_F64, 100, 2, {2, 2}, {2, 1}};
    assert_int_equal(weft_csr_to_dense(other, weft_context_queue(other), &csr, &D, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("csr_to_dense: D is f64; ");
    assert_says(" has no f64");
    clReleaseMemObject(zeros);
    weft_context_destroy(&other);
}

// D and the threshold of the second step are not those of the first: rows keep to their places.
static void test_a_matrix_that_changes_between_the_steps(void **state)
{
    (void)state;
    conversion c = good_call();
    int64_t nnz;
    c.D.offset += 18;
    c.D.stride[0] = -6;
    c.params.threshold = 12;
    assert_ok(weft_dense_to_csr_count(ctx, queue, &c.D, &c.A, &nnz, &c.params));
    assert_int_equal(nnz, 12);
    guarded indices = guarded_create(ctx, NULL, 12, sizeof(cl_int), 1);
    guarded kept = guarded_create(ctx, NULL, 12, sizeof(float), 2);
    c.A.indices = indices.buffer;
    c.A.indices_start = indices.start;
    c.A.values = kept.buffer;
    c.A.values_start = kept.start;
    c.A.nnz = 12;
    c.params.threshold = 0;
    static const cl_int want[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
    assert_ok(weft_dense_to_csr(ctx, queue, &c.D, &c.A, &c.params));
    guarded_check(&indices, queue, want, "indices");
    float from_last_row[12];
    for (int i = 0; i < 12; i++)
        from_last_row[i] = numbers[i < 6 ? 18 + i : 6 + i];
    guarded_check(&kept, queue, from_last_row, "values");
    guarded_destroy(&indices);
    guarded_destroy(&kept);
}

static void test_events(void **state)
{
    (void)state;
    for (int step = TO; step <= FILL; step++) {
        cl_int code, got = CL_QUEUED;
        conversion c = good_call();
        cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
        c.params.n_wait = 1;
        c.params.wait = &gate;
        c.params.event = &done;
        assert_ok(start(&c, (weft_csr_dense_step)step));
        assert_non_null(done);
        clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(got), &got, NULL);
        assert_int_not_equal(got, CL_COMPLETE);
        clSetUserEventStatus(gate, CL_COMPLETE);
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
        clReleaseEvent(gate);
    }
}

static void test_the_count_comes_with_an_event(void **state)
{
    (void)state;
    conversion c = good_call();
    cl_event done = NULL;
    int64_t nnz = 0;
    c.params.event = &done;
    assert_ok(weft_dense_to_csr_count(ctx, queue, &c.D, &c.A, &nnz, &c.params));
    assert_int_equal(nnz, 24);
    assert_non_null(done);
    clReleaseEvent(done);
}

// Many rows, and items as few as can be: running sums in several groups.
static void test_workspaces(void **state)
{
    (void)state;
    const int64_t n_rows = 40000;
    size_t bytes;
    static const weft_csr_dense_tiling t = {.items = 1, .rows = 4, .columns = 4};
    cl_mem zeros = new_workspace(ctx, (size_t)n_rows * 4), offsets = new_workspace(ctx, 200000);
    weft_csr csr = {.n_rows = n_rows, .n_cols = 1, .offsets = offsets};
    const weft_tensor D = weft_matrix(zeros, WEFT_F32, n_rows, 1);
    weft_csr_dense_params params = *WEFT_CSR_DENSE(.tiling = TILING_TEXT(csr_dense, &t));
    assert_int_equal(weft_dense_to_csr_workspace(ctx, &D, &csr, &params, NULL), WEFT_BAD_ARGUMENT);
    assert_says("dense_to_csr_workspace: bytes is NULL");
    assert_ok(weft_dense_to_csr_workspace(ctx, &D, &csr, &params, &bytes));
    assert_true(bytes > 0);
    cl_mem less = new_workspace(ctx, bytes - 1);
    params.workspace = less;
    assert_int_equal(weft_dense_to_csr_count(ctx, queue, &D, &csr, NULL, &params), WEFT_BAD_BUFFER);
    assert_says("dense_to_csr_count: workspace");
    params.workspace = zeros;
    assert_int_equal(weft_dense_to_csr_count(ctx, queue, &D, &csr, NULL, &params), WEFT_BAD_BUFFER);
    assert_says("overlaps D");
    params.workspace = offsets;
    assert_int_equal(weft_dense_to_csr_count(ctx, queue, &D, &csr, NULL, &params), WEFT_BAD_BUFFER);
    assert_says("workspace (bytes");
    clReleaseMemObject(less);
    clReleaseMemObject(offsets);
    clReleaseMemObject(zeros);
}

static void test_it_says_what_it_would_do(void **state)
{
    (void)state;
    char text[200];
    conversion c = good_call();
    static const weft_csr_dense_tiling t = {.items = 2, .rows = 3, .columns = 5};
    c.params.tiling = TILING_TEXT(csr_dense, &t);
    assert_true(weft_csr_to_dense_describe(ctx, &c.A, &c.D, &c.params, text, sizeof(text)) > 0);
    assert_string_equal(text, "items 2, rows 3, columns 5");
    assert_true(weft_dense_to_csr_describe(ctx, &c.D, &c.A, &c.params, text, sizeof(text)) > 0);
    assert_string_equal(text, "items 2, rows 3, columns 5");
    c.A.n_rows = c.D.shape[0] = 0;
    assert_true(weft_csr_to_dense_describe(ctx, &c.A, &c.D, NULL, text, sizeof(text)) > 0);
    assert_string_equal(text, "nothing to do");
    c.D.ndim = 1;
    assert_int_equal(weft_csr_to_dense_describe(ctx, &c.A, &c.D, NULL, text, sizeof(text)), -1);
    assert_int_equal(weft_dense_to_csr_describe(ctx, &c.D, &c.A, NULL, text, sizeof(text)), -1);
    assert_says("dense_to_csr: D has 1 dimensions; 2 are wanted");
}

static void test_tilings_for_every_known_device(void **state)
{
    (void)state;
    random_state random = {8};
    for (int i = 0; i < 20000; i++) {
        const weft_limits *limits = weft_profile_at((size_t)i % weft_profile_count());
        const weft_csr_dense_problem problem = {random_extent(&random) % INT32_MAX,
                                                random_extent(&random) % INT32_MAX,
                                                i % 2 ? WEFT_F64 : WEFT_F16};
        const weft_csr_dense_tiling t = weft_csr_dense_tiling_for(limits, &problem);
        if (weft_csr_dense_tiling_check(&t, limits, &problem) != WEFT_OK)
            fail_msg("%s: %s", limits->name, weft_last_error());
        assert_true(limits->vector_width == 1 || t.items == 1);
    }
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, create_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_good_calls_are_good),
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_shapes_beyond_the_offsets),
        WITH_OPERANDS(test_nothing_to_fill),
        WITH_OPERANDS(test_outputs_that_nobody_reads),
        WITH_OPERANDS(test_tilings_that_do_not_serve),
        cmocka_unit_test(test_f64_where_there_is_none),
        WITH_OPERANDS(test_a_matrix_that_changes_between_the_steps),
        WITH_OPERANDS(test_events),
        WITH_OPERANDS(test_the_count_comes_with_an_event),
        cmocka_unit_test(test_workspaces),
        WITH_OPERANDS(test_it_says_what_it_would_do),
        cmocka_unit_test(test_tilings_for_every_known_device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
