// SPDX-License-Identifier: Apache-2.0
// Rankings on the host: seeds, scaling, the check in double, the table.
#include "rankings.h"

#include <math.h>
#include <stdlib.h>

enum { N_TOP = 5 };

static bool has_seed(const rankings *r, int n, int64_t package)
{
    for (int i = 0; i < n; i++)
        if (r->seeds[i] == package)
            return true;
    return false;
}

static int64_t most_dependent(const rankings *r, int n, const int64_t *degree)
{
    int64_t best = EVERY_PACKAGE;
    for (int64_t p = 0; p < r->n_packages; p++)
        if ((best < 0 || degree[p] > degree[best]) && !has_seed(r, n, p))
            best = p;
    return best;
}

bool rankings_choose_seeds(rankings *r, const package_graph *graph, const char *const *names,
                           int n_names)
{
    int64_t *degree = calloc((size_t)graph->n_packages, sizeof(*degree));
    if (degree == NULL)
        return false;
    for (int64_t e = 0; e < graph->n_edges; e++)
        degree[graph->edges[e].from]++;

    int n = 0;
    r->seeds[n++] = EVERY_PACKAGE;
    for (int s = 0; s < n_names && n < r->n_rankings; s++) {
        r->seeds[n] = package_graph_find(graph, names[s]);
        if (r->seeds[n] < 0)
            fprintf(stderr, "pagerank: there is no package %s\n", names[s]);
        else if (!has_seed(r, n, r->seeds[n]))
            n++;
    }
    for (; n < r->n_rankings; n++)
        r->seeds[n] = most_dependent(r, n, degree);
    free(degree);
    return true;
}

double rankings_start(const rankings *r, int ranking, int64_t package)
{
    if (r->seeds[ranking] == EVERY_PACKAGE)
        return 1.0 / (double)r->n_packages;
    return r->seeds[ranking] == package ? 1.0 : 0.0;
}

double rankings_largest_change(const rankings *r, const float *before)
{
    double largest = 0;
    for (int i = 0; i < r->n_rankings; i++) {
        double sum = 0;
        for (int64_t p = 0; p < r->n_packages; p++)
            sum += fabs((double)r->scores[p * r->n_rankings + i] - before[p * r->n_rankings + i]);
        largest = fmax(largest, sum);
    }
    return largest;
}

void rankings_scale(rankings *r)
{
    for (int i = 0; i < r->n_rankings; i++) {
        double sum = 0;
        for (int64_t p = 0; p < r->n_packages; p++)
            sum += r->scores[p * r->n_rankings + i];
        for (int64_t p = 0; p < r->n_packages; p++)
            r->scores[p * r->n_rankings + i] /= (float)sum;
    }
}

static double arriving(const rankings *r, const weft_csr_host *moves, int i, int64_t package)
{
    const int32_t *offsets = moves->offsets, *indices = moves->indices;
    const float *values = moves->values;
    double sum = 0;
    for (int32_t e = offsets[package]; e < offsets[package + 1]; e++)
        sum += (double)values[e] * r->scores[(int64_t)indices[e] * r->n_rankings + i];
    return sum;
}

static double error_of(const rankings *r, const weft_csr_host *moves, double damping, int i)
{
    double sum = 0, moved = 0, apart = 0;
    for (int64_t p = 0; p < r->n_packages; p++) {
        sum += r->scores[p * r->n_rankings + i];
        moved += damping * arriving(r, moves, i, p);
    }
    for (int64_t p = 0; p < r->n_packages; p++)
        apart += fabs(r->scores[p * r->n_rankings + i] - damping * arriving(r, moves, i, p) -
                      (1 - moved) * rankings_start(r, i, p));
    return fabs(sum - 1) < 1e-5 ? apart : INFINITY;
}

double rankings_error(const rankings *r, const weft_csr_host *moves, double damping)
{
    double largest = 0;
    for (int i = 0; i < r->n_rankings; i++)
        largest = fmax(largest, error_of(r, moves, damping, i));
    return largest;
}

static bool stands_above(const rankings *r, int i, int64_t p, int64_t q)
{
    const float a = r->scores[p * r->n_rankings + i], b = r->scores[q * r->n_rankings + i];
    return a > b || (a == b && p < q);
}

// The best package after `last` (-1: of all), leaving out the seed; -1 where there is none.
static int64_t next_best(const rankings *r, int i, int64_t last)
{
    int64_t best = -1;
    for (int64_t p = 0; p < r->n_packages; p++)
        if (p != r->seeds[i] && (last < 0 || stands_above(r, i, last, p)) &&
            (best < 0 || stands_above(r, i, p, best)))
            best = p;
    return best;
}

static void print_ranking(const rankings *r, const package_graph *graph, int i)
{
    printf("  %-20s", r->seeds[i] == EVERY_PACKAGE ? "(every package)" : graph->names[r->seeds[i]]);
    int64_t p = -1;
    for (int place = 0; place < N_TOP && (p = next_best(r, i, p)) >= 0; place++) {
        const double share = r->scores[p * r->n_rankings + i];
        if (share > 0)
            printf("%s %s %.1f%%", place == 0 ? "" : ",", graph->names[p], 100 * share);
    }
    putchar('\n');
}

void rankings_print(const rankings *r, const package_graph *graph, int n_shown)
{
    for (int i = 0; i < r->n_rankings && i < n_shown; i++)
        print_ranking(r, graph, i);
}
