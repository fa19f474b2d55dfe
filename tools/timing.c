// SPDX-License-Identifier: Apache-2.0
// The monotonic clock, and order statistics of run times.
#include "timing.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

double timing_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(const double *values, size_t n)
{
    return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

timing timing_of(double *runs_ms, size_t n)
{
    qsort(runs_ms, n, sizeof(*runs_ms), by_value);
    return (timing){
        .median_ms = sorted_median(runs_ms, n),
        .min_ms = runs_ms[0],
        .max_ms = runs_ms[n - 1],
    };
}

double timing_ratio(const double *runs_ms, const double *others_ms, size_t n)
{
    double ratios[TIMING_MOST_RUNS];
    assert(n <= TIMING_MOST_RUNS);
    for (size_t i = 0; i < n; i++)
        ratios[i] = others_ms[i] / runs_ms[i];
    qsort(ratios, n, sizeof(*ratios), by_value);
    return sorted_median(ratios, n);
}
