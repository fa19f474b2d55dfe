// SPDX-License-Identifier: Apache-2.0
// Recordings: calls that are checked and planned once, and then run by one call, again and again.
//
//     weft_recording *network;
//     weft_recording_begin(&network, ctx);
//     weft_spmm(ctx, NULL, 1, &A, &X, 0, &H, WEFT_SPMM(.activation = WEFT_ACTIVATION_RELU));
//     weft_softmax(ctx, NULL, 1, &H, -1, &Y, NULL);
//     weft_recording_name(network, X.buffer, "input");
//     weft_recording_end(network);
//
//     weft_recording_run(network, queue, NULL);
//     weft_recording_exchange(network, 1, &(weft_exchange){.name = "input", .buffer = next});
//     weft_recording_run(network, queue, NULL);
//     weft_recording_destroy(&network);
#ifndef WEFT_RECORDING_H
#define WEFT_RECORDING_H

#include <weft/context.h>

WEFT_BEGIN

typedef struct weft_recording weft_recording;

// Begins a recording. Until weft_recording_end() the calls that this thread makes on the context
// are checked, planned and built, and their kernels are recorded, not run. The queue of such a call
// is ignored, and may be NULL. What a call is given becomes part of the recording: operands,
// numbers, params, and plan objects. A call that fails is not recorded, and the recording goes on.
//
// Refused during a recording: WEFT_BAD_ARGUMENT for a call with events, which
// weft_recording_run() has for all calls together; WEFT_UNSUPPORTED for calls that copy between
// host and device: weft_csr_create(), weft_csr_check(), weft_spmm_plan_create(), counts that are
// returned to the host, and operations that read matrices in a context with check_matrices.
//
// Calls of other threads run as usual, or are recorded by recordings of theirs: a thread makes one
// recording of a context at a time.
//
// Fails, with *out NULL: WEFT_BAD_ARGUMENT for a NULL, and if another recording of this thread and
// context has not ended; WEFT_UNSUPPORTED in a rehearsal; WEFT_NO_MEMORY.
WEFT_API weft_status weft_recording_begin(weft_recording **out, weft_context *ctx);

// Ends the recording, which may then run, and be used by any thread. WEFT_BAD_ARGUMENT if it has
// ended, or is NULL.
WEFT_API weft_status weft_recording_end(weft_recording *recording);

// Gives a buffer of the recorded calls a name, for weft_recording_exchange(); the text is copied. A
// name belongs to one buffer, and a buffer has one name: a later one replaces it. The name stays
// when the buffer is exchanged. May be called before or after the end; after an exchange with the
// buffer that is used then. WEFT_BAD_ARGUMENT if no recorded call uses the buffer, or another one
// has the name.
WEFT_API weft_status weft_recording_name(weft_recording *recording, cl_mem buffer,
                                         const char *name);

typedef struct weft_recording_params {
    size_t size;    // sizeof(weft_recording_params): WEFT_RECORDING() fills it in
    cl_uint n_wait; // events that the first kernel waits for
    const cl_event *wait;
    cl_event *event; // completes with the last kernel; the caller releases it
} weft_recording_params;

#define WEFT_RECORDING(...) WEFT_PARAMS(weft_recording_params, __VA_ARGS__)

// Enqueues the recorded kernels on a queue of the context's device, in-order or out-of-order, and
// returns. They run one after the other, and compute what the calls would have, with the contents
// that the buffers have then. Nothing is checked, planned or allocated again. If the recording's
// earlier run has not completed, on whatever queue, this one waits for it on the device, since they
// share scratch memory and results. Different recordings do not wait for each other: if they share
// a buffer that one of them writes, the caller orders their runs.
//
// If the device has cl_khr_command_buffer, with simultaneous use, the second run with the same
// buffers makes a command buffer for its queue, if that is in-order. This run and later ones on the
// queue enqueue that; other runs enqueue kernel by kernel.
//
// Fails: WEFT_BAD_ARGUMENT for a queue of another device or context, a wait list that is not valid,
// and a recording that is NULL or has not ended; WEFT_UNSUPPORTED while this thread records on the
// context; WEFT_OPENCL_ERROR, after which some kernels may run.
// Thread-safety: after the end any thread may call this, weft_recording_name() and the functions
// below but weft_recording_destroy(); they wait for each other, not for the device.
WEFT_API weft_status weft_recording_run(weft_recording *recording, cl_command_queue queue,
                                        const weft_recording_params *params);

// A buffer in place of the one that has the name or, if the name is NULL, the position.
typedef struct weft_exchange {
    const char *name;
    int position;
    cl_mem buffer;
} weft_exchange;

// Exchanges n buffers at once, in all calls that use them, for the runs that follow. Positions
// number the buffers of the operands and workspaces of the recorded calls, intermediate results
// among them, from 0 in the order of the calls that use them first. Within a call the order is the
// operation's own, the same in every recording: weft_recording_buffer() tells. A CSR has three.
// Buffers inside plan objects have no position.
//
// For each buffer the recording knows the first and the last byte that calls access, and whether
// some call writes it. A new buffer is of the same OpenCL context, has these bytes, may be read or
// written as they are, and its range overlaps that of no other buffer of the recording if one of
// the two is written, except as the old ones did. A new buffer in the host's memory
// (CL_MEM_USE_HOST_PTR) begins at a multiple of 128 bytes, and so does the old one. As for plan
// objects it is trusted that a matrix's new pattern is the one of its plan.
//
// The recording retains its buffers until they are exchanged or it is destroyed. After an error
// nothing is exchanged: WEFT_BAD_ARGUMENT for a name or position that there is not, or one that is
// given twice, and for a recording that has not ended; WEFT_BAD_BUFFER names the buffer and the
// bytes.
WEFT_API weft_status weft_recording_exchange(weft_recording *recording, int n,
                                             const weft_exchange *exchanges);

typedef struct weft_recording_info {
    int n_launches;          // kernels that a run enqueues
    int n_buffers;           // positions
    uint64_t scratch_bytes;  // scratch memory that the recording owns until it is destroyed
    bool has_command_buffer; // runs on one queue use it
} weft_recording_info;

// All 0 for NULL.
WEFT_API weft_recording_info weft_recording_get_info(weft_recording *recording);

// The buffer at a position, borrowed, and its name, "" if it has none; the name is valid until it
// is replaced. NULL if there is no such position.
WEFT_API cl_mem weft_recording_buffer(weft_recording *recording, int position);
WEFT_API const char *weft_recording_buffer_name(weft_recording *recording, int position);

// Does not wait: runs that are enqueued complete. No other thread may use the recording then. Ends
// the recording, if it has not ended. Sets *recording to NULL; accepts NULL and a NULL handle.
// Destroy it before its context; plan objects that it recorded may be destroyed before it.
WEFT_API void weft_recording_destroy(weft_recording **recording);

WEFT_END

#endif
