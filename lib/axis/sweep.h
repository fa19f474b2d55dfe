// SPDX-License-Identifier: Apache-2.0
// A sweep along an axis that rewrites each element, or writes a result of each column. Operations
// share its planning, build and enqueueing.
#ifndef WEFT_LIB_SWEEP_H
#define WEFT_LIB_SWEEP_H

#include "axis/axis_walk.h"
#include "op/op.h"

// Part of an operation's state. `check` fills in axes and problem, the plan the rest. The kernels
// are `lines` alone, or `parts` and `apply`.
typedef struct weft_sweep {
    weft_axes axes;
    weft_axis_problem problem;
    bool reduces;   // writes a result of each column, not the elements
    bool joins;     // `apply` combines the states of parts even if there is one part
    bool is_forced; // the caller gave the tiling
    weft_axis_tiling tiling;
    weft_walk walk;
    size_t scratch_bytes; // for the states of parts; 0: they are not stored
    weft_kernel *kernels[2];
} weft_sweep;

// Names of kernels: `lines` for a whole mid, `parts` and `apply` for one in parts.
typedef struct weft_sweep_kernels {
    const weft_source *source;
    const char *lines, *parts, *apply;
    bool needs_registers; // weft_defines_add_registers()
} weft_sweep_kernels;

// Fills in the problem from the axes. A column's state has `numbers` numbers; `caches`: the
// operation's kernels can cache elements.
void weft_sweep_find_problem(weft_sweep *sweep, const weft_call *call, weft_dtype dtype,
                             int numbers, bool caches);

// Reads the caller's forced tiling, if any, from `text`, the params' `field`.
weft_status weft_sweep_read_tiling(weft_sweep *sweep, const weft_call *call, const char *text,
                                   const char *field);

// Plans. *group_items are the items of a group; `out` is the output; messages about a forced tiling
// name `field`.
weft_status weft_sweep_plan(weft_sweep *sweep, size_t *group_items, const weft_call *call,
                            const weft_limits *limits, const char *field, const weft_tensor *out);

// Builds. `defines` has the operation's; the sweep's are appended.
weft_status weft_sweep_build(weft_sweep *sweep, size_t *most, const weft_call *call,
                             const weft_sweep_kernels *kernels, weft_defines *defines);

// Plans and builds, and repeats both if a kernel takes fewer items than the device promised; for an
// operation with several sweeps. `defines` is not changed.
weft_status weft_sweep_prepare(weft_sweep *sweep, const weft_call *call, const char *field,
                               const weft_tensor *out, const weft_sweep_kernels *kernels,
                               const weft_defines *defines);

// The view of an input, operand i of the sweep's axes; closed if `out` is in the same buffer.
weft_view weft_sweep_input(const weft_sweep *sweep, int i, const weft_tensor *in,
                           const weft_tensor *out);

// Enqueues the kernels. Each takes the n arguments, then scratch memory for the states of parts or,
// if the tiling caches elements, local memory for these.
weft_status weft_sweep_enqueue(weft_launch *launch, const weft_sweep *sweep, cl_mem scratch,
                               size_t n, const weft_argument *arguments);

// Enqueues one kernel, with only the n arguments.
weft_status weft_sweep_enqueue_kernel(weft_launch *launch, const weft_sweep *sweep,
                                      weft_kernel *kernel, size_t n,
                                      const weft_argument *arguments);

// Enqueues `apply` of a sweep that reduces: its items combine the states of parts of each column.
weft_status weft_sweep_enqueue_join(weft_launch *launch, const weft_sweep *sweep, size_t n,
                                    const weft_argument *arguments);

// Describes the plan, like snprintf().
int weft_sweep_print(const weft_sweep *sweep, char *text, size_t size);

// Walks and views in lists of parameters (parameters.h).
#define FIELD_WALK  weft_walk
#define FIELD_VIEW  weft_view
#define LISTED_WALK WALK_ARGUMENTS
#define LISTED_VIEW VIEW_ARGUMENTS

#endif
