// SPDX-License-Identifier: Apache-2.0
// What plans of sparse products have in common.
#ifndef WEFT_LIB_SPARSE_PLAN_H
#define WEFT_LIB_SPARSE_PLAN_H

#include <weft/limits.h>

// Vectors of `fold` for an item, of n elements, in steps that keep the programs few and waste
// little of the last item's.
int weft_vectors_for(int64_t n, int64_t fold, int64_t most);

// What lies in front of memory, of one core: what is usual, where the limits do not say.
typedef struct weft_caches {
    int64_t l1_bytes, l2_bytes;
} weft_caches;

weft_caches weft_caches_of(const weft_limits *limits);

#endif
