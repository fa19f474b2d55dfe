// SPDX-License-Identifier: Apache-2.0
// C = f(alpha op(A) B + beta C + bias) with A sparse, by all rows or by those that it stores.
// Checked by spmm_check.c, planned and built by spmm_schedule.c; here: arguments, enqueue.
#include <weft/spmm_dcsr.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "op/items.h"
#include "operand/csr_content.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/scratch.h"
#include "sparse/spmm_order.h"
#include "sparse/spmm_reduction.h"
#include "sparse/spmm_schedule.h"

static const int64_t MOST_LONG_GROUPS = 1 << 12; // of more, no core gets too many at once

// ---- arguments

// Values as kernels take them; the lists below point into it.
typedef struct {
    cl_int n_rows, n, k, rows_per_item, bundles_per_copy, groups_per_copy, window_from, window,
        n_ordered, has_order, n_pieces, has_list;
    cl_int c_rows; // of C
    cl_int run;    // rows of an item where spmm_scale and spmm_peaks_none write them
    cl_long nnz, piece, offsets_start, indices_start, values_start, values_batch;
    cl_mem offsets, indices, values, source, order, list, scratch;
    cl_mem B, C, bias, arguments, rows;
    cl_long rows_start, n_stored;
    cl_long b[4], c[4], places[4]; // start, row, column, batch
    cl_long bias_start, bias_step;
    cl_long scratch_start; // of the sums of pieces, in sums
    cl_long found_start;   // of where they were found, in entry numbers
    cl_long n_queues, queues_start;
    weft_scalar alpha, beta;
    size_t scalar_bytes;
} values;

static void matrix_values(values *v, const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    const weft_csr *A = p->A;
    const weft_spmm_plan *plan = p->plan, *kept = s->is_planned ? plan : NULL;
    const bool is_turned = plan && plan->transpose_a;
    v->n_rows = (cl_int)p->problem.m;
    v->nnz = A->nnz;
    v->offsets = is_turned ? plan->offsets : A->offsets;
    v->offsets_start = is_turned ? 0 : A->offsets_start;
    v->indices = is_turned ? plan->indices : A->indices;
    v->indices_start = is_turned ? 0 : A->indices_start;
    v->values = A->values;
    v->values_start = A->values_start;
    v->values_batch = A->values_batch_stride;
    // Where there is no such array some buffer must stand in: it is never read.
    v->source = is_turned ? plan->source : v->offsets;
    v->has_order = kept && kept->order;
    v->order = v->has_order ? kept->order : v->offsets;
    v->n_ordered = (cl_int)(kept ? kept->n_ordered : p->problem.m);
    v->has_list = kept && kept->pieces;
    v->list = v->has_list ? kept->pieces : v->offsets;
}

static void dense_values(cl_mem *buffer, cl_long strides[4], const weft_dense *d)
{
    *buffer = d->buffer;
    strides[0] = d->start;
    strides[1] = d->row;
    strides[2] = d->column;
    strides[3] = d->batch;
}

static void bias_values(values *v, const weft_tensor *bias)
{
    v->bias = bias->buffer;
    v->bias_start = bias->offset;
    v->bias_step = bias->stride[0];
}

static void rows_values(values *v, const weft_spmm_product *p)
{
    v->c_rows = (cl_int)p->n_rows;
    if (!p->has_rows)
        return;
    v->rows = p->stored->rows;
    v->rows_start = p->stored->rows_start;
    v->n_stored = p->stored->n_stored;
}

static values values_of(const weft_spmm_product *p, const weft_spmm_schedule *s, double alpha,
                        double beta)
{
    values v = {
        .n = (cl_int)p->problem.n,
        .k = (cl_int)p->problem.k,
        .rows_per_item = s->tiling.rows_per_item,
        .window_from = s->tiling.window_from,
        .window = s->tiling.window,
        .piece = s->cut.piece,
        .n_pieces = (cl_int)s->cut.n,
        .scratch_start = (cl_long)(s->packed_bytes / weft_sum_bytes(p->problem.dtype)),
        .found_start =
            (cl_long)((s->packed_bytes + s->cut.sums_bytes) / weft_dtype_size(p->offset_dtype)),
        .n_queues = s->n_queues,
        .queues_start = (cl_long)((s->packed_bytes + s->cut.sums_bytes + s->cut.places_bytes) /
                                  sizeof(cl_uint)),
    };
    matrix_values(&v, p, s);
    rows_values(&v, p);
    dense_values(&v.B, v.b, &p->B);
    dense_values(&v.C, v.c, &p->C);
    dense_values(&v.arguments, v.places, p->has_arguments ? &p->arguments : &p->C);
    if (p->bias_view)
        bias_values(&v, p->bias_view);
    v.scalar_bytes = weft_scalar_argument(&v.alpha, p->problem.dtype, alpha).size;
    weft_scalar_argument(&v.beta, p->problem.dtype, beta);
    return v;
}

static void add_pattern(weft_arguments *a, const values *v)
{
    ADD_ARGUMENT(a, v->n_rows);
    ADD_ARGUMENT(a, v->nnz);
    ADD_ARGUMENT(a, v->piece);
    ADD_ARGUMENT(a, v->offsets);
    ADD_ARGUMENT(a, v->indices);
    ADD_ARGUMENT(a, v->values);
    ADD_ARGUMENT(a, v->source);
    ADD_ARGUMENT(a, v->offsets_start);
    ADD_ARGUMENT(a, v->indices_start);
    ADD_ARGUMENT(a, v->values_start);
    ADD_ARGUMENT(a, v->values_batch);
}

static void add_dense(weft_arguments *a, const cl_mem *buffer, const cl_long strides[4])
{
    ADD_ARGUMENT(a, *buffer);
    for (int i = 0; i < 4; ++i)
        ADD_ARGUMENT(a, strides[i]);
}

static void add_rows(weft_arguments *a, const weft_spmm_schedule *s, const values *v)
{
    if (!s->has_rows)
        return;
    ADD_ARGUMENT(a, v->rows);
    ADD_ARGUMENT(a, v->rows_start);
    ADD_ARGUMENT(a, v->n_stored);
}

static void add_output(weft_arguments *a, const weft_spmm_product *p, const weft_spmm_schedule *s,
                       const values *v)
{
    add_dense(a, &v->C, v->c);
    if (p->bias_view) {
        ADD_ARGUMENT(a, v->bias);
        ADD_ARGUMENT(a, v->bias_start);
        ADD_ARGUMENT(a, v->bias_step);
    }
    add_rows(a, s, v);
}

static void add_scalars(weft_arguments *a, const values *v)
{
    weft_arguments_add(a, v->scalar_bytes, &v->alpha);
    weft_arguments_add(a, v->scalar_bytes, &v->beta);
}

static void add_pieces(weft_arguments *a, const values *v)
{
    ADD_ARGUMENT(a, v->n_pieces);
    ADD_ARGUMENT(a, v->has_list);
    ADD_ARGUMENT(a, v->list);
    ADD_ARGUMENT(a, v->scratch);
    ADD_ARGUMENT(a, v->scratch_start);
}

static void add_found(weft_arguments *a, const values *v)
{
    ADD_ARGUMENT(a, v->scratch);
    ADD_ARGUMENT(a, v->found_start);
}

static void add_queues(weft_arguments *a, const values *v)
{
    ADD_ARGUMENT(a, v->scratch);
    ADD_ARGUMENT(a, v->queues_start);
}

static void add_copy(weft_arguments *a, const weft_spmm_product *p, const weft_spmm_schedule *s,
                     const values *v)
{
    const int64_t row_bytes =
        weft_spmm_slice_columns(&s->tiling) * weft_sum_bytes(p->problem.dtype);
    ADD_ARGUMENT(a, v->bundles_per_copy);
    ADD_ARGUMENT(a, v->k);
    ADD_ARGUMENT(a, v->groups_per_copy);
    weft_arguments_add(a, (size_t)(p->problem.k * row_bytes), NULL);
}

static weft_arguments rows_arguments(const weft_spmm_product *p, const weft_spmm_schedule *s,
                                     const values *v)
{
    weft_arguments a = {0};
    add_pattern(&a, v);
    add_dense(&a, &v->B, v->b);
    add_output(&a, p, s, v);
    ADD_ARGUMENT(&a, v->n);
    add_scalars(&a, v);
    ADD_ARGUMENT(&a, v->rows_per_item);
    ADD_ARGUMENT(&a, v->n_ordered);
    ADD_ARGUMENT(&a, v->has_order);
    ADD_ARGUMENT(&a, v->order);
    if (s->n_queues > 0)
        add_queues(&a, v);
    if (s->tiling.bundles_per_copy > 0)
        add_copy(&a, p, s, v);
    if (weft_spmm_is_peaks(p->problem.reduction)) {
        add_dense(&a, &v->arguments, v->places);
    } else if (weft_spmm_has_segments(p, s)) {
        ADD_ARGUMENT(&a, v->window_from);
        ADD_ARGUMENT(&a, p->plan->segment_starts);
        ADD_ARGUMENT(&a, p->plan->segment_entries);
        ADD_ARGUMENT(&a, p->plan->segments);
    } else if (v->window > 0) {
        ADD_ARGUMENT(&a, v->window_from);
        ADD_ARGUMENT(&a, v->k);
        ADD_ARGUMENT(&a, v->window);
    }
    return a;
}

static weft_arguments queues_arguments(const values *v)
{
    weft_arguments a = {0};
    add_queues(&a, v);
    ADD_ARGUMENT(&a, v->n_queues);
    return a;
}

static weft_arguments pieces_arguments(const weft_spmm_product *p, const values *v)
{
    weft_arguments a = {0};
    add_pattern(&a, v);
    add_dense(&a, &v->B, v->b);
    ADD_ARGUMENT(&a, v->n);
    add_pieces(&a, v);
    if (weft_spmm_is_peaks(p->problem.reduction))
        add_found(&a, v);
    return a;
}

static weft_arguments combine_arguments(const weft_spmm_product *p, const weft_spmm_schedule *s,
                                        const values *v)
{
    weft_arguments a = {0};
    add_pattern(&a, v);
    add_output(&a, p, s, v);
    ADD_ARGUMENT(&a, v->n);
    add_scalars(&a, v);
    add_pieces(&a, v);
    if (weft_spmm_is_peaks(p->problem.reduction)) {
        add_found(&a, v);
        add_dense(&a, &v->arguments, v->places);
    }
    return a;
}

static weft_arguments pack_arguments(const values *v)
{
    weft_arguments a = {0};
    add_dense(&a, &v->B, v->b);
    ADD_ARGUMENT(&a, v->k);
    ADD_ARGUMENT(&a, v->n);
    ADD_ARGUMENT(&a, v->rows_per_item);
    ADD_ARGUMENT(&a, v->scratch);
    return a;
}

static weft_arguments scale_arguments(const weft_spmm_product *p, const weft_spmm_schedule *s,
                                      const values *v)
{
    weft_arguments a = {0};
    add_output(&a, p, s, v);
    ADD_ARGUMENT(&a, v->c_rows);
    ADD_ARGUMENT(&a, v->n);
    ADD_ARGUMENT(&a, v->run);
    weft_arguments_add(&a, v->scalar_bytes, &v->beta);
    return a;
}

static weft_arguments none_arguments(const weft_spmm_schedule *s, const values *v)
{
    weft_arguments a = {0};
    add_dense(&a, &v->arguments, v->places);
    add_rows(&a, s, v);
    ADD_ARGUMENT(&a, v->c_rows);
    ADD_ARGUMENT(&a, v->n);
    ADD_ARGUMENT(&a, v->run);
    return a;
}

// ---- enqueue

// Groups of so many items along x and the tiling's rows, groups_x x groups_y for each matrix of the
// batch.
static weft_status enqueue_groups(weft_launch *launch, weft_kernel *kernel, const weft_arguments *a,
                                  int64_t items, const weft_spmm_tiling *tiling, int64_t groups_x,
                                  int64_t groups_y, int64_t n_batches)
{
    const size_t local[3] = {(size_t)items, (size_t)tiling->rows_per_group, 1};
    const size_t global[3] = {(size_t)groups_x * local[0], (size_t)groups_y * local[1],
                              (size_t)n_batches};
    return weft_launch_kernel(launch, kernel, a->n, a->list, global, local);
}

static weft_status enqueue(weft_launch *launch, weft_kernel *kernel, const weft_arguments *a,
                           const weft_spmm_tiling *tiling, int64_t groups_x, int64_t groups_y,
                           int64_t n_batches)
{
    return enqueue_groups(launch, kernel, a, tiling->lanes, tiling, groups_x, groups_y, n_batches);
}

// The same for kernels that sum rows, whose slices may have teams.
static weft_status enqueue_teams(weft_launch *launch, weft_kernel *kernel, const weft_arguments *a,
                                 const weft_spmm_tiling *tiling, int64_t groups_x, int64_t groups_y,
                                 int64_t n_batches)
{
    return enqueue_groups(launch, kernel, a, weft_spmm_team_items(tiling), tiling, groups_x,
                          groups_y, n_batches);
}

// Rows of a bundle.
static int64_t rows_of_group(const weft_spmm_schedule *s)
{
    return (int64_t)s->tiling.rows_per_group * s->tiling.rows_per_item;
}

// From here on B is what spmm_pack leaves in scratch memory.
static weft_status enqueue_pack(weft_launch *launch, const weft_spmm_product *p,
                                const weft_spmm_schedule *s, const weft_spmm_kernels *k, values *v)
{
    const weft_arguments a = pack_arguments(v);
    TRY(enqueue(launch, k->pack, &a, &s->tiling, ceil_div(p->problem.k, rows_of_group(s)),
                s->n_slices, p->problem.n_batches));
    const int64_t slice = p->problem.k * weft_spmm_slice_columns(&s->tiling);
    v->B = v->scratch;
    v->b[0] = 0;
    v->b[1] = weft_spmm_slice_columns(&s->tiling);
    v->b[2] = slice;
    v->b[3] = slice * s->n_slices;
    return WEFT_OK;
}

static weft_status enqueue_queues(weft_launch *launch, const weft_spmm_schedule *s,
                                  const weft_spmm_kernels *k, const values *v)
{
    const weft_arguments a = queues_arguments(v);
    const int64_t items = (int64_t)s->tiling.lanes * s->tiling.rows_per_group;
    return enqueue(launch, k->queues, &a, &s->tiling, ceil_div(s->n_queues, items), 1, 1);
}

// A group for each bundle of rows; or as many as fit the device, which take them from queues.
static weft_status enqueue_rows(weft_launch *launch, const weft_spmm_product *p,
                                const weft_spmm_schedule *s, const weft_spmm_kernels *k,
                                const values *v, int64_t n_bundles)
{
    if (s->n_queues > 0) {
        TRY(enqueue_queues(launch, s, k, v));
        n_bundles = min_i64(n_bundles, weft_spmm_held_groups(&s->tiling, &p->ctx->limits));
    }
    const weft_arguments a = rows_arguments(p, s, v);
    return enqueue_teams(launch, k->rows, &a, &s->tiling, n_bundles, s->n_slices,
                         p->problem.n_batches);
}

// A group for each run of bundles and each slice of B, which it copies. A CPU has few and long
// ones.
static weft_status enqueue_held(weft_launch *launch, const weft_spmm_product *p,
                                const weft_spmm_schedule *s, const weft_spmm_kernels *k, values *v,
                                int64_t n_bundles)
{
    const int64_t n_groups = ceil_div(n_bundles, s->tiling.bundles_per_copy) * s->n_slices;
    const bool is_few = s->tiling.lanes == 1 && n_groups <= MOST_LONG_GROUPS;
    v->bundles_per_copy = (cl_int)min_i64(s->tiling.bundles_per_copy, n_bundles);
    v->groups_per_copy = is_few ? WEFT_GROUPS_OF_A_LONG_ONE : 1;
    const weft_arguments a = rows_arguments(p, s, v);
    return enqueue(launch, k->rows, &a, &s->tiling, n_groups * v->groups_per_copy, 1,
                   p->problem.n_batches);
}

// Groups along n where each item has one vector.
static int64_t vector_groups(const weft_spmm_product *p, const weft_spmm_tiling *tiling)
{
    return ceil_div(p->problem.n, (int64_t)tiling->fold * tiling->lanes);
}

static weft_status enqueue_pieces(weft_launch *launch, const weft_spmm_product *p,
                                  const weft_spmm_schedule *s, const weft_spmm_kernels *k,
                                  const values *v)
{
    const weft_spmm_tiling *tiling = &s->tiling;
    const int64_t bundles = ceil_div(s->cut.n, tiling->rows_per_group);
    const weft_arguments sums = pieces_arguments(p, v);
    TRY(enqueue_teams(launch, k->pieces, &sums, tiling, bundles, s->n_slices,
                      p->problem.n_batches));
    const weft_arguments combine = combine_arguments(p, s, v);
    return enqueue(launch, k->combine, &combine, tiling, bundles, vector_groups(p, tiling),
                   p->problem.n_batches);
}

// Rows are all alike here: as many groups as the device is kept busy by.
static int64_t scaled_rows(const weft_spmm_product *p, const weft_spmm_schedule *s)
{
    const int64_t slices = p->n_rows * s->n_slices * p->problem.n_batches;
    return weft_items_run(&p->ctx->limits, s->tiling.rows_per_group, slices);
}

// Whether C = f(beta C + bias) is C.
static bool stays(const weft_spmm_product *p, double beta)
{
    return weft_rounded(p->problem.dtype, beta) == 1 && !p->bias_view &&
           p->activation == WEFT_ACTIVATION_NONE;
}

// C = f(beta C + bias), and no arguments, in all rows or in those that A does not store.
static weft_status enqueue_scale(weft_launch *launch, const weft_spmm_product *p,
                                 const weft_spmm_schedule *s, const weft_spmm_kernels *k, values *v,
                                 double beta)
{
    v->run = (cl_int)scaled_rows(p, s);
    const int64_t bundles = ceil_div(p->n_rows, (int64_t)s->tiling.rows_per_group * v->run);
    const weft_arguments scale = scale_arguments(p, s, v), none = none_arguments(s, v);
    if (!stays(p, beta))
        TRY(enqueue(launch, k->scale, &scale, &s->tiling, bundles, s->n_slices,
                    p->problem.n_batches));
    return k->none ? enqueue(launch, k->none, &none, &s->tiling, bundles, s->n_slices,
                             p->problem.n_batches)
                   : WEFT_OK;
}

static weft_status enqueue_kernels(weft_launch *launch, const weft_spmm_product *p,
                                   const weft_spmm_schedule *s, const weft_spmm_kernels *k,
                                   values *v, double beta)
{
    if (s->has_rows && p->n_rows > p->problem.m)
        TRY(enqueue_scale(launch, p, s, k, v, beta));
    if (s->tiling.packed)
        TRY(enqueue_pack(launch, p, s, k, v));
    const int64_t n_bundles = ceil_div(v->n_ordered, rows_of_group(s));
    if (n_bundles > 0) // else every row is long
        TRY(s->tiling.bundles_per_copy > 0 ? enqueue_held(launch, p, s, k, v, n_bundles)
                                           : enqueue_rows(launch, p, s, k, v, n_bundles));
    return s->cut.n > 0 ? enqueue_pieces(launch, p, s, k, v) : WEFT_OK;
}

weft_status weft_spmm_run(weft_launch *launch, const weft_spmm_product *p, double alpha,
                          double beta, cl_mem workspace)
{
    if (weft_spmm_is_empty(p))
        return WEFT_OK;
    const bool is_scale =
        weft_rounded(p->problem.dtype, alpha) == 0 || p->problem.nnz == 0 || p->problem.k == 0;
    weft_spmm_schedule s;
    weft_spmm_kernels k;
    TRY(weft_spmm_prepare(&s, &k, p, is_scale));
    values v = values_of(p, &s, alpha, beta);
    if (is_scale)
        return enqueue_scale(launch, p, &s, &k, &v, beta);
    if (workspace && weft_spmm_scratch_bytes(&s) > 0)
        TRY(weft_spmm_workspace_check(p, workspace, weft_spmm_scratch_bytes(&s)));
    TRY(weft_scratch_begin(launch, workspace, weft_spmm_scratch_bytes(&s), &v.scratch));
    const weft_status status = enqueue_kernels(launch, p, &s, &k, &v, beta);
    weft_scratch_end(launch, workspace, v.scratch);
    return status;
}

static weft_status given(const weft_dcsr *A)
{
    return A ? WEFT_OK : fail(WEFT_BAD_ARGUMENT, "spmm: A is NULL");
}

// A: all rows, or those that `stored` stores.
static weft_status multiply(weft_context *ctx, cl_command_queue queue, double alpha,
                            const weft_csr *A, const weft_dcsr *stored, const weft_tensor *B,
                            double beta, const weft_tensor *C, const weft_spmm_params *params)
{
    params = params ? params : WEFT_SPMM(.plan = NULL);
    weft_spmm_product p;
    TRY(weft_spmm_check(&p, ctx, A, stored, B, C, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "spmm", params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, A, "A"));
    if (stored)
        TRY(weft_rows_content_check(&launch, stored, "A"));
    const weft_status status = weft_spmm_run(&launch, &p, alpha, beta, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha, const weft_csr *A,
                      const weft_tensor *B, double beta, const weft_tensor *C,
                      const weft_spmm_params *params)
{
    return multiply(ctx, queue, alpha, A, NULL, B, beta, C, params);
}

weft_status weft_spmm_dcsr(weft_context *ctx, cl_command_queue queue, double alpha,
                           const weft_dcsr *A, const weft_tensor *B, double beta,
                           const weft_tensor *C, const weft_spmm_params *params)
{
    TRY(given(A));
    const weft_csr stored = weft_dcsr_stored(A);
    return multiply(ctx, queue, alpha, &stored, A, B, beta, C, params);
}

// ---- what a call would do

weft_status weft_spmm_wants(size_t *bytes, const weft_spmm_product *p)
{
    *bytes = 0;
    if (weft_spmm_is_empty(p) || p->problem.nnz == 0)
        return WEFT_OK;
    weft_spmm_schedule s;
    weft_spmm_kernels k;
    TRY(weft_spmm_prepare(&s, &k, p, false));
    *bytes = weft_spmm_scratch_bytes(&s);
    return WEFT_OK;
}

static weft_status workspace_of(weft_context *ctx, const weft_csr *A, const weft_dcsr *stored,
                                const weft_tensor *B, const weft_tensor *C,
                                const weft_spmm_params *params, size_t *bytes)
{
    *bytes = 0;
    weft_spmm_product p;
    TRY(weft_spmm_check(&p, ctx, A, stored, B, C, params ? params : WEFT_SPMM(.plan = NULL)));
    return weft_spmm_wants(bytes, &p);
}

weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spmm_workspace: bytes is NULL");
    return workspace_of(ctx, A, NULL, B, C, params, bytes);
}

weft_status weft_spmm_dcsr_workspace(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                                     const weft_tensor *C, const weft_spmm_params *params,
                                     size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spmm_workspace: bytes is NULL");
    *bytes = 0;
    TRY(given(A));
    const weft_csr stored = weft_dcsr_stored(A);
    return workspace_of(ctx, &stored, A, B, C, params, bytes);
}

static const char *result_words(const weft_spmm_product *p)
{
    static const char *const words[] = {
        [WEFT_SPMM_SUM] = "",
        [WEFT_SPMM_MEAN] = "; means",
        [WEFT_SPMM_MAX] = "; largest products",
        [WEFT_SPMM_MIN] = "; smallest products",
    };
    return words[p->problem.reduction];
}

// What C goes through at the end: "; bias; relu".
static const char *end_words(const weft_spmm_product *p, char *text, size_t size)
{
    const bool is_activated = p->activation != WEFT_ACTIVATION_NONE;
    snprintf(text, size, "%s%s%s", p->bias_view ? "; bias" : "", is_activated ? "; " : "",
             is_activated ? weft_activation_name(p->activation) : "");
    return text;
}

// "; rows that are not stored: 997"
static const char *rows_words(const weft_spmm_product *p, char *text, size_t size)
{
    snprintf(text, size, "%s", "");
    if (p->has_rows)
        snprintf(text, size, "; rows that are not stored: %" PRId64, p->n_rows - p->problem.m);
    return text;
}

static int describe(weft_context *ctx, const weft_csr *A, const weft_dcsr *stored,
                    const weft_tensor *B, const weft_tensor *C, const weft_spmm_params *params,
                    char *text, size_t size)
{
    weft_spmm_product p;
    weft_spmm_schedule s;
    weft_spmm_kernels k;
    params = params ? params : WEFT_SPMM(.plan = NULL);
    if (weft_spmm_check(&p, ctx, A, stored, B, C, params) != WEFT_OK)
        return -1;
    if (weft_spmm_is_empty(&p))
        return snprintf(text, size, "nothing to do");
    if (weft_spmm_prepare(&s, &k, &p, p.problem.nnz == 0) != WEFT_OK)
        return -1;
    char tiling[256], ends[64], rows[64], order[192] = "no plan";
    if (p.plan && !s.is_planned)
        snprintf(order, sizeof(order),
                 "as they come: scratch memory has no room for %" PRId64 " pieces of %" PRId64,
                 p.plan->n_pieces, p.plan->piece);
    weft_spmm_tiling_print(&s.tiling, tiling, sizeof(tiling));
    if (s.is_planned)
        weft_spmm_order_print(p.plan, s.unqueued, order, sizeof(order));
    return snprintf(text, size, "%s; %s%s, %" PRId64 " pieces of long rows%s%s%s", tiling, order,
                    weft_spmm_has_segments(&p, &s) ? " in segments" : "", s.cut.n,
                    rows_words(&p, rows, sizeof(rows)), result_words(&p),
                    end_words(&p, ends, sizeof(ends)));
}

int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                       const weft_tensor *C, const weft_spmm_params *params, char *text,
                       size_t size)
{
    return describe(ctx, A, NULL, B, C, params, text, size);
}

int weft_spmm_dcsr_describe(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                            const weft_tensor *C, const weft_spmm_params *params, char *text,
                            size_t size)
{
    if (given(A) != WEFT_OK)
        return -1;
    const weft_csr stored = weft_dcsr_stored(A);
    return describe(ctx, &stored, A, B, C, params, text, size);
}
