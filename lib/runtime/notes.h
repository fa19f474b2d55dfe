// SPDX-License-Identifier: Apache-2.0
// What a rehearsal writes down in place of calling OpenCL.
#ifndef WEFT_LIB_NOTES_H
#define WEFT_LIB_NOTES_H

#include <weft/rehearsal.h>

#include "runtime/launch.h"

typedef struct weft_notes weft_notes;

void weft_notes_destroy(weft_notes *notes);

// A kernel that would have been enqueued so many times in a row.
weft_status weft_notes_launch(weft_notes *notes, const weft_context *ctx, const weft_kernel *kernel,
                              size_t n_arguments, const weft_argument *arguments,
                              const size_t global[3], const size_t local[3], int64_t times);

// Scratch memory that a call would have taken.
cl_mem weft_notes_scratch(weft_notes *notes, size_t bytes);

// A buffer of the library's own; in a rehearsal none is made. `array` as clCreateBuffer() takes it.
weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what);

// NULL is fine.
void weft_buffer_release(cl_mem buffer);

// Whether it is no OpenCL object, but made by weft_rehearsal_buffer() or the above.
bool weft_is_stand_in(cl_mem buffer);

// What stands at `data` of weft_rehearsal_buffer(); NULL for nothing.
const void *weft_notes_data(const weft_notes *notes, cl_mem buffer);

#endif
