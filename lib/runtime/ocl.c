// SPDX-License-Identifier: Apache-2.0
// OpenCL's error codes, the statuses for them, and texts that OpenCL returns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ocl.h"

#define NAMED(code)                                                                                \
    case code:                                                                                     \
        return #code

// "CL_OUT_OF_RESOURCES" for -5; "unknown" for others.
static const char *error_name(cl_int code)
{
    switch (code) {
        NAMED(CL_SUCCESS);
        NAMED(CL_DEVICE_NOT_FOUND);
        NAMED(CL_DEVICE_NOT_AVAILABLE);
        NAMED(CL_COMPILER_NOT_AVAILABLE);
        NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        NAMED(CL_OUT_OF_RESOURCES);
        NAMED(CL_OUT_OF_HOST_MEMORY);
        NAMED(CL_PROFILING_INFO_NOT_AVAILABLE);
        NAMED(CL_MEM_COPY_OVERLAP);
        NAMED(CL_IMAGE_FORMAT_MISMATCH);
        NAMED(CL_IMAGE_FORMAT_NOT_SUPPORTED);
        NAMED(CL_BUILD_PROGRAM_FAILURE);
        NAMED(CL_MAP_FAILURE);
        NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        NAMED(CL_COMPILE_PROGRAM_FAILURE);
        NAMED(CL_LINKER_NOT_AVAILABLE);
        NAMED(CL_LINK_PROGRAM_FAILURE);
        NAMED(CL_DEVICE_PARTITION_FAILED);
        NAMED(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        NAMED(CL_INVALID_VALUE);
        NAMED(CL_INVALID_DEVICE_TYPE);
        NAMED(CL_INVALID_PLATFORM);
        NAMED(CL_INVALID_DEVICE);
        NAMED(CL_INVALID_CONTEXT);
        NAMED(CL_INVALID_QUEUE_PROPERTIES);
        NAMED(CL_INVALID_COMMAND_QUEUE);
        NAMED(CL_INVALID_HOST_PTR);
        NAMED(CL_INVALID_MEM_OBJECT);
        NAMED(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        NAMED(CL_INVALID_IMAGE_SIZE);
        NAMED(CL_INVALID_SAMPLER);
        NAMED(CL_INVALID_BINARY);
        NAMED(CL_INVALID_BUILD_OPTIONS);
        NAMED(CL_INVALID_PROGRAM);
        NAMED(CL_INVALID_PROGRAM_EXECUTABLE);
        NAMED(CL_INVALID_KERNEL_NAME);
        NAMED(CL_INVALID_KERNEL_DEFINITION);
        NAMED(CL_INVALID_KERNEL);
        NAMED(CL_INVALID_ARG_INDEX);
        NAMED(CL_INVALID_ARG_VALUE);
        NAMED(CL_INVALID_ARG_SIZE);
        NAMED(CL_INVALID_KERNEL_ARGS);
        NAMED(CL_INVALID_WORK_DIMENSION);
        NAMED(CL_INVALID_WORK_GROUP_SIZE);
        NAMED(CL_INVALID_WORK_ITEM_SIZE);
        NAMED(CL_INVALID_GLOBAL_OFFSET);
        NAMED(CL_INVALID_EVENT_WAIT_LIST);
        NAMED(CL_INVALID_EVENT);
        NAMED(CL_INVALID_OPERATION);
        NAMED(CL_INVALID_GL_OBJECT);
        NAMED(CL_INVALID_BUFFER_SIZE);
        NAMED(CL_INVALID_MIP_LEVEL);
        NAMED(CL_INVALID_GLOBAL_WORK_SIZE);
        NAMED(CL_INVALID_PROPERTY);
        NAMED(CL_INVALID_IMAGE_DESCRIPTOR);
        NAMED(CL_INVALID_COMPILER_OPTIONS);
        NAMED(CL_INVALID_LINKER_OPTIONS);
        NAMED(CL_INVALID_DEVICE_PARTITION_COUNT);
        NAMED(CL_INVALID_PIPE_SIZE);
        NAMED(CL_INVALID_DEVICE_QUEUE);
        NAMED(CL_INVALID_SPEC_ID);
        NAMED(CL_MAX_SIZE_RESTRICTION_EXCEEDED);
    }
    return "unknown";
}

static weft_status status_of(cl_int code)
{
    switch (code) {
    case CL_SUCCESS:
        return WEFT_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return WEFT_NO_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
        return WEFT_DEVICE_LOST;
    default:
        return WEFT_OPENCL_ERROR;
    }
}

static weft_status fail_as(weft_status status, cl_int code, const char *what, const char *call)
{
    return fail(status, "%s: %s failed: %s (%d)", what, call, error_name(code), (int)code);
}

weft_status weft_cl_check(cl_int code, const char *what, const char *call)
{
    if (code == CL_SUCCESS)
        return WEFT_OK;
    return fail_as(status_of(code), code, what, call);
}

// A buffer that is too large for the device is a lack of memory, too.
static weft_status buffer_status_of(cl_int code)
{
    return code == CL_INVALID_BUFFER_SIZE ? WEFT_NO_MEMORY : status_of(code);
}

weft_status weft_cl_buffer_check(cl_int code, const char *what, size_t bytes)
{
    char call[64];
    if (code == CL_SUCCESS)
        return WEFT_OK;
    snprintf(call, sizeof(call), "clCreateBuffer (%zu bytes)", bytes);
    return fail_as(buffer_status_of(code), code, what, call);
}

// Result of a blocking call that gave `code` and, on success, the event `done`, which is released.
static weft_status copied(cl_int code, cl_event done, const char *call, size_t bytes,
                          const char *what)
{
    char text[64];
    snprintf(text, sizeof(text), "%s (%zu bytes)", call, bytes);
    TRY(weft_cl_check(code, what, text));
    code = clWaitForEvents(1, &done);
    clReleaseEvent(done);
    return weft_cl_check(code, what, "clWaitForEvents");
}

weft_status weft_cl_read(cl_command_queue queue, cl_mem buffer, size_t start, size_t bytes,
                         void *out, cl_uint n_wait, const cl_event *wait, const char *what)
{
    cl_event done = NULL;
    const cl_int code =
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, start, bytes, out, n_wait, wait, &done);
    return copied(code, done, "clEnqueueReadBuffer", bytes, what);
}

weft_status weft_cl_write(cl_command_queue queue, cl_mem buffer, size_t bytes, const void *in,
                          const char *what)
{
    cl_event done = NULL;
    const cl_int code = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, in, 0, NULL, &done);
    return copied(code, done, "clEnqueueWriteBuffer", bytes, what);
}

bool weft_cl_is_full(cl_int code)
{
    return buffer_status_of(code) == WEFT_NO_MEMORY;
}

char *weft_device_text(cl_device_id device, cl_device_info what)
{
    size_t size = 0;
    const bool answers = clGetDeviceInfo(device, what, 0, NULL, &size) == CL_SUCCESS;
    char *text = calloc(size + 1, 1);
    if (text && answers && clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    return text;
}

bool weft_is_extension_in(const char *extensions, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)); at += length)
        if ((at == extensions || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

char *weft_platform_text(cl_platform_id platform, cl_platform_info what)
{
    size_t size = 0;
    const bool answers = clGetPlatformInfo(platform, what, 0, NULL, &size) == CL_SUCCESS;
    char *text = calloc(size + 1, 1);
    if (text && answers && clGetPlatformInfo(platform, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    return text;
}
