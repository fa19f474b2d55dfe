// SPDX-License-Identifier: Apache-2.0
// Plan objects: read a sparsity pattern once, order its rows, cut long ones into row chunks, and
// transpose it for A^T.
#include <weft/spmm_dcsr.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/dtype.h"
#include "base/element.h"
#include "base/params.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"
#include "runtime/buffer.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/notes.h"
#include "sparse/pattern.h"
#include "sparse/sparse_limits.h"
#include "sparse/spmm_call.h"
#include "sparse/spmm_order.h"
#include "sparse/spmm_segments.h"
#include "sparse/spmm_tiling.h"

enum { TYPICAL_COLUMNS = 128 }; // of B, in the products that a plan is made for

static void pattern_free(weft_pattern *p)
{
    free(p->offsets);
    free(p->indices);
    free(p->source);
    *p = (weft_pattern){0};
}

static weft_status read_stand_in(void *out, const weft_context *ctx, cl_mem buffer, int64_t start,
                                 int64_t n, size_t size)
{
    const char *data = weft_notes_data(ctx->notes, buffer);
    if (!data)
        return fail(WEFT_BAD_BUFFER, "spmm_plan: the rehearsal's buffer has no data to read");
    memcpy(out, data + (size_t)start * size, (size_t)n * size);
    return WEFT_OK;
}

// Reads after the launch's wait list is complete.
static weft_status read_array(void **out, const weft_launch *launch, cl_mem buffer, int64_t start,
                              int64_t n, weft_dtype dtype)
{
    const size_t size = weft_dtype_size(dtype);
    TRY(weft_plan_allocate(out, n, size));
    if (n == 0)
        return WEFT_OK;
    if (launch->ctx->notes)
        return read_stand_in(*out, launch->ctx, buffer, start, n, size);
    return weft_cl_read(launch->queue, buffer, (size_t)start * size, (size_t)n * size, *out,
                        launch->n_wait, launch->wait, launch->what);
}

// Checks the copy that was read: later steps use columns as positions in memory.
static weft_status pattern_check(const weft_pattern *p, const weft_csr *A)
{
    weft_window offsets = {.data = p->offsets, .last = p->n_rows + 1, .dtype = p->offset_dtype};
    weft_window indices = {.data = p->indices, .last = p->nnz, .dtype = p->index_dtype};
    return weft_csr_pattern_check(A, &offsets, &indices, WEFT_CSR_SOUND, "spmm_plan: A");
}

static weft_status read_pattern(weft_pattern *p, const weft_launch *launch, const weft_csr *A)
{
    p->n_rows = A->n_rows;
    p->n_cols = A->n_cols;
    p->nnz = A->nnz;
    p->offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32);
    p->index_dtype = weft_dtype_or(A->index_dtype, WEFT_I32);
    TRY(read_array(&p->offsets, launch, A->offsets, A->offsets_start, A->n_rows + 1,
                   p->offset_dtype));
    TRY(read_array(&p->indices, launch, A->indices, A->indices_start, A->nnz, p->index_dtype));
    return pattern_check(p, A);
}

// Counts the entries of each column, and makes offsets[column] the first entry of the column.
static void count_columns(weft_pattern *transposed, const weft_pattern *p, int64_t n_cols)
{
    const weft_dtype dtype = transposed->offset_dtype;
    for (int64_t e = 0; e < p->nnz; ++e) {
        const int64_t column = integer_at(p->indices, p->index_dtype, e);
        integer_put(transposed->offsets, dtype, column + 1,
                    integer_at(transposed->offsets, dtype, column + 1) + 1);
    }
    for (int64_t column = 0; column < n_cols; ++column)
        integer_put(transposed->offsets, dtype, column + 1,
                    weft_pattern_start(transposed, column) +
                        integer_at(transposed->offsets, dtype, column + 1));
}

// A^T by rows: entries of a column in the order of their rows, each with its position in A.
// numbers: the row numbers, below n_rows; NULL: 0, 1 and so on.
static weft_status transpose_pattern(weft_pattern *transposed, const weft_pattern *p,
                                     const int32_t *numbers, int64_t n_rows)
{
    const int64_t n_cols = p->n_cols;
    transposed->n_rows = n_cols;
    transposed->n_cols = n_rows;
    transposed->nnz = p->nnz;
    transposed->offset_dtype = p->offset_dtype;
    transposed->index_dtype = WEFT_I32;
    const size_t offset_size = weft_dtype_size(p->offset_dtype);
    TRY(weft_plan_allocate(&transposed->offsets, n_cols + 1, offset_size));
    TRY(weft_plan_allocate(&transposed->indices, p->nnz, sizeof(int32_t)));
    TRY(weft_plan_allocate(&transposed->source, p->nnz, offset_size));
    count_columns(transposed, p, n_cols);

    void *next = NULL;
    TRY(weft_plan_allocate(&next, n_cols + 1, offset_size));
    memcpy(next, transposed->offsets, (size_t)(n_cols + 1) * offset_size);
    int32_t *rows = transposed->indices;
    for (int64_t row = 0; row < p->n_rows; ++row) {
        for (int64_t e = weft_pattern_start(p, row); e < weft_pattern_start(p, row + 1); ++e) {
            const int64_t column = integer_at(p->indices, p->index_dtype, e);
            const int64_t place = integer_at(next, p->offset_dtype, column);
            integer_put(next, p->offset_dtype, column, place + 1);
            rows[place] = numbers ? numbers[row] : (int32_t)row;
            integer_put(transposed->source, p->offset_dtype, place, e);
        }
    }
    free(next);
    return WEFT_OK;
}

// Lists the p of every row chunk: entry p * row_chunk is in the long row.
static weft_status list_row_chunks(weft_spmm_plan *plan, const weft_pattern *p)
{
    int64_t n = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (weft_pattern_is_long(p, row, plan->row_chunk))
            n += ceil_div(weft_pattern_start(p, row + 1), plan->row_chunk) -
                 ceil_div(weft_pattern_start(p, row), plan->row_chunk);
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, n, sizeof(int64_t)));
    int64_t *row_chunks = memory;
    plan->n_row_chunks = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (weft_pattern_is_long(p, row, plan->row_chunk))
            for (int64_t i = ceil_div(weft_pattern_start(p, row), plan->row_chunk);
                 i * plan->row_chunk < weft_pattern_start(p, row + 1); ++i)
                row_chunks[plan->n_row_chunks++] = i;
    const weft_status status =
        weft_plan_upload(&plan->row_chunks, plan->ctx, row_chunks, n, sizeof(int64_t));
    free(row_chunks);
    return status;
}

static weft_status upload_transposed(weft_spmm_plan *plan, const weft_pattern *transposed)
{
    const size_t offset_size = weft_dtype_size(transposed->offset_dtype);
    TRY(weft_plan_upload(&plan->offsets, plan->ctx, transposed->offsets, transposed->n_rows + 1,
                         offset_size));
    TRY(weft_plan_upload(&plan->indices, plan->ctx, transposed->indices, transposed->nnz,
                         sizeof(int32_t)));
    return weft_plan_upload(&plan->source, plan->ctx, transposed->source, transposed->nnz,
                            offset_size);
}

static weft_spmm_tiling tiling_of(const weft_spmm_plan *plan, const weft_pattern *p,
                                  weft_dtype dtype)
{
    const weft_spmm_problem typical = {
        .m = p->n_rows,
        .k = p->n_cols,
        .n = TYPICAL_COLUMNS,
        .nnz = p->nnz,
        .dtype = dtype,
        .columns_adjacent = true,
        .rows = &plan->rows,
        .row_schedule = plan->row_schedule,
        .keeps_rows = true, // for products that are not in tasks
    };
    return weft_spmm_tiling_for(&plan->ctx->limits, &typical);
}

// What a schedule for reuse depends on.
static void note_distance_of_b(weft_spmm_plan *plan, const weft_spmm_tiling *tiling,
                               weft_dtype dtype)
{
    const weft_limits *limits = &plan->ctx->limits;
    const int64_t l2_bytes = weft_caches_of(limits).l2_bytes;
    const int64_t cache_bytes = limits->vector_width > 1
                                    ? l2_bytes // of a core; lanes of a GPU share the last one
                                    : max_i64(clamped_i64(limits->cache_bytes), l2_bytes);
    const int64_t columns = min_i64(weft_spmm_n_tile_columns(tiling), TYPICAL_COLUMNS);
    plan->is_b_near = tiling->row_blocks_per_copy > 0 || tiling->k_block > 0;
    plan->b_row_bytes = columns * (int64_t)weft_dtype_size(dtype);
    plan->cache_rows = max_i64(cache_bytes / plan->b_row_bytes, 1);
}

// Orders rows, cuts long ones, and computes segments if later products will use k-blocks.
static weft_status analyse(weft_spmm_plan *plan, const weft_pattern *p, weft_dtype dtype)
{
    plan->rows = weft_row_stats_of(p->offsets, p->offset_dtype, p->n_rows);
    const weft_spmm_tiling tiling = tiling_of(plan, p, dtype);
    plan->row_chunk = plan->row_chunk > 0 ? plan->row_chunk : tiling.row_chunk;
    plan->run_rows = tiling.rows_per_item;
    plan->row_block_rows = (int64_t)tiling.rows_per_group * tiling.rows_per_item;
    plan->resident_row_blocks =
        weft_spmm_resident_groups(&tiling, &plan->ctx->limits, plan->ctx->why);
    // With B staged in local memory, and where segments gain nothing, the kernels compute k-blocks
    // as without a plan.
    const bool are_cut =
        tiling.row_blocks_per_copy == 0 && weft_spmm_segments_pay(p->n_cols, tiling.k_block);
    plan->k_block = are_cut ? tiling.k_block : 0;
    plan->k_block_from = tiling.k_block_from;
    note_distance_of_b(plan, &tiling, dtype);
    TRY(list_row_chunks(plan, p));

    void *order = NULL;
    weft_status status = weft_spmm_schedule_rows(&order, plan, p);
    if (status == WEFT_OK && order)
        status = weft_plan_upload(&plan->order, plan->ctx, order, plan->n_ordered, sizeof(int32_t));
    if (status == WEFT_OK && plan->k_block > 0)
        status = weft_spmm_segment(plan, p, order);
    free(order);
    return status;
}

// Reads the numbers of a DCSR's stored rows.
static weft_status read_numbers(void **out, const weft_launch *launch, const weft_dcsr *stored)
{
    TRY(read_array(out, launch, stored->rows, stored->rows_start, stored->n_stored, WEFT_I32));
    weft_window rows = {.data = *out, .last = stored->n_stored, .dtype = WEFT_I32};
    return weft_stored_rows_check(stored, &rows, "spmm_plan");
}

static weft_status fill(weft_spmm_plan *plan, const weft_launch *launch, const weft_csr *A,
                        const weft_dcsr *stored)
{
    weft_pattern given = {0}, transposed = {0};
    void *numbers = NULL;
    weft_status status = read_pattern(&given, launch, A);
    if (status == WEFT_OK && stored)
        status = read_numbers(&numbers, launch, stored);
    if (status == WEFT_OK && plan->transpose_a)
        status = transpose_pattern(&transposed, &given, numbers, plan->n_rows);
    if (status == WEFT_OK && plan->transpose_a)
        status = upload_transposed(plan, &transposed);
    if (status == WEFT_OK)
        status = analyse(plan, plan->transpose_a ? &transposed : &given,
                         weft_dtype_or(A->dtype, WEFT_F32));
    pattern_free(&given);
    pattern_free(&transposed);
    free(numbers);
    return status;
}

// Also begins the launch, which only reads and enqueues no kernel.
static weft_status plan_check(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const weft_csr *A, const weft_dcsr *stored,
                              const weft_spmm_plan_params *params)
{
    if (params->row_chunk < 0 || params->row_chunk > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm_plan: row_chunk is %" PRId64 ": 0 to %" PRId64 " is wanted",
                    params->row_chunk, INT64_MAX / 4);
    if (!weft_spmm_row_schedule_name(params->row_schedule))
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: row_schedule is %d: no weft_spmm_row_schedule",
                    (int)params->row_schedule);
    TRY(weft_context_check(ctx, "spmm_plan"));
    TRY(weft_recorder_copy_check(ctx, "spmm_plan"));
    TRY(weft_launch_begin(launch, ctx, queue, "spmm_plan", params->n_wait, params->wait, false));
    TRY(weft_csr_form_check(A, "spmm_plan: A"));
    const int64_t n_rows = stored ? stored->n_rows : A->n_rows;
    if (n_rows > WEFT_SPARSE_MAX_EXTENT || A->n_cols > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "spmm_plan: A is %" PRId64 " x %" PRId64 "; at most %d rows and columns",
                    n_rows, A->n_cols, WEFT_SPARSE_MAX_EXTENT);
    TRY(weft_csr_view_check(ctx, A, 1, "spmm_plan: A"));
    return stored ? weft_dcsr_rows_view_check(ctx, stored, "spmm_plan", "A") : WEFT_OK;
}

static int64_t next_serial(void)
{
    static atomic_llong last;
    return atomic_fetch_add(&last, 1) + 1;
}

// A has all rows or, if `stored` is not NULL, its stored rows.
static weft_status plan_create(weft_spmm_plan **out, weft_context *ctx, cl_command_queue queue,
                               const weft_csr *A, const weft_dcsr *stored,
                               const weft_spmm_plan_params *params)
{
    weft_spmm_plan_params own;
    weft_launch launch;
    *out = NULL;
    TRY(PARAMS_READ(&own, params, "spmm_plan", "WEFT_SPMM_PLAN"));
    TRY(plan_check(&launch, ctx, queue, A, stored, &own));

    weft_spmm_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return fail(WEFT_NO_MEMORY, "spmm_plan: no memory for %zu bytes", sizeof(*plan));
    *plan = (weft_spmm_plan){
        .ctx = ctx,
        .serial = next_serial(),
        .transpose_a = own.transpose_a,
        .is_dcsr = stored != NULL,
        .n_stored = A->n_rows,
        .n_rows = stored ? stored->n_rows : A->n_rows,
        .n_cols = A->n_cols,
        .nnz = A->nnz,
        .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32),
        .index_dtype = weft_dtype_or(A->index_dtype, WEFT_I32),
        .row_chunk = own.row_chunk,
        .row_chunk_is_forced = own.row_chunk > 0,
        .row_schedule = own.row_schedule,
    };
    const weft_status status = fill(plan, &launch, A, stored);
    if (status == WEFT_OK)
        *out = plan;
    else
        weft_spmm_plan_destroy(&plan);
    return status;
}

weft_status weft_spmm_plan_create(weft_spmm_plan **out, weft_context *ctx, cl_command_queue queue,
                                  const weft_csr *A, const weft_spmm_plan_params *params)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: out is NULL");
    return plan_create(out, ctx, queue, A, NULL, params);
}

weft_status weft_spmm_dcsr_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                       cl_command_queue queue, const weft_dcsr *A,
                                       const weft_spmm_plan_params *params)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: out is NULL");
    *out = NULL;
    if (!A)
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: A is NULL");
    const weft_csr stored = weft_dcsr_stored(A);
    return plan_create(out, ctx, queue, &stored, A, params);
}

void weft_spmm_plan_destroy(weft_spmm_plan **plan)
{
    if (!plan || !*plan)
        return;
    const cl_mem buffers[] = {
        (*plan)->order,    (*plan)->row_chunks, (*plan)->segment_starts, (*plan)->segment_entries,
        (*plan)->segments, (*plan)->offsets,    (*plan)->indices,        (*plan)->source};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i)
        weft_buffer_release(buffers[i]);
    free(*plan);
    *plan = NULL;
}

const weft_row_stats *weft_spmm_plan_rows(const weft_spmm_plan *plan)
{
    return &plan->rows;
}
