// SPDX-License-Identifier: Apache-2.0
// Operands for tests of operations on sparse matrices.
#include "sparse_case.h"

#include <math.h>

#include "reference.h"
#include "scalar.h"

enum { GUARD = 16, WILD_INDEX = 0x7f };

static int64_t at_least(int64_t x, int64_t least)
{
    return x > least ? x : least;
}

// ---- memory

void *memory_filled(size_t bytes, int with)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(memory);
    memset(memory, with, bytes);
    return memory;
}

cl_mem buffer_of(weft_context *ctx, const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

cl_mem buffer_zeroed(weft_context *ctx, size_t bytes, cl_mem_flags flags)
{
    cl_int code;
    void *zeros = memory_filled(bytes, 0);
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

void *buffer_now(cl_command_queue queue, cl_mem buffer, size_t bytes)
{
    void *now = memory_filled(bytes, 0);
    if (bytes > 0) // PoCL 6.0 reads nothing else
        assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, now, 0, NULL, NULL),
                         CL_SUCCESS);
    return now;
}

void buffer_put(cl_command_queue queue, cl_mem buffer, const void *data, size_t bytes)
{
    if (bytes > 0)
        assert_ok(weft_cl_write(queue, buffer, bytes, data, "put"));
}

// ---- numbers

double sparse_number(sparse_numbers numbers, random_state *random, int64_t most)
{
    return numbers == NUMBERS_FRACTIONS ? random_float(random)
           : numbers == NUMBERS_NAN     ? NAN
                                        : (double)random_between(random, -most, most);
}

double sparse_wild_number(random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN};
    return wild[random_below(random, 3)];
}

bool sparse_is_right(sparse_numbers numbers, weft_dtype dtype, double got, double want,
                     double bound)
{
    if (numbers == NUMBERS_FRACTIONS)
        return reference_error(dtype, got, want, bound) <= 1;
    double stored;
    scalar_put(dtype, &stored, 0, want);
    want = scalar_get(dtype, &stored, 0);
    return isnan(want) ? isnan(got) : got == want;
}

// ---- sparse matrices

static int64_t row_length(const sparse_form *form, random_state *random, int64_t row)
{
    const int64_t n_cols = form->n_cols;
    switch (form->rows) {
    case ROWS_FULL:
        return n_cols;
    case ROWS_ONE_FULL:
        return row == (int64_t)(form->seed % 3) ? n_cols : random_below(random, 2) && n_cols > 0;
    case ROWS_REPEATED:
        return n_cols > 0 ? random_below(random, 2 * n_cols + 1) : 0;
    case ROWS_SPARSE:
        return random_below(random, 9) % (n_cols + 1);
    case ROWS_TENTH:
        return n_cols / 20 + random_below(random, n_cols / 10 + 1);
    case ROWS_FAR:
        return row % 12 == (int64_t)(form->seed % 12) ? random_below(random, 9) % (n_cols + 1) : 0;
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

sparse_span sparse_row(const weft_csr_host *host, int64_t row)
{
    return (sparse_span){scalar_whole(host->offset_dtype, host->offsets, row),
                         scalar_whole(host->offset_dtype, host->offsets, row + 1)};
}

int64_t sparse_column(const weft_csr_host *host, int64_t e)
{
    return scalar_whole(host->index_dtype, host->indices, e);
}

// Columns of one row: `length` of them drawn one after the other and so rising, or any at all.
static void draw_columns(weft_csr_host *host, random_state *random, sparse_span row,
                         bool is_repeated)
{
    const int64_t n_cols = host->n_cols;
    int64_t e = row.first;
    for (int64_t column = 0; e < row.stop; column = (column + 1) % n_cols) {
        if (is_repeated)
            put_whole(host->indices, host->index_dtype, e++, random_below(random, n_cols));
        else if (random_below(random, n_cols - column) < row.stop - e)
            put_whole(host->indices, host->index_dtype, e++, column);
    }
}

static void copy_pattern(weft_csr_host *host, const weft_csr_host *given)
{
    assert_true(host->n_rows == given->n_rows && host->n_cols == given->n_cols);
    host->nnz = given->nnz;
    for (int64_t row = 0; row <= given->n_rows; row++)
        put_whole(host->offsets, host->offset_dtype, row,
                  scalar_whole(given->offset_dtype, given->offsets, row));
    host->indices = memory_filled((size_t)host->nnz * weft_dtype_size(host->index_dtype), 0);
    for (int64_t e = 0; e < given->nnz; e++)
        put_whole(host->indices, host->index_dtype, e, sparse_column(given, e));
}

static void make_pattern(weft_csr_host *host, const sparse_form *form, random_state *random)
{
    *host = (weft_csr_host){.n_rows = form->n_rows,
                            .n_cols = form->n_cols,
                            .offset_dtype = form->offset_dtype ? form->offset_dtype : WEFT_I32,
                            .index_dtype = form->index_dtype ? form->index_dtype : WEFT_I32,
                            .dtype = form->dtype ? form->dtype : WEFT_F32};
    host->offsets =
        memory_filled((size_t)(host->n_rows + 1) * weft_dtype_size(host->offset_dtype), 0);
    if (form->given) {
        copy_pattern(host, form->given);
        return;
    }
    for (int64_t row = 0; row < host->n_rows; row++) {
        host->nnz += row_length(form, random, row);
        put_whole(host->offsets, host->offset_dtype, row + 1, host->nnz);
    }
    host->indices = memory_filled((size_t)host->nnz * weft_dtype_size(host->index_dtype), 0);
    for (int64_t row = 0; row < host->n_rows; row++)
        draw_columns(host, random, sparse_row(host, row), form->rows == ROWS_REPEATED);
}

static double value_for(const sparse_form *form, random_state *random, int64_t row, int64_t e)
{
    if (form->given && form->numbers == NUMBERS_FRACTIONS)
        return scalar_get(form->given->dtype, form->given->values, e);
    const bool is_wild = form->numbers == NUMBERS_WILD && row % 2 == 1 && random_below(random, 2);
    return is_wild ? sparse_wild_number(random) : sparse_number(form->numbers, random, 3);
}

// From the first value of the first matrix to the last one of the last.
static int64_t count_values(const sparse_operand *o, const sparse_form *form)
{
    const int64_t nnz = o->host.nnz;
    return nnz > 0 ? (at_least(form->n_matrices, 1) - 1) * o->values_step + nnz : 0;
}

static void make_values(sparse_operand *o, const sparse_form *form, random_state *random)
{
    weft_csr_host *host = &o->host;
    o->values_step = form->n_matrices > 0 ? host->nnz + 3 : 0;
    const size_t bytes = (size_t)count_values(o, form) * weft_dtype_size(host->dtype);
    host->values = memory_filled(bytes, SPARSE_POISON);
    for (int64_t batch = 0; batch < at_least(form->n_matrices, 1); batch++)
        for (int64_t row = 0; row < host->n_rows; row++)
            for (int64_t e = sparse_row(host, row).first; e < sparse_row(host, row).stop; e++)
                scalar_put(host->dtype, host->values, batch * o->values_step + e,
                           value_for(form, random, row, e));
}

void sparse_make(sparse_operand *o, const sparse_form *form, random_state *random)
{
    *o = (sparse_operand){.values_step = 0};
    make_pattern(&o->host, form, random);
    make_values(o, form, random);
}

// A buffer with `n` elements of `size` bytes from element `start` on, and in half of the cases a
// few behind them; NULL where there are none.
static cl_mem surrounded(weft_context *ctx, const sparse_form *form, const void *data, int64_t n,
                         size_t size, int64_t start, int around)
{
    if (n == 0)
        return NULL;
    const int64_t behind = form->seed % 2 ? 5 : 0;
    const size_t bytes = (size_t)(start + n + behind) * size;
    char *copy = memory_filled(bytes, around);
    memcpy(copy + (size_t)start * size, data, (size_t)n * size);
    cl_mem buffer = buffer_of(ctx, copy, bytes);
    free(copy);
    return buffer;
}

void sparse_upload(sparse_operand *o, const sparse_form *form, weft_context *ctx)
{
    const weft_csr_host *host = &o->host;
    o->csr = (weft_csr){
        .n_rows = host->n_rows,
        .n_cols = host->n_cols,
        .nnz = host->nnz,
        .offset_dtype = form->offset_dtype,
        .index_dtype = form->index_dtype,
        .dtype = form->dtype,
        .offsets_start = form->offsets_start,
        .indices_start = form->indices_start,
        .values_start = form->values_start,
        .values_batch_stride = o->values_step,
        .offsets = surrounded(ctx, form, host->offsets, host->n_rows + 1,
                              weft_dtype_size(host->offset_dtype), form->offsets_start, WILD_INDEX),
        .indices = surrounded(ctx, form, host->indices, host->nnz,
                              weft_dtype_size(host->index_dtype), form->indices_start, WILD_INDEX),
        .values = surrounded(ctx, form, host->values, count_values(o, form),
                             weft_dtype_size(host->dtype), form->values_start, SPARSE_POISON),
    };
}

void sparse_destroy(sparse_operand *o)
{
    weft_csr_destroy(&o->csr);
    free(o->host.offsets);
    free(o->host.indices);
    free(o->host.values);
}

bool *sparse_named_rows(const weft_csr_host *host)
{
    bool *is_named = memory_filled((size_t)host->n_rows, 0);
    for (int64_t row = 0; row < host->n_rows; row++)
        is_named[row] = sparse_row(host, row).first < sparse_row(host, row).stop;
    return is_named;
}

bool *sparse_named_columns(const weft_csr_host *host)
{
    bool *is_named = memory_filled((size_t)host->n_cols, 0);
    for (int64_t e = 0; e < host->nnz; e++)
        is_named[sparse_column(host, e)] = true;
    return is_named;
}

// ---- dense matrices

// batch, row, column
static void strides_of(dense_layout layout, const int64_t shape[3], int64_t stride[3])
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

int64_t dense_lay_out(weft_tensor *t, weft_dtype dtype, int64_t n_batches, int64_t rows,
                      int64_t columns, dense_layout layout, int64_t start)
{
    const int64_t shape[3] = {at_least(n_batches, 1), rows, columns};
    int64_t stride[3], before = 0, after = 0;
    strides_of(layout, shape, stride);
    for (int d = 0; d < 3; d++) {
        const int64_t reach = at_least(shape[d] - 1, 0) * stride[d];
        before += reach < 0 ? -reach : 0;
        after += reach > 0 ? reach : 0;
    }
    const int from = n_batches > 0 ? 0 : 1;
    *t = (weft_tensor){.dtype = dtype, .offset = GUARD + start + before, .ndim = 3 - from};
    for (int d = from; d < 3; d++) {
        t->shape[d - from] = d == 0 ? n_batches : shape[d];
        t->stride[d - from] = stride[d];
    }
    return GUARD + start + before + after + 1 + GUARD;
}

int64_t dense_place(const weft_tensor *t, int64_t batch, int64_t row, int64_t column)
{
    const int axis = t->ndim - 2;
    return t->offset + (axis ? batch * t->stride[0] : 0) + row * t->stride[axis] +
           column * t->stride[axis + 1];
}

int64_t dense_batches(const weft_tensor *t)
{
    return t->ndim == 3 ? t->shape[0] : 1;
}

void *dense_packed(const weft_tensor *t, const void *image)
{
    const size_t size = weft_dtype_size(t->dtype ? t->dtype : WEFT_F32);
    const int axis = t->ndim - 2;
    const int64_t n = dense_batches(t) * t->shape[axis] * t->shape[axis + 1];
    char *packed = memory_filled((size_t)n * size, 0);
    size_t at = 0;
    EACH_ELEMENT(t, batch, row, column)
    {
        const size_t from = (size_t)dense_place(t, batch, row, column) * size;
        memcpy(packed + at, (const char *)image + from, size);
        at += size;
    }
    return packed;
}
