// SPDX-License-Identifier: Apache-2.0
// What softmax and its kin refuse, each in a sentence and without enqueuing anything; views that
// may be one another; scratch memory, events, and what the call says that it would do.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tiling_text.h"

#include <math.h>

#include <weft/rehearsal.h>

static weft_context *ctx;
static rewrite_operands o; // of the running test: 4 x 50 x 7, along the middle; forward
static rewrite_operands p; // and backward

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    double scale;
    weft_tensor X, Y;
    int axis;
    weft_softmax_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    rewrite_case of = {
        .seed = 3, .op = SOFTMAX, .ndim = 3, .shape = {4, 50, 7}, .axis = 1, .number = 1};
    rewrite_create(&o, ctx, &of);
    of.op = SOFTMAX_BACKWARD;
    rewrite_create(&p, ctx, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    rewrite_destroy(&o);
    rewrite_destroy(&p);
    return 0;
}

static call good_call(void)
{
    return (call){ctx, o.queue, 1, o.in[0].t, o.out.t, 1, {.size = sizeof(weft_softmax_params)}};
}

// The call fails, says so, enqueues nothing, hands out no event and leaves Y alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_softmax_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status =
        weft_softmax(c->ctx, c->queue, c->scale, &c->X, c->axis, &c->Y, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = strided_read(&o.out, o.queue);
    assert_memory_equal(after, o.out.memory, o.out.bytes);
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
    rewrite_call(&o);
    rewrite_check(&o);
    assert_ok(weft_softmax(ctx, o.queue, 1, &o.in[0].t, -2, &o.out.t, NULL));
    rewrite_check(&o);
}

static void test_arguments(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "axis is 3, X has 3 dimensions", c.axis = 3);
    REFUSE(bad, "axis is -4, X has 3 dimensions", c.axis = -4);
    REFUSE(bad, "scale is nan", c.scale = (double)NAN);
    REFUSE(bad, "scale is -inf", c.scale = (double)-INFINITY);
    REFUSE(bad, "scale is 1e+300", c.scale = 1e300); // of f32
    REFUSE(bad, "axis is 0, X has 0 dimensions", (c.X.ndim = c.Y.ndim = 0, c.axis = 0));
    const weft_tensor *X = &o.in[0].t, *Y = &o.out.t;
    assert_int_equal(weft_softmax(ctx, o.queue, 1, NULL, 1, Y, NULL), bad);
    assert_says("softmax: X is NULL");
    assert_int_equal(weft_log_softmax(ctx, o.queue, 1, X, 1, NULL, NULL), bad);
    assert_says("log_softmax: Y is NULL");
    assert_int_equal(weft_softmax_backward(ctx, o.queue, 1, NULL, X, 1, Y, NULL), bad);
    assert_says("softmax_backward: Y is NULL");
    assert_int_equal(weft_softmax_backward(ctx, o.queue, 1, X, NULL, 1, Y, NULL), bad);
    assert_says("softmax_backward: dY is NULL");
    assert_int_equal(weft_log_softmax_backward(ctx, o.queue, 1, X, X, 1, NULL, NULL), bad);
    assert_says("log_softmax_backward: dX is NULL");
}

static void test_shapes_and_types(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "X has 3 dimensions, Y 2", c.Y.ndim = 2);
    REFUSE(WEFT_BAD_SHAPE, "extent 1 of X is 50, of Y 49", c.Y.shape[1] = 49);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, Y bf16", c.Y.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "X is i32: f32, f64, f16 or bf16", c.X.dtype = c.Y.dtype = WEFT_I32);
    weft_tensor other = p.in[1].t;
    other.shape[0] = 3;
    assert_int_equal(weft_softmax_backward(ctx, p.queue, 1, &p.in[0].t, &other, 1, &p.out.t, NULL),
                     WEFT_BAD_SHAPE);
    assert_says("softmax_backward: extent 0 of Y is 4, of dY 3");
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *there = open_context(&limits);
    cl_mem in = strided_zeros(there, 64, CL_MEM_READ_WRITE);
    cl_mem out = strided_zeros(there, 64, CL_MEM_READ_WRITE);
    const weft_tensor X = {in, WEFT_F64, 0, 1, {8}, {1}}, Y = {out, WEFT_F64, 0, 1, {8}, {1}};
    assert_int_equal(weft_softmax(there, weft_context_queue(there), 1, &X, 0, &Y, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("softmax: X is f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(there).launches, 0);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    weft_context_destroy(&there);
}

// Y may be X, but for nothing else that shares bytes with it: moved, transposed, or another type.
static void test_views_that_overlap(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_BUFFER;
    REFUSE(bad, "X", (c.X.buffer = c.Y.buffer, c.X.offset = c.Y.offset + 1));
    REFUSE(bad, "X", (c.X = c.Y, c.X.stride[1] = -7, c.X.offset += 49 * 7));
    REFUSE(bad, "X", (c.X = c.Y, c.X.stride[0] = 0));
    const weft_tensor *Y = &p.in[0].t, *dY = &p.in[1].t;
    weft_tensor moved = *dY;
    moved.offset--;
    assert_int_equal(weft_softmax_backward(ctx, p.queue, 1, Y, dY, 1, &moved, NULL), bad);
    assert_says("dY");
}

// Columns of one matrix that lie side by side share nothing.
static void test_side_by_side(void **state)
{
    (void)state;
    cl_mem shared = strided_zeros(ctx, 4 * 10 * 8, CL_MEM_READ_WRITE);
    const weft_tensor X = {shared, WEFT_F32, 0, 2, {10, 4}, {8, 1}};
    weft_tensor Y = X;
    Y.offset = 4;
    assert_ok(weft_softmax(ctx, o.queue, 1, &X, 0, &Y, NULL));
    float values[80];
    assert_int_equal(
        clEnqueueReadBuffer(o.queue, shared, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL),
        CL_SUCCESS);
    for (int i = 0; i < 80; i++)
        if (!(fabsf(values[i] - (i % 8 < 4 ? 0 : 0.1f)) < 1e-6f))
            fail_msg("element %d is %g", i, (double)values[i]);
    clReleaseMemObject(shared);
}

// ---- tilings and scratch memory

// In three parts, as any device can.
static const weft_axis_tiling in_parts = {.vector_width = 1,
                                          .vectors = 8,
                                          .items = 1,
                                          .items_y = 1,
                                          .unroll = 2,
                                          .widen = 1,
                                          .run = 1,
                                          .grid_x = 1,
                                          .grid_y = 2,
                                          .parts = 3};

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_axis_tiling t = in_parts;
    t.unroll = 5;
    REFUSE(WEFT_BAD_ARGUMENT, "softmax: tiling.unroll is 5",
           c.params.tiling = TILING_TEXT(axis, &t));
    t = in_parts;
    t.vector_width = 8;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.vector_width is 8, but lines have 7",
           c.params.tiling = TILING_TEXT(axis, &t));
    t = in_parts;
    t.items = 1 << 20;
    REFUSE(WEFT_BAD_ARGUMENT, "1048576", c.params.tiling = TILING_TEXT(axis, &t));
    t = in_parts;
    t.widen = 51;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.widen is 51", c.params.tiling = TILING_TEXT(axis, &t));
    t = in_parts;
    t.widen = 2; // lines of 14 columns, 8 of an item
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.widen is 2", c.params.tiling = TILING_TEXT(axis, &t));
}

static void test_workspace(void **state)
{
    (void)state;
    size_t bytes = 0;
    o.of.tiling = p.of.tiling = &in_parts;
    assert_ok(rewrite_workspace(&o, &bytes));
    assert_true(bytes >= 3u * 4 * 7 * 2 * sizeof(float)); // parts, columns, two numbers at least
    const uint64_t held = weft_context_get_stats(ctx).scratch_bytes;
    o.workspace = strided_zeros(ctx, bytes, CL_MEM_READ_WRITE);
    p.workspace = strided_zeros(ctx, bytes, CL_MEM_READ_WRITE);
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_call(&p); // wants no more
    rewrite_check(&p);
    assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, held);

    assert_int_equal(weft_softmax_workspace(ctx, &o.in[0].t, 1, &o.out.t, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("bytes is NULL");
    assert_ok(weft_softmax_workspace(ctx, &o.in[0].t, 1, &o.out.t, NULL, &bytes));
    assert_int_equal(bytes, 0); // whole
}

// ---- words, events

static void test_words(void **state)
{
    (void)state;
    char text[300], cut[8];
    const weft_tensor *X = &o.in[0].t, *Y = &o.out.t;
    const weft_softmax_params params = {.size = sizeof(params),
                                        .tiling = TILING_TEXT(axis, &in_parts)};
    const int length = weft_softmax_describe(ctx, X, 1, Y, &params, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    const char *start = "4 x 1 x 50 x 7 (high, outer, mid, low); vector_width 1, vectors 8, items ";
    if (strncmp(text, start, strlen(start)) != 0 || !strstr(text, ", parts 3"))
        fail_msg("%s", text);
    assert_int_equal(weft_softmax_describe(ctx, X, 1, Y, &params, cut, sizeof(cut)), length);
    assert_string_equal(cut, "4 x 1 x");
    assert_int_equal(weft_softmax_describe(ctx, X, 5, Y, NULL, text, sizeof(text)), -1);
    assert_says("axis is 5");
}

// Softmax alone caches in local memory what it computed from the elements.
static void test_words_are_the_call_s_own(void **state)
{
    weft_context *v100;
    char text[4][300];
    (void)state;
    assert_ok(weft_rehearsal_create(&v100, weft_profile_find("v100"), NULL));
    const weft_tensor t = {.buffer = weft_rehearsal_buffer(v100, NULL),
                           .dtype = WEFT_F32,
                           .ndim = 3,
                           .shape = {4, 300, 8},
                           .stride = {2400, 8, 1}};
    assert_true(weft_softmax_describe(v100, &t, 1, &t, NULL, text[0], 300) > 0);
    assert_true(weft_log_softmax_describe(v100, &t, 1, &t, NULL, text[1], 300) > 0);
    assert_true(weft_softmax_backward_describe(v100, &t, &t, 1, &t, NULL, text[2], 300) > 0);
    assert_true(weft_log_softmax_backward_describe(v100, &t, &t, 1, &t, NULL, text[3], 300) > 0);
    for (int i = 0; i < 4; i++)
        if ((strstr(text[i], ", parts 1, cache") != NULL) != (i == 0))
            fail_msg("%s", text[i]);
    assert_int_equal(weft_softmax_backward_describe(v100, &t, NULL, 1, &t, NULL, text[2], 300), -1);
    assert_says("softmax_backward: dY is NULL");
    weft_context_destroy(&v100);
}

static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL, after = NULL;
    assert_int_equal(code, CL_SUCCESS);
    rewrite_how how = {.tiling = &in_parts, .n_wait = 1, .wait = &gate, .event = &done};
    assert_ok(rewrite_call_how(&o, &how));
    cl_int progress;
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL);
    assert_int_not_equal(progress, CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    rewrite_check(&o);
    clReleaseEvent(done);
    clReleaseEvent(gate);

    // Nothing to do completes too.
    const weft_tensor none = {.ndim = 1, .shape = {0}, .stride = {1}};
    assert_ok(weft_softmax(ctx, o.queue, 1, &none, 0, &none, WEFT_SOFTMAX(.event = &after)));
    assert_int_equal(clWaitForEvents(1, &after), CL_SUCCESS);
    clReleaseEvent(after);
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_a_good_call_is_good),
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_shapes_and_types),
        WITH_OPERANDS(test_f64_where_there_is_none),
        WITH_OPERANDS(test_views_that_overlap),
        WITH_OPERANDS(test_side_by_side),
        WITH_OPERANDS(test_tilings_that_do_not_serve),
        WITH_OPERANDS(test_workspace),
        WITH_OPERANDS(test_words),
        cmocka_unit_test(test_words_are_the_call_s_own),
        WITH_OPERANDS(test_events),
    };
    const int failed = cmocka_run_group_tests_name("softmax calls", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
