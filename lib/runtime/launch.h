// SPDX-License-Identifier: Apache-2.0
// One call's kernels on the caller's queue, one after the other, whatever order the queue keeps.
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
    bool wants_event;     // the caller asked for one, or scratch memory is held until then
    bool out_of_order;    // asked of the queue by weft_launch_begin()
    cl_event last;        // of the kernel enqueued last, where anybody needs it
} weft_launch;

// PoCL deals out half of all groups, or up to 32 for each thread, to whoever asks first. Where a
// CPU's groups are few and long, each is so many, of which the first one works.
enum { WEFT_GROUPS_OF_A_LONG_ONE = 16 };

// Also checks that the queue is of the context's device and OpenCL context (WEFT_BAD_ARGUMENT) and
// the wait list is sound.
weft_status weft_launch_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const char *what, cl_uint n_wait, const cl_event *wait,
                              bool wants_event);

// Sets the arguments and enqueues, under the kernel's lock. Sizes in items; local divides global; 3
// dimensions. More groups along y or z than WEFT_MOST_GROUPS go in stretches, each a launch of its
// own, after the one before: the kernel must then find its group by cl/operand/stretches.clh, and
// not go on by get_num_groups(), which a host gives no more than that.
weft_status weft_launch_kernel(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, const size_t global[3],
                               const size_t local[3]);

// What became of the call, `status`, or of ending it. For one that enqueued no kernel (an empty
// problem) a marker after the wait list, where there is one or an event is wanted: what follows on
// the queue waits as behind any other call. Hands the last event to *event (may be NULL) where all
// went well, and forgets it. Call once, also after a failure in between.
weft_status weft_launch_end(weft_launch *launch, weft_status status, cl_event *event);

#endif
