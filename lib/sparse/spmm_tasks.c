// SPDX-License-Identifier: Apache-2.0
// Tasks of a sparse x dense product: their number, and scratch memory for their parts of rows.
#include "sparse/spmm_tasks.h"

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/scratch.h"
#include "sparse/sparse_limits.h"

int64_t weft_spmm_n_tasks(const weft_spmm_problem *problem, int size)
{
    if (problem->nnz > INT64_MAX - problem->m - size)
        return 0;
    const int64_t n = max_i64(ceil_div(problem->m + problem->nnz, size), 1);
    return n <= WEFT_SPARSE_MAX_EXTENT / 2 ? n : 0; // two parts each, in 32 bits
}

int64_t weft_spmm_join_iterations(const weft_spmm_tiling *tiling, int64_t n_tasks)
{
    return ceil_div(n_tasks, (int64_t)tiling->rows_per_group * tiling->unroll);
}

bool weft_spmm_parts_bytes(size_t *out, const weft_spmm_problem *problem, int64_t n_tasks)
{
    const int64_t sum_bytes = weft_sum_bytes(weft_dtype_or(problem->dtype, WEFT_F32));
    return weft_scratch_for(out, 2 * n_tasks, problem->n, max_i64(problem->n_batches, 1),
                            sum_bytes);
}
