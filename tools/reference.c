// SPDX-License-Identifier: Apache-2.0
// SpMM in double, and the error bound derived in reference.h.
#include "reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "precision.h"
#include "reference_activation.h"
#include "scalar.h"

// Intermediate results: sums of terms (or the best ones) and of their absolute values, and the
// number of terms of each row of C.
typedef struct term_sums {
    int64_t m, k, n;
    double *B;
    double *sum, *magnitude; // m x n
    int64_t *source;         // m x n: the entry that gave the best term; else -1
    int64_t *n_terms;        // m
} term_sums;

static void *allocate(int64_t n_rows, int64_t n_cols, size_t size)
{
    const size_t count = (size_t)n_rows * (size_t)n_cols;
    return calloc(count > 0 ? count : 1, size);
}

static bool sums_create(term_sums *out, const reference_spmm *problem, complaint *why)
{
    const weft_csr_host *A = problem->A;
    *out = (term_sums){
        .m = problem->transpose_a ? A->n_cols : A->n_rows,
        .k = problem->transpose_a ? A->n_rows : A->n_cols,
        .n = problem->n,
    };
    out->B = allocate(out->k, out->n, sizeof(double));
    out->sum = allocate(out->m, out->n, sizeof(double));
    out->magnitude = allocate(out->m, out->n, sizeof(double));
    out->source = allocate(out->m, out->n, sizeof(int64_t));
    out->n_terms = allocate(out->m, 1, sizeof(int64_t));
    for (int64_t i = 0; out->source != NULL && i < out->m * out->n; i++)
        out->source[i] = -1;
    if (out->B != NULL && out->sum != NULL && out->magnitude != NULL && out->source != NULL &&
        out->n_terms != NULL)
        return true;
    return complain(why, "no memory for the reference: %" PRId64 " x %" PRId64, out->m, out->n);
}

static void sums_destroy(term_sums *sums)
{
    free(sums->B);
    free(sums->sum);
    free(sums->magnitude);
    free(sums->source);
    free(sums->n_terms);
}

// Largest or smallest products.
static bool is_peak(weft_spmm_reduction reduction)
{
    return reduction == WEFT_SPMM_MAX || reduction == WEFT_SPMM_MIN;
}

// Whether x, which comes after `best`, replaces it.
static bool is_better(weft_spmm_reduction reduction, double x, double best)
{
    if (isnan(x) || isnan(best))
        return !isnan(best);
    return reduction == WEFT_SPMM_MAX ? x > best : x < best;
}

// Products are compared as on the device, in the type of sums.
static void take_term(term_sums *sums, const reference_spmm *problem, int64_t e, int64_t i,
                      int64_t p, double a)
{
    const bool is_wide = problem->A->dtype == WEFT_F64;
    for (int64_t j = 0; j < sums->n; j++) {
        const int64_t at = i * sums->n + j;
        const double exact = a * sums->B[p * sums->n + j];
        const double x = is_wide ? exact : (float)exact;
        if (sums->source[at] >= 0 && !is_better(problem->reduction, x, sums->sum[at]))
            continue;
        sums->sum[at] = x;
        sums->magnitude[at] = isfinite(x) ? fabs(x) : 0; // one product overflows on any device
        sums->source[at] = e;
    }
    sums->n_terms[i] = 1;
}

static void add_term(term_sums *sums, int64_t i, int64_t p, double a)
{
    double *const sum = sums->sum + i * sums->n;
    double *const magnitude = sums->magnitude + i * sums->n;
    const double *const b = sums->B + p * sums->n;
    for (int64_t j = 0; j < sums->n; j++) {
        sum[j] += a * b[j];
        magnitude[j] += isfinite(a) && isfinite(b[j]) ? fabs(a * b[j]) : 0;
    }
    sums->n_terms[i]++;
}

static void add_terms(term_sums *sums, const reference_spmm *problem)
{
    const weft_csr_host *A = problem->A;
    for (int64_t r = 0; r < A->n_rows; r++) {
        const int64_t end = scalar_whole(A->offset_dtype, A->offsets, r + 1);
        for (int64_t e = scalar_whole(A->offset_dtype, A->offsets, r); e < end; e++) {
            const int64_t col = scalar_whole(A->index_dtype, A->indices, e);
            const double a = scalar_get(A->dtype, A->values, e);
            const int64_t i = problem->transpose_a ? col : r;
            const int64_t p = problem->transpose_a ? r : col;
            if (is_peak(problem->reduction))
                take_term(sums, problem, e, i, p, a);
            else
                add_term(sums, i, p, a);
        }
    }
}

// The error of one element before the activation: `value` is the sum of the terms, beta c0 and the
// bias, and `magnitude` that of their absolute values.
static double error_of(const precision *p, const reference_spmm *problem, double n_terms,
                       double magnitude, double c0, double bias, double value)
{
    const bool is_mean = problem->reduction == WEFT_SPMM_MEAN;
    const double alpha = fabs(problem->alpha), beta = fabs(problem->beta);
    const double M = alpha * magnitude / (is_mean ? fmax(n_terms, 1) : 1);
    const double D = (isfinite(c0) ? fabs(beta * c0) : 0) + (isfinite(bias) ? fabs(bias) : 0);
    const bool has_bias = problem->bias != NULL;
    if (n_terms == 0 && beta == 0)
        return 0;
    if (!(fmax(fmax(magnitude, M + D), fmax(alpha, beta)) < p->largest))
        return INFINITY;
    if (!isfinite(value))
        return precision_may_vanish(p, alpha) || precision_may_vanish(p, beta) ? INFINITY : 0;
    const double flushed =
        p->tiny * ((2 * n_terms + is_mean) * alpha + magnitude + fabs(c0) + 3 + has_bias);
    const double n_roundings = n_terms + (is_mean ? 9 : 3) + has_bias;
    return precision_apart(p, n_roundings) * M + precision_apart(p, 3 + has_bias) * D + flushed;
}

// The value of an element before it is stored, and its bound afterwards.
static double end(double *bound, const precision *p, const reference_spmm *problem, double z,
                  double error)
{
    const weft_activation f = problem->activation;
    const double value = reference_activation(f, z);
    const double computed = reference_activation_error(f, p, z, error);
    *bound = computed > 0 || f != WEFT_ACTIVATION_NONE ? precision_stored(p, value, computed) : 0;
    return value;
}

static weft_dtype c_dtype_of(const reference_spmm *problem)
{
    return problem->c_dtype == WEFT_DEFAULT ? problem->A->dtype : problem->c_dtype;
}

// Replaces sums by the reference, and magnitudes by bounds.
static void finish(term_sums *sums, const reference_spmm *problem)
{
    const precision p = precision_of(c_dtype_of(problem)); // its sums are those of A's
    for (int64_t i = 0; i < sums->m; i++)
        for (int64_t at = i * sums->n; at < (i + 1) * sums->n; at++) {
            const double c0 =
                problem->beta != 0 ? scalar_get(c_dtype_of(problem), problem->C0, at) : 0;
            const double n_terms = (double)sums->n_terms[i];
            double value = n_terms > 0 ? problem->alpha * sums->sum[at] : 0;
            if (problem->reduction == WEFT_SPMM_MEAN && n_terms > 0)
                value /= n_terms;
            if (problem->beta != 0)
                value += problem->beta * c0;
            const double bias = problem->bias ? scalar_get(problem->A->dtype, problem->bias, i) : 0;
            value += bias;
            const double error =
                error_of(&p, problem, n_terms, sums->magnitude[at], c0, bias, value);
            sums->sum[at] = end(&sums->magnitude[at], &p, problem, value, error);
        }
}

static bool sums_run(term_sums *out, const reference_spmm *problem, complaint *why)
{
    if (!sums_create(out, problem, why))
        return false;
    for (int64_t i = 0; i < out->k * out->n; i++)
        out->B[i] = scalar_get(problem->A->dtype, problem->B, i);
    if (problem->alpha != 0)
        add_terms(out, problem);
    return true;
}

bool reference_spmm_run(const reference_spmm *problem, double **reference, double **bound,
                        complaint *why)
{
    term_sums sums;
    *reference = *bound = NULL;
    const bool done = sums_run(&sums, problem, why);
    if (done) {
        finish(&sums, problem);
        *reference = sums.sum;
        *bound = sums.magnitude;
        sums.sum = sums.magnitude = NULL;
    }
    sums_destroy(&sums);
    return done;
}

int64_t *reference_spmm_arguments(const reference_spmm *problem, complaint *why)
{
    term_sums sums;
    int64_t *source = NULL;
    if (sums_run(&sums, problem, why)) {
        source = sums.source;
        sums.source = NULL;
    }
    sums_destroy(&sums);
    return source;
}

double reference_error(weft_dtype dtype, double got, double want, double bound)
{
    if (isinf(bound))
        return 0;
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (isinf(want))
        return got == want ? 0 : INFINITY;
    if (got == want)
        return 0;
    if (isinf(got) && fabs(want) + bound > precision_of(dtype).largest_stored &&
        signbit(got) == signbit(want))
        return 0;
    return isfinite(got) && bound > 0 ? fabs(got - want) / bound : INFINITY;
}

bool reference_spmm_compare(const reference_spmm *problem, const void *C, reference_result *out,
                            complaint *why)
{
    const weft_csr_host *A = problem->A;
    const int64_t m = problem->transpose_a ? A->n_cols : A->n_rows;
    double *reference = NULL, *bound = NULL;
    *out = (reference_result){0};
    if (!reference_spmm_run(problem, &reference, &bound, why))
        return false;
    for (int64_t at = 0; at < m * problem->n; at++) {
        const double got = scalar_get(c_dtype_of(problem), C, at);
        const double error = reference_error(c_dtype_of(problem), got, reference[at], bound[at]);
        if (error > out->error)
            *out = (reference_result){error, at / problem->n, at % problem->n, got, reference[at]};
    }
    free(reference);
    free(bound);
    return true;
}
