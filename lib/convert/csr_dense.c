// SPDX-License-Identifier: Apache-2.0
// A sparse matrix as a dense one, and back. Checked by csr_dense_check.c; here: plan, defines,
// arguments, enqueue.
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "convert/csr_dense_call.h"
#include "op/items.h"
#include "op/scan.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "runtime/scratch.h"

// ---- plan

// How a call runs.
typedef struct {
    weft_csr_dense_tiling tiling;
    int64_t n_bundles; // of rows
    int sums;          // in local memory
    weft_scan scan;    // of the rows' lengths
    size_t scratch_bytes;
    weft_kernel *kernel;
} schedule;

static schedule schedule_for(const weft_csr_dense_call *call, const weft_limits *limits)
{
    schedule s = {
        .tiling =
            call->is_forced ? call->forced : weft_csr_dense_tiling_for(limits, &call->problem),
    };
    s.n_bundles = ceil_div(call->A.n_rows, s.tiling.rows);
    s.sums = weft_csr_dense_sums(limits, s.tiling.columns, &call->problem);
    if (call->step != WEFT_DENSE_TO_CSR_COUNT)
        return s;
    s.scan = weft_scan_for(limits, s.tiling.items, call->A.offset_dtype, call->A.n_rows);
    s.scratch_bytes = weft_scan_scratch_bytes(&s.scan);
    return s;
}

// ---- defines

static weft_status kernels_for(schedule *s, size_t *most, const weft_csr_dense_call *call)
{
    static const char *const names[] = {"csr_to_dense", "dense_to_csr_count", "dense_to_csr_fill"};
    const char *offset = weft_word(call->A.offset_dtype);
    // To move f64 takes no f64; the one kernel that adds up is not for devices without.
    const bool is_moved = call->step != WEFT_CSR_TO_DENSE;
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add(&defines, "FOLD", 1);
    weft_defines_add(&defines, "SUMS", s->sums);
    weft_defines_add_dtype(&defines, "DTYPE",
                           is_moved && call->A.dtype == WEFT_F64 && !call->ctx->limits.has_f64
                               ? WEFT_F32
                               : call->A.dtype);
    weft_defines_add_word(&defines, "MOVED", weft_moved_word(call->A.dtype));
    weft_defines_add_word(&defines, "OFFSET", offset);
    weft_defines_add_word(&defines, "NUMBER", offset);
    weft_defines_add_word(&defines, "INDEX", weft_word(call->A.index_dtype));
    TRY(weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_csr_dense, &defines,
                           names[call->step]));
    return call->step == WEFT_DENSE_TO_CSR_COUNT ? weft_scan_kernels(&s->scan, call->ctx, most)
                                                 : WEFT_OK;
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_csr_dense_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *s = schedule_for(call, &limits);
        const size_t wanted = (size_t)s->tiling.items;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, call->name));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments

// A magnitude as the bits of an element.
typedef union {
    cl_ushort two;
    cl_uint four;
    cl_ulong eight;
} magnitude;

// The threshold rounded to the data type.
static weft_argument threshold_argument(magnitude *m, weft_dtype dtype, double threshold)
{
    const float nearest = (float)threshold;
    switch (dtype) {
    case WEFT_F64:
        memcpy(&m->eight, &threshold, sizeof(m->eight));
        return ARGUMENT(m->eight);
    case WEFT_F16:
        m->two = weft_f16_from_f32(nearest);
        return ARGUMENT(m->two);
    case WEFT_BF16:
        m->two = weft_bf16_from_f32(nearest);
        return ARGUMENT(m->two);
    default:
        memcpy(&m->four, &nearest, sizeof(m->four));
        return ARGUMENT(m->four);
    }
}

// ---- enqueue

static weft_status enqueue_to_dense(weft_launch *launch, const weft_csr_dense_call *call,
                                    const schedule *s)
{
    const weft_csr *A = &call->A;
    const weft_dense *D = &call->D;
    const int64_t rows = s->tiling.rows;
    const cl_int columns = s->tiling.columns;
    // Where there are no entries some buffer must stand in: it is never read.
    const cl_mem indices = A->nnz > 0 ? A->indices : A->offsets;
    const cl_mem values = A->nnz > 0 ? A->values : A->offsets;
    const size_t words_bytes = weft_csr_dense_words_bytes(columns);
    const size_t sums_bytes = (size_t)s->sums * (size_t)weft_sum_bytes(A->dtype);
    const weft_argument arguments[] = {
        ARGUMENT(A->n_rows),
        ARGUMENT(A->n_cols),
        ARGUMENT(rows),
        ARGUMENT(columns),
        ARGUMENT(A->offsets),
        ARGUMENT(A->offsets_start),
        ARGUMENT(indices),
        ARGUMENT(A->indices_start),
        ARGUMENT(values),
        ARGUMENT(A->values_start),
        ARGUMENT(A->values_batch_stride),
        ARGUMENT(D->buffer),
        ARGUMENT(D->start),
        ARGUMENT(D->row),
        ARGUMENT(D->column),
        ARGUMENT(D->batch),
        {words_bytes, NULL},
        {words_bytes, NULL},
        {sums_bytes, NULL},
    };
    return ENQUEUE_ITEMS(launch, s->kernel, arguments, s->tiling.items, s->n_bundles,
                         ceil_div(A->n_cols, columns), call->n_batches);
}

static weft_status enqueue_from_dense(weft_launch *launch, const weft_csr_dense_call *call,
                                      const schedule *s)
{
    const weft_csr *A = &call->A;
    const weft_dense *D = &call->D;
    const int64_t rows = s->tiling.rows;
    const cl_mem elements = A->n_cols > 0 ? D->buffer : A->offsets; // of none: never read
    magnitude threshold;
    const weft_argument arguments[] = {
        ARGUMENT(A->n_rows),  ARGUMENT(A->n_cols),
        ARGUMENT(rows),       threshold_argument(&threshold, A->dtype, call->threshold),
        ARGUMENT(elements),   ARGUMENT(D->start),
        ARGUMENT(D->row),     ARGUMENT(D->column),
        ARGUMENT(A->offsets), ARGUMENT(A->offsets_start),
        ARGUMENT(A->indices), ARGUMENT(A->indices_start),
        ARGUMENT(A->values),  ARGUMENT(A->values_start),
    };
    enum { OF_FILL = sizeof(arguments) / sizeof(arguments[0]), OF_COUNT = OF_FILL - 4 };
    const size_t n = call->step == WEFT_DENSE_TO_CSR_FILL ? OF_FILL : OF_COUNT;
    return weft_items_enqueue(launch, s->kernel, n, arguments, s->tiling.items,
                              (const int64_t[3]){s->n_bundles});
}

static weft_status enqueue_count(weft_launch *launch, const weft_csr_dense_call *call,
                                 const schedule *s, cl_mem scratch)
{
    const weft_numbers offsets = {call->A.offsets, call->A.offsets_start};
    if (call->A.n_rows > 0)
        TRY(enqueue_from_dense(launch, call, s));
    return weft_scan_offsets(launch, &s->scan, offsets, scratch);
}

static bool is_empty(const weft_csr_dense_call *call)
{
    return call->step == WEFT_CSR_TO_DENSE        ? weft_tensor_is_empty(call->D_view)
           : call->step == WEFT_DENSE_TO_CSR_FILL ? call->A.nnz == 0 || call->A.n_rows == 0
                                                  : false;
}

static weft_status run(weft_launch *launch, const weft_csr_dense_call *call, cl_mem workspace)
{
    schedule s;
    if (is_empty(call))
        return WEFT_OK;
    TRY(prepare(&s, call));
    if (call->step == WEFT_CSR_TO_DENSE)
        return enqueue_to_dense(launch, call, &s);
    if (call->step == WEFT_DENSE_TO_CSR_FILL)
        return enqueue_from_dense(launch, call, &s);
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_csr_dense_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_count(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

static weft_status convert(weft_csr_dense_step step, weft_context *ctx, cl_command_queue queue,
                           const weft_csr *A, const weft_tensor *D,
                           const weft_csr_dense_params *params)
{
    params = params ? params : WEFT_CSR_DENSE(.threshold = 0);
    weft_csr_dense_call call;
    TRY(weft_csr_dense_check(&call, step, ctx, A, D, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, call.name, params->n_wait, params->wait,
                          params->event != NULL));
    if (step == WEFT_CSR_TO_DENSE)
        TRY(weft_csr_content_check(&launch, A, "A"));
    if (step == WEFT_DENSE_TO_CSR_FILL)
        TRY(weft_offsets_content_check(&launch, A, "A"));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_csr_to_dense(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_tensor *D, const weft_csr_dense_params *params)
{
    return convert(WEFT_CSR_TO_DENSE, ctx, queue, A, D, params);
}

weft_status weft_dense_to_csr(weft_context *ctx, cl_command_queue queue, const weft_tensor *D,
                              const weft_csr *A, const weft_csr_dense_params *params)
{
    return convert(WEFT_DENSE_TO_CSR_FILL, ctx, queue, A, D, params);
}

weft_status weft_dense_to_csr_count(weft_context *ctx, cl_command_queue queue, const weft_tensor *D,
                                    const weft_csr *A, int64_t *nnz,
                                    const weft_csr_dense_params *params)
{
    if (params && params->size != sizeof(*params)) // which is refused
        return convert(WEFT_DENSE_TO_CSR_COUNT, ctx, queue, A, D, params);
    weft_csr_dense_params own = params ? *params : *WEFT_CSR_DENSE(.threshold = 0);
    cl_event done = NULL;
    if (nnz)
        own.event = &done;
    TRY(convert(WEFT_DENSE_TO_CSR_COUNT, ctx, queue, A, D, &own));
    return nnz ? weft_scan_total(nnz, queue, A, done, params ? params->event : NULL,
                                 "dense_to_csr_count")
               : WEFT_OK;
}

// ---- what a call would do

weft_status weft_dense_to_csr_workspace(weft_context *ctx, const weft_tensor *D, const weft_csr *A,
                                        const weft_csr_dense_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "dense_to_csr_workspace: bytes is NULL");
    *bytes = 0;
    weft_csr_dense_call call;
    schedule s;
    params = params ? params : WEFT_CSR_DENSE(.threshold = 0);
    TRY(weft_csr_dense_check(&call, WEFT_DENSE_TO_CSR_COUNT, ctx, A, D, params));
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

static int describe(weft_csr_dense_step step, weft_context *ctx, const weft_csr *A,
                    const weft_tensor *D, const weft_csr_dense_params *params, char *text,
                    size_t size)
{
    weft_csr_dense_call call;
    schedule s;
    params = params ? params : WEFT_CSR_DENSE(.threshold = 0);
    if (weft_csr_dense_check(&call, step, ctx, A, D, params) != WEFT_OK)
        return -1;
    if (is_empty(&call))
        return snprintf(text, size, "nothing to do");
    return prepare(&s, &call) == WEFT_OK ? weft_csr_dense_tiling_print(&s.tiling, text, size) : -1;
}

int weft_csr_to_dense_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *D,
                               const weft_csr_dense_params *params, char *text, size_t size)
{
    return describe(WEFT_CSR_TO_DENSE, ctx, A, D, params, text, size);
}

int weft_dense_to_csr_describe(weft_context *ctx, const weft_tensor *D, const weft_csr *A,
                               const weft_csr_dense_params *params, char *text, size_t size)
{
    return describe(WEFT_DENSE_TO_CSR_FILL, ctx, A, D, params, text, size);
}
