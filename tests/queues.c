// SPDX-License-Identifier: Apache-2.0
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#define _DEFAULT_SOURCE                   // on_exit
#include <stdatomic.h>
#include <unistd.h>

#include "queues.h"

static void end_at_once(int status, void *nothing)
{
    (void)nothing;
    fflush(NULL);
    _exit(status);
}

void end_before_drivers(void)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    if ((is_on("rusticl") || is_on("intel")) && !atomic_flag_test_and_set(&is_told))
        assert_int_equal(on_exit(end_at_once, NULL), 0);
}

cl_command_queue queue_with(weft_context *ctx, cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue made =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? made : NULL;
}

cl_int event_state(cl_event event)
{
    cl_int state = CL_QUEUED;
    assert_int_equal(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL),
        CL_SUCCESS);
    return state;
}

void queue_finish(cl_command_queue queue)
{
    cl_event end;
    assert_int_equal(clEnqueueMarkerWithWaitList(queue, 0, NULL, &end), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &end), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(end), CL_SUCCESS);
}
