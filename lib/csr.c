// SPDX-License-Identifier: Apache-2.0
// A CSR on the device: its three buffers made, released, and read back to be checked.
#include <weft/csr.h>

#include <inttypes.h>
#include <stdlib.h>

#include "arithmetic.h"
#include "context.h"
#include "csr_pattern.h"
#include "launch.h"
#include "notes.h"
#include "view.h"

// The checks of a launch that never launches anything, for what copies between host and device.
static weft_status queue_check(weft_context *ctx, cl_command_queue queue, const char *what)
{
    weft_launch launch;
    if (ctx && ctx->notes)
        return fail(WEFT_UNSUPPORTED, "%s: a rehearsal copies nothing", what);
    return weft_launch_begin(&launch, ctx, queue, what, 0, NULL, false);
}

// A buffer filled with the n elements of an array; none for no elements, which OpenCL refuses.
static weft_status buffer_create(cl_mem *out, weft_context *ctx, cl_command_queue queue,
                                 const void *array, int64_t n, weft_dtype dtype, const char *part)
{
    const uint64_t most_bytes = weft_context_limits(ctx)->max_alloc_bytes;
    const uint64_t size = weft_dtype_size(dtype);
    if ((uint64_t)n > most_bytes / size)
        return fail(WEFT_NO_MEMORY,
                    "csr_create: %" PRId64 " %s of %" PRIu64 " bytes pass the device's %" PRIu64
                    " bytes for one buffer",
                    n, part, size, most_bytes);
    if (n == 0)
        return WEFT_OK;

    const size_t bytes = (size_t)n * size;
    cl_int code;
    *out = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, bytes, NULL, &code);
    TRY(weft_cl_buffer_check(code, "csr_create", bytes));
    code = clEnqueueWriteBuffer(queue, *out, CL_TRUE, 0, bytes, array, 0, NULL, NULL);
    return weft_cl_check(code, "csr_create", "clEnqueueWriteBuffer");
}

weft_status weft_csr_create(weft_csr *out, weft_context *ctx, cl_command_queue queue,
                            const weft_csr_host *host)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "csr_create: out is NULL");
    *out = (weft_csr){0};
    TRY(queue_check(ctx, queue, "csr_create"));
    TRY(weft_csr_host_form_check(host, "csr_create"));

    weft_csr csr = weft_csr_form(host);
    weft_status status = buffer_create(&csr.offsets, ctx, queue, host->offsets, csr.n_rows + 1,
                                       csr.offset_dtype, "offsets");
    if (status == WEFT_OK)
        status = buffer_create(&csr.indices, ctx, queue, host->indices, csr.nnz, csr.index_dtype,
                               "indices");
    if (status == WEFT_OK)
        status = buffer_create(&csr.values, ctx, queue, host->values, csr.nnz, csr.dtype, "values");
    if (status == WEFT_OK)
        *out = csr;
    else
        weft_csr_destroy(&csr);
    return status;
}

void weft_csr_destroy(weft_csr *csr)
{
    if (!csr)
        return;
    const cl_mem buffers[] = {csr->offsets, csr->indices, csr->values};
    for (int i = 0; i < 3; i++)
        weft_buffer_release(buffers[i]);
    *csr = (weft_csr){0};
}

enum { WINDOW_BYTES = 4 << 20 };

// n integers of a buffer from element `start`, copied to the host a window at a time.
typedef struct buffer_window {
    weft_window window;
    cl_command_queue queue;
    cl_mem buffer;
    int64_t start, n;
    void *memory;
} buffer_window;

static weft_status window_move(weft_window *window, int64_t i)
{
    buffer_window *w = (buffer_window *)window;
    const int64_t size = (int64_t)weft_dtype_size(window->dtype);
    const int64_t count = min_i64(w->n - i, WINDOW_BYTES / size);
    const cl_int code =
        clEnqueueReadBuffer(w->queue, w->buffer, CL_TRUE, (size_t)((w->start + i) * size),
                            (size_t)(count * size), w->memory, 0, NULL, NULL);
    TRY(weft_cl_check(code, "csr_check", "clEnqueueReadBuffer"));
    window->data = w->memory;
    window->first = i;
    window->last = i + count;
    return WEFT_OK;
}

static buffer_window window_over(cl_command_queue queue, cl_mem buffer, int64_t start, int64_t n,
                                 weft_dtype dtype, void *memory)
{
    return (buffer_window){
        .window = {.dtype = dtype, .move = window_move},
        .queue = queue,
        .buffer = buffer,
        .start = start,
        .n = n,
        .memory = memory,
    };
}

weft_status weft_csr_check(weft_context *ctx, cl_command_queue queue, const weft_csr *csr,
                           int demand)
{
    TRY(queue_check(ctx, queue, "csr_check"));
    TRY(weft_csr_view_check(ctx, csr, 1, "csr_check: the CSR"));

    char *memory = malloc((size_t)2 * WINDOW_BYTES);
    if (!memory)
        return fail(WEFT_NO_MEMORY, "csr_check: no memory for %d bytes", 2 * WINDOW_BYTES);

    buffer_window offsets = window_over(queue, csr->offsets, csr->offsets_start, csr->n_rows + 1,
                                        weft_dtype_or(csr->offset_dtype, WEFT_I32), memory);
    buffer_window indices =
        window_over(queue, csr->indices, csr->indices_start, csr->nnz,
                    weft_dtype_or(csr->index_dtype, WEFT_I32), memory + WINDOW_BYTES);
    const weft_status status =
        weft_csr_pattern_check(csr, &offsets.window, &indices.window, demand, "csr_check");
    free(memory);
    return status;
}
