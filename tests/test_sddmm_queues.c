// SPDX-License-Identifier: Apache-2.0
// SDDMM among other work: the same bits whatever else runs, events honoured, order kept on queues
// of either kind, and few programs for many shapes.
#include "sddmm_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// Every kernel of a product: tiles of B packed, and sums that wait for the next one.
static const weft_sddmm_tiling all_kernels = {.fold = 2,
                                              .vectors = 2,
                                              .lanes = 2,
                                              .slices_per_group = 2,
                                              .entries = 16,
                                              .passes = true,
                                              .packed = true};

// And those of rows side by side.
static const weft_sddmm_tiling windows = {.fold = 2,
                                          .vectors = 2,
                                          .lanes = 1,
                                          .slices_per_group = 1,
                                          .entries = 32,
                                          .passes = true,
                                          .packed = true,
                                          .window = 5};

// Seeds 0 and 1 (modulo 4) take scratch memory from the pool, 2 and 3 bring their own.
static sddmm_case heavy_case(uint64_t seed)
{
    return (sddmm_case){.seed = seed,
                        .m = 40,
                        .n = 19,
                        .k = is_reduced ? 10 : 50,
                        .rows = ROWS_RANDOM,
                        .numbers = FRACTIONS,
                        .alpha = 0.7,
                        .beta = seed % 2 ? 0.3 : 0,
                        .tiling = &all_kernels};
}

static void check_same_bits(const sddmm_operands *o, const void *want, const char *how)
{
    void *got = sddmm_read(o);
    if (memcmp(got, want, o->d_bytes) != 0)
        fail_msg("seed %d: other bits %s", (int)o->of.seed, how);
    free(got);
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    static const weft_sddmm_tiling *const tilings[] = {NULL, &all_kernels, &windows};
    for (uint64_t seed = 0; seed < 12; seed++) {
        sddmm_operands o;
        sddmm_case of = heavy_case(seed);
        of.tiling = tilings[seed / 4];
        sddmm_create(&o, ctx, queue, &of);
        sddmm_call(&o);
        sddmm_check(&o);
        void *want = sddmm_read(&o);
        for (int run = 0; run < 3; run++) {
            sddmm_restore(&o);
            sddmm_call(&o);
            check_same_bits(&o, want, "in a later run");
        }
        free(want);
        sddmm_destroy(&o);
    }
}

static void test_same_bits_in_any_scratch_memory(void **state)
{
    (void)state;
    sddmm_operands o;
    const sddmm_case of = heavy_case(2);
    sddmm_create(&o, ctx, queue, &of);
    assert_non_null(o.workspace);
    sddmm_call(&o);
    void *want = sddmm_read(&o);
    weft_sddmm_params params = sddmm_params(&o);
    params.workspace = NULL;
    sddmm_restore(&o);
    if (!is_on("oclgrind")) { // see make_workspace()
        assert_ok(weft_sddmm(ctx, queue, of.alpha, &o.A, &o.B, &o.C, of.beta, &o.D, &params));
        check_same_bits(&o, want, "with the pool's scratch memory");
    }
    free(want);
    sddmm_destroy(&o);
}

enum { N_THREADS = 4, N_CALLS = 25 };

typedef struct worker {
    pthread_t thread;
    sddmm_operands o;
    void *want;
    weft_status status;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    const weft_sddmm_params params = sddmm_params(&w->o);
    for (int i = 0; i < N_CALLS && w->status == WEFT_OK; i++)
        w->status = weft_sddmm(ctx, w->o.queue, w->o.of.alpha, &w->o.A, &w->o.B, &w->o.C, 0,
                               &w->o.D, &params);
    return NULL;
}

static void run_threads(bool have_own_queues)
{
    static worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        worker *w = &workers[i];
        const sddmm_case of = heavy_case((uint64_t)(4 * i)); // beta 0, the pool's scratch memory
        sddmm_create(&w->o, ctx, have_own_queues ? queue_with(ctx, 0) : queue, &of);
        sddmm_call(&w->o);
        w->want = sddmm_read(&w->o);
        w->status = WEFT_OK;
        sddmm_restore(&w->o);
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
        sddmm_destroy(&w->o);
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
    sddmm_operands o;
    const sddmm_case of = heavy_case(3);
    sddmm_create(&o, ctx, on, &of);
    size_t bytes;
    assert_int_equal(clGetMemObjectInfo(o.B.buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL),
                     CL_SUCCESS);
    char *b = malloc(bytes), *nonsense = malloc(bytes);
    assert_true(b && nonsense);
    memset(nonsense, 0x11, bytes);
    clEnqueueReadBuffer(queue, o.B.buffer, CL_TRUE, 0, bytes, b, 0, NULL, NULL);
    clEnqueueWriteBuffer(queue, o.B.buffer, CL_TRUE, 0, bytes, nonsense, 0, NULL, NULL);

    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    weft_sddmm_params params = sddmm_params(&o);
    params.n_wait = 1;
    params.wait = &gate;
    params.event = &done;
    assert_ok(weft_sddmm(ctx, on, of.alpha, &o.A, &o.B, &o.C, of.beta, &o.D, &params));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        clFlush(on);
    assert_int_not_equal(event_state(done), CL_COMPLETE);
    clEnqueueWriteBuffer(queue, o.B.buffer, CL_TRUE, 0, bytes, b, 0, NULL, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(event_state(done), CL_COMPLETE);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    sddmm_check(&o);
    free(b);
    free(nonsense);
    sddmm_destroy(&o);
}

static void test_events_in_order(void **state)
{
    (void)state;
    cl_command_queue other = queue_with(ctx, 0);
    wait_on(other);
    clReleaseCommandQueue(other);
}

static void test_events_out_of_order(void **state)
{
    (void)state;
    cl_command_queue loose = queue_with(ctx, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    wait_on(loose);
    for (uint64_t seed = 0; seed < 40; seed++) { // kernels of a call wait for each other
        sddmm_operands o;
        const sddmm_case of = heavy_case(seed);
        sddmm_create(&o, ctx, loose, &of);
        sddmm_call(&o);
        clFinish(loose);
        sddmm_check(&o);
        sddmm_destroy(&o);
    }
    clReleaseCommandQueue(loose);
}

// Without any event, calls on one in-order queue follow each other: D2 = (A B) .* (A B) .* C.
static void test_calls_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed < 20; seed += 4) {
        sddmm_operands first, second;
        const sddmm_case of = heavy_case(seed);
        sddmm_create(&first, ctx, queue, &of);
        sddmm_create(&second, ctx, queue, &of);
        sddmm_call(&first);
        clFinish(queue);
        weft_sddmm_params params = sddmm_params(&second);
        weft_csr C = first.C;
        C.values = first.D.buffer;
        C.values_start = first.D.offset;
        assert_ok(weft_sddmm(ctx, queue, 1, &first.A, &first.B, &C, 0, &second.D, &params));
        void *want = sddmm_read(&second);
        sddmm_restore(&first);
        sddmm_restore(&second);
        sddmm_call(&first);
        assert_ok(weft_sddmm(ctx, queue, 1, &first.A, &first.B, &C, 0, &second.D, &params));
        check_same_bits(&second, want, "with the call before still under way");
        free(want);
        sddmm_destroy(&first);
        sddmm_destroy(&second);
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
        const sddmm_case one = {.seed = (uint64_t)i,
                                .m = some_extent(&random, most),
                                .n = some_extent(&random, most),
                                .k = some_extent(&random, most),
                                .rows = (sparse_rows)random_below(&random, N_ROWS),
                                .alpha = 1,
                                .beta = i % 3};
        sddmm_run(fresh, &one);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    printf("# %d shapes: %d programs\n", n_shapes, (int)built);
    weft_context_destroy(&fresh);
    return built;
}

enum { MOST_PROGRAMS = 24 };

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(NULL, is_reduced ? 60 : 1000, is_reduced ? 20 : 150);
    assert_in_range(built, 1, MOST_PROGRAMS);
}

static void test_few_programs_as_on_a_gpu(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    const uint64_t built = programs_for(limits, is_reduced ? 12 : 150, is_reduced ? 20 : 150);
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
