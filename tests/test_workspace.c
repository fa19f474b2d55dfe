// SPDX-License-Identifier: Apache-2.0
// The pool of scratch memory: what is shared, what is waited for, what is refused.
#define _POSIX_C_SOURCE                   200809L
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include <stdatomic.h>
#include <time.h>

#include "runtime/context.h"
#include "runtime/workspace.h"

#include "random.h"
#include "runtime.h"

enum { bound = 1 << 20 };

static weft_context *ctx;
static cl_command_queue queue;

static int set_up(void **state)
{
    (void)state;
    const weft_status status =
        weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "", .scratch_bytes = bound));
    queue = status == WEFT_OK ? weft_context_queue(ctx) : NULL;
    return status;
}

static int tear_down(void **state)
{
    (void)state;
    weft_context_destroy(&ctx);
    return 0;
}

static cl_event gate_create(void)
{
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code);
    assert_int_equal(code, CL_SUCCESS);
    return gate;
}

static void gate_open(cl_event gate)
{
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
}

static cl_mem taken(cl_command_queue on, size_t bytes)
{
    cl_mem buffer;
    size_t size = 0;
    assert_ok(weft_workspace_take(ctx, on, "op", bytes, &buffer));
    assert_non_null(buffer);
    clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(size), &size, NULL);
    assert_true(size >= bytes);
    return buffer;
}

static uint64_t held(void)
{
    return weft_context_get_stats(ctx).scratch_bytes;
}

static cl_command_queue second_queue(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue second =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? second : NULL;
}

static void test_what_is_given_back_is_used_again(void **state)
{
    (void)state;
    cl_mem first = taken(queue, 1000);
    cl_mem second = taken(queue, 1000);
    assert_ptr_not_equal(first, second);
    const uint64_t both = held();
    assert_in_range(both, 2000, bound);
    weft_workspace_give(ctx, queue, first, NULL);
    assert_ptr_equal(taken(queue, 900), first);
    weft_workspace_give(ctx, queue, first, NULL);
    weft_workspace_give(ctx, queue, second, NULL);
    weft_workspace_give(ctx, queue, NULL, NULL);
    assert_int_equal(held(), both);
}

static void test_the_smallest_block_that_serves(void **state)
{
    (void)state;
    cl_mem large = taken(queue, 300000), small = taken(queue, 10000);
    weft_workspace_give(ctx, queue, small, NULL);
    weft_workspace_give(ctx, queue, large, NULL);
    assert_ptr_equal(taken(queue, 10000), small);
    assert_ptr_equal(taken(queue, 10000), large);
}

static void test_a_block_in_use_is_shared_on_its_own_queue_only(void **state)
{
    (void)state;
    cl_command_queue other = second_queue(0);
    cl_event gate = gate_create();
    cl_mem first = taken(queue, 1000);
    weft_workspace_give(ctx, queue, first, gate);
    cl_mem elsewhere = taken(other, 1000);
    assert_ptr_not_equal(elsewhere, first);
    assert_ptr_equal(taken(queue, 1000), first);
    weft_workspace_give(ctx, queue, first, NULL); // the earlier call still holds it
    assert_ptr_not_equal(taken(other, 1000), first);
    gate_open(gate);
    assert_ptr_equal(taken(other, 1000), first);
    clReleaseCommandQueue(other);
}

static void test_an_out_of_order_queue_shares_nothing_in_use(void **state)
{
    (void)state;
    cl_command_queue loose = second_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    cl_event gate = gate_create();
    cl_mem first = taken(loose, 1000);
    weft_workspace_give(ctx, loose, first, gate);
    assert_ptr_not_equal(taken(loose, 1000), first);
    gate_open(gate);
    assert_ptr_equal(taken(loose, 1000), first);
    clReleaseCommandQueue(loose);
}

static void test_too_much_is_refused_with_numbers(void **state)
{
    (void)state;
    cl_mem buffer = (cl_mem)&ctx;
    assert_int_equal(weft_workspace_take(ctx, queue, "op", bound + 1, &buffer), WEFT_NO_MEMORY);
    assert_null(buffer);
    assert_says("op: 1048577 bytes of scratch memory are needed, 1048576 are allowed");
    assert_int_equal(held(), 0);
    weft_workspace_give(ctx, queue, taken(queue, bound), NULL);
    assert_int_equal(held(), bound);
}

static void test_sizes_are_rounded_up_only_where_that_fits(void **state)
{
    (void)state;
    weft_context_destroy(&ctx);
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "", .scratch_bytes = 3000000)));
    queue = weft_context_queue(ctx);
    weft_workspace_give(ctx, queue, taken(queue, 1000001), NULL);
    assert_int_equal(held(), 1 << 20);
    weft_workspace_give(ctx, queue, taken(queue, 2500000), NULL);
    assert_int_equal(held(), 2500000);
}

// The bound of the pool may pass what the device allows for one buffer.
static void test_no_block_passes_the_largest_buffer(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.max_alloc_bytes = 300000;
    weft_context_destroy(&ctx);
    assert_ok(weft_context_open(
        &ctx, WEFT_CONTEXT(.cache_dir = "", .limits = &limits, .scratch_bytes = bound)));
    queue = weft_context_queue(ctx);
    assert_int_equal(weft_workspace_most(ctx), 300000);
    cl_mem buffer = taken(queue, 290000);
    assert_int_equal(held(), 290000);
    assert_int_equal(weft_workspace_take(ctx, queue, "op", 300001, &buffer), WEFT_NO_MEMORY);
    assert_says("op: 300001 bytes of scratch memory are needed, 300000 are allowed");
}

static void test_a_call_that_ended_by_an_error_is_over(void **state)
{
    (void)state;
    cl_event gate = gate_create();
    cl_command_queue other = second_queue(0);
    weft_workspace_give(ctx, queue, taken(queue, bound), gate);
    clSetUserEventStatus(gate, -1);
    clReleaseEvent(gate);
    weft_workspace_give(ctx, other, taken(other, bound / 2), NULL);
    clReleaseCommandQueue(other);
}

static void test_idle_blocks_make_room(void **state)
{
    (void)state;
    cl_mem blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = taken(queue, bound / 4);
    assert_int_equal(held(), bound);
    for (int i = 0; i < 4; i++)
        weft_workspace_give(ctx, queue, blocks[i], NULL);
    cl_mem half = taken(queue, bound / 2);
    assert_int_equal(held(), bound);
    weft_workspace_give(ctx, queue, half, NULL);
    weft_workspace_give(ctx, queue, taken(queue, bound), NULL);
    assert_int_equal(held(), bound);
}

typedef struct later {
    cl_event gate;   // opened, or NULL
    cl_mem block;    // given back, or NULL
    cl_event closed; // not waited for, or NULL: opened only where somebody does
    atomic_bool done, is_over, is_late;
} later;

static void *do_later(void *argument)
{
    later *l = argument;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    l->done = true;
    if (l->gate)
        clSetUserEventStatus(l->gate, CL_COMPLETE);
    if (l->block)
        weft_workspace_give(ctx, queue, l->block, NULL);
    for (int i = 0; l->closed && i < 6000 && !l->is_over; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    l->is_late = !l->is_over;
    if (l->closed)
        clSetUserEventStatus(l->closed, CL_COMPLETE);
    return NULL;
}

static void wait_while(later *l, size_t bytes)
{
    pthread_t thread;
    cl_command_queue other = second_queue(0);
    assert_int_equal(pthread_create(&thread, NULL, do_later, l), 0);
    cl_mem buffer = taken(other, bytes);
    assert_true(l->done);
    l->is_over = true;
    pthread_join(thread, NULL);
    assert_false(l->closed && l->is_late);
    weft_workspace_give(ctx, other, buffer, NULL);
    assert_true(held() <= bound);
    clReleaseCommandQueue(other);
}

static void test_beyond_the_bound_calls_in_flight_are_waited_for(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // its host side takes one thread at a time
        skip();
    later l = {.gate = gate_create()};
    weft_workspace_give(ctx, queue, taken(queue, bound), l.gate);
    wait_while(&l, bound / 2);
    clReleaseEvent(l.gate);
}

static void test_beyond_the_bound_blocks_taken_are_waited_for(void **state)
{
    (void)state;
    if (is_on("oclgrind"))
        skip();
    later l = {.block = taken(queue, bound)};
    wait_while(&l, bound / 2);
}

static void test_whichever_call_in_flight_ends_first(void **state)
{
    (void)state;
    if (is_on("oclgrind"))
        skip();
    cl_command_queue second = second_queue(0);
    for (int i = 0; i < 2; i++) {
        cl_event gates[2] = {gate_create(), gate_create()};
        cl_mem blocks[2] = {taken(queue, bound / 2), taken(second, bound / 2)};
        weft_workspace_give(ctx, queue, blocks[0], gates[0]);
        weft_workspace_give(ctx, second, blocks[1], gates[1]);
        wait_while(&(later){.gate = gates[i], .closed = gates[1 - i]}, bound / 2);
        clReleaseEvent(gates[0]);
        clReleaseEvent(gates[1]);
    }
    clReleaseCommandQueue(second);
}

static void test_a_block_is_given_before_a_call_in_flight_ends(void **state)
{
    (void)state;
    if (is_on("oclgrind"))
        skip();
    later l = {.closed = gate_create(), .block = taken(queue, bound / 2)};
    weft_workspace_give(ctx, queue, taken(queue, bound / 2), l.closed);
    wait_while(&l, bound / 2);
    clReleaseEvent(l.closed);
}

// Nobody else sends it to the device; the second time its queue is the pool's alone.
static void test_work_that_was_not_flushed_is_waited_for(void **state)
{
    (void)state;
    const cl_int zero = 0;
    for (int i = 0; i < 2; i++) {
        cl_event filled;
        cl_command_queue own = second_queue(0);
        cl_mem buffer = taken(own, bound);
        assert_int_equal(
            clEnqueueFillBuffer(own, buffer, &zero, sizeof(zero), 0, bound, 0, NULL, &filled),
            CL_SUCCESS);
        weft_workspace_give(ctx, own, buffer, filled);
        clReleaseEvent(filled);
        if (i == 1)
            clReleaseCommandQueue(own);
        assert_ptr_equal(taken(queue, bound / 2), buffer);
        weft_workspace_give(ctx, queue, buffer, NULL);
        if (i == 0)
            clReleaseCommandQueue(own);
    }
}

static void test_a_context_goes_while_its_blocks_are_in_use(void **state)
{
    (void)state;
    weft_kernel *kernel;
    cl_int code;
    const cl_int y = 1;
    const weft_defines two = step_defines(2);
    cl_command_queue own = second_queue(0);
    cl_event gate = gate_create(), done = NULL;
    cl_mem buffer = taken(own, 256);
    const size_t global[3] = {64, 1, 1}, local[3] = {4, 1, 1};
    const weft_argument arguments[] = {ARGUMENT(buffer), ARGUMENT(y)};
    const cl_int zeros[64] = {0};
    code = clEnqueueWriteBuffer(own, buffer, CL_TRUE, 0, sizeof(zeros), zeros, 0, NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    weft_launch launch;
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &kernel));
    assert_ok(weft_launch_begin(&launch, ctx, own, "op", 1, &gate, true));
    assert_ok(weft_launch_kernel(&launch, kernel, 2, arguments, global, local));
    weft_workspace_give(ctx, own, buffer, launch.last);
    assert_ok(weft_launch_end(&launch, WEFT_OK, &done));

    weft_context_destroy(&ctx);
    gate_open(gate);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clFinish(own);
    clReleaseCommandQueue(own);
}

enum { n_threads = 6, n_turns = 40 };

// Takes scratch memory, fills it with a number of its own, and finds that number still there.
static void *use_scratch(void *argument)
{
    const cl_int mine = *(const int *)argument;
    cl_command_queue own = second_queue(0);
    random_state random = {(uint64_t)mine};
    for (int turn = 0; turn < n_turns; turn++) {
        const size_t n = (size_t)random_between(&random, 1, bound / 3 / (int)sizeof(cl_int));
        cl_mem buffer = taken(own, n * sizeof(cl_int));
        cl_event filled = NULL;
        cl_int first = -1, last = -1;
        clEnqueueFillBuffer(own, buffer, &mine, sizeof(mine), 0, n * sizeof(mine), 0, NULL, NULL);
        clEnqueueReadBuffer(own, buffer, CL_FALSE, 0, sizeof(first), &first, 0, NULL, NULL);
        clEnqueueReadBuffer(own, buffer, CL_FALSE, (n - 1) * sizeof(last), sizeof(last), &last, 0,
                            NULL, &filled);
        weft_workspace_give(ctx, own, buffer, filled);
        assert_int_equal(clWaitForEvents(1, &filled), CL_SUCCESS);
        clReleaseEvent(filled);
        assert_true(first == mine && last == mine);
        assert_true(held() <= bound);
    }
    clReleaseCommandQueue(own);
    return NULL;
}

static void test_threads_never_share_a_block_in_use(void **state)
{
    (void)state;
    if (is_on("oclgrind"))
        skip();
    pthread_t threads[n_threads];
    int numbers[n_threads];
    for (int i = 0; i < n_threads; i++) {
        numbers[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, use_scratch, &numbers[i]), 0);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

#define with_context(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        with_context(test_what_is_given_back_is_used_again),
        with_context(test_the_smallest_block_that_serves),
        with_context(test_a_block_in_use_is_shared_on_its_own_queue_only),
        with_context(test_an_out_of_order_queue_shares_nothing_in_use),
        with_context(test_too_much_is_refused_with_numbers),
        with_context(test_sizes_are_rounded_up_only_where_that_fits),
        with_context(test_no_block_passes_the_largest_buffer),
        with_context(test_a_call_that_ended_by_an_error_is_over),
        with_context(test_idle_blocks_make_room),
        with_context(test_beyond_the_bound_calls_in_flight_are_waited_for),
        with_context(test_beyond_the_bound_blocks_taken_are_waited_for),
        with_context(test_whichever_call_in_flight_ends_first),
        with_context(test_a_block_is_given_before_a_call_in_flight_ends),
        with_context(test_work_that_was_not_flushed_is_waited_for),
        with_context(test_a_context_goes_while_its_blocks_are_in_use),
        with_context(test_threads_never_share_a_block_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
