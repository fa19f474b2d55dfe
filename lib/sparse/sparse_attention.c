// SPDX-License-Identifier: Apache-2.0
// O = softmax(scale Q K^T at the entries of a sparse M) V: plan, defines, arguments, enqueue.
// Checked by sparse_attention_check.c.
#include <weft/sparse_attention.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "base/refuse.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/workspace.h"
#include "sparse/sparse_attention_call.h"
#include "sparse/sparse_attention_parameters.h"
#include "sparse/sparse_plan.h"

// What makes plans differ: where the scale is 0 no products are computed.
static void add_key(weft_key *key, const weft_call *call)
{
    const weft_attention_numbers *given = call->own;
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->scale) == 0);
    weft_key_add_number(key, given->scale == 0);
}

// ---- plan

// Columns of V that a sweep sums at once.
static int64_t n_tile_of(const weft_sparse_attention_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->outputs * tiling->vector_width;
}

// Where scratch memory has no room for the products, a sweep computes them more than once.
static weft_status plan_steps(weft_attention_state *s, const weft_call *call)
{
    bool fits;
    const uint64_t most = weft_workspace_most(call->ctx);
    TRY(weft_attention_steps_prepare(s, call, true, &fits)); // reasons are recorded once built
    if (s->head.is_forced && !fits)
        return fail(WEFT_NO_MEMORY,
                    "sparse_attention: %" PRId64 " products for each of %" PRId64
                    " heads are too many",
                    s->problem.nnz, s->n_heads);
    s->tiling.in_steps = s->head.is_forced || (fits && s->head.scratch_bytes <= most) ||
                         refuse(s->problem.why, "three steps",
                                "scratch memory has room for %" PRIu64 " bytes", most);
    if (s->tiling.in_steps && !s->head.is_forced)
        refuse(s->problem.why, "one sweep",
               "V has %" PRId64 " columns, and a sweep sums %" PRId64 " at once", s->problem.d,
               n_tile_of(&s->tiling));
    s->head.group_items = 0; // each step has its own
    return WEFT_OK;
}

// The lengths of rows are not known. Only a row longer than M is wide has a column twice; it is cut
// where it could have more entries than kernels count.
static weft_status plan_sweep(weft_attention_state *s, const weft_call *call)
{
    const weft_sparse_attention_problem *p = &s->problem;
    const weft_row_chunks_problem rows = {
        .nnz = p->nnz,
        .longest = p->nnz > INT32_MAX ? p->nnz : min_i64(p->n, p->nnz),
        .n_sums = p->d + 2,
        .n_batches = p->n_batches,
        .sum_bytes = weft_sum_bytes(p->dtype),
        .why = p->why,
    };
    s->head.group_items = (size_t)s->tiling.lanes * (size_t)s->tiling.rows_per_group;
    s->n_tiles = ceil_div(p->d, n_tile_of(&s->tiling));
    if (!weft_row_chunks_for(&s->cut, &rows, s->tiling.row_chunk, s->head.is_forced,
                             weft_workspace_most(call->ctx)))
        return weft_row_chunks_too_many(&s->cut, &rows, "sparse_attention");
    s->tiling.row_chunk = s->cut.length;
    s->head.scratch_bytes = s->cut.sums_bytes;
    return WEFT_OK;
}

static weft_status find_alignment(weft_sparse_attention_problem *problem, const weft_call *call)
{
    int64_t all = 0;
    char what[WEFT_OPERAND_TEXT];
    for (int i = 0; i < WEFT_ATTENTION_N; ++i) {
        const weft_heads dense = weft_heads_of(weft_call_tensor(call, i));
        weft_operand_text(what, "sparse_attention", call->op->operands[i].name);
        all |= dense.start | dense.row | dense.outer | dense.inner;
        TRY(weft_tensor_shift(&all, weft_call_tensor(call, i), what));
    }
    problem->alignment = pow2_divisor(all);
    return WEFT_OK;
}

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_attention_state *s = state;
    TRY(find_alignment(&s->problem, call));
    if (s->head.is_forced)
        TRY(weft_sparse_attention_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    // Without entries there are no steps: a sweep writes the zeros.
    if (s->head.is_forced && s->tiling.in_steps && s->problem.nnz == 0)
        s->head.is_forced = false;
    if (!s->head.is_forced)
        s->tiling = weft_sparse_attention_tiling_for(limits, &s->problem);
    s->tiling.in_steps = s->tiling.in_steps && s->problem.nnz > 0;
    if (s->tiling.in_steps)
        TRY(plan_steps(s, call));
    return s->tiling.in_steps ? WEFT_OK : plan_sweep(s, call);
}

// ---- defines

// Where lanes are items, each computes addresses of rows of K and V by itself.
static bool has_near_rows(const weft_attention_state *s, const weft_call *call)
{
    const weft_heads K = weft_heads_of(weft_call_tensor(call, WEFT_ATTENTION_K));
    const weft_heads V = weft_heads_of(weft_call_tensor(call, WEFT_ATTENTION_V));
    const bool is_f64 = s->problem.dtype == WEFT_F64; // Intel's compiler would use scratch memory
    return s->tiling.lanes > 1 && !is_f64 && weft_rows_are_near(K.row, s->problem.dtype) &&
           weft_rows_are_near(V.row, s->problem.dtype);
}

static weft_defines defines_of(const weft_attention_state *s, const weft_call *call)
{
    const weft_csr *M = weft_call_csr(call, WEFT_ATTENTION_M);
    const weft_sparse_attention_tiling *tiling = &s->tiling;
    const bool has_short_indices = weft_dtype_or(M->index_dtype, WEFT_I32) == WEFT_I16;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->problem.dtype);
    weft_defines_add(&defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(&defines, "ALIGNED", tiling->aligned);
    weft_defines_add(&defines, "LANES", tiling->lanes);
    weft_defines_add(&defines, "VECTORS", tiling->vectors);
    weft_defines_add(&defines, "OUTPUTS", tiling->outputs);
    weft_defines_add(&defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    weft_defines_add_registers(&defines, call->ctx->least_subgroup);
    weft_defines_add(&defines, "QK_ADJACENT", s->problem.qk_adjacent);
    weft_defines_add(&defines, "VO_ADJACENT", s->problem.vo_adjacent);
    if (has_near_rows(s, call))
        weft_defines_add(&defines, "KV_ROWS_NEAR", 1);
    weft_defines_add_word(&defines, "OFFSET", M->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(&defines, "INDEX", has_short_indices ? "short" : "int");
    return defines;
}

static weft_status kernel_for(weft_kernel **out, size_t *most, const weft_call *call,
                              const weft_defines *defines, const char *name)
{
    return weft_kernel_narrow(out, most, call->ctx, &weft_source_sparse_attention, defines, name);
}

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    weft_attention_state *s = state;
    bool fits;
    if (s->tiling.in_steps)
        return weft_attention_steps_prepare(s, call, false, &fits);
    const weft_defines defines = defines_of(s, call);
    TRY(kernel_for(&s->rows, most, call, &defines, "attention_csr_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&s->row_chunks, most, call, &defines, "attention_csr_row_chunks"));
    return kernel_for(&s->combine, most, call, &defines, "attention_csr_combine");
}

// ---- arguments

typedef struct {
    ATTENTION_DENSE_PARAMETERS(FIELD, , SOLE_IN, view, view)
} dense;

typedef struct {
    ATTENTION_ENTRIES_PARAMETERS(FIELD, )
} entries;

typedef struct {
    ATTENTION_ROWS_PARAMETERS(FIELD, )
} rows;

typedef struct {
    ATTENTION_ROW_CHUNKS_PARAMETERS(FIELD, )
} row_chunks;

typedef struct {
    ATTENTION_COMBINE_PARAMETERS(FIELD, )
} combine;

// A sweep that is being enqueued.
typedef struct {
    weft_launch *launch;
    const weft_attention_state *s;
    cl_mem scratch;
    dense dense[WEFT_ATTENTION_N];
    entries entries;
    cl_int depth, n_columns;
    weft_number scale;
} sweep;

static void add_dense(weft_arguments *arguments, const dense *a)
{
    ADD_LISTED(arguments, ATTENTION_DENSE_PARAMETERS(LISTED, COMMA, SOLE_IN, view, view));
}

static void add_inputs(weft_arguments *arguments, const sweep *p)
{
    for (int i = 0; i < WEFT_ATTENTION_O; ++i)
        add_dense(arguments, &p->dense[i]);
}

static void add_entries(weft_arguments *arguments, const entries *a)
{
    ADD_LISTED(arguments, ATTENTION_ENTRIES_PARAMETERS(LISTED, COMMA));
}

// Where M has no entries its offsets are passed in place of the indices, and never read.
static entries entries_of(const weft_attention_state *s, const weft_csr *M)
{
    return (entries){
        .n_heads = s->n_heads,
        .n_rows = (cl_int)s->problem.m,
        .row_chunk = s->cut.row_chunk,
        .offsets = M->offsets,
        .indices = M->nnz > 0 ? M->indices : M->offsets,
        .offsets_start = M->offsets_start,
        .indices_start = M->indices_start,
    };
}

static sweep sweep_of(weft_launch *launch, const weft_attention_state *s, const weft_call *call,
                      cl_mem scratch)
{
    const weft_attention_numbers *given = call->own;
    const weft_csr *M = weft_call_csr(call, WEFT_ATTENTION_M);
    sweep p = {
        .launch = launch,
        .s = s,
        .scratch = scratch,
        .entries = entries_of(s, M),
        // Products by 0 are 0 whatever Q and K hold, as those of weft_sddmm() are.
        .depth = weft_rounded(s->problem.dtype, given->scale) == 0 ? 0 : (cl_int)s->problem.k,
        .n_columns = (cl_int)s->problem.d,
        .scale = weft_number_of(s->problem.dtype, given->scale),
    };
    for (int i = 0; i < WEFT_ATTENTION_N; ++i) {
        const weft_heads h = weft_heads_of(weft_call_tensor(call, i));
        p.dense[i] =
            (dense){h.buffer ? h.buffer : M->offsets, h.start, h.row, h.column, h.outer, h.inner};
    }
    return p;
}

// ---- enqueue

// Items of n_row_blocks x n_tiles groups for each matrix of the batch, and of one.
typedef struct {
    size_t global[3], local[3];
} extents;

static extents extents_of(const weft_attention_state *s, int64_t n_row_blocks)
{
    const size_t lanes = (size_t)s->tiling.lanes, n_rows = (size_t)s->tiling.rows_per_group;
    return (extents){
        .global = {(size_t)n_row_blocks * lanes, (size_t)s->n_tiles * n_rows,
                   (size_t)s->problem.n_batches},
        .local = {lanes, n_rows, 1},
    };
}

static weft_status enqueue_rows(const sweep *p)
{
    const weft_sparse_attention_tiling *tiling = &p->s->tiling;
    const int64_t each = (int64_t)tiling->rows_per_group * tiling->rows_per_item;
    const extents grid = extents_of(p->s, ceil_div(p->s->problem.m, each));
    const rows own = {p->depth, p->n_columns, p->scale, tiling->rows_per_item}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_inputs(&arguments, p);
    add_dense(&arguments, &p->dense[WEFT_ATTENTION_O]);
    add_entries(&arguments, &p->entries);
    ADD_LISTED(&arguments, ATTENTION_ROWS_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, p->s->rows, arguments.n, arguments.list, grid.global,
                              grid.local);
}

static weft_status enqueue_row_chunks(const sweep *p)
{
    const cl_int n = (cl_int)p->s->cut.n;
    const extents grid = extents_of(p->s, ceil_div(n, p->s->tiling.rows_per_group));
    const row_chunks own = {p->depth, p->n_columns, p->scale, n, p->scratch}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_inputs(&arguments, p);
    add_entries(&arguments, &p->entries);
    ADD_LISTED(&arguments, ATTENTION_ROW_CHUNKS_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, p->s->row_chunks, arguments.n, arguments.list, grid.global,
                              grid.local);
}

static weft_status enqueue_combine(const sweep *p)
{
    const cl_int n = (cl_int)p->s->cut.n;
    const extents grid = extents_of(p->s, ceil_div(n, p->s->tiling.rows_per_group));
    const combine own = {p->n_columns, n, p->scratch}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_dense(&arguments, &p->dense[WEFT_ATTENTION_O]);
    add_entries(&arguments, &p->entries);
    ADD_LISTED(&arguments, ATTENTION_COMBINE_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, p->s->combine, arguments.n, arguments.list, grid.global,
                              grid.local);
}

static weft_status run(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch)
{
    const weft_attention_state *s = state;
    if (s->tiling.in_steps)
        return weft_attention_steps_run(launch, s, call, scratch);
    const sweep p = sweep_of(launch, s, call, scratch);
    TRY(enqueue_rows(&p));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(enqueue_row_chunks(&p));
    return enqueue_combine(&p);
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_attention_state *s = state;
    char tiling[256];
    (void)call;
    weft_sparse_attention_tiling_print(&s->tiling, tiling, sizeof(tiling));
    if (s->tiling.in_steps)
        return snprintf(text, size, "%s", tiling);
    return snprintf(text, size, "%s; up to %" PRId64 " row chunks of long rows", tiling, s->cut.n);
}

// ---- calls

static const weft_op sparse_attention = {
    .name = "sparse_attention",
    .n_operands = 5,
    .operands = {[WEFT_ATTENTION_Q] = {.name = "Q", .access = WEFT_READS_VALUES},
                 [WEFT_ATTENTION_K] = {.name = "K", .access = WEFT_READS_VALUES},
                 [WEFT_ATTENTION_V] = {.name = "V", .access = WEFT_READS_VALUES},
                 [WEFT_ATTENTION_O] = {.name = "O", .access = WEFT_WRITES_VALUES},
                 [WEFT_ATTENTION_M] = {.name = "M",
                                       .kind = WEFT_OPERAND_CSR,
                                       .access = WEFT_READS_PATTERN}},
    .state_bytes = sizeof(weft_attention_state),
    .sees_alignment = true,
    .key = add_key,
    .check = weft_attention_check,
    .numbers_check = weft_attention_numbers_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    weft_attention_numbers own;
} request;

static weft_status request_of(request *r, weft_context *ctx, double scale, const weft_tensor *Q,
                              const weft_tensor *K, const weft_tensor *V, const weft_csr *M,
                              const weft_tensor *O, const weft_sparse_attention_params *params)
{
    weft_sparse_attention_params own;
    TRY(PARAMS_READ(&own, params, "sparse_attention", "WEFT_SPARSE_ATTENTION"));
    r->own = (weft_attention_numbers){scale};
    r->call = (weft_call){
        .op = &sparse_attention,
        .ctx = ctx,
        .operands = {Q, K, V, O, M},
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_sparse_attention(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *Q, const weft_tensor *K, const weft_tensor *V,
                                  const weft_csr *M, const weft_tensor *O,
                                  const weft_sparse_attention_params *params)
{
    request r;
    TRY(request_of(&r, ctx, scale, Q, K, V, M, O, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_sparse_attention_workspace(weft_context *ctx, const weft_tensor *Q,
                                            const weft_tensor *K, const weft_tensor *V,
                                            const weft_csr *M, const weft_tensor *O,
                                            const weft_sparse_attention_params *params,
                                            size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, 1, Q, K, V, M, O, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_sparse_attention_describe(weft_context *ctx, const weft_tensor *Q, const weft_tensor *K,
                                   const weft_tensor *V, const weft_csr *M, const weft_tensor *O,
                                   const weft_sparse_attention_params *params, char *text,
                                   size_t size)
{
    request r;
    return request_of(&r, ctx, 1, Q, K, V, M, O, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
