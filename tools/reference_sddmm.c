// SPDX-License-Identifier: Apache-2.0
// SDDMM in double, and the error bound derived in reference_sddmm.h.
#include "reference_sddmm.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "precision.h"
#include "scalar.h"

// One entry on its way: the sum of its terms, that of their absolute values, and the factors.
typedef struct entry {
    double sum, magnitude;
    double c, d0;
} entry;

static entry entry_at(const reference_sddmm *problem, int64_t row, int64_t column, int64_t e)
{
    const weft_dtype dtype = problem->C->dtype;
    entry at = {.c = problem->indicator || problem->alpha == 0
                         ? 1
                         : scalar_get(dtype, problem->C->values, e),
                .d0 = problem->beta != 0 ? scalar_get(dtype, problem->D0, e) : 0};
    for (int64_t l = 0; l < problem->k && problem->alpha != 0; l++) {
        const double a = scalar_get(dtype, problem->A, row * problem->k + l);
        const double b =
            scalar_get(dtype, problem->B, l * problem->b_row + column * problem->b_column);
        at.sum += a * b;
        at.magnitude += isfinite(a) && isfinite(b) ? fabs(a * b) : 0;
    }
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
    const double c = isfinite(at->c) ? fabs(at->c) : 0, k = (double)problem->k;
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

bool reference_sddmm_run(const reference_sddmm *problem, double **reference, double **bound,
                         complaint *why)
{
    const weft_csr_host *C = problem->C;
    const precision p = precision_of(C->dtype);
    const size_t bytes = (size_t)(C->nnz > 0 ? C->nnz : 1) * sizeof(double);
    *reference = malloc(bytes);
    *bound = malloc(bytes);
    if (*reference == NULL || *bound == NULL) {
        free(*reference);
        free(*bound);
        *reference = *bound = NULL;
        return complain(why, "no memory for the reference of %" PRId64 " entries", C->nnz);
    }
    EACH_ENTRY(C, row, e)
    {
        const entry at = entry_at(problem, row, scalar_whole(C->index_dtype, C->indices, e), e);
        (*reference)[e] = value_of(problem, &at);
        (*bound)[e] = bound_of(problem, &p, &at);
    }
    return true;
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
        const double got = scalar_get(C->dtype, D, e);
        const double error = reference_error(C->dtype, got, reference[e], bound[e]);
        if (error > out->error)
            *out = (reference_result){error, row, scalar_whole(C->index_dtype, C->indices, e), got,
                                      reference[e]};
    }
    free(reference);
    free(bound);
    return true;
}
