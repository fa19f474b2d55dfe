// SPDX-License-Identifier: Apache-2.0
// Operands of weft self-test, and the comparison of results.
#include "self_test_trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "buffer.h"
#include "dense_job.h"
#include "random.h"
#include "reference_line.h"
#include "scalar.h"
#include "sparse.h"

enum { NOT_A_NUMBER = 0xff, FAR_OUT = 0xa5 }; // bytes: of floats, of integers

// ---- cases

void trial_clear(self_trial *t)
{
    while (t->n_buffers > 0)
        buffer_release(&t->buffers[--t->n_buffers]);
    while (t->n_memory > 0)
        free(t->memory[--t->n_memory]);
    while (t->n_matrices > 0)
        weft_csr_host_destroy(&t->matrices[--t->n_matrices]);
}

void trial_case(self_trial *t, const char *format, ...)
{
    va_list arguments;
    trial_clear(t);
    t->plan[0] = '\0';
    va_start(arguments, format);
    vsnprintf(t->text, sizeof(t->text), format, arguments);
    va_end(arguments);
}

bool trial_call(self_trial *t, weft_status status)
{
    return status == WEFT_OK || complain_weft(t->why);
}

bool trial_plan(self_trial *t, int length)
{
    return length >= 0 || complain_weft(t->why);
}

// ---- dense operands

// A zeroed place among the case's.
static void *remember(self_trial *t, size_t bytes)
{
    void *memory = t->n_memory < TRIAL_ARRAYS ? calloc(bytes > 0 ? bytes : 1, 1) : NULL;
    if (memory != NULL)
        t->memory[t->n_memory++] = memory;
    else
        complaint_keep(t->why, "no memory for %zu bytes of a case", bytes);
    return memory;
}

static bool is_real(weft_dtype dtype)
{
    return scalar_is_float(dtype);
}

// On the host alone, filled with one byte.
static bool make_array(self_trial *t, self_array *out, weft_dtype dtype, int ndim,
                       const int64_t *shape, int filled_with)
{
    *out = (self_array){.count = 1};
    for (int d = 0; d < ndim; d++)
        out->count *= shape[d];
    out->bytes = (size_t)(out->count + INT64_C(2) * TRIAL_GUARD) * weft_dtype_size(dtype);
    void *memory = remember(t, out->bytes);
    if (memory == NULL)
        return false;
    memset(memory, filled_with, out->bytes);
    out->host = host_tensor_dense(dtype, memory, ndim, shape);
    out->host.offset = TRIAL_GUARD;
    return true;
}

static bool upload(self_trial *t, self_array *array)
{
    if (t->n_buffers == TRIAL_ARRAYS)
        return complain(t->why, "a case has more than %d arrays", TRIAL_ARRAYS);
    if (!buffer_create(&t->buffers[t->n_buffers], t->ctx, array->host.data, array->bytes,
                       "an operand", t->why))
        return false;
    const host_tensor *host = &array->host;
    array->there = (weft_tensor){.buffer = t->buffers[t->n_buffers++],
                                 .dtype = host->dtype,
                                 .offset = host->offset,
                                 .ndim = host->ndim};
    memcpy(array->there.shape, host->shape, sizeof(host->shape));
    memcpy(array->there.stride, host->stride, sizeof(host->stride));
    return true;
}

void *trial_data(const self_array *array)
{
    return (char *)(uintptr_t)array->host.data + TRIAL_GUARD * weft_dtype_size(array->host.dtype);
}

static void put_whole(weft_dtype dtype, void *data, int64_t i, int64_t value)
{
    switch (dtype) {
    case WEFT_I64:
        ((int64_t *)data)[i] = value;
        return;
    case WEFT_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        return;
    case WEFT_I16:
        ((int16_t *)data)[i] = (int16_t)value;
        return;
    default:
        ((uint8_t *)data)[i] = (uint8_t)value;
    }
}

static void fill(self_trial *t, weft_dtype dtype, void *data, int64_t count)
{
    random_stream stream = random_start(++t->seed, RANDOM_VALUES);
    const int64_t least = dtype == WEFT_U8 ? 0 : dtype == WEFT_I8 ? -128 : -999;
    const int64_t numbers = dtype == WEFT_U8 || dtype == WEFT_I8 ? 256 : 1999;
    for (int64_t i = 0; i < count; i++)
        if (is_real(dtype))
            scalar_put(dtype, data, i, random_uniform(&stream));
        else
            put_whole(dtype, data, i, least + random_below(&stream, numbers));
}

bool trial_input(self_trial *t, self_array *out, weft_dtype dtype, int ndim, const int64_t *shape)
{
    if (!make_array(t, out, dtype, ndim, shape, is_real(dtype) ? NOT_A_NUMBER : 0))
        return false;
    fill(t, dtype, trial_data(out), out->count);
    return upload(t, out);
}

bool trial_input_of(self_trial *t, self_array *out, weft_dtype dtype, int ndim,
                    const int64_t *shape, const void *data)
{
    if (!make_array(t, out, dtype, ndim, shape, is_real(dtype) ? NOT_A_NUMBER : 0))
        return false;
    memcpy(trial_data(out), data, (size_t)out->count * weft_dtype_size(dtype));
    return upload(t, out);
}

bool trial_output(self_trial *t, self_array *out, weft_dtype dtype, int ndim, const int64_t *shape)
{
    return make_array(t, out, dtype, ndim, shape, is_real(dtype) ? NOT_A_NUMBER : FAR_OUT) &&
           upload(t, out);
}

self_array trial_transposed(const self_array *array)
{
    self_array transposed = *array;
    const int row = array->host.ndim - 2, column = row + 1;
    transposed.there = weft_tensor_transposed(&array->there);
    transposed.host.shape[row] = array->host.shape[column];
    transposed.host.shape[column] = array->host.shape[row];
    transposed.host.stride[row] = array->host.stride[column];
    transposed.host.stride[column] = array->host.stride[row];
    return transposed;
}

// ---- sparse operands

static void take_arrays(self_csr *out, int64_t n_rows, int64_t n_cols, int64_t nnz)
{
    out->there = (weft_csr){
        .n_rows = n_rows,
        .n_cols = n_cols,
        .nnz = nnz,
        .offset_dtype = out->offsets.host.dtype,
        .index_dtype = out->indices.host.dtype,
        .dtype = out->values.host.dtype,
        .offsets = out->offsets.there.buffer,
        .indices = out->indices.there.buffer,
        .values = out->values.there.buffer,
        .offsets_start = TRIAL_GUARD,
        .indices_start = TRIAL_GUARD,
        .values_start = TRIAL_GUARD,
    };
}

bool trial_csr_of(self_trial *t, self_csr *out, const weft_csr_host *host)
{
    weft_csr_host own = *host;
    if (t->n_matrices == TRIAL_MATRICES) {
        weft_csr_host_destroy(&own);
        return complain(t->why, "a case has more than %d matrices", TRIAL_MATRICES);
    }
    t->matrices[t->n_matrices++] = own;
    *out = (self_csr){.host = own};
    if (!trial_input_of(t, &out->offsets, own.offset_dtype, 1, (int64_t[]){own.n_rows + 1},
                        own.offsets) ||
        !trial_input_of(t, &out->indices, own.index_dtype, 1, &own.nnz, own.indices) ||
        !trial_input_of(t, &out->values, own.dtype, 1, &own.nnz, own.values))
        return false;
    take_arrays(out, own.n_rows, own.n_cols, own.nnz);
    return true;
}

bool trial_csr(self_trial *t, self_csr *out, const generate_layer *layer)
{
    weft_csr_host host;
    generate_layer seeded = *layer;
    seeded.seed = ++t->seed;
    return generate_layer_csr(&host, &seeded, t->why) && trial_csr_of(t, out, &host);
}

bool trial_csr_transposed(self_trial *t, self_csr *out, const self_csr *of)
{
    weft_csr_host host;
    if (weft_csr_host_rows(&host, &of->host, 0, of->host.n_rows) != WEFT_OK)
        return complain_weft(t->why);
    if (sparse_transpose(&host, t->why))
        return trial_csr_of(t, out, &host);
    weft_csr_host_destroy(&host);
    return false;
}

bool trial_csr_output(self_trial *t, self_csr *out, int64_t n_rows, int64_t n_cols, int64_t nnz,
                      weft_dtype dtype)
{
    *out = (self_csr){.host = {.n_rows = n_rows, .n_cols = n_cols, .nnz = nnz}};
    if (!trial_output(t, &out->offsets, WEFT_I32, 1, (int64_t[]){n_rows + 1}) ||
        !trial_output(t, &out->indices, WEFT_I32, 1, &nnz) ||
        !trial_output(t, &out->values, dtype, 1, &nnz))
        return false;
    take_arrays(out, n_rows, n_cols, nnz);
    return true;
}

static void take_rows(self_dcsr *out, const self_csr *A, int64_t n_stored)
{
    out->there = (weft_dcsr){.n_rows = A->there.n_rows,
                             .n_cols = A->there.n_cols,
                             .n_stored = n_stored,
                             .nnz = A->there.nnz,
                             .index_dtype = A->there.index_dtype,
                             .dtype = A->there.dtype,
                             .rows = out->rows.there.buffer,
                             .offsets = out->offsets.there.buffer,
                             .indices = A->there.indices,
                             .values = A->there.values,
                             .rows_start = TRIAL_GUARD,
                             .offsets_start = TRIAL_GUARD,
                             .indices_start = TRIAL_GUARD,
                             .values_start = TRIAL_GUARD};
}

bool trial_dcsr(self_trial *t, self_dcsr *out, const self_csr *A)
{
    int64_t n = 0;
    const size_t room = (size_t)(A->host.n_rows + 1) * sizeof(int32_t);
    int32_t *rows = remember(t, room), *offsets = remember(t, room);
    for (int64_t row = 0; rows != NULL && offsets != NULL && row < A->host.n_rows; row++) {
        const int64_t stop = scalar_whole(A->host.offset_dtype, A->host.offsets, row + 1);
        if (stop == offsets[n])
            continue;
        rows[n++] = (int32_t)row;
        offsets[n] = (int32_t)stop;
    }
    if (rows == NULL || offsets == NULL || !trial_input_of(t, &out->rows, WEFT_I32, 1, &n, rows) ||
        !trial_input_of(t, &out->offsets, WEFT_I32, 1, (int64_t[]){n + 1}, offsets))
        return false;
    take_rows(out, A, n);
    return true;
}

bool trial_dcsr_output(self_trial *t, self_dcsr *out, const self_dcsr *like)
{
    out->there = like->there;
    if (!trial_output(t, &out->rows, WEFT_I32, 1, like->rows.host.shape) ||
        !trial_output(t, &out->offsets, WEFT_I32, 1, like->offsets.host.shape))
        return false;
    out->there.rows = out->rows.there.buffer;
    out->there.offsets = out->offsets.there.buffer;
    return true;
}

void *trial_dense_of(self_trial *t, const weft_csr_host *host)
{
    const size_t size = weft_dtype_size(host->dtype);
    char *dense = remember(t, (size_t)host->n_rows * (size_t)host->n_cols * size);
    for (int64_t row = 0; dense != NULL && row < host->n_rows; row++) {
        const int64_t stop = scalar_whole(host->offset_dtype, host->offsets, row + 1);
        for (int64_t e = scalar_whole(host->offset_dtype, host->offsets, row); e < stop; e++) {
            const int64_t column = scalar_whole(host->index_dtype, host->indices, e);
            memcpy(dense + (size_t)(row * host->n_cols + column) * size,
                   (const char *)host->values + (size_t)e * size, size);
        }
    }
    return dense;
}

// ---- results

static void note_bits(self_trial *t, const void *got, size_t bytes)
{
    t->result->n_results++;
    t->result->bits = XXH64(got, bytes, t->result->bits);
}

// Records the first wrong result.
static void note_wrong(self_trial *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note_wrong(self_trial *t, const char *format, ...)
{
    self_test_result *result = t->result;
    va_list arguments;
    if (result->n_wrong++ > 0)
        return;
    memcpy(result->text, t->text, sizeof(result->text));
    memcpy(result->plan, t->plan, sizeof(result->plan));
    va_start(arguments, format);
    vsnprintf(result->difference, sizeof(result->difference), format, arguments);
    va_end(arguments);
}

// "(3, 17)" of an array without gaps.
static const char *index_text(const host_tensor *array, int64_t at, char *text, size_t size)
{
    int64_t index[WEFT_MAX_NDIM] = {0};
    for (int d = array->ndim - 1; d >= 0; d--) {
        index[d] = at % array->shape[d];
        at /= array->shape[d];
    }
    return dense_shape_text(array->ndim, index, text, size);
}

// An infinite bound would check nothing.
static bool is_bounded(self_trial *t, const char *what, const reference_values *values)
{
    for (int64_t i = 0; i < values->count; i++)
        if (!isfinite(values->bound[i]))
            return complain(t->why, "%s: %s: element %" PRId64 " has no bound", t->text, what, i);
    return true;
}

// The first changed byte around the array; -1 if there is none.
static int64_t touched_guard(const self_array *array, const unsigned char *now)
{
    const unsigned char *before = array->host.data;
    const size_t guard = TRIAL_GUARD * weft_dtype_size(array->host.dtype);
    for (size_t i = 0; i < array->bytes; i++)
        if ((i < guard || i >= array->bytes - guard) && now[i] != before[i])
            return (int64_t)i;
    return -1;
}

static const char *number_text(weft_dtype dtype, double x, char *text, size_t size)
{
    if (isnan(x))
        snprintf(text, size, "NaN");
    else
        snprintf(text, size, "%.*g", dtype == WEFT_F64 ? 17 : 9, x);
    return text;
}

static void judge(self_trial *t, const char *what, const self_array *got, const void *now,
                  const reference_worst *worst)
{
    char where[256], shape[256], is[32], wanted[32], bounds[64] = "";
    const weft_dtype dtype = got->host.dtype;
    const int64_t guard = touched_guard(got, now);
    const int64_t start = (int64_t)(TRIAL_GUARD * weft_dtype_size(got->host.dtype));
    note_bits(t, now, got->bytes);
    dense_shape_text(got->host.ndim, got->host.shape, shape, sizeof(shape));
    if (isfinite(worst->error))
        snprintf(bounds, sizeof(bounds), ", by up to %.3g times the bound", worst->error);
    if (worst->n_beyond > 0)
        note_wrong(t, "%s %s: element %s is %s, not %s; %" PRId64 " of %" PRId64 " are wrong%s",
                   what, shape, index_text(&got->host, worst->first, where, sizeof(where)),
                   number_text(dtype, worst->first_got, is, sizeof(is)),
                   number_text(dtype, worst->first_want, wanted, sizeof(wanted)), worst->n_beyond,
                   got->count, bounds);
    else if (guard >= 0)
        note_wrong(t, "%s %s: byte %" PRId64 " from its start was written, which is outside", what,
                   shape, guard - start);
}

bool trial_compare(self_trial *t, const char *what, const self_array *got, reference_values *values)
{
    reference_worst worst;
    void *now = malloc(got->bytes);
    host_tensor view = got->host;
    view.data = now;
    bool done = now != NULL || complain(t->why, "no memory for %zu bytes", got->bytes);
    done = done && is_bounded(t, what, values) &&
           buffer_read(got->there.buffer, t->queue, now, got->bytes, t->why) &&
           reference_values_compare(values, &view, &worst, t->why);
    if (done)
        judge(t, what, got, now, &worst);
    free(now);
    reference_values_free(values);
    return done;
}

bool trial_compare_bounded(self_trial *t, const char *what, const self_array *got, double *want,
                           double *bound)
{
    reference_values values = {
        .dtype = got->host.dtype, .count = got->count, .want = want, .bound = bound};
    return trial_compare(t, what, got, &values);
}

bool trial_compare_equal(self_trial *t, const char *what, const self_array *got, const void *want)
{
    reference_values values;
    const weft_dtype dtype = got->host.dtype;
    if (!values_create(&values, dtype, got->count, t->why))
        return false;
    for (int64_t i = 0; i < got->count; i++)
        if (values.whole != NULL)
            values.whole[i] = scalar_whole(dtype, want, i);
        else
            values.want[i] = scalar_get(dtype, want, i);
    return trial_compare(t, what, got, &values);
}

bool trial_compare_csr(self_trial *t, const self_csr *got, const weft_csr_host *want)
{
    return trial_compare_equal(t, "offsets", &got->offsets, want->offsets) &&
           trial_compare_equal(t, "indices", &got->indices, want->indices) &&
           trial_compare_equal(t, "values", &got->values, want->values);
}

bool trial_compare_number(self_trial *t, const char *what, int64_t got, int64_t want,
                          bool *is_right)
{
    note_bits(t, &got, sizeof(got));
    *is_right = got == want;
    if (!*is_right)
        note_wrong(t, "%s: %" PRId64 ", not %" PRId64, what, got, want);
    return true;
}
