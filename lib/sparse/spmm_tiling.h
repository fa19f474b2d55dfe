// SPDX-License-Identifier: Apache-2.0
// The tiling of sparse x dense products, and the problem from which it is chosen and against which
// it is checked.
#ifndef WEFT_LIB_SPMM_TILING_H
#define WEFT_LIB_SPMM_TILING_H

#include <weft/spmm.h>

#include "base/tiling.h"
#include "base/why.h"

// The input for choosing a tiling, besides the limits.
typedef struct weft_spmm_problem {
    int64_t m, k, n, nnz;  // C is m x n, op(A) m x k
    int64_t n_batches;     // 0 counts as 1
    weft_dtype dtype;      // WEFT_DEFAULT is f32
    bool columns_adjacent; // B, C and arguments have stride 1 along n
    // Largest powers of two that divide, in elements, all row starts of B, C and arguments; and the
    // distance between the starts of indices and values. 0 counts as 1.
    int64_t alignment, entry_alignment;
    const weft_row_stats *rows; // of op(A); NULL: unknown (no plan object)
    weft_spmm_reduction reduction;
    weft_spmm_row_schedule row_schedule; // the plan object's; QUEUE: no k-blocks and no staged B
    bool is_transposed;                  // A is, by a plan object
    bool keeps_rows; // no tasks: the plan object's order of rows is wanted, or blocks of rows
    uint64_t scratch_bytes; // the most scratch memory; 0: unknown
    const weft_why *why;    // receives reasons; NULL: none
} weft_spmm_problem;

enum { WEFT_SPMM_MOST_ROWS = 64 }; // of an item

// How the work is cut. An n-tile is lanes x vectors x vector_width adjacent columns of one row of
// C; a group computes the n-tiles of rows_per_group rows. MAX and MIN require k_block, stage and
// row_blocks_per_copy 0, row_split and entry_lanes 1, no tasks and no packed B.
typedef struct weft_spmm_tiling {
    int vector_width; // columns in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;      // vectors that one item sums in registers, 1 to 8
    int lanes;        // items that share an n-tile
    // Sets of `lanes` items for one row, 1 to 32; 0 counts as 1. Each sums a part of the row's
    // entries, and the first combines the sums. More than 1 requires lanes to be a power of two, no
    // k-blocks and no staged B.
    int row_split;
    // Entries of a row side by side: each lane sums every entry_lanes-th one; 0 counts as 1. Either
    // 2, 4 or 8 in one vector, of vector_width x entry_lanes and at most 16 elements, where lanes
    // and row_split are 1; or row_split of them, one for each group of lanes. Excludes stage,
    // k-blocks and staged B.
    int entry_lanes;
    int rows_per_group; // n-tiles of different rows that share a group
    int rows_per_item;  // rows that an item computes, 1 to WEFT_SPMM_MOST_ROWS; 0 counts as 1
    int k_block;        // rows of B that these rows use together; 0: one row after the other
    // Least entries of a row that is computed by k-blocks; shorter rows are computed one after the
    // other. 0: all rows. A plan object has its own.
    int k_block_from;
    int stage;  // entries of a row that 2 or more lanes stage in local memory at a time; 0: none
    int load;   // entries in one aligned load while staging: 1, 2 or 4
    int unroll; // entries in one iteration, 1, 2, 4 or 8; if lanes is 1 each has its own sums
    // Entries of a row chunk. Rows longer than two are cut into row chunks, which are summed
    // separately and combined in order. A plan object has its own. Without one rows are assumed to
    // have at most k entries, although repeated columns could make them longer.
    int64_t row_chunk;
    // Rows and entries, together, of a task: groups have rows_per_group tasks, whatever the lengths
    // of rows, and a second kernel adds the parts of rows that are in several. 0: rows. Staged
    // entries are those of a whole task, stage - load + 1 at most. Excludes row splits, entry
    // lanes, k-blocks and staged B; there are no row chunks.
    int tasks;
    bool packed; // B is first copied n-tile by n-tile to scratch memory
    // Row blocks of rows_per_group x rows_per_item rows that a group computes with one copy of its
    // n-tile of B in local memory, in the type of sums; 0: one row block, with B in global memory.
    // Excludes packed.
    int row_blocks_per_copy;
    bool aligned; // B and C are read and written by aligned vectors
} weft_spmm_tiling;

// Chooses a tiling; a pure function. `limits` must pass weft_limits_check().
weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem);

// Checks a forced tiling against the limits and the problem: WEFT_BAD_ARGUMENT names the field.
weft_status weft_spmm_tiling_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                   const weft_spmm_problem *problem);

// Prints the tiling in one line, like snprintf().
int weft_spmm_tiling_print(const weft_spmm_tiling *tiling, char *text, size_t size);

// The table that prints and reads it.
extern const weft_tiling_table weft_spmm_tiling_table;

enum {
    WEFT_SPMM_MAX_VECTOR_WIDTH = 16,
    WEFT_SPMM_MAX_VECTORS = 8,
    WEFT_SPMM_MAX_UNROLL = 8,
    WEFT_SPMM_MAX_LOAD = 4,
    WEFT_SPMM_MAX_ROW_SPLIT = 32,
    WEFT_SPMM_MAX_ENTRY_LANES = 8,  // in one vector
    WEFT_SPMM_MOST_TASKS = 1 << 16, // rows and entries of a task
};

// The problem with defaults filled in and extents of at least 1.
typedef struct weft_spmm_facts {
    weft_dtype dtype;
    int64_t n, alignment, entry_alignment;
    int64_t part_bytes; // of a part of a row, in local memory, for each column
} weft_spmm_facts;

weft_spmm_facts weft_spmm_facts_of(const weft_spmm_problem *problem);

// Groups that are resident on the device at once. On a CPU max_blocks counts groups of one item.
int64_t weft_spmm_resident_groups(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                  const weft_why *why);

// Whether a plan should cut rows at the ends of k-blocks of B. Each segment costs about as much as
// an entry, and B of few k-blocks has few to sort.
static inline bool weft_spmm_segments_pay(int64_t k, int64_t k_block)
{
    enum { FEW_K_BLOCKS = 8 };
    return k > FEW_K_BLOCKS * k_block;
}

// Items along x of groups that sum rows.
static inline int64_t weft_spmm_row_items(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * (tiling->row_split > 0 ? tiling->row_split : 1);
}

// Most loop iterations of an item that computes all rows of A.
double weft_spmm_most_iterations(const weft_spmm_problem *problem);

#endif
