// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B) .* C + beta D at the entries of a sparse C. Checked by sddmm_check.c; here: plan,
// defines, arguments, enqueue.
#include <weft/sddmm.h>

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
#include "sparse/sddmm_product.h"

// ---- plan

// How a call runs: its tiling, and what it wants in scratch memory: a tile of B packed, or all of
// it turned, then the sums that wait for further tiles. The last of several launches takes the
// vectors that are left.
typedef struct {
    weft_sddmm_tiling tiling;
    int64_t last_from; // where along k the last launch begins: 0 where there is one
    int last_vectors;
    int64_t n_groups;
    size_t copy_bytes, sums_bytes;
} schedule;

static const size_t WINDOW_ARGUMENTS = 2; // the last ones, where there are windows
static const int MOST_SHUFFLED_LANES = 8; // usual sub-groups have as many, and kernels look

// Elements along k of one vector of each lane.
static int64_t step_of(const weft_sddmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->fold;
}

static int64_t tile_of(const weft_sddmm_tiling *tiling)
{
    return tiling->vectors * step_of(tiling);
}

static bool is_several(const weft_sddmm_product *p, const weft_sddmm_tiling *tiling)
{
    return tiling->passes && p->problem.k > tile_of(tiling);
}

// Whether one launch goes through all tiles that are alike, each from end to end.
static bool sweeps_tiles(const weft_sddmm_tiling *tiling)
{
    return tiling->window > 0 && !tiling->packed;
}

// After schedule_scratch(), which may do without passes.
static void schedule_last(schedule *s, const weft_sddmm_product *p)
{
    const int64_t k = p->problem.k, tile = tile_of(&s->tiling);
    s->last_vectors = s->tiling.vectors;
    if (!is_several(p, &s->tiling) && s->tiling.window == 0)
        return;
    s->last_from = (k - 1) / tile * tile;
    s->last_vectors = (int)ceil_div(k - s->last_from, step_of(&s->tiling));
    if (sweeps_tiles(&s->tiling) && s->last_vectors == s->tiling.vectors)
        s->last_from = 0;
}

static size_t scratch_bytes(const schedule *s)
{
    return s->copy_bytes + s->sums_bytes;
}

static bool count_scratch(schedule *s, const weft_sddmm_product *p)
{
    const weft_sddmm_problem *problem = &p->problem;
    const weft_sddmm_tiling *tiling = &s->tiling;
    const int64_t size = (int64_t)weft_dtype_size(problem->dtype);
    const int64_t sum_size = weft_sum_bytes(problem->dtype);
    const int64_t along_k = tiling->turned ? problem->k : tile_of(tiling);
    const bool is_copied = tiling->turned || tiling->packed;
    s->copy_bytes = s->sums_bytes = 0;
    return (!is_copied ||
            weft_scratch_for(&s->copy_bytes, problem->n, along_k, problem->n_batches, size)) &&
           (!is_several(p, tiling) ||
            weft_scratch_for(&s->sums_bytes, problem->nnz, problem->n_batches, sum_size, 1));
}

// What scratch memory is short of is left out, unless it was asked for.
static weft_status schedule_scratch(schedule *s, const weft_sddmm_product *p,
                                    const weft_limits *limits)
{
    const uint64_t most = weft_workspace_most(p->ctx);
    bool counts = count_scratch(s, p);
    if (p->is_forced && !counts)
        return fail(WEFT_NO_MEMORY,
                    "sddmm: sums of %" PRId64 " entries and copies of %" PRId64
                    " columns of B, for each of %" PRId64 " matrices, are too large",
                    p->problem.nnz, p->problem.n, p->problem.n_batches);
    if (p->is_forced)
        return WEFT_OK;
    const bool has_less = s->tiling.window > 0 || s->tiling.turned;
    if (has_less && (!counts || scratch_bytes(s) > most)) {
        s->tiling = weft_sddmm_tiling_short_of(limits, &p->problem, most);
        counts = count_scratch(s, p);
    }
    if (!counts || scratch_bytes(s) > most) {
        if (s->tiling.packed)
            refuse("packed B", "scratch memory has room for %" PRIu64 " bytes", most);
        s->tiling.ahead = p->problem.b_adjacent ? s->tiling.ahead : 0;
        s->tiling.packed = false;
        counts = count_scratch(s, p);
    }
    if (!counts || scratch_bytes(s) > most) {
        if (s->tiling.passes)
            refuse("a pass for each tile of k", "scratch memory has room for %" PRIu64 " bytes",
                   most);
        s->tiling.passes = false;
        count_scratch(s, p);
    }
    return WEFT_OK;
}

static weft_status schedule_for(schedule *s, const weft_sddmm_product *p, const weft_limits *limits,
                                bool is_scale)
{
    *s = (schedule){
        .tiling = p->is_forced ? p->forced : weft_sddmm_tiling_for(limits, &p->problem),
    };
    if (!is_scale) {
        TRY(schedule_scratch(s, p, limits));
        schedule_last(s, p);
    }
    const int64_t slices = ceil_div(p->problem.nnz, s->tiling.entries);
    s->n_groups = ceil_div(slices, s->tiling.slices_per_group);
    return WEFT_OK;
}

// Slices of rows side by side are few and long.
static int64_t groups_per_bundle(const weft_sddmm_tiling *tiling)
{
    return tiling->window > 0 ? WEFT_GROUPS_OF_A_LONG_ONE : 1;
}

// ---- defines

static void defines_of(weft_defines *defines, const weft_sddmm_product *p,
                       const weft_sddmm_tiling *tiling, int vectors)
{
    const weft_csr *C = p->C;
    const bool has_short_indices = weft_dtype_or(C->index_dtype, WEFT_I32) == WEFT_I16;
    weft_defines_add_dtype(defines, "DTYPE", p->problem.dtype);
    if (weft_widens(p->problem.dtype, p->D_view->dtype))
        weft_defines_add(defines, "WIDE", 1);
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "VECTORS", vectors);
    weft_defines_add(defines, "SLICES_PER_GROUP", tiling->slices_per_group);
    weft_defines_add_sub_group(defines, p->ctx->least_subgroup, 0);
    weft_defines_add(defines, "A_ADJACENT", p->problem.a_adjacent);
    weft_defines_add(defines, "B_ADJACENT", p->problem.b_adjacent || tiling->turned);
    weft_defines_add(defines, "PACKED", tiling->packed);
    weft_defines_add(defines, "INDICATOR", p->indicator);
    weft_defines_add(defines, "AHEAD", tiling->ahead);
    weft_defines_add_shuffles(defines, p->ctx,
                              tiling->lanes > 1 && tiling->lanes <= MOST_SHUFFLED_LANES);
    weft_defines_add(defines, "GROUPS_PER_BUNDLE", groups_per_bundle(tiling));
    if (tiling->turned)
        weft_defines_add(defines, "TURNED_BLOCK", WEFT_SDDMM_TURNED_BLOCK);
    weft_defines_add_word(defines, "OFFSET", C->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(defines, "INDEX", has_short_indices ? "short" : "int");
}

// Of a launch through a tile of k, or through all of it.
typedef struct {
    weft_kernel *pack, *entries;
} tile_kernels;

// The kernels of one call; NULL where it needs none.
typedef struct {
    tile_kernels whole, last; // of the launches before the last, and of that
    weft_kernel *turn, *scale;
} kernels;

static weft_status kernel_for(weft_kernel **out, size_t *max_items, const weft_sddmm_product *p,
                              const weft_defines *defines, const char *name)
{
    return weft_kernel_narrow(out, max_items, p->ctx, &weft_source_sddmm, defines, name);
}

static weft_status tile_kernels_for(tile_kernels *k, size_t *max_items, const weft_sddmm_product *p,
                                    const weft_sddmm_tiling *tiling, int vectors)
{
    weft_defines defines = {0};
    defines_of(&defines, p, tiling, vectors);
    if (tiling->packed)
        TRY(kernel_for(&k->pack, max_items, p, &defines, "sddmm_pack"));
    return kernel_for(&k->entries, max_items, p, &defines,
                      tiling->window > 0 ? "sddmm_csr_windows" : "sddmm_csr_entries");
}

static weft_status kernels_for(kernels *k, size_t *max_items, const weft_sddmm_product *p,
                               const schedule *s, bool is_scale)
{
    *k = (kernels){0};
    if (is_scale) {
        weft_defines defines = {0};
        defines_of(&defines, p, &s->tiling, s->tiling.vectors);
        return kernel_for(&k->scale, max_items, p, &defines, "sddmm_scale");
    }
    if (s->last_from > 0)
        TRY(tile_kernels_for(&k->whole, max_items, p, &s->tiling, s->tiling.vectors));
    if (s->tiling.turned) {
        weft_defines defines = {0};
        defines_of(&defines, p, &s->tiling, s->last_vectors);
        TRY(kernel_for(&k->turn, max_items, p, &defines, "sddmm_turn"));
    }
    return tile_kernels_for(&k->last, max_items, p, &s->tiling, s->last_vectors);
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, kernels *k, const weft_sddmm_product *p, bool is_scale)
{
    weft_limits limits = p->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, p, &limits, is_scale));
        const size_t wanted = (size_t)s->tiling.lanes * (size_t)s->tiling.slices_per_group;
        size_t most = wanted;
        TRY(kernels_for(k, &most, p, s, is_scale));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, p->is_forced, "sddmm"));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments and enqueue

// A call on its way: scalars as kernels take them, and scratch memory.
typedef struct {
    weft_launch *launch;
    const weft_sddmm_product *p;
    const schedule *s;
    const kernels *k;
    double alpha, beta;
    cl_mem scratch; // NULL where none is needed
} errand;

static weft_status enqueue(const errand *e, weft_kernel *kernel, size_t n,
                           const weft_argument *arguments, int64_t n_groups)
{
    const weft_sddmm_tiling *tiling = &e->s->tiling;
    const size_t local[3] = {(size_t)tiling->lanes, (size_t)tiling->slices_per_group, 1};
    const size_t global[3] = {(size_t)n_groups * local[0], local[1],
                              (size_t)e->p->problem.n_batches};
    return weft_launch_kernel(e->launch, kernel, n, arguments, global, local);
}

#define ENQUEUE(e, kernel, arguments, n_groups)                                                    \
    enqueue(e, kernel, sizeof(arguments) / sizeof((arguments)[0]), arguments, n_groups)

#define DENSE_ARGUMENTS(d)                                                                         \
    ARGUMENT((d).buffer), ARGUMENT((d).start), ARGUMENT((d).row), ARGUMENT((d).column),            \
        ARGUMENT((d).batch)

// What one launch goes through of k: a tile so long, several, or all of it.
typedef struct {
    const tile_kernels *kernels;
    int64_t tile;
    cl_int from, upto;
} stretch;

static weft_status enqueue_turn(const errand *e)
{
    const weft_sddmm_product *p = e->p;
    const cl_int n = (cl_int)p->problem.n, k = (cl_int)p->problem.k;
    const weft_argument arguments[] = {
        DENSE_ARGUMENTS(p->B),
        ARGUMENT(n),
        ARGUMENT(k),
        ARGUMENT(e->scratch),
    };
    return ENQUEUE(e, e->k->turn, arguments,
                   ceil_div(k, WEFT_SDDMM_TURNED_BLOCK) * ceil_div(n, WEFT_SDDMM_TURNED_BLOCK));
}

static weft_status enqueue_pack(const errand *e, const stretch *of)
{
    const weft_sddmm_product *p = e->p;
    const cl_int n = (cl_int)p->problem.n, k = (cl_int)p->problem.k;
    const weft_argument arguments[] = {
        DENSE_ARGUMENTS(p->B), ARGUMENT(n), ARGUMENT(k), ARGUMENT(of->from), ARGUMENT(e->scratch),
    };
    const int64_t columns = (int64_t)e->s->tiling.slices_per_group * e->s->tiling.fold;
    return ENQUEUE(e, of->kernels->pack, arguments, ceil_div(p->problem.n, columns));
}

// B as the entries' kernel finds it: where sddmm_pack has put a tile of it, or sddmm_turn all of
// it, or where it is.
static weft_dense tile_of_B(const errand *e, int64_t tile)
{
    const weft_sddmm_tiling *tiling = &e->s->tiling;
    const int64_t column = tiling->turned ? e->p->problem.k : tile;
    const weft_dense copy = {e->scratch, 0, 1, column, column * e->p->problem.n};
    return tiling->packed || tiling->turned ? copy : e->p->B;
}

static weft_status enqueue_entries(const errand *e, const stretch *of)
{
    const weft_sddmm_product *p = e->p;
    const weft_csr *C = p->C;
    const weft_dense B = tile_of_B(e, of->tile);
    const cl_int n_rows = (cl_int)p->problem.m, n = (cl_int)p->problem.n, k = (cl_int)p->problem.k;
    const int64_t sum_size = weft_sum_bytes(p->problem.dtype);
    const cl_long sums_start = (int64_t)e->s->copy_bytes / sum_size;
    // Where there is no such array some buffer must stand in: it is never touched.
    const cl_mem values = p->indicator ? C->offsets : C->values;
    const cl_mem sums = e->s->sums_bytes > 0 ? e->scratch : p->D_view->buffer;
    weft_scalar alpha, beta;
    const weft_argument arguments[] = {
        DENSE_ARGUMENTS(p->A),
        DENSE_ARGUMENTS(B),
        ARGUMENT(n_rows),
        ARGUMENT(C->nnz),
        ARGUMENT(C->offsets),
        ARGUMENT(C->indices),
        ARGUMENT(C->offsets_start),
        ARGUMENT(C->indices_start),
        ARGUMENT(values),
        ARGUMENT(C->values_start),
        ARGUMENT(C->values_batch_stride),
        ARGUMENT(p->D_view->buffer),
        ARGUMENT(p->D_view->offset),
        ARGUMENT(p->d_batch),
        ARGUMENT(k),
        ARGUMENT(of->from),
        ARGUMENT(of->upto),
        ARGUMENT(e->s->tiling.entries),
        weft_scalar_argument(&alpha, p->problem.dtype, e->alpha),
        weft_scalar_argument(&beta, p->problem.dtype, e->beta),
        ARGUMENT(sums),
        ARGUMENT(sums_start),
        ARGUMENT(n), // from here on where there are windows
        ARGUMENT(e->s->tiling.window),
    };
    const size_t n_arguments = sizeof(arguments) / sizeof(arguments[0]);
    return enqueue(e, of->kernels->entries,
                   n_arguments - (e->s->tiling.window > 0 ? 0 : WINDOW_ARGUMENTS), arguments,
                   e->s->n_groups * groups_per_bundle(&e->s->tiling));
}

static weft_status enqueue_scale(const errand *e)
{
    const weft_sddmm_product *p = e->p;
    weft_scalar beta;
    const weft_argument arguments[] = {
        ARGUMENT(p->problem.nnz),       ARGUMENT(p->D_view->buffer),
        ARGUMENT(p->D_view->offset),    ARGUMENT(p->d_batch),
        ARGUMENT(e->s->tiling.entries), weft_scalar_argument(&beta, p->problem.dtype, e->beta),
    };
    return ENQUEUE(e, e->k->scale, arguments, e->s->n_groups);
}

static weft_status enqueue_stretch(const errand *e, const stretch *of)
{
    if (e->s->tiling.packed)
        TRY(enqueue_pack(e, of));
    return enqueue_entries(e, of);
}

static weft_status enqueue_tiles(const errand *e)
{
    const schedule *s = e->s;
    const int64_t tile = tile_of(&s->tiling);
    const int64_t step = sweeps_tiles(&s->tiling) ? s->last_from : tile;
    if (s->tiling.turned)
        TRY(enqueue_turn(e));
    for (int64_t from = 0; from < s->last_from; from += step) {
        const stretch whole = {&e->k->whole, tile, (cl_int)from, (cl_int)(from + step)};
        TRY(enqueue_stretch(e, &whole));
    }
    const stretch last = {&e->k->last, s->last_vectors * step_of(&s->tiling), (cl_int)s->last_from,
                          (cl_int)e->p->problem.k};
    return enqueue_stretch(e, &last);
}

weft_status weft_sddmm_run(weft_launch *launch, const weft_sddmm_product *p, double alpha,
                           double beta, cl_mem workspace)
{
    if (weft_sddmm_is_empty(p))
        return WEFT_OK;
    const bool is_scale = weft_rounded(p->problem.dtype, alpha) == 0 || p->problem.k == 0;
    schedule s;
    kernels k;
    TRY(prepare(&s, &k, p, is_scale));
    errand e = {.launch = launch, .p = p, .s = &s, .k = &k, .alpha = alpha, .beta = beta};
    if (is_scale)
        return enqueue_scale(&e);
    if (workspace && scratch_bytes(&s) > 0)
        TRY(weft_sddmm_workspace_check(p, workspace, scratch_bytes(&s)));
    TRY(weft_scratch_begin(launch, workspace, scratch_bytes(&s), &e.scratch));
    const weft_status status = enqueue_tiles(&e);
    weft_scratch_end(launch, workspace, e.scratch);
    return status;
}

weft_status weft_sddmm(weft_context *ctx, cl_command_queue queue, double alpha,
                       const weft_tensor *A, const weft_tensor *B, const weft_csr *C, double beta,
                       const weft_tensor *D, const weft_sddmm_params *params)
{
    params = params ? params : WEFT_SDDMM(.indicator = false);
    weft_sddmm_product p;
    TRY(weft_sddmm_check(&p, ctx, A, B, C, D, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "sddmm", params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, C, "C"));
    const weft_status status = weft_sddmm_run(&launch, &p, alpha, beta, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

weft_status weft_sddmm_wants(size_t *bytes, const weft_sddmm_product *p)
{
    *bytes = 0;
    if (weft_sddmm_is_empty(p) || p->problem.k == 0)
        return WEFT_OK;
    schedule s;
    kernels k;
    TRY(prepare(&s, &k, p, false));
    *bytes = scratch_bytes(&s);
    return WEFT_OK;
}

weft_status weft_sddmm_workspace(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                 const weft_csr *C, const weft_tensor *D,
                                 const weft_sddmm_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "sddmm_workspace: bytes is NULL");
    *bytes = 0;
    weft_sddmm_product p;
    TRY(weft_sddmm_check(&p, ctx, A, B, C, D, params ? params : WEFT_SDDMM(.indicator = false)));
    return weft_sddmm_wants(bytes, &p);
}

int weft_sddmm_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                        const weft_csr *C, const weft_tensor *D, const weft_sddmm_params *params,
                        char *text, size_t size)
{
    weft_sddmm_product p;
    schedule s;
    kernels k;
    params = params ? params : WEFT_SDDMM(.indicator = false);
    if (weft_sddmm_check(&p, ctx, A, B, C, D, params) != WEFT_OK)
        return -1;
    if (weft_sddmm_is_empty(&p))
        return snprintf(text, size, "nothing to do");
    if (p.problem.k == 0)
        return snprintf(text, size, "D = beta D");
    if (prepare(&s, &k, &p, false) != WEFT_OK)
        return -1;
    return weft_sddmm_tiling_print(&s.tiling, text, size);
}
