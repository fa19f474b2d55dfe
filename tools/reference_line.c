// SPDX-License-Identifier: Apache-2.0
// Lines of strided arrays, and the bounds of sums and spreads derived in reference_axis.h.
#include "reference_line.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "reference.h"
#include "scalar.h"

enum { ROUNDINGS = 16, RUN = 8 };

unsigned line_axes(int ndim, int n_axes, const int *axes)
{
    unsigned chosen = 0;
    if (n_axes == 0)
        return (1u << ndim) - 1;
    for (int i = 0; i < n_axes; i++)
        chosen |= 1u << (axes[i] < 0 ? axes[i] + ndim : axes[i]);
    return chosen;
}

int64_t line_count(const host_tensor *X, unsigned chosen)
{
    int64_t count = 1;
    for (int d = 0; d < X->ndim; d++)
        if ((chosen >> d & 1) && X->shape[d] == 0)
            return 0;
    for (int d = 0; d < X->ndim; d++)
        if (chosen >> d & 1)
            count = count <= INT64_MAX / X->shape[d] ? count * X->shape[d] : INT64_MAX;
    return count;
}

int64_t *line_places(const host_tensor *X, unsigned chosen, int64_t *count)
{
    int64_t index[WEFT_MAX_NDIM] = {0};
    *count = line_count(X, chosen);
    if ((uint64_t)*count > PTRDIFF_MAX / sizeof(int64_t))
        return NULL;
    int64_t *places = calloc((size_t)(*count > 0 ? *count : 1), sizeof(*places));
    int64_t place = 0;
    for (int64_t i = 0; places != NULL && i < *count; i++) {
        places[i] = place;
        for (int d = X->ndim - 1; d >= 0; d--) {
            if (!(chosen >> d & 1))
                continue;
            place += X->stride[d];
            if (++index[d] < X->shape[d])
                break;
            place -= X->shape[d] * X->stride[d];
            index[d] = 0;
        }
    }
    return places;
}

bool line_cut_create(line_cut *out, const host_tensor *X, unsigned chosen, complaint *why)
{
    out->inner = line_places(X, chosen, &out->n);
    out->outer = line_places(X, ~chosen, &out->n_lines);
    return (out->inner != NULL && out->outer != NULL) ||
           complain(why, "no memory for the reference: %" PRId64 " lines of %" PRId64, out->n_lines,
                    out->n);
}

void line_cut_destroy(line_cut *cut)
{
    free(cut->inner);
    free(cut->outer);
}

void line_load(wide *x, const host_tensor *X, const line_cut *cut, int64_t l)
{
    const int64_t start = X->offset + cut->outer[l];
    const bool is_whole = X->dtype != WEFT_DEFAULT && !scalar_is_float(X->dtype);
    for (int64_t i = 0; i < cut->n; i++)
        x[i] = is_whole ? (wide)scalar_whole(X->dtype, X->data, start + cut->inner[i])
                        : (wide)scalar_get(X->dtype, X->data, start + cut->inner[i]);
}

bool line_job_create(line_job *out, weft_dtype dtype, int64_t n, complaint *why)
{
    const size_t bytes = (size_t)(n + 1) * sizeof(wide);
    *out = (line_job){precision_of(dtype), n, malloc(bytes), malloc(bytes), malloc(bytes),
                      malloc(bytes)};
    return (out->x != NULL && out->dy != NULL && out->want != NULL && out->error != NULL) ||
           complain(why, "no memory for the reference");
}

void line_job_destroy(line_job *j)
{
    free(j->x);
    free(j->dy);
    free(j->want);
    free(j->error);
}

bool values_create(reference_values *out, weft_dtype dtype, int64_t count, complaint *why)
{
    const size_t room = (size_t)(count > 0 ? count : 1);
    *out = (reference_values){.dtype = dtype == WEFT_DEFAULT ? WEFT_F32 : dtype, .count = count};
    out->bound = calloc(room, sizeof(*out->bound));
    if (!scalar_is_float(out->dtype))
        out->whole = calloc(room, sizeof(*out->whole));
    else
        out->want = calloc(room, sizeof(*out->want));
    if (out->bound != NULL && (out->whole != NULL || out->want != NULL))
        return true;
    reference_values_free(out);
    return complain(why, "no memory for the reference: %" PRId64 " results", count);
}

void reference_values_free(reference_values *values)
{
    free(values->want);
    free(values->bound);
    free(values->whole);
    *values = (reference_values){0};
}

// An exact value is exact when stored: it is an unchanged element, or 0, or NaN. An error that is
// NaN cannot be bounded.
void values_put(reference_values *out, const precision *stored, int64_t at, wide want, wide error)
{
    const double value = (double)want;
    out->want[at] = value;
    if (!isfinite(error))
        out->bound[at] = INFINITY;
    else
        out->bound[at] = error == 0 || !isfinite(value)
                             ? (double)error
                             : precision_stored(stored, value, (double)error);
}

line_sum line_sum_of(const wide *x, int64_t n)
{
    line_sum s = {0};
    for (int64_t i = 0; i < n; i++) {
        s.sum += x[i];
        if (!isfinite(x[i]))
            continue;
        s.magnitude += fabsl(x[i]);
        s.largest = fmaxl(s.largest, fabsl(x[i]));
    }
    return s;
}

wide line_sum_growth(const precision *p, int64_t n)
{
    return precision_growth(p, ROUNDINGS) + (wide)n * ((wide)p->unit * p->unit + LDBL_EPSILON);
}

wide line_flushed_squares(const precision *p, int64_t n, wide squares)
{
    return n * fminl(p->tiny, p->unit * squares);
}

line_spread line_spread_of(const precision *p, const wide *x, int64_t n, wide rounding)
{
    const line_sum s = line_sum_of(x, n);
    line_spread spread = {.mean = s.sum / n};
    wide range = 0, apart_sum = 0; // of distances from the mean
    for (int64_t i = 0; i < n; i++)
        apart_sum += x[i] - spread.mean;
    if (isfinite(apart_sum))
        spread.rest = apart_sum / n;
    for (int64_t i = 0; i < n; i++) {
        const wide apart = x[i] - spread.mean - spread.rest;
        spread.m2 += apart * apart;
        range = isfinite(apart) ? fmaxl(range, fabsl(apart)) : range;
    }
    if (n <= 1) {
        spread.mean_error = rounding;
        return spread;
    }
    const wide growth = line_sum_growth(p, n);
    const wide combining = 6 * p->unit * (log2l(n) + 1);
    const wide d = (growth + combining) * range + rounding;
    spread.mean_error = d;
    spread.m2_error = (RUN * growth + combining) * spread.m2 + 2 * d * sqrtl(n * spread.m2) +
                      n * d * d + line_flushed_squares(p, n, spread.m2);
    // No intermediate distance is longer than the whole range.
    if (!isfinite(s.sum))
        spread.mean_error = spread.m2_error = 0;
    else if (2 * range >= p->largest)
        spread.mean_error = spread.m2_error = INFINITY;
    return spread;
}

wide line_sqrt_error(wide q, wide error)
{
    const wide root = sqrtl(q);
    return fmaxl(sqrtl(q + error) - root, root - sqrtl(fmaxl(q - error, 0)));
}

host_tensor host_tensor_dense(weft_dtype dtype, const void *data, int ndim, const int64_t *shape)
{
    host_tensor t = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        t.shape[d] = shape[d];
        t.stride[d] = step;
        step *= shape[d] == 0 || step <= INT64_MAX / shape[d] ? shape[d] : 1;
    }
    return t;
}

int reference_reduced_shape(int ndim, const int64_t *shape, int n_axes, const int *axes,
                            bool keepdims, int64_t *out)
{
    const unsigned chosen = line_axes(ndim, n_axes, axes);
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (!(chosen >> d & 1))
            out[n++] = shape[d];
        else if (keepdims)
            out[n++] = 1;
    }
    return n;
}

static double whole_error(int64_t got, int64_t want, double bound)
{
    if (got == want)
        return 0;
    return bound > 0 ? fabs((double)got - (double)want) / bound : INFINITY;
}

static void note(reference_worst *out, double error, int64_t i, double got, double want)
{
    if (error > out->error) {
        out->error = error;
        out->at = i;
        out->got = got;
        out->want = want;
    }
    if (error > 1 && out->n_beyond++ == 0) {
        out->first = i;
        out->first_got = got;
        out->first_want = want;
    }
}

bool reference_values_compare(const reference_values *values, const host_tensor *Y,
                              reference_worst *out, complaint *why)
{
    int64_t count;
    int64_t *places = line_places(Y, ~0u, &count);
    *out = (reference_worst){.at = -1, .first = -1};
    if (places == NULL)
        return complain(why, "no memory for %" PRId64 " places", count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = Y->offset + places[i];
        double got, want, error;
        if (values->whole != NULL) {
            const int64_t is = scalar_whole(values->dtype, Y->data, place);
            got = (double)is;
            want = (double)values->whole[i];
            error = whole_error(is, values->whole[i], values->bound[i]);
        } else {
            got = scalar_get(values->dtype, Y->data, place);
            want = values->want[i];
            error = isinf(values->bound[i])
                        ? 0
                        : reference_error(values->dtype, got, want, values->bound[i]);
        }
        note(out, error, i, got, want);
    }
    free(places);
    return true;
}
