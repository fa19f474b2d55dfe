// SPDX-License-Identifier: Apache-2.0
// The pool of scratch buffers of a context.
#include "workspace.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "arithmetic.h"
#include "context.h"
#include "notes.h"

// A piece is idle (no event), pending (until `last` completes) or taken (between take and give).
typedef struct piece {
    struct piece *next;
    cl_mem buffer;
    uint64_t bytes;
    bool taken;
    cl_command_queue queue; // that `last` is on; compared only while `last` is not complete
    cl_event last;
} piece;

struct weft_pool {
    pthread_mutex_t lock;
    pthread_cond_t given; // signalled by every give
    piece *first;
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
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->given, NULL);
    pool->max_bytes = max_bytes;
    *out = pool;
    return WEFT_OK;
}

// Unlinks and releases *link. A buffer that is still in use is released by OpenCL when it is not.
static void piece_release(weft_pool *pool, piece **link)
{
    piece *gone = *link;
    *link = gone->next;
    pool->bytes -= gone->bytes;
    if (gone->last)
        clReleaseEvent(gone->last);
    clReleaseMemObject(gone->buffer);
    free(gone);
}

void weft_pool_destroy(weft_pool *pool)
{
    if (!pool)
        return;
    while (pool->first)
        piece_release(pool, &pool->first);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

uint64_t weft_pool_bytes(weft_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const uint64_t bytes = pool->bytes;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

// Complete, or ended by an error: either way nothing uses the buffer any more. Of an event that
// gives no answer, which `code` tells, nobody knows.
static bool is_complete(cl_event event, cl_int *code)
{
    cl_int state = CL_QUEUED;
    *code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    return *code == CL_SUCCESS && state <= CL_COMPLETE;
}

// Forgets the events that are complete.
static void settle(weft_pool *pool)
{
    cl_int code;
    for (piece *p = pool->first; p; p = p->next) {
        if (p->last && is_complete(p->last, &code)) {
            clReleaseEvent(p->last);
            p->last = NULL;
        }
    }
}

static bool is_in_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                                 NULL) == CL_SUCCESS &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

// The smallest piece that will do: idle, or pending on the very queue that will use it next.
static piece *piece_find(weft_pool *pool, cl_command_queue queue, bool in_order, uint64_t bytes)
{
    piece *best = NULL;
    for (piece *p = pool->first; p; p = p->next) {
        const bool free_here = !p->taken && (!p->last || (in_order && p->queue == queue));
        if (free_here && p->bytes >= bytes && (!best || p->bytes < best->bytes))
            best = p;
    }
    return best;
}

// Releases idle pieces until `bytes` more fit under the bound; false where that is not enough.
static bool make_room(weft_pool *pool, uint64_t bytes)
{
    piece **link = &pool->first;
    while (*link && pool->bytes + bytes > pool->max_bytes) {
        if (!(*link)->taken && !(*link)->last)
            piece_release(pool, link);
        else
            link = &(*link)->next;
    }
    return pool->bytes + bytes <= pool->max_bytes;
}

// A device that is lost never completes the event: to wait for it again would be for ever.
static weft_status event_wait(cl_event event, const char *what)
{
    cl_int asked;
    const cl_int waited = clWaitForEvents(1, &event);
    if (is_complete(event, &asked))
        return WEFT_OK;
    if (waited == CL_SUCCESS && asked != CL_SUCCESS)
        return weft_cl_check(asked, what, "clGetEventInfo");
    return weft_cl_check(waited != CL_SUCCESS ? waited : CL_INVALID_EVENT, what, "clWaitForEvents");
}

// Until a call in flight has ended, or a taken piece is given. The lock is open meanwhile.
static weft_status wait_for_one(weft_pool *pool, const char *what)
{
    piece *pending = pool->first;
    while (pending && !pending->last)
        pending = pending->next;
    if (!pending) {
        pthread_cond_wait(&pool->given, &pool->lock);
        return WEFT_OK;
    }
    cl_event event = pending->last;
    TRY(weft_cl_check(clRetainEvent(event), what, "clRetainEvent"));
    pthread_mutex_unlock(&pool->lock);
    const weft_status status = event_wait(event, what);
    clReleaseEvent(event);
    pthread_mutex_lock(&pool->lock);
    return status;
}

// A piece is one buffer, so what the device allows for one binds too.
uint64_t weft_workspace_most(const weft_context *ctx)
{
    const uint64_t all = ctx->pool->max_bytes, one = ctx->limits.max_alloc_bytes;
    return all < one ? all : one;
}

// Powers of two, so that sizes that vary a little share few pieces.
static uint64_t rounded(const weft_context *ctx, uint64_t bytes)
{
    const uint64_t power = (uint64_t)pow2_up((int64_t)(bytes > 4096 ? bytes : 4096));
    return power <= weft_workspace_most(ctx) ? power : bytes;
}

static weft_status piece_create(weft_context *ctx, const char *what, uint64_t bytes, piece **out)
{
    weft_pool *pool = ctx->pool;
    piece *p = calloc(1, sizeof(*p));
    if (!p)
        return fail(WEFT_NO_MEMORY, "%s: no memory to note a scratch buffer", what);
    cl_int code;
    p->buffer = clCreateBuffer(ctx->cl, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
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

// Under the pool's lock.
static weft_status piece_take(weft_context *ctx, cl_command_queue queue, const char *what,
                              uint64_t bytes, piece **out)
{
    weft_pool *pool = ctx->pool;
    const bool in_order = is_in_order(queue);
    const uint64_t size = rounded(ctx, bytes);
    for (;;) {
        settle(pool);
        *out = piece_find(pool, queue, in_order, bytes);
        if (*out)
            return WEFT_OK;
        if (make_room(pool, size))
            return piece_create(ctx, what, size, out);
        TRY(wait_for_one(pool, what));
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
    piece *taken = NULL;
    pthread_mutex_lock(&pool->lock);
    const weft_status status = piece_take(ctx, queue, what, bytes, &taken);
    if (status == WEFT_OK) {
        taken->taken = true;
        *out = taken->buffer;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

// The event, retained; NULL for none. One that cannot be kept is waited for.
static cl_event event_keep(cl_event last)
{
    if (!last || clRetainEvent(last) == CL_SUCCESS)
        return last;
    clWaitForEvents(1, &last);
    return NULL;
}

void weft_workspace_give(weft_context *ctx, cl_command_queue queue, cl_mem buffer, cl_event last)
{
    if (!buffer || ctx->notes)
        return;
    weft_pool *pool = ctx->pool;
    const cl_event kept = event_keep(last);
    pthread_mutex_lock(&pool->lock);
    piece *p = pool->first;
    while (p && p->buffer != buffer)
        p = p->next;
    assert(p && p->taken);
    p->taken = false;
    if (kept) {
        if (p->last)
            clReleaseEvent(p->last);
        p->last = kept;
        p->queue = queue;
    }
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&pool->lock);
}
