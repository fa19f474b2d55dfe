// SPDX-License-Identifier: Apache-2.0
// Whether a sparse x dense product should pack B.
#include "sparse/spmm_packing.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/refuse.h"
#include "sparse/spmm_reduction.h"

static const char PACKED[] = "packed B";
static const double PACKED_USES = 24; // of each row of B, which is written and read once more

bool weft_spmm_packing_pays(const weft_spmm_problem *problem, int64_t n_tile_columns, int64_t bytes,
                            int64_t least)
{
    if (weft_spmm_is_max_min(problem->reduction))
        return refuse(problem->why, PACKED, "not used for %s",
                      weft_spmm_reduction_name(problem->reduction));
    const double uses = (double)problem->nnz / (double)max_i64(problem->k, 1);
    if ((double)problem->nnz < PACKED_USES * (double)problem->k)
        return refuse(problem->why, PACKED, "each row of B is used %.3g times: %g are wanted", uses,
                      PACKED_USES);
    if (!problem->columns_adjacent)
        return true;
    if (problem->n <= n_tile_columns)
        return refuse(problem->why, PACKED,
                      "an n-tile has all %" PRId64 " columns, which are adjacent", problem->n);
    const int64_t n_tile_bytes = problem->k * n_tile_columns * bytes;
    return n_tile_bytes >= least ||
           refuse(problem->why, PACKED,
                  "an n-tile of B has %" PRId64 " bytes: %" PRId64 " are wanted", n_tile_bytes,
                  least);
}
