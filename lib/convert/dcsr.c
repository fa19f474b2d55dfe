// SPDX-License-Identifier: Apache-2.0
// Conversions between CSR and DCSR. Checked by dcsr_check.c; here: plan, defines, arguments,
// enqueue.
#include "base/arithmetic.h"
#include "base/clamp.h"
#include "convert/dcsr_call.h"
#include "op/items.h"
#include "op/scan.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "runtime/scratch.h"

// ---- plan

// How a call runs. Scratch memory holds a flag for each row, then its place, and how many there
// are.
typedef struct {
    int items;
    int64_t n, run, n_groups; // rows, and the end of the last one where all are written
    weft_scan scan;
    int64_t sums; // in ints
    size_t scratch_bytes;
    weft_kernel *flags, *rows; // or dcsr_offsets
} schedule;

static schedule schedule_for(const weft_dcsr_call *call, const weft_limits *limits)
{
    schedule s = {.items = call->items > 0 ? call->items : weft_items_for(limits)};
    s.n = call->A.n_rows + (call->step == WEFT_DCSR_TO_CSR);
    s.run = weft_items_run(limits, s.items, s.n);
    s.n_groups = max_i64(weft_items_groups(s.items, s.run, s.n), 1);
    if (call->step == WEFT_DCSR_TO_CSR)
        return s;
    weft_scratch scratch = {0};
    s.scan = weft_scan_for(limits, s.items, WEFT_I32, s.n);
    weft_scratch_add(&scratch, s.n + 1, WEFT_I32);
    s.sums = weft_scratch_add(&scratch, s.scan.n_groups, WEFT_I32);
    s.scratch_bytes = scratch.bytes;
    return s;
}

// ---- defines

static weft_status kernels_for(schedule *s, size_t *most, const weft_dcsr_call *call)
{
    weft_context *ctx = call->ctx;
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", s->items);
    weft_defines_add_word(&defines, "OFFSET", weft_word(call->A.offset_dtype));
    weft_defines_add_word(&defines, "D_OFFSET", weft_word(call->D.offset_dtype));
    if (call->step == WEFT_DCSR_TO_CSR)
        return weft_kernel_narrow(&s->rows, most, ctx, &weft_source_dcsr, &defines, "dcsr_offsets");
    TRY(weft_kernel_narrow(&s->flags, most, ctx, &weft_source_dcsr, &defines, "dcsr_flags"));
    TRY(weft_kernel_narrow(&s->rows, most, ctx, &weft_source_dcsr, &defines, "dcsr_rows"));
    return weft_scan_kernels(&s->scan, ctx, most);
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_dcsr_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *s = schedule_for(call, &limits);
        const size_t wanted = (size_t)s->items;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->items > 0, call->name));
        if (fits)
            return WEFT_OK;
    }
}

// ---- enqueue

static weft_status enqueue_places(weft_launch *launch, const weft_dcsr_call *call,
                                  const schedule *s, cl_mem scratch)
{
    const weft_csr *A = &call->A;
    const weft_argument arguments[] = {
        ARGUMENT(s->n),    ARGUMENT(s->run), ARGUMENT(A->offsets), ARGUMENT(A->offsets_start),
        ARGUMENT(scratch),
    };
    const weft_numbers places = {scratch, 0}, sums = {scratch, s->sums};
    TRY(ENQUEUE_ITEMS(launch, s->flags, arguments, s->items, s->n_groups));
    return weft_scan_enqueue(launch, &s->scan, places, places, true, sums);
}

// Waits for the number.
static weft_status enqueue_count(weft_launch *launch, const weft_dcsr_call *call, const schedule *s,
                                 cl_mem scratch)
{
    const weft_numbers last = {scratch, call->A.n_rows};
    TRY(enqueue_places(launch, call, s, scratch));
    return weft_numbers_read(call->n_stored, launch->queue, last, WEFT_I32, launch->last,
                             call->name);
}

static weft_status enqueue_rows(weft_launch *launch, const weft_dcsr_call *call, const schedule *s,
                                cl_mem scratch)
{
    const weft_csr *A = &call->A;
    const weft_dcsr *D = &call->D;
    const cl_mem rows = D->n_stored > 0 ? D->rows : scratch; // of none: never written
    const weft_argument arguments[] = {
        ARGUMENT(s->n),       ARGUMENT(s->run),
        ARGUMENT(A->offsets), ARGUMENT(A->offsets_start),
        ARGUMENT(scratch),    ARGUMENT(D->n_stored),
        ARGUMENT(rows),       ARGUMENT(D->rows_start),
        ARGUMENT(D->offsets), ARGUMENT(D->offsets_start),
    };
    TRY(enqueue_places(launch, call, s, scratch));
    return ENQUEUE_ITEMS(launch, s->rows, arguments, s->items, s->n_groups);
}

static weft_status enqueue_offsets(weft_launch *launch, const weft_dcsr_call *call,
                                   const schedule *s)
{
    const weft_csr *A = &call->A;
    const weft_dcsr *D = &call->D;
    const cl_mem rows = D->n_stored > 0 ? D->rows : D->offsets; // of none: never read
    const weft_argument arguments[] = {
        ARGUMENT(s->n),
        ARGUMENT(s->run),
        ARGUMENT(rows),
        ARGUMENT(D->rows_start),
        ARGUMENT(D->n_stored),
        ARGUMENT(D->offsets),
        ARGUMENT(D->offsets_start),
        ARGUMENT(A->offsets),
        ARGUMENT(A->offsets_start),
    };
    return ENQUEUE_ITEMS(launch, s->rows, arguments, s->items, s->n_groups);
}

static weft_status enqueue_step(weft_launch *launch, const weft_dcsr_call *call, const schedule *s,
                                cl_mem scratch)
{
    return call->step == WEFT_DCSR_COUNT      ? enqueue_count(launch, call, s, scratch)
           : call->step == WEFT_DCSR_FROM_CSR ? enqueue_rows(launch, call, s, scratch)
                                              : enqueue_offsets(launch, call, s);
}

static weft_status run(weft_launch *launch, const weft_dcsr_call *call, cl_mem workspace)
{
    schedule s;
    TRY(prepare(&s, call));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_dcsr_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_step(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

static weft_status convert(const weft_dcsr_call *call, cl_command_queue queue,
                           const weft_dcsr_params *params)
{
    weft_launch launch;
    TRY(weft_launch_begin(&launch, call->ctx, queue, call->name, params->n_wait, params->wait,
                          params->event != NULL));
    TRY(call->step == WEFT_DCSR_TO_CSR ? weft_dcsr_content_check(&launch, &call->D, "D")
                                       : weft_csr_content_check(&launch, &call->A, "A"));
    const weft_status status = run(&launch, call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- calls

weft_status weft_dcsr_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                            int64_t *n_stored, const weft_dcsr_params *params)
{
    params = params ? params : WEFT_DCSR(.items = 0);
    if (!n_stored)
        return fail(WEFT_BAD_ARGUMENT, "dcsr_count: n_stored is NULL");
    weft_dcsr_call call;
    TRY(weft_dcsr_call_check(&call, WEFT_DCSR_COUNT, ctx, A, NULL, params));
    call.n_stored = n_stored;
    return convert(&call, queue, params);
}

weft_status weft_dcsr_from_csr(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                               const weft_dcsr *D, const weft_dcsr_params *params)
{
    params = params ? params : WEFT_DCSR(.items = 0);
    weft_dcsr_call call;
    TRY(weft_dcsr_call_check(&call, WEFT_DCSR_FROM_CSR, ctx, A, D, params));
    return convert(&call, queue, params);
}

weft_status weft_dcsr_to_csr(weft_context *ctx, cl_command_queue queue, const weft_dcsr *D,
                             const weft_csr *A, const weft_dcsr_params *params)
{
    params = params ? params : WEFT_DCSR(.items = 0);
    weft_dcsr_call call;
    TRY(weft_dcsr_call_check(&call, WEFT_DCSR_TO_CSR, ctx, A, D, params));
    return convert(&call, queue, params);
}

// ---- what a call would do

weft_status weft_dcsr_workspace(weft_context *ctx, const weft_csr *A,
                                const weft_dcsr_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "dcsr_workspace: bytes is NULL");
    *bytes = 0;
    weft_dcsr_call call;
    schedule s;
    TRY(weft_dcsr_call_check(&call, WEFT_DCSR_COUNT, ctx, A, NULL,
                             params ? params : WEFT_DCSR(.items = 0)));
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}
