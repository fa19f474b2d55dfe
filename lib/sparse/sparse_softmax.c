// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a sparse matrix, and its backward: checks, plan, defines, arguments,
// enqueue.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/workspace.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_softmax_call.h"
#include "sparse/sparse_softmax_parameters.h"

// Operands: the matrix comes first and what is written last; backward dY is between them.
enum { MATRIX, BACKWARD_DY };

static bool is_backward(const weft_call *call)
{
    return call->op->n_operands > 2;
}

static int last_of(const weft_call *call)
{
    return call->op->n_operands - 1;
}

// ---- checks

static weft_status operands_check(const weft_call *call)
{
    const char *what = weft_call_name(call);
    const weft_operand_rule *rules = call->op->operands;
    const weft_csr *csr = weft_call_csr(call, MATRIX);
    const int last = last_of(call);
    for (int i = 1; i <= last; ++i)
        TRY(weft_csr_values_check(call->ctx, weft_call_tensor(call, i), rules[i].name, csr,
                                  rules[MATRIX].name, what));
    if (csr->n_rows > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " rows; at most %d are possible", what,
                    rules[MATRIX].name, csr->n_rows, WEFT_SPARSE_MAX_EXTENT);
    return is_backward(call)
               ? weft_same_check(weft_call_tensor(call, BACKWARD_DY), rules[BACKWARD_DY].name,
                                 weft_call_tensor(call, last), rules[last].name, what)
               : WEFT_OK;
}

static weft_status check(void *memory, const weft_call *call)
{
    weft_sparse_softmax_state *s = memory;
    const weft_csr *csr = weft_call_csr(call, MATRIX);
    const weft_tensor *out = weft_call_tensor(call, last_of(call));
    char name[WEFT_OPERAND_TEXT];
    TRY(operands_check(call));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_sparse_softmax_tiling_table,
                         weft_operand_text(name, weft_call_name(call), "tiling"), call->tiling));
    s->problem = (weft_sparse_softmax_problem){
        .n_rows = csr->n_rows,
        .nnz = csr->nnz,
        .n_batches = out->ndim == 2 ? out->shape[0] : 1,
        .dtype = weft_dtype_or(csr->dtype, WEFT_F32),
        .is_backward = is_backward(call),
        .why = weft_call_why(call),
    };
    s->head.n_batches = s->problem.n_batches;
    s->head.is_empty = weft_tensor_is_empty(out) || csr->n_rows == 0;
    return WEFT_OK;
}

static weft_status numbers_check(const void *memory, const weft_call *call)
{
    const weft_sparse_softmax_state *s = memory;
    const double scale = ((const weft_sparse_softmax_numbers *)call->own)->scale;
    if (!isfinite(scale) || (s->problem.dtype != WEFT_F64 && !isfinite((float)scale)))
        return fail(WEFT_BAD_ARGUMENT, "%s: scale is %g: a finite one is wanted",
                    weft_call_name(call), scale);
    return WEFT_OK;
}

// ---- plan

// The lengths of rows are not known. Only a row longer than the matrix is wide has a column twice.
// A row chunk has a maximum and a sum.
static weft_status plan_row_chunks(weft_sparse_softmax_state *s, const weft_call *call)
{
    const weft_sparse_softmax_problem *p = &s->problem;
    const weft_row_chunks_problem rows = {
        .nnz = p->nnz,
        .longest = min_i64(weft_call_csr(call, MATRIX)->n_cols, p->nnz),
        .n_sums = 2,
        .n_batches = p->n_batches,
        .sum_bytes = weft_sum_bytes(p->dtype),
        .why = p->why,
    };
    if (!weft_row_chunks_for(&s->cut, &rows, s->tiling.row_chunk, s->head.is_forced,
                             weft_workspace_most(call->ctx)))
        return weft_row_chunks_too_many(&s->cut, &rows, weft_call_name(call));
    s->tiling.row_chunk = s->cut.length;
    s->head.scratch_bytes = s->cut.sums_bytes;
    return WEFT_OK;
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    weft_sparse_softmax_state *s = memory;
    if (s->head.is_forced)
        TRY(weft_sparse_softmax_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_sparse_softmax_tiling_for(limits, &s->problem);
    if (s->tiling.cache == 0)
        s->tiling.cache = s->tiling.lanes;
    s->head.group_items = (size_t)s->tiling.lanes * (size_t)s->tiling.rows_per_group;
    return plan_row_chunks(s, call);
}

// ---- defines

static weft_defines defines_of(const weft_sparse_softmax_state *s, const weft_call *call)
{
    const weft_sparse_softmax_tiling *tiling = &s->tiling;
    const weft_dtype offsets = weft_call_csr(call, MATRIX)->offset_dtype;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->problem.dtype);
    weft_defines_add(&defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(&defines, "LANES", tiling->lanes);
    weft_defines_add(&defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    weft_defines_add(&defines, "CACHED", tiling->cache);
    weft_defines_add(&defines, "BACKWARD", s->problem.is_backward);
    if (tiling->vector_width == 1) {
        const int items = tiling->lanes < WEFT_WIDE_SUB_GROUP ? tiling->lanes : WEFT_WIDE_SUB_GROUP;
        weft_defines_add_sub_group(&defines, call->ctx->least_subgroup, items);
        weft_defines_add_shuffles(&defines, call->ctx, tiling->lanes > 1);
    }
    weft_defines_add_word(&defines, "OFFSET", offsets == WEFT_I64 ? "long" : "int");
    return defines;
}

static weft_status kernel_for(weft_kernel **out, size_t *most, const weft_call *call,
                              const weft_defines *defines, const char *name)
{
    return weft_kernel_narrow(out, most, call->ctx, &weft_source_sparse_softmax, defines, name);
}

static weft_status build(void *memory, const weft_call *call, size_t *most)
{
    weft_sparse_softmax_state *s = memory;
    const weft_defines defines = defines_of(s, call);
    TRY(kernel_for(&s->rows, most, call, &defines, "sparse_softmax_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&s->row_chunks, most, call, &defines, "sparse_softmax_row_chunks"));
    TRY(kernel_for(&s->combine, most, call, &defines, "sparse_softmax_combine"));
    return kernel_for(&s->apply, most, call, &defines, "sparse_softmax_apply");
}

// ---- arguments

typedef struct {
    VALUES_PARAMETERS(FIELD, )
    ROWS_PARAMETERS(FIELD, )
    ROW_CHUNKS_PARAMETERS(FIELD, )
    CHUNK_PARAMETERS(FIELD, )
} arguments;

// Whether results that caches cannot hold are written past them; not in place.
static bool streams(const weft_call *call)
{
    const weft_tensor *out = weft_call_tensor(call, last_of(call));
    const bool is_in_place =
        out->buffer == weft_call_csr(call, MATRIX)->values ||
        (is_backward(call) && out->buffer == weft_call_tensor(call, BACKWARD_DY)->buffer);
    return !is_in_place && weft_tensor_is_large(call->ctx, out);
}

static void set_values(arguments *a, const weft_call *call)
{
    const weft_csr *csr = weft_call_csr(call, MATRIX);
    const weft_tensor *out = weft_call_tensor(call, last_of(call));
    a->x = csr->values;
    a->x_start = csr->values_start;
    a->x_batch = csr->values_batch_stride;
    a->y = out->buffer;
    a->y_start = out->offset;
    a->y_batch = out->ndim == 2 ? out->stride[0] : 0;
    a->stream = streams(call);
    a->dy = a->x; // forward it is not read
    a->dy_start = a->x_start;
    a->dy_batch = a->x_batch;
    if (is_backward(call)) {
        const weft_tensor *dY = weft_call_tensor(call, BACKWARD_DY);
        a->dy = dY->buffer;
        a->dy_start = dY->offset;
        a->dy_batch = dY->ndim == 2 ? dY->stride[0] : 0;
    }
}

static arguments arguments_of(const weft_sparse_softmax_state *s, const weft_call *call,
                              cl_mem scratch)
{
    const weft_sparse_softmax_numbers *given = call->own;
    const weft_csr *csr = weft_call_csr(call, MATRIX);
    arguments a = {
        .scale = weft_number_of(s->problem.dtype, given->scale),
        .n_rows = (cl_int)csr->n_rows,
        .row_chunk = s->cut.row_chunk,
        .offsets = csr->offsets,
        .offsets_start = csr->offsets_start,
        .n_row_chunks = s->cut.n,
        .scratch = scratch,
        .chunk = s->tiling.chunk,
    };
    set_values(&a, call);
    return a;
}

// ---- enqueue

typedef struct {
    size_t global[3], local[3];
} grid;

// n_groups groups for each matrix of the batch.
static grid grid_of(const weft_sparse_softmax_state *s, int64_t n_groups)
{
    const size_t lanes = (size_t)s->tiling.lanes, rows = (size_t)s->tiling.rows_per_group;
    return (grid){.global = {(size_t)n_groups * lanes, (size_t)s->problem.n_batches * rows, 1},
                  .local = {lanes, rows, 1}};
}

static weft_status enqueue_rows(weft_launch *launch, const weft_sparse_softmax_state *s,
                                const arguments *a)
{
    const weft_argument list[] = {VALUES_PARAMETERS(LISTED, COMMA), ROWS_PARAMETERS(LISTED, COMMA),
                                  CHUNK_PARAMETERS(LISTED, COMMA)};
    const int64_t n_chunks = ceil_div(s->problem.nnz + s->problem.n_rows, s->tiling.chunk);
    const grid g = grid_of(s, n_chunks);
    return weft_launch_kernel(launch, s->rows, sizeof(list) / sizeof(list[0]), list, g.global,
                              g.local);
}

static weft_status enqueue_row_chunks(weft_launch *launch, const weft_sparse_softmax_state *s,
                                      const arguments *a)
{
    const weft_argument list[] = {VALUES_PARAMETERS(LISTED, COMMA), ROWS_PARAMETERS(LISTED, COMMA),
                                  ROW_CHUNKS_PARAMETERS(LISTED, COMMA)};
    const weft_argument states[] = {ROWS_PARAMETERS(LISTED, COMMA),
                                    ROW_CHUNKS_PARAMETERS(LISTED, COMMA)};
    const size_t n_list = sizeof(list) / sizeof(list[0]);
    const size_t n_states = sizeof(states) / sizeof(states[0]);
    const grid g = grid_of(s, s->cut.n);
    TRY(weft_launch_kernel(launch, s->row_chunks, n_list, list, g.global, g.local));
    TRY(weft_launch_kernel(launch, s->combine, n_states, states, g.global, g.local));
    return weft_launch_kernel(launch, s->apply, n_list, list, g.global, g.local);
}

static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const weft_sparse_softmax_state *s = memory;
    const arguments a = arguments_of(s, call, scratch);
    TRY(enqueue_rows(launch, s, &a));
    return s->cut.n > 0 ? enqueue_row_chunks(launch, s, &a) : WEFT_OK;
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const weft_sparse_softmax_state *s = memory;
    char tiling[256];
    (void)call;
    weft_sparse_softmax_tiling_print(&s->tiling, tiling, sizeof(tiling));
    return snprintf(text, size, "%s; %" PRId64 " row chunks of long rows", tiling, s->cut.n);
}

// ---- the operations

#define HOOKS                                                                                      \
    .state_bytes = sizeof(weft_sparse_softmax_state), .check = check,                              \
    .numbers_check = numbers_check, .plan = plan, .build = build, .run = run, .print = print

const weft_op weft_sparse_softmax_op = {
    .name = "sparse_softmax",
    .n_operands = 2,
    .operands = {{.name = "X", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "Y", .access = WEFT_WRITES_VALUES, .may_be = 1u << MATRIX}},
    HOOKS,
};

static const weft_op sparse_softmax_backward = {
    .name = "sparse_softmax_backward",
    .n_operands = 3,
    .operands = {{.name = "Y", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "dY", .access = WEFT_READS_VALUES},
                 {.name = "dX",
                  .access = WEFT_WRITES_VALUES,
                  .may_be = 1u << MATRIX | 1u << BACKWARD_DY}},
    HOOKS,
};

// ---- calls

typedef struct {
    weft_call call;
    weft_sparse_softmax_numbers own;
} request;

static weft_status request_of(request *r, const weft_op *op, weft_context *ctx, double scale,
                              const weft_csr *csr, const weft_tensor *second,
                              const weft_tensor *third, const weft_sparse_softmax_params *params)
{
    weft_sparse_softmax_params own;
    TRY(PARAMS_READ(&own, params, op->name, "WEFT_SPARSE_SOFTMAX"));
    r->own.scale = scale;
    r->call = (weft_call){
        .op = op,
        .ctx = ctx,
        .operands = {csr, second, third},
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_sparse_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                const weft_csr *X, const weft_tensor *Y,
                                const weft_sparse_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &weft_sparse_softmax_op, ctx, scale, X, Y, NULL, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_sparse_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                         const weft_csr *Y, const weft_tensor *dY,
                                         const weft_tensor *dX,
                                         const weft_sparse_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &sparse_softmax_backward, ctx, scale, Y, dY, dX, params));
    return weft_op_run(&r.call, queue);
}

// ---- what a call would do

weft_status weft_sparse_softmax_workspace(weft_context *ctx, const weft_csr *X,
                                          const weft_tensor *Y,
                                          const weft_sparse_softmax_params *params, size_t *bytes)
{
    request r;
    TRY(request_of(&r, &weft_sparse_softmax_op, ctx, 1, X, Y, NULL, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_sparse_softmax_describe(weft_context *ctx, const weft_csr *X, const weft_tensor *Y,
                                 const weft_sparse_softmax_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, &weft_sparse_softmax_op, ctx, 1, X, Y, NULL, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}

int weft_sparse_softmax_backward_describe(weft_context *ctx, const weft_csr *Y,
                                          const weft_tensor *dY, const weft_tensor *dX,
                                          const weft_sparse_softmax_params *params, char *text,
                                          size_t size)
{
    request r;
    return request_of(&r, &sparse_softmax_backward, ctx, 1, Y, dY, dX, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
