// SPDX-License-Identifier: Apache-2.0
// How often a device lets an item's loops turn, held against what the limits say.
#include "sparse_case.h"

enum { TURNS = 200000 }; // more than llvmpipe allows, and soon done on Oclgrind

// Turns are counted in memory: a compiler cannot know how many there will be.
static const char source[] = "kernel void count(global volatile int *turns, int most)\n"
                             "{\n"
                             "    for (int i = 0; i < most; ++i)\n"
                             "        turns[0] = i + 1;\n"
                             "}\n";

static int turns_taken(weft_context *ctx)
{
    cl_command_queue queue = weft_context_queue(ctx);
    cl_device_id device = weft_context_device(ctx);
    const char *text = source;
    const cl_int most = TURNS, none = 0;
    cl_int code;
    cl_program program = clCreateProgramWithSource(weft_context_cl(ctx), 1, &text, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "count", &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem turns = buffer_of(ctx, &none, sizeof(none));
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof(turns), &turns), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 1, sizeof(most), &most), CL_SUCCESS);
    const size_t one = 1;
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
                     CL_SUCCESS);
    cl_int *got = buffer_now(queue, turns, sizeof(*got));
    const int taken = *got;
    free(got);
    clReleaseMemObject(turns);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return taken;
}

// Where loops end too early the limits know it; where they say so a later version may not do it.
static void test_loops_turn_as_often_as_the_limits_say(void **state)
{
    (void)state;
    weft_context *ctx = open_context(NULL);
    const int max_iterations = weft_context_limits(ctx)->max_iterations, taken = turns_taken(ctx);
    if (taken != TURNS && (max_iterations == 0 || taken < max_iterations))
        fail_msg("%d turns of %d were taken, and max_iterations is %d", taken, TURNS,
                 max_iterations);
    weft_context_destroy(&ctx);
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_turn_as_often_as_the_limits_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
