// SPDX-License-Identifier: Apache-2.0
// T = A^T, both sparse. Checked by csr_transpose_check.c; here: plan, defines, arguments, enqueue.
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/params.h"
#include "convert/csr_transpose_call.h"
#include "convert/csr_transpose_parameters.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"

// ---- plan

static void plan_scratch(weft_csr_transpose_state *s)
{
    const weft_dtype wide = s->problem.offset_dtype;
    const int64_t nnz = s->problem.nnz;
    weft_scratch scratch = {0};
    s->table = weft_scratch_add(&scratch, s->scan.n, wide);
    s->sums = weft_scratch_add(&scratch, s->scan.n_groups, wide);
    for (int i = 0; i < 2; i++) {
        s->columns[i] = weft_scratch_add(&scratch, i < s->n_passes ? nnz : 0, WEFT_I32);
        s->rows[i] = weft_scratch_add(&scratch, i < s->n_passes - 1 ? nnz : 0, WEFT_I32);
        s->sources[i] = weft_scratch_add(&scratch, i < s->n_passes - 1 ? nnz : 0, wide);
    }
    s->head.scratch_bytes = s->n_passes > 0 ? scratch.bytes : 0;
}

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_csr_transpose_state *s = state;
    const weft_csr_transpose_problem *problem = &s->problem;
    if (s->head.is_forced)
        TRY(weft_csr_transpose_tiling_check(&s->tiling, &call->ctx->limits, problem));
    else
        s->tiling = weft_csr_transpose_tiling_for(limits, problem);
    const int items = s->tiling.items;
    s->head.group_items = (size_t)items;
    s->n_offsets = problem->n_cols + 1;
    s->n_passes = problem->nnz > 0 ? weft_csr_transpose_passes(&s->tiling, problem->n_cols) : 0;
    s->n_groups = weft_items_groups(items, s->tiling.run, problem->nnz);
    s->offsets_run = weft_items_run(limits, items, s->n_offsets);
    s->scan = weft_scan_for(limits, items, problem->offset_dtype, s->n_groups << s->tiling.bits);
    plan_scratch(s);
    return WEFT_OK;
}

// ---- defines

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    weft_csr_transpose_state *s = state;
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_TRANSPOSE_A));
    const weft_csr T = weft_csr_with_defaults(weft_call_csr(call, WEFT_TRANSPOSE_T));
    const weft_source *source = &weft_source_csr_transpose;
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add_word(&defines, "OFFSET", weft_word(A.offset_dtype));
    weft_defines_add_word(&defines, "INDEX", weft_word(A.index_dtype));
    weft_defines_add_word(&defines, "T_OFFSET", weft_word(T.offset_dtype));
    weft_defines_add_word(&defines, "T_INDEX", weft_word(T.index_dtype));
    weft_defines_add_word(&defines, "MOVED", weft_moved_word(A.dtype));
    TRY(weft_kernel_narrow(&s->offsets, most, call->ctx, source, &defines,
                           "csr_transpose_offsets"));
    if (s->n_passes == 0)
        return WEFT_OK;
    TRY(weft_kernel_narrow(&s->count, most, call->ctx, source, &defines, "csr_transpose_count"));
    TRY(weft_kernel_narrow(&s->scatter, most, call->ctx, source, &defines,
                           "csr_transpose_scatter"));
    return weft_scan_kernels(&s->scan, call->ctx, most);
}

// ---- arguments

typedef struct {
    COLUMNS_PARAMETERS(FIELD, )
} columns;

typedef struct {
    COUNT_PARAMETERS(FIELD, )
} count;

typedef struct {
    SCATTER_PARAMETERS(FIELD, )
} scatter;

typedef struct {
    OFFSETS_PARAMETERS(FIELD, )
} offsets;

static columns columns_of(const weft_csr_transpose_state *s, const weft_csr *A, cl_mem scratch,
                          int pass)
{
    return (columns){
        .nnz = s->problem.nnz,
        .run = s->tiling.run,
        .shift = pass * s->tiling.bits,
        .bits = s->tiling.bits,
        .is_first = pass == 0,
        .indices = A->indices,
        .indices_start = A->indices_start,
        .whole = scratch,
        .columns_in = s->columns[(pass + 1) % 2],
    };
}

static size_t counter_bytes(const weft_csr_transpose_state *s)
{
    return (size_t)weft_csr_transpose_counters(&s->tiling) * weft_dtype_size(s->scan.dtype);
}

// What a pass reads and writes.
static void set_moves(scatter *a, const weft_csr_transpose_state *s, cl_mem scratch, int pass)
{
    const int in = (pass + 1) % 2, out = pass % 2;
    a->table = a->wide = scratch;
    a->counters = counter_bytes(s);
    a->columns_out = s->columns[out];
    a->rows_in = s->rows[in];
    a->rows_out = s->rows[out];
    a->sources_in = s->sources[in];
    a->sources_out = s->sources[out];
    a->is_last = pass == s->n_passes - 1;
}

// In place of an array that is not there another buffer is passed, which is not read.
static scatter scatter_of(const weft_call *call)
{
    const weft_csr *A = weft_call_csr(call, WEFT_TRANSPOSE_A);
    const weft_csr *T = weft_call_csr(call, WEFT_TRANSPOSE_T);
    const weft_tensor *source = weft_call_tensor(call, WEFT_TRANSPOSE_SOURCE);
    return (scatter){
        .offsets = A->offsets,
        .offsets_start = A->offsets_start,
        .n_rows = (cl_int)A->n_rows,
        .t_indices = T->indices,
        .t_indices_start = T->indices_start,
        .has_values = T->values != NULL,
        .values = T->values ? A->values : A->indices,
        .values_start = A->values_start,
        .t_values = T->values ? T->values : T->indices,
        .t_values_start = T->values_start,
        .has_source = source != NULL,
        .source = source ? source->buffer : T->indices,
        .source_start = source ? source->offset : 0,
        .source_stride = source ? source->stride[0] : 0,
    };
}

static void add_columns(weft_arguments *arguments, const columns *a)
{
    ADD_LISTED(arguments, COLUMNS_PARAMETERS(LISTED, COMMA));
}

// ---- enqueue

static weft_status enqueue_count(weft_launch *launch, const weft_csr_transpose_state *s,
                                 const columns *sorted, cl_mem scratch)
{
    const count own = {scratch, counter_bytes(s)}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_columns(&arguments, sorted);
    ADD_LISTED(&arguments, COUNT_PARAMETERS(LISTED, COMMA));
    return weft_items_enqueue(launch, s->count, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_groups});
}

static weft_status enqueue_scatter(weft_launch *launch, const weft_csr_transpose_state *s,
                                   const columns *sorted, const scatter *a)
{
    weft_arguments arguments = {.n = 0};
    add_columns(&arguments, sorted);
    ADD_LISTED(&arguments, SCATTER_PARAMETERS(LISTED, COMMA));
    return weft_items_enqueue(launch, s->scatter, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_groups});
}

static weft_status enqueue_passes(weft_launch *launch, const weft_csr_transpose_state *s,
                                  const weft_call *call, cl_mem scratch)
{
    const weft_csr *A = weft_call_csr(call, WEFT_TRANSPOSE_A);
    const weft_numbers table = {scratch, s->table}, sums = {scratch, s->sums};
    scatter moves = scatter_of(call);
    for (int pass = 0; pass < s->n_passes; pass++) {
        const columns sorted = columns_of(s, A, scratch, pass);
        set_moves(&moves, s, scratch, pass);
        TRY(enqueue_count(launch, s, &sorted, scratch));
        TRY(weft_scan_enqueue(launch, &s->scan, table, table, false, sums));
        TRY(enqueue_scatter(launch, s, &sorted, &moves));
    }
    return WEFT_OK;
}

// Without entries the columns are not read.
static weft_status run(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch)
{
    const weft_csr_transpose_state *s = state;
    const weft_csr *T = weft_call_csr(call, WEFT_TRANSPOSE_T);
    TRY(enqueue_passes(launch, s, call, scratch));
    const offsets own = {
        .n_offsets = s->n_offsets,
        .run = s->offsets_run,
        .nnz = s->problem.nnz,
        .whole = s->n_passes > 0 ? scratch : T->offsets,
        .columns_in = s->columns[(s->n_passes + 1) % 2],
        .t_offsets = T->offsets,
        .t_offsets_start = T->offsets_start,
    };
    const offsets *a = &own;
    const weft_argument list[] = {OFFSETS_PARAMETERS(LISTED, COMMA)};
    return ENQUEUE_ITEMS(launch, s->offsets, list, s->tiling.items,
                         weft_items_groups(s->tiling.items, s->offsets_run, s->n_offsets));
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_csr_transpose_state *s = state;
    char tiling[256];
    (void)call;
    weft_csr_transpose_tiling_print(&s->tiling, tiling, sizeof(tiling));
    return snprintf(text, size, "%d passes; %s", s->n_passes, tiling);
}

// ---- calls

static const weft_op csr_transpose = {
    .name = "csr_transpose",
    .n_operands = 3,
    .operands = {[WEFT_TRANSPOSE_A] = {.name = "A",
                                       .kind = WEFT_OPERAND_CSR,
                                       .access = WEFT_READS_CSR | WEFT_SPARES_VALUES},
                 [WEFT_TRANSPOSE_T] = {.name = "T",
                                       .kind = WEFT_OPERAND_CSR,
                                       .access = WEFT_WRITES_CSR},
                 [WEFT_TRANSPOSE_SOURCE] = {.name = "source",
                                            .access = WEFT_WRITES_VALUES,
                                            .is_optional = true}},
    .state_bytes = sizeof(weft_csr_transpose_state),
    .check = weft_csr_transpose_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

static weft_status request_of(weft_call *call, weft_context *ctx, const weft_csr *A,
                              const weft_csr *T, const weft_csr_transpose_params *params)
{
    weft_csr_transpose_params own;
    const bool has_values = T && T->values && T->nnz > 0;
    TRY(PARAMS_READ(&own, params, "csr_transpose", "WEFT_CSR_TRANSPOSE"));
    *call = (weft_call){
        .op = &csr_transpose,
        .ctx = ctx,
        .operands = {A, T, own.source},
        .unread = has_values ? 0 : 1u << WEFT_TRANSPOSE_A | 1u << WEFT_TRANSPOSE_T,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_csr_transpose(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                               const weft_csr *T, const weft_csr_transpose_params *params)
{
    weft_call call;
    TRY(request_of(&call, ctx, A, T, params));
    return weft_op_run(&call, queue);
}

weft_status weft_csr_transpose_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                         const weft_csr_transpose_params *params, size_t *bytes)
{
    weft_call call;
    TRY(request_of(&call, ctx, A, T, params));
    return weft_op_workspace(&call, bytes);
}

int weft_csr_transpose_describe(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                const weft_csr_transpose_params *params, char *text, size_t size)
{
    weft_call call;
    return request_of(&call, ctx, A, T, params) == WEFT_OK ? weft_op_describe(&call, text, size)
                                                           : -1;
}
