// SPDX-License-Identifier: Apache-2.0
// The pool of scratch buffers of a context.
#include "runtime/workspace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/os.h"
#include "runtime/context.h"
#include "runtime/notes.h"

// A block is pending until `last` completes, and taken between take and give; both at once if its
// own in-order queue takes it again. Otherwise it is idle.
typedef struct block {
    struct block *next;
    cl_mem buffer;
    uint64_t bytes;
    bool taken;
    cl_event last;          // NULL: no command in flight uses the block
    cl_command_queue queue; // of `last`, retained with it
    bool is_flushed;        // the queue, up to `last`
} block;

struct weft_pool {
    weft_lock lock;
    weft_signal given; // signalled by every give
    block *first;
    uint64_t bytes, max_bytes;
};

uint64_t weft_usual_scratch(const weft_limits *limits)
{
    return limits->max_alloc_bytes / 4;
}

weft_status weft_pool_create(weft_pool **out, uint64_t max_bytes)
{
    weft_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return fail(WEFT_NO_MEMORY, "context: no memory for a pool of scratch buffers");
    weft_lock_create(&pool->lock);
    weft_signal_create(&pool->given);
    pool->max_bytes = max_bytes;
    *out = pool;
    return WEFT_OK;
}

static void last_forget(block *p)
{
    if (!p->last)
        return;
    clReleaseEvent(p->last);
    clReleaseCommandQueue(p->queue);
    p->last = NULL;
    p->queue = NULL;
}

// Unlinks and releases *link. OpenCL releases a buffer that is still in use later.
static void block_release(weft_pool *pool, block **link)
{
    block *gone = *link;
    *link = gone->next;
    pool->bytes -= gone->bytes;
    last_forget(gone);
    clReleaseMemObject(gone->buffer);
    free(gone);
}

void weft_pool_destroy(weft_pool *pool)
{
    if (!pool)
        return;
    while (pool->first)
        block_release(pool, &pool->first);
    weft_signal_destroy(&pool->given);
    weft_lock_destroy(&pool->lock);
    free(pool);
}

uint64_t weft_pool_bytes(weft_pool *pool)
{
    weft_lock_take(&pool->lock);
    const uint64_t bytes = pool->bytes;
    weft_lock_release(&pool->lock);
    return bytes;
}

// Complete, or ended by an error: in both cases the buffer is no longer in use. Unknown, and false,
// if the event gives no answer, only the error in `code`.
static bool is_complete(cl_event event, cl_int *code)
{
    cl_int state = CL_QUEUED;
    *code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    return *code == CL_SUCCESS && state <= CL_COMPLETE;
}

// Releases complete events. Returns the error of one that gives no answer.
static cl_int release_complete(weft_pool *pool)
{
    cl_int code, silent = CL_SUCCESS;
    for (block *p = pool->first; p; p = p->next) {
        if (!p->last)
            continue;
        if (is_complete(p->last, &code))
            last_forget(p);
        else if (code != CL_SUCCESS)
            silent = code;
    }
    return silent;
}

static bool is_in_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                                 NULL) == CL_SUCCESS &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

// The smallest block that fits: idle, or pending on the queue that will use it next.
static block *block_find(weft_pool *pool, cl_command_queue queue, bool in_order, uint64_t bytes)
{
    block *best = NULL;
    for (block *p = pool->first; p; p = p->next) {
        const bool free_here = !p->taken && (!p->last || (in_order && p->queue == queue));
        if (free_here && p->bytes >= bytes && (!best || p->bytes < best->bytes))
            best = p;
    }
    return best;
}

// Releases idle blocks until all together have `most` bytes. Whether there was one to release.
static bool release_idle(weft_pool *pool, uint64_t most)
{
    const uint64_t before = pool->bytes;
    block **link = &pool->first;
    while (*link && pool->bytes > most) {
        if (!(*link)->taken && !(*link)->last)
            block_release(pool, link);
        else
            link = &(*link)->next;
    }
    return pool->bytes < before;
}

// Whether `bytes` more fit under the bound, after idle blocks are released.
static bool make_room(weft_pool *pool, uint64_t bytes)
{
    release_idle(pool, pool->max_bytes - bytes);
    return pool->bytes <= pool->max_bytes - bytes;
}

// So that every call in flight completes. *is_any: there is one.
static weft_status flush_all(weft_pool *pool, const char *what, bool *is_any)
{
    *is_any = false;
    for (block *p = pool->first; p; p = p->next) {
        if (!p->last)
            continue;
        if (!p->is_flushed)
            TRY(weft_cl_check(clFlush(p->queue), what, "clFlush"));
        *is_any = p->is_flushed = true;
    }
    return WEFT_OK;
}

static const long first_nap_ns = 50000, longest_nap_ns = 2000000;

// Waits until a taken block is given, or, if a call in flight may end, for a while that doubles
// each time. OpenCL waits for all of a list of events, never for any, and never for an event or a
// thread. The lock is open meanwhile.
static weft_status wait_a_little(weft_pool *pool, const char *what, long *nap_ns)
{
    bool is_any;
    TRY(flush_all(pool, what, &is_any));
    if (!is_any) {
        weft_signal_wait(&pool->given, &pool->lock, -1);
        return WEFT_OK;
    }
    weft_signal_wait(&pool->given, &pool->lock, *nap_ns);
    *nap_ns = *nap_ns < longest_nap_ns / 2 ? 2 * *nap_ns : longest_nap_ns;
    return WEFT_OK;
}

// A block is one buffer, so the device's limit for one applies too.
uint64_t weft_workspace_most(const weft_context *ctx)
{
    const uint64_t all = ctx->pool->max_bytes, one = ctx->limits.max_alloc_bytes;
    return all < one ? all : one;
}

// Powers of two, so that similar sizes share few blocks.
static uint64_t rounded(const weft_context *ctx, uint64_t bytes)
{
    const uint64_t power = (uint64_t)pow2_up((int64_t)(bytes > 4096 ? bytes : 4096));
    return power <= weft_workspace_most(ctx) ? power : bytes;
}

// Of *bytes, or of `least` if the device has no room for more. Idle blocks are released first.
static cl_mem buffer_create(weft_context *ctx, uint64_t *bytes, uint64_t least, cl_int *code)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE;
    cl_mem buffer = clCreateBuffer(ctx->cl, flags, (size_t)*bytes, NULL, code);
    if (weft_cl_is_full(*code) && release_idle(ctx->pool, 0))
        buffer = clCreateBuffer(ctx->cl, flags, (size_t)*bytes, NULL, code);
    if (weft_cl_is_full(*code) && least < *bytes) {
        *bytes = least;
        buffer = clCreateBuffer(ctx->cl, flags, (size_t)*bytes, NULL, code);
    }
    return buffer;
}

static weft_status block_create(weft_context *ctx, const char *what, uint64_t bytes, uint64_t least,
                                block **out)
{
    weft_pool *pool = ctx->pool;
    block *p = calloc(1, sizeof(*p));
    if (!p)
        return fail(WEFT_NO_MEMORY, "%s: no memory to note a scratch buffer", what);
    cl_int code;
    p->buffer = buffer_create(ctx, &bytes, least, &code);
    if (code != CL_SUCCESS) {
        free(p);
        return weft_cl_buffer_check(code, what, (size_t)bytes);
    }
    p->bytes = bytes;
    p->next = pool->first;
    pool->first = p;
    pool->bytes += bytes;
    *out = p;
    return WEFT_OK;
}

// Under the pool's lock. An event that gives no answer may never complete: waiting for it could
// take forever.
static weft_status block_take(weft_context *ctx, cl_command_queue queue, const char *what,
                              uint64_t bytes, block **out)
{
    weft_pool *pool = ctx->pool;
    const bool in_order = is_in_order(queue);
    const uint64_t size = rounded(ctx, bytes);
    long nap_ns = first_nap_ns;
    *out = block_find(pool, queue, in_order, bytes); // usually there is one: no event is asked
    if (*out)
        return WEFT_OK;
    for (;;) {
        const cl_int silent = release_complete(pool);
        *out = block_find(pool, queue, in_order, bytes);
        if (*out)
            return WEFT_OK;
        if (make_room(pool, size))
            return block_create(ctx, what, size, bytes, out);
        TRY(weft_cl_check(silent, what, "clGetEventInfo"));
        TRY(wait_a_little(pool, what, &nap_ns));
    }
}

weft_status weft_workspace_take(weft_context *ctx, cl_command_queue queue, const char *what,
                                size_t bytes, cl_mem *out)
{
    assert(bytes > 0);
    weft_pool *pool = ctx->pool;
    *out = NULL;
    const uint64_t most = weft_workspace_most(ctx);
    if (bytes > most)
        return fail(WEFT_NO_MEMORY,
                    "%s: %zu bytes of scratch memory are needed, %" PRIu64
                    " are allowed (scratch_bytes, or the device's bound on one buffer)",
                    what, bytes, most);
    if (ctx->notes) {
        *out = weft_notes_scratch(ctx->notes, bytes);
        return WEFT_OK;
    }
    block *taken = NULL;
    weft_lock_take(&pool->lock);
    const weft_status status = block_take(ctx, queue, what, bytes, &taken);
    if (status == WEFT_OK) {
        taken->taken = true;
        *out = taken->buffer;
    }
    weft_lock_release(&pool->lock);
    return status;
}

// Retains both, if there is an event. An event that cannot be retained is waited for.
static bool retain(cl_command_queue queue, cl_event last)
{
    if (!last)
        return false;
    if (clRetainEvent(last) == CL_SUCCESS) {
        if (clRetainCommandQueue(queue) == CL_SUCCESS)
            return true;
        clReleaseEvent(last);
    }
    clWaitForEvents(1, &last);
    return false;
}

void weft_workspace_give(weft_context *ctx, cl_command_queue queue, cl_mem buffer, cl_event last)
{
    if (!buffer || ctx->notes)
        return;
    weft_pool *pool = ctx->pool;
    const bool is_retained = retain(queue, last);
    weft_lock_take(&pool->lock);
    block *p = pool->first;
    while (p && p->buffer != buffer)
        p = p->next;
    assert(p && p->taken);
    p->taken = false;
    if (is_retained) {
        last_forget(p);
        p->last = last;
        p->queue = queue;
        p->is_flushed = false;
    }
    weft_signal_send(&pool->given);
    weft_lock_release(&pool->lock);
}
