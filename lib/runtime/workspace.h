// SPDX-License-Identifier: Apache-2.0
// Scratch memory of a call: a block from the context's pool, given back when the call's last event
// completes.
#ifndef WEFT_LIB_WORKSPACE_H
#define WEFT_LIB_WORKSPACE_H

#include "runtime/ocl.h"

// Takes a buffer of at least `bytes` that no unfinished call uses (or only calls on this same
// in-order queue). The context's scratch_bytes bound the pool: beyond them idle buffers are
// released first, then the call waits until other calls end or give back blocks. Idle buffers are
// also released if the device has no memory left. More than weft_workspace_most() is
// WEFT_NO_MEMORY, with the needed and the allowed bytes. An OpenCL error during the wait is an
// error of this call. A call takes only one block: with two, calls could wait for each other.
weft_status weft_workspace_take(weft_context *ctx, cl_command_queue queue, const char *what,
                                size_t bytes, cl_mem *out);

// The largest block: scratch_bytes, or the device's limit for one buffer.
uint64_t weft_workspace_most(const weft_context *ctx);

// Gives a buffer back: it is idle when `last` completes. `last` NULL: no enqueued command uses it.
void weft_workspace_give(weft_context *ctx, cl_command_queue queue, cl_mem buffer, cl_event last);

// A context's pool, empty at first, bounded by so many bytes. Destroying accepts NULL.
typedef struct weft_pool weft_pool;
weft_status weft_pool_create(weft_pool **out, uint64_t max_bytes);
void weft_pool_destroy(weft_pool *pool);
uint64_t weft_pool_bytes(weft_pool *pool);

// The default bound on scratch memory of a context.
uint64_t weft_usual_scratch(const weft_limits *limits);

#endif
