// SPDX-License-Identifier: Apache-2.0
// C = f(alpha R + beta C + bias) of operands in the host's memory: row blocks pass through two
// slots on the device, each with a queue, so that one is transferred while the other is computed.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the one that OpenCL 1.2 has
#include "stream/spmm_host_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "runtime/buffer.h"
#include "runtime/context.h"
#include "runtime/recorder.h"

static const char NAME[] = "spmm_host";

// A row block on its way: from the host, through the kernels, back to the host.
typedef struct {
    cl_command_queue queue; // in-order
    cl_mem A, C, workspace; // A: all arrays but C
    int64_t *row_chunks;    // their numbers, on the host
    weft_row_block block;
    weft_host_view C_on_host;
    bool is_busy;
    cl_event read; // of a busy slot: completes with C on the host; NULL: C is still to be read
} slot;

typedef struct {
    const weft_spmm_host_job *job;
    cl_mem B;
    void *staging;
    slot slots[2];
    int next; // slot of the next row block; its block is the older of the two
    int64_t first_column, n_columns; // of the column block
    int64_t n_finished;              // rows of C
} stream;

// ---- objects

static weft_status slot_create(slot *s, const weft_spmm_host_job *job)
{
    const weft_blocks *blocks = &job->blocks;
    cl_int code;
    s->row_chunks = malloc((size_t)max_i64(blocks->most_row_chunks, 1) * sizeof(int64_t));
    if (!s->row_chunks)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %" PRId64 " row chunks", NAME,
                    blocks->most_row_chunks);
    s->queue = clCreateCommandQueue(job->ctx->cl, job->ctx->device, 0, &code);
    TRY(weft_cl_check(code, NAME, "clCreateCommandQueue"));
    TRY(weft_buffer_create(&s->A, job->ctx, CL_MEM_READ_ONLY, (size_t)blocks->a_bytes, NULL, NAME));
    TRY(weft_buffer_create(&s->C, job->ctx, CL_MEM_READ_WRITE, (size_t)blocks->c_bytes, NULL,
                           NAME));
    if (blocks->workspace_bytes == 0)
        return WEFT_OK;
    return weft_buffer_create(&s->workspace, job->ctx, CL_MEM_READ_WRITE,
                              (size_t)blocks->workspace_bytes, NULL, NAME);
}

static void slot_destroy(slot *s)
{
    if (s->read)
        clReleaseEvent(s->read);
    weft_buffer_release(s->A);
    weft_buffer_release(s->C);
    weft_buffer_release(s->workspace);
    if (s->queue)
        clReleaseCommandQueue(s->queue);
    free(s->row_chunks);
}

static weft_status stream_create(stream *s, const weft_spmm_host_job *job)
{
    *s = (stream){.job = job};
    s->staging = malloc(WEFT_STAGING_BYTES);
    if (!s->staging)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %d bytes", NAME, WEFT_STAGING_BYTES);
    if (job->blocks.b_bytes > 0)
        TRY(weft_buffer_create(&s->B, job->ctx, CL_MEM_READ_ONLY, (size_t)job->blocks.b_bytes, NULL,
                               NAME));
    for (int i = 0; i < 2; i++)
        TRY(slot_create(&s->slots[i], job));
    return WEFT_OK;
}

static void stream_destroy(stream *s)
{
    for (int i = 0; i < 2; i++)
        slot_destroy(&s->slots[i]);
    weft_buffer_release(s->B);
    free(s->staging);
}

// ---- transfers to the device

// Rows first .. first + n_rows - 1, and the same of columns.
static weft_host_view part_of(const weft_host_view *whole, int64_t first_row, int64_t n_rows,
                              int64_t first_column, int64_t n_columns)
{
    weft_host_view part = *whole;
    part.n_rows = n_rows;
    part.n_columns = n_columns;
    part.data += (first_row * whole->row + first_column * whole->column) * (int64_t)whole->size;
    return part;
}

// n elements of an array from element `first`, to a slot's arrays.
static weft_status send_array(const stream *s, const slot *to, const void *array, int64_t first,
                              int64_t n, weft_dtype dtype, uint64_t at)
{
    const size_t size = weft_dtype_size(dtype);
    const weft_host_view view = {
        .data = (char *)(uintptr_t)array + (size_t)first * size,
        .n_rows = 1,
        .n_columns = n,
        .column = 1,
        .size = size,
    };
    return weft_host_view_write(to->queue, to->A, (size_t)at, &view, s->staging, NAME);
}

static weft_status send_matrix(const stream *s, const slot *to)
{
    const weft_csr_host *A = &s->job->A;
    const weft_row_block *block = &to->block;
    const int64_t first = block->first_entry, n = block->last_entry - first;
    if (!s->job->problem.reads_entries)
        return WEFT_OK;
    TRY(send_array(s, to, to->row_chunks, 0, block->n_row_chunks, WEFT_I64, 0));
    TRY(send_array(s, to, A->offsets, block->first, block->last - block->first + 1, A->offset_dtype,
                   block->offsets_at));
    TRY(send_array(s, to, A->indices, first, n, A->index_dtype, block->indices_at));
    return send_array(s, to, A->values, first, n, A->dtype, block->values_at);
}

static weft_status send_block(const stream *s, const slot *to)
{
    const weft_row_block *block = &to->block;
    const weft_host_view *bias = &s->job->bias;
    TRY(send_matrix(s, to));
    if (bias->data) {
        const weft_host_view part =
            part_of(bias, block->first, block->last - block->first, 0, bias->n_columns);
        TRY(weft_host_view_write(to->queue, to->A, (size_t)block->bias_at, &part, s->staging,
                                 NAME));
    }
    return s->job->numbers.beta == 0
               ? WEFT_OK
               : weft_host_view_write(to->queue, to->C, 0, &to->C_on_host, s->staging, NAME);
}

// Waits, because both queues read it.
static weft_status send_B(const stream *s)
{
    const weft_host_view *B = &s->job->B;
    const cl_command_queue queue = s->slots[0].queue;
    if (!s->B)
        return WEFT_OK;
    const weft_host_view part = part_of(B, 0, B->n_rows, s->first_column, s->n_columns);
    TRY(weft_host_view_write(queue, s->B, 0, &part, s->staging, NAME));
    return weft_cl_check(clFinish(queue), NAME, "clFinish");
}

// ---- kernels

// Without entries A has no columns, and B no rows.
static weft_csr matrix_of(const stream *s, const slot *of)
{
    const weft_csr_host *A = &s->job->A;
    const weft_row_block *block = &of->block;
    return (weft_csr){
        .n_rows = block->last - block->first,
        .n_cols = s->job->problem.reads_entries ? A->n_cols : 0,
        .nnz = block->last_entry - block->first_entry,
        .offset_dtype = A->offset_dtype,
        .index_dtype = A->index_dtype,
        .dtype = A->dtype,
        .offsets = of->A,
        .indices = of->A,
        .values = of->A,
        .offsets_start = (int64_t)(block->offsets_at / weft_dtype_size(A->offset_dtype)),
        .indices_start = (int64_t)(block->indices_at / weft_dtype_size(A->index_dtype)),
        .values_start = (int64_t)(block->values_at / weft_dtype_size(A->dtype)),
    };
}

static weft_status run_kernels(const stream *s, const slot *on)
{
    const weft_spmm_host_job *job = s->job;
    const weft_row_block *block = &on->block;
    const weft_csr A = matrix_of(s, on);
    const weft_dtype dtype = A.dtype;
    const weft_tensor B = weft_matrix(s->B, dtype, A.n_cols, s->n_columns);
    const weft_tensor C = weft_matrix(on->C, job->c_dtype, A.n_rows, s->n_columns);
    const int64_t bias_at = (int64_t)(block->bias_at / weft_dtype_size(dtype));
    const weft_tensor bias = {on->A, dtype, bias_at, 1, {A.n_rows}, {1}};
    const weft_spmm_block own = {block->first_entry, block->n_row_chunks, on->A};
    weft_spmm_numbers numbers = job->numbers;
    numbers.block = job->problem.reads_entries ? &own : NULL;
    weft_call call = {
        .op = &weft_spmm_op,
        .ctx = job->ctx,
        .what = NAME,
        .operands = {[WEFT_SPMM_A] = &A,
                     [WEFT_SPMM_B] = &B,
                     [WEFT_SPMM_C] = &C,
                     [WEFT_SPMM_BIAS] = job->bias.data ? &bias : NULL},
        .is_unheard = true,
        .is_checked = true,
        .own = &numbers,
        .tiling = job->tiling,
        .workspace = block->n_row_chunks > 0 ? on->workspace : NULL,
    };
    weft_spmm_state state; // other calls' plans stay in the context
    TRY(weft_spmm_host_renamed(weft_op_prepare(&state, &call)));
    call.state = &state;
    return weft_spmm_host_renamed(weft_op_run(&call, on->queue));
}

// ---- row blocks

// Waits until the slot's rows of C are on the host, and counts them in.
static weft_status collect(stream *s, slot *from)
{
    if (!from->is_busy)
        return WEFT_OK;
    from->is_busy = false;
    if (!from->read)
        TRY(weft_host_view_read(from->queue, from->C, 0, &from->C_on_host, s->staging, NULL, NAME));
    else {
        const cl_int code = clWaitForEvents(1, &from->read);
        clReleaseEvent(from->read);
        from->read = NULL;
        TRY(weft_cl_check(code, NAME, "clWaitForEvents"));
    }
    if (s->first_column + s->n_columns == s->job->C.n_columns && s->n_finished == from->block.first)
        s->n_finished = from->block.last;
    return WEFT_OK;
}

static weft_status collect_all(stream *s)
{
    TRY(collect(s, &s->slots[s->next]));
    return collect(s, &s->slots[1 - s->next]);
}

static weft_status start(stream *s, slot *in)
{
    const weft_row_block *block = &in->block;
    in->C_on_host = part_of(&s->job->C, block->first, block->last - block->first, s->first_column,
                            s->n_columns);
    weft_row_block_chunks(&s->job->problem, block, in->row_chunks);
    TRY(send_block(s, in));
    TRY(run_kernels(s, in));
    if (!weft_host_view_is_staged(&in->C_on_host))
        TRY(weft_host_view_read(in->queue, in->C, 0, &in->C_on_host, s->staging, &in->read, NAME));
    in->is_busy = true;
    return weft_cl_check(clFlush(in->queue), NAME, "clFlush");
}

static weft_status run_column_block(stream *s)
{
    const weft_spmm_host_job *job = s->job;
    TRY(send_B(s));
    for (int64_t row = 0; row < job->A.n_rows;) {
        slot *in = &s->slots[s->next];
        TRY(collect(s, in));
        in->block = weft_row_block_from(&job->problem, &job->blocks, row);
        row = in->block.last;
        TRY(start(s, in));
        s->next = 1 - s->next;
    }
    return collect_all(s);
}

static weft_status run_blocks(stream *s)
{
    for (; s->first_column < s->job->C.n_columns; s->first_column += s->n_columns) {
        s->n_columns = weft_blocks_columns(&s->job->problem, &s->job->blocks, s->first_column);
        TRY(run_column_block(s));
    }
    return WEFT_OK;
}

// Nothing may use the caller's memory any longer. The other slot may still finish its rows.
static weft_status end_early(stream *s, weft_status status)
{
    const weft_sentence kept = weft_sentence_keep();
    (void)collect(s, &s->slots[1 - s->next]); // the older, if the other could not be started
    (void)collect(s, &s->slots[s->next]);
    for (int i = 0; i < 2; i++)
        clFinish(s->slots[i].queue);
    if (s->n_finished == 0)
        return fail(status, "%s; no row of C is finished", kept.text);
    return fail(status, "%s; rows 0 to %" PRId64 " of C are finished", kept.text,
                s->n_finished - 1);
}

// ---- calls

static weft_status read_params(weft_spmm_host_request *r, const weft_spmm_host_params *params)
{
    TRY(PARAMS_READ(&r->params, params, NAME, "WEFT_SPMM_HOST"));
    return weft_context_check(r->ctx, NAME);
}

static weft_status run(const weft_spmm_host_job *job, int64_t *n_finished)
{
    stream s;
    if (job->is_empty)
        return WEFT_OK;
    weft_status status = stream_create(&s, job);
    if (status == WEFT_OK) {
        status = run_blocks(&s);
        if (status != WEFT_OK)
            status = end_early(&s, status);
    }
    stream_destroy(&s);
    *n_finished = s.n_finished;
    return status;
}

weft_status weft_spmm_host(weft_context *ctx, double alpha, const weft_csr_host *A,
                           const weft_host_tensor *B, double beta, const weft_host_tensor *C,
                           const weft_spmm_host_params *params)
{
    weft_spmm_host_request r = {ctx, alpha, beta, A, B, C, {0}};
    weft_spmm_host_job job;
    int64_t ignored = 0;
    TRY(read_params(&r, params));
    int64_t *const done = r.params.done ? r.params.done : &ignored;
    *done = 0;
    if (ctx->notes)
        return fail(WEFT_UNSUPPORTED, "%s: a rehearsal copies nothing", NAME);
    TRY(weft_recorder_copy_check(ctx, NAME));
    TRY(weft_spmm_host_prepare(&job, &r));
    *done = job.is_empty ? job.C.n_rows : 0;
    return run(&job, done);
}

int weft_spmm_host_describe(weft_context *ctx, const weft_csr_host *A, const weft_host_tensor *B,
                            const weft_host_tensor *C, const weft_spmm_host_params *params,
                            char *text, size_t size)
{
    weft_spmm_host_request r = {ctx, 1, 0, A, B, C, {0}};
    weft_spmm_host_job job;
    if (read_params(&r, params) != WEFT_OK || weft_spmm_host_prepare(&job, &r) != WEFT_OK)
        return -1;
    if (job.is_empty)
        return snprintf(text, size, "nothing to do");
    return snprintf(text, size,
                    "%s; %" PRId64 " row blocks; %" PRId64 " column blocks of up to %" PRId64
                    "; %" PRIu64 " bytes",
                    job.tiling, job.blocks.n_row_blocks, job.blocks.n_column_blocks,
                    job.blocks.widest, weft_blocks_bytes(&job.blocks));
}
