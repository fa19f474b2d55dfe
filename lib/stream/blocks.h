// SPDX-License-Identifier: Apache-2.0
// How a product C = A B of operands in the host's memory is cut into blocks that fit the device's:
// arithmetic alone.
#ifndef WEFT_LIB_BLOCKS_H
#define WEFT_LIB_BLOCKS_H

#include <weft/csr.h>

typedef struct weft_blocks_problem {
    const weft_csr_host *A; // data types without WEFT_DEFAULT; sound offsets
    int64_t longest_row;    // one with the most entries
    bool reads_entries;     // and B; else only C is transferred
    int64_t n;              // columns of B and C
    int64_t b_bytes, c_bytes, bias_bytes, sum_bytes; // of an element; bias_bytes 0: no bias
    int64_t tile_columns, vector_width; // column blocks are multiples of these, if possible of both
    int64_t row_chunk;     // rows of more than two have row chunks of so many entries; 0: no row
    uint64_t device_bytes; // of all buffers
    uint64_t most_bytes;   // of one
} weft_blocks_problem;

// The memory of two row blocks, which are on the device at once, and of a column block of B.
typedef struct weft_blocks {
    int64_t columns, widest; // of a column block; the last is at most the widest
    int64_t n_column_blocks, n_row_blocks;
    uint64_t a_room, c_room, workspace_room;    // bounds of a row block's three buffers
    uint64_t b_bytes;                           // of a column block of B
    uint64_t a_bytes, c_bytes, workspace_bytes; // the most that a row block needs
    int64_t most_row_chunks;                    // of a row block
} weft_blocks;

// Adjacent rows, and the places of A's arrays and the bias in their buffer, in bytes. C has a
// buffer of its own, and so has the workspace.
typedef struct weft_row_block {
    int64_t first, last;             // rows first .. last - 1
    int64_t first_entry, last_entry; // transferred: theirs, and neighbours that kernels read
    int64_t n_row_chunks;            // of long rows; their numbers come first
    uint64_t offsets_at, indices_at, values_at, bias_at;
    uint64_t a_bytes, c_bytes, workspace_bytes;
} weft_row_block;

int64_t weft_longest_row(const weft_csr_host *A);

// Of a C with elements. Fails: WEFT_NO_MEMORY, with the bytes that are needed; messages begin with
// `what`.
weft_status weft_blocks_for(weft_blocks *out, const weft_blocks_problem *problem, const char *what);

// The row block that begins with row `first`, which the matrix has: as many rows as there is room
// for beside the widest column block, at least one.
weft_row_block weft_row_block_from(const weft_blocks_problem *problem, const weft_blocks *blocks,
                                   int64_t first);

// The numbers of a row block's row chunks: number p begins at entry p * row_chunk of A.
void weft_row_block_chunks(const weft_blocks_problem *problem, const weft_row_block *block,
                           int64_t *numbers);

// Columns of the column block that begins with that column.
int64_t weft_blocks_columns(const weft_blocks_problem *problem, const weft_blocks *blocks,
                            int64_t first);

// Bytes of all buffers.
uint64_t weft_blocks_bytes(const weft_blocks *blocks);

#endif
