// SPDX-License-Identifier: Apache-2.0
// T = A^T, both sparse. Checked by csr_transpose_check.c; here: plan, defines, arguments, enqueue.
#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "convert/csr_transpose_call.h"
#include "op/items.h"
#include "op/scan.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "runtime/scratch.h"

// ---- plan

// How a call runs. In scratch memory lie the table of digits, then what passes leave for each
// other: columns, and where there are several passes rows and where entries come from. They are
// read from one of two places and written to the other.
typedef struct {
    weft_csr_transpose_tiling tiling;
    int n_passes; // 0 without entries
    int64_t n_groups, n_offsets, offsets_run;
    weft_scan scan;              // of the table
    int64_t table, sums;         // in elements of A's offsets
    int64_t sources[2];          // the same
    int64_t columns[2], rows[2]; // in ints
    size_t scratch_bytes;
    weft_kernel *count, *scatter, *offsets;
} schedule;

static void schedule_scratch(schedule *s, const weft_csr_transpose_call *call)
{
    const weft_dtype wide = call->problem.offset_dtype;
    const int64_t nnz = call->problem.nnz;
    weft_scratch scratch = {0};
    s->table = weft_scratch_add(&scratch, s->scan.n, wide);
    s->sums = weft_scratch_add(&scratch, s->scan.n_groups, wide);
    for (int i = 0; i < 2; i++) {
        s->columns[i] = weft_scratch_add(&scratch, i < s->n_passes ? nnz : 0, WEFT_I32);
        s->rows[i] = weft_scratch_add(&scratch, i < s->n_passes - 1 ? nnz : 0, WEFT_I32);
        s->sources[i] = weft_scratch_add(&scratch, i < s->n_passes - 1 ? nnz : 0, wide);
    }
    s->scratch_bytes = s->n_passes > 0 ? scratch.bytes : 0;
}

static schedule schedule_for(const weft_csr_transpose_call *call, const weft_limits *limits)
{
    const weft_csr_transpose_problem *problem = &call->problem;
    schedule s = {
        .tiling = call->is_forced ? call->forced : weft_csr_transpose_tiling_for(limits, problem),
        .n_offsets = problem->n_cols + 1,
    };
    const int items = s.tiling.items;
    s.n_passes = problem->nnz > 0 ? weft_csr_transpose_passes(&s.tiling, problem->n_cols) : 0;
    s.n_groups = weft_items_groups(items, s.tiling.run, problem->nnz);
    s.offsets_run = weft_items_run(limits, items, s.n_offsets);
    s.scan = weft_scan_for(limits, items, problem->offset_dtype, s.n_groups << s.tiling.bits);
    schedule_scratch(&s, call);
    return s;
}

// ---- defines

static weft_status kernels_for(schedule *s, size_t *most, const weft_csr_transpose_call *call)
{
    const weft_csr *A = &call->A, *T = call->T;
    weft_context *ctx = call->ctx;
    const weft_source *source = &weft_source_csr_transpose;
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add_word(&defines, "OFFSET", weft_word(call->problem.offset_dtype));
    weft_defines_add_word(&defines, "INDEX", weft_word(weft_dtype_or(A->index_dtype, WEFT_I32)));
    weft_defines_add_word(&defines, "T_OFFSET",
                          weft_word(weft_dtype_or(T->offset_dtype, WEFT_I32)));
    weft_defines_add_word(&defines, "T_INDEX", weft_word(weft_dtype_or(T->index_dtype, WEFT_I32)));
    weft_defines_add_word(&defines, "MOVED", weft_moved_word(weft_dtype_or(A->dtype, WEFT_F32)));
    TRY(weft_kernel_narrow(&s->offsets, most, ctx, source, &defines, "csr_transpose_offsets"));
    if (s->n_passes == 0)
        return WEFT_OK;
    TRY(weft_kernel_narrow(&s->count, most, ctx, source, &defines, "csr_transpose_count"));
    TRY(weft_kernel_narrow(&s->scatter, most, ctx, source, &defines, "csr_transpose_scatter"));
    return weft_scan_kernels(&s->scan, ctx, most);
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_csr_transpose_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *s = schedule_for(call, &limits);
        const size_t wanted = (size_t)s->tiling.items;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, "csr_transpose"));
        if (fits)
            return WEFT_OK;
    }
}

// ---- enqueue

static weft_status enqueue_pass(weft_launch *launch, const weft_csr_transpose_call *call,
                                const schedule *s, cl_mem scratch, int pass)
{
    const weft_csr *A = &call->A, *T = call->T;
    const int64_t nnz = call->problem.nnz, run = s->tiling.run;
    const cl_int bits = s->tiling.bits, shift = pass * bits, n_rows = (cl_int)A->n_rows;
    const cl_int is_first = pass == 0, is_last = pass == s->n_passes - 1;
    const cl_int has_values = call->has_values, has_source = call->source != NULL;
    const int in = (pass + 1) % 2, out = pass % 2;
    const int64_t counters =
        weft_csr_transpose_counters(&s->tiling) * (int64_t)weft_dtype_size(s->scan.dtype);
    const weft_argument local_memory = {(size_t)counters, NULL};
    // Where there is no such array some buffer must stand in: it is not looked at.
    const cl_mem values = call->has_values ? A->values : A->indices;
    const cl_mem t_values = call->has_values ? T->values : T->indices;
    const cl_mem source = call->source ? call->source->buffer : T->indices;
    const int64_t source_start = call->source ? call->source->offset : 0;
    const int64_t source_stride = call->source ? call->source->stride[0] : 0;
    const weft_argument arguments[] = {
        ARGUMENT(nnz),
        ARGUMENT(run),
        ARGUMENT(shift),
        ARGUMENT(bits),
        ARGUMENT(is_first),
        ARGUMENT(A->indices),
        ARGUMENT(A->indices_start),
        ARGUMENT(scratch),
        ARGUMENT(s->columns[in]),
        ARGUMENT(scratch),
        local_memory,
        ARGUMENT(A->offsets),
        ARGUMENT(A->offsets_start),
        ARGUMENT(n_rows),
        ARGUMENT(s->columns[out]),
        ARGUMENT(s->rows[in]),
        ARGUMENT(s->rows[out]),
        ARGUMENT(scratch),
        ARGUMENT(s->sources[in]),
        ARGUMENT(s->sources[out]),
        ARGUMENT(is_last),
        ARGUMENT(T->indices),
        ARGUMENT(T->indices_start),
        ARGUMENT(has_values),
        ARGUMENT(values),
        ARGUMENT(A->values_start),
        ARGUMENT(t_values),
        ARGUMENT(T->values_start),
        ARGUMENT(has_source),
        ARGUMENT(source),
        ARGUMENT(source_start),
        ARGUMENT(source_stride),
    };
    enum { OF_COUNT = 11 }; // the first ones are the same
    TRY(weft_items_enqueue(launch, s->count, OF_COUNT, arguments, s->tiling.items,
                           (const int64_t[3]){s->n_groups}));
    const weft_numbers table = {scratch, s->table}, sums = {scratch, s->sums};
    TRY(weft_scan_enqueue(launch, &s->scan, table, table, false, sums));
    return ENQUEUE_ITEMS(launch, s->scatter, arguments, s->tiling.items, s->n_groups);
}

static weft_status enqueue_offsets(weft_launch *launch, const weft_csr_transpose_call *call,
                                   const schedule *s, cl_mem scratch)
{
    const weft_csr *T = call->T;
    const cl_mem columns = s->n_passes > 0 ? scratch : T->offsets; // which nobody reads
    const weft_argument arguments[] = {
        ARGUMENT(s->n_offsets),
        ARGUMENT(s->offsets_run),
        ARGUMENT(call->problem.nnz),
        ARGUMENT(columns),
        ARGUMENT(s->columns[(s->n_passes + 1) % 2]),
        ARGUMENT(T->offsets),
        ARGUMENT(T->offsets_start),
    };
    return ENQUEUE_ITEMS(launch, s->offsets, arguments, s->tiling.items,
                         weft_items_groups(s->tiling.items, s->offsets_run, s->n_offsets));
}

static weft_status enqueue_all(weft_launch *launch, const weft_csr_transpose_call *call,
                               const schedule *s, cl_mem scratch)
{
    for (int pass = 0; pass < s->n_passes; pass++)
        TRY(enqueue_pass(launch, call, s, scratch, pass));
    return enqueue_offsets(launch, call, s, scratch);
}

static weft_status run(weft_launch *launch, const weft_csr_transpose_call *call, cl_mem workspace)
{
    schedule s;
    TRY(prepare(&s, call));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_csr_transpose_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_all(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

weft_status weft_csr_transpose(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                               const weft_csr *T, const weft_csr_transpose_params *params)
{
    params = params ? params : WEFT_CSR_TRANSPOSE(.source = NULL);
    weft_csr_transpose_call call;
    TRY(weft_csr_transpose_check(&call, ctx, A, T, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "csr_transpose", params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, A, "A"));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

weft_status weft_csr_transpose_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                         const weft_csr_transpose_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "csr_transpose_workspace: bytes is NULL");
    *bytes = 0;
    weft_csr_transpose_call call;
    schedule s;
    params = params ? params : WEFT_CSR_TRANSPOSE(.source = NULL);
    TRY(weft_csr_transpose_check(&call, ctx, A, T, params));
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

int weft_csr_transpose_describe(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                const weft_csr_transpose_params *params, char *text, size_t size)
{
    weft_csr_transpose_call call;
    schedule s;
    params = params ? params : WEFT_CSR_TRANSPOSE(.source = NULL);
    if (weft_csr_transpose_check(&call, ctx, A, T, params) != WEFT_OK ||
        prepare(&s, &call) != WEFT_OK)
        return -1;
    char tiling[256];
    weft_csr_transpose_tiling_print(&s.tiling, tiling, sizeof(tiling));
    return snprintf(text, size, "%d passes; %s", s.n_passes, tiling);
}
