// SPDX-License-Identifier: Apache-2.0
// How many pieces of long rows, and how long: doubled until scratch memory has room. Arithmetic
// alone.
#include "sparse/pieces.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "base/refuse.h"
#include "runtime/scratch.h"
#include "sparse/sparse_limits.h"

static const int64_t NO_PIECE = INT64_MAX / 4;

bool weft_pieces_of(weft_pieces *out, const weft_pieces_problem *problem, int64_t n, int64_t length)
{
    const int64_t n_sums = problem->n_sums, n_batches = problem->n_batches;
    *out = (weft_pieces){.n = n, .length = length, .piece = n > 0 ? length : NO_PIECE};
    return n <= WEFT_SPARSE_MAX_EXTENT &&
           weft_scratch_for(&out->sums_bytes, n, n_sums, n_batches, problem->sum_bytes) &&
           weft_scratch_for(&out->places_bytes, n, n_sums, n_batches, problem->place_bytes);
}

static int64_t most_pieces(const weft_pieces_problem *problem, int64_t length)
{
    return problem->longest > 2 * length ? ceil_div(problem->nnz, length) : 0;
}

bool weft_pieces_for(weft_pieces *out, const weft_pieces_problem *problem, int64_t length,
                     bool is_forced, uint64_t room)
{
    bool counts = weft_pieces_of(out, problem, most_pieces(problem, length), length);
    while (!is_forced && length < WEFT_LONGEST_PIECE &&
           (!counts || out->sums_bytes + out->places_bytes > room)) {
        length = min_i64(2 * length, WEFT_LONGEST_PIECE);
        counts = weft_pieces_of(out, problem, most_pieces(problem, length), length);
    }
    if (out->n == 0)
        refuse(problem->why, "pieces of long rows",
               "rows of at most %" PRId64 " entries are no more than two pieces of %" PRId64,
               problem->longest, length);
    return counts;
}

weft_status weft_pieces_too_many(const weft_pieces *pieces, const weft_pieces_problem *problem,
                                 const char *what)
{
    return fail(WEFT_NO_MEMORY,
                "%s: %" PRId64 " pieces of %" PRId64 " entries, with %" PRId64
                " sums each for each of %" PRId64 " matrices, are too many",
                what, pieces->n, pieces->length, problem->n_sums, problem->n_batches);
}
