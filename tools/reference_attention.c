// SPDX-License-Identifier: Apache-2.0
// Sparse attention in double, and the error bound derived in reference_attention.h.
#include "reference_attention.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "precision.h"
#include "scalar.h"

// An entry of the current row.
typedef struct entry {
    int64_t column;
    double product, product_error; // p, P
    double weight, error;          // w, r
} entry;

typedef struct row {
    entry *entries; // room for the longest row
    int64_t n;
    double largest, largest_error; // of products
    bool is_bounded;               // products stay within the type of the sums
} row;

static void take_product(row *r, const reference_attention *problem, const precision *p, int64_t i,
                         entry *e)
{
    const double k = (double)problem->k, scale = fabs(problem->scale);
    double sum = 0, magnitude = 0;
    for (int64_t l = 0; l < problem->k && problem->scale != 0; l++) {
        const double product = scalar_get(problem->dtype, problem->Q, i * problem->k + l) *
                               scalar_get(problem->dtype, problem->K, e->column * problem->k + l);
        sum += product;
        magnitude += isfinite(product) ? fabs(product) : 0;
    }
    e->product = problem->scale * sum;
    e->product_error =
        precision_apart(p, k + 2) * scale * magnitude + p->tiny * (2 * k * scale + magnitude + 1);
    if (!(fmax(magnitude, scale * magnitude) < p->largest))
        r->is_bounded = false;
}

static void take_products(row *r, const reference_attention *problem, const precision *p, int64_t i)
{
    const weft_csr_host *M = problem->M;
    const int64_t first = scalar_whole(M->offset_dtype, M->offsets, i);
    r->n = scalar_whole(M->offset_dtype, M->offsets, i + 1) - first;
    r->largest = -INFINITY;
    r->largest_error = 0;
    r->is_bounded = true;
    for (int64_t at = 0; at < r->n; at++) {
        entry *e = &r->entries[at];
        e->column = scalar_whole(M->index_dtype, M->indices, first + at);
        take_product(r, problem, p, i, e);
        r->largest = isnan(e->product) ? NAN : e->product > r->largest ? e->product : r->largest;
        if (isnan(r->largest))
            break; // so is the row
        r->largest_error = fmax(r->largest_error, e->product_error);
    }
}

static void weigh(row *r, const precision *p)
{
    for (int64_t at = 0; at < r->n; at++) {
        entry *e = &r->entries[at];
        const double distance = e->product == -INFINITY ? INFINITY : r->largest - e->product;
        const double roundings = 3 * distance + 10 * (double)r->n + 20;
        e->weight = exp(-distance);
        e->error =
            e->weight == 0
                ? 0
                : expm1(e->product_error + r->largest_error + (p->unit + 0x1p-53) * roundings);
    }
}

static void take_element(const row *r, const reference_attention *problem, const precision *p,
                         int64_t column, double *want, double *bound)
{
    const double flushed = p->tiny * 4 * (double)r->n;
    double N = 0, W = 0, N_error = flushed, W_error = flushed, magnitude = 0;
    bool is_bounded = r->is_bounded;
    for (int64_t at = 0; at < r->n; at++) {
        const entry *e = &r->entries[at];
        const double v = scalar_get(problem->dtype, problem->V, e->column * problem->d + column);
        N += e->weight * v;
        W += e->weight;
        W_error += e->weight * e->error;
        if (isfinite(v)) {
            N_error += e->weight * e->error * fabs(v) + p->tiny * fabs(v);
            magnitude += fabs(v);
        } else if (e->product > -INFINITY && e->weight < p->tiny * 16 * (double)r->n) {
            is_bounded = false;
        }
    }
    *want = W > 0 ? N / W : N * 0;
    const double computed = (N_error + fabs(*want) * W_error) / (W - W_error) + p->tiny;
    if (!is_bounded || (W > 0 && !(W_error < W / 2)) || !(magnitude < p->largest)) {
        *want = 0;
        *bound = INFINITY;
    } else {
        *bound = W > 0 && isfinite(*want) ? precision_stored(p, *want, computed) : 0;
    }
}

static void take_row(row *r, const reference_attention *problem, const precision *p, int64_t i,
                     double *want, double *bound)
{
    take_products(r, problem, p, i);
    const bool is_number = r->largest < INFINITY;
    if (is_number)
        weigh(r, p);
    for (int64_t column = 0; column < problem->d; column++)
        if (is_number) {
            take_element(r, problem, p, column, &want[column], &bound[column]);
        } else {
            want[column] = NAN;
            bound[column] = 0;
        }
}

static int64_t longest_row(const weft_csr_host *M)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < M->n_rows; i++) {
        const int64_t length = scalar_whole(M->offset_dtype, M->offsets, i + 1) -
                               scalar_whole(M->offset_dtype, M->offsets, i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

bool reference_attention_run(const reference_attention *problem, double **reference, double **bound,
                             complaint *why)
{
    const precision p = precision_of(problem->dtype);
    const int64_t m = problem->M->n_rows, longest = longest_row(problem->M);
    const size_t bytes = (size_t)(m * problem->d + 1) * sizeof(double);
    row r = {.entries = malloc((size_t)(longest + 1) * sizeof(*r.entries))};
    *reference = malloc(bytes);
    *bound = malloc(bytes);
    const bool has_room = r.entries != NULL && *reference != NULL && *bound != NULL;
    for (int64_t i = 0; has_room && i < m; i++)
        take_row(&r, problem, &p, i, *reference + i * problem->d, *bound + i * problem->d);
    free(r.entries);
    if (has_room)
        return true;
    free(*reference);
    free(*bound);
    *reference = *bound = NULL;
    return complain(why, "no memory for the reference of %" PRId64 " x %" PRId64 " elements", m,
                    problem->d);
}
