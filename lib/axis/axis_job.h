// SPDX-License-Identifier: Apache-2.0
// An operation that sweeps along an axis and writes each element again: planned, built and enqueued
// in one way for all of them.
#ifndef WEFT_LIB_AXIS_JOB_H
#define WEFT_LIB_AXIS_JOB_H

#include "axis/axis_plan.h"
#include "axis/axis_walk.h"
#include "runtime/launch.h"

// A problem as its door leaves it.
typedef struct weft_axis_job {
    weft_context *ctx;
    const char *what; // "softmax", for messages
    weft_axes axes;
    weft_axis_problem problem;
    bool is_forced; // to a tiling
    weft_axis_tiling forced;
    const char *forced_name; // the field of its params, for messages
    const weft_source *source;
    weft_defines defines;              // the operation's own
    const char *lines, *parts, *apply; // kernels: with mid whole, or in parts
    bool keeps_much;                   // they want registers (weft_defines_add_registers())
    bool joins; // apply writes what parts found, as of reductions, also where mid is in one part
    const weft_tensor *in[3], *out; // all that is read or written
    const char *in_names[3];
} weft_axis_job;

// How it runs. The kernels are lines alone, or parts and apply.
typedef struct weft_axis_schedule {
    weft_axis_tiling tiling;
    weft_walk walk;
    size_t scratch_bytes; // what parts find; 0: nothing is kept
    weft_kernel *kernels[2];
} weft_axis_schedule;

// A tiling that is forced by the text of a field of its params, unless that is NULL.
weft_status weft_axis_forced_read(weft_axis_job *job, const char *text, const char *field);

// The buffers of its operands, whose shapes and data types agree.
weft_status weft_axis_buffers_check(const weft_axis_job *job, const char *out_name);

// The problem, once the axes are there, with so many numbers of each column and, where the
// operation has kernels for that, elements that may be kept; and a forced tiling of it, whose
// refusal names the call and the field.
weft_status weft_axis_problem_check(weft_axis_job *job, weft_dtype dtype, int numbers, bool keeps);

// Where elements of an operand that is read stand, the i-th of the job's axes.
weft_view weft_axis_input(const weft_axis_job *job, int i, const weft_tensor *tensor);

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
weft_status weft_axis_schedule_for(weft_axis_schedule *out, const weft_axis_job *job);

// Every kernel takes the walk, the n arguments, and then, with mid in parts, scratch memory: the
// caller's `workspace`, or where that is NULL a piece of the pool; or, where the tiling keeps
// elements, local memory for them.
weft_status weft_axis_enqueue(weft_launch *launch, const weft_axis_job *job,
                              const weft_axis_schedule *schedule, cl_mem workspace, size_t n,
                              const weft_argument *arguments);

// One of its kernels, with the walk, the n arguments and, unless it is NULL, a last one.
weft_status weft_axis_enqueue_sweep(weft_launch *launch, const weft_axis_schedule *schedule,
                                    weft_kernel *kernel, size_t n, const weft_argument *arguments,
                                    const weft_argument *last);

// All of them, where they have `scratch` for their last argument, or none where that is NULL; the
// caller holds it.
weft_status weft_axis_enqueue_in(weft_launch *launch, const weft_axis_job *job,
                                 const weft_axis_schedule *schedule, cl_mem scratch, size_t n,
                                 const weft_argument *arguments);

// The plan in words, as snprintf() does it.
int weft_axis_schedule_print(const weft_axis_schedule *schedule, char *text, size_t size);

#endif
