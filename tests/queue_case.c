// SPDX-License-Identifier: Apache-2.0
#include "queue_case.h"

enum { MORE_TESTS = 8, NONSENSE = 0x11 };

static const queue_call plain = {0};

static void *create(const queue_setting *b, cl_command_queue on, int variant, uint64_t seed)
{
    const queue_pick pick = {.variant = variant, .seed = seed, .is_reduced = b->is_reduced};
    return b->subject->create(b->ctx, on, pick);
}

static void read_all(cl_command_queue queue, cl_mem buffer, void *data, size_t bytes)
{
    assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL),
                     CL_SUCCESS);
}

static void write_all(cl_command_queue queue, cl_mem buffer, const void *data, size_t bytes)
{
    assert_ok(weft_cl_write(queue, buffer, bytes, data, "write"));
}

static void *allocated(size_t bytes)
{
    void *memory = malloc(bytes);
    assert_non_null(memory);
    return memory;
}

// To be freed; waits for the queue.
static void *output_now(const queue_view *view)
{
    queue_finish(view->queue);
    void *now = allocated(view->output_bytes);
    read_all(view->queue, view->output, now, view->output_bytes);
    return now;
}

static void restore(const queue_view *view)
{
    write_all(view->queue, view->output, view->output_before, view->output_bytes);
}

void queue_check_same_bits(const queue_subject *subject, const void *operands, const void *want,
                           const char *how)
{
    const queue_view view = subject->view(operands);
    void *got = output_now(&view);
    if (memcmp(got, want, view.output_bytes) != 0)
        fail_msg("seed %d: other bits %s", (int)view.seed, how);
    free(got);
}

// The right output, to be freed; it is put back.
static void *right_output(const queue_subject *subject, const void *operands)
{
    const queue_view view = subject->view(operands);
    assert_ok(subject->call(operands, &plain));
    subject->check(operands);
    void *want = output_now(&view);
    restore(&view);
    return want;
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    const queue_setting *b = *state;
    for (int variant = 0; variant < b->subject->n_variants; variant++)
        for (uint64_t seed = 0; seed < 4; seed += b->is_reduced ? 3 : 1) {
            void *o = create(b, b->queue, variant, seed);
            const queue_view view = b->subject->view(o);
            void *want = right_output(b->subject, o);
            for (int run = 0; run < 4; run++) {
                assert_ok(b->subject->call(o, &plain));
                queue_check_same_bits(b->subject, o, want, "in a later run");
                restore(&view);
            }
            free(want);
            b->subject->destroy(o);
        }
}

static void test_same_bits_in_any_scratch_memory(void **state)
{
    const queue_setting *b = *state;
    if (is_on("oclgrind")) // which takes the pool's memory for uninitialised
        skip();
    for (int variant = 0; variant < b->subject->n_variants; variant++) {
        void *o = create(b, b->queue, variant, 2);
        if (variant < b->subject->n_scratch)
            assert_true(b->subject->view(o).has_workspace);
        void *want = right_output(b->subject, o);
        assert_ok(b->subject->call(o, &(queue_call){.from_pool = true}));
        queue_check_same_bits(b->subject, o, want, "with the pool's scratch memory");
        free(want);
        b->subject->destroy(o);
    }
}

enum { N_THREADS = 4, N_CALLS = 25 };

typedef struct worker {
    pthread_t thread;
    const queue_subject *subject;
    void *operands, *want;
    weft_status status;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    for (int i = 0; i < N_CALLS && w->status == WEFT_OK; i++)
        w->status = w->subject->call(w->operands, &plain);
    return NULL;
}

// All take the pool's scratch memory; variants go round, from one on, unless they are the same.
static void run_threads(const queue_setting *b, int first, int step, bool have_own_queues)
{
    worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        cl_command_queue on = have_own_queues ? queue_with(b->ctx, 0) : b->queue;
        void *o = create(b, on, (first + i * step) % b->subject->n_variants, (uint64_t)(4 * i));
        workers[i] =
            (worker){.subject = b->subject, .operands = o, .want = right_output(b->subject, o)};
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        const worker *w = &workers[i];
        cl_command_queue on = b->subject->view(w->operands).queue;
        assert_int_equal(w->status, WEFT_OK);
        queue_check_same_bits(b->subject, w->operands, w->want, "beside other threads");
        free(w->want);
        b->subject->destroy(w->operands);
        if (have_own_queues)
            clReleaseCommandQueue(on);
    }
}

static void test_same_bits_beside_other_threads(void **state)
{
    const queue_setting *b = *state;
    if (is_on("oclgrind")) // its host side is not made for threads
        skip();
    for (int variant = 0; variant < b->subject->n_variants; variant++)
        for (int step = 0; step < 2; step++) {
            run_threads(b, variant, step, true);
            run_threads(b, variant, step, false);
        }
}

// ---- events and order

// An operand comes in behind an event that is still to complete: the call waits for it.
static void wait_on(const queue_setting *b, cl_command_queue on, int variant, uint64_t seed)
{
    cl_int code;
    void *o = create(b, on, variant, seed);
    const queue_view view = b->subject->view(o);
    size_t bytes;
    assert_int_equal(clGetMemObjectInfo(view.late, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL),
                     CL_SUCCESS);
    void *right = allocated(bytes), *nonsense = memset(allocated(bytes), NONSENSE, bytes);
    read_all(b->queue, view.late, right, bytes);
    write_all(b->queue, view.late, nonsense, bytes);
    cl_event gate = clCreateUserEvent(weft_context_cl(b->ctx), &code), done = NULL;
    const queue_call how = {.n_wait = 1, .wait = &gate, .event = &done};
    assert_ok(b->subject->call(o, &how));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for what it begins
        clFlush(on);
    assert_int_not_equal(event_state(done), CL_COMPLETE);
    write_all(b->queue, view.late, right, bytes);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(event_state(done), CL_COMPLETE);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    b->subject->check(o);
    free(right);
    free(nonsense);
    b->subject->destroy(o);
}

static void test_events_in_order(void **state)
{
    const queue_setting *b = *state;
    cl_command_queue other = queue_with(b->ctx, 0);
    for (int variant = 0; variant < b->subject->n_variants; variant++)
        for (uint64_t seed = 0; seed < 4; seed += 3)
            wait_on(b, other, variant, seed);
    clReleaseCommandQueue(other);
}

static void test_events_out_of_order(void **state)
{
    const queue_setting *b = *state;
    const int n_variants = b->subject->n_variants, n_cases = b->is_reduced ? 4 * n_variants : 40;
    cl_command_queue loose = queue_with(b->ctx, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    for (int variant = 0; variant < n_variants; variant++)
        for (uint64_t seed = 0; seed < 4; seed += 3)
            wait_on(b, loose, variant, seed);
    for (int i = 0; i < n_cases; i++) { // kernels of a call wait for each other
        void *o = create(b, loose, i % n_variants, (uint64_t)(i / n_variants));
        assert_ok(b->subject->call(o, &plain));
        queue_finish(loose);
        b->subject->check(o);
        b->subject->destroy(o);
    }
    clReleaseCommandQueue(loose);
}

// Without any event, calls on one in-order queue follow each other: the second one's operand is
// what the first one makes.
static void test_calls_keep_their_order(void **state)
{
    const queue_setting *b = *state;
    for (int i = 0; i < 5; i++) {
        queue_pick pick = {.variant = i % b->subject->n_variants,
                           .seed = (uint64_t)(2 + 4 * i),
                           .makes = true,
                           .is_reduced = b->is_reduced};
        void *first = b->subject->create(b->ctx, b->queue, pick);
        pick.makes = false;
        pick.takes = true;
        void *second = b->subject->create(b->ctx, b->queue, pick);
        const queue_view one = b->subject->view(first), other = b->subject->view(second);
        const queue_call after = {.made_by = first};
        assert_ok(b->subject->call(first, &plain));
        queue_finish(b->queue);
        assert_ok(b->subject->call(second, &after));
        void *want = output_now(&other);
        restore(&one);
        restore(&other);
        assert_ok(b->subject->call(first, &plain));
        assert_ok(b->subject->call(second, &after));
        queue_check_same_bits(b->subject, second, want, "with the call before still under way");
        free(want);
        b->subject->destroy(first);
        b->subject->destroy(second);
    }
}

// ---- few programs

int64_t queue_extent(random_state *random, int64_t most)
{
    const int64_t extent = random_extent(random);
    return extent <= most ? extent : random_between(random, 1, most);
}

static void check_programs(const queue_setting *b, const weft_limits *limits, queue_shapes shapes)
{
    weft_context *fresh = open_context(limits);
    random_state random = {17};
    const int n = b->is_reduced ? shapes.n_reduced : shapes.n;
    for (int i = 0; i < n; i++)
        b->subject->run_any(fresh, (uint64_t)i, &random, b->is_reduced ? 20 : 150);
    const bool is_vectorized = weft_context_limits(fresh)->vector_width > 1;
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    printf("# %d shapes: %d programs\n", n, (int)built);
    weft_context_destroy(&fresh);
    assert_in_range(built, 1,
                    is_vectorized ? b->subject->most_vectorized : b->subject->most_spread);
}

static void test_few_programs_for_many_shapes(void **state)
{
    const queue_setting *b = *state;
    check_programs(b, NULL, b->subject->here);
}

static void test_few_programs_as_on_a_gpu(void **state)
{
    const queue_setting *b = *state;
    check_programs(b, weft_profile_find("nvidia-a100"), b->subject->on_a_gpu);
}

int queue_main(const queue_subject *subject, const struct CMUnitTest *more, size_t n_more)
{
    static const struct CMUnitTest common[] = {
        cmocka_unit_test(test_same_bits_run_after_run),
        cmocka_unit_test(test_same_bits_in_any_scratch_memory),
        cmocka_unit_test(test_same_bits_beside_other_threads),
        cmocka_unit_test(test_events_in_order),
        cmocka_unit_test(test_events_out_of_order),
        cmocka_unit_test(test_calls_keep_their_order),
        cmocka_unit_test(test_few_programs_for_many_shapes),
        cmocka_unit_test(test_few_programs_as_on_a_gpu),
    };
    enum { COMMON_TESTS = sizeof(common) / sizeof(common[0]) };
    struct CMUnitTest tests[COMMON_TESTS + MORE_TESTS];
    need_device();
    weft_context *ctx = open_context(NULL);
    queue_setting setting = {subject, ctx, weft_context_queue(ctx), getenv("WEFT_TEST_REDUCED")};
    assert_in_range(n_more, 0, MORE_TESTS);
    for (size_t i = 0; i < COMMON_TESTS + n_more; i++) {
        tests[i] = i < COMMON_TESTS ? common[i] : more[i - COMMON_TESTS];
        tests[i].initial_state = &setting;
    }
    const int failed = _cmocka_run_group_tests("tests", tests, COMMON_TESTS + n_more, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
