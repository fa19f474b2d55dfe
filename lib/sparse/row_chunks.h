// SPDX-License-Identifier: Apache-2.0
// Pieces of long rows of a sparse matrix, where nobody has seen the rows: how many there could be,
// and how long they are, so that scratch memory has room for what they come to.
#ifndef WEFT_LIB_ROW_CHUNKS_H
#define WEFT_LIB_ROW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/why.h"

// Pieces that nobody asked for grow up to here: kernels count the entries of two in 32 bits.
enum { WEFT_LONGEST_ROW_CHUNK = INT32_MAX / 2 };

typedef struct weft_row_chunks_problem {
    int64_t nnz, longest;      // entries, and the most that a row may have
    int64_t n_sums, n_batches; // numbers that a row chunk comes to in each matrix of a batch
    int64_t sum_bytes;         // of one of them
    int64_t place_bytes;       // of where it was found; 0: that is not kept
    const weft_why *why;       // where reasons go; NULL: nowhere
} weft_row_chunks_problem;

typedef struct weft_row_chunks {
    int64_t n;         // as many as there could be; 0: no row has more than two
    int64_t length;    // entries of one
    int64_t row_chunk; // for kernels: the same, or more than any row has where there are none
    size_t sums_bytes, places_bytes;
} weft_row_chunks;

// So many of that length, which somebody has counted; false where their bytes, or they, are more
// than sizes reach.
bool weft_row_chunks_of(weft_row_chunks *out, const weft_row_chunks_problem *problem, int64_t n,
                        int64_t length);

// Pieces of `length` entries. Where these were not asked for (is_forced) and want more than `room`
// bytes, longer ones: as many as there is room for, or else as few as there can be. False as above.
bool weft_row_chunks_for(weft_row_chunks *out, const weft_row_chunks_problem *problem,
                         int64_t length, bool is_forced, uint64_t room);

// WEFT_NO_MEMORY, for what the above did not count.
weft_status weft_row_chunks_too_many(const weft_row_chunks *row_chunks,
                                     const weft_row_chunks_problem *problem, const char *what);

#endif
