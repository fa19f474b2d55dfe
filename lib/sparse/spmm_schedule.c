// SPDX-License-Identifier: Apache-2.0
// C = f(alpha op(A) B + beta C + bias): computes tiling, scratch memory, defines and kernels from a
// problem.
#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/refuse.h"
#include "formula/activation.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"
#include "sparse/sparse_plan.h"
#include "sparse/spmm_call.h"
#include "sparse/spmm_order.h"
#include "sparse/spmm_reduction.h"
#include "sparse/spmm_tasks.h"

// ---- plan

static const char QUEUES[] = "rows from a queue";

int64_t weft_spmm_n_tile_columns(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->vectors * tiling->vector_width;
}

static size_t bytes_of(const weft_spmm_state *s)
{
    return s->packed_bytes + s->cut.sums_bytes + s->parts_bytes + s->cut.places_bytes +
           s->queues_bytes;
}

// A number that the same powers of two divide as all row starts of a dense operand.
static int64_t row_starts(const weft_call *call, int i, const weft_dense *steps)
{
    const weft_tensor *t = call->operands[i];
    return t ? t->offset | steps->row | steps->batch : 0;
}

// The caller's memory may begin anywhere.
static weft_status find_alignment(weft_spmm_state *s, const weft_call *call)
{
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPMM_A));
    int64_t dense = row_starts(call, WEFT_SPMM_B, &s->B) | row_starts(call, WEFT_SPMM_C, &s->C) |
                    row_starts(call, WEFT_SPMM_ARGUMENTS, &s->arguments);
    int64_t entries = (A.indices_start - A.values_start) | A.values_batch_stride;
    TRY(weft_tensor_shift(&dense, weft_call_tensor(call, WEFT_SPMM_B), "spmm: B"));
    TRY(weft_tensor_shift(&dense, weft_call_tensor(call, WEFT_SPMM_C), "spmm: C"));
    TRY(weft_tensor_shift(&dense, weft_call_tensor(call, WEFT_SPMM_ARGUMENTS), "spmm: arguments"));
    if (A.nnz > 0) {
        TRY(weft_buffer_shift(&entries, A.indices, A.index_dtype, "spmm: A", "'s indices"));
        TRY(weft_buffer_shift(&entries, A.values, A.dtype, "spmm: A", "'s values"));
    }
    s->problem.alignment = pow2_divisor(dense);
    s->problem.entry_alignment = pow2_divisor(entries);
    return WEFT_OK;
}

// The rows of op(A): at most k entries each, unless columns are repeated.
static weft_row_chunks_problem rows_of(const weft_spmm_state *s, const weft_call *call)
{
    return (weft_row_chunks_problem){
        .nnz = s->problem.nnz,
        .longest = min_i64(s->problem.k, s->problem.nnz),
        .n_sums = s->problem.n,
        .n_batches = s->problem.n_batches,
        .sum_bytes = weft_sum_bytes(s->problem.dtype),
        .why = s->problem.why,
        .place_bytes =
            call->operands[WEFT_SPMM_ARGUMENTS] ? (int64_t)weft_dtype_size(s->offset_dtype) : 0,
    };
}

// Uses the plan object's row chunks; if weft chose their length, only if scratch memory has room.
static bool take_planned(weft_spmm_state *s, const weft_call *call, const weft_spmm_plan *plan,
                         const weft_row_chunks_problem *rows)
{
    const uint64_t most = weft_workspace_most(call->ctx);
    const bool counts = weft_row_chunks_of(&s->cut, rows, plan->n_row_chunks, plan->row_chunk);
    s->is_planned = plan->row_chunk_is_forced || (counts && bytes_of(s) <= most) ||
                    refuse(s->problem.why, "the plan's order",
                           "its %" PRId64 " row chunks of long rows have no room in %" PRIu64
                           " bytes of scratch memory",
                           plan->n_row_chunks, most);
    if (s->is_planned && plan->n_row_chunks == 0)
        refuse(s->problem.why, "row chunks of long rows",
               "no row has more than two row chunks of %" PRId64 " entries", plan->row_chunk);
    return counts;
}

// Uses longer row chunks, without the plan object's order, which lacks its long rows.
static bool take_longer(weft_spmm_state *s, const weft_call *call, const weft_spmm_plan *plan,
                        weft_row_chunks_problem *rows)
{
    if (plan)
        rows->longest = plan->rows.max;
    return weft_row_chunks_for(&s->cut, rows, plan ? plan->row_chunk : s->tiling.row_chunk,
                               s->head.is_forced && !plan, weft_workspace_most(call->ctx));
}

static weft_status schedule_row_chunks(weft_spmm_state *s, const weft_call *call,
                                       const weft_spmm_plan *plan)
{
    const weft_spmm_block *block = ((const weft_spmm_numbers *)call->own)->block;
    weft_row_chunks_problem rows = rows_of(s, call);
    if (block)
        return weft_row_chunks_of(&s->cut, &rows, block->n_row_chunks, s->tiling.row_chunk)
                   ? WEFT_OK
                   : weft_row_chunks_too_many(&s->cut, &rows, "spmm");
    bool counts = plan && take_planned(s, call, plan, &rows);
    if (!s->is_planned)
        counts = take_longer(s, call, plan, &rows);
    s->tiling.row_chunk = s->cut.length;
    return counts ? WEFT_OK : weft_row_chunks_too_many(&s->cut, &rows, "spmm");
}

// Two parts of rows for each task. Row chunks and the plan object's order are not used.
static weft_status schedule_tasks(weft_spmm_state *s, const weft_context *ctx)
{
    const weft_spmm_problem *p = &s->problem;
    const int most = ctx->limits.max_iterations;
    s->cut.length = s->tiling.row_chunk;
    s->n_tasks = weft_spmm_n_tasks(p, s->tiling.tasks);
    if (most > 0 && weft_spmm_join_iterations(&s->tiling, s->n_tasks) > most)
        return fail(WEFT_UNSUPPORTED,
                    "spmm: a row may be in %" PRId64 " tasks of %d, which %" PRId64
                    " iterations add: the device ends loops after %d",
                    s->n_tasks, s->tiling.tasks, weft_spmm_join_iterations(&s->tiling, s->n_tasks),
                    most);
    return s->n_tasks > 0 && weft_spmm_parts_bytes(&s->parts_bytes, p, s->n_tasks)
               ? WEFT_OK
               : fail(WEFT_NO_MEMORY,
                      "spmm: tasks of %d of %" PRId64 " rows and %" PRId64
                      " entries, with two rows of %" PRId64 " sums each for each of %" PRId64
                      " matrices, are too many",
                      s->tiling.tasks, p->m, p->nnz, p->n, p->n_batches);
}

// A queue requires rows that are computed one after the other, without k-blocks; scratch memory;
// and a device that does not end the loops of a group that computes all rows.
static weft_status schedule_queues(weft_spmm_state *s, const weft_context *ctx)
{
    const int max_iterations = ctx->limits.max_iterations;
    if (!s->is_planned || s->problem.row_schedule != WEFT_SPMM_ROW_SCHEDULE_QUEUE)
        return WEFT_OK;
    if (s->tiling.k_block > 0 || s->tiling.row_blocks_per_copy > 0) {
        s->unqueued = s->tiling.row_blocks_per_copy > 0 ? "B in local memory does not use a queue"
                                                        : "k-blocks do not use a queue";
        refuse(s->problem.why, QUEUES, "%s", s->unqueued);
        return WEFT_OK;
    }
    // One group may take all rows of a matrix.
    if (max_iterations > 0 && weft_spmm_most_iterations(&s->problem) > max_iterations) {
        refuse(s->problem.why, QUEUES,
               "%.3g iterations of one group's loops: the device ends them after %d",
               weft_spmm_most_iterations(&s->problem), max_iterations);
        s->unqueued = "this device's loops end too early for a queue";
        return WEFT_OK;
    }
    const int64_t n_batches = s->problem.n_batches;
    if (!weft_scratch_for(&s->queues_bytes, s->n_tiles, n_batches, sizeof(uint32_t), 1))
        return fail(WEFT_NO_MEMORY,
                    "spmm: queues for %" PRId64 " n-tiles of %" PRId64 " matrices are too many",
                    s->n_tiles, n_batches);
    if (bytes_of(s) <= weft_workspace_most(ctx)) {
        s->n_queues = s->n_tiles * n_batches;
        return WEFT_OK;
    }
    refuse(s->problem.why, QUEUES, "scratch memory has room for %" PRIu64 " bytes",
           weft_workspace_most(ctx));
    s->unqueued = "scratch memory has no room for a queue";
    s->queues_bytes = 0;
    return WEFT_OK;
}

// Without scratch memory B is not packed; a forced tiling fails.
static weft_status schedule_packing(weft_spmm_state *s, const weft_context *ctx)
{
    if (!s->tiling.packed)
        return WEFT_OK;
    const int64_t size = (int64_t)weft_dtype_size(s->problem.dtype);
    const int64_t columns = s->n_tiles * weft_spmm_n_tile_columns(&s->tiling);
    const bool counts =
        weft_scratch_for(&s->packed_bytes, columns, s->problem.k, s->problem.n_batches, size);
    if (counts && (s->head.is_forced || bytes_of(s) <= weft_workspace_most(ctx)))
        return WEFT_OK;
    if (s->head.is_forced)
        return fail(WEFT_NO_MEMORY,
                    "spmm: B packed, %" PRId64 " x %" PRId64 " for each of %" PRId64
                    " matrices, is too large",
                    s->problem.k, columns, s->problem.n_batches);
    refuse(s->problem.why, "packed B", "scratch memory has room for %" PRIu64 " bytes",
           weft_workspace_most(ctx));
    s->tiling.packed = false;
    s->packed_bytes = 0;
    return WEFT_OK;
}

// Whether the plan object has segments for the tiling. A tiling that is not forced adopts its
// k_block_from.
static void schedule_segments(weft_spmm_state *s, const weft_spmm_plan *plan)
{
    s->has_segments = s->is_planned && plan->segments && s->tiling.row_blocks_per_copy == 0 &&
                      s->tiling.k_block == plan->k_block;
    if (!s->has_segments)
        return;
    if (!s->head.is_forced)
        s->tiling.k_block_from = plan->k_block_from;
    s->has_segments =
        s->tiling.k_block_from == plan->k_block_from && s->tiling.rows_per_item == plan->run_rows;
}

// An order that the plan object has chosen for reuse of rows of B need not pay for other n.
static void schedule_order(weft_spmm_state *s, const weft_limits *limits,
                           const weft_spmm_plan *plan)
{
    s->has_order = s->is_planned && plan->order;
    if (!s->has_order || plan->row_schedule_reason != WEFT_SPMM_ROW_SCHEDULE_NEARER)
        return;
    const int64_t columns = min_i64(weft_spmm_n_tile_columns(&s->tiling), s->problem.n);
    s->has_order =
        weft_spmm_reuse_pays(limits, plan, plan->given_misses - plan->misses, s->problem.k,
                             columns * (int64_t)weft_dtype_size(s->problem.dtype));
}

// Clears fields that an earlier schedule, whose groups were too large, has set.
static void clear_schedule(weft_spmm_state *s)
{
    s->is_planned = s->has_order = s->has_segments = false;
    s->cut = (weft_row_chunks){0};
    s->n_queues = s->n_tasks = 0;
    s->unqueued = NULL;
    s->packed_bytes = s->parts_bytes = s->queues_bytes = 0;
}

// Whether a product should keep to the rows of the plan object, because the caller chose how to
// take them, or because their order finds rows of B in a cache.
static bool orders_rows(const weft_spmm_plan *plan)
{
    const weft_spmm_row_schedule_reason reason = plan->row_schedule_reason;
    return plan->row_chunk_is_forced || reason == WEFT_SPMM_ROW_SCHEDULE_ASKED ||
           reason == WEFT_SPMM_ROW_SCHEDULE_NEARER;
}

static weft_status choose_tiling(weft_spmm_state *s, const weft_call *call,
                                 const weft_limits *limits, const weft_spmm_plan *plan)
{
    const weft_spmm_numbers *given = call->own;
    TRY(find_alignment(s, call));
    weft_spmm_problem problem = s->problem;
    problem.rows = plan ? &plan->rows : NULL;
    problem.is_transposed = given->transpose_a;
    problem.keeps_rows = given->in_blocks || (plan && orders_rows(plan));
    problem.scratch_bytes = weft_workspace_most(call->ctx);
    if (s->head.is_forced)
        TRY(weft_spmm_tiling_check(&s->tiling, &call->ctx->limits, &problem));
    else
        s->tiling = weft_spmm_tiling_for(limits, &problem);
    if (given->in_blocks && !s->head.is_forced)
        s->tiling.packed = false;
    s->tiling.rows_per_item = (int)max_i64(s->tiling.rows_per_item, 1);
    s->tiling.row_split = (int)max_i64(s->tiling.row_split, 1);
    s->n_tiles = ceil_div(s->problem.n, weft_spmm_n_tile_columns(&s->tiling));
    return WEFT_OK;
}

weft_status weft_spmm_schedule(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_spmm_state *s = state;
    const weft_spmm_plan *plan = ((const weft_spmm_numbers *)call->own)->plan;
    clear_schedule(s);
    TRY(choose_tiling(s, call, limits, plan));
    TRY(s->tiling.tasks > 0 ? schedule_tasks(s, call->ctx) : schedule_row_chunks(s, call, plan));
    schedule_order(s, limits, plan);
    schedule_segments(s, plan);
    TRY(schedule_queues(s, call->ctx));
    TRY(schedule_packing(s, call->ctx));
    s->head.group_items =
        (size_t)weft_spmm_row_items(&s->tiling) * (size_t)s->tiling.rows_per_group;
    s->head.scratch_bytes = s->is_scale ? 0 : bytes_of(s);
    return WEFT_OK;
}

// ---- defines

// One build of one source.
typedef struct {
    const weft_source *source;
    weft_defines defines;
} program;

// Where lanes are items, each computes addresses of rows of B by itself.
static bool has_near_rows(const weft_spmm_state *s)
{
    return weft_spmm_row_items(&s->tiling) > 1 &&
           (s->tiling.packed || weft_rows_are_near(s->B.row, s->problem.dtype));
}

static void add_common(weft_defines *defines, const weft_spmm_state *s, const weft_call *call)
{
    const weft_spmm_numbers *given = call->own;
    const weft_spmm_tiling *tiling = &s->tiling;
    weft_defines_add_dtype(defines, "DTYPE", s->problem.dtype);
    if (weft_widens(s->problem.dtype, s->result_dtype))
        weft_defines_add(defines, "WIDE", 1);
    weft_defines_add(defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    if (tiling->row_split > 1)
        weft_defines_add(defines, "ROW_SPLIT", tiling->row_split);
    if (tiling->entry_lanes > 1 && tiling->row_split > 1)
        weft_defines_add(defines, "INTERLEAVED", 1);
    else if (tiling->entry_lanes > 1)
        weft_defines_add(defines, "ENTRY_LANES", tiling->entry_lanes);
    weft_defines_add_sub_group(defines, call->ctx->least_subgroup, 0);
    weft_defines_add(defines, "UNROLL", tiling->unroll);
    weft_defines_add(defines, "COLUMNS_ADJACENT", s->problem.columns_adjacent);
    weft_defines_add_word(defines, "OFFSET", s->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(defines, "INDEX", s->index_dtype == WEFT_I16 ? "short" : "int");
    weft_defines_add(defines, "PERMUTED", given->transpose_a);
    weft_defines_add(defines, "QUEUED", s->n_queues > 0);
    if (has_near_rows(s))
        weft_defines_add(defines, "B_ROWS_NEAR", 1);
    if (s->has_rows)
        weft_defines_add(defines, "HAS_ROWS", 1);
    if (call->operands[WEFT_SPMM_BIAS])
        weft_defines_add(defines, "BIASED", 1);
    if (given->activation != WEFT_ACTIVATION_NONE)
        weft_defines_add_word(defines, "ACTIVATION", weft_activation_function(given->activation));
}

static void sums_program(program *out, const weft_spmm_state *s, const weft_call *call,
                         bool is_staged_b)
{
    *out = (program){.source = &weft_source_spmm};
    add_common(&out->defines, s, call);
    weft_defines_add(&out->defines, "STAGED_B", is_staged_b);
    weft_defines_add(&out->defines, "MOST_ROWS", WEFT_SPMM_MOST_ROWS);
    weft_defines_add(&out->defines, "STAGE", s->tiling.stage);
    weft_defines_add(&out->defines, "LOAD", s->tiling.load);
    weft_defines_add(&out->defines, "PACKED", s->tiling.packed);
    if (s->n_tasks > 0)
        weft_defines_add(&out->defines, "TASKS", 1);
    if (s->has_order && s->tiling.lanes == 1 &&
        s->problem.row_schedule == WEFT_SPMM_ROW_SCHEDULE_REUSE)
        weft_defines_add(&out->defines, "FETCHES_ROWS", 1);
    weft_defines_add(&out->defines, "MEAN", s->problem.reduction == WEFT_SPMM_MEAN);
}

static void max_min_program(program *out, const weft_spmm_state *s, const weft_call *call)
{
    const bool is_wide = s->argument_dtype == WEFT_I64;
    *out = (program){.source = &weft_source_spmm_max_min};
    add_common(&out->defines, s, call);
    weft_defines_add(&out->defines, "LEAST", s->problem.reduction == WEFT_SPMM_MIN);
    weft_defines_add(&out->defines, "HAS_ARGUMENTS", call->operands[WEFT_SPMM_ARGUMENTS] != NULL);
    weft_defines_add_word(&out->defines, "ARGUMENT", is_wide ? "long" : "int");
}

static weft_status kernel_for(weft_kernel **out, size_t *most, const weft_call *call,
                              const program *from, const char *name)
{
    return weft_kernel_narrow(out, most, call->ctx, from->source, &from->defines, name);
}

static weft_status rows_kernels(weft_spmm_state *s, size_t *most, const weft_call *call,
                                const program *from, const char *name)
{
    if (s->n_queues > 0)
        TRY(kernel_for(&s->kernels.queues, most, call, from, "spmm_start_queues"));
    return kernel_for(&s->kernels.rows, most, call, from, name);
}

static const char *rows_kernel(const weft_spmm_state *s)
{
    return s->has_segments         ? "spmm_csr_segments"
           : s->tiling.k_block > 0 ? "spmm_csr_k_blocks"
                                   : "spmm_csr_rows";
}

// Kernels that write the rows of C that no entry of A changes.
static weft_status scale_kernels(weft_spmm_state *s, size_t *most, const weft_call *call,
                                 const program *from)
{
    TRY(kernel_for(&s->kernels.scale, most, call, from, "spmm_scale"));
    return call->operands[WEFT_SPMM_ARGUMENTS]
               ? kernel_for(&s->kernels.none, most, call, from, "spmm_max_min_none")
               : WEFT_OK;
}

static weft_status sums_kernels(weft_spmm_state *s, size_t *most, const weft_call *call,
                                const program *sums)
{
    if (s->tiling.packed)
        TRY(kernel_for(&s->kernels.pack, most, call, sums, "spmm_pack"));
    if (s->n_tasks > 0) {
        TRY(kernel_for(&s->kernels.rows, most, call, sums, "spmm_csr_tasks"));
        return kernel_for(&s->kernels.combine, most, call, sums, "spmm_csr_join");
    }
    TRY(rows_kernels(s, most, call, sums, rows_kernel(s)));
    if (s->cut.n == 0)
        return WEFT_OK;
    program unstaged = *sums; // row chunks read B in global memory
    if (s->tiling.row_blocks_per_copy > 0)
        sums_program(&unstaged, s, call, false);
    TRY(kernel_for(&s->kernels.row_chunks, most, call, &unstaged, "spmm_csr_row_chunks"));
    return kernel_for(&s->kernels.combine, most, call, &unstaged, "spmm_csr_combine");
}

static weft_status max_min_kernels(weft_spmm_state *s, size_t *most, const weft_call *call,
                                   const program *max_min)
{
    TRY(rows_kernels(s, most, call, max_min, "spmm_max_min_csr_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&s->kernels.row_chunks, most, call, max_min, "spmm_max_min_csr_row_chunks"));
    return kernel_for(&s->kernels.combine, most, call, max_min, "spmm_max_min_csr_combine");
}

weft_status weft_spmm_build(void *state, const weft_call *call, size_t *most)
{
    weft_spmm_state *s = state;
    const bool is_max_min = weft_spmm_is_max_min(s->problem.reduction);
    program from;
    s->kernels = (weft_spmm_kernels){0};
    if (is_max_min)
        max_min_program(&from, s, call);
    else
        sums_program(&from, s, call, s->tiling.row_blocks_per_copy > 0);
    if (s->is_scale || s->has_rows)
        TRY(scale_kernels(s, most, call, &from));
    return s->is_scale  ? WEFT_OK
           : is_max_min ? max_min_kernels(s, most, call, &from)
                        : sums_kernels(s, most, call, &from);
}
