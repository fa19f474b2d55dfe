// SPDX-License-Identifier: Apache-2.0
// Buffers of the library's own, and handles in place of buffers in a rehearsal.
#include "runtime/buffer.h"

#include <weft/rehearsal.h>

#include <stdint.h>

#include "base/process.h"
#include "runtime/context.h"

// Only their addresses are used, as handles.
static char stand_ins[1 + WEFT_REHEARSAL_BUFFERS];

static size_t place_of(cl_mem buffer)
{
    return (size_t)((uintptr_t)buffer - (uintptr_t)stand_ins);
}

cl_mem weft_stand_in(int number)
{
    return (cl_mem)(void *)&stand_ins[number];
}

bool weft_is_stand_in(cl_mem buffer)
{
    return place_of(buffer) < sizeof(stand_ins);
}

int weft_stand_in_number(cl_mem stand_in)
{
    return (int)place_of(stand_in);
}

weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what)
{
    cl_int code = CL_SUCCESS;
    *out = ctx->notes ? weft_stand_in(0)
                      : clCreateBuffer(ctx->cl, flags, bytes, (void *)(uintptr_t)array, &code);
    return weft_cl_buffer_check(code, what, bytes);
}

void weft_buffer_release(cl_mem buffer)
{
    if (buffer && !weft_is_stand_in(buffer) && !weft_process_is_forked())
        clReleaseMemObject(buffer);
}
