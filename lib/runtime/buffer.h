// SPDX-License-Identifier: Apache-2.0
// The library's own buffers, and handles that replace buffers in a rehearsal.
#ifndef WEFT_LIB_BUFFER_H
#define WEFT_LIB_BUFFER_H

#include "runtime/ocl.h"

// Creates a buffer; a rehearsal creates none. `array` as host_ptr in clCreateBuffer().
weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what);

// Ignores NULL.
void weft_buffer_release(cl_mem buffer);

// Handles that are not OpenCL objects: number 0 stands for all of the library's memory, numbers 1
// to WEFT_REHEARSAL_BUFFERS for the caller's buffers.
cl_mem weft_stand_in(int number);
bool weft_is_stand_in(cl_mem buffer);
int weft_stand_in_number(cl_mem stand_in);

#endif
