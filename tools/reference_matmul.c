// SPDX-License-Identifier: Apache-2.0
// Dense products of host arrays, with the bound derived in reference_matmul.h.
#include "reference_matmul.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "reference_line.h"
#include "scalar.h"

// Work space: one product of the batch. Terms that are not finite have no magnitude.
typedef struct job {
    int64_t m, n, k;
    double *A, *B;           // m x k, k x n
    double *sum, *magnitude; // m x n
} job;

static double *allocate(int64_t n_rows, int64_t n_cols)
{
    return malloc((size_t)(n_rows * n_cols + 1) * sizeof(double));
}

static bool job_create(job *out, const reference_matmul *problem, complaint *why)
{
    const int64_t *c_shape = problem->C.shape + problem->C.ndim - 2;
    *out = (job){.m = c_shape[0], .n = c_shape[1], .k = problem->A.shape[problem->A.ndim - 1]};
    out->A = allocate(out->m, out->k);
    out->B = allocate(out->k, out->n);
    out->sum = allocate(out->m, out->n);
    out->magnitude = allocate(out->m, out->n);
    return (out->A != NULL && out->B != NULL && out->sum != NULL && out->magnitude != NULL) ||
           complain(why, "no memory for the reference: %" PRId64 " x %" PRId64 " x %" PRId64,
                    out->m, out->n, out->k);
}

static void job_destroy(job *j)
{
    free(j->A);
    free(j->B);
    free(j->sum);
    free(j->magnitude);
}

// ---- operands

// Offset of matrix number `batch` of C's batch in X, whose own dimensions may be fewer, or 1.
static int64_t start_of(const host_tensor *X, const host_tensor *C, int64_t batch)
{
    int64_t place = X->offset;
    for (int d = C->ndim - 3; d >= 0; d--) {
        const int own = d - (C->ndim - X->ndim);
        if (own >= 0 && X->shape[own] != 1)
            place += batch % C->shape[d] * X->stride[own];
        batch /= C->shape[d];
    }
    return place;
}

static void load(double *out, const host_tensor *X, int64_t start)
{
    const int row = X->ndim - 2, column = X->ndim - 1;
    for (int64_t i = 0; i < X->shape[row]; i++)
        for (int64_t j = 0; j < X->shape[column]; j++)
            *out++ =
                scalar_get(X->dtype, X->data, start + i * X->stride[row] + j * X->stride[column]);
}

// ---- sums

static void add_terms(const job *j, int64_t i, int64_t l)
{
    const double a = j->A[i * j->k + l];
    const double *const b = j->B + l * j->n;
    double *const sum = j->sum + i * j->n;
    double *const magnitude = j->magnitude + i * j->n;
    for (int64_t column = 0; column < j->n; column++) {
        const double term = a * b[column];
        sum[column] += term;
        magnitude[column] += isfinite(term) ? fabs(term) : 0;
    }
}

static void multiply(const job *j)
{
    for (int64_t at = 0; at < j->m * j->n; at++)
        j->sum[at] = j->magnitude[at] = 0;
    for (int64_t i = 0; i < j->m; i++)
        for (int64_t l = 0; l < j->k; l++)
            add_terms(j, i, l);
}

// ---- what an element comes to

static double error_of(const precision *p, const reference_matmul *problem, double n_terms,
                       double magnitude, double c0, double value)
{
    const double alpha = fabs(problem->alpha), beta = fabs(problem->beta);
    const double M = alpha * magnitude, D = isfinite(c0) ? beta * fabs(c0) : 0;
    if (n_terms == 0 && beta == 0)
        return 0;
    if (!(fmax(fmax(magnitude, M + D), fmax(alpha, beta)) < p->largest))
        return INFINITY;
    if (!isfinite(value))
        return precision_may_vanish(p, alpha) || precision_may_vanish(p, beta) ? INFINITY : 0;
    const double flushed = p->tiny * (2 * n_terms * alpha + magnitude + fabs(c0) + 3);
    return precision_apart(p, n_terms + 3) * M + precision_apart(p, 3) * D + flushed;
}

static void put_float(reference_values *out, const reference_matmul *problem, const job *j,
                      int64_t at, int64_t in_C, int64_t first)
{
    const precision p = precision_of(problem->A.dtype);
    const precision stored = precision_of(problem->unstored ? WEFT_F32 : problem->C.dtype);
    const double n_terms = problem->alpha != 0 ? (double)j->k : 0;
    const double c0 = problem->beta != 0 ? scalar_get(problem->C.dtype, problem->C.data, in_C) : 0;
    const double product = n_terms > 0 ? problem->alpha * j->sum[at] : 0;
    const double value = problem->beta != 0 ? product + problem->beta * c0 : product;
    const double magnitude = n_terms > 0 ? j->magnitude[at] : 0;
    values_put(out, &stored, first + at, (wide)value,
               (wide)error_of(&p, problem, n_terms, magnitude, c0, value));
}

// Modulo 2^64 first, and modulo 2^32 in the end.
static void put_whole(reference_values *out, const reference_matmul *problem, const job *j,
                      int64_t at, int64_t in_C, int64_t first)
{
    const uint64_t alpha = (uint64_t)(int64_t)problem->alpha;
    const uint64_t beta = (uint64_t)(int64_t)problem->beta;
    uint64_t total = alpha != 0 ? alpha * (uint64_t)(int64_t)j->sum[at] : 0;
    if (beta != 0)
        total += beta * (uint64_t)scalar_whole(problem->C.dtype, problem->C.data, in_C);
    out->whole[first + at] = (int32_t)(uint32_t)total;
}

static void put_all(reference_values *out, const reference_matmul *problem, const job *j,
                    int64_t start, int64_t first)
{
    const host_tensor *C = &problem->C;
    for (int64_t at = 0; at < j->m * j->n; at++) {
        const int64_t in_C =
            start + at / j->n * C->stride[C->ndim - 2] + at % j->n * C->stride[C->ndim - 1];
        (out->whole != NULL ? put_whole : put_float)(out, problem, j, at, in_C, first);
    }
}

bool reference_matmul_run(reference_values *out, const reference_matmul *problem, complaint *why)
{
    const host_tensor *C = &problem->C;
    job j = {0};
    const int64_t n_batches = line_count(C, (1u << (C->ndim - 2)) - 1);
    *out = (reference_values){0};
    if (line_count(C, ~0u) == 0)
        return values_create(out, C->dtype, 0, why);
    const bool ok =
        job_create(&j, problem, why) && values_create(out, C->dtype, n_batches * j.m * j.n, why);
    for (int64_t batch = 0; ok && batch < n_batches; batch++) {
        if (problem->alpha != 0) {
            load(j.A, &problem->A, start_of(&problem->A, C, batch));
            load(j.B, &problem->B, start_of(&problem->B, C, batch));
            multiply(&j);
        }
        put_all(out, problem, &j, start_of(C, C, batch), batch * j.m * j.n);
    }
    job_destroy(&j);
    return ok;
}
