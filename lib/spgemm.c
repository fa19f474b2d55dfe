// SPDX-License-Identifier: Apache-2.0
// C = A B, all three sparse. Checked by spgemm_check.c; here: plan, defines, arguments, enqueue.
#include <stdio.h>

#include "arithmetic.h"
#include "clamp.h"
#include "context.h"
#include "csr_content.h"
#include "items.h"
#include "scan.h"
#include "scratch.h"
#include "spgemm_call.h"

// ---- plan

// How a call runs.
typedef struct {
    weft_spgemm_tiling tiling;
    int64_t n_bundles; // of rows
    weft_scan scan;    // of the rows' lengths, where they are counted
    size_t scratch_bytes;
    weft_kernel *kernel;
} schedule;

static schedule schedule_for(const weft_spgemm_call *call, const weft_limits *limits)
{
    schedule s = {
        .tiling = call->forced ? *call->forced : weft_spgemm_tiling_for(limits, &call->problem),
    };
    s.n_bundles = ceil_div(call->problem.m, s.tiling.rows);
    if (!call->is_count)
        return s;
    s.scan = weft_scan_for(limits, s.tiling.items, call->C.offset_dtype, call->problem.m);
    s.scratch_bytes = weft_scan_scratch_bytes(&s.scan);
    return s;
}

// ---- defines

static weft_status kernels_for(schedule *s, size_t *most, const weft_spgemm_call *call)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add_dtype(&defines, "DTYPE", call->A.dtype);
    weft_defines_add_word(&defines, "OFFSET", weft_word(call->A.offset_dtype));
    weft_defines_add_word(&defines, "INDEX", weft_word(call->A.index_dtype));
    weft_defines_add_word(&defines, "B_OFFSET", weft_word(call->B.offset_dtype));
    weft_defines_add_word(&defines, "B_INDEX", weft_word(call->B.index_dtype));
    weft_defines_add_word(&defines, "NUMBER", weft_word(call->C.offset_dtype));
    weft_defines_add_word(&defines, "C_INDEX", weft_word(call->C.index_dtype));
    TRY(weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_spgemm, &defines,
                           call->is_count ? "spgemm_count" : "spgemm_fill"));
    return call->is_count ? weft_scan_kernels(&s->scan, call->ctx, most) : WEFT_OK;
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_spgemm_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *s = schedule_for(call, &limits);
        const size_t wanted = (size_t)s->tiling.items;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->forced != NULL, call->name));
        if (fits)
            return WEFT_OK;
    }
}

// ---- enqueue

// An array that is there, or for one that is not some buffer that is not looked at.
static cl_mem or_offsets(cl_mem array, const weft_csr *csr)
{
    return array && csr->nnz > 0 ? array : csr->offsets;
}

static weft_status enqueue_product(weft_launch *launch, const weft_spgemm_call *call,
                                   const schedule *s)
{
    const weft_csr *A = &call->A, *B = &call->B, *C = &call->C;
    const int64_t rows = s->tiling.rows;
    const cl_int columns = s->tiling.columns;
    const cl_mem a_indices = or_offsets(A->indices, A), a_values = or_offsets(A->values, A);
    const cl_mem b_indices = or_offsets(B->indices, B), b_values = or_offsets(B->values, B);
    const size_t marks_bytes = (size_t)columns * sizeof(cl_int);
    const size_t bytes = (size_t)(columns * weft_spgemm_column_bytes(&call->problem));
    const weft_argument arguments[] = {
        ARGUMENT(A->n_rows),        ARGUMENT(C->n_cols),         ARGUMENT(rows),
        ARGUMENT(columns),          ARGUMENT(A->offsets),        ARGUMENT(A->offsets_start),
        ARGUMENT(a_indices),        ARGUMENT(A->indices_start),  ARGUMENT(a_values),
        ARGUMENT(A->values_start),  ARGUMENT(B->offsets),        ARGUMENT(B->offsets_start),
        ARGUMENT(b_indices),        ARGUMENT(B->indices_start),  ARGUMENT(b_values),
        ARGUMENT(B->values_start),  ARGUMENT(C->offsets),        ARGUMENT(C->offsets_start),
        {marks_bytes, NULL},        {bytes - marks_bytes, NULL}, ARGUMENT(C->indices),
        ARGUMENT(C->indices_start), ARGUMENT(C->values),         ARGUMENT(C->values_start),
    };
    enum { OF_FILL = sizeof(arguments) / sizeof(arguments[0]), OF_COUNT = OF_FILL - 4 };
    return weft_items_enqueue(launch, s->kernel, call->is_count ? OF_COUNT : OF_FILL, arguments,
                              s->tiling.items, (const int64_t[3]){s->n_bundles});
}

static weft_status enqueue_count(weft_launch *launch, const weft_spgemm_call *call,
                                 const schedule *s, cl_mem scratch)
{
    const weft_numbers offsets = {call->C.offsets, call->C.offsets_start};
    if (call->problem.m > 0)
        TRY(enqueue_product(launch, call, s));
    return weft_scan_offsets(launch, &s->scan, offsets, scratch);
}

static weft_status run(weft_launch *launch, const weft_spgemm_call *call, cl_mem workspace)
{
    schedule s;
    if (!call->is_count && (call->C.nnz == 0 || call->C.n_rows == 0))
        return WEFT_OK;
    TRY(prepare(&s, call));
    if (!call->is_count)
        return enqueue_product(launch, call, &s);
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_spgemm_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_count(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

static weft_status product(bool is_count, weft_context *ctx, cl_command_queue queue,
                           const weft_csr *A, const weft_csr *B, const weft_csr *C,
                           const weft_spgemm_params *params)
{
    weft_spgemm_call call;
    TRY(weft_spgemm_check(&call, is_count, ctx, A, B, C, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, call.name, params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, A, "A"));
    TRY(weft_csr_content_check(&launch, B, "B"));
    if (!is_count)
        TRY(weft_offsets_content_check(&launch, C, "C"));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                        const weft_csr *B, const weft_csr *C, const weft_spgemm_params *params)
{
    return product(false, ctx, queue, A, B, C, params ? params : WEFT_SPGEMM(.n_wait = 0));
}

weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_csr *B, const weft_csr *C, int64_t *nnz,
                              const weft_spgemm_params *params)
{
    if (params && params->size != sizeof(*params)) // which is refused
        return product(true, ctx, queue, A, B, C, params);
    weft_spgemm_params own = params ? *params : *WEFT_SPGEMM(.n_wait = 0);
    cl_event done = NULL;
    if (nnz)
        own.event = &done;
    TRY(product(true, ctx, queue, A, B, C, &own));
    return nnz ? weft_scan_total(nnz, queue, C, done, params ? params->event : NULL, "spgemm_count")
               : WEFT_OK;
}

// ---- what a call would do

weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params,
                                  size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spgemm_workspace: bytes is NULL");
    *bytes = 0;
    weft_spgemm_call call;
    schedule s;
    params = params ? params : WEFT_SPGEMM(.n_wait = 0);
    TRY(weft_spgemm_check(&call, true, ctx, A, B, C, params));
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B, const weft_csr *C,
                         const weft_spgemm_params *params, char *text, size_t size)
{
    weft_spgemm_call call;
    schedule s;
    params = params ? params : WEFT_SPGEMM(.n_wait = 0);
    if (weft_spgemm_check(&call, true, ctx, A, B, C, params) != WEFT_OK ||
        prepare(&s, &call) != WEFT_OK)
        return -1;
    return weft_spgemm_tiling_print(&s.tiling, text, size);
}
