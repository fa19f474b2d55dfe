// SPDX-License-Identifier: Apache-2.0
// Calls that enqueue no kernel: their events, what follows them on the queue, and failures.
#define _POSIX_C_SOURCE 200809L // nanosleep
#include <time.h>

#include "runtime.h"
#include "runtime/launch.h"

static weft_context *ctx;

// Opened by the test: until then nothing that waits for it may end.
static cl_event gate;

static int close_gate(void **state)
{
    (void)state;
    cl_int code;
    gate = clCreateUserEvent(weft_context_cl(ctx), &code);
    return code == CL_SUCCESS ? 0 : 1;
}

static int release_gate(void **state)
{
    (void)state;
    clSetUserEventStatus(gate, CL_COMPLETE);
    return clReleaseEvent(gate) == CL_SUCCESS ? 0 : 1;
}

static void expect_to_wait_for_the_gate(cl_event event)
{
    cl_int state_of = CL_COMPLETE;
    assert_non_null(event);
    if (!is_on("oclgrind")) // which waits for the gate in clFlush()
        clFlush(weft_context_queue(ctx));
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state_of), &state_of, NULL);
    assert_int_not_equal(state_of, CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
}

static void begin(weft_launch *launch, bool wants_event)
{
    assert_ok(weft_launch_begin(launch, ctx, weft_context_queue(ctx), "op", 1, &gate, wants_event));
}

static void test_an_empty_call_still_has_an_event(void **state)
{
    (void)state;
    weft_launch launch;
    cl_event done = NULL;
    begin(&launch, true);
    assert_ok(weft_launch_end(&launch, WEFT_OK, &done));
    expect_to_wait_for_the_gate(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, 0);
}

// What follows on the queue waits for what the call waits for, though nobody asked for an event.
static void test_an_empty_call_still_waits(void **state)
{
    (void)state;
    weft_launch launch;
    cl_event behind = NULL;
    begin(&launch, false);
    assert_ok(weft_launch_end(&launch, WEFT_OK, NULL));
    assert_int_equal(clEnqueueMarkerWithWaitList(weft_context_queue(ctx), 0, NULL, &behind),
                     CL_SUCCESS);
    expect_to_wait_for_the_gate(behind);
}

// A call that failed is told as it failed, and leaves nothing on the queue.
static void test_a_failed_call_leaves_no_marker(void **state)
{
    (void)state;
    weft_launch launch;
    cl_event done = NULL;
    begin(&launch, true);
    assert_int_equal(weft_launch_end(&launch, WEFT_NO_MEMORY, &done), WEFT_NO_MEMORY);
    assert_null(done);
    // Or the gate would keep it for ever.
    assert_int_equal(clFinish(weft_context_queue(ctx)), CL_SUCCESS);
}

#define at_a_gate(test) cmocka_unit_test_setup_teardown(test, close_gate, release_gate)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        at_a_gate(test_an_empty_call_still_has_an_event),
        at_a_gate(test_an_empty_call_still_waits),
        at_a_gate(test_a_failed_call_leaves_no_marker),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
