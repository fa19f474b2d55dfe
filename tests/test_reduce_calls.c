// SPDX-License-Identifier: Apache-2.0
// What weft_reduce() refuses, each in a sentence and without enqueuing anything; how much scratch
// memory it wants; events; and operands side by side in one buffer.
#include "axis/axis_plan.h"
#include "reduce_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static reduce_operands o; // of the running test: 4 x 6 x 5, reduced along axis 1

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    weft_reduction op;
    weft_tensor X, Y;
    int n_axes;
    int axes[WEFT_MAX_NDIM];
    weft_reduce_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const reduce_case of = {.seed = 3, .ndim = 3, .shape = {4, 6, 5}, .mask = 2};
    reduce_create(&o, ctx, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    reduce_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){ctx, o.queue, WEFT_SUM, o.X, o.Y, 1, {1}, reduce_params(&o)};
}

// The call fails, says so, enqueues nothing, hands out no event and leaves Y alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_reduce_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status =
        weft_reduce(c->ctx, c->queue, c->op, &c->X, c->n_axes, c->axes, &c->Y, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = reduce_read(&o);
    assert_memory_equal(after, o.y_before, o.y_bytes);
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
    reduce_call(&o);
    reduce_check(&o);
}

static void test_arguments(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    REFUSE(status, "params.correction is", c.params.correction = INT64_MIN);
    REFUSE(status, "op is 15", c.op = (weft_reduction)15);
    REFUSE(status, "op is -1", c.op = (weft_reduction)-1);
    REFUSE(status, "n_axes is -1", c.n_axes = -1);
    REFUSE(status, "axes[0] is 3, X has 3 dimensions", c.axes[0] = 3);
    REFUSE(status, "axes[0] is -4", c.axes[0] = -4);
    REFUSE(status, "axes[1] is -2: X's axis 1 is named twice", (c.n_axes = 2, c.axes[1] = -2));
    assert_int_equal(weft_reduce(ctx, o.queue, WEFT_SUM, NULL, 0, NULL, &o.Y, NULL), status);
    assert_says("reduce: X is NULL");
    assert_int_equal(weft_reduce(ctx, o.queue, WEFT_SUM, &o.X, 0, NULL, NULL, NULL), status);
    assert_says("reduce: Y is NULL");
    assert_int_equal(weft_reduce(ctx, o.queue, WEFT_SUM, &o.X, 1, NULL, &o.Y, NULL), status);
    assert_says("axes is NULL");
}

static void test_shapes(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    REFUSE(status, "Y has 1 dimensions; of X's 3 are 2 kept", c.Y.ndim = 1);
    REFUSE(status, "Y's extent 1 is 4; X's axis 2 has 5", c.Y.shape[1] = 4);
    REFUSE(status, "Y's extent 0 is 3; X's axis 0 has 4", c.Y.shape[0] = 3);
    REFUSE(status, "max of no elements", (c.op = WEFT_MAX, c.X.shape[1] = 0));
    REFUSE(status, "argmin of no elements",
           (c.op = WEFT_ARGMIN, c.X.shape[1] = 0, c.Y.dtype = WEFT_I32));
    REFUSE(status, "and is reduced: 1 is wanted",
           (c.Y.ndim = 3, c.Y.shape[1] = 2, c.Y.shape[2] = 3, c.Y.stride[0] = 6, c.Y.stride[1] = 3,
            c.Y.stride[2] = 1));
}

static void test_data_types(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_DTYPE;
    REFUSE(status, "Y is f16, sum of f32 requires the same", c.Y.dtype = WEFT_F16);
    REFUSE(status, "Y is f32, argmax of f32 requires i64 or i32", c.op = WEFT_ARGMAX);
    REFUSE(status, "Y is f32, any of f32 requires u8", c.op = WEFT_ANY);
    REFUSE(status, "Y is f32, sum of i32 requires i64", c.X.dtype = WEFT_I32);
    REFUSE(status, "Y is f32, max of i32 requires the same",
           (c.X.dtype = WEFT_I32, c.op = WEFT_MAX));
    REFUSE(status, "Y is u8, mean of i32 requires f32 or f64",
           (c.X.dtype = WEFT_I32, c.op = WEFT_MEAN, c.Y.dtype = WEFT_U8));
    REFUSE(status, "Y is bf16, mean of f16 requires the same or f32",
           (c.X.dtype = WEFT_F16, c.op = WEFT_MEAN, c.Y.dtype = WEFT_BF16));
    if (!weft_context_limits(ctx)->has_f64)
        REFUSE(WEFT_UNSUPPORTED, "Y is f64; ",
               (c.X.dtype = WEFT_I32, c.Y.dtype = WEFT_F64, c.op = WEFT_MEAN, c.Y.shape[0] = 1,
                c.X.shape[0] = 1));
}

// More elements than an i32 has places: one row, again and again.
static void test_too_many_places(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_DTYPE, "there are 2147483649 places",
           (c.op = WEFT_ARGMAX, c.Y.dtype = WEFT_I32, c.X.shape[1] = INT64_C(2147483649),
            c.X.stride[1] = 0));
}

static void test_tilings(void **state)
{
    (void)state;
    static const weft_axis_tiling wide = {.vector_width = 8,
                                          .vectors = 1,
                                          .items = 1,
                                          .items_y = 1,
                                          .unroll = 1,
                                          .widen = 1,
                                          .run = 1,
                                          .grid_x = 1,
                                          .grid_y = 1,
                                          .parts = 1};
    REFUSE(WEFT_BAD_ARGUMENT, "reduce: tiling.vector_width is 8, but lines have 5 columns",
           c.params.tiling = TILING_TEXT(axis, &wide));
}

// ---- scratch memory

static const weft_axis_tiling parted = {.vector_width = 1,
                                        .vectors = 5,
                                        .items = 1,
                                        .items_y = 1,
                                        .unroll = 2,
                                        .widen = 1,
                                        .run = 1,
                                        .grid_x = 1,
                                        .grid_y = 2,
                                        .parts = 3};

static size_t wanted_bytes(void)
{
    size_t bytes = 1;
    const weft_reduce_params params = reduce_params(&o);
    assert_ok(weft_reduce_workspace(ctx, o.of.op, &o.X, o.n_axes, o.axes, &o.Y, &params, &bytes));
    return bytes;
}

static cl_mem new_buffer(size_t bytes, cl_mem_flags flags)
{
    cl_int code;
    void *zeros = calloc(bytes, 1);
    assert_non_null(zeros);
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

static void test_workspace(void **state)
{
    (void)state;
    assert_int_equal(wanted_bytes(), 0);
    o.of.tiling = &parted;
    const size_t bytes = wanted_bytes();
    // Parts, 20 results in steps of 16, numbers; and room for a vector behind the last one.
    assert_int_equal(bytes, 3 * 32 * 2 * 8 + 16 * 8);
    o.workspace = new_buffer(bytes, CL_MEM_READ_WRITE);
    const uint64_t held = weft_context_get_stats(ctx).scratch_bytes;
    reduce_call(&o);
    reduce_check(&o);
    assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, held);
    clReleaseMemObject(o.workspace);
    o.workspace = NULL;
    reduce_restore(&o);
    reduce_call(&o);
    reduce_check(&o);
    assert_true(weft_context_get_stats(ctx).scratch_bytes >= bytes);
    assert_int_equal(weft_reduce_workspace(ctx, WEFT_SUM, &o.X, 0, NULL, &o.Y, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("bytes is NULL");
}

// ---- and the rest

static void test_description(void **state)
{
    (void)state;
    assert_non_null(
        strstr(reduce_words(&o), "4 x 1 x 6 x 5 (high, outer, mid, low); vector_width "));
    assert_int_equal(
        weft_reduce_describe(ctx, WEFT_MAX, &o.X, 1, (const int[]){7}, &o.Y, NULL, NULL, 0), -1);
    assert_says("axes[0] is 7");
}

// The call waits for an event of the caller's, and its own completes when Y is there.
static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    assert_int_equal(code, CL_SUCCESS);
    weft_reduce_params params = reduce_params(&o);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    assert_ok(weft_reduce(ctx, o.queue, o.of.op, &o.X, o.n_axes, o.axes, &o.Y, &params));
    assert_non_null(done);
    cl_int running;
    assert_int_equal(
        clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(running), &running, NULL),
        CL_SUCCESS);
    assert_int_not_equal(running, CL_COMPLETE);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(gate);
    clReleaseEvent(done);
    reduce_check(&o);
}

// The last column of a matrix takes the sums of the others.
static void test_side_by_side(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 21 };
    float data[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            data[i][j] = (float)(i + j % 3);
    cl_int code;
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(data), data, &code);
    assert_int_equal(code, CL_SUCCESS);
    const weft_tensor X = {buffer, WEFT_F32, 0, 2, {ROWS, COLUMNS - 1}, {COLUMNS, 1}};
    const weft_tensor Y = {buffer, WEFT_F32, COLUMNS - 1, 1, {ROWS}, {COLUMNS}};
    assert_ok(weft_reduce(ctx, o.queue, WEFT_SUM, &X, 1, (const int[]){1}, &Y, NULL));
    assert_int_equal(
        clEnqueueReadBuffer(o.queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL),
        CL_SUCCESS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_true(data[i][j] ==
                        (j < COLUMNS - 1 ? (float)(i + j % 3) : 20.0f * (float)i + 19));
    clReleaseMemObject(buffer);
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_a_good_call_is_good),
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_shapes),
        WITH_OPERANDS(test_data_types),
        WITH_OPERANDS(test_too_many_places),
        WITH_OPERANDS(test_tilings),
        WITH_OPERANDS(test_workspace),
        WITH_OPERANDS(test_description),
        WITH_OPERANDS(test_events),
        WITH_OPERANDS(test_side_by_side),
    };
    const int failed = cmocka_run_group_tests_name("reduce calls", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
