// SPDX-License-Identifier: Apache-2.0
// A queue whose events have the time of their end.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the one that OpenCL 1.2 has
#include "bench_queue.h"

bool bench_queue_open(bench_queue *out, weft_context *ctx, complaint *why)
{
    const cl_device_id device = weft_context_device(ctx);
    size_t tick_ns = 0;
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof(tick_ns),
                                  &tick_ns, NULL);
    *out = (bench_queue){.tick_ns = tick_ns};
    if (code != CL_SUCCESS)
        return complain_cl(why, "clGetDeviceInfo", code);
    out->cl = clCreateCommandQueue(weft_context_cl(ctx), device,
                                   tick_ns > 0 ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    return code == CL_SUCCESS || complain_cl(why, "clCreateCommandQueue", code);
}

void bench_queue_close(bench_queue *queue)
{
    if (queue->cl)
        clReleaseCommandQueue(queue->cl);
    *queue = (bench_queue){0};
}

bool bench_queue_finish(const bench_queue *queue, complaint *why)
{
    const cl_int code = clFinish(queue->cl);
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

bool bench_queue_end(cl_event event, cl_ulong *ns, complaint *why)
{
    const cl_int code =
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(*ns), ns, NULL);
    return code == CL_SUCCESS || complain_cl(why, "clGetEventProfilingInfo", code);
}

double bench_queue_between_ms(const bench_queue *queue, cl_ulong before_ns, cl_ulong end_ns)
{
    const cl_ulong least_ns = queue->tick_ns > 0 ? queue->tick_ns : 1;
    return 1e-6 * (double)(end_ns < before_ns + least_ns ? least_ns : end_ns - before_ns);
}
