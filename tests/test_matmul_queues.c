// SPDX-License-Identifier: Apache-2.0
// Matrix products among other work: the same bits whatever else runs or is in the batch, events
// honoured, order kept on queues of either kind, and few programs for many shapes.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "matmul_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// Both kernels of a product: pieces of k, and what puts them together.
static const weft_matmul_tiling in_pieces = {.method = WEFT_MATMUL_BLOCKS,
                                             .fold = 2,
                                             .vectors = 2,
                                             .rows = 2,
                                             .items = 1,
                                             .team = 1,
                                             .depth = 4,
                                             .block_rows = 8,
                                             .block_columns = 8,
                                             .piece = 16};

// Seeds 0 and 1 (modulo 4) take scratch memory from the pool, 2 and 3 bring their own.
static matmul_case heavy_case(uint64_t seed)
{
    return (matmul_case){.seed = seed,
                         .m = 40,
                         .n = 19,
                         .k = is_reduced ? 20 : 150,
                         .numbers = FRACTIONS,
                         .formula = &matmul_bias,
                         .alpha = 0.7,
                         .beta = seed % 2 ? 0.3 : 0,
                         .tiling = &in_pieces};
}

static cl_command_queue queue_with(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue made =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? made : NULL;
}

static cl_int event_state(cl_event event)
{
    cl_int progress = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL);
    return progress;
}

static void check_same_bits(const matmul_operands *o, const void *want, const char *how)
{
    void *got = strided_read(&o->c, o->queue);
    if (memcmp(got, want, o->c.bytes) != 0)
        fail_msg("seed %d: other bits %s", (int)o->of.seed, how);
    free(got);
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    static const weft_matmul_tiling *const tilings[] = {NULL, &in_pieces};
    for (uint64_t seed = 0; seed < 8; seed++) {
        matmul_operands o;
        matmul_case of = heavy_case(seed);
        of.tiling = tilings[seed / 4];
        matmul_create(&o, ctx, queue, &of);
        matmul_call(&o);
        matmul_check(&o);
        void *want = strided_read(&o.c, queue);
        for (int run = 0; run < 3; run++) {
            matmul_restore(&o);
            matmul_call(&o);
            check_same_bits(&o, want, "in a later run");
        }
        free(want);
        matmul_destroy(&o);
    }
}

static void test_same_bits_in_any_scratch_memory(void **state)
{
    (void)state;
    matmul_operands o;
    const matmul_case of = heavy_case(2);
    matmul_create(&o, ctx, queue, &of);
    assert_non_null(o.workspace);
    matmul_call(&o);
    void *want = strided_read(&o.c, queue);
    weft_matmul_params params = matmul_params(&o);
    params.workspace = NULL;
    matmul_restore(&o);
    if (!is_on("oclgrind")) { // which takes the pool's memory for uninitialised
        assert_ok(weft_matmul(ctx, queue, of.alpha, &o.a.t, &o.b.t, of.beta, &o.c.t, &params));
        check_same_bits(&o, want, "with the pool's scratch memory");
    }
    free(want);
    matmul_destroy(&o);
}

// One matrix of a batch as a call of its own.
static void multiply_alone(const matmul_operands *o, int64_t at)
{
    weft_matmul_params params = matmul_params(o);
    params.workspace = NULL;
    weft_tensor A = o->a.t, B = o->b.t, C = o->c.t;
    weft_tensor *const views[] = {&A, &B, &C};
    for (int i = 0; i < 3; i++) {
        weft_tensor *t = views[i];
        t->offset += at * t->stride[0];
        t->ndim = 2;
        memmove(t->shape, t->shape + 1, 2 * sizeof(int64_t));
        memmove(t->stride, t->stride + 1, 2 * sizeof(int64_t));
    }
    assert_ok(weft_matmul(o->ctx, o->queue, o->of.alpha, &A, &B, o->of.beta, &C, &params));
}

static void check_batch_and_alone(weft_context *there, matmul_case of)
{
    matmul_operands o;
    of.n_batch = 1;
    of.numbers = FRACTIONS;
    of.alpha = 0.7;
    of.beta = 0.3;
    matmul_create(&o, there, weft_context_queue(there), &of);
    matmul_call(&o);
    matmul_check(&o);
    void *want = strided_read(&o.c, o.queue);
    matmul_restore(&o);
    for (int64_t at = 0; at < of.batch[0]; at++)
        multiply_alone(&o, at);
    check_same_bits(&o, want, "alone and in a batch");
    free(want);
    matmul_destroy(&o);
}

// Whatever is in the batch besides; k so long that it is cut into pieces.
static void test_same_bits_alone_and_in_a_batch(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{5, 7, 900}, {1, 30, 200}, {33, 1, 60}, {40, 41, 42}};
    weft_context *gpu = open_context(weft_profile_find("nvidia-a100"));
    for (int i = 0; i < 4; i++)
        for (int64_t n_batches = 1; n_batches <= (is_reduced ? 3 : 12); n_batches += 2) {
            const matmul_case of = {.seed = (uint64_t)(40 + i), // the pool's scratch memory
                                    .m = shapes[i][0],
                                    .n = shapes[i][1],
                                    .k = is_reduced ? 20 : shapes[i][2],
                                    .batch = {n_batches}};
            check_batch_and_alone(ctx, of);
            if (!is_reduced)
                check_batch_and_alone(gpu, of);
        }
    weft_context_destroy(&gpu);
}

enum { N_THREADS = 4, N_CALLS = 25 };

typedef struct worker {
    pthread_t thread;
    matmul_operands o;
    void *want;
    weft_status status;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    const weft_matmul_params params = matmul_params(&w->o);
    for (int i = 0; i < N_CALLS && w->status == WEFT_OK; i++)
        w->status = weft_matmul(ctx, w->o.queue, w->o.of.alpha, &w->o.a.t, &w->o.b.t, 0, &w->o.c.t,
                                &params);
    return NULL;
}

static void run_threads(bool have_own_queues)
{
    static worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        worker *w = &workers[i];
        const matmul_case of = heavy_case((uint64_t)(4 * i)); // beta 0, the pool's scratch memory
        matmul_create(&w->o, ctx, have_own_queues ? queue_with(0) : queue, &of);
        matmul_call(&w->o);
        w->want = strided_read(&w->o.c, w->o.queue);
        w->status = WEFT_OK;
        matmul_restore(&w->o);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        worker *w = &workers[i];
        assert_int_equal(w->status, WEFT_OK);
        check_same_bits(&w->o, w->want, "beside other threads");
        if (have_own_queues)
            clReleaseCommandQueue(w->o.queue);
        free(w->want);
        matmul_destroy(&w->o);
    }
}

static void test_same_bits_beside_other_threads(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // its host side is not made for threads
        skip();
    run_threads(true);
    run_threads(false);
}

// ---- events and order

// B comes in behind an event that is still to complete: the product waits for it.
static void wait_on(cl_command_queue on)
{
    cl_int code;
    matmul_operands o;
    const matmul_case of = heavy_case(3);
    matmul_create(&o, ctx, on, &of);
    void *nonsense = malloc(o.b.bytes);
    assert_non_null(nonsense);
    memset(nonsense, 0x11, o.b.bytes);
    clEnqueueWriteBuffer(queue, o.b.t.buffer, CL_TRUE, 0, o.b.bytes, nonsense, 0, NULL, NULL);

    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    weft_matmul_params params = matmul_params(&o);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    assert_ok(weft_matmul(ctx, on, of.alpha, &o.a.t, &o.b.t, of.beta, &o.c.t, &params));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        clFlush(on);
    assert_int_not_equal(event_state(done), CL_COMPLETE);
    strided_restore(&o.b, queue);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(event_state(done), CL_COMPLETE);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    matmul_check(&o);
    free(nonsense);
    matmul_destroy(&o);
}

static void test_events_in_order(void **state)
{
    (void)state;
    cl_command_queue other = queue_with(0);
    wait_on(other);
    clReleaseCommandQueue(other);
}

static void test_events_out_of_order(void **state)
{
    (void)state;
    cl_command_queue loose = queue_with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    wait_on(loose);
    for (uint64_t seed = 0; seed < (is_reduced ? 4 : 40); seed++) { // kernels wait for each other
        matmul_operands o;
        const matmul_case of = heavy_case(seed);
        matmul_create(&o, ctx, loose, &of);
        matmul_call(&o);
        clFinish(loose);
        matmul_check(&o);
        matmul_destroy(&o);
    }
    clReleaseCommandQueue(loose);
}

// Without any event, calls on one in-order queue follow each other: the second one's A is the first
// one's C.
static void test_calls_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed < 20; seed += 4) {
        matmul_operands first, second;
        matmul_case of = heavy_case(seed);
        matmul_create(&first, ctx, queue, &of);
        of.k = of.n;
        matmul_create(&second, ctx, queue, &of);
        matmul_call(&first);
        clFinish(queue);
        const weft_matmul_params params = matmul_params(&second);
        assert_ok(weft_matmul(ctx, queue, 1, &first.c.t, &second.b.t, 0, &second.c.t, &params));
        void *want = strided_read(&second.c, queue);
        matmul_restore(&first);
        matmul_restore(&second);
        matmul_call(&first);
        assert_ok(weft_matmul(ctx, queue, 1, &first.c.t, &second.b.t, 0, &second.c.t, &params));
        check_same_bits(&second, want, "with the call before still under way");
        free(want);
        matmul_destroy(&first);
        matmul_destroy(&second);
    }
}

// ---- few programs

// 1 to most, small ones more often.
static int64_t some_extent(random_state *random, int64_t most)
{
    const int64_t extent = random_extent(random);
    return extent <= most ? extent : random_between(random, 1, most);
}

static matmul_case any_case(uint64_t seed, random_state *random, int64_t most)
{
    return (matmul_case){.seed = seed,
                         .m = some_extent(random, most),
                         .n = some_extent(random, most),
                         .k = some_extent(random, most),
                         .n_batch = (int)random_below(random, 3),
                         .batch = {random_between(random, 1, 3), random_between(random, 1, 3)},
                         .a = {.layout = (strided_layout)random_below(random, N_LAYOUTS)},
                         .b = {.layout = (strided_layout)random_below(random, N_LAYOUTS)},
                         .c = {.layout = (strided_layout)random_below(random, LAYOUT_REPEATING)},
                         .alpha = 1,
                         .beta = (double)(seed % 3)};
}

static uint64_t programs_for(const weft_limits *limits, int n_shapes, int64_t most)
{
    weft_context *fresh = open_context(limits);
    random_state random = {17};
    for (int i = 0; i < n_shapes; i++) {
        const matmul_case one = any_case((uint64_t)i, &random, most);
        matmul_run(fresh, &one);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    printf("# %d shapes: %d programs\n", n_shapes, (int)built);
    weft_context_destroy(&fresh);
    return built;
}

enum { MOST_PROGRAMS = 16 };

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(NULL, is_reduced ? 40 : 1000, is_reduced ? 20 : 150);
    assert_in_range(built, 1, MOST_PROGRAMS);
}

static void test_few_programs_as_on_a_gpu(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    const uint64_t built = programs_for(limits, is_reduced ? 8 : 150, is_reduced ? 20 : 150);
    assert_in_range(built, 1, MOST_PROGRAMS);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits_run_after_run),
        cmocka_unit_test(test_same_bits_in_any_scratch_memory),
        cmocka_unit_test(test_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(test_same_bits_beside_other_threads),
        cmocka_unit_test(test_events_in_order),
        cmocka_unit_test(test_events_out_of_order),
        cmocka_unit_test(test_calls_keep_their_order),
        cmocka_unit_test(test_few_programs_for_many_shapes),
        cmocka_unit_test(test_few_programs_as_on_a_gpu),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
