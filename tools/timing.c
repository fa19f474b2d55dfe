// SPDX-License-Identifier: Apache-2.0
// The monotonic clock, and order statistics of run times.
#include "timing.h"

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

timing timing_of(double *runs_ms, size_t n)
{
    qsort(runs_ms, n, sizeof(*runs_ms), by_value);
    return (timing){
        .median_ms = 0.5 * (runs_ms[(n - 1) / 2] + runs_ms[n / 2]),
        .min_ms = runs_ms[0],
        .max_ms = runs_ms[n - 1],
    };
}
