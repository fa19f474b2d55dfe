// SPDX-License-Identifier: Apache-2.0
// How sampled products of dense matrices are cut into chunks of entries and tiles of k.
#ifndef WEFT_LIB_SDDMM_PLAN_H
#define WEFT_LIB_SDDMM_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_sddmm_problem {
    int64_t m, n, k, nnz; // C is m x n, A m x k
    int64_t n_batches;    // 0 counts as 1
    weft_dtype dtype;     // WEFT_DEFAULT is f32
    bool a_adjacent;      // A has stride 1 along k
    bool b_adjacent;      // B has: it is the transpose of a row-major matrix
    int64_t alignment;    // largest power of two that divides the start of each row of A and, with
                          // b_adjacent, of each column of B, in elements; 0 counts as 1
    const weft_why *why;  // where reasons go; NULL: nowhere
} weft_sddmm_problem;

enum {
    WEFT_SDDMM_MOST_LANES = 64,
    WEFT_SDDMM_MOST_ENTRIES = 1 << 20,
    WEFT_SDDMM_MOST_AHEAD = 64,
};

// How the work is cut. A chunk is consecutive entries of C, of whatever rows; chunks_per_group of
// them make a group. A tile is lanes x vectors x vector_width elements along k.
typedef struct weft_sddmm_tiling {
    int vector_width;     // elements along k in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;          // vectors of a row of A that one item caches in registers, 1 to 16
    int lanes;            // items that share a chunk, and every dot product in it: a power of two
                          // up to WEFT_SDDMM_MOST_LANES
    int chunks_per_group; // chunks of a group
    int64_t entries;      // of a chunk: a multiple of 16 and of lanes, up to
                          // WEFT_SDDMM_MOST_ENTRIES
    bool passes;          // one launch for each tile of k, the last with the vectors that are left;
                          // sums are in scratch memory between launches. Else one launch for all
                          // tiles, entry by entry
    bool packed;          // B is first packed to scratch memory, tile by tile; requires passes
    bool transposed;      // all of B is first transposed to scratch memory, and read with stride 1
                          // along k; excludes packed
    bool aligned;         // A and B are read by aligned vectors
    int ahead;            // prefetch distance in entries, up to WEFT_SDDMM_MOST_AHEAD, of adjacent,
                          // packed or transposed columns of B; 0: no prefetch
    // Columns of B in a column block; 0: row after row. The rows of a chunk advance block by block,
    // so that B is read from cache. Blocks are wider where rows have few entries in one; from n on
    // there is one. Passes with as many vectors share a launch, unless B is packed. Requires lanes
    // 1, and passes where there are several tiles.
    int64_t column_block;
} weft_sddmm_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_sddmm_tiling weft_sddmm_tiling_for(const weft_limits *limits,
                                        const weft_sddmm_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_sddmm_tiling_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                                    const weft_sddmm_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_sddmm_tiling_print(const weft_sddmm_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_sddmm_tiling_table;

enum { WEFT_SDDMM_TRANSPOSED_BLOCK = 32 }; // columns, and rows, of B transposed in local memory

// The tiling without column blocks, or without B transposed, because scratch memory has room for
// `most` bytes only.
weft_sddmm_tiling weft_sddmm_tiling_short_of(const weft_limits *limits,
                                             const weft_sddmm_problem *problem, uint64_t most);

#endif
