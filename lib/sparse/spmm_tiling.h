// SPDX-License-Identifier: Apache-2.0
// How sparse x dense products are cut into n-tiles, and what choosing a tiling and checking one
// both go by.
#ifndef WEFT_LIB_SPMM_TILING_H
#define WEFT_LIB_SPMM_TILING_H

#include <weft/spmm.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_spmm_problem {
    int64_t m, k, n, nnz;  // C is m x n, op(A) m x k
    int64_t n_batches;     // 0 counts as 1
    weft_dtype dtype;      // WEFT_DEFAULT is f32
    bool columns_adjacent; // B, C and arguments have stride 1 along n
    int64_t alignment; // largest power of two that divides, in elements, where each row of B, C and
                       // arguments starts; 0 counts as 1
    int64_t entry_alignment;    // the same of the distance between where indices and values start
    const weft_row_stats *rows; // of op(A); NULL where nobody has looked (no plan object)
    weft_spmm_reduction reduction;
    weft_spmm_order order; // the plan object's; with QUEUE there are no k-blocks, and no B is held
    const weft_why *why;   // where reasons go; NULL: nowhere
} weft_spmm_problem;

enum { WEFT_SPMM_MOST_ROWS = 64 }; // of an item

// How the work is cut. A n-tile is lanes x vectors x vector width adjacent columns of one row of C;
// the n-tiles of rows_per_group rows make a group. MAX and MIN want k-block, stage and
// row_blocks_per_copy 0, a row split of 1 and no packed B.
typedef struct weft_spmm_tiling {
    int vector_width;   // columns in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // such vectors that one item sums in registers, 1 to 8
    int lanes;          // items that share a n-tile
    int row_split;      // times so many, 1 to 32: each lot of them sums a part of a row's entries
                        // and the first adds up what all have, which wants lanes to be a power of
                        // two. Windows and held B want 1, and 0 counts as that
    int rows_per_group; // n-tiles of different rows that share a group
    int rows_per_item;  // rows that a n-tile goes through, 1 to WEFT_SPMM_MOST_ROWS; 0 counts as 1
    int k_block; // rows of B, in the n-tile's columns, that those rows go through side by side;
                 // 0: each row of A from end to end
    int k_block_from; // entries of a row that goes through k-blocks, shorter ones go from end to end;
                      // 0: all rows; a plan object brings its own
    int stage;  // entries of a row that the lanes of a n-tile, 2 or more, stage in local memory
                // at a time; 0: each item reads them
    int load;   // entries in one aligned load while staging: 1, 2 or 4
    int unroll; // entries in one turn of the main loop: 1, 2, 4 or 8; where lanes is 1 each has
                // sums of its own
    int64_t
        row_chunk; // rows longer than two row chunks are cut into row chunks, which are summed apart
                   // and combined in order; a plan object brings its own. Without one no
                   // row is taken to be longer than A is wide, as where columns repeat
    bool packed;   // B is first copied n-tile by n-tile to scratch memory
    int row_blocks_per_copy; // runs of rows_per_group x rows_per_item rows that a group goes through
                             // with a copy of its n-tile of B in local memory, as wide as sums are;
                             // 0: one run, and rows of B where they lie. B is not packed as well
    bool aligned;            // B and C are read and written by aligned vectors
} weft_spmm_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_spmm_tiling_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                   const weft_spmm_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_spmm_tiling_print(const weft_spmm_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_spmm_tiling_table;

enum {
    WEFT_SPMM_MAX_VECTOR_WIDTH = 16,
    WEFT_SPMM_MAX_VECTORS = 8,
    WEFT_SPMM_MAX_UNROLL = 8,
    WEFT_SPMM_MAX_LOAD = 4,
    WEFT_SPMM_MAX_ROW_SPLIT = 32,
};

// A forgiving view of the problem: defaults filled in, extents at least 1.
typedef struct weft_spmm_facts {
    weft_dtype dtype;
    int64_t n, alignment, entry_alignment;
} weft_spmm_facts;

weft_spmm_facts weft_spmm_facts_of(const weft_spmm_problem *problem);

// Groups that the device holds at once. A CPU's limits count its groups of one item as they are.
int64_t weft_spmm_staged_b_groups(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                  const weft_why *why);

// Items along x of groups that sum rows.
static inline int64_t weft_spmm_row_items(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * (tiling->row_split > 0 ? tiling->row_split : 1);
}

// Turns of the loops of an item that goes through all rows of A, at most.
double weft_spmm_turns_of_all(const weft_spmm_problem *problem);

#endif
