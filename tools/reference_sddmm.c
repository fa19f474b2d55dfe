// SPDX-License-Identifier: Apache-2.0
// SDDMM in double, and the error bound derived in reference_sddmm.h.
#include "reference_sddmm.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "precision.h"
#include "scalar.h"

// A row of A as a dense row: for each column the sum of its entries, that of their finite absolute
// values, and their number.
typedef struct wide_row {
    double *sums, *magnitudes;
    int64_t *counts;
} wide_row;

static void free_row(wide_row *row)
{
    free(row->sums);
    free(row->magnitudes);
    free(row->counts);
}

static bool make_row(wide_row *out, int64_t k, complaint *why)
{
    const size_t columns = (size_t)(k > 0 ? k : 1);
    *out = (wide_row){calloc(columns, sizeof(*out->sums)), calloc(columns, sizeof(*out->sums)),
                      calloc(columns, sizeof(*out->counts))};
    if (out->sums != NULL && out->magnitudes != NULL && out->counts != NULL)
        return true;
    free_row(out);
    return complain(why, "no memory for the reference of a row of %" PRId64 " columns", k);
}

static void put_value(wide_row *row, int64_t column, double a)
{
    row->sums[column] += a;
    row->magnitudes[column] += isfinite(a) ? fabs(a) : 0;
    row->counts[column]++;
}

static void clear_column(wide_row *row, int64_t column)
{
    row->sums[column] = row->magnitudes[column] = 0;
    row->counts[column] = 0;
}

static void put_row(wide_row *row, const reference_sddmm *problem, int64_t i)
{
    const weft_csr_host *A = problem->sparse_A;
    const weft_dtype dtype = problem->C->dtype;
    for (int64_t l = 0; l < problem->k && A == NULL; l++) {
        clear_column(row, l);
        put_value(row, l, scalar_get(dtype, problem->A, i * problem->k + l));
    }
    if (A == NULL)
        return;
    const int64_t stop = scalar_whole(A->offset_dtype, A->offsets, i + 1);
    for (int64_t p = scalar_whole(A->offset_dtype, A->offsets, i); p < stop; p++)
        put_value(row, scalar_whole(A->index_dtype, A->indices, p),
                  scalar_get(dtype, A->values, p));
}

// Clears the entries of a sparse row: they may be few of very many columns.
static void take_row_back(wide_row *row, const reference_sddmm *problem, int64_t i)
{
    const weft_csr_host *A = problem->sparse_A;
    if (A == NULL || i < 0)
        return;
    const int64_t stop = scalar_whole(A->offset_dtype, A->offsets, i + 1);
    for (int64_t p = scalar_whole(A->offset_dtype, A->offsets, i); p < stop; p++)
        clear_column(row, scalar_whole(A->index_dtype, A->indices, p));
}

// State of one entry: its terms, their sum, that of their absolute values, and the factors.
typedef struct entry {
    double n_terms, sum, magnitude;
    double c, d0;
} entry;

static void add_term(entry *at, const wide_row *row, int64_t l, double b)
{
    if (row->counts[l] == 0)
        return;
    at->n_terms += (double)row->counts[l];
    at->sum += row->sums[l] * b;
    at->magnitude += isfinite(row->sums[l]) && isfinite(b) ? row->magnitudes[l] * fabs(b) : 0;
}

static weft_dtype d_dtype_of(const reference_sddmm *problem)
{
    return problem->d_dtype == WEFT_DEFAULT ? problem->C->dtype : problem->d_dtype;
}

static entry entry_at(const reference_sddmm *problem, const wide_row *row, int64_t column,
                      int64_t e)
{
    const weft_dtype dtype = problem->C->dtype;
    const weft_csr_host *B = problem->sparse_B;
    entry at = {.c = problem->indicator || problem->alpha == 0
                         ? 1
                         : scalar_get(dtype, problem->C->values, e),
                .d0 = problem->beta != 0 ? scalar_get(d_dtype_of(problem), problem->D0, e) : 0};
    if (problem->alpha == 0)
        return at;
    for (int64_t l = 0; l < problem->k && B == NULL; l++)
        add_term(&at, row, l,
                 scalar_get(dtype, problem->B, l * problem->b_row + column * problem->b_column));
    if (B == NULL)
        return at;
    const int64_t stop = scalar_whole(B->offset_dtype, B->offsets, column + 1);
    for (int64_t p = scalar_whole(B->offset_dtype, B->offsets, column); p < stop; p++)
        add_term(&at, row, scalar_whole(B->index_dtype, B->indices, p),
                 scalar_get(dtype, B->values, p));
    return at;
}

static double value_of(const reference_sddmm *problem, const entry *at)
{
    const bool has_terms = problem->k > 0 && problem->alpha != 0;
    const double product = has_terms ? problem->alpha * at->sum * at->c : 0;
    return problem->beta != 0 ? product + problem->beta * at->d0 : product;
}

static double bound_of(const reference_sddmm *problem, const precision *p, const entry *at)
{
    const double alpha = fabs(problem->alpha), beta = fabs(problem->beta);
    const double c = isfinite(at->c) ? fabs(at->c) : 0, k = at->n_terms;
    const double M = alpha * c * at->magnitude, D = isfinite(at->d0) ? beta * fabs(at->d0) : 0;
    const double value = value_of(problem, at);
    const double largest = fmax(fmax(at->magnitude, alpha * at->magnitude), M + D);
    if ((problem->k == 0 || alpha == 0) && beta == 0)
        return 0;
    if (!(fmax(largest, fmax(alpha, beta)) < p->largest))
        return INFINITY;
    if (!isfinite(value))
        return precision_may_vanish(p, alpha) || precision_may_vanish(p, beta) ? INFINITY : 0;
    const double flushed =
        p->tiny * (2 * k * alpha * c + (at->magnitude + 1) * c + fabs(at->d0) + 3);
    const double computed = precision_apart(p, k + 4) * M + precision_apart(p, 3) * D + flushed;
    return precision_stored(p, value, computed);
}

// Calls for every entry, row by row: e goes through all of them in order.
#define EACH_ENTRY(C, row, e)                                                                      \
    for (int64_t row = 0, e = 0; row < (C)->n_rows; row++)                                         \
        for (; e < scalar_whole((C)->offset_dtype, (C)->offsets, row + 1); e++)

// Results of all entries, which row by row are of one row of A.
static void run_entries(const reference_sddmm *problem, wide_row *row, double *reference,
                        double *bound)
{
    const weft_csr_host *C = problem->C;
    const precision p = precision_of(d_dtype_of(problem)); // its sums are those of C's
    int64_t spread = -1;
    EACH_ENTRY(C, i, e)
    {
        if (i != spread && problem->alpha != 0) {
            take_row_back(row, problem, spread);
            put_row(row, problem, spread = i);
        }
        const entry at = entry_at(problem, row, scalar_whole(C->index_dtype, C->indices, e), e);
        reference[e] = value_of(problem, &at);
        bound[e] = bound_of(problem, &p, &at);
    }
}

bool reference_sddmm_run(const reference_sddmm *problem, double **reference, double **bound,
                         complaint *why)
{
    const weft_csr_host *C = problem->C;
    const size_t bytes = (size_t)(C->nnz > 0 ? C->nnz : 1) * sizeof(double);
    wide_row row;
    *reference = *bound = NULL;
    if (!make_row(&row, problem->k, why))
        return false;
    *reference = malloc(bytes);
    *bound = malloc(bytes);
    const bool has_memory = *reference != NULL && *bound != NULL;
    if (has_memory)
        run_entries(problem, &row, *reference, *bound);
    free_row(&row);
    if (has_memory)
        return true;
    free(*reference);
    free(*bound);
    *reference = *bound = NULL;
    return complain(why, "no memory for the reference of %" PRId64 " entries", C->nnz);
}

bool reference_sddmm_compare(const reference_sddmm *problem, const void *D, reference_result *out,
                             complaint *why)
{
    const weft_csr_host *C = problem->C;
    double *reference, *bound;
    *out = (reference_result){0};
    if (!reference_sddmm_run(problem, &reference, &bound, why))
        return false;
    EACH_ENTRY(C, row, e)
    {
        const double got = scalar_get(d_dtype_of(problem), D, e);
        const double error = reference_error(d_dtype_of(problem), got, reference[e], bound[e]);
        if (error > out->error)
            *out = (reference_result){error, row, scalar_whole(C->index_dtype, C->indices, e), got,
                                      reference[e]};
    }
    free(reference);
    free(bound);
    return true;
}
