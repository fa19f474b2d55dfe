// SPDX-License-Identifier: Apache-2.0
// Transposes of matrices, and the work of a product at their entries.
#include "sparse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scalar.h"

// ---- the other way round

static int64_t offset_of(const weft_csr_host *matrix, int64_t row)
{
    return scalar_whole(matrix->offset_dtype, matrix->offsets, row);
}

// Entries by their places.
typedef struct coordinates {
    int64_t *rows, *columns;
    double *values;
} coordinates;

static bool make_coordinates(coordinates *out, const weft_csr_host *matrix, complaint *why)
{
    const size_t n = (size_t)(matrix->nnz > 0 ? matrix->nnz : 1);
    *out = (coordinates){calloc(n, sizeof(*out->rows)), calloc(n, sizeof(*out->columns)),
                         calloc(n, sizeof(*out->values))};
    if (out->rows == NULL || out->columns == NULL || out->values == NULL)
        return complain(why, "no memory to transpose %" PRId64 " entries", matrix->nnz);
    for (int64_t row = 0; row < matrix->n_rows; row++)
        for (int64_t e = offset_of(matrix, row); e < offset_of(matrix, row + 1); e++) {
            out->rows[e] = row;
            out->columns[e] = scalar_whole(matrix->index_dtype, matrix->indices, e);
            out->values[e] = scalar_get(matrix->dtype, matrix->values, e);
        }
    return true;
}

static void free_coordinates(coordinates *all)
{
    free(all->rows);
    free(all->columns);
    free(all->values);
}

bool sparse_transpose(weft_csr_host *matrix, complaint *why)
{
    coordinates all;
    weft_csr_host transposed;
    const bool done = make_coordinates(&all, matrix, why) &&
                      (weft_csr_host_from_coo(&transposed, matrix->n_cols, matrix->n_rows,
                                              matrix->nnz, all.columns, all.rows, all.values,
                                              WEFT_CSR(.dtype = matrix->dtype)) == WEFT_OK ||
                       complain_weft(why));
    free_coordinates(&all);
    if (!done)
        return false;
    weft_csr_host_destroy(matrix);
    *matrix = transposed;
    return true;
}

// ---- of another data type

bool sparse_convert(weft_csr_host *matrix, weft_dtype dtype, const char *path, complaint *why)
{
    if (matrix->dtype == dtype)
        return true;
    const size_t n = (size_t)(matrix->nnz > 0 ? matrix->nnz : 1);
    void *values = malloc(n * weft_dtype_size(dtype));
    if (values == NULL)
        return complain(why, "%s: no memory for %" PRId64 " values", path, matrix->nnz);
    for (int64_t e = 0; e < matrix->nnz; e++) {
        const double value = scalar_get(matrix->dtype, matrix->values, e);
        scalar_put(dtype, values, e, value);
        if (isfinite(value) && !isfinite(scalar_get(dtype, values, e))) {
            free(values);
            return complain(why, "%s: %g is too large for %s", path, value, weft_dtype_name(dtype));
        }
    }
    free(matrix->values);
    matrix->values = values;
    matrix->dtype = dtype;
    return true;
}

// ---- counting

double sparse_sampled_terms(const weft_csr_host *A, const weft_csr_host *B, const weft_csr_host *C)
{
    double n = 0;
    for (int64_t row = 0; row < C->n_rows; row++)
        for (int64_t e = offset_of(C, row); e < offset_of(C, row + 1); e++) {
            const weft_csr_host *terms = B != NULL ? B : A;
            const int64_t at = B != NULL ? scalar_whole(C->index_dtype, C->indices, e) : row;
            n += (double)(offset_of(terms, at + 1) - offset_of(terms, at));
        }
    return n;
}
