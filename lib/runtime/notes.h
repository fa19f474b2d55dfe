// SPDX-License-Identifier: Apache-2.0
// The record of a rehearsal, made in place of OpenCL calls.
#ifndef WEFT_LIB_NOTES_H
#define WEFT_LIB_NOTES_H

#include <weft/rehearsal.h>

#include "base/why.h"
#include "runtime/argument.h"
#include "runtime/kernel.h"

typedef struct weft_notes weft_notes;

// Notes are recorded between begin and end. Destroying accepts NULL.
weft_status weft_notes_create(weft_notes **out);
void weft_notes_destroy(weft_notes *notes);

// As weft_rehearsal_begin() and weft_rehearsal_end().
void weft_notes_begin(weft_notes *notes);
const weft_rehearsal *weft_notes_end(weft_notes *notes);

// Receives plans' reasons.
const weft_why *weft_notes_why(const weft_notes *notes);

// Records a kernel that would have been enqueued `times` times in a row.
weft_status weft_notes_launch(weft_notes *notes, const weft_context *ctx, const weft_kernel *kernel,
                              size_t n_arguments, const weft_argument *arguments,
                              const size_t global[3], const size_t local[3], int64_t times);

// Records scratch memory that a call would have used; returns a handle for it.
cl_mem weft_notes_scratch(weft_notes *notes, size_t bytes);

// A handle for a caller's buffer with the contents `data`; NULL if there are too many.
cl_mem weft_notes_buffer(weft_notes *notes, const void *data);

// Contents of a buffer; NULL if it has none, or there are no notes.
const void *weft_notes_data(const weft_notes *notes, cl_mem buffer);

#endif
