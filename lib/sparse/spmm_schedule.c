// SPDX-License-Identifier: Apache-2.0
// C = f(alpha op(A) B + beta C + bias): from a problem to a tiling, scratch memory, defines and
// kernels.
#include "sparse/spmm_schedule.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/refuse.h"
#include "formula/activation.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"
#include "sparse/spmm_reduction.h"
#include "sparse/spmm_tiling.h"

// ---- plan

static const char QUEUES[] = "rows from a queue";

int64_t weft_spmm_slice_columns(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->vectors * tiling->fold;
}

size_t weft_spmm_scratch_bytes(const weft_spmm_schedule *s)
{
    return s->packed_bytes + s->cut.sums_bytes + s->cut.places_bytes + s->queues_bytes;
}

// What is known of the rows of op(A). Only one longer than it is wide has a column twice.
static weft_pieces_problem rows_of(const weft_spmm_product *p)
{
    return (weft_pieces_problem){
        .nnz = p->problem.nnz,
        .longest = min_i64(p->problem.k, p->problem.nnz),
        .n_sums = p->problem.n,
        .n_batches = p->problem.n_batches,
        .sum_bytes = weft_sum_bytes(p->problem.dtype),
        .place_bytes = p->has_arguments ? (int64_t)weft_dtype_size(p->offset_dtype) : 0,
    };
}

// The plan's pieces; where nobody asked for them, only if scratch memory has room.
static bool take_planned(weft_spmm_schedule *s, const weft_spmm_product *p,
                         const weft_pieces_problem *rows)
{
    const weft_spmm_plan *plan = p->plan;
    const uint64_t most = weft_workspace_most(p->ctx);
    const bool counts = weft_pieces_of(&s->cut, rows, plan->n_pieces, plan->piece);
    s->is_planned = plan->piece_is_forced || (counts && weft_spmm_scratch_bytes(s) <= most) ||
                    refuse("the plan's order",
                           "its %" PRId64 " pieces of long rows have no room in %" PRIu64
                           " bytes of scratch memory",
                           plan->n_pieces, most);
    if (s->is_planned && plan->n_pieces == 0)
        refuse("pieces of long rows", "no row has more than two pieces of %" PRId64 " entries",
               plan->piece);
    return counts;
}

// Longer ones in their place. The plan's order leaves out its own long rows, and goes with them.
static bool take_longer(weft_spmm_schedule *s, const weft_spmm_product *p,
                        weft_pieces_problem *rows)
{
    const bool is_forced = p->is_forced && !p->plan;
    if (p->plan)
        rows->longest = p->plan->rows.max;
    return weft_pieces_for(&s->cut, rows, p->plan ? p->plan->piece : s->tiling.piece, is_forced,
                           weft_workspace_most(p->ctx));
}

static weft_status schedule_pieces(weft_spmm_schedule *s, const weft_spmm_product *p)
{
    weft_pieces_problem rows = rows_of(p);
    bool counts = p->plan && take_planned(s, p, &rows);
    if (!s->is_planned)
        counts = take_longer(s, p, &rows);
    s->tiling.piece = s->cut.length;
    return counts ? WEFT_OK : weft_pieces_too_many(&s->cut, &rows, "spmm");
}

// Windows go without: the queue is for those who take rows one after the other. So does who has no
// room for it, and a device on which a group could not take all that is left.
static weft_status schedule_queues(weft_spmm_schedule *s, const weft_spmm_product *p)
{
    const int max_turns = p->ctx->limits.max_turns;
    if (!s->is_planned || p->plan->order_kind != WEFT_SPMM_ORDER_QUEUE)
        return WEFT_OK;
    if (s->tiling.window > 0 || s->tiling.bundles_per_copy > 0) {
        s->unqueued = s->tiling.bundles_per_copy > 0 ? "B in local memory goes without a queue"
                                                     : "windows go without a queue";
        refuse(QUEUES, "%s", s->unqueued);
        return WEFT_OK;
    }
    // One group may come to take all rows of a matrix.
    if (max_turns > 0 && weft_spmm_turns_of_all(&p->problem) > max_turns) {
        refuse(QUEUES, "%.3g turns of one group's loops: the device ends them after %d",
               weft_spmm_turns_of_all(&p->problem), max_turns);
        s->unqueued = "this device's loops end too early for a queue";
        return WEFT_OK;
    }
    const int64_t n_batches = p->problem.n_batches;
    if (!weft_scratch_for(&s->queues_bytes, s->n_slices, n_batches, sizeof(uint32_t), 1))
        return fail(WEFT_NO_MEMORY,
                    "spmm: queues for %" PRId64 " slices of %" PRId64 " matrices are too many",
                    s->n_slices, n_batches);
    if (weft_spmm_scratch_bytes(s) <= weft_workspace_most(p->ctx)) {
        s->n_queues = s->n_slices * n_batches;
        return WEFT_OK;
    }
    refuse(QUEUES, "scratch memory has room for %" PRIu64 " bytes", weft_workspace_most(p->ctx));
    s->unqueued = "scratch memory has no room for a queue";
    s->queues_bytes = 0;
    return WEFT_OK;
}

// Packing is left out where scratch memory is short, unless it was asked for.
static weft_status schedule_packing(weft_spmm_schedule *s, const weft_spmm_product *p)
{
    if (!s->tiling.packed)
        return WEFT_OK;
    const int64_t size = (int64_t)weft_dtype_size(p->problem.dtype);
    const int64_t columns = s->n_slices * weft_spmm_slice_columns(&s->tiling);
    const bool counts =
        weft_scratch_for(&s->packed_bytes, columns, p->problem.k, p->problem.n_batches, size);
    if (counts && (p->is_forced || weft_spmm_scratch_bytes(s) <= weft_workspace_most(p->ctx)))
        return WEFT_OK;
    if (p->is_forced)
        return fail(WEFT_NO_MEMORY,
                    "spmm: B packed, %" PRId64 " x %" PRId64 " for each of %" PRId64
                    " matrices, is too large",
                    p->problem.k, columns, p->problem.n_batches);
    refuse("packed B", "scratch memory has room for %" PRIu64 " bytes",
           weft_workspace_most(p->ctx));
    s->tiling.packed = false;
    s->packed_bytes = 0;
    return WEFT_OK;
}

// Whether the plan has segments for the windows that rows go through.
static bool plan_has_segments(const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    return s->is_planned && p->plan->segments && s->tiling.bundles_per_copy == 0 &&
           s->tiling.window == p->plan->window;
}

static weft_status schedule_for(weft_spmm_schedule *s, const weft_spmm_product *p,
                                const weft_limits *limits)
{
    *s = (weft_spmm_schedule){
        .tiling = p->is_forced ? p->forced : weft_spmm_tiling_for(limits, &p->problem),
    };
    s->tiling.rows_per_item = (int)max_i64(s->tiling.rows_per_item, 1);
    s->tiling.team = (int)max_i64(s->tiling.team, 1);
    s->n_slices = ceil_div(p->problem.n, weft_spmm_slice_columns(&s->tiling));
    TRY(schedule_pieces(s, p));
    if (plan_has_segments(p, s) && !p->is_forced)
        s->tiling.window_from = p->plan->window_from;
    TRY(schedule_queues(s, p));
    return schedule_packing(s, p);
}

bool weft_spmm_has_segments(const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    return plan_has_segments(p, s) && s->tiling.window_from == p->plan->window_from &&
           s->tiling.rows_per_item == p->plan->run_rows;
}

// ---- defines

// One build of one source.
typedef struct {
    const weft_source *source;
    weft_defines defines;
} program;

static void add_common(weft_defines *defines, const weft_spmm_product *p,
                       const weft_spmm_schedule *s)
{
    const weft_spmm_tiling *tiling = &s->tiling;
    weft_defines_add_dtype(defines, "DTYPE", p->problem.dtype);
    if (weft_widens(p->problem.dtype, p->C_view.dtype))
        weft_defines_add(defines, "WIDE", 1);
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    if (tiling->team > 1)
        weft_defines_add(defines, "TEAM", tiling->team);
    weft_defines_add_sub_group(defines, p->ctx->least_subgroup, 0);
    weft_defines_add(defines, "UNROLL", tiling->unroll);
    weft_defines_add(defines, "COLUMNS_ADJACENT", p->problem.columns_adjacent);
    weft_defines_add_word(defines, "OFFSET", p->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(defines, "INDEX", p->index_dtype == WEFT_I16 ? "short" : "int");
    weft_defines_add(defines, "PERMUTED", p->plan && p->plan->transpose_a);
    weft_defines_add(defines, "QUEUED", s->n_queues > 0);
    if (s->has_rows)
        weft_defines_add(defines, "HAS_ROWS", 1);
    if (p->bias_view)
        weft_defines_add(defines, "BIASED", 1);
    if (p->activation != WEFT_ACTIVATION_NONE)
        weft_defines_add_word(defines, "ACTIVATION", weft_activation_function(p->activation));
}

static void sums_program(program *out, const weft_spmm_product *p, const weft_spmm_schedule *s,
                         bool is_held)
{
    *out = (program){.source = &weft_source_spmm};
    add_common(&out->defines, p, s);
    weft_defines_add(&out->defines, "HELD", is_held);
    weft_defines_add(&out->defines, "MOST_ROWS", WEFT_SPMM_MOST_ROWS);
    weft_defines_add(&out->defines, "STAGE", s->tiling.stage);
    weft_defines_add(&out->defines, "LOAD", s->tiling.load);
    weft_defines_add(&out->defines, "PACKED", s->tiling.packed);
    weft_defines_add(&out->defines, "MEAN", p->problem.reduction == WEFT_SPMM_MEAN);
}

static void peaks_program(program *out, const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    const bool is_wide = p->has_arguments && p->arguments_view.dtype == WEFT_I64;
    *out = (program){.source = &weft_source_spmm_peaks};
    add_common(&out->defines, p, s);
    weft_defines_add(&out->defines, "LEAST", p->problem.reduction == WEFT_SPMM_MIN);
    weft_defines_add(&out->defines, "HAS_ARGUMENTS", p->has_arguments);
    weft_defines_add_word(&out->defines, "ARGUMENT", is_wide ? "long" : "int");
}

static weft_status kernel_for(weft_kernel **out, size_t *max_items, const weft_spmm_product *p,
                              const program *from, const char *name)
{
    return weft_kernel_narrow(out, max_items, p->ctx, from->source, &from->defines, name);
}

static weft_status rows_kernels(weft_spmm_kernels *k, size_t *max_items, const weft_spmm_product *p,
                                const weft_spmm_schedule *s, const program *from, const char *name)
{
    if (s->n_queues > 0)
        TRY(kernel_for(&k->queues, max_items, p, from, "spmm_start_queues"));
    return kernel_for(&k->rows, max_items, p, from, name);
}

static const char *rows_kernel(const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    return weft_spmm_has_segments(p, s) ? "spmm_csr_segments"
           : s->tiling.window > 0       ? "spmm_csr_windows"
                                        : "spmm_csr_rows";
}

// What writes rows of C to which A has nothing to add.
static weft_status scale_kernels(weft_spmm_kernels *k, size_t *max_items,
                                 const weft_spmm_product *p, const program *from)
{
    TRY(kernel_for(&k->scale, max_items, p, from, "spmm_scale"));
    return p->has_arguments ? kernel_for(&k->none, max_items, p, from, "spmm_peaks_none") : WEFT_OK;
}

static weft_status sums_kernels(weft_spmm_kernels *k, size_t *max_items, const weft_spmm_product *p,
                                const weft_spmm_schedule *s, const program *sums)
{
    if (s->tiling.packed)
        TRY(kernel_for(&k->pack, max_items, p, sums, "spmm_pack"));
    TRY(rows_kernels(k, max_items, p, s, sums, rows_kernel(p, s)));
    if (s->cut.n == 0)
        return WEFT_OK;
    program lying = *sums; // pieces find B where it lies
    if (s->tiling.bundles_per_copy > 0)
        sums_program(&lying, p, s, false);
    TRY(kernel_for(&k->pieces, max_items, p, &lying, "spmm_csr_pieces"));
    return kernel_for(&k->combine, max_items, p, &lying, "spmm_csr_combine");
}

static weft_status peaks_kernels(weft_spmm_kernels *k, size_t *max_items,
                                 const weft_spmm_product *p, const weft_spmm_schedule *s,
                                 const program *peaks)
{
    TRY(rows_kernels(k, max_items, p, s, peaks, "spmm_peaks_csr_rows"));
    if (s->cut.n == 0)
        return WEFT_OK;
    TRY(kernel_for(&k->pieces, max_items, p, peaks, "spmm_peaks_csr_pieces"));
    return kernel_for(&k->combine, max_items, p, peaks, "spmm_peaks_csr_combine");
}

static weft_status kernels_for(weft_spmm_kernels *k, size_t *max_items, const weft_spmm_product *p,
                               const weft_spmm_schedule *s, bool is_scale)
{
    const bool is_peaks = weft_spmm_is_peaks(p->problem.reduction);
    program from;
    *k = (weft_spmm_kernels){0};
    if (is_peaks)
        peaks_program(&from, p, s);
    else
        sums_program(&from, p, s, s->tiling.bundles_per_copy > 0);
    if (is_scale || s->has_rows)
        TRY(scale_kernels(k, max_items, p, &from));
    return is_scale   ? WEFT_OK
           : is_peaks ? peaks_kernels(k, max_items, p, s, &from)
                      : sums_kernels(k, max_items, p, s, &from);
}

weft_status weft_spmm_prepare(weft_spmm_schedule *s, weft_spmm_kernels *k,
                              const weft_spmm_product *p, bool is_scale)
{
    weft_limits limits = p->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, p, &limits));
        s->has_rows = p->has_rows && !is_scale;
        const size_t wanted =
            (size_t)weft_spmm_team_items(&s->tiling) * (size_t)s->tiling.rows_per_group;
        size_t most = wanted;
        TRY(kernels_for(k, &most, p, s, is_scale));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, p->is_forced, "spmm"));
        if (fits)
            return WEFT_OK;
    }
}
