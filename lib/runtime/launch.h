// SPDX-License-Identifier: Apache-2.0
// One call's kernels on the caller's queue, one after the other, in order or not.
#ifndef WEFT_LIB_LAUNCH_H
#define WEFT_LIB_LAUNCH_H

#include "runtime/argument.h"
#include "runtime/program.h"

typedef struct weft_launch {
    weft_context *ctx;
    cl_command_queue queue;
    const char *what; // "spmm", for messages
    cl_uint n_wait;
    const cl_event *wait; // the caller's; for the first kernel
    bool wants_event;     // the caller requests one, or scratch memory is in use until then
    bool out_of_order;    // a property of the queue, set by weft_launch_begin()
    cl_event last;        // of the kernel enqueued last, if it is needed
} weft_launch;

// PoCL distributes half of all groups, or up to 32 per thread, on demand. If a CPU's groups are few
// and long, each is launched as this many, of which the first one works.
enum { WEFT_GROUPS_OF_A_LONG_ONE = 16 };

// Also checks that the queue is of the context's device and OpenCL context (WEFT_BAD_ARGUMENT) and
// the wait list is sound.
weft_status weft_launch_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const char *what, cl_uint n_wait, const cl_event *wait,
                              bool wants_event);

// Sets the arguments and enqueues, under the kernel's lock. Sizes in items; local divides global; 3
// dimensions. More groups along y or z than WEFT_MOST_GROUPS become stretches, each a launch of its
// own, one after the other: the kernel must then find its group by cl/operand/stretches.clh, and
// must not stride by get_num_groups(), which is limited to that number.
weft_status weft_launch_kernel(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, const size_t global[3],
                               const size_t local[3]);

// Ends a call with `status`, its result, and returns that or the error of ending it. For a call
// without kernels (an empty problem) it enqueues a marker after the wait list, if there is one or
// an event is requested, so that later commands wait as after any other call. Passes the last event
// to *event (may be NULL) on success, and forgets it. Call once, also after a failure in between.
weft_status weft_launch_end(weft_launch *launch, weft_status status, cl_event *event);

#endif
