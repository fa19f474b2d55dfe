// SPDX-License-Identifier: Apache-2.0
// A graph convolution network for one node: plain loops in double.
#include "graph_reference.h"

#include <math.h>
#include <stdlib.h>

#include "common.h"

static float *draw(int64_t n_rows, int64_t n_cols, double spread, chance *c)
{
    const size_t n = (size_t)n_rows * (size_t)n_cols;
    float *drawn = malloc(n * sizeof(*drawn));
    for (size_t i = 0; is_there(drawn) && i < n; i++)
        drawn[i] = (float)(spread * chance_normal(c));
    return drawn;
}

bool graph_problem_draw(graph_problem *p, chance *c)
{
    p->X = draw(p->S.n_rows, p->n_features, 1, c);
    p->W1 = draw(p->n_features, p->n_hidden, sqrt(2.0 / (double)p->n_features), c);
    p->W2 = draw(p->n_hidden, p->n_classes, sqrt(2.0 / (double)p->n_hidden), c);
    return p->X != NULL && p->W1 != NULL && p->W2 != NULL;
}

void graph_problem_free(graph_problem *p)
{
    weft_csr_host_destroy(&p->S);
    free(p->X);
    free(p->W1);
    free(p->W2);
}

int64_t graph_problem_hub(const graph_problem *p)
{
    const int32_t *offsets = p->S.offsets;
    int64_t hub = 0;
    for (int64_t node = 1; node < p->S.n_rows; node++)
        if (offsets[node + 1] - offsets[node] > offsets[hub + 1] - offsets[hub])
            hub = node;
    return hub;
}

// Of S, from its pattern alone: sums of A + I's rows are their lengths.
static double entry(const graph_problem *p, int64_t row, int64_t col)
{
    const int32_t *offsets = p->S.offsets;
    return 1 / sqrt((double)(offsets[row + 1] - offsets[row]) *
                    (double)(offsets[col + 1] - offsets[col]));
}

// sum += factor x W for a row x
static void add_product(double *sum, double factor, const double *x, const float *W, int64_t n_in,
                        int64_t n_out)
{
    for (int64_t i = 0; i < n_in; i++)
        for (int64_t o = 0; o < n_out; o++)
            sum[o] += factor * x[i] * (double)W[i * n_out + o];
}

// out = row `node` of relu(S X W1), as relu((S X) W1); `near` has room for the row of S X.
static void find_hidden(const graph_problem *p, int64_t node, double *near, double *out)
{
    const int32_t *offsets = p->S.offsets, *indices = p->S.indices;
    for (int64_t f = 0; f < p->n_features; f++) {
        near[f] = 0;
        for (int32_t e = offsets[node]; e < offsets[node + 1]; e++)
            near[f] += entry(p, node, indices[e]) * (double)p->X[indices[e] * p->n_features + f];
    }
    for (int64_t h = 0; h < p->n_hidden; h++)
        out[h] = 0;
    add_product(out, 1, near, p->W1, p->n_features, p->n_hidden);
    for (int64_t h = 0; h < p->n_hidden; h++)
        out[h] = out[h] > 0 ? out[h] : 0;
}

static void softmax(double *x, int64_t n)
{
    double largest = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        largest = fmax(largest, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += x[i] = exp(x[i] - largest);
    for (int64_t i = 0; i < n; i++)
        x[i] /= sum;
}

bool graph_problem_error(const graph_problem *p, int64_t node, const float *row, double *error)
{
    const int32_t *offsets = p->S.offsets, *indices = p->S.indices;
    double *near = malloc((size_t)p->n_features * sizeof(*near));
    double *hidden = malloc((size_t)p->n_hidden * sizeof(*hidden));
    double *out = calloc((size_t)p->n_classes, sizeof(*out));
    const bool ok = is_there(near) && is_there(hidden) && is_there(out);
    for (int32_t e = offsets[node]; ok && e < offsets[node + 1]; e++) {
        find_hidden(p, indices[e], near, hidden);
        add_product(out, entry(p, node, indices[e]), hidden, p->W2, p->n_hidden, p->n_classes);
    }
    *error = 0;
    if (ok)
        softmax(out, p->n_classes);
    for (int64_t c = 0; ok && c < p->n_classes; c++) {
        const double difference = fabs((double)row[c] - out[c]);
        *error = difference <= *error ? *error : difference;
        if (difference != difference)
            *error = INFINITY;
    }
    free(near);
    free(hidden);
    free(out);
    return ok;
}
