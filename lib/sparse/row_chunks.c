// SPDX-License-Identifier: Apache-2.0
// Number and length of row chunks: the length is doubled until scratch memory has room. Only
// arithmetic.
#include "sparse/row_chunks.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "base/refuse.h"
#include "runtime/scratch.h"
#include "sparse/sparse_limits.h"

static const int64_t NO_ROW_CHUNK = INT64_MAX / 4;

bool weft_row_chunks_of(weft_row_chunks *out, const weft_row_chunks_problem *problem, int64_t n,
                        int64_t length)
{
    const int64_t n_sums = problem->n_sums, n_batches = problem->n_batches;
    *out = (weft_row_chunks){.n = n, .length = length, .row_chunk = n > 0 ? length : NO_ROW_CHUNK};
    return n <= WEFT_SPARSE_MAX_EXTENT &&
           weft_scratch_for(&out->sums_bytes, n, n_sums, n_batches, problem->sum_bytes) &&
           weft_scratch_for(&out->places_bytes, n, n_sums, n_batches, problem->place_bytes);
}

static int64_t most_row_chunks(const weft_row_chunks_problem *problem, int64_t length)
{
    return problem->longest > 2 * length ? ceil_div(problem->nnz, length) : 0;
}

bool weft_row_chunks_for(weft_row_chunks *out, const weft_row_chunks_problem *problem,
                         int64_t length, bool is_forced, uint64_t room)
{
    bool counts = weft_row_chunks_of(out, problem, most_row_chunks(problem, length), length);
    while (!is_forced && length < WEFT_LONGEST_ROW_CHUNK &&
           (!counts || out->sums_bytes + out->places_bytes > room)) {
        length = min_i64(2 * length, WEFT_LONGEST_ROW_CHUNK);
        counts = weft_row_chunks_of(out, problem, most_row_chunks(problem, length), length);
    }
    if (out->n == 0)
        refuse(problem->why, "row chunks of long rows",
               "rows of at most %" PRId64 " entries are no more than two row chunks of %" PRId64,
               problem->longest, length);
    return counts;
}

weft_status weft_row_chunks_too_many(const weft_row_chunks *row_chunks,
                                     const weft_row_chunks_problem *problem, const char *what)
{
    return fail(WEFT_NO_MEMORY,
                "%s: %" PRId64 " row chunks of %" PRId64 " entries, with %" PRId64
                " sums each for each of %" PRId64 " matrices, are too many",
                what, row_chunks->n, row_chunks->length, problem->n_sums, problem->n_batches);
}
