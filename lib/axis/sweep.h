// SPDX-License-Identifier: Apache-2.0
// A sweep along an axis that writes each element again, or a result of each column: planned, built
// and enqueued in one way for all operations that have one.
#ifndef WEFT_LIB_SWEEP_H
#define WEFT_LIB_SWEEP_H

#include "axis/axis_walk.h"
#include "op/op.h"

// Part of an operation's state. Axes and problem come from its check, the rest from the plan. The
// kernels are lines alone, or parts and apply.
typedef struct weft_sweep {
    weft_axes axes;
    weft_axis_problem problem;
    bool reduces;   // writes a result of each column, not the elements again
    bool joins;     // apply joins what parts found also where mid is in one part
    bool is_forced; // the tiling is the caller's
    weft_axis_tiling tiling;
    weft_walk walk;
    size_t scratch_bytes; // what parts find; 0: nothing is kept
    weft_kernel *kernels[2];
} weft_sweep;

// By name: with mid whole, or in parts.
typedef struct weft_sweep_kernels {
    const weft_source *source;
    const char *lines, *parts, *apply;
    bool keep_much; // they want registers (weft_defines_add_registers())
} weft_sweep_kernels;

// The problem, once the axes are there, with so many numbers of each column and, where the
// operation has kernels for that, elements that may be kept.
void weft_sweep_find_problem(weft_sweep *sweep, const weft_call *call, weft_dtype dtype,
                             int numbers, bool keeps);

// The tiling that the caller forces, if any, by the params' field of that name.
weft_status weft_sweep_read_tiling(weft_sweep *sweep, const weft_call *call, const char *text,
                                   const char *field);

// Gives the items of a group. `out` is what is written; a forced tiling is checked as `field`.
weft_status weft_sweep_plan(weft_sweep *sweep, size_t *group_items, const weft_call *call,
                            const weft_limits *limits, const char *field, const weft_tensor *out);

// `defines` are the operation's own; the sweep's follow them.
weft_status weft_sweep_build(weft_sweep *sweep, size_t *most, const weft_call *call,
                             const weft_sweep_kernels *kernels, weft_defines *defines);

// Both, and again where a built kernel takes fewer items than the device promised: of an operation
// that has several sweeps. `defines` stays as it is.
weft_status weft_sweep_prepare(weft_sweep *sweep, const weft_call *call, const char *field,
                               const weft_tensor *out, const weft_sweep_kernels *kernels,
                               const weft_defines *defines);

// Where elements of an input stand, the i-th of the sweep's axes, beside what is written.
weft_view weft_sweep_input(const weft_sweep *sweep, int i, const weft_tensor *in,
                           const weft_tensor *out);

// Every kernel takes the n arguments, and then what parts find in scratch memory or, where the
// tiling keeps elements, local memory for them.
weft_status weft_sweep_enqueue(weft_launch *launch, const weft_sweep *sweep, cl_mem scratch,
                               size_t n, const weft_argument *arguments);

// One of them, with the n arguments alone.
weft_status weft_sweep_enqueue_kernel(weft_launch *launch, const weft_sweep *sweep,
                                      weft_kernel *kernel, size_t n,
                                      const weft_argument *arguments);

// apply of a sweep that reduces, whose items join what parts found of each column.
weft_status weft_sweep_enqueue_join(weft_launch *launch, const weft_sweep *sweep, size_t n,
                                    const weft_argument *arguments);

// The plan in words, as snprintf() does it.
int weft_sweep_print(const weft_sweep *sweep, char *text, size_t size);

// Walks and views in lists of parameters (parameters.h).
#define FIELD_WALK  weft_walk
#define FIELD_VIEW  weft_view
#define LISTED_WALK WALK_ARGUMENTS
#define LISTED_VIEW VIEW_ARGUMENTS

#endif
