// SPDX-License-Identifier: Apache-2.0
// Arrays and patterns for tests of sparse formats.
#include "format_case.h"

#include <inttypes.h>

#include "base/element.h"

enum { BEHIND = 5, POISON = 0x7f, UNTOUCHED = 0xa5 };

void *new_array(int64_t n, size_t size)
{
    void *array = calloc((size_t)n + 1, size);
    assert_non_null(array);
    return array;
}

// ---- arrays

guarded guarded_create(weft_context *ctx, const void *data, int64_t n, size_t size, int64_t start)
{
    guarded array = {.n = n, .start = start, .size = size};
    array.bytes = (size_t)(start + n + BEHIND) * size;
    array.before = new_array((int64_t)array.bytes, 1);
    memset(array.before, data ? POISON : UNTOUCHED, array.bytes);
    if (data)
        memcpy(array.before + (size_t)start * size, data, (size_t)n * size);
    cl_int code;
    array.buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                  array.bytes, array.before, &code);
    assert_int_equal(code, CL_SUCCESS);
    return array;
}

void guarded_destroy(guarded *array)
{
    if (array->buffer)
        clReleaseMemObject(array->buffer);
    free(array->before);
    *array = (guarded){0};
}

void guarded_restore(const guarded *array, cl_command_queue queue)
{
    assert_ok(weft_cl_write(queue, array->buffer, array->bytes, array->before, "restore"));
}

void guarded_check(const guarded *array, cl_command_queue queue, const void *want, const char *what)
{
    const size_t from = (size_t)array->start * array->size, size = array->size;
    const size_t to = from + (size_t)array->n * size;
    char *after = new_array((int64_t)array->bytes, 1);
    assert_int_equal(
        clEnqueueReadBuffer(queue, array->buffer, CL_TRUE, 0, array->bytes, after, 0, NULL, NULL),
        CL_SUCCESS);
    if (memcmp(after, array->before, from) != 0 ||
        memcmp(after + to, array->before + to, array->bytes - to) != 0)
        fail_msg("%s: something around its %" PRId64 " elements was written", what, array->n);
    for (int64_t i = 0; i < array->n; i++)
        if (memcmp(after + from + (size_t)i * size, (const char *)want + (size_t)i * size, size) !=
            0)
            fail_msg("%s: element %" PRId64 " of %" PRId64 " is not what it should be", what, i,
                     array->n);
    free(after);
}

void *narrowed(const int64_t *numbers, int64_t n, weft_dtype dtype)
{
    void *array = new_array(n, weft_dtype_size(dtype));
    for (int64_t i = 0; i < n; i++)
        integer_put(array, dtype, i, numbers[i]);
    return array;
}

void *any_bits(random_state *random, int64_t n, size_t size)
{
    char *array = new_array(n, size);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = random_u64(random);
        memcpy(array + (size_t)i * size, &bits, size);
    }
    return array;
}

cl_mem new_workspace(weft_context *ctx, size_t bytes)
{
    cl_int code;
    void *zeros = new_array((int64_t)bytes, 1);
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

// ---- patterns

static pattern pattern_new(int64_t n_rows, int64_t n_cols, int64_t most)
{
    return (pattern){.n_rows = n_rows,
                     .n_cols = n_cols,
                     .offsets = new_array(n_rows + 1, sizeof(int64_t)),
                     .columns = new_array(most, sizeof(int64_t))};
}

void pattern_destroy(pattern *p)
{
    free(p->offsets);
    free(p->columns);
    *p = (pattern){0};
}

static int64_t length_of(random_state *random, pattern_kind kind, int64_t row, int64_t one,
                         int64_t n_cols, int64_t mean)
{
    if (kind == PATTERN_ONE_ROW)
        return row == one ? mean : 0;
    if (kind != PATTERN_ONE_COLUMN && row % 3 == 2)
        return 0;
    const int64_t length = random_below(random, 2 * mean + 1);
    return kind == PATTERN_SORTED && length > n_cols ? n_cols : length;
}

static int64_t column_of(random_state *random, const pattern *p, pattern_kind kind, int64_t i,
                         int64_t length)
{
    switch (kind) {
    case PATTERN_SORTED: // one out of each of `length` equal parts
        return p->n_cols / length * i + random_below(random, p->n_cols / length);
    case PATTERN_REPEATED:
        return random_below(random, p->n_cols < 3 ? p->n_cols : 3) * ((p->n_cols - 1) / 2);
    case PATTERN_ONE_COLUMN:
        return p->n_cols / 2;
    default:
        return random_below(random, p->n_cols);
    }
}

pattern pattern_create(random_state *random, pattern_kind kind, int64_t n_rows, int64_t n_cols,
                       int64_t nnz)
{
    const int64_t share = kind == PATTERN_ONE_ROW || n_rows == 0 ? nnz : nnz / n_rows + 1;
    const int64_t mean = n_cols > 0 ? share : 0;
    const int64_t one = n_rows > 0 ? random_below(random, n_rows) : 0;
    pattern p = pattern_new(n_rows, n_cols, n_rows > 0 ? 2 * mean * n_rows : 0);
    for (int64_t row = 0; row < n_rows; row++) {
        const int64_t length = length_of(random, kind, row, one, n_cols, mean);
        for (int64_t i = 0; i < length; i++)
            p.columns[p.nnz++] = column_of(random, &p, kind, i, length);
        p.offsets[row + 1] = p.nnz;
    }
    return p;
}

pattern pattern_of_cells(int64_t n_rows, int64_t n_cols, uint64_t cells)
{
    pattern p = pattern_new(n_rows, n_cols, n_rows * n_cols);
    for (int64_t row = 0; row < n_rows; row++) {
        for (int64_t column = 0; column < n_cols; column++)
            if (cells != 0 && (cells >> (row * n_cols + column) & 1))
                p.columns[p.nnz++] = column;
        p.offsets[row + 1] = p.nnz;
    }
    return p;
}

pattern pattern_of_host(const weft_csr_host *host)
{
    pattern p = pattern_new(host->n_rows, host->n_cols, host->nnz);
    p.nnz = host->nnz;
    for (int64_t row = 0; row <= host->n_rows; row++)
        p.offsets[row] = integer_at(host->offsets, host->offset_dtype, row);
    for (int64_t e = 0; e < host->nnz; e++)
        p.columns[e] = integer_at(host->indices, host->index_dtype, e);
    return p;
}

pattern pattern_transposed(const pattern *p, int64_t **source)
{
    pattern t = pattern_new(p->n_cols, p->n_rows, p->nnz);
    int64_t *next = new_array(p->n_cols, sizeof(int64_t));
    *source = new_array(p->nnz, sizeof(int64_t));
    t.nnz = p->nnz;
    for (int64_t e = 0; e < p->nnz; e++)
        t.offsets[p->columns[e] + 1]++;
    for (int64_t column = 0; column < p->n_cols; column++) {
        t.offsets[column + 1] += t.offsets[column];
        next[column] = t.offsets[column];
    }
    for (int64_t row = 0; row < p->n_rows; row++)
        for (int64_t e = p->offsets[row]; e < p->offsets[row + 1]; e++) {
            const int64_t place = next[p->columns[e]]++;
            t.columns[place] = row;
            (*source)[place] = e;
        }
    free(next);
    return t;
}

// ---- patterns on the device

static guarded array_of(weft_context *ctx, const int64_t *numbers, int64_t n, bool is_input,
                        weft_dtype dtype, int64_t start)
{
    void *data = is_input ? narrowed(numbers, n, dtype) : NULL;
    const guarded array = guarded_create(ctx, data, n, weft_dtype_size(dtype), start);
    free(data);
    return array;
}

device_pattern device_pattern_create(weft_context *ctx, const pattern *p, bool is_input,
                                     weft_dtype offset_dtype, weft_dtype index_dtype, int64_t start)
{
    device_pattern d = {
        .offsets = array_of(ctx, p->offsets, p->n_rows + 1, is_input, offset_dtype, start),
        .indices = array_of(ctx, p->columns, p->nnz, is_input, index_dtype, start ? start + 1 : 0),
    };
    d.csr = (weft_csr){.n_rows = p->n_rows,
                       .n_cols = p->n_cols,
                       .nnz = p->nnz,
                       .offset_dtype = offset_dtype,
                       .index_dtype = index_dtype,
                       .offsets = d.offsets.buffer,
                       .indices = d.indices.buffer,
                       .offsets_start = d.offsets.start,
                       .indices_start = d.indices.start};
    return d;
}

void device_pattern_destroy(device_pattern *d)
{
    guarded_destroy(&d->offsets);
    guarded_destroy(&d->indices);
}

void device_pattern_check(const device_pattern *d, cl_command_queue queue, const pattern *want)
{
    void *offsets = narrowed(want->offsets, want->n_rows + 1, d->csr.offset_dtype);
    void *indices = narrowed(want->columns, want->nnz, d->csr.index_dtype);
    guarded_check(&d->offsets, queue, offsets, "offsets");
    guarded_check(&d->indices, queue, indices, "indices");
    free(offsets);
    free(indices);
}
