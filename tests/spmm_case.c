// SPDX-License-Identifier: Apache-2.0
// Operands for tests of SpMM, the call and the comparison.
#include "spmm_case.h"

#include <inttypes.h>
#include <math.h>

#include "random.h"
#include "reference.h"
#include "scalar.h"

enum { GUARD = 16, POISON = 0xff, UNTOUCHED = 0xa5, WILD_INDEX = 0x7f };

static int64_t at_least(int64_t x, int64_t least)
{
    return x > least ? x : least;
}

static void *memory_filled(size_t bytes, int with)
{
    void *memory = malloc(at_least((int64_t)bytes, 1));
    assert_non_null(memory);
    memset(memory, with, bytes);
    return memory;
}

static cl_mem buffer_of(weft_context *ctx, const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// ---- A

static int64_t row_length(const spmm_case *of, random_state *random, int64_t row, int64_t n_cols)
{
    switch (of->rows) {
    case ROWS_FULL:
        return n_cols;
    case ROWS_ONE_FULL:
        return row == (int64_t)(of->seed % 3) ? n_cols : random_below(random, 2) && n_cols > 0;
    case ROWS_REPEATED:
        return n_cols > 0 ? random_below(random, 2 * n_cols + 1) : 0;
    case ROWS_SPARSE:
        return random_below(random, 9) % (n_cols + 1);
    case ROWS_RANDOM:
        return row % 3 == 2 ? 0 : random_below(random, n_cols + 1);
    default:
        return 0;
    }
}

static void put_whole(void *array, weft_dtype dtype, int64_t i, int64_t value)
{
    if (dtype == WEFT_I16)
        ((int16_t *)array)[i] = (int16_t)value;
    else if (dtype == WEFT_I64)
        ((int64_t *)array)[i] = value;
    else
        ((int32_t *)array)[i] = (int32_t)value;
}

static int64_t get_whole(const void *array, weft_dtype dtype, int64_t i)
{
    return dtype == WEFT_I16   ? ((const int16_t *)array)[i]
           : dtype == WEFT_I64 ? ((const int64_t *)array)[i]
                               : ((const int32_t *)array)[i];
}

// Columns of one row: `length` of them drawn one after the other and so rising, or any at all.
static void draw_columns(weft_csr_host *A, random_state *random, int64_t first, int64_t length,
                         bool is_repeated)
{
    int64_t drawn = 0;
    for (int64_t column = 0; drawn < length; column = (column + 1) % A->n_cols) {
        if (is_repeated)
            put_whole(A->indices, A->index_dtype, first + drawn++, random_below(random, A->n_cols));
        else if (random_below(random, A->n_cols - column) < length - drawn)
            put_whole(A->indices, A->index_dtype, first + drawn++, column);
    }
}

static void make_pattern(spmm_operands *o, random_state *random)
{
    const spmm_case *of = &o->of;
    weft_csr_host *A = &o->host;
    *A = (weft_csr_host){.n_rows = of->transpose_a ? of->k : of->m,
                         .n_cols = of->transpose_a ? of->m : of->k,
                         .offset_dtype = of->offset_dtype ? of->offset_dtype : WEFT_I32,
                         .index_dtype = of->index_dtype ? of->index_dtype : WEFT_I32,
                         .dtype = of->dtype ? of->dtype : WEFT_F32};
    A->offsets = memory_filled((size_t)(A->n_rows + 1) * weft_dtype_size(A->offset_dtype), 0);
    for (int64_t row = 0; row < A->n_rows; row++) {
        A->nnz += row_length(of, random, row, A->n_cols);
        put_whole(A->offsets, A->offset_dtype, row + 1, A->nnz);
    }
    A->indices = memory_filled((size_t)A->nnz * weft_dtype_size(A->index_dtype), 0);
    for (int64_t row = 0; row < A->n_rows; row++) {
        const int64_t first = get_whole(A->offsets, A->offset_dtype, row);
        draw_columns(A, random, first, get_whole(A->offsets, A->offset_dtype, row + 1) - first,
                     of->rows == ROWS_REPEATED);
    }
}

static double number(const spmm_case *of, random_state *random, int64_t most)
{
    return of->numbers == FRACTIONS    ? random_float(random)
           : of->numbers == WILD_INPUT ? NAN
                                       : (double)random_between(random, -most, most);
}

static double wild_number(random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN};
    return wild[random_below(random, 3)];
}

static void make_values(spmm_operands *o, random_state *random)
{
    const weft_csr_host *A = &o->host;
    const int64_t n_matrices = o->of.own_values ? at_least(o->of.n_batches, 1) : 1;
    o->values_step = o->of.own_values ? A->nnz + 3 : 0;
    const int64_t n = (n_matrices - 1) * o->values_step + A->nnz;
    o->values = memory_filled((size_t)n * weft_dtype_size(A->dtype), POISON);
    for (int64_t batch = 0; batch < n_matrices; batch++)
        for (int64_t row = 0; row < A->n_rows; row++)
            for (int64_t e = get_whole(A->offsets, A->offset_dtype, row);
                 e < get_whole(A->offsets, A->offset_dtype, row + 1); e++) {
                const bool is_wild =
                    o->of.numbers == WILD_A && row % 2 == 1 && random_below(random, 2);
                scalar_put(A->dtype, o->values, batch * o->values_step + e,
                           is_wild ? wild_number(random) : number(&o->of, random, 3));
            }
}

// A buffer with `n` elements of `size` bytes from element `start` on, and in half of the cases a
// few behind them; NULL where there are none.
static cl_mem surrounded(const spmm_operands *o, const void *data, int64_t n, size_t size,
                         int64_t start, int around)
{
    if (n == 0)
        return NULL;
    const int64_t behind = o->of.seed % 2 ? 5 : 0;
    const size_t bytes = (size_t)(start + n + behind) * size;
    char *copy = memory_filled(bytes, around);
    memcpy(copy + (size_t)start * size, data, (size_t)n * size);
    cl_mem buffer = buffer_of(o->ctx, copy, bytes);
    free(copy);
    return buffer;
}

static void upload_sparse(spmm_operands *o)
{
    const weft_csr_host *A = &o->host;
    const spmm_case *of = &o->of;
    const int64_t n_matrices = of->own_values ? at_least(of->n_batches, 1) : 1;
    const int64_t n_values = A->nnz > 0 ? (n_matrices - 1) * o->values_step + A->nnz : 0;
    o->A = (weft_csr){
        .n_rows = A->n_rows,
        .n_cols = A->n_cols,
        .nnz = A->nnz,
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .dtype = of->dtype,
        .offsets_start = of->offsets_start,
        .indices_start = of->indices_start,
        .values_start = of->values_start,
        .values_batch_stride = o->values_step,
        .offsets = surrounded(o, A->offsets, A->n_rows + 1, weft_dtype_size(A->offset_dtype),
                              of->offsets_start, WILD_INDEX),
        .indices = surrounded(o, A->indices, A->nnz, weft_dtype_size(A->index_dtype),
                              of->indices_start, WILD_INDEX),
        .values =
            surrounded(o, o->values, n_values, weft_dtype_size(A->dtype), of->values_start, POISON),
    };
}

// ---- B and C

// batch, row, column
static void strides_of(spmm_layout layout, const int64_t shape[3], int64_t stride[3])
{
    const int64_t batch = shape[0], rows = shape[1], columns = shape[2];
    const int64_t aligned = (columns + 15) / 16 * 16;
    const int64_t strides[N_LAYOUTS][3] = {
        [ROW_MAJOR] = {rows * columns, columns, 1},
        [ROWS_PADDED] = {rows * (columns + 3) + 5, columns + 3, 1},
        [ROWS_ALIGNED] = {(rows + 1) * aligned, aligned, 1},
        [ROWS_BACKWARDS] = {rows * (columns + 1), -(columns + 1), 1},
        [COLUMN_MAJOR] = {rows * columns, 1, rows},
        [COLUMNS_BACKWARDS] = {rows * columns, columns, -1},
        [COLUMNS_APART] = {rows * (2 * columns + 1), 2 * columns + 1, 2},
        [BATCH_BETWEEN] = {columns + 1, batch * (columns + 1), 1},
        [BATCH_BACKWARDS] = {-rows * columns, columns, 1},
        [SAME_ROW] = {columns, 0, 1},
        [SAME_COLUMN] = {rows, 1, 0},
        [SAME_MATRIX] = {0, columns, 1},
    };
    memcpy(stride, strides[layout], sizeof(strides[layout]));
}

// The view without its buffer; returns the elements of the buffer.
static int64_t lay_out(weft_tensor *t, const spmm_case *of, int64_t rows, spmm_layout layout,
                       int64_t start)
{
    const int64_t shape[3] = {at_least(of->n_batches, 1), rows, of->n};
    int64_t stride[3], before = 0, after = 0;
    strides_of(layout, shape, stride);
    for (int d = 0; d < 3; d++) {
        const int64_t reach = at_least(shape[d] - 1, 0) * stride[d];
        before += reach < 0 ? -reach : 0;
        after += reach > 0 ? reach : 0;
    }
    const int from = of->n_batches > 0 ? 0 : 1;
    *t = (weft_tensor){.dtype = of->dtype, .offset = GUARD + start + before, .ndim = 3 - from};
    for (int d = from; d < 3; d++) {
        t->shape[d - from] = d == 0 ? of->n_batches : shape[d];
        t->stride[d - from] = stride[d];
    }
    return GUARD + start + before + after + 1 + GUARD;
}

static int64_t element_of(const weft_tensor *t, int64_t batch, int64_t row, int64_t column)
{
    const int axis = t->ndim - 2;
    return t->offset + (axis ? batch * t->stride[0] : 0) + row * t->stride[axis] +
           column * t->stride[axis + 1];
}

static int64_t batches_of(const weft_tensor *t)
{
    return t->ndim == 3 ? t->shape[0] : 1;
}

// Calls f for every element that the view names, in the order of a row-major array.
#define EACH_ELEMENT(t, batch, row, column)                                                        \
    for (int64_t batch = 0; batch < batches_of(t); batch++)                                        \
        for (int64_t row = 0; row < (t)->shape[(t)->ndim - 2]; row++)                              \
            for (int64_t column = 0; column < (t)->shape[(t)->ndim - 1]; column++)

static bool *named_rows(const spmm_operands *o)
{
    const weft_csr_host *A = &o->host;
    bool *is_named = memory_filled((size_t)o->of.k, 0);
    for (int64_t row = 0; row < A->n_rows; row++)
        for (int64_t e = get_whole(A->offsets, A->offset_dtype, row);
             e < get_whole(A->offsets, A->offset_dtype, row + 1); e++)
            is_named[o->of.transpose_a ? row : get_whole(A->indices, A->index_dtype, e)] = true;
    return is_named;
}

static void make_dense(spmm_operands *o, random_state *random)
{
    const spmm_case *of = &o->of;
    const weft_dtype dtype = o->host.dtype;
    const size_t size = weft_dtype_size(dtype);
    const int64_t n = lay_out(&o->B, of, of->k, of->b_layout, of->b_start);
    void *flat = memory_filled((size_t)n * size, POISON);
    bool *is_named = named_rows(o);
    const bool shares_rows = of->b_layout == SAME_ROW;
    EACH_ELEMENT(&o->B, batch, row, column)
    {
        const bool is_wild =
            (!is_named[row] && !shares_rows) ||
            (of->numbers == WILD_B && row % 2 == 1 && random_below(random, 4) == 0);
        scalar_put(dtype, flat, element_of(&o->B, batch, row, column),
                   is_wild ? wild_number(random) : number(of, random, 4));
    }
    o->dense = memory_filled((size_t)(batches_of(&o->B) * of->k * of->n) * size, 0);
    int64_t at = 0;
    EACH_ELEMENT(&o->B, batch, row, column)
    memcpy((char *)o->dense + (size_t)at++ * size,
           (char *)flat + (size_t)element_of(&o->B, batch, row, column) * size, size);
    o->B.buffer = buffer_of(o->ctx, flat, (size_t)n * size);
    free(is_named);
    free(flat);
}

static void make_output(spmm_operands *o, random_state *random)
{
    const spmm_case *of = &o->of;
    const size_t size = weft_dtype_size(o->host.dtype);
    const int64_t n = lay_out(&o->C, of, of->m, of->c_layout, of->c_start);
    o->c_bytes = (size_t)n * size;
    o->c_before = memory_filled(o->c_bytes, UNTOUCHED);
    EACH_ELEMENT(&o->C, batch, row, column)
    scalar_put(o->host.dtype, o->c_before, element_of(&o->C, batch, row, column),
               of->beta == 0              ? NAN
               : of->numbers == FRACTIONS ? random_float(random)
                                          : (double)random_between(random, -8, 8));
    o->C.buffer = buffer_of(o->ctx, o->c_before, o->c_bytes);
}

// ---- the call

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(spmm_operands *o)
{
    const weft_spmm_params params = spmm_params(o);
    size_t bytes;
    assert_ok(weft_spmm_workspace(o->ctx, &o->A, &o->B, &o->C, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    void *poison = memory_filled(bytes, POISON);
    o->workspace = buffer_of(o->ctx, poison, bytes);
    free(poison);
}

void spmm_create(spmm_operands *o, weft_context *ctx, cl_command_queue queue, const spmm_case *of)
{
    random_state random = {of->seed};
    *o = (spmm_operands){.of = *of, .ctx = ctx, .queue = queue};
    make_pattern(o, &random);
    make_values(o, &random);
    make_dense(o, &random);
    make_output(o, &random);
    upload_sparse(o);
    if (of->with_plan)
        assert_ok(weft_spmm_plan_create(
            &o->plan, ctx, queue, &o->A,
            WEFT_SPMM_PLAN(.transpose_a = of->transpose_a, .piece = of->plan_piece)));
    make_workspace(o);
}

void spmm_destroy(spmm_operands *o)
{
    weft_spmm_plan_destroy(&o->plan);
    weft_csr_destroy(&o->A);
    clReleaseMemObject(o->B.buffer);
    clReleaseMemObject(o->C.buffer);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
    free(o->host.offsets);
    free(o->host.indices);
    free(o->values);
    free(o->dense);
    free(o->c_before);
}

weft_spmm_params spmm_params(const spmm_operands *o)
{
    return (weft_spmm_params){
        .size = sizeof(weft_spmm_params),
        .plan = o->plan,
        .transpose_a = o->of.transpose_a,
        .tiling = o->of.tiling,
        .workspace = o->workspace,
        .reduction = o->of.reduction,
    };
}

void spmm_fail(const spmm_operands *o, const char *what)
{
    const spmm_case *of = &o->of;
    const weft_spmm_params params = spmm_params(o);
    char plan[512];
    if (weft_spmm_describe(o->ctx, &o->A, &o->B, &o->C, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; seed %" PRIu64 ", m %" PRId64 ", k %" PRId64 ", n %" PRId64 ", nnz %" PRId64
             ", batch %" PRId64 "%s, %s, %s offsets, %s indices, rows %d, numbers %d, B laid out "
             "as %d from %" PRId64 ", C as %d from %" PRId64 ", starts %" PRId64 " %" PRId64
             " %" PRId64 ", alpha %g, beta %g, %s%s, on %s: %s",
             what, of->seed, of->m, of->k, of->n, o->host.nnz, of->n_batches,
             of->own_values ? " with values each" : "", weft_dtype_name(o->host.dtype),
             weft_dtype_name(o->host.offset_dtype), weft_dtype_name(o->host.index_dtype),
             (int)of->rows, (int)of->numbers, (int)of->b_layout, of->b_start, (int)of->c_layout,
             of->c_start, of->offsets_start, of->indices_start, of->values_start, of->alpha,
             of->beta, of->with_plan ? "with plan" : "without plan",
             of->transpose_a ? " for A^T" : "", weft_context_limits(o->ctx)->name, plan);
}

void spmm_call(const spmm_operands *o)
{
    const weft_spmm_params params = spmm_params(o);
    if (weft_spmm(o->ctx, o->queue, o->of.alpha, &o->A, &o->B, o->of.beta, &o->C, &params) !=
        WEFT_OK)
        spmm_fail(o, weft_last_error());
}

void spmm_restore(const spmm_operands *o)
{
    assert_int_equal(clEnqueueWriteBuffer(o->queue, o->C.buffer, CL_TRUE, 0, o->c_bytes,
                                          o->c_before, 0, NULL, NULL),
                     CL_SUCCESS);
}

void *spmm_read(const spmm_operands *o)
{
    void *after = memory_filled(o->c_bytes, 0);
    assert_int_equal(
        clEnqueueReadBuffer(o->queue, o->C.buffer, CL_TRUE, 0, o->c_bytes, after, 0, NULL, NULL),
        CL_SUCCESS);
    return after;
}

// ---- the comparison

reference_spmm spmm_reference(const spmm_operands *o, weft_csr_host *A, int64_t batch)
{
    const spmm_case *of = &o->of;
    const size_t size = weft_dtype_size(o->host.dtype);
    *A = o->host;
    A->values = (char *)o->values + (size_t)(batch * o->values_step) * size;
    char *before = memory_filled((size_t)(of->m * of->n) * size, 0);
    for (int64_t row = 0; row < of->m; row++)
        for (int64_t column = 0; column < of->n; column++)
            memcpy(before + (size_t)(row * of->n + column) * size,
                   (char *)o->c_before + (size_t)element_of(&o->C, batch, row, column) * size,
                   size);
    return (reference_spmm){
        .A = A,
        .transpose_a = of->transpose_a,
        .n = of->n,
        .reduction = of->reduction,
        .alpha = of->alpha,
        .beta = of->beta,
        .B = (char *)o->dense + (size_t)(batch * of->k * of->n) * size,
        .C0 = before,
    };
}

static void refer(const spmm_operands *o, int64_t batch, double **want, double **bound)
{
    complaint why;
    weft_csr_host A;
    const reference_spmm problem = spmm_reference(o, &A, batch);
    if (!reference_spmm_run(&problem, want, bound, &why))
        fail_msg("%s", why.text);
    free((void *)(uintptr_t)problem.C0);
}

// Whole numbers come out as they are, rounded once where storage is narrow; but for means.
static bool is_right(const spmm_operands *o, double got, double want, double bound)
{
    if (o->of.numbers == FRACTIONS || o->of.reduction == WEFT_SPMM_MEAN)
        return reference_error(o->host.dtype, got, want, bound) <= 1;
    double stored;
    scalar_put(o->host.dtype, &stored, 0, want);
    want = scalar_get(o->host.dtype, &stored, 0);
    return isnan(want) ? isnan(got) : got == want;
}

static void check_matrix(const spmm_operands *o, const void *after, int64_t batch)
{
    double *want, *bound;
    char text[256];
    refer(o, batch, &want, &bound);
    for (int64_t i = 0; i < o->of.m * o->of.n; i++) {
        const int64_t row = i / o->of.n, column = i % o->of.n;
        const double got = scalar_get(o->host.dtype, after, element_of(&o->C, batch, row, column));
        if (is_right(o, got, want[i], bound[i]))
            continue;
        snprintf(text, sizeof(text),
                 "C[%" PRId64 "][%" PRId64 "][%" PRId64 "] is %.17g, not %.17g (%g bounds)", batch,
                 row, column, got, want[i], reference_error(o->host.dtype, got, want[i], bound[i]));
        spmm_fail(o, text);
    }
    free(want);
    free(bound);
}

// Every byte but those of C's elements is as before.
static void check_around(const spmm_operands *o, void *after)
{
    const size_t size = weft_dtype_size(o->host.dtype);
    char text[128];
    EACH_ELEMENT(&o->C, batch, row, column)
    {
        const size_t at = (size_t)element_of(&o->C, batch, row, column) * size;
        memcpy((char *)after + at, (char *)o->c_before + at, size);
    }
    for (size_t i = 0; i < o->c_bytes; i++)
        if (((char *)after)[i] != ((char *)o->c_before)[i]) {
            snprintf(text, sizeof(text), "byte %zu of C's buffer, outside of C, was written", i);
            spmm_fail(o, text);
        }
}

void spmm_check(const spmm_operands *o)
{
    void *after = spmm_read(o);
    for (int64_t batch = 0; batch < batches_of(&o->C); batch++)
        check_matrix(o, after, batch);
    check_around(o, after);
    free(after);
}

void spmm_run(weft_context *ctx, const spmm_case *of)
{
    spmm_operands o;
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

static int64_t largest_divisor(int64_t x)
{
    int64_t power = 1;
    while (power < 1 << 16 && x % (2 * power) == 0)
        power *= 2;
    return power;
}

static int64_t min_divisor(int64_t most, const int64_t *x, int n)
{
    for (int i = 0; i < n; i++)
        most = largest_divisor(x[i]) < most ? largest_divisor(x[i]) : most;
    return most;
}

weft_spmm_problem spmm_problem(const spmm_operands *o)
{
    const int axis = o->B.ndim - 2;
    const int64_t dense[] = {o->B.offset, o->B.stride[axis], axis ? o->B.stride[0] : 0,
                             o->C.offset, o->C.stride[axis], axis ? o->C.stride[0] : 0};
    const int64_t entries[] = {o->A.indices_start - o->A.values_start, o->A.values_batch_stride};
    return (weft_spmm_problem){
        .m = o->of.m,
        .k = o->of.k,
        .n = o->of.n,
        .nnz = o->host.nnz,
        .n_batches = o->of.n_batches,
        .dtype = o->of.dtype,
        .columns_adjacent =
            o->of.n == 1 || (o->B.stride[axis + 1] == 1 && o->C.stride[axis + 1] == 1),
        .alignment = min_divisor(1 << 16, dense, 6),
        .entry_alignment = min_divisor(1 << 16, entries, 2),
        .rows = o->plan ? weft_spmm_plan_rows(o->plan) : NULL,
        .reduction = o->of.reduction,
    };
}
