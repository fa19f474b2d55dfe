// SPDX-License-Identifier: Apache-2.0
// Reductions of host arrays, with the bounds derived in reference_axis.h.
#include <math.h>
#include <stdlib.h>

#include "reference_line.h"
#include "scalar.h"

// One result: its value, and the device's error before it is stored.
typedef struct outcome {
    wide want, error;
} outcome;

// An op's data about its line.
typedef struct job {
    weft_reduction op;
    precision p; // of arithmetic
    int64_t n, correction;
    const wide *x;
    wide rounding; // of each x on its way into arithmetic
} job;

static outcome sum_of(const job *j)
{
    const line_sum s = line_sum_of(j->x, j->n);
    if (s.magnitude >= j->p.largest)
        return (outcome){s.sum, INFINITY};
    if (!isfinite(s.sum))
        return (outcome){s.sum, 0};
    return (outcome){s.sum, line_sum_growth(&j->p, j->n) * s.magnitude + j->n * j->rounding +
                                (wide)j->n * j->p.tiny * (s.magnitude > 0)};
}

static outcome mean_of(const job *j)
{
    const outcome s = sum_of(j);
    const wide mean = s.want / j->n;
    return (outcome){mean, isfinite(mean) ? s.error / j->n + 3 * j->p.unit * fabsl(mean) : s.error};
}

static outcome product_of(const job *j)
{
    wide product = 1, low = 1, high = 1;
    for (int64_t i = 0; i < j->n; i++) {
        product *= j->x[i];
        if (!isfinite(j->x[i]) || j->x[i] == 0)
            continue;
        low *= fminl(fabsl(j->x[i]), 1);
        high *= fmaxl(fabsl(j->x[i]), 1);
    }
    const bool is_flushed = low < j->p.tiny;
    if (isnan(product))
        return (outcome){product, 0};
    if (high >= j->p.largest || (isinf(product) && is_flushed))
        return (outcome){product, INFINITY};
    if (isinf(product))
        return (outcome){product, 0};
    const wide growth = precision_growth(&j->p, (double)(j->n + 1));
    return (outcome){product, growth * fabsl(product) + is_flushed * (wide)j->n * j->p.tiny * high};
}

// The first NaN, or the first of the least or the largest; -1 if there is none.
static int64_t place_of(const job *j, bool is_min)
{
    int64_t best = j->n > 0 ? 0 : -1;
    for (int64_t i = 0; i < j->n; i++) {
        if (isnan(j->x[i]))
            return i;
        if (is_min ? j->x[i] < j->x[best] : j->x[i] > j->x[best])
            best = i;
    }
    return best;
}

// Zeros are equal, but -0 counts as less.
static wide zero_of(const job *j, bool is_min)
{
    for (int64_t i = 0; i < j->n; i++)
        if (j->x[i] == 0 && !signbit(j->x[i]) != is_min)
            return j->x[i];
    return is_min ? 0.0L : -0.0L;
}

static outcome extreme_of(const job *j, bool is_min)
{
    const int64_t place = place_of(j, is_min);
    const wide found = place < 0 ? NAN : j->x[place];
    return (outcome){found == 0 ? zero_of(j, is_min) : found, 0};
}

static bool truth_of(const job *j, bool is_all)
{
    for (int64_t i = 0; i < j->n; i++)
        if ((j->x[i] != 0) != is_all)
            return !is_all;
    return is_all;
}

static outcome norm1_of(const job *j)
{
    wide sum = 0;
    for (int64_t i = 0; i < j->n; i++)
        sum += fabsl(j->x[i]);
    const outcome s = sum_of(j);
    return (outcome){sum, isfinite(sum) || isinf(s.error) ? s.error : 0};
}

static outcome norm2_of(const job *j)
{
    const wide growth = line_sum_growth(&j->p, j->n) + j->p.unit;
    wide sum = 0, rounded = 0;
    for (int64_t i = 0; i < j->n; i++) {
        sum += j->x[i] * j->x[i];
        rounded += j->rounding * (2 * fabsl(j->x[i]) + j->rounding);
    }
    const wide root = sqrtl(sum);
    if (root >= j->p.largest / 2 && isfinite(root))
        return (outcome){root, INFINITY};
    if (!isfinite(sum) || sum == 0)
        return (outcome){root, 0};
    const wide error = growth * sum + rounded + line_flushed_squares(&j->p, j->n, sum);
    return (outcome){root, line_sqrt_error(sum, error) + 8 * j->p.unit * sqrtl(sum + error)};
}

static outcome norm_inf_of(const job *j)
{
    wide largest = 0;
    for (int64_t i = 0; i < j->n; i++)
        largest = isnan(j->x[i]) || isnan(largest) ? NAN : fmaxl(largest, fabsl(j->x[i]));
    return (outcome){largest, j->rounding};
}

static outcome variance_of(const job *j, bool is_root)
{
    const line_spread spread = line_spread_of(&j->p, j->x, j->n, j->rounding);
    const wide divisor = (wide)(j->correction < j->n ? j->n - j->correction : 0);
    const wide var = spread.m2 / divisor;
    const wide want = is_root ? sqrtl(var) : var;
    if (isinf(spread.m2_error) || (want >= j->p.largest / 2 && isfinite(want)) ||
        (divisor == 0 && spread.m2 <= spread.m2_error && j->n > 1))
        return (outcome){want, INFINITY};
    if (!isfinite(want))
        return (outcome){want, 0};
    const wide error = spread.m2_error / divisor + 3 * j->p.unit * var;
    if (!is_root)
        return (outcome){var, error + (var > 0 ? j->p.tiny : 0)};
    return (outcome){want, line_sqrt_error(var, error) + 8 * j->p.unit * sqrtl(var + error)};
}

static outcome logsumexp_of(const job *j)
{
    const wide u = j->p.unit, m = extreme_of(j, false).want;
    if (j->n == 0)
        return (outcome){-INFINITY, 0};
    if (!isfinite(m))
        return (outcome){m, 0};
    wide sum = 0, error = 0, range = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const wide distance = m - j->x[i], e = expl(-distance);
        sum += e;
        error += e > 0 ? e * ((2 * distance + 16) * 2 * u + expm1l(2 * j->rounding)) : 0;
        range = isfinite(distance) ? fmaxl(range, distance) : range;
    }
    const wide q = error / sum + (wide)j->n * j->p.tiny;
    const wide want = m + logl(sum);
    if (range >= j->p.largest || q >= 0.5L)
        return (outcome){want, INFINITY};
    return (outcome){want, 2 * q + 4 * u * logl(sum) + 2 * u * (fabsl(m) + fabsl(want)) +
                               j->rounding + j->p.tiny};
}

static outcome float_of(const job *j)
{
    switch (j->op) {
    case WEFT_PROD:
        return product_of(j);
    case WEFT_MEAN:
        return mean_of(j);
    case WEFT_MIN:
    case WEFT_MAX:
        return extreme_of(j, j->op == WEFT_MIN);
    case WEFT_NORM1:
        return norm1_of(j);
    case WEFT_NORM2:
        return norm2_of(j);
    case WEFT_NORM_INF:
        return norm_inf_of(j);
    case WEFT_VAR:
    case WEFT_STD:
        return variance_of(j, j->op == WEFT_STD);
    case WEFT_LOGSUMEXP:
        return logsumexp_of(j);
    default:
        return sum_of(j);
    }
}

// Sums and products wrap, as they do modulo 2^64.
static int64_t whole_of(const job *j, const host_tensor *X, const line_cut *cut, int64_t line)
{
    const int64_t start = X->offset + cut->outer[line];
    const bool is_product = j->op == WEFT_PROD;
    uint64_t total = is_product;
    switch (j->op) {
    case WEFT_ARGMIN:
    case WEFT_ARGMAX:
        return place_of(j, j->op == WEFT_ARGMIN);
    case WEFT_ANY:
    case WEFT_ALL:
        return truth_of(j, j->op == WEFT_ALL);
    case WEFT_MIN:
    case WEFT_MAX:
        return scalar_whole(X->dtype, X->data, start + cut->inner[place_of(j, j->op == WEFT_MIN)]);
    default:
        for (int64_t i = 0; i < cut->n; i++) {
            const uint64_t x = (uint64_t)scalar_whole(X->dtype, X->data, start + cut->inner[i]);
            total = is_product ? total * x : total + x;
        }
        return (int64_t)total;
    }
}

static bool is_whole(weft_dtype dtype)
{
    return dtype != WEFT_DEFAULT && !scalar_is_float(dtype);
}

// Integers up to 1 / u are exact in arithmetic too.
static wide rounding_of(const job *j, const host_tensor *X)
{
    const wide largest = line_sum_of(j->x, j->n).largest;
    return is_whole(X->dtype) && largest * j->p.unit > 1 ? largest * j->p.unit : 0;
}

bool reference_reduce(reference_values *out, const reference_reduction *problem, complaint *why)
{
    const host_tensor *X = &problem->X;
    const precision stored = precision_of(problem->y_dtype);
    const unsigned chosen = line_axes(X->ndim, problem->n_axes, problem->axes);
    line_cut cut;
    *out = (reference_values){0};
    if (line_count(X, ~chosen) == 0)
        return values_create(out, problem->y_dtype, 0, why);
    bool ok = line_cut_create(&cut, X, chosen, why);
    wide *x = ok ? malloc((size_t)(cut.n + 1) * sizeof(*x)) : NULL;
    if (ok && x == NULL)
        ok = complain(why, "no memory for the reference");
    ok = ok && values_create(out, problem->y_dtype, cut.n_lines, why);
    job j = {.op = problem->op,
             .p = precision_of(is_whole(X->dtype) ? problem->y_dtype : X->dtype),
             .n = cut.n,
             .correction = problem->correction,
             .x = x};
    for (int64_t l = 0; ok && l < cut.n_lines; l++) {
        line_load(x, X, &cut, l);
        if (out->whole != NULL) {
            out->whole[l] = whole_of(&j, X, &cut, l);
            continue;
        }
        j.rounding = rounding_of(&j, X);
        const outcome result = float_of(&j);
        values_put(out, &stored, l, result.want, result.error);
    }
    free(x);
    line_cut_destroy(&cut);
    return ok;
}
