// SPDX-License-Identifier: Apache-2.0
// What the backward of layer and RMS normalisation refuses, each in a sentence and without
// enqueuing anything; which views may be one another; no rows; scratch memory, queues, events, and
// what the calls say that they would do.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static rewrite_operands o; // of the running test: 6 x 10, with w, dW and db

static int make_operands(void **state)
{
    (void)state;
    const rewrite_case of = {.seed = 3,
                             .op = LAYER_NORM_BACKWARD,
                             .ndim = 2,
                             .shape = {6, 10},
                             .axis = 1,
                             .number = 1e-5,
                             .has_weight = true,
                             .wants_dw = true,
                             .wants_db = true};
    rewrite_create(&o, ctx, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    rewrite_destroy(&o);
    return 0;
}

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    double epsilon;
    weft_tensor X, dY, dX, w, dW, db;
    int n_axes;
    weft_norm_backward_params params; // without w, dW and db
    bool wants_dw, wants_db;
} call;

static call good_call(void)
{
    return (call){ctx,
                  o.queue,
                  1e-5,
                  o.in[0].t,
                  o.in[1].t,
                  o.out.t,
                  o.in[2].t,
                  o.scalings[0].t,
                  o.scalings[1].t,
                  1,
                  {.size = sizeof(weft_norm_backward_params)},
                  true,
                  true};
}

// The call fails, says so, enqueues nothing, hands out no event and leaves outputs alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_norm_backward_params params = c->params;
    params.weight = &c->w;
    params.dW = c->wants_dw ? &c->dW : NULL;
    params.db = c->wants_db ? &c->db : NULL;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = weft_layer_norm_backward(c->ctx, c->queue, c->epsilon, &c->X,
                                                        c->n_axes, &c->dY, &c->dX, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    const strided *const outs[3] = {&o.out, &o.scalings[0], &o.scalings[1]};
    for (int k = 0; k < 3; k++) {
        void *after = strided_read(outs[k], o.queue);
        assert_memory_equal(after, outs[k]->memory, outs[k]->bytes);
        free(after);
    }
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_arguments(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    const weft_tensor *X = &o.in[0].t, *dY = &o.in[1].t, *dX = &o.out.t;
    REFUSE(bad, "n_axes is 0, X has 2 dimensions", c.n_axes = 0);
    REFUSE(bad, "n_axes is 3, X has 2 dimensions", c.n_axes = 3);
    REFUSE(bad, "epsilon is -1", c.epsilon = -1);
    REFUSE(bad, "epsilon is nan", c.epsilon = (double)NAN);
    REFUSE(bad, "epsilon is 1e+300", c.epsilon = 1e300); // of f32
    assert_int_equal(weft_rms_norm_backward(ctx, o.queue, 0, NULL, 1, dY, dX, NULL), bad);
    assert_says("rms_norm_backward: X is NULL");
    assert_int_equal(weft_rms_norm_backward(ctx, o.queue, 0, X, 1, NULL, dX, NULL), bad);
    assert_says("rms_norm_backward: dY is NULL");
    assert_int_equal(weft_rms_norm_backward(ctx, o.queue, 0, X, 1, dY, NULL, NULL), bad);
    assert_says("rms_norm_backward: dX is NULL");
    rewrite_call(&o);
    rewrite_check(&o);
}

static void test_shapes_and_types(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "X has 2 dimensions, dY 1", c.dY.ndim = 1);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of X is 6, of dX 5", c.dX.shape[0] = 5);
    REFUSE(WEFT_BAD_SHAPE, "weight has 1 dimensions, 2 are normalised", c.n_axes = 2);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of weight is 9, X's axis 1 has 10", c.w.shape[0] = 9);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of dW is 9, X's axis 1 has 10", c.dW.shape[0] = 9);
    REFUSE(WEFT_BAD_SHAPE, "extent 0 of db is 1, X's axis 1 has 10", c.db.shape[0] = 1);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, dY f16", c.dY.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, dX bf16", c.dX.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, weight f16", c.w.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, dW f16", c.dW.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "X is f32, db f64", c.db.dtype = WEFT_F64);
    REFUSE(WEFT_BAD_DTYPE, "X is i32", c.X.dtype = c.dY.dtype = c.dX.dtype = WEFT_I32);
}

// With dW or db nothing is written over X or dY; without, dX may be one of them, but for no other
// view that shares bytes with it.
static void test_views_that_overlap(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_BUFFER;
    REFUSE(bad, "dX is X itself: that is allowed only without dW and db",
           (c.X = c.dX, c.wants_db = false));
    REFUSE(bad, "dX is X itself: that is allowed only without dW and db",
           (c.X = c.dX, c.wants_dw = false));
    REFUSE(bad, "dX is dY itself: that is allowed only without dW and db",
           (c.dY = c.dX, c.wants_dw = false));
    for (int over = 1; over <= 2; over++) {
        rewrite_case of = o.of;
        of.over = over;
        of.wants_dw = of.wants_db = false;
        rewrite_run(ctx, &of);
        of.shape[0] = 0; // nothing is written, nor read later
        of.wants_dw = true;
        rewrite_run(ctx, &of);
    }
}

// ---- nothing to do, and sums of nothing

static void test_empty(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 5}};
    static const weft_axis_tiling of_rows = {.vector_width = 8,
                                             .vectors = 1,
                                             .items = 1,
                                             .items_y = 1,
                                             .unroll = 1,
                                             .widen = 8,
                                             .run = 1,
                                             .grid_x = 1,
                                             .grid_y = 1,
                                             .parts = 1};
    for (int i = 0; i < 4; i++)
        for (int n_axes = 1; n_axes <= 3; n_axes++)
            for (int wants = 0; wants < 2; wants++) {
                const rewrite_case of = {.op = i % 2 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD,
                                         .ndim = 3,
                                         .shape = {shapes[i][0], shapes[i][1], shapes[i][2]},
                                         .axis = n_axes,
                                         .number = 1,
                                         .has_weight = wants,
                                         .wants_dw = wants,
                                         .wants_db = wants && i != 1,
                                         .tiling = i == 0 ? &of_rows : NULL};
                int64_t columns = 1;
                for (int d = 3 - n_axes; d < 3; d++)
                    columns *= of.shape[d];
                const bool is_idle = columns == 0 || !wants;
                const uint64_t launches = weft_context_get_stats(ctx).launches;
                rewrite_operands p;
                rewrite_create(&p, ctx, &of);
                rewrite_call(&p);
                assert_int_equal(strcmp(rewrite_words(&p), "nothing to do") == 0, is_idle);
                assert_int_equal(weft_context_get_stats(ctx).launches == launches, is_idle);
                rewrite_check(&p);
                rewrite_destroy(&p);
            }
}

// ---- tilings and scratch memory

static const weft_axis_tiling in_parts = {.vector_width = 1,
                                          .vectors = 3,
                                          .items = 1,
                                          .items_y = 1,
                                          .unroll = 2,
                                          .widen = 1,
                                          .run = 1,
                                          .grid_x = 4,
                                          .grid_y = 2,
                                          .parts = 3};

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_axis_tiling t = in_parts;
    t.unroll = 5;
    REFUSE(WEFT_BAD_ARGUMENT, "layer_norm_backward: tiling.unroll is 5",
           c.params.tiling = TILING_TEXT(axis, &t));
    REFUSE(WEFT_BAD_ARGUMENT, "layer_norm_backward: scaling_tiling.unroll is 5",
           c.params.scaling_tiling = TILING_TEXT(axis, &t));
    t = in_parts;
    t.cache = true;
    REFUSE(WEFT_BAD_ARGUMENT, "backward: tiling.cache is set",
           c.params.tiling = TILING_TEXT(axis, &t));
    REFUSE(WEFT_BAD_ARGUMENT, "backward: scaling_tiling.cache is set",
           c.params.scaling_tiling = TILING_TEXT(axis, &t));
}

// A group of items that has local memory for five numbers of each lane, and not for ten.
static void test_items_z_that_keep_too_much(void **state)
{
    (void)state;
    const weft_limits *limits = weft_context_limits(ctx);
    weft_axis_tiling t = in_parts;
    t.vector_width = 16, t.vectors = 1, t.widen = 16, t.parts = 1, t.grid_x = t.grid_y = 1;
    while (t.items_y < 1 << 20 &&
           (size_t)(16 * t.items_y * 10) * sizeof(float) <= limits->local_bytes)
        t.items_y *= 2;
    if ((size_t)t.items_y > limits->max_items)
        skip();
    weft_tensor row[3];
    for (int i = 0; i < 3; i++)
        row[i] = weft_matrix(strided_zeros(ctx, 256, CL_MEM_READ_WRITE), WEFT_F32, 1, 64);
    char text[64];
    assert_int_equal(weft_norm_backward_describe(
                         ctx, &row[0], 1, &row[1], &row[2],
                         WEFT_NORM_BACKWARD(.tiling = TILING_TEXT(axis, &t)), text, sizeof(text)),
                     -1);
    assert_says("norm_backward: tiling.items_y takes ");
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(row[i].buffer);
}

// As many bytes as are asked for serve either kind, of every shape; one less does not.
static void test_workspace(void **state)
{
    (void)state;
    for (uint64_t seed = 50; seed < 58; seed++) {
        rewrite_case of = rewrite_random(seed % 2 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD, seed,
                                         2 + (int)(seed % 3), 300);
        of.over = 0;
        of.wants_dw = true;
        of.tiling = seed % 4 < 2 ? &in_parts : NULL;
        of.scaling_tiling = seed % 8 < 4 ? &in_parts : NULL;
        rewrite_operands p;
        size_t bytes = 0;
        rewrite_create(&p, ctx, &of);
        assert_ok(rewrite_workspace(&p, &bytes));
        if (bytes > 0) {
            const uint64_t held = weft_context_get_stats(ctx).scratch_bytes;
            p.workspace = strided_zeros(ctx, bytes, CL_MEM_READ_WRITE);
            rewrite_call(&p);
            assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, held);
            rewrite_check(&p);
        }
        rewrite_destroy(&p);
    }
}

static void test_workspace_of_nobody(void **state)
{
    (void)state;
    assert_int_equal(
        weft_norm_backward_workspace(ctx, &o.in[0].t, 1, &o.in[1].t, &o.out.t, NULL, NULL),
        WEFT_BAD_ARGUMENT);
    assert_says("norm_backward_workspace: bytes is NULL");
}

// ---- words, queues, events

static void test_words(void **state)
{
    (void)state;
    char text[600], cut[8];
    const weft_tensor *X = &o.in[0].t, *dY = &o.in[1].t, *dX = &o.out.t;
    const weft_norm_backward_params params = {
        .size = sizeof(params), .dW = &o.scalings[0].t, .tiling = TILING_TEXT(axis, &in_parts)};
    const int length =
        weft_rms_norm_backward_describe(ctx, X, 1, dY, dX, &params, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    if (strncmp(text, "dX: 6 x 1 x 10 x 1 (high, outer, mid, low); vector_width 1, vectors 3",
                61) != 0 ||
        !strstr(text, ", grid_x 4, grid_y 2, parts 3; dW and db: "))
        fail_msg("%s", text);
    assert_int_equal(weft_rms_norm_backward_describe(ctx, X, 1, dY, dX, &params, cut, sizeof(cut)),
                     length);
    assert_string_equal(cut, "dX: 6 x");
    assert_int_equal(weft_norm_backward_describe(ctx, X, 5, dY, dX, NULL, text, sizeof(text)), -1);
    assert_says("n_axes is 5");
}

// What describes a call compiles its kernels, and the call then none.
static void test_words_are_of_the_same_program(void **state)
{
    (void)state;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        const rewrite_case of = {.seed = 600,
                                 .op = (rewrite_op)op,
                                 .ndim = 2,
                                 .shape = {3, 37},
                                 .axis = 1,
                                 .number = 1,
                                 .wants_db = true};
        weft_context *own = open_context(NULL);
        rewrite_operands p;
        rewrite_create(&p, own, &of);
        if (is_on("oclgrind")) // where the call would ask for it, of which both kinds are compiled
            p.workspace = rewrite_written_scratch(&p);
        rewrite_words(&p);
        const uint64_t described = weft_context_get_stats(own).programs_built;
        assert_true(described > 0);
        rewrite_call(&p);
        assert_int_equal(weft_context_get_stats(own).programs_built, described);
        rewrite_destroy(&p);
        weft_context_destroy(&own);
    }
}

// Its kernels keep their order on a queue that keeps none, and wait for what they are told to.
static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL, after = NULL;
    assert_int_equal(code, CL_SUCCESS);
    REFUSE(WEFT_BAD_ARGUMENT, "1 events to wait for, but the list is NULL", c.params.n_wait = 1);
    cl_command_queue in_order = o.queue;
    cl_command_queue any_order =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx),
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code == CL_SUCCESS)
        o.queue = any_order;
    o.of.tiling = &in_parts;
    o.workspace = rewrite_written_scratch(&o);
    rewrite_how how = {
        .tiling = &in_parts, .workspace = o.workspace, .n_wait = 1, .wait = &gate, .event = &done};
    assert_ok(rewrite_call_how(&o, &how));
    cl_int progress;
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL);
    assert_int_not_equal(progress, CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    o.queue = in_order;
    rewrite_check(&o);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    if (any_order)
        clReleaseCommandQueue(any_order);

    // Nothing to do completes too.
    const weft_tensor none = {.ndim = 1, .shape = {0}, .stride = {1}};
    assert_ok(weft_layer_norm_backward(ctx, o.queue, 1, &none, 1, &none, &none,
                                       WEFT_NORM_BACKWARD(.event = &after)));
    assert_int_equal(clWaitForEvents(1, &after), CL_SUCCESS);
    clReleaseEvent(after);
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_shapes_and_types),
        WITH_OPERANDS(test_views_that_overlap),
        cmocka_unit_test(test_empty),
        WITH_OPERANDS(test_tilings_that_do_not_serve),
        cmocka_unit_test(test_items_z_that_keep_too_much),
        cmocka_unit_test(test_workspace),
        WITH_OPERANDS(test_workspace_of_nobody),
        WITH_OPERANDS(test_words),
        cmocka_unit_test(test_words_are_of_the_same_program),
        WITH_OPERANDS(test_events),
    };
    const int failed = cmocka_run_group_tests_name("norm backward calls", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
