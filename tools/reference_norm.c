// SPDX-License-Identifier: Apache-2.0
// Normalisation of host arrays and its backward, with the bounds derived in reference_axis.h.
#include "reference_axis.h"

#include <math.h>
#include <stdlib.h>

#include "reference_line.h"

// ---- normalisation

// The divisor: sqrt(mean of squares + epsilon), of x minus the mean.
typedef struct norm_scale {
    wide mean, rest, mean_error;
    wide inverse, inverse_error; // 1 / sqrt(...)
} norm_scale;

static norm_scale norm_scale_of(const line_job *j, bool is_rms, double epsilon)
{
    const wide u = j->p.unit;
    line_spread spread = {0};
    for (int64_t i = 0; is_rms && i < j->n; i++)
        spread.m2 += j->x[i] * j->x[i];
    if (is_rms)
        spread.m2_error = (line_sum_growth(&j->p, j->n) + u) * spread.m2 +
                          line_flushed_squares(&j->p, j->n, spread.m2);
    else
        spread = line_spread_of(&j->p, j->x, j->n, 0);
    const wide square = spread.m2 / j->n + epsilon;
    const wide error = spread.m2_error / j->n + 4 * u * square;
    const wide inverse = 1 / sqrtl(square);
    const wide low = fmaxl(square - error, (wide)epsilon * (1 - 4 * u));
    if (inverse > 0 && isfinite(inverse) && (inverse <= j->p.tiny || inverse >= j->p.largest / 2))
        return (norm_scale){spread.mean, spread.rest, spread.mean_error, inverse, INFINITY};
    return (norm_scale){spread.mean, spread.rest, spread.mean_error, inverse,
                        fmaxl(1 / sqrtl(low) - inverse, inverse - 1 / sqrtl(square + error))};
}

static void norm_line(const line_job *j, const reference_norm *problem, const wide *w,
                      const wide *b)
{
    const wide u = j->p.unit;
    const norm_scale s = norm_scale_of(j, problem->is_rms, problem->epsilon);
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

// w or b as numbers along a line; `otherwise` if there is none.
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
    line_job j = {0};
    wide *w = NULL, *b = NULL;
    *out = (reference_values){0};
    if (line_count(X, all) == 0)
        return values_create(out, X->dtype, 0, why);
    bool ok = line_cut_create(&cut, X, all & ~kept, why) &&
              line_job_create(&j, X->dtype, cut.n, why) &&
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
    line_job_destroy(&j);
    line_cut_destroy(&cut);
    return ok;
}

// ---- backward

// One row's sums with g: their magnitudes and errors.
typedef struct row_sums {
    wide total, total_error;       // of g
    wide products, products_error; // of g (x - mean)
    bool is_finite;
} row_sums;

static row_sums row_sums_of(const line_job *j, const norm_scale *s, bool is_rms, const wide *w)
{
    const wide u = j->p.unit, growth = line_sum_growth(&j->p, j->n);
    const wide combining = u * (log2l((wide)j->n) + 1);
    row_sums sums = {0};
    wide magnitude = 0, product_magnitude = 0, range = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const wide g = j->dy[i] * w[i], off = j->x[i] - s->mean - s->rest;
        sums.total += g;
        sums.products += g * off;
        magnitude += fabsl(g);
        product_magnitude += fabsl(g * off);
        range = fmaxl(range, fabsl(off));
    }
    sums.is_finite = isfinite(sums.products) && isfinite(range) && magnitude < j->p.largest;
    const wide flushed = fminl(j->n * j->p.tiny, u * product_magnitude);
    sums.total_error = (growth + 2 * u) * magnitude + j->n * j->p.tiny;
    if (is_rms)
        sums.products_error = (growth + 2 * u) * product_magnitude + flushed;
    else
        sums.products_error =
            (3 * growth + 12 * combining) * range * magnitude + s->mean_error * magnitude + flushed;
    return sums;
}

// xh and its error.
static wide normalised(const line_job *j, const norm_scale *s, int64_t i, wide *error)
{
    const wide off = j->x[i] - s->mean - s->rest, y = off * s->inverse;
    const wide off_error = s->mean_error + 2 * j->p.unit * fabsl(off);
    *error = off_error * (s->inverse + s->inverse_error) + fabsl(off) * s->inverse_error +
             2 * j->p.unit * fabsl(y) + j->p.tiny;
    return y;
}

static void norm_backward_line(const line_job *j, const norm_scale *s, bool is_rms, const wide *w)
{
    const wide u = j->p.unit, r = s->inverse, r_error = s->inverse_error;
    const row_sums sums = row_sums_of(j, s, is_rms, w);
    const wide center = is_rms ? 0 : sums.total / j->n;
    const wide center_error = is_rms ? 0 : sums.total_error / j->n + 2 * u * fabsl(center);
    const wide slope = r * sums.products / j->n;
    const wide slope_error = (r + r_error) * sums.products_error / j->n +
                             r_error * fabsl(sums.products) / j->n + 4 * u * fabsl(slope) +
                             j->p.tiny;
    for (int64_t i = 0; i < j->n; i++) {
        wide y_error;
        const wide g = j->dy[i] * w[i], y = normalised(j, s, i, &y_error);
        const wide inner = g - center - y * slope;
        const wide inner_error = center_error + y_error * (fabsl(slope) + slope_error) +
                                 fabsl(y) * slope_error + j->p.tiny +
                                 4 * u * (fabsl(g) + fabsl(center) + fabsl(y * slope));
        j->want[i] = r * inner;
        j->error[i] = (r + r_error) * inner_error + r_error * fabsl(inner) + u * fabsl(j->want[i]) +
                      j->p.tiny * (1 + r);
        if (!sums.is_finite || !isfinite(r) || fabsl(j->want[i]) >= j->p.largest)
            j->error[i] = INFINITY;
    }
}

// The sums over rows, column by column.
typedef struct column_sums {
    wide *dw, *db;                     // sums
    wide *dw_error, *db_error;         // of their terms
    wide *dw_magnitude, *db_magnitude; // of their terms
} column_sums;

static bool column_sums_create(column_sums *out, int64_t n, complaint *why)
{
    wide **const all[] = {&out->dw,       &out->db,           &out->dw_error,
                          &out->db_error, &out->dw_magnitude, &out->db_magnitude};
    bool ok = true;
    for (int i = 0; i < 6; i++) {
        *all[i] = calloc((size_t)n + 1, sizeof(wide));
        ok = ok && *all[i] != NULL;
    }
    return ok || complain(why, "no memory for the reference");
}

static void column_sums_destroy(column_sums *sums)
{
    free(sums->dw);
    free(sums->db);
    free(sums->dw_error);
    free(sums->db_error);
    free(sums->dw_magnitude);
    free(sums->db_magnitude);
}

static void column_sums_add(const column_sums *sums, const line_job *j, const norm_scale *s)
{
    for (int64_t i = 0; i < j->n; i++) {
        wide y_error;
        const wide y = normalised(j, s, i, &y_error), dy = j->dy[i];
        sums->dw[i] += dy * y;
        sums->dw_error[i] += fabsl(dy) * y_error;
        sums->dw_magnitude[i] += fabsl(dy * y);
        sums->db[i] += dy;
        sums->db_magnitude[i] += fabsl(dy);
    }
}

static void put_column_sums(reference_values *dW, reference_values *db, const column_sums *sums,
                            const line_job *j, int64_t rows)
{
    const wide growth = line_sum_growth(&j->p, rows), flushed = rows * j->p.tiny;
    for (int64_t i = 0; i < j->n; i++) {
        const bool fits = sums->dw_magnitude[i] < j->p.largest;
        values_put(dW, &j->p, i, sums->dw[i],
                   fits ? (growth + 2 * j->p.unit) * sums->dw_magnitude[i] + sums->dw_error[i] +
                              flushed
                        : INFINITY);
        values_put(db, &j->p, i, sums->db[i],
                   sums->db_magnitude[i] < j->p.largest ? growth * sums->db_magnitude[i] + flushed
                                                        : INFINITY);
    }
}

static bool backward_rows(reference_values *dX, const reference_norm_backward *problem,
                          const line_job *j, const column_sums *sums, const wide *w,
                          unsigned chosen, complaint *why)
{
    line_cut cut = {0}, dy_cut = {0};
    const bool ok = line_cut_create(&cut, &problem->X, chosen, why) &&
                    line_cut_create(&dy_cut, &problem->dY, chosen, why);
    for (int64_t l = 0; ok && l < cut.n_lines; l++) {
        line_load(j->x, &problem->X, &cut, l);
        line_load(j->dy, &problem->dY, &dy_cut, l);
        const norm_scale s = norm_scale_of(j, problem->is_rms, problem->epsilon);
        norm_backward_line(j, &s, problem->is_rms, w);
        column_sums_add(sums, j, &s);
        for (int64_t i = 0; i < j->n; i++)
            values_put(dX, &j->p, l * j->n + i, j->want[i], j->error[i]);
    }
    line_cut_destroy(&cut);
    line_cut_destroy(&dy_cut);
    return ok;
}

bool reference_norm_backward_run(reference_norm_gradients *out,
                                 const reference_norm_backward *problem, complaint *why)
{
    const host_tensor *X = &problem->X;
    const unsigned all = (1u << X->ndim) - 1, kept = (1u << (X->ndim - problem->n_axes)) - 1;
    const int64_t n = line_count(X, all & ~kept), rows = kept == 0 ? 1 : line_count(X, kept);
    column_sums sums = {0};
    line_job j = {0};
    wide *w = NULL;
    *out = (reference_norm_gradients){0};
    bool ok = line_job_create(&j, X->dtype, n, why) && column_sums_create(&sums, n, why) &&
              (w = load_line(problem->weight, n, 1, why)) != NULL &&
              values_create(&out->dX, X->dtype, n * rows, why) &&
              values_create(&out->dW, X->dtype, n, why) &&
              values_create(&out->db, X->dtype, n, why) &&
              (n * rows == 0 || backward_rows(&out->dX, problem, &j, &sums, w, all & ~kept, why));
    if (ok)
        put_column_sums(&out->dW, &out->db, &sums, &j, rows);
    free(w);
    column_sums_destroy(&sums);
    line_job_destroy(&j);
    return ok;
}

void reference_norm_gradients_free(reference_norm_gradients *gradients)
{
    reference_values_free(&gradients->dX);
    reference_values_free(&gradients->dW);
    reference_values_free(&gradients->db);
}
