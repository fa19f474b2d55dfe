// SPDX-License-Identifier: Apache-2.0
// How often rows of B are not found in a cache.
#ifndef WEFT_LIB_SPMM_MISSES_H
#define WEFT_LIB_SPMM_MISSES_H

#include "sparse/pattern.h"

// Fraction of the reads of rows of B that miss a cache of `room` rows, which keeps the most
// recently used ones, if A's rows come as in order[n]: an estimate from a sample of a few times
// `room` entries, at a few places. `order` NULL: A's order; -1: no row.
weft_status weft_spmm_misses(double *out, const weft_pattern *p, const int32_t *order, int64_t n,
                             int64_t room);

#endif
