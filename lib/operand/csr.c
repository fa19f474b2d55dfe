// SPDX-License-Identifier: Apache-2.0
// A CSR on the device: its three buffers are made, released, and read back for checks; a DCSR is
// read back for checks.
#include <weft/dcsr.h>

#include <inttypes.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/csr_content.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"
#include "runtime/buffer.h"
#include "runtime/context.h"
#include "runtime/launch.h"

// A launch without kernels, for copies between host and device.
static weft_status copy_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const char *what, cl_uint n_wait, const cl_event *wait)
{
    TRY(weft_context_check(ctx, what));
    if (ctx->notes)
        return fail(WEFT_UNSUPPORTED, "%s: a rehearsal copies nothing", what);
    TRY(weft_recorder_copy_check(ctx, what));
    return weft_launch_begin(launch, ctx, queue, what, n_wait, wait, false);
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
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, "csr_create", part);
    cl_int code;
    *out = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, bytes, NULL, &code);
    TRY(weft_cl_buffer_check(code, what, bytes));
    return weft_cl_write(queue, *out, bytes, array, what);
}

weft_status weft_csr_create(weft_csr *out, weft_context *ctx, cl_command_queue queue,
                            const weft_csr_host *host)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "csr_create: out is NULL");
    *out = (weft_csr){0};
    weft_launch launch; // for its checks
    TRY(copy_begin(&launch, ctx, queue, "csr_create", 0, NULL));
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

// n integers of a buffer from element `start`, copied to the host a window at a time, once the
// launch's wait list is complete.
typedef struct buffer_window {
    weft_window window;
    const weft_launch *launch;
    cl_mem buffer;
    int64_t start, n;
    void *memory;
} buffer_window;

// Bytes of a window over n integers.
static size_t window_bytes(int64_t n, weft_dtype dtype)
{
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(dtype, WEFT_I32));
    return (size_t)(min_i64(n, WINDOW_BYTES / size) * size);
}

static weft_status window_move(weft_window *window, int64_t i)
{
    buffer_window *w = (buffer_window *)window;
    const weft_launch *launch = w->launch;
    const int64_t size = (int64_t)weft_dtype_size(window->dtype);
    const size_t bytes = window_bytes(w->n - i, window->dtype);
    TRY(weft_cl_read(launch->queue, w->buffer, (size_t)((w->start + i) * size), bytes, w->memory,
                     launch->n_wait, launch->wait, launch->what));
    window->data = w->memory;
    window->first = i;
    window->last = i + (int64_t)bytes / size;
    return WEFT_OK;
}

static buffer_window window_over(const weft_launch *launch, cl_mem buffer, int64_t start, int64_t n,
                                 weft_dtype dtype, void *memory)
{
    return (buffer_window){
        .window = {.dtype = weft_dtype_or(dtype, WEFT_I32), .move = window_move},
        .launch = launch,
        .buffer = buffer,
        .start = start,
        .n = n,
        .memory = memory,
    };
}

typedef enum csr_parts { OFFSETS_ALONE, OFFSETS_AND_INDICES } csr_parts;

static weft_status content_check(const weft_launch *launch, const weft_csr *csr, csr_parts parts,
                                 int demand, const char *what)
{
    const size_t offset_bytes = window_bytes(csr->n_rows + 1, csr->offset_dtype);
    const size_t index_bytes =
        parts == OFFSETS_ALONE ? 0 : window_bytes(csr->nnz, csr->index_dtype);
    char *memory = malloc(offset_bytes + index_bytes);
    if (!memory)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %zu bytes", what,
                    offset_bytes + index_bytes);
    buffer_window offsets = window_over(launch, csr->offsets, csr->offsets_start, csr->n_rows + 1,
                                        csr->offset_dtype, memory);
    buffer_window indices = window_over(launch, csr->indices, csr->indices_start, csr->nnz,
                                        csr->index_dtype, memory + offset_bytes);
    const weft_status status = weft_csr_pattern_check(
        csr, &offsets.window, parts == OFFSETS_ALONE ? NULL : &indices.window, demand, what);
    free(memory);
    return status;
}

static weft_status check_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                               const char *what, const weft_csr_check_params *params)
{
    weft_csr_check_params own;
    TRY(PARAMS_READ(&own, params, what, "WEFT_CSR_CHECK"));
    return copy_begin(launch, ctx, queue, what, own.n_wait, own.wait);
}

weft_status weft_csr_check(weft_context *ctx, cl_command_queue queue, const weft_csr *csr,
                           int demand, const weft_csr_check_params *params)
{
    weft_launch launch;
    TRY(check_begin(&launch, ctx, queue, "csr_check", params));
    TRY(weft_csr_view_check(ctx, csr, 1, "csr_check: the CSR"));
    return content_check(&launch, csr, OFFSETS_AND_INDICES, demand, "csr_check");
}

static weft_status stored_rows_check(const weft_launch *launch, const weft_dcsr *dcsr,
                                     const char *what)
{
    if (dcsr->n_stored == 0)
        return WEFT_OK;
    const size_t bytes = window_bytes(dcsr->n_stored, WEFT_I32);
    void *memory = malloc(bytes);
    if (!memory)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    buffer_window rows =
        window_over(launch, dcsr->rows, dcsr->rows_start, dcsr->n_stored, WEFT_I32, memory);
    const weft_status status = weft_stored_rows_check(dcsr, &rows.window, what);
    free(memory);
    return status;
}

weft_status weft_dcsr_check(weft_context *ctx, cl_command_queue queue, const weft_dcsr *dcsr,
                            int demand, const weft_csr_check_params *params)
{
    weft_launch launch;
    TRY(check_begin(&launch, ctx, queue, "dcsr_check", params));
    if (!dcsr)
        return fail(WEFT_BAD_ARGUMENT, "dcsr_check: the DCSR is NULL");
    const weft_csr stored = weft_dcsr_stored(dcsr);
    TRY(weft_csr_view_check(ctx, &stored, 1, "dcsr_check: the DCSR"));
    TRY(weft_dcsr_rows_view_check(ctx, dcsr, "dcsr_check", "the DCSR"));
    TRY(content_check(&launch, &stored, OFFSETS_AND_INDICES, demand, "dcsr_check"));
    return stored_rows_check(&launch, dcsr, "dcsr_check");
}

// ---- before an operation, if the context has check_matrices

// What matrices have when a recording runs is not known.
static weft_status recorded_check(const weft_launch *launch, const char *what)
{
    if (launch->recorder)
        return fail(WEFT_UNSUPPORTED,
                    "%s: the context has check_matrices, and a recording cannot check them", what);
    return WEFT_OK;
}

static weft_status operand_check(const weft_launch *launch, const weft_csr *csr, csr_parts parts,
                                 const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    if (!launch->ctx->check_matrices)
        return WEFT_OK;
    TRY(recorded_check(launch, weft_operand_text(what, launch->what, name)));
    return content_check(launch, csr, parts, WEFT_CSR_SOUND, what);
}

weft_status weft_csr_content_check(const weft_launch *launch, const weft_csr *csr, const char *name)
{
    return operand_check(launch, csr, OFFSETS_AND_INDICES, name);
}

weft_status weft_offsets_content_check(const weft_launch *launch, const weft_csr *csr,
                                       const char *name)
{
    return operand_check(launch, csr, OFFSETS_ALONE, name);
}

weft_status weft_rows_content_check(const weft_launch *launch, const weft_dcsr *dcsr,
                                    const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    if (!launch->ctx->check_matrices)
        return WEFT_OK;
    TRY(recorded_check(launch, weft_operand_text(what, launch->what, name)));
    return stored_rows_check(launch, dcsr, what);
}
