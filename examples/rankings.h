// SPDX-License-Identifier: Apache-2.0
// Several PageRanks of the same packages, on the host.
#ifndef RANKINGS_H
#define RANKINGS_H

#include <weft/csr.h>

#include "debian_packages.h"

enum { EVERY_PACKAGE = -1 }; // the seed of a walker that may start anywhere

// Column i of `scores` [n_packages x n_rankings] is the ranking from seeds[i].
typedef struct rankings {
    int64_t n_packages;
    int n_rankings, n_steps;
    int64_t *seeds;
    float *scores;
    double ms; // of all steps but the first
} rankings;

// Seeds: every package together, then the named ones, then those with the most dependencies.
// Unknown names are skipped after a message on standard error.
bool rankings_choose_seeds(rankings *r, const package_graph *graph, const char *const *names,
                           int n_names);

// v: where the walker of a ranking starts, 1 at the seed or the same everywhere.
double rankings_start(const rankings *r, int ranking, int64_t package);

// The ranking that changed most: the sum of its changes from `before` to the scores.
double rankings_largest_change(const rankings *r, const float *before);

// Makes every ranking sum to 1.
void rankings_scale(rankings *r);

// The error of the rankings in x = d M x + c v, in double and by the plain formula: the largest sum
// of differences of one ranking, infinite if one does not sum to 1.
double rankings_error(const rankings *r, const weft_csr_host *moves, double damping);

// The top of the first `n_shown` rankings, a line each, without the seed itself.
void rankings_print(const rankings *r, const package_graph *graph, int n_shown);

#endif
