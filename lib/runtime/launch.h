// SPDX-License-Identifier: Apache-2.0
// One call's kernels, one after the other, on the caller's queue, in-order or out-of-order.
#ifndef WEFT_LIB_LAUNCH_H
#define WEFT_LIB_LAUNCH_H

#include "runtime/argument.h"
#include "runtime/recorder.h"

typedef struct weft_launch {
    weft_context *ctx;
    cl_command_queue queue;
    const char *what; // "spmm", for messages
    cl_uint n_wait;
    const cl_event *wait;    // the caller's; for the first kernel
    bool wants_event;        // the caller requests one, or scratch memory is in use until then
    bool out_of_order;       // a property of the queue, set by weft_launch_begin()
    cl_event last;           // event of the kernel enqueued last, if needed
    weft_recorder *recorder; // kernels are recorded; NULL: they are enqueued
    size_t n_recorded;       // before this call
} weft_launch;

// PoCL distributes half of all groups, or up to 32 per thread, on demand. If a CPU's groups are few
// and long, each is launched as this many groups, of which only the first works.
enum { WEFT_GROUPS_OF_A_LONG_ONE = 16 };

// Also checks that the queue belongs to the context's device and OpenCL context
// (WEFT_BAD_ARGUMENT) and that the wait list is valid. While this thread records, the queue is
// ignored, and events are refused.
weft_status weft_launch_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const char *what, cl_uint n_wait, const cl_event *wait,
                              bool wants_event);

// Sets the arguments and enqueues, under the kernel's lock. Sizes are in items; local divides
// global. More than WEFT_MOST_GROUPS groups along y or z are divided into stretches, each a launch
// of its own, one after the other: the kernel must then get its group by cl/operand/stretches.clh,
// and must not stride by get_num_groups(), which is at most WEFT_MOST_GROUPS.
weft_status weft_launch_kernel(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, const size_t global[3],
                               const size_t local[3]);

// Enqueues a kernel whose arguments are set; `offset` is NULL where items are numbered from 0. The
// first kernel waits for the caller's events; on an out-of-order queue each later one for the
// kernel before it.
weft_status weft_launch_enqueue(weft_launch *launch, cl_kernel kernel, const size_t *offset,
                                const size_t global[3], const size_t local[3]);

// Ends a call whose result is `status`; returns that, or the error of ending it. If no kernel was
// enqueued (an empty problem) and there is a wait list or a requested event, enqueues a marker
// after the wait list, so that later commands wait as after any other call. On success passes the
// last event to *event (may be NULL). Call once, also after a failure in between.
weft_status weft_launch_end(weft_launch *launch, weft_status status, cl_event *event);

#endif
