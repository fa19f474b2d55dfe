// SPDX-License-Identifier: Apache-2.0
// Time on a monotonic clock, and statistics of runs.
#ifndef WEFT_TOOLS_TIMING_H
#define WEFT_TOOLS_TIMING_H

#include <stddef.h>

enum { TIMING_MOST_RUNS = 201 };

// Milliseconds since some moment in the past.
double timing_now_ms(void);

typedef struct timing {
    double median_ms, min_ms, max_ms;
} timing;

// Of n >= 1 run times, which it sorts. The median of an even number is the mean of the middle two.
timing timing_of(double *runs_ms, size_t n);

// The median ratio of the i-th of `others` to the i-th of `runs`, which ran next to it: a slowdown
// of both does not count. Both in the order of the runs; n from 1 to TIMING_MOST_RUNS.
double timing_ratio(const double *runs_ms, const double *others_ms, size_t n);

#endif
