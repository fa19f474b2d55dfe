// SPDX-License-Identifier: Apache-2.0
// Arithmetic that plans of sparse products share.
#include "sparse/sparse_plan.h"

#include <stddef.h>

#include "base/arithmetic.h"
#include "base/dtype.h"

int weft_vectors_for(int64_t n, int64_t vector_width, int64_t most)
{
    static const int steps[] = {1, 2, 3, 4, 6, 8};
    const int64_t needed = ceil_div(n, vector_width);
    const int64_t each = ceil_div(needed, ceil_div(needed, most));
    int chosen = 1;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && chosen < each; ++i)
        if (steps[i] <= most)
            chosen = steps[i];
    return chosen;
}

bool weft_rows_are_near(int64_t distance, weft_dtype dtype)
{
    return distance >= 0 && distance <= UINT32_MAX / (int64_t)weft_dtype_size(dtype);
}
