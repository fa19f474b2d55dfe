// SPDX-License-Identifier: Apache-2.0
// Launches that are recorded instead of enqueued: <weft/recording.h>.
#ifndef WEFT_LIB_RECORDER_H
#define WEFT_LIB_RECORDER_H

#include "runtime/argument.h"
#include "runtime/program.h"

// The kernel's arguments are set, and no call changes them. Stretches of one call share a kernel.
typedef struct weft_recorded_launch {
    cl_kernel kernel;
    bool has_offset;
    size_t offset[3], global[3], local[3];
} weft_recorded_launch;

// A buffer among the arguments of a recorded kernel.
typedef struct weft_recorded_argument {
    cl_kernel kernel;
    cl_uint index;
    cl_mem buffer;   // as recorded
    size_t position; // in the recorder's buffers, set at the end; n_buffers for others
} weft_recorded_argument;

// A buffer of the caller's, and its bytes that recorded calls access.
typedef struct weft_recorded_buffer {
    cl_mem buffer; // retained
    char *name;    // NULL: none
    int64_t first, last;
    bool is_read, is_written;
} weft_recorded_buffer;

// Initialise with zeros. What it has is released by weft_recorder_clear().
typedef struct weft_recorder {
    weft_context *ctx;
    uint64_t thread;            // a number that no other thread of the process has
    struct weft_recorder *next; // of the context's
    size_t n_launches, n_arguments, n_buffers, n_held;
    weft_recorded_launch *launches;
    weft_recorded_argument *arguments;
    weft_recorded_buffer *buffers; // in the order of their first use
    cl_mem *held; // the other buffers, retained: OpenCL does not retain arguments of kernels
    size_t launch_room, argument_room, buffer_room, held_room;
    cl_mem scratch; // the largest so far; one of the held, as smaller ones are
    uint64_t scratch_bytes, scratch_bytes_of_all;
} weft_recorder;

// Between begin and end this thread's calls on the context are recorded. A thread has one recorder
// of a context at a time: another one is WEFT_BAD_ARGUMENT. Nothing is added after the end, which
// any thread may call.
weft_status weft_recorder_begin(weft_recorder *recorder, weft_context *ctx);
void weft_recorder_end(weft_recorder *recorder);

// The context's recorder, if this thread records; else NULL.
weft_recorder *weft_recorder_of(const weft_context *ctx);

// Refuses a copy between host and device while this thread records.
weft_status weft_recorder_copy_check(const weft_context *ctx, const char *what);

// A new kernel with these arguments set, for the launches that are added next; the caller releases
// it.
weft_status weft_recorder_kernel(weft_recorder *recorder, const char *what,
                                 const weft_kernel *kernel, size_t n_arguments,
                                 const weft_argument *arguments, cl_kernel *out);

// `offset` may be NULL. Also retains the kernel.
weft_status weft_recorder_add(weft_recorder *recorder, const char *what, cl_kernel kernel,
                              const size_t *offset, const size_t global[3], const size_t local[3]);

// The position of a buffer among the recorder's; n_buffers if it has none.
size_t weft_recorder_position(const weft_recorder *recorder, cl_mem buffer);

// Notes that a call accesses bytes of a buffer.
weft_status weft_recorder_use(weft_recorder *recorder, const char *what,
                              const weft_recorded_buffer *use);

// Removes the launches from number n on, those of a call that failed.
void weft_recorder_cut(weft_recorder *recorder, size_t n);

// Scratch memory of a call: the same for all calls, since they run one after the other.
weft_status weft_recorder_scratch(weft_recorder *recorder, const char *what, size_t bytes,
                                  cl_mem *out);

void weft_recorder_clear(weft_recorder *recorder);

#endif
