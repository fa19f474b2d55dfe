// SPDX-License-Identifier: Apache-2.0
// Arithmetic that plans of sparse products share.
#include "sparse_plan.h"

#include "arithmetic.h"

enum { USUAL_L1_BYTES = 1 << 15, USUAL_L2_BYTES = 1 << 20 };

int weft_vectors_for(int64_t n, int64_t fold, int64_t most)
{
    static const int steps[] = {1, 2, 3, 4, 6, 8};
    const int64_t needed = ceil_div(n, fold);
    const int64_t each = ceil_div(needed, ceil_div(needed, most));
    int chosen = 1;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && chosen < each; ++i)
        if (steps[i] <= most)
            chosen = steps[i];
    return chosen;
}

weft_caches weft_caches_of(const weft_limits *limits)
{
    return (weft_caches){
        .l1_bytes = limits->l1_bytes > 0 ? (int64_t)limits->l1_bytes : USUAL_L1_BYTES,
        .l2_bytes = limits->l2_bytes > 0 ? (int64_t)limits->l2_bytes : USUAL_L2_BYTES,
    };
}
