// SPDX-License-Identifier: Apache-2.0
// Buffers of the library's own, and what stands in for buffers in a rehearsal.
#ifndef WEFT_LIB_BUFFER_H
#define WEFT_LIB_BUFFER_H

#include "runtime/ocl.h"

// In a rehearsal none is made. `array` as clCreateBuffer() takes it.
weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what);

// NULL is fine.
void weft_buffer_release(cl_mem buffer);

// Handles that are no OpenCL objects: number 0 is all memory of the library's, numbers 1 to
// WEFT_REHEARSAL_BUFFERS are the caller's.
cl_mem weft_stand_in(int number);
bool weft_is_stand_in(cl_mem buffer);
int weft_stand_in_number(cl_mem stand_in);

#endif
