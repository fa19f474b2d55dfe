// SPDX-License-Identifier: Apache-2.0
// Buffers in and out of the device.
#include "buffer.h"

bool buffer_create(cl_mem *out, weft_context *ctx, const void *data, size_t bytes, const char *what,
                   complaint *why)
{
    const bool is_filled = data != NULL && bytes > 0;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (is_filled ? CL_MEM_COPY_HOST_PTR : 0);
    cl_int code = CL_SUCCESS;
    *out = clCreateBuffer(weft_context_cl(ctx), flags, bytes > 0 ? bytes : 1,
                          is_filled ? (void *)(uintptr_t)data : NULL, &code);
    if (code == CL_SUCCESS)
        return true;
    *out = NULL;
    return complain(why, "no device memory for %s, %zu bytes (OpenCL error %d)", what, bytes, code);
}

bool buffer_read(cl_mem buffer, cl_command_queue queue, void *data, size_t bytes, complaint *why)
{
    if (bytes == 0)
        return true;
    const cl_int code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS || complain_cl(why, "clEnqueueReadBuffer", code);
}

void buffer_release(cl_mem *buffer)
{
    if (*buffer != NULL)
        clReleaseMemObject(*buffer);
    *buffer = NULL;
}
