// SPDX-License-Identifier: Apache-2.0
// The contents of a plan object.
#ifndef WEFT_LIB_SPMM_PATTERN_H
#define WEFT_LIB_SPMM_PATTERN_H

#include <weft/spmm.h>

// Why a plan has its row schedule.
typedef enum weft_spmm_row_schedule_reason {
    WEFT_SPMM_ROW_SCHEDULE_ASKED,    // the caller chose it
    WEFT_SPMM_ROW_SCHEDULE_EVEN,     // lengths hardly vary
    WEFT_SPMM_ROW_SCHEDULE_BALANCED, // they vary, but neighbouring rows give each unit its share
    WEFT_SPMM_ROW_SCHEDULE_UNEVEN,   // they vary
    WEFT_SPMM_ROW_SCHEDULE_CUT,      // they hardly vary, but long rows are cut
    WEFT_SPMM_ROW_SCHEDULE_NEARER,   // in that order rows of B are found in a cache
} weft_spmm_row_schedule_reason;

struct weft_spmm_plan {
    weft_context *ctx;
    int64_t serial; // from 1: no other plan object of this process has or had it
    bool transpose_a, is_dcsr;
    int64_t n_rows, n_cols, nnz; // of the given A
    int64_t n_stored;            // stored rows of a DCSR; all rows of a CSR
    weft_dtype offset_dtype, index_dtype;

    weft_row_stats rows; // of op(A)
    int64_t row_chunk;
    bool row_chunk_is_forced;    // by the caller
    int64_t row_block_rows;      // rows of a group, for a product with 128 columns
    int64_t resident_row_blocks; // row blocks that are then resident at once
    weft_spmm_row_schedule row_schedule;
    weft_spmm_row_schedule_reason row_schedule_reason;
    // For an order for reuse, estimated for products with 128 columns.
    bool is_b_near;              // k-blocks or a copy bring B near anyway
    int64_t b_row_bytes;         // of a row of B in an n-tile
    int64_t cache_rows;          // such rows that a cache has room for
    double given_misses, misses; // fractions of reads of rows of B: in A's order, in that order
    double reuse_ms;             // time to find it
    int64_t n_ordered;           // elements of `order`; -1 where a group lacks a row
    cl_mem order;                // i32: numbers of rows; NULL: rows in A's order
    int64_t n_row_chunks;
    cl_mem row_chunks; // i64: the number p of each: it begins at entry p * row_chunk; NULL: none

    // For k-blocks of B. A segment has the entries of one row in one k-block. NULL: none.
    int64_t run_rows, k_block; // rows of an item, rows of B in a k-block
    int k_block_from;          // least entries of a row with segments
    cl_mem segment_starts;     // first segment of each item; A's offset type
    cl_mem segment_entries;    // first entry of each; A's offset type
    cl_mem segments;           // i32: entries x WEFT_SPMM_MOST_ROWS + row within the item

    // A^T by rows, if transpose_a; offsets and source have A's offset type.
    cl_mem offsets;
    cl_mem indices; // i32
    cl_mem source;  // entry e of A^T is entry source[e] of A
};

#endif
