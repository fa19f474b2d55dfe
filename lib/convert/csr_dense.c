// SPDX-License-Identifier: Apache-2.0
// A sparse matrix as a dense one, and back. Checked by csr_dense_check.c; here: plan, defines,
// arguments, enqueue.
#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "convert/csr_dense_call.h"
#include "convert/csr_dense_parameters.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"

static const weft_csr_dense_own *own_of(const weft_call *call)
{
    return call->own;
}

// ---- plan

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_csr_dense_state *s = state;
    if (s->head.is_forced)
        TRY(weft_csr_dense_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_csr_dense_tiling_for(limits, &s->problem);
    s->head.group_items = (size_t)s->tiling.items;
    s->n_row_blocks = ceil_div(s->problem.n_rows, s->tiling.rows);
    s->sums = weft_csr_dense_sums(limits, s->tiling.columns, &s->problem);
    if (own_of(call)->step != WEFT_DENSE_TO_CSR_COUNT)
        return WEFT_OK;
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_CSR_DENSE_A));
    s->scan = weft_scan_for(limits, s->tiling.items, A.offset_dtype, A.n_rows);
    s->head.scratch_bytes = weft_scan_scratch_bytes(&s->scan);
    return WEFT_OK;
}

// ---- defines

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    static const char *const names[] = {"csr_to_dense", "dense_to_csr_count", "dense_to_csr_fill"};
    weft_csr_dense_state *s = state;
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_CSR_DENSE_A));
    const weft_csr_dense_step step = own_of(call)->step;
    const char *offset = weft_word(A.offset_dtype);
    // Moving f64 needs no f64 arithmetic; the kernel that adds is not for devices without it.
    const bool is_hidden =
        step != WEFT_CSR_TO_DENSE && A.dtype == WEFT_F64 && !call->ctx->limits.has_f64;
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add(&defines, "VECTOR_WIDTH", 1);
    weft_defines_add(&defines, "SUMS", s->sums);
    weft_defines_add_dtype(&defines, "DTYPE", is_hidden ? WEFT_F32 : A.dtype);
    weft_defines_add_word(&defines, "MOVED", weft_moved_word(A.dtype));
    weft_defines_add_word(&defines, "OFFSET", offset);
    weft_defines_add_word(&defines, "NUMBER", offset);
    weft_defines_add_word(&defines, "INDEX", weft_word(A.index_dtype));
    TRY(weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_csr_dense, &defines,
                           names[step]));
    return step == WEFT_DENSE_TO_CSR_COUNT ? weft_scan_kernels(&s->scan, call->ctx, most) : WEFT_OK;
}

// ---- arguments

typedef struct {
    TO_DENSE_PARAMETERS(FIELD, )
} to_dense;

typedef struct {
    FROM_DENSE_PARAMETERS(FIELD, )
} from_dense;

typedef struct {
    COUNT_PARAMETERS(FIELD, )
} count_offsets;

typedef struct {
    FILL_PARAMETERS(FIELD, )
} fill_arrays;

// The threshold's magnitude rounded to the data type.
static weft_number threshold_of(weft_dtype dtype, double threshold)
{
    const double magnitude = fabs(threshold);
    weft_number number = weft_number_of(dtype, magnitude);
    if (dtype != WEFT_F16 && dtype != WEFT_BF16)
        return number;
    const float nearest = (float)magnitude;
    number.size = sizeof(number.value.half);
    number.value.half =
        dtype == WEFT_F16 ? weft_f16_from_f32(nearest) : weft_bf16_from_f32(nearest);
    return number;
}

// Where D has no elements another buffer is passed, which is never read.
static from_dense from_dense_of(const weft_csr_dense_state *s, const weft_call *call)
{
    const weft_dense D = weft_dense_of(weft_call_tensor(call, WEFT_CSR_DENSE_D));
    return (from_dense){
        .n_rows = s->problem.n_rows,
        .n_cols = s->problem.n_cols,
        .rows = s->tiling.rows,
        .threshold = threshold_of(s->problem.dtype, own_of(call)->threshold),
        .D = s->problem.n_cols > 0 ? D.buffer : weft_call_csr(call, WEFT_CSR_DENSE_A)->offsets,
        .d_start = D.start,
        .d_row = D.row,
        .d_column = D.column,
    };
}

static void add_from_dense(weft_arguments *arguments, const from_dense *a)
{
    ADD_LISTED(arguments, FROM_DENSE_PARAMETERS(LISTED, COMMA));
}

// ---- enqueue

// Where there are no entries another buffer is passed, which is never read.
static weft_status run_to_dense(weft_launch *launch, const void *state, const weft_call *call,
                                cl_mem scratch)
{
    const weft_csr_dense_state *s = state;
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const weft_dense D = weft_dense_of(weft_call_tensor(call, WEFT_CSR_DENSE_D));
    const cl_int columns = s->tiling.columns;
    const to_dense own = {
        .n_rows = A->n_rows,
        .n_cols = A->n_cols,
        .rows = s->tiling.rows,
        .columns = columns,
        .offsets = A->offsets,
        .offsets_start = A->offsets_start,
        .indices = A->nnz > 0 ? A->indices : A->offsets,
        .indices_start = A->indices_start,
        .values = A->nnz > 0 ? A->values : A->offsets,
        .values_start = A->values_start,
        .values_batch = A->values_batch_stride,
        .D = D.buffer,
        .d_start = D.start,
        .d_row = D.row,
        .d_column = D.column,
        .d_batch = D.batch,
        .seen = weft_csr_dense_words_bytes(columns),
        .repeated = weft_csr_dense_words_bytes(columns),
        .sums = (size_t)s->sums * (size_t)weft_sum_bytes(s->problem.dtype),
    };
    const to_dense *a = &own;
    const weft_argument list[] = {TO_DENSE_PARAMETERS(LISTED, COMMA)};
    (void)scratch;
    return ENQUEUE_ITEMS(launch, s->kernel, list, s->tiling.items, s->n_row_blocks,
                         ceil_div(A->n_cols, columns), s->head.n_batches);
}

static weft_status enqueue_count(weft_launch *launch, const weft_csr_dense_state *s,
                                 const weft_call *call, weft_numbers offsets)
{
    const from_dense given = from_dense_of(s, call);
    const count_offsets own = {offsets.buffer, offsets.start}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_from_dense(&arguments, &given);
    ADD_LISTED(&arguments, COUNT_PARAMETERS(LISTED, COMMA));
    return weft_items_enqueue(launch, s->kernel, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status run_count(weft_launch *launch, const void *state, const weft_call *call,
                             cl_mem scratch)
{
    const weft_csr_dense_state *s = state;
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const weft_numbers offsets = {A->offsets, A->offsets_start};
    if (A->n_rows > 0)
        TRY(enqueue_count(launch, s, call, offsets));
    return weft_scan_offsets(launch, &s->scan, offsets, scratch);
}

static weft_status run_fill(weft_launch *launch, const void *state, const weft_call *call,
                            cl_mem scratch)
{
    const weft_csr_dense_state *s = state;
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const from_dense given = from_dense_of(s, call);
    const fill_arrays own = {A->offsets,       A->offsets_start, A->indices,
                             A->indices_start, A->values,        A->values_start};
    const fill_arrays *a = &own;
    weft_arguments arguments = {.n = 0};
    (void)scratch;
    add_from_dense(&arguments, &given);
    ADD_LISTED(&arguments, FILL_PARAMETERS(LISTED, COMMA));
    return weft_items_enqueue(launch, s->kernel, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    (void)call;
    return weft_csr_dense_tiling_print(&((const weft_csr_dense_state *)state)->tiling, text, size);
}

// ---- calls

#define HOOKS                                                                                      \
    .n_operands = 2, .state_bytes = sizeof(weft_csr_dense_state), .check = weft_csr_dense_check,   \
    .numbers_check = weft_csr_dense_numbers_check, .plan = plan, .build = build, .print = print

static const weft_op to_dense_op = {
    .name = "csr_to_dense",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "D", .access = WEFT_WRITES_VALUES}},
    .run = run_to_dense,
    HOOKS,
};

static const weft_op count_op = {
    .name = "dense_to_csr_count",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_WRITES_OFFSETS},
                 {.name = "D", .access = WEFT_READS_VALUES}},
    .run = run_count,
    HOOKS,
};

static const weft_op fill_op = {
    .name = "dense_to_csr",
    .operands = {{.name = "A",
                  .kind = WEFT_OPERAND_CSR,
                  .access = WEFT_READS_OFFSETS | WEFT_WRITES_ENTRIES},
                 {.name = "D", .access = WEFT_READS_VALUES}},
    .run = run_fill,
    HOOKS,
};

typedef struct {
    weft_call call;
    weft_csr_dense_own own;
} request;

static weft_status request_of(request *r, weft_csr_dense_step step, weft_context *ctx,
                              const weft_csr *A, const weft_tensor *D,
                              const weft_csr_dense_params *params)
{
    static const weft_op *const ops[] = {&to_dense_op, &count_op, &fill_op};
    weft_csr_dense_params own;
    TRY(PARAMS_READ(&own, params, ops[step]->name, "WEFT_CSR_DENSE"));
    r->own = (weft_csr_dense_own){step, own.threshold};
    r->call = (weft_call){
        .op = ops[step],
        .ctx = ctx,
        .operands = {A, D},
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_csr_to_dense(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_tensor *D, const weft_csr_dense_params *params)
{
    request r;
    TRY(request_of(&r, WEFT_CSR_TO_DENSE, ctx, A, D, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_dense_to_csr(weft_context *ctx, cl_command_queue queue, const weft_tensor *D,
                              const weft_csr *A, const weft_csr_dense_params *params)
{
    request r;
    TRY(request_of(&r, WEFT_DENSE_TO_CSR_FILL, ctx, A, D, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_dense_to_csr_count(weft_context *ctx, cl_command_queue queue, const weft_tensor *D,
                                    const weft_csr *A, int64_t *nnz,
                                    const weft_csr_dense_params *params)
{
    request r;
    cl_event done = NULL;
    TRY(request_of(&r, WEFT_DENSE_TO_CSR_COUNT, ctx, A, D, params));
    cl_event *event = r.call.event;
    if (nnz && ctx)
        TRY(weft_recorder_copy_check(ctx, "dense_to_csr_count"));
    if (nnz)
        r.call.event = &done;
    TRY(weft_op_run(&r.call, queue));
    return nnz ? weft_scan_total(nnz, queue, A, done, event, "dense_to_csr_count") : WEFT_OK;
}

weft_status weft_dense_to_csr_workspace(weft_context *ctx, const weft_tensor *D, const weft_csr *A,
                                        const weft_csr_dense_params *params, size_t *bytes)
{
    request r;
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "dense_to_csr_workspace: bytes is NULL");
    TRY(request_of(&r, WEFT_DENSE_TO_CSR_COUNT, ctx, A, D, params));
    return weft_op_workspace(&r.call, bytes);
}

static int describe(weft_csr_dense_step step, weft_context *ctx, const weft_csr *A,
                    const weft_tensor *D, const weft_csr_dense_params *params, char *text,
                    size_t size)
{
    request r;
    return request_of(&r, step, ctx, A, D, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
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
