// SPDX-License-Identifier: Apache-2.0
// Sparse attention among other work: the same bits whatever else runs, events honoured, order kept
// on queues of either kind, and few programs for many shapes.
#include "sparse_attention_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// Every kernel of a sweep, and every step of the three.
static const weft_sparse_attention_tiling all_kernels = {.fold = 2,
                                                         .vectors = 2,
                                                         .outputs = 1,
                                                         .lanes = 2,
                                                         .rows_per_group = 2,
                                                         .rows_per_item = 2,
                                                         .piece = 3};
static const weft_sparse_attention_tiling in_steps = {.in_steps = true};

// Seeds 0 and 1 (modulo 4) take scratch memory from the pool, 2 and 3 bring their own; odd ones go
// in steps.
static attention_case heavy_case(uint64_t seed)
{
    return (attention_case){.seed = seed,
                            .m = 40,
                            .n = 19,
                            .k = is_reduced ? 6 : 30,
                            .d = is_reduced ? 7 : 40,
                            .n_heads = 2,
                            .n_batches = 2,
                            .rows = ROWS_RANDOM,
                            .scale = 0.7,
                            .tiling = seed % 2 ? &in_steps : &all_kernels};
}

static void check_same_bits(const attention_operands *o, const void *want, const char *how)
{
    void *got = attention_read(o);
    if (memcmp(got, want, o->dense[O_OPERAND].bytes) != 0)
        fail_msg("seed %d: other bits %s", (int)o->of.seed, how);
    free(got);
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed += is_reduced ? 2 : 1) {
        attention_operands o;
        attention_case of = heavy_case(seed);
        of.tiling = seed < 4 ? of.tiling : NULL;
        attention_create(&o, ctx, queue, &of);
        attention_call(&o);
        attention_check(&o);
        void *want = attention_read(&o);
        for (int run = 0; run < 3; run++) {
            attention_restore(&o);
            attention_call(&o);
            check_same_bits(&o, want, "in a later run");
        }
        free(want);
        attention_destroy(&o);
    }
}

static void test_same_bits_in_any_scratch_memory(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // see make_workspace()
        skip();
    for (uint64_t seed = 2; seed < 4; seed++) {
        attention_operands o;
        const attention_case of = heavy_case(seed);
        attention_create(&o, ctx, queue, &of);
        assert_non_null(o.workspace);
        attention_call(&o);
        void *want = attention_read(&o);
        weft_sparse_attention_params params = attention_params(&o);
        params.workspace = NULL;
        attention_restore(&o);
        assert_ok(attention_call_with(&o, &params));
        check_same_bits(&o, want, "with the pool's scratch memory");
        free(want);
        attention_destroy(&o);
    }
}

enum { N_THREADS = 4, N_CALLS = 12 };

typedef struct worker {
    pthread_t thread;
    attention_operands o;
    void *want;
    weft_status status;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    const weft_sparse_attention_params params = attention_params(&w->o);
    for (int i = 0; i < N_CALLS && w->status == WEFT_OK; i++)
        w->status = attention_call_with(&w->o, &params);
    return NULL;
}

static void run_threads(bool have_own_queues)
{
    static worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        worker *w = &workers[i];
        const attention_case of = heavy_case((uint64_t)(4 * i + i % 2)); // the pool's memory
        attention_create(&w->o, ctx, have_own_queues ? queue_with(ctx, 0) : queue, &of);
        attention_call(&w->o);
        w->want = attention_read(&w->o);
        w->status = WEFT_OK;
        attention_restore(&w->o);
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
        attention_destroy(&w->o);
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

// V comes in behind an event that is still to complete: the call waits for it.
static void wait_on(cl_command_queue on, uint64_t seed)
{
    cl_int code;
    attention_operands o;
    const attention_case of = heavy_case(seed);
    attention_create(&o, ctx, on, &of);
    const attention_array *V = &o.dense[V_OPERAND];
    void *nonsense = memory_filled(V->bytes, 0x11);
    buffer_put(queue, V->view.buffer, nonsense, V->bytes);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    weft_sparse_attention_params params = attention_params(&o);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    assert_ok(attention_call_with(&o, &params));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        clFlush(on);
    assert_int_not_equal(event_state(done), CL_COMPLETE);
    buffer_put(queue, V->view.buffer, V->before, V->bytes);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(event_state(done), CL_COMPLETE);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    attention_check(&o);
    free(nonsense);
    attention_destroy(&o);
}

static void test_events_in_order(void **state)
{
    (void)state;
    cl_command_queue other = queue_with(ctx, 0);
    wait_on(other, 2);
    wait_on(other, 3);
    clReleaseCommandQueue(other);
}

static void test_events_out_of_order(void **state)
{
    (void)state;
    cl_command_queue loose = queue_with(ctx, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    wait_on(loose, 2);
    wait_on(loose, 3);
    const uint64_t n_seeds = is_reduced ? 5 : 20;
    for (uint64_t seed = 0; seed < n_seeds; seed++) { // kernels of a call wait for each other
        attention_operands o;
        const attention_case of = heavy_case(seed);
        attention_create(&o, ctx, loose, &of);
        attention_call(&o);
        clFinish(loose);
        attention_check(&o);
        attention_destroy(&o);
    }
    clReleaseCommandQueue(loose);
}

// Without any event, calls on one in-order queue follow each other: what the first one makes is V
// of the second.
static void test_calls_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed < 12; seed += 3) {
        attention_operands first, second;
        attention_case of = heavy_case(seed);
        of.n = of.m;
        attention_create(&first, ctx, queue, &of);
        attention_create(&second, ctx, queue, &of);
        cl_mem own = second.dense[V_OPERAND].view.buffer;
        second.dense[V_OPERAND].view = first.dense[O_OPERAND].view;
        attention_call(&first);
        clFinish(queue);
        attention_call(&second);
        void *want = attention_read(&second);
        attention_restore(&first);
        attention_restore(&second);
        attention_call(&first);
        attention_call(&second);
        check_same_bits(&second, want, "with the call before still under way");
        free(want);
        second.dense[V_OPERAND].view.buffer = own;
        attention_destroy(&first);
        attention_destroy(&second);
    }
}

// ---- few programs

// 1 to most, small ones more often.
static int64_t some_extent(random_state *random, int64_t most)
{
    const int64_t extent = random_extent(random);
    return extent <= most ? extent : random_between(random, 1, most);
}

static uint64_t programs_for(const weft_limits *limits, int n_shapes, int64_t most)
{
    weft_context *fresh = open_context(limits);
    random_state random = {17};
    for (int i = 0; i < n_shapes; i++) {
        const attention_case one = {.seed = (uint64_t)i,
                                    .m = some_extent(&random, most),
                                    .n = some_extent(&random, most),
                                    .k = some_extent(&random, most),
                                    .d = some_extent(&random, most),
                                    .rows = ROWS_SPARSE,
                                    .scale = 0.2};
        attention_run(fresh, &one);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    printf("# %d shapes: %d programs\n", n_shapes, (int)built);
    weft_context_destroy(&fresh);
    return built;
}

enum { MOST_PROGRAMS = 100 };

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(NULL, is_reduced ? 12 : 100, is_reduced ? 20 : 150);
    assert_in_range(built, 1, MOST_PROGRAMS);
}

static void test_few_programs_as_on_a_gpu(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    const uint64_t built = programs_for(limits, is_reduced ? 12 : 50, is_reduced ? 20 : 150);
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
