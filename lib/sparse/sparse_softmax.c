// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a sparse matrix, and its backward. Checked by sparse_softmax_check.c;
// here: plan, defines, arguments, enqueue.
#include <weft/sparse_softmax.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "operand/csr_content.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"
#include "sparse/pieces.h"
#include "sparse/sparse_softmax_call.h"

static const weft_sparse_softmax_kind forward = {
    .name = "sparse_softmax", .csr_name = "X", .out_name = "Y"};
static const weft_sparse_softmax_kind backward = {
    .name = "sparse_softmax_backward", .is_backward = true, .csr_name = "Y", .out_name = "dX"};

// ---- plan

// How a call runs.
typedef struct {
    weft_sparse_softmax_tiling tiling;
    weft_pieces cut;
    weft_kernel *rows, *pieces, *combine, *apply; // the last three where there are pieces
} schedule;

// Nobody has seen the rows. Only one longer than the matrix is wide has a column twice. A piece
// comes to a top and a sum.
static weft_status schedule_for(schedule *s, const weft_sparse_softmax_call *call,
                                const weft_limits *limits)
{
    *s = (schedule){
        .tiling =
            call->is_forced ? call->forced : weft_sparse_softmax_tiling_for(limits, &call->problem),
    };
    if (s->tiling.keep == 0)
        s->tiling.keep = s->tiling.lanes;
    const weft_sparse_softmax_problem *p = &call->problem;
    const weft_pieces_problem rows = {
        .nnz = p->nnz,
        .longest = min_i64(call->csr->n_cols, p->nnz),
        .n_sums = 2,
        .n_batches = p->n_batches,
        .sum_bytes = weft_sum_bytes(p->dtype),
    };
    if (!weft_pieces_for(&s->cut, &rows, s->tiling.piece, call->is_forced,
                         weft_workspace_most(call->ctx)))
        return weft_pieces_too_many(&s->cut, &rows, call->kind->name);
    s->tiling.piece = s->cut.length;
    return WEFT_OK;
}

// ---- defines

static void defines_of(weft_defines *defines, const weft_sparse_softmax_call *call,
                       const weft_sparse_softmax_tiling *tiling)
{
    const bool is_wide = weft_dtype_or(call->csr->offset_dtype, WEFT_I32) == WEFT_I64;
    weft_defines_add_dtype(defines, "DTYPE", call->problem.dtype);
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    weft_defines_add(defines, "KEEP", tiling->keep);
    weft_defines_add(defines, "BACKWARD", call->kind->is_backward);
    if (tiling->fold == 1) {
        const int items = tiling->lanes < WEFT_WIDE_SUB_GROUP ? tiling->lanes : WEFT_WIDE_SUB_GROUP;
        weft_defines_add_sub_group(defines, call->ctx->least_subgroup, items);
        weft_defines_add_shuffles(defines, call->ctx, tiling->lanes > 1);
    }
    weft_defines_add_word(defines, "OFFSET", is_wide ? "long" : "int");
}

static weft_status kernel_for(weft_kernel **out, size_t *max_items,
                              const weft_sparse_softmax_call *call, const weft_defines *defines,
                              const char *name)
{
    return weft_kernel_narrow(out, max_items, call->ctx, &weft_source_sparse_softmax, defines,
                              name);
}

static weft_status kernels_for(schedule *s, size_t *max_items, const weft_sparse_softmax_call *call)
{
    weft_defines defines = {0};
    defines_of(&defines, call, &s->tiling);
    TRY(kernel_for(&s->rows, max_items, call, &defines, "sparse_softmax_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&s->pieces, max_items, call, &defines, "sparse_softmax_pieces"));
    TRY(kernel_for(&s->combine, max_items, call, &defines, "sparse_softmax_combine"));
    return kernel_for(&s->apply, max_items, call, &defines, "sparse_softmax_apply");
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_sparse_softmax_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, call, &limits));
        const size_t wanted = (size_t)s->tiling.lanes * (size_t)s->tiling.rows_per_group;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, call->kind->name));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments

// Values for the entries, as kernels take them.
typedef struct {
    cl_mem buffer;
    cl_long start, batch;
} value_argument;

static value_argument values_of(const weft_tensor *tensor)
{
    return (value_argument){tensor->buffer, tensor->offset,
                            tensor->ndim == 2 ? tensor->stride[0] : 0};
}

// The lists below point into it.
typedef struct {
    value_argument x, dy, y;
    weft_scalar scale;
    weft_argument scale_argument;
    cl_int stream, n_rows;
    cl_long piece, offsets_start, chunk, n_pieces;
    cl_mem offsets, scratch;
} values;

// What is written goes past the caches where they cannot hold it, unless that is what was read.
static bool streams(const weft_sparse_softmax_call *call)
{
    const bool is_in_place = call->out->buffer == call->csr->values ||
                             (call->dY && call->out->buffer == call->dY->buffer);
    return !is_in_place && weft_tensor_is_large(call->ctx, call->out);
}

static void set_values(values *v, const weft_sparse_softmax_call *call, const schedule *s)
{
    const weft_csr *csr = call->csr;
    *v = (values){
        .x = {csr->values, csr->values_start, csr->values_batch_stride},
        .y = values_of(call->out),
        .stream = streams(call),
        .n_rows = (cl_int)csr->n_rows,
        .piece = s->cut.piece,
        .offsets_start = csr->offsets_start,
        .chunk = s->tiling.chunk,
        .n_pieces = s->cut.n,
        .offsets = csr->offsets,
    };
    v->dy = call->dY ? values_of(call->dY) : v->x; // forward it is not read
    v->scale_argument = weft_scalar_argument(&v->scale, call->problem.dtype, call->scale);
}

#define VALUE_ARGUMENTS(v) ARGUMENT((v).buffer), ARGUMENT((v).start), ARGUMENT((v).batch)
#define OPERAND_ARGUMENTS(v)                                                                       \
    VALUE_ARGUMENTS((v)->x), VALUE_ARGUMENTS((v)->dy), VALUE_ARGUMENTS((v)->y),                    \
        (v)->scale_argument, ARGUMENT((v)->stream)
#define ROW_ARGUMENTS(v)                                                                           \
    ARGUMENT((v)->n_rows), ARGUMENT((v)->piece), ARGUMENT((v)->offsets),                           \
        ARGUMENT((v)->offsets_start)
#define SCRATCH_ARGUMENTS(v) ARGUMENT((v)->n_pieces), ARGUMENT((v)->scratch)

// ---- enqueue

// So many groups for each matrix of the batch.
static weft_status enqueue(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                           const weft_argument *arguments, const schedule *s, int64_t n_groups,
                           int64_t n_batches)
{
    const size_t lanes = (size_t)s->tiling.lanes, rows = (size_t)s->tiling.rows_per_group;
    const size_t local[3] = {lanes, rows, 1};
    const size_t global[3] = {(size_t)n_groups * lanes, (size_t)n_batches * rows, 1};
    return weft_launch_kernel(launch, kernel, n_arguments, arguments, global, local);
}

static weft_status enqueue_rows(weft_launch *launch, const weft_sparse_softmax_call *call,
                                const schedule *s, const values *v)
{
    const weft_argument list[] = {OPERAND_ARGUMENTS(v), ROW_ARGUMENTS(v), ARGUMENT(v->chunk)};
    const int64_t n_chunks = ceil_div(call->problem.nnz + call->problem.n_rows, s->tiling.chunk);
    return enqueue(launch, s->rows, sizeof(list) / sizeof(list[0]), list, s, n_chunks,
                   call->problem.n_batches);
}

static weft_status enqueue_pieces(weft_launch *launch, const weft_sparse_softmax_call *call,
                                  const schedule *s, const values *v)
{
    const weft_argument list[] = {OPERAND_ARGUMENTS(v), ROW_ARGUMENTS(v), SCRATCH_ARGUMENTS(v)};
    const weft_argument states[] = {ROW_ARGUMENTS(v), SCRATCH_ARGUMENTS(v)};
    const size_t n_list = sizeof(list) / sizeof(list[0]);
    const size_t n_states = sizeof(states) / sizeof(states[0]);
    const int64_t n_batches = call->problem.n_batches;
    TRY(enqueue(launch, s->pieces, n_list, list, s, s->cut.n, n_batches));
    TRY(enqueue(launch, s->combine, n_states, states, s, s->cut.n, n_batches));
    return enqueue(launch, s->apply, n_list, list, s, s->cut.n, n_batches);
}

static weft_status enqueue_all(weft_launch *launch, const weft_sparse_softmax_call *call,
                               const schedule *s, const values *v)
{
    TRY(enqueue_rows(launch, call, s, v));
    return s->cut.n > 0 ? enqueue_pieces(launch, call, s, v) : WEFT_OK;
}

// ---- calls

weft_status weft_sparse_softmax_run(weft_launch *launch, const weft_sparse_softmax_call *call,
                                    cl_mem workspace)
{
    if (call->is_empty)
        return WEFT_OK;
    schedule s;
    values v;
    TRY(prepare(&s, call));
    set_values(&v, call, &s);
    if (workspace && s.cut.sums_bytes > 0)
        TRY(weft_sparse_softmax_workspace_check(call, workspace, s.cut.sums_bytes));
    TRY(weft_scratch_begin(launch, workspace, s.cut.sums_bytes, &v.scratch));
    const weft_status status = enqueue_all(launch, call, &s, &v);
    weft_scratch_end(launch, workspace, v.scratch);
    return status;
}

static weft_status sparse_softmax_call(const weft_sparse_softmax_kind *kind, weft_context *ctx,
                                       cl_command_queue queue, double scale, const weft_csr *csr,
                                       const weft_tensor *dY, const weft_tensor *out,
                                       const weft_sparse_softmax_params *params)
{
    params = params ? params : WEFT_SPARSE_SOFTMAX(.tiling = NULL);
    weft_sparse_softmax_call call;
    TRY(weft_sparse_softmax_check(&call, kind, ctx, scale, csr, dY, out, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, kind->name, params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, csr, kind->csr_name));
    const weft_status status = weft_sparse_softmax_run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_sparse_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                const weft_csr *X, const weft_tensor *Y,
                                const weft_sparse_softmax_params *params)
{
    return sparse_softmax_call(&forward, ctx, queue, scale, X, NULL, Y, params);
}

weft_status weft_sparse_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                         const weft_csr *Y, const weft_tensor *dY,
                                         const weft_tensor *dX,
                                         const weft_sparse_softmax_params *params)
{
    return sparse_softmax_call(&backward, ctx, queue, scale, Y, dY, dX, params);
}

// ---- what a call would do

weft_status weft_sparse_softmax_wants(size_t *bytes, const weft_sparse_softmax_call *call)
{
    schedule s = {0};
    if (!call->is_empty)
        TRY(prepare(&s, call));
    *bytes = s.cut.sums_bytes;
    return WEFT_OK;
}

weft_status weft_sparse_softmax_workspace(weft_context *ctx, const weft_csr *X,
                                          const weft_tensor *Y,
                                          const weft_sparse_softmax_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "sparse_softmax_workspace: bytes is NULL");
    *bytes = 0;
    weft_sparse_softmax_call call;
    params = params ? params : WEFT_SPARSE_SOFTMAX(.tiling = NULL);
    TRY(weft_sparse_softmax_check(&call, &forward, ctx, 1, X, NULL, Y, params));
    return weft_sparse_softmax_wants(bytes, &call);
}

static int describe(const weft_sparse_softmax_kind *kind, weft_context *ctx, const weft_csr *csr,
                    const weft_tensor *dY, const weft_tensor *out,
                    const weft_sparse_softmax_params *params, char *text, size_t size)
{
    weft_sparse_softmax_call call;
    schedule s;
    params = params ? params : WEFT_SPARSE_SOFTMAX(.tiling = NULL);
    if (weft_sparse_softmax_check(&call, kind, ctx, 1, csr, dY, out, params) != WEFT_OK)
        return -1;
    if (call.is_empty)
        return snprintf(text, size, "nothing to do");
    if (prepare(&s, &call) != WEFT_OK)
        return -1;
    char tiling[256];
    weft_sparse_softmax_tiling_print(&s.tiling, tiling, sizeof(tiling));
    return snprintf(text, size, "%s; %" PRId64 " pieces of long rows", tiling, s.cut.n);
}

int weft_sparse_softmax_describe(weft_context *ctx, const weft_csr *X, const weft_tensor *Y,
                                 const weft_sparse_softmax_params *params, char *text, size_t size)
{
    return describe(&forward, ctx, X, NULL, Y, params, text, size);
}

int weft_sparse_softmax_backward_describe(weft_context *ctx, const weft_csr *Y,
                                          const weft_tensor *dY, const weft_tensor *dX,
                                          const weft_sparse_softmax_params *params, char *text,
                                          size_t size)
{
    return describe(&backward, ctx, Y, dY, dX, params, text, size);
}
