// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation of host arrays, with the bounds derived in reference_axis.h.
#include "reference_axis.h"

#include <math.h>
#include <stdlib.h>

#include "reference_line.h"

// The work: a line of X, of what goes with it, and of the result.
typedef struct job {
    precision p;
    int64_t n;
    wide *x, *dy; // backward: x is y
    wide *want, *error;
} job;

static bool job_create(job *out, weft_dtype dtype, int64_t n, complaint *why)
{
    const size_t bytes = (size_t)(n + 1) * sizeof(wide);
    *out =
        (job){precision_of(dtype), n, malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
    return (out->x != NULL && out->dy != NULL && out->want != NULL && out->error != NULL) ||
           complain(why, "no memory for the reference");
}

static void job_destroy(job *j)
{
    free(j->x);
    free(j->dy);
    free(j->want);
    free(j->error);
}

static void fill(const job *j, wide want, wide error)
{
    for (int64_t i = 0; i < j->n; i++) {
        j->want[i] = want;
        j->error[i] = error;
    }
}

// ---- softmax

// NaN where there is one, else the largest scale x. A NaN comes from 0 times infinity too.
static wide scaled_largest(const job *j, double scale)
{
    wide largest = -INFINITY;
    for (int64_t i = 0; i < j->n; i++) {
        j->x[i] *= scale;
        largest = isnan(j->x[i]) || isnan(largest) ? NAN : fmaxl(largest, j->x[i]);
    }
    return largest;
}

static void softmax_line(const job *j, const reference_softmax *problem)
{
    const wide u = j->p.unit, m = scaled_largest(j, problem->scale);
    if (isnan(m) || isinf(m)) {
        const wide nothing = problem->is_log ? -INFINITY : 0;
        fill(j, m == -INFINITY && problem->masked ? nothing : NAN, 0);
        return;
    }
    const wide scaling = problem->scale == 1 ? 0 : u;
    wide sum = 0, sum_error = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const wide distance = m - j->x[i], e = expl(-distance);
        sum += e;
        sum_error += e > 0 ? e * ((2 * distance + 16) * 2 * u + scaling * fabsl(j->x[i])) : 0;
    }
    const wide q = sum_error / sum + (wide)j->n * j->p.tiny;
    for (int64_t i = 0; i < j->n; i++) {
        const wide distance = m - j->x[i], y = expl(-distance) / sum;
        const wide scaled = scaling * fabsl(j->x[i]);
        j->want[i] = problem->is_log ? -distance - logl(sum) : y;
        if (isinf(distance))
            j->error[i] = 0;
        else if (problem->is_log)
            j->error[i] = 2 * u * (2 * distance + 2 * logl(sum) + 8) + scaled + 2 * q + j->p.tiny;
        else
            j->error[i] = y * ((2 * distance + 16) * 2 * u + scaled + 2 * q) + j->p.tiny;
        if (fabsl(m) >= j->p.largest || q >= 0.5L ||
            (isfinite(distance) && fmaxl(distance, fabsl(j->x[i])) >= j->p.largest))
            j->error[i] = INFINITY;
    }
}

static void softmax_backward_line(const job *j, const reference_softmax *problem)
{
    const wide u = j->p.unit, scale = problem->scale;
    wide sum = 0, magnitude = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const wide term = problem->is_log ? j->dy[i] : j->x[i] * j->dy[i];
        sum += term;
        magnitude += isfinite(term) ? fabsl(term) : 0;
    }
    const wide sum_error =
        (line_sum_growth(&j->p, j->n) + 2 * u) * magnitude + (wide)j->n * j->p.tiny;
    for (int64_t i = 0; i < j->n; i++) {
        const wide factor = problem->is_log ? expl(j->x[i]) : j->x[i];
        const wide off = problem->is_log ? factor * sum : sum;
        const wide difference = j->dy[i] - off;
        const wide off_error =
            problem->is_log
                ? factor * sum_error + fabsl(off) * (fabsl(j->x[i]) + 4) * 2 * u + j->p.tiny
                : sum_error;
        const wide outer = problem->is_log ? scale : scale * factor;
        j->want[i] = outer * difference;
        j->error[i] = fabsl(outer) * (off_error + 4 * u * (fabsl(j->dy[i]) + fabsl(off))) +
                      j->p.tiny * (1 + fabsl(scale) * (1 + fabsl(difference)));
        if (magnitude >= j->p.largest || fabsl(scale) * fabsl(difference) >= j->p.largest)
            j->error[i] = isfinite(j->want[i]) || magnitude >= j->p.largest ? INFINITY : 0;
        // exp(y) flushed to 0 turns infinity into NaN.
        if (isinf(off) && factor < j->p.tiny)
            j->error[i] = INFINITY;
        else if (isnan(j->want[i]))
            j->error[i] = 0;
    }
}

bool reference_softmax_run(reference_values *out, const reference_softmax *problem, complaint *why)
{
    const host_tensor *X = &problem->X;
    const unsigned chosen = line_axes(X->ndim, 1, &problem->axis);
    const host_tensor whole = host_tensor_dense(X->dtype, NULL, X->ndim, X->shape);
    line_cut cut = {0}, dy_cut = {0}, out_cut = {0};
    job j = {0};
    *out = (reference_values){0};
    if (line_count(X, ~0u) == 0)
        return values_create(out, X->dtype, 0, why);
    bool ok = line_cut_create(&cut, X, chosen, why) &&
              line_cut_create(&out_cut, &whole, chosen, why) &&
              (!problem->is_backward || line_cut_create(&dy_cut, &problem->dY, chosen, why)) &&
              job_create(&j, X->dtype, cut.n, why) &&
              values_create(out, X->dtype, cut.n_lines * cut.n, why);
    for (int64_t l = 0; ok && l < cut.n_lines; l++) {
        line_load(j.x, X, &cut, l);
        if (problem->is_backward) {
            line_load(j.dy, &problem->dY, &dy_cut, l);
            softmax_backward_line(&j, problem);
        } else {
            softmax_line(&j, problem);
        }
        for (int64_t i = 0; i < j.n; i++)
            values_put(out, &j.p, out_cut.outer[l] + out_cut.inner[i], j.want[i], j.error[i]);
    }
    job_destroy(&j);
    line_cut_destroy(&cut);
    line_cut_destroy(&dy_cut);
    line_cut_destroy(&out_cut);
    return ok;
}

// ---- normalisation

// What is divided by: sqrt(mean of squares + epsilon), of what the mean is taken from.
typedef struct norm_scale {
    wide mean, rest, mean_error;
    wide inverse, inverse_error; // 1 / sqrt(...)
} norm_scale;

static norm_scale norm_scale_of(const job *j, const reference_norm *problem)
{
    const wide u = j->p.unit;
    line_spread spread = {0};
    for (int64_t i = 0; problem->is_rms && i < j->n; i++)
        spread.m2 += j->x[i] * j->x[i];
    if (problem->is_rms)
        spread.m2_error = (line_sum_growth(&j->p, j->n) + u) * spread.m2 +
                          line_flushed_squares(&j->p, j->n, spread.m2);
    else
        spread = line_spread_of(&j->p, j->x, j->n, 0);
    const wide square = spread.m2 / j->n + problem->epsilon;
    const wide error = spread.m2_error / j->n + 4 * u * square;
    const wide inverse = 1 / sqrtl(square);
    const wide low = fmaxl(square - error, (wide)problem->epsilon * (1 - 4 * u));
    if (inverse > 0 && isfinite(inverse) && (inverse <= j->p.tiny || inverse >= j->p.largest / 2))
        return (norm_scale){spread.mean, spread.rest, spread.mean_error, inverse, INFINITY};
    return (norm_scale){spread.mean, spread.rest, spread.mean_error, inverse,
                        fmaxl(1 / sqrtl(low) - inverse, inverse - 1 / sqrtl(square + error))};
}

static void norm_line(const job *j, const reference_norm *problem, const wide *w, const wide *b)
{
    const wide u = j->p.unit;
    const norm_scale s = norm_scale_of(j, problem);
    for (int64_t i = 0; i < j->n; i++) {
        const wide off = j->x[i] - s.mean - s.rest;
        j->want[i] = off * s.inverse * w[i] + b[i];
        const wide off_error = s.mean_error + u * fabsl(off);
        const wide y_error =
            off_error * (s.inverse + s.inverse_error) + fabsl(off) * s.inverse_error;
        const wide y = fabsl(off * s.inverse);
        j->error[i] = fabsl(w[i]) * (y_error + 8 * u * y) + u * fabsl(b[i]) +
                      8 * u * fabsl(j->want[i]) + j->p.tiny * (2 + fabsl(w[i]) * (1 + s.inverse));
        if (!isfinite(j->want[i]) && !isinf(s.mean_error) && !isinf(s.inverse_error))
            j->error[i] = 0;
    }
}

// w or b as numbers along a line; `otherwise` where there is none.
static wide *load_line(const host_tensor *t, int64_t n, wide otherwise, complaint *why)
{
    wide *line = malloc((size_t)(n + 1) * sizeof(*line));
    line_cut cut = {0};
    for (int64_t i = 0; line != NULL && t == NULL && i < n; i++)
        line[i] = otherwise;
    const bool ok = line != NULL && (t == NULL || line_cut_create(&cut, t, ~0u, why));
    if (line == NULL)
        complaint_keep(why, "no memory for the reference");
    else if (ok && t != NULL)
        line_load(line, t, &cut, 0);
    line_cut_destroy(&cut);
    if (ok)
        return line;
    free(line);
    return NULL;
}

bool reference_norm_run(reference_values *out, const reference_norm *problem, complaint *why)
{
    const host_tensor *X = &problem->X;
    const unsigned all = (1u << X->ndim) - 1, kept = (1u << (X->ndim - problem->n_axes)) - 1;
    line_cut cut = {0};
    job j = {0};
    wide *w = NULL, *b = NULL;
    *out = (reference_values){0};
    if (line_count(X, all) == 0)
        return values_create(out, X->dtype, 0, why);
    bool ok = line_cut_create(&cut, X, all & ~kept, why) && job_create(&j, X->dtype, cut.n, why) &&
              (w = load_line(problem->weight, cut.n, 1, why)) != NULL &&
              (b = load_line(problem->bias, cut.n, 0, why)) != NULL &&
              values_create(out, X->dtype, cut.n_lines * cut.n, why);
    for (int64_t l = 0; ok && l < cut.n_lines; l++) {
        line_load(j.x, X, &cut, l);
        norm_line(&j, problem, w, b);
        for (int64_t i = 0; i < j.n; i++)
            values_put(out, &j.p, l * j.n + i, j.want[i], j.error[i]);
    }
    free(w);
    free(b);
    job_destroy(&j);
    line_cut_destroy(&cut);
    return ok;
}
