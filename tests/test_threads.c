// SPDX-License-Identifier: Apache-2.0
// Sixteen threads at once, each with operands of its own: every operation, mixed, on one context of
// the library and on many, on one queue and on many, while contexts, plans and programs come and
// go. What comes out is what one thread alone gets, bit by bit. (An assertion of what all cases
// share ends the program where it fails on a thread: its exit status tells.)
#define _POSIX_C_SOURCE 200809L // barriers
#include "operation_case.h"

enum { N_THREADS = 16, N_ROUNDS = 3 };

// What one thread does, and the first thing that went wrong for it.
typedef struct worker {
    pthread_t thread;
    int number;
    int first;         // case of a round
    weft_context *ctx; // NULL: one of its own each round
    operation_operands o;
    char complaint[300];
} worker;

static weft_context *ctx;
static char kernels[600]; // the folder of all contexts
static operation_results wanted[OPERATION_CASES];
static worker workers[N_THREADS];
static weft_context_stats alone; // what all cases took
static pthread_barrier_t start;
static int n_rounds;

static void complain(worker *w, const char *name, const char *what)
{
    snprintf(w->complaint, sizeof(w->complaint), "thread %d, %s: %s", w->number, name, what);
}

static bool run_case(worker *w, const operation_case *of, weft_context *there)
{
    operation_results got;
    operation_clear(&w->o);
    if (of->run(&w->o, there) != WEFT_OK) {
        complain(w, of->name, weft_last_error());
        return false;
    }
    operation_read(&w->o, &got);
    if (memcmp(&got, &wanted[of - operation_cases], sizeof(got)) == 0)
        return true;
    complain(w, of->name, "other bits than alone");
    return false;
}

// All cases, from the thread's first one on.
static bool run_round(worker *w, weft_context *there)
{
    for (int i = 0; i < OPERATION_CASES; i++)
        if (!run_case(w, &operation_cases[(i + w->first) % OPERATION_CASES], there))
            return false;
    return true;
}

static void *work(void *argument)
{
    worker *w = argument;
    bool goes_well = true;
    pthread_barrier_wait(&start);
    for (int round = 0; round < n_rounds && goes_well; round++) {
        weft_context *there = w->ctx;
        if (!there && weft_context_create(&there, w->o.cl, w->o.device,
                                          WEFT_CONTEXT(.cache_dir = kernels)) != WEFT_OK) {
            complain(w, "weft_context_create", weft_last_error());
            return NULL;
        }
        goes_well = run_round(w, there);
        if (!w->ctx)
            weft_context_destroy(&there);
    }
    return NULL;
}

typedef struct crowd {
    weft_context *even, *odd; // of threads of such numbers; NULL: their own
    cl_command_queue queue;   // of all; NULL: their own
    bool in_step;             // all begin with the same case
} crowd;

static void worker_prepare(worker *w, int number, const crowd *of)
{
    *w = (worker){.number = number,
                  .first = of->in_step ? 0 : 2 * number,
                  .ctx = number % 2 ? of->odd : of->even};
    if (w->ctx)
        operation_operands_create_in(&w->o, weft_context_cl(ctx), weft_context_device(ctx));
    else
        operation_operands_create(&w->o);
    if (of->queue)
        w->o.queue = of->queue;
    else if (number % 3 == 0 && w->o.out_of_order)
        w->o.queue = w->o.out_of_order;
    w->o.wants_event = number % 4 >= 2;
}

static void run_threads(const crowd *of)
{
    const char *complaint = NULL;
    for (int i = 0; i < N_THREADS; i++)
        worker_prepare(&workers[i], i, of);
    pthread_barrier_init(&start, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < N_THREADS; i++) {
        operation_operands_destroy(&workers[i].o);
        if (workers[i].complaint[0])
            complaint = workers[i].complaint;
    }
    if (complaint)
        fail_msg("%s", complaint);
}

static weft_context *open_beside(void)
{
    weft_context *beside;
    assert_ok(weft_context_create(&beside, weft_context_cl(ctx), weft_context_device(ctx),
                                  WEFT_CONTEXT(.cache_dir = kernels)));
    return beside;
}

// ---- tests

static void test_queues_of_their_own(void **state)
{
    (void)state;
    run_threads(&(crowd){.even = ctx, .odd = ctx});
}

static void test_one_queue(void **state)
{
    (void)state;
    run_threads(&(crowd){.even = ctx, .odd = ctx, .queue = weft_context_queue(ctx)});
}

static void test_contexts_come_and_go(void **state)
{
    (void)state;
    run_threads(&(crowd){.even = ctx});
}

// Sixteen ask for the same programs while none is there: each is made once.
static void test_a_program_is_made_once(void **state)
{
    (void)state;
    weft_context *beside = open_beside();
    const int rounds = n_rounds;
    n_rounds = 1;
    run_threads(&(crowd){.even = beside, .odd = beside, .in_step = true});
    n_rounds = rounds;
    const weft_context_stats together = weft_context_get_stats(beside);
    assert_int_equal(together.programs_built + together.programs_loaded,
                     alone.programs_built + alone.programs_loaded);
    weft_context_destroy(&beside);
}

static int find_wanted(void **state)
{
    (void)state;
    const char *reduced = getenv("WEFT_TEST_REDUCED");
    n_rounds = reduced && *reduced == '1' ? 1 : N_ROUNDS;
    snprintf(kernels, sizeof(kernels), "%s/kernels", test_dir());
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = kernels)));
    operation_operands o;
    operation_operands_create_in(&o, weft_context_cl(ctx), weft_context_device(ctx));
    for (int i = 0; i < OPERATION_CASES; i++) {
        operation_clear(&o);
        assert_ok(operation_cases[i].run(&o, ctx));
        operation_read(&o, &wanted[i]);
        assert_int_equal(operation_is_clear(&wanted[i]), operation_cases[i].writes_nothing);
    }
    operation_operands_destroy(&o);
    alone = weft_context_get_stats(ctx);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    weft_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queues_of_their_own),
        cmocka_unit_test(test_one_queue),
        cmocka_unit_test(test_contexts_come_and_go),
        cmocka_unit_test(test_a_program_is_made_once),
    };
    return cmocka_run_group_tests(tests, find_wanted, close_all);
}
