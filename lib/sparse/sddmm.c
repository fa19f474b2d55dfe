// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B) .* C + beta D at the entries of a sparse C: plan, defines, arguments, enqueue.
// Checked by sddmm_check.c.
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
#include "runtime/scratch.h"
#include "runtime/workspace.h"
#include "sparse/sddmm_call.h"
#include "sparse/sddmm_parameters.h"
#include "sparse/sparse_plan.h"

static const int MOST_SHUFFLED_LANES = 8; // usual sub-groups have as many, and kernels check

// C's values are not read.
static bool is_indicator(const weft_call *call)
{
    return call->unread & 1u << WEFT_SDDMM_C;
}

// What makes plans differ.
void weft_sddmm_key(weft_key *key, const weft_call *call)
{
    const weft_sddmm_numbers *given = call->own;
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->alpha) == 0);
    weft_key_add_number(key, given->alpha == 0);
}

// ---- plan

// Elements along k of one vector of each lane.
static int64_t step_of(const weft_sddmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->vector_width;
}

static int64_t tile_of(const weft_sddmm_tiling *tiling)
{
    return tiling->vectors * step_of(tiling);
}

static bool is_several(const weft_sddmm_state *s)
{
    return s->tiling.passes && s->problem.k > tile_of(&s->tiling);
}

// Whether one launch computes all tiles with as many vectors, one after the other.
static bool sweeps_tiles(const weft_sddmm_tiling *tiling)
{
    return tiling->column_block > 0 && !tiling->packed;
}

// After plan_scratch(), which may turn passes off.
static void plan_last(weft_sddmm_state *s)
{
    const int64_t k = s->problem.k, tile = tile_of(&s->tiling);
    s->last_from = 0;
    s->last_vectors = s->tiling.vectors;
    if (!is_several(s) && s->tiling.column_block == 0)
        return;
    s->last_from = (k - 1) / tile * tile;
    s->last_vectors = (int)ceil_div(k - s->last_from, step_of(&s->tiling));
    if (sweeps_tiles(&s->tiling) && s->last_vectors == s->tiling.vectors)
        s->last_from = 0;
}

static bool count_scratch(weft_sddmm_state *s)
{
    const weft_sddmm_problem *problem = &s->problem;
    const weft_sddmm_tiling *tiling = &s->tiling;
    const int64_t size = (int64_t)weft_dtype_size(problem->dtype);
    const int64_t sum_size = weft_sum_bytes(problem->dtype);
    const int64_t along_k = tiling->transposed ? problem->k : tile_of(tiling);
    const bool is_copied = tiling->transposed || tiling->packed;
    s->copy_bytes = s->sums_bytes = 0;
    const bool counts = (!is_copied || weft_scratch_for(&s->copy_bytes, problem->n, along_k,
                                                        problem->n_batches, size)) &&
                        (!is_several(s) || weft_scratch_for(&s->sums_bytes, problem->nnz,
                                                            problem->n_batches, sum_size, 1));
    s->head.scratch_bytes = s->copy_bytes + s->sums_bytes;
    return counts;
}

// Turns off what scratch memory has no room for, unless the tiling is forced.
static weft_status plan_scratch(weft_sddmm_state *s, const weft_call *call,
                                const weft_limits *limits)
{
    const uint64_t most = weft_workspace_most(call->ctx);
    bool counts = count_scratch(s);
    if (s->head.is_forced && !counts)
        return fail(WEFT_NO_MEMORY,
                    "sddmm: sums of %" PRId64 " entries and copies of %" PRId64
                    " columns of B, for each of %" PRId64 " matrices, are too large",
                    s->problem.nnz, s->problem.n, s->problem.n_batches);
    if (s->head.is_forced)
        return WEFT_OK;
    const bool has_less = s->tiling.column_block > 0 || s->tiling.transposed;
    if (has_less && (!counts || s->head.scratch_bytes > most)) {
        s->tiling = weft_sddmm_tiling_short_of(limits, &s->problem, most);
        counts = count_scratch(s);
    }
    if (!counts || s->head.scratch_bytes > most) {
        if (s->tiling.packed)
            refuse(s->problem.why, "packed B", "scratch memory has room for %" PRIu64 " bytes",
                   most);
        s->tiling.ahead = s->problem.b_adjacent ? s->tiling.ahead : 0;
        s->tiling.packed = false;
        counts = count_scratch(s);
    }
    if (!counts || s->head.scratch_bytes > most) {
        if (s->tiling.passes)
            refuse(s->problem.why, "a pass for each tile of k",
                   "scratch memory has room for %" PRIu64 " bytes", most);
        s->tiling.passes = false;
        count_scratch(s);
    }
    return WEFT_OK;
}

static weft_status find_alignment(weft_sddmm_problem *problem, const weft_call *call)
{
    const weft_tensor *A = weft_call_tensor(call, WEFT_SDDMM_A);
    const weft_tensor *B = weft_call_tensor(call, WEFT_SDDMM_B);
    const weft_dense a = weft_dense_of(A), b = weft_dense_of(B);
    int64_t all = a.start | a.row | a.batch;
    if (problem->b_adjacent)
        all |= b.start | b.column | b.batch;
    TRY(weft_tensor_shift(&all, A, "sddmm: A"));
    TRY(weft_tensor_shift(&all, B, "sddmm: B"));
    problem->alignment = pow2_divisor(all);
    return WEFT_OK;
}

weft_status weft_sddmm_schedule(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_sddmm_state *s = state;
    TRY(find_alignment(&s->problem, call));
    if (s->head.is_forced)
        TRY(weft_sddmm_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_sddmm_tiling_for(limits, &s->problem);
    s->head.group_items = (size_t)s->tiling.lanes * (size_t)s->tiling.chunks_per_group;
    if (!s->is_scale) {
        TRY(plan_scratch(s, call, limits));
        plan_last(s);
    }
    const int64_t chunks = ceil_div(s->problem.nnz, s->tiling.entries);
    s->n_groups = ceil_div(chunks, s->tiling.chunks_per_group);
    return WEFT_OK;
}

// With column blocks, chunks are few and long.
static int64_t groups_per_row_block(const weft_sddmm_tiling *tiling)
{
    return tiling->column_block > 0 ? WEFT_GROUPS_OF_A_LONG_ONE : 1;
}

// ---- defines

// Where lanes are items, each computes addresses of columns of B by itself.
static bool has_near_columns(const weft_sddmm_state *s, const weft_call *call)
{
    const int64_t distance = s->tiling.transposed
                                 ? s->problem.k
                                 : weft_dense_of(weft_call_tensor(call, WEFT_SDDMM_B)).column;
    return s->tiling.lanes > 1 &&
           (s->tiling.packed || weft_rows_are_near(distance, s->problem.dtype));
}

static weft_defines defines_of(const weft_sddmm_state *s, const weft_call *call, int vectors)
{
    const weft_csr *C = weft_call_csr(call, WEFT_SDDMM_C);
    const weft_sddmm_tiling *tiling = &s->tiling;
    const bool has_short_indices = weft_dtype_or(C->index_dtype, WEFT_I32) == WEFT_I16;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->problem.dtype);
    if (weft_widens(s->problem.dtype, weft_call_tensor(call, WEFT_SDDMM_D)->dtype))
        weft_defines_add(&defines, "WIDE", 1);
    weft_defines_add(&defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(&defines, "ALIGNED", tiling->aligned);
    weft_defines_add(&defines, "LANES", tiling->lanes);
    weft_defines_add(&defines, "VECTORS", vectors);
    weft_defines_add(&defines, "CHUNKS_PER_GROUP", tiling->chunks_per_group);
    weft_defines_add_sub_group(&defines, call->ctx->least_subgroup, 0);
    weft_defines_add(&defines, "A_ADJACENT", s->problem.a_adjacent);
    weft_defines_add(&defines, "B_ADJACENT", s->problem.b_adjacent || tiling->transposed);
    weft_defines_add(&defines, "PACKED", tiling->packed);
    if (has_near_columns(s, call))
        weft_defines_add(&defines, "B_COLUMNS_NEAR", 1);
    weft_defines_add(&defines, "INDICATOR", is_indicator(call));
    weft_defines_add(&defines, "AHEAD", tiling->ahead);
    weft_defines_add_shuffles(&defines, call->ctx,
                              tiling->lanes > 1 && tiling->lanes <= MOST_SHUFFLED_LANES);
    weft_defines_add(&defines, "GROUPS_PER_ROW_BLOCK", groups_per_row_block(tiling));
    if (tiling->transposed)
        weft_defines_add(&defines, "TRANSPOSED_BLOCK", WEFT_SDDMM_TRANSPOSED_BLOCK);
    weft_defines_add_word(&defines, "OFFSET", C->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(&defines, "INDEX", has_short_indices ? "short" : "int");
    return defines;
}

static weft_status kernel_for(weft_kernel **out, size_t *most, const weft_call *call,
                              const weft_defines *defines, const char *name)
{
    return weft_kernel_narrow(out, most, call->ctx, &weft_source_sddmm, defines, name);
}

static weft_status tile_kernels_for(weft_sddmm_kernels *k, size_t *most, const weft_sddmm_state *s,
                                    const weft_call *call, int vectors)
{
    const weft_defines defines = defines_of(s, call, vectors);
    if (s->tiling.packed)
        TRY(kernel_for(&k->pack, most, call, &defines, "sddmm_pack"));
    return kernel_for(&k->entries, most, call, &defines,
                      s->tiling.column_block > 0 ? "sddmm_csr_column_blocks" : "sddmm_csr_entries");
}

weft_status weft_sddmm_build(void *state, const weft_call *call, size_t *most)
{
    weft_sddmm_state *s = state;
    if (s->is_scale) {
        const weft_defines defines = defines_of(s, call, s->tiling.vectors);
        return kernel_for(&s->scale, most, call, &defines, "sddmm_scale");
    }
    if (s->last_from > 0)
        TRY(tile_kernels_for(&s->whole, most, s, call, s->tiling.vectors));
    if (s->tiling.transposed) {
        const weft_defines defines = defines_of(s, call, s->last_vectors);
        TRY(kernel_for(&s->transpose, most, call, &defines, "sddmm_transpose"));
    }
    return tile_kernels_for(&s->last, most, s, call, s->last_vectors);
}

// ---- arguments

typedef struct {
    SDDMM_DENSE_PARAMETERS(FIELD, , view, view)
} dense;

typedef struct {
    SDDMM_ENTRIES_PARAMETERS(FIELD, )
} entries;

typedef struct {
    SDDMM_COLUMN_BLOCKS_PARAMETERS(FIELD, )
} column_blocks;

typedef struct {
    SDDMM_PACK_PARAMETERS(FIELD, )
} pack;

typedef struct {
    SDDMM_TRANSPOSE_PARAMETERS(FIELD, )
} transpose;

typedef struct {
    SDDMM_SCALE_PARAMETERS(FIELD, )
} scale;

// A call that is being enqueued.
typedef struct {
    weft_launch *launch;
    const weft_sddmm_state *s;
    const weft_call *call;
    cl_mem scratch; // NULL where none is needed
} product;

// The part of k of one launch: one tile of `tile` elements, several, or all.
typedef struct {
    const weft_sddmm_kernels *kernels;
    int64_t tile;
    cl_int from, upto;
} stretch;

static void add_dense(weft_arguments *arguments, const dense *a)
{
    ADD_LISTED(arguments, SDDMM_DENSE_PARAMETERS(LISTED, COMMA, view, view));
}

static void add_column_blocks(weft_arguments *arguments, const column_blocks *a)
{
    ADD_LISTED(arguments, SDDMM_COLUMN_BLOCKS_PARAMETERS(LISTED, COMMA));
}

static dense dense_of(const product *p, int i)
{
    const weft_dense d = weft_dense_of(weft_call_tensor(p->call, i));
    return (dense){d.buffer, d.start, d.row, d.column, d.batch};
}

// B as the entries' kernel reads it: a tile packed by sddmm_pack, all of it from sddmm_transpose,
// or the operand.
static dense tile_of_B(const product *p, int64_t tile)
{
    const weft_sddmm_tiling *tiling = &p->s->tiling;
    if (!tiling->packed && !tiling->transposed)
        return dense_of(p, WEFT_SDDMM_B);
    const int64_t column = tiling->transposed ? p->s->problem.k : tile;
    return (dense){p->scratch, 0, 1, column, column * p->s->problem.n};
}

static int64_t batch_of(const weft_tensor *D)
{
    return D->ndim == 2 ? D->stride[0] : 0;
}

// In place of an array that is not there another buffer is passed, which is never touched.
static entries entries_of(const product *p, const stretch *of)
{
    const weft_sddmm_numbers *given = p->call->own;
    const weft_sddmm_problem *problem = &p->s->problem;
    const weft_csr *C = weft_call_csr(p->call, WEFT_SDDMM_C);
    const weft_tensor *D = weft_call_tensor(p->call, WEFT_SDDMM_D);
    return (entries){
        .n_rows = (cl_int)problem->m,
        .nnz = C->nnz,
        .offsets = C->offsets,
        .indices = C->indices,
        .offsets_start = C->offsets_start,
        .indices_start = C->indices_start,
        .values = is_indicator(p->call) ? C->offsets : C->values,
        .values_start = C->values_start,
        .values_batch = C->values_batch_stride,
        .D = D->buffer,
        .d_start = D->offset,
        .d_batch = batch_of(D),
        .k = (cl_int)problem->k,
        .from = of->from,
        .upto = of->upto,
        .entries = p->s->tiling.entries,
        .alpha = weft_number_of(problem->dtype, given->alpha),
        .beta = weft_number_of(problem->dtype, given->beta),
        .sums = p->s->sums_bytes > 0 ? p->scratch : D->buffer,
        .sums_start = (int64_t)p->s->copy_bytes / weft_sum_bytes(problem->dtype),
    };
}

// ---- enqueue

// Items of so many groups for each matrix of the batch, and of one.
typedef struct {
    size_t global[3], local[3];
} extents;

static extents extents_of(const product *p, int64_t n_groups)
{
    const weft_sddmm_tiling *tiling = &p->s->tiling;
    const size_t lanes = (size_t)tiling->lanes, chunks = (size_t)tiling->chunks_per_group;
    return (extents){
        .global = {(size_t)n_groups * lanes, chunks, (size_t)p->s->problem.n_batches},
        .local = {lanes, chunks, 1},
    };
}

static weft_status enqueue_transpose(const product *p)
{
    const weft_sddmm_problem *problem = &p->s->problem;
    const extents grid = extents_of(p, ceil_div(problem->k, WEFT_SDDMM_TRANSPOSED_BLOCK) *
                                           ceil_div(problem->n, WEFT_SDDMM_TRANSPOSED_BLOCK));
    const dense B = dense_of(p, WEFT_SDDMM_B);
    const transpose own = {(cl_int)problem->n, (cl_int)problem->k, p->scratch}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_dense(&arguments, &B);
    ADD_LISTED(&arguments, SDDMM_TRANSPOSE_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, p->s->transpose, arguments.n, arguments.list, grid.global,
                              grid.local);
}

static weft_status enqueue_pack(const product *p, const stretch *of)
{
    const weft_sddmm_tiling *tiling = &p->s->tiling;
    const cl_int n = (cl_int)p->s->problem.n, k = (cl_int)p->s->problem.k;
    const extents grid =
        extents_of(p, ceil_div(n, (int64_t)tiling->chunks_per_group * tiling->vector_width));
    const dense B = dense_of(p, WEFT_SDDMM_B);
    const pack own = {n, k, of->from, p->scratch}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_dense(&arguments, &B);
    ADD_LISTED(&arguments, SDDMM_PACK_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, of->kernels->pack, arguments.n, arguments.list,
                              grid.global, grid.local);
}

static weft_status enqueue_entries(const product *p, const stretch *of)
{
    const weft_sddmm_tiling *tiling = &p->s->tiling;
    const extents grid = extents_of(p, p->s->n_groups * groups_per_row_block(tiling));
    const dense A = dense_of(p, WEFT_SDDMM_A), B = tile_of_B(p, of->tile);
    const entries own = entries_of(p, of), *a = &own;
    const column_blocks side_by_side = {(cl_int)p->s->problem.n, tiling->column_block};
    weft_arguments arguments = {.n = 0};
    add_dense(&arguments, &A);
    add_dense(&arguments, &B);
    ADD_LISTED(&arguments, SDDMM_ENTRIES_PARAMETERS(LISTED, COMMA));
    if (tiling->column_block > 0)
        add_column_blocks(&arguments, &side_by_side);
    return weft_launch_kernel(p->launch, of->kernels->entries, arguments.n, arguments.list,
                              grid.global, grid.local);
}

static weft_status enqueue_scale(const product *p)
{
    const weft_sddmm_numbers *given = p->call->own;
    const weft_tensor *D = weft_call_tensor(p->call, WEFT_SDDMM_D);
    const extents grid = extents_of(p, p->s->n_groups);
    const scale own = {
        .nnz = p->s->problem.nnz,
        .D = D->buffer,
        .d_start = D->offset,
        .d_batch = batch_of(D),
        .entries = p->s->tiling.entries,
        .beta = weft_number_of(p->s->problem.dtype, given->beta),
    };
    const scale *a = &own;
    const weft_argument list[] = {SDDMM_SCALE_PARAMETERS(LISTED, COMMA)};
    return weft_launch_kernel(p->launch, p->s->scale, sizeof(list) / sizeof(list[0]), list,
                              grid.global, grid.local);
}

// The stretch of k from `from` on: a whole one, or the last one.
static stretch stretch_from(const weft_sddmm_state *s, int64_t from)
{
    const int64_t tile = tile_of(&s->tiling), last = s->last_vectors * step_of(&s->tiling);
    const int64_t upto = from + (sweeps_tiles(&s->tiling) ? s->last_from : tile);
    return from < s->last_from ? (stretch){&s->whole, tile, (cl_int)from, (cl_int)upto}
                               : (stretch){&s->last, last, (cl_int)from, (cl_int)s->problem.k};
}

weft_status weft_sddmm_enqueue(weft_launch *launch, const void *state, const weft_call *call,
                               cl_mem scratch)
{
    const product p = {launch, state, call, scratch};
    if (p.s->is_scale)
        return enqueue_scale(&p);
    if (p.s->tiling.transposed)
        TRY(enqueue_transpose(&p));
    for (int64_t from = 0; from < p.s->problem.k;) {
        const stretch of = stretch_from(p.s, from);
        if (p.s->tiling.packed)
            TRY(enqueue_pack(&p, &of));
        TRY(enqueue_entries(&p, &of));
        from = of.upto;
    }
    return WEFT_OK;
}

int weft_sddmm_print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_sddmm_state *s = state;
    (void)call;
    return s->problem.k == 0 ? snprintf(text, size, "D = beta D")
                             : weft_sddmm_tiling_print(&s->tiling, text, size);
}

// ---- calls

const weft_op weft_sddmm_op = {
    .name = "sddmm",
    .n_operands = 4,
    .operands = {[WEFT_SDDMM_A] = {.name = "A", .access = WEFT_READS_VALUES},
                 [WEFT_SDDMM_B] = {.name = "B", .access = WEFT_READS_VALUES},
                 [WEFT_SDDMM_C] = {.name = "C", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 [WEFT_SDDMM_D] = {.name = "D",
                                   .access = WEFT_WRITES_VALUES,
                                   .may_be = 1u << WEFT_SDDMM_C}},
    .key = weft_sddmm_key,
    .check = weft_sddmm_check,
    WEFT_SDDMM_HOOKS,
};

typedef struct {
    weft_call call;
    weft_sddmm_numbers own;
} request;

static weft_status request_of(request *r, weft_context *ctx, double alpha, const weft_tensor *A,
                              const weft_tensor *B, const weft_csr *C, double beta,
                              const weft_tensor *D, const weft_sddmm_params *params)
{
    weft_sddmm_params own;
    TRY(PARAMS_READ(&own, params, "sddmm", "WEFT_SDDMM"));
    r->own = (weft_sddmm_numbers){alpha, beta};
    r->call = (weft_call){
        .op = &weft_sddmm_op,
        .ctx = ctx,
        .operands = {A, B, C, D},
        .unread = own.indicator ? 1u << WEFT_SDDMM_C : 0,
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_sddmm(weft_context *ctx, cl_command_queue queue, double alpha,
                       const weft_tensor *A, const weft_tensor *B, const weft_csr *C, double beta,
                       const weft_tensor *D, const weft_sddmm_params *params)
{
    request r;
    TRY(request_of(&r, ctx, alpha, A, B, C, beta, D, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_sddmm_workspace(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                 const weft_csr *C, const weft_tensor *D,
                                 const weft_sddmm_params *params, size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, 1, A, B, C, 0, D, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_sddmm_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                        const weft_csr *C, const weft_tensor *D, const weft_sddmm_params *params,
                        char *text, size_t size)
{
    request r;
    return request_of(&r, ctx, 1, A, B, C, 0, D, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
