// SPDX-License-Identifier: Apache-2.0
// A CSR on the host: made from a dense matrix, checked, freed.
#include "operand/csr_host.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/element.h"
#include "base/fail.h"
#include "base/params.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"

weft_status weft_array_create(void **out, uint64_t n, size_t size, const char *what)
{
    *out = n <= SIZE_MAX / size ? calloc(n > 0 ? (size_t)n : 1, size) : NULL;
    if (!*out)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %" PRIu64 " elements of %zu bytes", what, n,
                    size);
    return WEFT_OK;
}

void weft_csr_host_destroy(weft_csr_host *host)
{
    if (!host)
        return;
    free(host->offsets);
    free(host->indices);
    free(host->values);
    *host = (weft_csr_host){0};
}

weft_status weft_csr_host_choose(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                 const weft_csr_params *params, const char *what)
{
    weft_csr_params own;
    TRY(PARAMS_READ(&own, params, what, "WEFT_CSR"));
    *out = (weft_csr_host){
        .n_rows = n_rows,
        .n_cols = n_cols,
        .offset_dtype = own.offset_dtype,
        .index_dtype = weft_dtype_or(own.index_dtype, WEFT_I32),
        .dtype = weft_dtype_or(own.dtype, WEFT_F32),
    };
    char matrix[WEFT_OPERAND_TEXT];
    const weft_csr form = weft_csr_form(out);
    return weft_csr_form_check(&form, weft_operand_text(matrix, what, "the matrix"));
}

weft_status weft_csr_host_allocate(weft_csr_host *out, int64_t nnz, const char *what)
{
    out->nnz = nnz;
    out->offset_dtype = weft_dtype_or(out->offset_dtype, nnz > INT32_MAX ? WEFT_I64 : WEFT_I32);
    char matrix[WEFT_OPERAND_TEXT];
    const weft_csr form = weft_csr_form(out);
    TRY(weft_csr_form_check(&form, weft_operand_text(matrix, what, "the matrix")));

    TRY(weft_array_create(&out->offsets, (uint64_t)out->n_rows + 1,
                          weft_dtype_size(out->offset_dtype), what));
    TRY(weft_array_create(&out->indices, (uint64_t)nnz, weft_dtype_size(out->index_dtype), what));
    return weft_array_create(&out->values, (uint64_t)nnz, weft_dtype_size(out->dtype), what);
}

typedef struct dense_matrix {
    int64_t n_rows, n_cols;
    const float *elements;
    int64_t stride_r, stride_c;
    double threshold;
} dense_matrix;

static float dense_at(const dense_matrix *dense, int64_t row, int64_t column)
{
    return dense->elements[row * dense->stride_r + column * dense->stride_c];
}

static bool is_kept(const dense_matrix *dense, float element)
{
    return isnan(element) || fabsf(element) > (float)dense->threshold;
}

static int64_t count_kept(const dense_matrix *dense)
{
    int64_t n = 0;
    for (int64_t row = 0; row < dense->n_rows; row++)
        for (int64_t column = 0; column < dense->n_cols; column++)
            n += is_kept(dense, dense_at(dense, row, column));
    return n;
}

static void write_kept(const dense_matrix *dense, weft_csr_host *out)
{
    int64_t n = 0;
    for (int64_t row = 0; row < dense->n_rows; row++) {
        for (int64_t column = 0; column < dense->n_cols; column++) {
            const float element = dense_at(dense, row, column);
            if (!is_kept(dense, element))
                continue;
            integer_put(out->indices, out->index_dtype, n, column);
            weft_element_put(out->values, out->dtype, n++, (double)element);
        }
        integer_put(out->offsets, out->offset_dtype, row + 1, n);
    }
}

static weft_status dense_check(const dense_matrix *dense, const char *what)
{
    if (!dense->elements && dense->n_rows > 0 && dense->n_cols > 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: the matrix is NULL", what);
    if (!(dense->threshold >= 0))
        return fail(WEFT_BAD_ARGUMENT, "%s: the threshold is %g, 0 or more is possible", what,
                    dense->threshold);
    return WEFT_OK;
}

weft_status weft_csr_host_from_dense(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                     const float *dense, int64_t stride_r, int64_t stride_c,
                                     double threshold, const weft_csr_params *params)
{
    static const char what[] = "csr_from_dense";
    const dense_matrix matrix = {n_rows, n_cols, dense, stride_r, stride_c, threshold};
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", what);

    *out = (weft_csr_host){0};
    weft_status status = dense_check(&matrix, what);
    if (status == WEFT_OK)
        status = weft_csr_host_choose(out, n_rows, n_cols, params, what);
    if (status == WEFT_OK)
        status = weft_csr_host_allocate(out, count_kept(&matrix), what);
    if (status == WEFT_OK)
        write_kept(&matrix, out);
    else
        weft_csr_host_destroy(out);
    return status;
}

static weft_window whole(const void *array, int64_t n, weft_dtype dtype)
{
    return (weft_window){.data = array, .last = n, .dtype = dtype};
}

weft_status weft_csr_host_check(const weft_csr_host *host, int demand)
{
    TRY(weft_csr_host_form_check(host, "csr_host_check"));
    const weft_csr form = weft_csr_form(host);
    weft_window offsets = whole(host->offsets, form.n_rows + 1, form.offset_dtype);
    weft_window indices = whole(host->indices, form.nnz, form.index_dtype);
    return weft_csr_pattern_check(&form, &offsets, &indices, demand, "csr_host_check");
}

weft_status weft_csr_host_sound_check(const weft_csr_host *host, bool with_indices,
                                      const char *what)
{
    const weft_csr form = weft_csr_form(host);
    weft_window offsets = whole(host->offsets, form.n_rows + 1, form.offset_dtype);
    weft_window indices = whole(host->indices, form.nnz, form.index_dtype);
    return weft_csr_pattern_check(&form, &offsets, with_indices ? &indices : NULL, WEFT_CSR_SOUND,
                                  what);
}
