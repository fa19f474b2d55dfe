// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer, for OPENCL_LAYERS: programs are built with further options, and what runs is
// written down.
//
//     WEFT_LAYER_OPTIONS   added to those of each program
//     WEFT_LAYER_ENQUEUED  a file that gets a line for each kernel enqueued: its name, and the
//                          options of its program
#include <stdio.h>
#include <stdlib.h>

#include "layer.h"

static cl_int CL_API_CALL build(cl_program program, cl_uint n_devices, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *told)(cl_program, void *),
                                void *user)
{
    const char *more = getenv("WEFT_LAYER_OPTIONS");
    char all[8192];
    const int length =
        snprintf(all, sizeof(all), "%s %s", options ? options : "", more ? more : "");
    if (length < 0 || (size_t)length >= sizeof(all))
        return CL_INVALID_BUILD_OPTIONS;
    return target->clBuildProgram(program, n_devices, devices, all, told, user);
}

static void write_down(cl_command_queue queue, cl_kernel kernel, const char *path)
{
    cl_program program = NULL;
    cl_device_id device = NULL;
    char name[64] = "", options[8192] = "";
    target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
    target->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
    target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    target->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof(options),
                                  options, NULL);
    FILE *file = fopen(path, "a");
    if (!file)
        return;
    fprintf(file, "%s %s\n", name, options);
    fclose(file);
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n_dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    const char *path = getenv("WEFT_LAYER_ENQUEUED");
    const cl_int code = target->clEnqueueNDRangeKernel(queue, kernel, n_dimensions, offset, global,
                                                       local, n_wait, wait, event);
    if (path && code == CL_SUCCESS)
        write_down(queue, kernel, path);
    return code;
}

static void install(void)
{
    layer.clBuildProgram = build;
    layer.clEnqueueNDRangeKernel = enqueue;
}

DEFINE_LAYER("further options", install)
