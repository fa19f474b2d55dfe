// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer, for OPENCL_LAYERS: a device that is wrong without a word. Looked at anew with
// every call:
//
//     WEFT_LAYER_WRONG   result  a bit in the middle of each buffer that is read back as a whole is
//                                another one
//                        guard   so is one of the buffer's last byte
//                        none    kernels do nothing
//                        build   no program builds
//                        end     the process ends where a kernel is enqueued
//     WEFT_LAYER_KERNEL  of none and end: only kernels with this in their names
//
// Buffers that the library reads back for itself are read in part; and what a context tries when it
// opens is let alone, as plans would be others.
#include <stdbool.h>
#include <stdlib.h>

#include "layer.h"

static bool is_wrong(const char *way)
{
    const char *wanted = getenv("WEFT_LAYER_WRONG");
    return wanted && strcmp(wanted, way) == 0;
}

static bool is_let_alone; // what was enqueued last

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_meant(const char *name)
{
    const char *wanted = getenv("WEFT_LAYER_KERNEL");
    return !is_let_alone && (!wanted || strstr(name, wanted));
}

// Eight bytes from the middle on that hold no small number: what is 0 may have to be so within an
// error only.
static unsigned char *middle_of(unsigned char *bytes, size_t size)
{
    unsigned char *middle = bytes + size / 2 / 8 * 8;
    for (size_t i = 0; i < 128 && i + 8 <= size / 2; i += 8)
        if (middle[i + 3] != 0)
            return middle + i;
    return middle;
}

// The third byte of eight: in f32 a quarter of the number or more, in f16 a sixteenth, less in f64.
static void spoil(unsigned char *bytes, size_t size)
{
    if (is_wrong("result"))
        middle_of(bytes, size)[2] ^= 0x40;
    if (is_wrong("guard"))
        bytes[size - 1] ^= 0x01;
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                      size_t start, size_t size, void *out, cl_uint n_wait,
                                      const cl_event *wait, cl_event *event)
{
    size_t whole = 0;
    const cl_int code =
        target->clEnqueueReadBuffer(queue, buffer, blocks, start, size, out, n_wait, wait, event);
    target->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(whole), &whole, NULL);
    if (code == CL_SUCCESS && blocks && !is_let_alone && size == whole && size >= 8)
        spoil(out, size);
    return code;
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n_dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    char name[256] = "";
    target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL);
    is_let_alone = begins(name, "try_") || begins(name, "time_") || begins(name, "probe");
    if (is_wrong("end") && is_meant(name))
        _Exit(3);
    if (is_wrong("none") && is_meant(name))
        return target->clEnqueueMarkerWithWaitList(queue, n_wait, wait, event);
    return target->clEnqueueNDRangeKernel(queue, kernel, n_dimensions, offset, global, local,
                                          n_wait, wait, event);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                void *user)
{
    return is_wrong("build") ? CL_BUILD_PROGRAM_FAILURE
                             : target->clBuildProgram(program, n, devices, options, notify, user);
}

static void install(void)
{
    layer.clEnqueueReadBuffer = read_buffer;
    layer.clEnqueueNDRangeKernel = enqueue;
    layer.clBuildProgram = build;
}

DEFINE_LAYER("a wrong device", install)
