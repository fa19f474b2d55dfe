// SPDX-License-Identifier: Apache-2.0
// Plan objects: a sparsity pattern read once; its rows put in order, long ones cut, and turned for
// A^T.
#include "spmm_pattern.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "context.h"
#include "element.h"
#include "launch.h"
#include "view.h"

// Rows whose lengths vary less than this are dealt well enough as they come.
static const double EVEN_COV = 0.25;

// A pattern on the host, in arrays of its own.
typedef struct {
    int64_t n_rows, nnz;
    weft_dtype offset_dtype, index_dtype;
    void *offsets, *indices, *source;
} pattern;

static void pattern_free(pattern *p)
{
    free(p->offsets);
    free(p->indices);
    free(p->source);
    *p = (pattern){0};
}

static weft_status allocate(void **out, int64_t n, size_t size)
{
    const size_t count = (size_t)max_i64(n, 1);
    *out = count <= SIZE_MAX / size ? calloc(count, size) : NULL;
    if (!*out)
        return fail(WEFT_NO_MEMORY, "spmm_plan: no memory for %" PRId64 " elements of %zu bytes", n,
                    size);
    return WEFT_OK;
}

static weft_status read_array(void **out, cl_command_queue queue, cl_mem buffer, int64_t start,
                              int64_t n, weft_dtype dtype)
{
    const size_t size = weft_dtype_size(dtype);
    TRY(allocate(out, n, size));
    if (n == 0)
        return WEFT_OK;
    const cl_int code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, (size_t)start * size,
                                            (size_t)n * size, *out, 0, NULL, NULL);
    return weft_cl_check(code, "spmm_plan", "clEnqueueReadBuffer");
}

static weft_status upload(cl_mem *out, const weft_context *ctx, const void *array, int64_t n,
                          size_t size)
{
    if (n == 0)
        return WEFT_OK;
    const uint64_t bytes = (uint64_t)n * size;
    if (bytes > ctx->limits.max_alloc_bytes)
        return fail(WEFT_NO_MEMORY,
                    "spmm_plan: a buffer of %" PRIu64
                    " bytes is wanted, the device allows %" PRIu64,
                    bytes, ctx->limits.max_alloc_bytes);
    cl_int code;
    *out = clCreateBuffer(ctx->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (size_t)bytes,
                          (void *)(uintptr_t)array, &code);
    return weft_cl_check(code, "spmm_plan", "clCreateBuffer");
}

static int64_t row_start(const pattern *p, int64_t row)
{
    return integer_at(p->offsets, p->offset_dtype, row);
}

static int64_t row_length(const pattern *p, int64_t row)
{
    return row_start(p, row + 1) - row_start(p, row);
}

static weft_status read_pattern(pattern *p, cl_command_queue queue, const weft_csr *A,
                                bool with_indices)
{
    p->n_rows = A->n_rows;
    p->nnz = A->nnz;
    p->offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32);
    p->index_dtype = weft_dtype_or(A->index_dtype, WEFT_I32);
    TRY(read_array(&p->offsets, queue, A->offsets, A->offsets_start, A->n_rows + 1,
                   p->offset_dtype));
    if (with_indices)
        TRY(read_array(&p->indices, queue, A->indices, A->indices_start, A->nnz, p->index_dtype));
    return WEFT_OK;
}

// Counts the entries of each column, and leaves in offsets[column] where the column's entries
// begin.
static void count_columns(pattern *turned, const pattern *p, int64_t n_cols)
{
    const weft_dtype dtype = turned->offset_dtype;
    for (int64_t e = 0; e < p->nnz; ++e) {
        const int64_t column = integer_at(p->indices, p->index_dtype, e);
        integer_put(turned->offsets, dtype, column + 1,
                    integer_at(turned->offsets, dtype, column + 1) + 1);
    }
    for (int64_t column = 0; column < n_cols; ++column)
        integer_put(turned->offsets, dtype, column + 1,
                    row_start(turned, column) + integer_at(turned->offsets, dtype, column + 1));
}

// A^T by rows: entries of a column in the order of their rows, each with the place it came from.
static weft_status turn_pattern(pattern *turned, const pattern *p, int64_t n_cols)
{
    turned->n_rows = n_cols;
    turned->nnz = p->nnz;
    turned->offset_dtype = p->offset_dtype;
    turned->index_dtype = WEFT_I32;
    const size_t offset_size = weft_dtype_size(p->offset_dtype);
    TRY(allocate(&turned->offsets, n_cols + 1, offset_size));
    TRY(allocate(&turned->indices, p->nnz, sizeof(int32_t)));
    TRY(allocate(&turned->source, p->nnz, offset_size));
    count_columns(turned, p, n_cols);

    void *next = NULL;
    TRY(allocate(&next, n_cols + 1, offset_size));
    memcpy(next, turned->offsets, (size_t)(n_cols + 1) * offset_size);
    int32_t *rows = turned->indices;
    for (int64_t row = 0; row < p->n_rows; ++row) {
        for (int64_t e = row_start(p, row); e < row_start(p, row + 1); ++e) {
            const int64_t column = integer_at(p->indices, p->index_dtype, e);
            const int64_t place = integer_at(next, p->offset_dtype, column);
            integer_put(next, p->offset_dtype, column, place + 1);
            rows[place] = (int32_t)row;
            integer_put(turned->source, p->offset_dtype, place, e);
        }
    }
    free(next);
    return WEFT_OK;
}

static bool is_long(const pattern *p, int64_t row, int64_t piece)
{
    return row_length(p, row) > 2 * piece;
}

// The p of every piece: the multiples of `piece` among the entries of each long row.
static weft_status list_pieces(weft_spmm_plan *plan, const pattern *p)
{
    int64_t n = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (is_long(p, row, plan->piece))
            n += ceil_div(row_start(p, row + 1), plan->piece) -
                 ceil_div(row_start(p, row), plan->piece);
    int64_t *pieces;
    void *memory = NULL;
    TRY(allocate(&memory, n, sizeof(int64_t)));
    pieces = memory;
    plan->n_pieces = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (is_long(p, row, plan->piece))
            for (int64_t i = ceil_div(row_start(p, row), plan->piece);
                 i * plan->piece < row_start(p, row + 1); ++i)
                pieces[plan->n_pieces++] = i;
    const weft_status status = upload(&plan->pieces, plan->ctx, pieces, n, sizeof(int64_t));
    free(pieces);
    return status;
}

// The rows that are not long, longest first; equal ones as they come. Returns how many.
static weft_status sort_rows(int32_t *sorted, int64_t *n_sorted, const pattern *p, int64_t piece)
{
    const int64_t longest = 2 * piece;
    int64_t most = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!is_long(p, row, piece))
            most = max_i64(most, min_i64(row_length(p, row), longest));
    void *memory = NULL;
    TRY(allocate(&memory, most + 2, sizeof(int64_t)));
    int64_t *place = memory; // place[most - length]: where the next row of that length goes
    *n_sorted = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!is_long(p, row, piece)) {
            place[most - row_length(p, row) + 1]++;
            ++*n_sorted;
        }
    for (int64_t i = 0; i < most; ++i)
        place[i + 1] += place[i];
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!is_long(p, row, piece))
            sorted[place[most - row_length(p, row)]++] = (int32_t)row;
    free(memory);
    return WEFT_OK;
}

// Deals the sorted rows to groups in a snake, 1 .. q, q .. 1, and so on, so that each group gets
// about the same number of entries; -1 stands where a group is a row short.
static void deal_rows(int32_t *dealt, int64_t n_groups, int64_t rows_per_group,
                      const int32_t *sorted, int64_t n_sorted)
{
    for (int64_t round = 0; round < rows_per_group; ++round) {
        for (int64_t i = 0; i < n_groups; ++i) {
            const int64_t group = round % 2 == 0 ? i : n_groups - 1 - i;
            const int64_t card = round * n_groups + i;
            dealt[group * rows_per_group + round] = card < n_sorted ? sorted[card] : -1;
        }
    }
}

// Where lanes share a group's turns, rows of like length belong together; where a group is one
// core's errand, groups of like weight do. Even rows stay as they come.
static weft_status order_rows(weft_spmm_plan *plan, const pattern *p, int64_t rows_per_group)
{
    const bool is_folded = plan->ctx->limits.fold > 1;
    plan->n_ordered = p->n_rows;
    if (plan->rows.cov < EVEN_COV && plan->n_pieces == 0)
        return WEFT_OK;

    void *sorted = NULL, *dealt = NULL;
    int64_t n_sorted = 0, n_groups = 0;
    weft_status status = allocate(&sorted, p->n_rows, sizeof(int32_t));
    if (status == WEFT_OK)
        status = sort_rows(sorted, &n_sorted, p, plan->piece);
    if (status != WEFT_OK)
        goto done;
    plan->n_ordered = n_sorted;
    n_groups = ceil_div(n_sorted, rows_per_group);
    if (is_folded) {
        plan->n_ordered = n_groups * rows_per_group;
        status = allocate(&dealt, plan->n_ordered, sizeof(int32_t));
        if (status != WEFT_OK)
            goto done;
        deal_rows(dealt, n_groups, rows_per_group, sorted, n_sorted);
    }
    status = upload(&plan->order, plan->ctx, is_folded ? dealt : sorted, plan->n_ordered,
                    sizeof(int32_t));
done:
    free(sorted);
    free(dealt);
    return status;
}

static weft_status upload_turned(weft_spmm_plan *plan, const pattern *turned)
{
    const size_t offset_size = weft_dtype_size(turned->offset_dtype);
    TRY(upload(&plan->offsets, plan->ctx, turned->offsets, turned->n_rows + 1, offset_size));
    TRY(upload(&plan->indices, plan->ctx, turned->indices, turned->nnz, sizeof(int32_t)));
    return upload(&plan->source, plan->ctx, turned->source, turned->nnz, offset_size);
}

static weft_status analyse(weft_spmm_plan *plan, const pattern *p, int64_t rows_per_group)
{
    plan->rows = weft_row_stats_of(p->offsets, p->offset_dtype, p->n_rows);
    TRY(list_pieces(plan, p));
    return order_rows(plan, p, rows_per_group);
}

static weft_status fill(weft_spmm_plan *plan, cl_command_queue queue, const weft_csr *A,
                        int64_t rows_per_group)
{
    pattern given = {0}, turned = {0};
    weft_status status = read_pattern(&given, queue, A, plan->transpose_a);
    if (status == WEFT_OK && plan->transpose_a)
        status = turn_pattern(&turned, &given, A->n_cols);
    if (status == WEFT_OK && plan->transpose_a)
        status = upload_turned(plan, &turned);
    if (status == WEFT_OK)
        status = analyse(plan, plan->transpose_a ? &turned : &given, rows_per_group);
    pattern_free(&given);
    pattern_free(&turned);
    return status;
}

static weft_status plan_check(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_spmm_plan_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm_plan: params.size is %zu, not %zu: fill it by WEFT_SPMM_PLAN()",
                    params->size, sizeof(*params));
    if (params->piece < 0 || params->piece > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: piece is %" PRId64 ": 0 or more is wanted",
                    params->piece);
    TRY(weft_csr_check(ctx, queue, A, WEFT_CSR_SOUND));
    if (A->n_rows > INT32_MAX - 1 || A->n_cols > INT32_MAX - 1)
        return fail(WEFT_BAD_SHAPE,
                    "spmm_plan: A is %" PRId64 " x %" PRId64 "; at most %d rows and columns",
                    A->n_rows, A->n_cols, INT32_MAX - 1);
    return WEFT_OK;
}

weft_status weft_spmm_plan_create(weft_spmm_plan **out, weft_context *ctx, cl_command_queue queue,
                                  const weft_csr *A, const weft_spmm_plan_params *params)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "spmm_plan: out is NULL");
    *out = NULL;
    params = params ? params : WEFT_SPMM_PLAN(0);
    TRY(plan_check(ctx, queue, A, params));

    const weft_spmm_problem typical = {.n = 128, .dtype = A->dtype};
    const weft_spmm_tiling tiling = weft_spmm_tiling_for(&ctx->limits, &typical);
    weft_spmm_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return fail(WEFT_NO_MEMORY, "spmm_plan: no memory for %zu bytes", sizeof(*plan));
    *plan = (weft_spmm_plan){
        .ctx = ctx,
        .transpose_a = params->transpose_a,
        .n_rows = A->n_rows,
        .n_cols = A->n_cols,
        .nnz = A->nnz,
        .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32),
        .index_dtype = weft_dtype_or(A->index_dtype, WEFT_I32),
        .piece = params->piece > 0 ? params->piece : tiling.piece,
    };
    const weft_status status = fill(plan, queue, A, tiling.rows_per_group);
    if (status == WEFT_OK)
        *out = plan;
    else
        weft_spmm_plan_destroy(&plan);
    return status;
}

void weft_spmm_plan_destroy(weft_spmm_plan **plan)
{
    if (!plan || !*plan)
        return;
    const cl_mem buffers[] = {(*plan)->order, (*plan)->pieces, (*plan)->offsets, (*plan)->indices,
                              (*plan)->source};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    free(*plan);
    *plan = NULL;
}

const weft_row_stats *weft_spmm_plan_rows(const weft_spmm_plan *plan)
{
    return &plan->rows;
}
