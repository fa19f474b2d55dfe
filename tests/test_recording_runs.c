// SPDX-License-Identifier: Apache-2.0
// Runs of recordings: on any queue, with events, by several threads at once.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>

#include "operation_case.h"

#include "axis/axis_plan.h"
#include "tiling_text.h"
#include "tilings.h"

#include "recording_case.h"

enum { LONG = 1 << 16 };

// Parts of a row are summed by groups of their own, in scratch memory.
static const weft_axis_tiling in_parts = TILING(1, 3, 1, 1, 2, 1, 2, 4, 4, 3);

static weft_status sum_in_parts(const weft_tensor *X, const weft_tensor *total)
{
    return weft_reduce(ctx, NULL, WEFT_SUM, X, 1, (const int[]){0}, total,
                       WEFT_REDUCE(.tiling = TILING_TEXT(axis, &in_parts)));
}

// Runs share scratch memory: on several queues each waits for the one before.
static void test_many_queues(void **state)
{
    (void)state;
    const weft_tensor X = {.buffer = buffer_with(CL_MEM_READ_WRITE, sizeof(float) * LONG),
                           .ndim = 1,
                           .shape = {LONG},
                           .stride = {1}};
    const float one = 1;
    assert_int_equal(clEnqueueFillBuffer(o.in_order, X.buffer, &one, sizeof(one), 0,
                                         sizeof(float) * LONG, 0, NULL, NULL),
                     CL_SUCCESS);
    const weft_tensor total = {.buffer = o.outputs[0]};
    const weft_tensor rows[] = {square(o.outputs[1]), square(o.outputs[2])};
    queue_finish(o.in_order);
    weft_recording *recording = NULL;
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(sum_in_parts(&X, &total));
    assert_ok(weft_matmul(ctx, NULL, 1, &o.X, &o.Y, 0, &rows[0], NULL));
    assert_ok(weft_layer_norm(ctx, NULL, 1e-5, &rows[0], 1, &rows[1], NULL));
    assert_ok(weft_recording_end(recording));

    assert_true(weft_recording_get_info(recording).scratch_bytes > 0);

    cl_command_queue queues[] = {o.in_order, queue_with(ctx, 0),
                                 o.out_of_order ? o.out_of_order : o.in_order};
    for (int i = 0; i < 12; i++)
        assert_ok(weft_recording_run(recording, queues[i / 2 % 3], NULL));
    cl_int code = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(o.cl, &code), events[3];
    assert_int_equal(code, CL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        assert_ok(
            weft_recording_run(recording, queues[i],
                               WEFT_RECORDING(.n_wait = i == 0 ? 1 : 0,
                                              .wait = i == 0 ? &gate : NULL, .event = &events[i])));
        clFlush(queues[i]);
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(event_state(events[i]), CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(3, events), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        clReleaseEvent(events[i]);
    clReleaseEvent(gate);
    cl_event done = NULL;
    assert_ok(weft_recording_run(recording, queues[1], WEFT_RECORDING(.event = &done)));
    assert_int_equal(clFlush(queues[1]), CL_SUCCESS); // another queue waits for it
    float is = 0;
    assert_int_equal(
        clEnqueueReadBuffer(o.in_order, total.buffer, CL_TRUE, 0, sizeof(is), &is, 1, &done, NULL),
        CL_SUCCESS);
    assert_true(is == LONG);
    clReleaseEvent(done);
    weft_recording_destroy(&recording);
    queue_finish(queues[1]);
    clReleaseCommandQueue(queues[1]);
    clReleaseMemObject(X.buffer);
}

// A run waits for its list, and nothing runs before.
static void wait_for_the_user(cl_command_queue queue)
{
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0);
    weft_recording *recording = record_two(a, between, out);
    assert_ok(soften(o.in_order, a, between));
    assert_ok(soften(o.in_order, between, right));
    queue_finish(o.in_order);
    for (int i = 0; i < 3; i++) {
        cl_int code = CL_SUCCESS;
        const cl_event ready = clCreateUserEvent(o.cl, &code);
        assert_int_equal(code, CL_SUCCESS);
        cl_event done = NULL;
        assert_ok(weft_recording_run(recording, queue,
                                     WEFT_RECORDING(.n_wait = 1, .wait = &ready, .event = &done)));
        assert_true(event_state(done) > CL_COMPLETE);
        clSetUserEventStatus(ready, CL_COMPLETE);
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        assert_int_equal(event_state(done), CL_COMPLETE);
        clReleaseEvent(ready);
        clReleaseEvent(done);
        expect_same(out, right);
    }
    weft_recording_destroy(&recording);
    release(4, (cl_mem[]){a, between, out, right});
}

static void test_events(void **state)
{
    (void)state;
    wait_for_the_user(o.in_order);
    if (o.out_of_order)
        wait_for_the_user(o.out_of_order);
}

// Without a kernel an event still comes, behind the list.
static void test_nothing_recorded(void **state)
{
    (void)state;
    weft_recording *recording = NULL;
    const weft_tensor empty = weft_matrix(NULL, WEFT_F32, 0, N);
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(weft_softmax(ctx, NULL, 1, &empty, -1, &empty, NULL));
    assert_ok(weft_recording_end(recording));
    const weft_recording_info info = weft_recording_get_info(recording);
    assert_int_equal(info.n_launches, 0);
    assert_int_equal(info.n_buffers, 0);
    cl_event done = NULL;
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    assert_ok(weft_recording_run(recording, o.queue, WEFT_RECORDING(.event = &done)));
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    weft_recording_destroy(&recording);
}

// What one thread does while this one records; and a run of a recording by several at once.
typedef struct helper {
    cl_mem in, out;
    weft_recording *recording;
    weft_status status;
} helper;

static void *soften_now(void *data)
{
    helper *h = data;
    h->status = soften(o.in_order, h->in, h->out);
    return NULL;
}

static void *run_often(void *data)
{
    helper *h = data;
    for (int i = 0; i < 50 && h->status == WEFT_OK; i++)
        h->status = weft_recording_run(h->recording,
                                       i % 2 && o.out_of_order ? o.out_of_order : o.in_order, NULL);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0);
    helper other = {.in = a, .out = right};
    pthread_t thread;
    weft_recording *recording = NULL;
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(soften(NULL, a, between));
    assert_int_equal(pthread_create(&thread, NULL, soften_now, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other.status, WEFT_OK);
    assert_ok(weft_recording_end(recording));
    assert_int_equal(weft_recording_get_info(recording).n_launches, 1);
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    expect_same(between, right);
    weft_recording_destroy(&recording);

    recording = record_two(a, between, out);
    assert_ok(soften(o.queue, a, between));
    assert_ok(soften(o.queue, between, right));
    pthread_t threads[3];
    helper helpers[3];
    for (int i = 0; i < 3; i++) {
        helpers[i] = (helper){.recording = recording};
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &helpers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(helpers[i].status, WEFT_OK);
    }
    expect_same(out, right);
    weft_recording_destroy(&recording);
    release(4, (cl_mem[]){a, between, out, right});
}

// A run fails if what it waits for fails. Later runs do not wait for it.
static void test_a_run_that_failed(void **state)
{
    (void)state;
    if (!o.out_of_order || !is_on("pocl")) // rusticl's queues stay in error
        skip();
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0);
    assert_ok(soften(o.in_order, a, between));
    assert_ok(soften(o.in_order, between, right));
    queue_finish(o.in_order);
    cl_int code = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(o.cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_command_queue lost = queue_with(ctx, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    weft_recording *recording = record_two(a, between, out);
    assert_ok(weft_recording_run(recording, lost, WEFT_RECORDING(.n_wait = 1, .wait = &gate)));
    clSetUserEventStatus(gate, -5);
    cl_event done = NULL;
    assert_ok(weft_recording_run(recording, o.in_order, WEFT_RECORDING(.event = &done)));
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    expect_same(out, right);
    weft_recording_destroy(&recording);
    clReleaseEvent(gate);
    clReleaseEvent(done);
    clReleaseCommandQueue(lost);
    release(4, (cl_mem[]){a, between, out, right});
}

static void *begin_alone(void *data)
{
    weft_recording **recording = data;
    assert_ok(weft_recording_begin(recording, ctx));
    return NULL;
}

// Another thread may get the name of the one that has begun and ended.
static void test_a_thread_that_is_gone(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    weft_recording *recording = NULL;
    const cl_mem a = numbers(0, 0.25f), out = numbers(0, 0);
    helper next = {.in = a, .out = out};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, begin_alone, &recording), 0);
    pthread_join(thread, NULL);
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread, NULL, soften_now, &next), 0);
        pthread_join(thread, NULL);
        assert_int_equal(next.status, WEFT_OK);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches + THREADS);
    queue_finish(o.in_order);
    weft_recording_destroy(&recording);
    release(2, (cl_mem[]){a, out});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_queues, create, destroy),
        cmocka_unit_test_setup_teardown(test_events, create, destroy),
        cmocka_unit_test_setup_teardown(test_nothing_recorded, create, destroy),
        cmocka_unit_test_setup_teardown(test_threads, create, destroy),
        cmocka_unit_test_setup_teardown(test_a_run_that_failed, create, destroy),
        cmocka_unit_test_setup_teardown(test_a_thread_that_is_gone, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
