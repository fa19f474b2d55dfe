// SPDX-License-Identifier: Apache-2.0
// Softmax of host arrays, with the bounds derived in reference_axis.h.
#include "reference_axis.h"

#include <math.h>
#include <stdlib.h>

#include "reference_line.h"

static void fill(const line_job *j, wide want, wide error)
{
    for (int64_t i = 0; i < j->n; i++) {
        j->want[i] = want;
        j->error[i] = error;
    }
}

// ---- softmax

// NaN if there is one, else the largest scale x. A NaN comes from 0 times infinity too.
static wide scaled_largest(const line_job *j, double scale)
{
    wide largest = -INFINITY;
    for (int64_t i = 0; i < j->n; i++) {
        j->x[i] *= scale;
        largest = isnan(j->x[i]) || isnan(largest) ? NAN : fmaxl(largest, j->x[i]);
    }
    return largest;
}

static void softmax_line(const line_job *j, const reference_softmax *problem)
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

static void softmax_backward_line(const line_job *j, const reference_softmax *problem)
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
    line_job j = {0};
    *out = (reference_values){0};
    if (line_count(X, ~0u) == 0)
        return values_create(out, X->dtype, 0, why);
    bool ok = line_cut_create(&cut, X, chosen, why) &&
              line_cut_create(&out_cut, &whole, chosen, why) &&
              (!problem->is_backward || line_cut_create(&dy_cut, &problem->dY, chosen, why)) &&
              line_job_create(&j, X->dtype, cut.n, why) &&
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
    line_job_destroy(&j);
    line_cut_destroy(&cut);
    line_cut_destroy(&dy_cut);
    line_cut_destroy(&out_cut);
    return ok;
}
