// SPDX-License-Identifier: Apache-2.0
// Buffers of the library's own, and handles in place of buffers in a rehearsal.
#ifndef WEFT_LIB_BUFFER_H
#define WEFT_LIB_BUFFER_H

#include "runtime/ocl.h"

// A rehearsal makes none. `array` as in clCreateBuffer().
weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what);

// NULL is ignored.
void weft_buffer_release(cl_mem buffer);

// Handles that are not OpenCL objects: number 0 is all memory of the library's, numbers 1 to
// WEFT_REHEARSAL_BUFFERS are the caller's.
cl_mem weft_stand_in(int number);
bool weft_is_stand_in(cl_mem buffer);
int weft_stand_in_number(cl_mem stand_in);

#endif
