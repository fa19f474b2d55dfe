// SPDX-License-Identifier: Apache-2.0
// Calls that enqueue no kernel: their events, what follows them on the queue, and failures.
#define _POSIX_C_SOURCE 200809L // nanosleep
#include <time.h>

#include "launch.h"
#include "runtime.h"

static weft_context *ctx;

static bool has_ended(cl_event event)
{
    cl_int state_of = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state_of), &state_of, NULL);
    return state_of == CL_COMPLETE;
}

static void test_an_empty_call_still_has_an_event(void **state)
{
    (void)state;
    cl_int code;
    weft_launch launch;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    assert_ok(weft_launch_begin(&launch, ctx, weft_context_queue(ctx), "op", 1, &gate, true));
    assert_ok(weft_launch_end(&launch, WEFT_OK, &done));
    assert_non_null(done);
    if (!is_on("oclgrind")) // which waits for the gate in clFlush()
        clFlush(weft_context_queue(ctx));
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_false(has_ended(done));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    assert_int_equal(weft_context_get_stats(ctx).launches, 0);
}

// What follows on the queue waits for what the call waits for, though nobody asked for an event.
static void test_an_empty_call_still_waits(void **state)
{
    (void)state;
    cl_int code;
    weft_launch launch;
    cl_command_queue queue = weft_context_queue(ctx);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), behind = NULL;
    assert_ok(weft_launch_begin(&launch, ctx, queue, "op", 1, &gate, false));
    assert_ok(weft_launch_end(&launch, WEFT_OK, NULL));
    assert_int_equal(clEnqueueMarkerWithWaitList(queue, 0, NULL, &behind), CL_SUCCESS);
    if (!is_on("oclgrind")) // which waits for the gate in clFlush()
        clFlush(queue);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_false(has_ended(behind));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &behind), CL_SUCCESS);
    clReleaseEvent(behind);
    clReleaseEvent(gate);
}

// A call that failed is told as it failed, and leaves nothing on the queue.
static void test_a_failed_call_leaves_no_marker(void **state)
{
    (void)state;
    cl_int code;
    weft_launch launch;
    cl_command_queue queue = weft_context_queue(ctx);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    assert_ok(weft_launch_begin(&launch, ctx, queue, "op", 1, &gate, true));
    assert_int_equal(weft_launch_end(&launch, WEFT_NO_MEMORY, &done), WEFT_NO_MEMORY);
    assert_null(done);
    assert_int_equal(clFinish(queue), CL_SUCCESS); // or the gate would keep it for ever
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_call_still_has_an_event),
        cmocka_unit_test(test_an_empty_call_still_waits),
        cmocka_unit_test(test_a_failed_call_leaves_no_marker),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
