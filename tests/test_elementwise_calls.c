// SPDX-License-Identifier: Apache-2.0
// What elementwise operations refuse, each in a sentence and without enqueuing anything; views that
// may be one another; plans that are used again; events, threads, and what a call says that it
// would do.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "elementwise/elementwise_plan.h"
#include "elementwise_case.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static elementwise_operands o; // of the running test: 4 x 50 x 7; two inputs, two outputs, a value

static const elementwise_formula scaled = {.text = "v0 * a + b"};
static const elementwise_formula copy = {.text = "a"};

static const elementwise_case some_case = {.seed = 3,
                                           .n_inputs = 2,
                                           .n_outputs = 2,
                                           .n_values = 1,
                                           .values = {0.5},
                                           .formulas = {&scaled, &copy},
                                           .ndim = 3,
                                           .shape = {4, 50, 7},
                                           .in = {{.gap = 1}}};

static int make_operands(void **state)
{
    (void)state;
    elementwise_create(&o, ctx, &some_case);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    elementwise_destroy(&o);
    return 0;
}

// ---- refusals

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    int n_inputs, n_outputs;
    const weft_elementwise_input *inputs;
    const weft_elementwise_output *outputs;
    weft_elementwise_params params;
    weft_elementwise_input in[2];
    weft_elementwise_output out[2];
    weft_elementwise_value v[2];
    weft_tensor A, B, Y, Z;
} call;

static void make_good(call *c)
{
    *c = (call){.ctx = ctx,
                .queue = o.queue,
                .n_inputs = 2,
                .n_outputs = 2,
                .params = elementwise_params(&o),
                .v = {o.values[0]},
                .A = o.in[0].t,
                .B = o.in[1].t,
                .Y = o.out[0].t,
                .Z = o.out[1].t};
    c->in[0].tensor = &c->A;
    c->in[1].tensor = &c->B;
    c->out[0] = (weft_elementwise_output){scaled.text, &c->Y};
    c->out[1] = (weft_elementwise_output){copy.text, &c->Z};
    c->inputs = c->in;
    c->outputs = c->out;
    c->params.values = c->v;
}

static void expect_untouched(const strided *s)
{
    void *after = strided_read(s, o.queue);
    assert_memory_equal(after, s->memory, s->bytes);
    free(after);
}

// The call fails, says so, enqueues nothing, hands out no event and leaves outputs alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_elementwise_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = weft_elementwise(c->ctx, c->queue, c->n_inputs, c->inputs,
                                                c->n_outputs, c->outputs, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    expect_untouched(&o.out[0]);
    expect_untouched(&o.out[1]);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c;                                                                                    \
        make_good(&c);                                                                             \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    call c;
    make_good(&c);
    assert_ok(weft_elementwise(c.ctx, c.queue, 2, c.inputs, 2, c.outputs, &c.params));
    elementwise_check(&o);
}

static void test_arguments(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "-1 inputs, 0 to 8", c.n_inputs = -1);
    REFUSE(bad, "9 inputs, 0 to 8", c.n_inputs = 9);
    REFUSE(bad, "0 outputs, 1 to 4", c.n_outputs = 0);
    REFUSE(bad, "5 outputs, 1 to 4", c.n_outputs = 5);
    REFUSE(bad, "17 values, 0 to 16", c.params.n_values = 17);
    REFUSE(bad, "2 inputs, but the list of them is NULL", c.inputs = NULL);
    REFUSE(bad, "2 outputs, but the list of them is NULL", c.outputs = NULL);
    REFUSE(bad, "1 values, but the list of them is NULL", c.params.values = NULL);
    REFUSE(bad, "input b is NULL", c.in[1].tensor = NULL);
    REFUSE(bad, "output 1 is NULL", c.out[1].tensor = NULL);
    REFUSE(WEFT_BAD_DTYPE, "params.arithmetic is f16", c.params.arithmetic = WEFT_F16);
}

static void test_names(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "'b', is there twice", c.in[0].name = "b");
    REFUSE(bad, "'a', is there twice", c.v[0].name = "a");
    REFUSE(bad, "'1st', is no identifier", c.in[0].name = "1st");
    REFUSE(bad, "'exp', is a function", c.in[1].name = "exp");
    REFUSE(bad, "'float4', is a word of OpenCL C", c.v[0].name = "float4");
    REFUSE(bad, "the name of value 0 is NULL", c.v[0].name = NULL);
}

// The sentence shows the caller's text.
static void test_formulas(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    REFUSE(bad, "formula of output 1 is NULL", c.out[1].formula = NULL);
    REFUSE(bad, "a + + ;", c.out[0].formula = "a + + ;");
    REFUSE(bad, "v0 * a + w", c.out[0].formula = "v0 * a + w"); // unknown
    REFUSE(bad, "column 10", c.out[0].formula = "v0 * a + w");
    REFUSE(bad, "sqrt(a, b)", c.out[1].formula = "sqrt(a, b)");
    REFUSE(bad, "a = b", c.out[1].formula = "a = b");
    REFUSE(bad, "a[0]", c.out[1].formula = "a[0]");
    REFUSE(bad, "elementwise", c.out[1].formula = "");
    REFUSE(WEFT_BAD_DTYPE, "\"a & b\" has & | ^", c.out[1].formula = "a & b");
    REFUSE(bad, "a * v1", c.out[1].formula = "a * v1");
}

static void test_shapes_and_types(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "input b [4 x 49 x 7] does not broadcast to output 0 [4 x 50 x 7]",
           c.B.shape[1] = 49);
    REFUSE(WEFT_BAD_SHAPE, "input a [1 x 4 x 50 x 7] does not broadcast",
           (c.A.ndim = 4, c.A.shape[0] = 1, c.A.shape[1] = 4, c.A.shape[2] = 50, c.A.shape[3] = 7));
    REFUSE(WEFT_BAD_SHAPE, "input b [4 x 50] does not broadcast", c.B.ndim = 2);
    REFUSE(WEFT_BAD_SHAPE, "output 1 is [3 x 50 x 7], output 0 [4 x 50 x 7]", c.Z.shape[0] = 3);
    REFUSE(WEFT_BAD_SHAPE, "output 1 is [4 x 50], output 0 [4 x 50 x 7]", c.Z.ndim = 2);
    REFUSE(WEFT_BAD_DTYPE, "input a is f32, arithmetic is i64", c.params.arithmetic = WEFT_I64);
}

// In whole numbers they must be whole, and fit.
static void refuse_value(double value, weft_dtype arithmetic, const char *part)
{
    call c;
    make_good(&c);
    c.A.dtype = c.B.dtype = WEFT_I32;
    c.v[0].value = value;
    c.params.arithmetic = arithmetic;
    refuse(&c, WEFT_BAD_ARGUMENT, part);
}

static void test_values(void **state)
{
    (void)state;
    refuse_value(0.5, WEFT_DEFAULT, "value v0 is 0.5, arithmetic is i32");
    refuse_value((double)NAN, WEFT_DEFAULT, "nan, arithmetic is i32");
    refuse_value((double)INFINITY, WEFT_I64, "value v0 is inf, arithmetic is i64");
    refuse_value(1e30, WEFT_I64, "value v0 is 1e+30, arithmetic is i64");
    refuse_value(0x1p31, WEFT_DEFAULT, "value v0 is 2147483648, arithmetic is i32");
    refuse_value(-0x1p31 - 1, WEFT_DEFAULT, "value v0 is -2147483649, arithmetic is i32");
    refuse_value(0x1p63, WEFT_I64, "value v0 is 9.2233720368547758e+18, arithmetic is i64");
}

// So must the numbers in a formula; without words about it arithmetic is one that holds them.
static void refuse_literal(const char *formula, weft_dtype arithmetic, const char *part)
{
    call c;
    make_good(&c);
    c.A.dtype = c.B.dtype = WEFT_I32;
    c.v[0].value = 1;
    c.out[0].formula = formula;
    c.params.arithmetic = arithmetic;
    refuse(&c, WEFT_BAD_ARGUMENT, part);
}

static void test_literals(void **state)
{
    (void)state;
    refuse_literal("a + 3000000000", WEFT_I32,
                   "elementwise: column 5: the number 3000000000 is beyond i32, which arithmetic");
    refuse_literal("a - 2147483648", WEFT_I32, "column 5: the number 2147483648 is beyond i32");
    refuse_literal("a < 9223372036854775808", WEFT_DEFAULT,
                   "column 5: the number 9223372036854775808 is beyond i64");
    refuse_literal("-9223372036854775809", WEFT_I64, "column 2: the number -9223372036854775809");
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *there = open_context(&limits);
    cl_mem in = strided_zeros(there, 64, CL_MEM_READ_WRITE);
    cl_mem out = strided_zeros(there, 64, CL_MEM_READ_WRITE);
    weft_tensor X = {in, WEFT_F64, 0, 1, {8}, {1}}, Y = {out, WEFT_F32, 0, 1, {8}, {1}};
    cl_command_queue queue = weft_context_queue(there);
    assert_int_equal(
        weft_elementwise(there, queue, WEFT_INPUTS({NULL, &X}), WEFT_OUTPUTS({"a", &Y}), NULL),
        WEFT_UNSUPPORTED);
    assert_says("input a is f64");
    X.dtype = WEFT_F32;
    assert_int_equal(weft_elementwise(there, queue, WEFT_INPUTS({NULL, &X}),
                                      WEFT_OUTPUTS({"a", &Y}),
                                      WEFT_ELEMENTWISE(.arithmetic = WEFT_F64)),
                     WEFT_UNSUPPORTED);
    assert_says("arithmetic is f64");
    assert_int_equal(weft_context_get_stats(there).launches, 0);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    weft_context_destroy(&there);
}

// An output may be an input, but for nothing else that shares bytes with it: moved, transposed, of
// another type; nor may two outputs.
static void test_views_that_overlap(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_BUFFER;
    REFUSE(bad, "overlaps input b", (c.B = c.Y, c.B.stride[1] = -7, c.B.offset += 49 * 7));
    REFUSE(bad, "overlaps input a", (c.A = c.Y, c.A.stride[0] = 0));
    REFUSE(bad, "overlaps input a", (c.A = c.Y, c.A.dtype = WEFT_I32));
    REFUSE(bad, "overlaps input b",
           (c.B = c.Y, c.B.shape[0] = 1)); // all outputs read the first plane
    REFUSE(bad, "overlaps input b",
           (c.A = c.Y, c.B = c.Y, c.B.offset -= 3)); // one is it, the other is not
}

static weft_elementwise_tiling some_tiling(void)
{
    return (weft_elementwise_tiling){.vector_width = 1,
                                     .vectors = 1,
                                     .items = 1,
                                     .items_y = 1,
                                     .columns = 4,
                                     .rows = 3,
                                     .grid_x = 2,
                                     .grid_y = 2,
                                     .grid_z = 3};
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    weft_elementwise_tiling t = some_tiling();
    t.vectors = 3;
    REFUSE(bad, "tiling.vectors is 3", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.grid_x = 0;
    REFUSE(bad, "tiling.grid_x is 0", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.items = 1 << 20;
    REFUSE(bad, "1048576", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.vector_width = 4;
    t.aligned = true;
    REFUSE(bad, "tiling.aligned is set", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.rows = 0;
    REFUSE(bad, "tiling.rows is 0", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.grid_z = 65536;
    REFUSE(bad, "tiling.grid_z is 65536", c.params.tiling = TILING_TEXT(elementwise, &t));
    t = some_tiling();
    t.tiled = true;
    REFUSE(bad, "tiling.rows is 3, tiling.columns 4",
           c.params.tiling = TILING_TEXT(elementwise, &t));
    t.rows = 4;
    t.vector_width = 2;
    t.items_y = 2;
    REFUSE(bad, "tiling is 1 x 2 items", c.params.tiling = TILING_TEXT(elementwise, &t));
}

// ---- plans

static weft_elementwise_plan *planned(const elementwise_operands *of)
{
    weft_elementwise_plan *plan = NULL;
    const weft_elementwise_params params = elementwise_params(of);
    assert_ok(weft_elementwise_plan_create(&plan, ctx, of->of.n_inputs, of->inputs,
                                           of->of.n_outputs, of->outputs, &params));
    assert_non_null(plan);
    return plan;
}

static void call_by(const elementwise_operands *of, const weft_elementwise_plan *plan)
{
    weft_elementwise_params params = elementwise_params(of);
    params.plan = plan;
    assert_ok(elementwise_call_with(of, &params));
}

// Other numbers in other buffers, and other values.
static void test_plans_are_used_again(void **state)
{
    (void)state;
    weft_elementwise_plan *plan = planned(&o);
    const uint64_t built = weft_context_get_stats(ctx).programs_built;
    for (int i = 0; i < 4; i++) {
        elementwise_operands other;
        elementwise_case of = some_case;
        of.values[0] = 0.25 * i - 3;
        elementwise_create(&other, ctx, &of);
        for (int64_t at = 0; at < 1400; at++)
            elementwise_put(&other, 1, at, (double)(at * i) * 0.125, 0);
        elementwise_restore(&other);
        call_by(&other, plan);
        elementwise_check(&other);
        elementwise_destroy(&other);
    }
    assert_int_equal(weft_context_get_stats(ctx).programs_built, built);
    weft_elementwise_plan_destroy(&plan);
    assert_null(plan);
    weft_elementwise_plan_destroy(&plan);
    weft_elementwise_plan_destroy(NULL);
}

static void test_plans_hold_no_buffers(void **state)
{
    (void)state;
    elementwise_operands bare = o;
    weft_tensor views[4] = {o.in[0].t, o.in[1].t, o.out[0].t, o.out[1].t};
    for (int i = 0; i < 4; i++)
        views[i].buffer = NULL;
    bare.inputs[0].tensor = &views[0];
    bare.inputs[1].tensor = &views[1];
    bare.outputs[0].tensor = &views[2];
    bare.outputs[1].tensor = &views[3];
    weft_elementwise_plan *plan = planned(&bare);
    call_by(&o, plan);
    weft_elementwise_plan_destroy(&plan); // with the call under way
    elementwise_check(&o);
}

static void test_plans_of_something_else(void **state)
{
    (void)state;
    const weft_status bad = WEFT_BAD_ARGUMENT;
    weft_elementwise_plan *plan = planned(&o);
    weft_context *other = open_context(NULL);
    weft_elementwise_tiling t = some_tiling();
    REFUSE(bad, "ctx is not what params.plan", (c.params.plan = plan, c.ctx = other));
    REFUSE(bad, "n_inputs is not", (c.params.plan = plan, c.n_inputs = 1));
    REFUSE(bad, "n_outputs is not", (c.params.plan = plan, c.n_outputs = 1));
    REFUSE(bad, "n_values is not", (c.params.plan = plan, c.params.n_values = 0));
    REFUSE(bad, "input a is not", (c.params.plan = plan, c.A.shape[0] = 1));
    REFUSE(bad, "input b is not", (c.params.plan = plan, c.B.stride[0] = 0));
    REFUSE(bad, "input b is not", (c.params.plan = plan, c.B.offset = 0));
    REFUSE(bad, "input a is not", (c.params.plan = plan, c.A.dtype = WEFT_I32));
    REFUSE(bad, "output 1 is not", (c.params.plan = plan, c.Z.ndim = 2));
    REFUSE(bad, "output 0 is not", (c.params.plan = plan, c.out[0].formula = "v0 * a"));
    REFUSE(bad, "is not what", (c.params.plan = plan, c.in[1].name = "y"));
    REFUSE(bad, "is not what", (c.params.plan = plan, c.v[0].name = "w"));
    REFUSE(bad, "arithmetic is not", (c.params.plan = plan, c.params.arithmetic = WEFT_I32));
    REFUSE(bad, "tiling is not",
           (c.params.plan = plan, c.params.tiling = TILING_TEXT(elementwise, &t)));
    REFUSE(WEFT_BAD_BUFFER, "the buffer is NULL", (c.params.plan = plan, c.A.buffer = NULL));
    REFUSE(WEFT_BAD_BUFFER, "overlaps input a", (c.params.plan = plan, c.Y.buffer = c.A.buffer));
    weft_elementwise_plan_destroy(&plan);
    weft_context_destroy(&other);

    call c;
    make_good(&c);
    c.out[0].formula = "v0 * ";
    assert_int_equal(weft_elementwise_plan_create(&plan, ctx, 2, c.inputs, 2, c.outputs, &c.params),
                     bad);
    assert_says("v0 * ");
    assert_null(plan);
    assert_int_equal(weft_elementwise_plan_create(NULL, ctx, 2, c.inputs, 2, c.outputs, NULL), bad);
}

// ---- words, events, threads

static void test_words(void **state)
{
    (void)state;
    char text[400], cut[8];
    elementwise_case of = some_case;
    const weft_elementwise_tiling t = some_tiling();
    of.tiling = &t;
    of.in[1].gap = of.out[0].gap = of.out[1].gap = 1;
    elementwise_operands p;
    elementwise_create(&p, ctx, &of);
    const weft_elementwise_params params = elementwise_params(&p);
    const int length =
        weft_elementwise_describe(ctx, 2, p.inputs, 2, p.outputs, &params, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    const char *start =
        "4 x 50 x 7 (outers, rows, columns) in f32; vector_width 1, vectors 1, items";
    if (strncmp(text, start, strlen(start)) != 0 ||
        !strstr(text, "columns 4, rows 3, grid_x 2, grid_y 2, grid_z 3"))
        fail_msg("%s", text);
    assert_int_equal(
        weft_elementwise_describe(ctx, 2, p.inputs, 2, p.outputs, &params, cut, sizeof(cut)),
        length);
    assert_string_equal(cut, "4 x 50 ");
    assert_int_equal(
        weft_elementwise_describe(ctx, 9, p.inputs, 2, p.outputs, &params, text, sizeof(text)), -1);
    assert_says("9 inputs");
    elementwise_call(&p);
    elementwise_check(&p);
    elementwise_destroy(&p);
}

static cl_int state_of(cl_event event)
{
    cl_int progress = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL);
    return progress;
}

// What is to be read comes in behind an event that is still to complete.
static void wait_on(cl_command_queue queue)
{
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    assert_int_equal(code, CL_SUCCESS);
    cl_command_queue own = o.queue;
    weft_elementwise_params params = elementwise_params(&o);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    o.queue = queue;
    assert_ok(elementwise_call_with(&o, &params));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        assert_int_equal(clFlush(queue), CL_SUCCESS);
    assert_int_not_equal(state_of(done), CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    o.queue = own;
    elementwise_check(&o);
    clReleaseEvent(done);
    clReleaseEvent(gate);
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue made =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? made : NULL;
}

static void test_events(void **state)
{
    (void)state;
    cl_event after = NULL;
    cl_command_queue other = new_queue(0);
    wait_on(other);
    clReleaseCommandQueue(other);

    // Nothing to do completes too.
    const weft_tensor none = {.ndim = 1, .shape = {0}, .stride = {1}};
    assert_ok(weft_elementwise(ctx, o.queue, WEFT_INPUTS({NULL, &none}), WEFT_OUTPUTS({"a", &none}),
                               WEFT_ELEMENTWISE(.event = &after)));
    assert_int_equal(clWaitForEvents(1, &after), CL_SUCCESS);
    clReleaseEvent(after);
}

static void test_events_out_of_order(void **state)
{
    (void)state;
    cl_command_queue loose = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    wait_on(loose);
    clReleaseCommandQueue(loose);
}

enum { N_THREADS = 8, N_CALLS = 25 };

typedef struct worker {
    pthread_t thread;
    elementwise_operands o;
    const weft_elementwise_plan *plan;
    weft_status status;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    weft_elementwise_params params = elementwise_params(&w->o);
    for (int i = 0; i < N_CALLS && w->status == WEFT_OK; i++) {
        params.plan = i % 2 ? w->plan : NULL;
        w->status = elementwise_call_with(&w->o, &params);
    }
    return NULL;
}

// One plan for all, and a value each.
static void test_threads(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // its host side is not made for threads
        skip();
    static worker workers[N_THREADS];
    weft_elementwise_plan *plan = planned(&o);
    for (int i = 0; i < N_THREADS; i++) {
        elementwise_case of = some_case;
        of.values[0] = i - 2.5;
        elementwise_create(&workers[i].o, ctx, &of);
        workers[i].o.queue = i % 2 ? o.queue : new_queue(0);
        workers[i].plan = plan;
        workers[i].status = WEFT_OK;
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(workers[i].status, WEFT_OK);
        elementwise_check(&workers[i].o);
        if (workers[i].o.queue != o.queue)
            clReleaseCommandQueue(workers[i].o.queue);
        elementwise_destroy(&workers[i].o);
    }
    weft_elementwise_plan_destroy(&plan);
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_a_good_call_is_good),
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_names),
        WITH_OPERANDS(test_formulas),
        WITH_OPERANDS(test_shapes_and_types),
        WITH_OPERANDS(test_values),
        WITH_OPERANDS(test_literals),
        WITH_OPERANDS(test_f64_where_there_is_none),
        WITH_OPERANDS(test_views_that_overlap),
        WITH_OPERANDS(test_tilings_that_do_not_serve),
        WITH_OPERANDS(test_plans_are_used_again),
        WITH_OPERANDS(test_plans_hold_no_buffers),
        WITH_OPERANDS(test_plans_of_something_else),
        WITH_OPERANDS(test_words),
        WITH_OPERANDS(test_events),
        WITH_OPERANDS(test_events_out_of_order),
        WITH_OPERANDS(test_threads),
    };
    const int failed = cmocka_run_group_tests_name("elementwise calls", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
