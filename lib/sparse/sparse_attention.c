// SPDX-License-Identifier: Apache-2.0
// O = softmax(scale Q K^T at the entries of a sparse M) V. Checked by sparse_attention_check.c;
// here: plan, defines, arguments, enqueue.
#include <weft/sparse_attention.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/refuse.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"
#include "sparse/pieces.h"
#include "sparse/sparse_attention_call.h"

// ---- plan

// How a call runs: its tiling, and what pieces of long rows want in scratch memory.
typedef struct {
    weft_sparse_attention_tiling tiling;
    weft_pieces cut;
    int64_t n_slices; // of the columns of V
    weft_attention_steps steps;
    size_t scratch_bytes;
} schedule;

// Columns of V that a sweep sums at once.
static int64_t slice_of(const weft_sparse_attention_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->outputs * tiling->fold;
}

// Where scratch memory has no room for the products, they are taken more than once after all.
static weft_status schedule_steps(schedule *s, const weft_sparse_attention_call *call)
{
    bool fits;
    weft_refuse_unheard(true); // steps that are taken say it again
    const weft_status status = weft_attention_steps_for(&s->steps, &fits, call);
    weft_refuse_unheard(false);
    TRY(status);
    if (call->is_forced && !fits)
        return fail(WEFT_NO_MEMORY,
                    "sparse_attention: %" PRId64 " products for each of %" PRId64
                    " heads are too many",
                    call->problem.nnz, call->n_heads);
    s->tiling.in_steps = call->is_forced ||
                         (fits && s->steps.bytes <= weft_workspace_most(call->ctx)) ||
                         refuse("three steps", "scratch memory has room for %" PRIu64 " bytes",
                                weft_workspace_most(call->ctx));
    if (s->tiling.in_steps && !call->is_forced)
        refuse("one sweep", "V has %" PRId64 " columns, and a sweep sums %" PRId64 " at once",
               call->problem.d, slice_of(&s->tiling));
    s->scratch_bytes = s->steps.bytes;
    return WEFT_OK;
}

// Nobody has seen the rows. Only one longer than M is wide has a column twice; where that could be
// more entries than kernels count, it is cut.
static weft_status schedule_sweep(schedule *s, const weft_sparse_attention_call *call)
{
    const weft_sparse_attention_problem *p = &call->problem;
    const weft_pieces_problem rows = {
        .nnz = p->nnz,
        .longest = p->nnz > INT32_MAX ? p->nnz : min_i64(p->n, p->nnz),
        .n_sums = p->d + 2,
        .n_batches = p->n_batches,
        .sum_bytes = weft_sum_bytes(p->dtype),
    };
    s->n_slices = ceil_div(p->d, slice_of(&s->tiling));
    if (!weft_pieces_for(&s->cut, &rows, s->tiling.piece, call->is_forced,
                         weft_workspace_most(call->ctx)))
        return weft_pieces_too_many(&s->cut, &rows, "sparse_attention");
    s->tiling.piece = s->cut.length;
    s->scratch_bytes = s->cut.sums_bytes;
    return WEFT_OK;
}

static weft_status schedule_for(schedule *s, const weft_sparse_attention_call *call,
                                const weft_limits *limits)
{
    *s = (schedule){
        .tiling = call->is_forced ? call->forced
                                  : weft_sparse_attention_tiling_for(limits, &call->problem),
    };
    s->tiling.in_steps = s->tiling.in_steps && call->problem.nnz > 0;
    if (s->tiling.in_steps)
        TRY(schedule_steps(s, call));
    return s->tiling.in_steps ? WEFT_OK : schedule_sweep(s, call);
}

// ---- defines

static void defines_of(weft_defines *defines, const weft_sparse_attention_call *call,
                       const weft_sparse_attention_tiling *tiling)
{
    const weft_csr *M = call->M;
    const bool has_short_indices = weft_dtype_or(M->index_dtype, WEFT_I32) == WEFT_I16;
    weft_defines_add_dtype(defines, "DTYPE", call->problem.dtype);
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "OUTPUTS", tiling->outputs);
    weft_defines_add(defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    weft_defines_add_registers(defines, call->ctx->least_subgroup);
    weft_defines_add(defines, "QK_ADJACENT", call->problem.qk_adjacent);
    weft_defines_add(defines, "VO_ADJACENT", call->problem.vo_adjacent);
    weft_defines_add_word(defines, "OFFSET", M->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(defines, "INDEX", has_short_indices ? "short" : "int");
}

// The kernels of one call; NULL where it needs none.
typedef struct {
    weft_kernel *rows, *pieces, *combine;
} kernels;

static weft_status kernel_for(weft_kernel **out, size_t *max_items,
                              const weft_sparse_attention_call *call, const weft_defines *defines,
                              const char *name)
{
    return weft_kernel_narrow(out, max_items, call->ctx, &weft_source_sparse_attention, defines,
                              name);
}

static weft_status kernels_for(kernels *k, size_t *max_items,
                               const weft_sparse_attention_call *call, const schedule *s)
{
    weft_defines defines = {0};
    defines_of(&defines, call, &s->tiling);
    *k = (kernels){0};
    TRY(kernel_for(&k->rows, max_items, call, &defines, "attention_csr_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&k->pieces, max_items, call, &defines, "attention_csr_pieces"));
    return kernel_for(&k->combine, max_items, call, &defines, "attention_csr_combine");
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, kernels *k, const weft_sparse_attention_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, call, &limits));
        if (s->tiling.in_steps)
            return WEFT_OK;
        const size_t wanted = (size_t)s->tiling.lanes * (size_t)s->tiling.rows_per_group;
        size_t most = wanted;
        TRY(kernels_for(k, &most, call, s));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, "sparse_attention"));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments and enqueue

// Values as kernels take them; arguments point into it.
typedef struct {
    cl_long n_heads, piece, offsets_start, indices_start;
    cl_int n_rows, depth, n_columns, rows_per_item, n_pieces;
    cl_mem offsets, indices, scratch;
    weft_heads dense[WEFT_ATTENTION_N];
    weft_scalar scale;
    size_t scale_bytes;
} values;

static values values_of(const weft_sparse_attention_call *call, const schedule *s, cl_mem scratch)
{
    const weft_csr *M = call->M;
    values v = {
        .n_heads = call->n_heads,
        .piece = s->cut.piece,
        .offsets_start = M->offsets_start,
        .indices_start = M->indices_start,
        .n_rows = (cl_int)call->problem.m,
        .depth = (cl_int)call->problem.k,
        .n_columns = (cl_int)call->problem.d,
        .rows_per_item = s->tiling.rows_per_item,
        .n_pieces = (cl_int)s->cut.n,
        .offsets = M->offsets,
        // Where nothing is attended to some buffer must stand in: it is never read.
        .indices = M->nnz > 0 ? M->indices : M->offsets,
        .scratch = scratch,
    };
    for (int i = 0; i < WEFT_ATTENTION_N; ++i) {
        v.dense[i] = call->dense[i];
        if (!v.dense[i].buffer)
            v.dense[i].buffer = M->offsets;
    }
    v.scale_bytes = weft_scalar_argument(&v.scale, call->problem.dtype, call->scale).size;
    // Products by 0 are 0 whatever Q and K hold, as those of weft_sddmm() are.
    if (call->problem.dtype == WEFT_F64 ? v.scale.f64 == 0 : v.scale.f32 == 0)
        v.depth = 0;
    return v;
}

static void add_dense(weft_arguments *a, const weft_heads *dense)
{
    ADD_ARGUMENT(a, dense->buffer);
    ADD_ARGUMENT(a, dense->start);
    ADD_ARGUMENT(a, dense->row);
    ADD_ARGUMENT(a, dense->column);
    ADD_ARGUMENT(a, dense->outer);
    ADD_ARGUMENT(a, dense->inner);
}

static void add_inputs(weft_arguments *a, const values *v)
{
    add_dense(a, &v->dense[WEFT_ATTENTION_Q]);
    add_dense(a, &v->dense[WEFT_ATTENTION_K]);
    add_dense(a, &v->dense[WEFT_ATTENTION_V]);
}

static void add_pattern(weft_arguments *a, const values *v)
{
    ADD_ARGUMENT(a, v->n_heads);
    ADD_ARGUMENT(a, v->n_rows);
    ADD_ARGUMENT(a, v->piece);
    ADD_ARGUMENT(a, v->offsets);
    ADD_ARGUMENT(a, v->indices);
    ADD_ARGUMENT(a, v->offsets_start);
    ADD_ARGUMENT(a, v->indices_start);
}

static weft_arguments rows_arguments(const values *v)
{
    weft_arguments a = {0};
    add_inputs(&a, v);
    add_dense(&a, &v->dense[WEFT_ATTENTION_O]);
    add_pattern(&a, v);
    ADD_ARGUMENT(&a, v->depth);
    ADD_ARGUMENT(&a, v->n_columns);
    weft_arguments_add(&a, v->scale_bytes, &v->scale);
    ADD_ARGUMENT(&a, v->rows_per_item);
    return a;
}

static weft_arguments pieces_arguments(const values *v)
{
    weft_arguments a = {0};
    add_inputs(&a, v);
    add_pattern(&a, v);
    ADD_ARGUMENT(&a, v->depth);
    ADD_ARGUMENT(&a, v->n_columns);
    weft_arguments_add(&a, v->scale_bytes, &v->scale);
    ADD_ARGUMENT(&a, v->n_pieces);
    ADD_ARGUMENT(&a, v->scratch);
    return a;
}

static weft_arguments combine_arguments(const values *v)
{
    weft_arguments a = {0};
    add_dense(&a, &v->dense[WEFT_ATTENTION_O]);
    add_pattern(&a, v);
    ADD_ARGUMENT(&a, v->n_columns);
    ADD_ARGUMENT(&a, v->n_pieces);
    ADD_ARGUMENT(&a, v->scratch);
    return a;
}

// Groups of the tiling's shape, n_bundles x n_slices for each matrix of the batch.
static weft_status enqueue(weft_launch *launch, weft_kernel *kernel, const weft_arguments *a,
                           const weft_sparse_attention_call *call, const schedule *s,
                           int64_t n_bundles)
{
    const weft_sparse_attention_tiling *tiling = &s->tiling;
    const size_t local[3] = {(size_t)tiling->lanes, (size_t)tiling->rows_per_group, 1};
    const size_t global[3] = {(size_t)n_bundles * local[0], (size_t)s->n_slices * local[1],
                              (size_t)call->problem.n_batches};
    return weft_launch_kernel(launch, kernel, a->n, a->list, global, local);
}

static weft_status enqueue_kernels(weft_launch *launch, const weft_sparse_attention_call *call,
                                   const schedule *s, const kernels *k, cl_mem scratch)
{
    const values v = values_of(call, s, scratch);
    const int64_t rows = s->tiling.rows_per_group;
    const weft_arguments whole = rows_arguments(&v);
    TRY(enqueue(launch, k->rows, &whole, call, s,
                ceil_div(call->problem.m, rows * s->tiling.rows_per_item)));
    if (s->cut.n == 0)
        return WEFT_OK;
    const weft_arguments pieces = pieces_arguments(&v);
    TRY(enqueue(launch, k->pieces, &pieces, call, s, ceil_div(s->cut.n, rows)));
    const weft_arguments combine = combine_arguments(&v);
    return enqueue(launch, k->combine, &combine, call, s, ceil_div(s->cut.n, rows));
}

static weft_status enqueue_all(weft_launch *launch, const weft_sparse_attention_call *call,
                               const schedule *s, const kernels *k, cl_mem scratch)
{
    return s->tiling.in_steps ? weft_attention_steps_run(launch, call, &s->steps, scratch)
                              : enqueue_kernels(launch, call, s, k, scratch);
}

static weft_status run(weft_launch *launch, const weft_sparse_attention_call *call,
                       cl_mem workspace)
{
    schedule s;
    kernels k;
    if (weft_sparse_attention_is_empty(call))
        return WEFT_OK;
    TRY(prepare(&s, &k, call));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_sparse_attention_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_all(launch, call, &s, &k, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

weft_status weft_sparse_attention(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *Q, const weft_tensor *K, const weft_tensor *V,
                                  const weft_csr *M, const weft_tensor *O,
                                  const weft_sparse_attention_params *params)
{
    params = params ? params : WEFT_SPARSE_ATTENTION(.tiling = NULL);
    weft_sparse_attention_call call;
    TRY(weft_sparse_attention_check(&call, ctx, scale, Q, K, V, M, O, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "sparse_attention", params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, M, "M"));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

weft_status weft_sparse_attention_workspace(weft_context *ctx, const weft_tensor *Q,
                                            const weft_tensor *K, const weft_tensor *V,
                                            const weft_csr *M, const weft_tensor *O,
                                            const weft_sparse_attention_params *params,
                                            size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention_workspace: bytes is NULL");
    *bytes = 0;
    weft_sparse_attention_call call;
    schedule s;
    kernels k;
    params = params ? params : WEFT_SPARSE_ATTENTION(.tiling = NULL);
    TRY(weft_sparse_attention_check(&call, ctx, 1, Q, K, V, M, O, params));
    if (weft_sparse_attention_is_empty(&call))
        return WEFT_OK;
    TRY(prepare(&s, &k, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

int weft_sparse_attention_describe(weft_context *ctx, const weft_tensor *Q, const weft_tensor *K,
                                   const weft_tensor *V, const weft_csr *M, const weft_tensor *O,
                                   const weft_sparse_attention_params *params, char *text,
                                   size_t size)
{
    weft_sparse_attention_call call;
    schedule s;
    kernels k;
    params = params ? params : WEFT_SPARSE_ATTENTION(.tiling = NULL);
    if (weft_sparse_attention_check(&call, ctx, 1, Q, K, V, M, O, params) != WEFT_OK)
        return -1;
    if (weft_sparse_attention_is_empty(&call))
        return snprintf(text, size, "nothing to do");
    if (prepare(&s, &k, &call) != WEFT_OK)
        return -1;
    char tiling[256];
    weft_sparse_attention_tiling_print(&s.tiling, tiling, sizeof(tiling));
    if (s.tiling.in_steps)
        return snprintf(text, size, "%s", tiling);
    return snprintf(text, size, "%s; up to %" PRId64 " pieces of long rows", tiling, s.cut.n);
}
