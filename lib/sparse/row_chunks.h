// SPDX-License-Identifier: Apache-2.0
// Row chunks of long rows of a sparse matrix whose rows are not known: how many there could be, and
// how long they are, so that scratch memory has room for their sums.
#ifndef WEFT_LIB_ROW_CHUNKS_H
#define WEFT_LIB_ROW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/why.h"

// Longest row chunk that weft chooses: kernels count the entries of two in 32 bits.
enum { WEFT_LONGEST_ROW_CHUNK = INT32_MAX / 2 };

typedef struct weft_row_chunks_problem {
    int64_t nnz, longest;      // entries, and the most that a row may have
    int64_t n_sums, n_batches; // sums of a row chunk, for each matrix of a batch
    int64_t sum_bytes;         // of one of them
    int64_t place_bytes;       // of the position of a max or min; 0: it is not stored
    const weft_why *why;       // receives reasons; NULL: none
} weft_row_chunks_problem;

typedef struct weft_row_chunks {
    int64_t n;         // as many as there could be; 0: no row has more than two
    int64_t length;    // entries of one
    int64_t row_chunk; // for kernels: the length, or more than any row has if n is 0
    size_t sums_bytes, places_bytes;
} weft_row_chunks;

// n row chunks of that length, where their number is known; false if n or their bytes pass the
// largest size.
bool weft_row_chunks_of(weft_row_chunks *out, const weft_row_chunks_problem *problem, int64_t n,
                        int64_t length);

// Row chunks of `length` entries. If that is not forced and they need more than `room` bytes,
// longer ones: as many as there is room for, or else as few as there can be. False as above.
bool weft_row_chunks_for(weft_row_chunks *out, const weft_row_chunks_problem *problem,
                         int64_t length, bool is_forced, uint64_t room);

// WEFT_NO_MEMORY, if one of the above has returned false.
weft_status weft_row_chunks_too_many(const weft_row_chunks *row_chunks,
                                     const weft_row_chunks_problem *problem, const char *what);

#endif
