// SPDX-License-Identifier: Apache-2.0
// Checks of weft_spmm_host(), the tiling of the whole product, and its blocks.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "stream/spmm_host_job.h"

static const char NAME[] = "spmm_host";

// ---- operands

// The same tensor of a buffer that begins with its first byte.
static weft_tensor tensor_of(const weft_host_tensor *host)
{
    weft_tensor t = {.dtype = host->dtype, .ndim = host->ndim};
    memcpy(t.shape, host->shape, sizeof(t.shape));
    memcpy(t.stride, host->stride, sizeof(t.stride));
    for (int d = 0; d < t.ndim && d < WEFT_MAX_NDIM; d++) {
        int64_t before = 0;
        if (t.stride[d] < 0 && t.shape[d] > 1 &&
            (!mul_i64(t.shape[d] - 1, t.stride[d], &before) || before == INT64_MIN ||
             !add_i64(t.offset, -before, &t.offset)))
            t.offset = INT64_MAX; // more than an address has: the check of its form fails
    }
    return t;
}

// Row-major and without gaps, as the device gets it, but without a buffer.
static weft_tensor compact(const weft_host_tensor *host)
{
    weft_tensor t = tensor_of(host);
    t.offset = 0;
    int64_t stride = 1;
    for (int d = t.ndim - 1; d >= 0; d--) {
        t.stride[d] = stride;
        stride *= max_i64(t.shape[d], 1);
    }
    return t;
}

static weft_status tensor_check(const weft_host_tensor *host, const char *name, int most_dimensions,
                                bool is_output)
{
    char text[WEFT_OPERAND_TEXT];
    weft_operand_text(text, NAME, name);
    if (!host)
        return fail(WEFT_BAD_ARGUMENT, "%s is NULL", text);
    const weft_tensor t = tensor_of(host);
    TRY(is_output ? weft_output_form_check(&t, text) : weft_tensor_form_check(&t, text));
    if (t.ndim < 1 || t.ndim > most_dimensions)
        return fail(WEFT_BAD_SHAPE, "%s has %d dimensions: %s is wanted", text, t.ndim,
                    most_dimensions == 2 ? "2, or 1: a vector," : "1");
    if (!host->data && !weft_tensor_is_empty(&t))
        return fail(WEFT_BAD_ARGUMENT, "%s has no data: it is NULL", text);
    // Row-major, the device's copy may span more than inputs of stride 0.
    int64_t elements = 1;
    for (int d = 0; d < t.ndim; d++)
        if (!mul_i64(elements, max_i64(t.shape[d], 1), &elements))
            return fail(WEFT_BAD_SHAPE, "%s: extents pass 2^63", text);
    return WEFT_OK;
}

static weft_host_view view_of(const weft_host_tensor *host)
{
    const weft_tensor t = tensor_of(host), matrix = weft_tensor_as_matrix(&t);
    return (weft_host_view){
        .data = host->data,
        .n_rows = matrix.shape[0],
        .n_columns = matrix.shape[1],
        .row = matrix.stride[0],
        .column = matrix.shape[1] == 1 ? 1 : matrix.stride[1],
        .size = weft_dtype_size(weft_dtype_or(host->dtype, WEFT_F32)),
    };
}

// ---- overlap

typedef struct {
    uintptr_t first, last;
} memory;

static memory memory_of(const weft_host_tensor *host)
{
    const weft_tensor t = tensor_of(host);
    const weft_span span = weft_tensor_span(&t);
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(t.dtype, WEFT_F32));
    const uintptr_t at = (uintptr_t)host->data - (uintptr_t)(t.offset * size);
    return (memory){at, at + (uintptr_t)(span.last * size)};
}

static memory array_of(const void *array, int64_t n, weft_dtype dtype)
{
    const uintptr_t at = (uintptr_t)array;
    return (memory){at, at + (uintptr_t)n * weft_dtype_size(dtype)};
}

static weft_status apart_check(memory C, memory other, const char *name)
{
    if (C.first >= C.last || other.first >= other.last || C.last <= other.first ||
        other.last <= C.first)
        return WEFT_OK;
    return fail(WEFT_BAD_BUFFER, "%s: C overlaps %s in the host's memory", NAME, name);
}

static weft_status overlap_check(const weft_spmm_host_request *r, const weft_csr_host *A)
{
    const memory C = memory_of(r->C);
    TRY(apart_check(C, array_of(A->offsets, A->n_rows + 1, A->offset_dtype), "A's offsets"));
    TRY(apart_check(C, array_of(A->indices, A->nnz, A->index_dtype), "A's indices"));
    TRY(apart_check(C, array_of(A->values, A->nnz, A->dtype), "A's values"));
    TRY(apart_check(C, memory_of(r->B), "B"));
    return r->params.bias ? apart_check(C, memory_of(r->params.bias), "bias") : WEFT_OK;
}

// ---- the whole product

weft_status weft_spmm_host_renamed(weft_status status)
{
    static const char other[] = "spmm: ";
    const weft_sentence kept = weft_sentence_keep();
    if (status == WEFT_OK || strncmp(kept.text, other, strlen(other)) != 0)
        return status;
    return fail(status, "%s: %s", NAME, kept.text + strlen(other));
}

// As if all of it were on the device.
static weft_status plan_whole(weft_spmm_state *state, const weft_spmm_host_job *job,
                              const weft_spmm_host_request *r)
{
    const weft_csr A = weft_csr_form(&job->A);
    const weft_tensor B = compact(r->B), C = compact(r->C);
    weft_tensor bias;
    if (r->params.bias)
        bias = compact(r->params.bias);
    const weft_call call = {
        .op = &weft_spmm_op,
        .ctx = r->ctx,
        .what = NAME,
        .operands = {[WEFT_SPMM_A] = &A,
                     [WEFT_SPMM_B] = &B,
                     [WEFT_SPMM_C] = &C,
                     [WEFT_SPMM_BIAS] = r->params.bias ? &bias : NULL},
        .own = &job->numbers,
        .tiling = r->params.tiling,
    };
    TRY(weft_spmm_host_renamed(weft_op_prepare(state, &call)));
    if (state->tiling.tasks > 0 || state->tiling.packed)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: tiling.tasks is %d%s: blocks have no tasks and no packed B", NAME,
                    state->tiling.tasks, state->tiling.packed ? ", packed" : "");
    return WEFT_OK;
}

// ---- blocks

static void find_problem(weft_spmm_host_job *job, const weft_spmm_state *state,
                         const weft_spmm_host_request *r)
{
    const weft_limits *limits = &r->ctx->limits;
    job->problem = (weft_blocks_problem){
        .A = &job->A,
        .longest_row = weft_longest_row(&job->A),
        .reads_entries = !state->is_scale,
        .n = job->C.n_columns,
        .b_bytes = (int64_t)job->B.size,
        .c_bytes = (int64_t)job->C.size,
        .bias_bytes = job->bias.data ? (int64_t)job->bias.size : 0,
        .sum_bytes = weft_sum_bytes(job->A.dtype),
        .tile_columns = weft_spmm_n_tile_columns(&state->tiling),
        .vector_width = state->tiling.vector_width,
        .row_chunk = !state->is_scale && state->cut.n > 0 ? state->cut.length : 0,
        .device_bytes =
            r->params.device_bytes > 0 ? r->params.device_bytes : limits->global_bytes / 2,
        .most_bytes = limits->max_alloc_bytes,
    };
}

static weft_status operands_check(const weft_spmm_host_request *r)
{
    char text[WEFT_OPERAND_TEXT];
    TRY(weft_csr_host_form_check(r->A, weft_operand_text(text, NAME, "A")));
    TRY(tensor_check(r->B, "B", 2, false));
    TRY(tensor_check(r->C, "C", 2, true));
    return r->params.bias ? tensor_check(r->params.bias, "bias", 1, false) : WEFT_OK;
}

weft_status weft_spmm_host_prepare(weft_spmm_host_job *job, const weft_spmm_host_request *r)
{
    weft_spmm_state state;
    TRY(operands_check(r));
    const weft_csr form = weft_csr_form(r->A);
    *job = (weft_spmm_host_job){
        .ctx = r->ctx,
        .A = *r->A,
        .B = view_of(r->B),
        .C = view_of(r->C),
        .c_dtype = weft_dtype_or(r->C->dtype, WEFT_F32),
        .numbers = {.alpha = r->alpha,
                    .beta = r->beta,
                    .reduction = r->params.reduction,
                    .activation = r->params.activation,
                    .in_blocks = true},
    };
    job->A.offset_dtype = form.offset_dtype;
    job->A.index_dtype = form.index_dtype;
    job->A.dtype = form.dtype;
    if (r->params.bias)
        job->bias = view_of(r->params.bias);
    TRY(plan_whole(&state, job, r));
    TRY(overlap_check(r, &job->A));
    TRY(weft_csr_host_sound_check(&job->A, r->ctx->check_matrices, "spmm_host: A"));
    job->is_empty = state.head.is_empty;
    if (job->is_empty)
        return WEFT_OK;
    weft_spmm_tiling_print(&state.tiling, job->tiling, sizeof(job->tiling));
    find_problem(job, &state, r);
    return weft_blocks_for(&job->blocks, &job->problem, NAME);
}
