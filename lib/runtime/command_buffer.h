// SPDX-License-Identifier: Apache-2.0
// Command buffers of cl_khr_command_buffer.
#ifndef WEFT_LIB_COMMAND_BUFFER_H
#define WEFT_LIB_COMMAND_BUFFER_H

#include "runtime/recorder.h"

typedef struct weft_command_buffer weft_command_buffer;

// The recorded launches, one after the other, for an in-order queue; enqueued again before an
// earlier run has completed. NULL if the device has no such command buffers, or makes none. They
// keep the arguments that kernels have now.
weft_command_buffer *weft_command_buffer_create(const weft_recorder *recorder,
                                                cl_command_queue queue);

// `event` may be NULL.
weft_status weft_command_buffer_enqueue(weft_command_buffer *commands, const char *what,
                                        cl_uint n_wait, const cl_event *wait, cl_event *event);

// Accepts NULL. What is enqueued completes.
void weft_command_buffer_destroy(weft_command_buffer *commands);

#endif
