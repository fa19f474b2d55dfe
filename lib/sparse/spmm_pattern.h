// SPDX-License-Identifier: Apache-2.0
// What a plan object keeps of a sparsity pattern.
#ifndef WEFT_LIB_SPMM_PATTERN_H
#define WEFT_LIB_SPMM_PATTERN_H

#include <weft/spmm.h>

// Why a plan has the order that it has.
typedef enum weft_spmm_order_reason {
    WEFT_SPMM_ORDER_ASKED,    // by the caller
    WEFT_SPMM_ORDER_EVEN,     // lengths hardly vary
    WEFT_SPMM_ORDER_BALANCED, // they do, but rows as they come give each unit its share
    WEFT_SPMM_ORDER_UNEVEN,   // they do
    WEFT_SPMM_ORDER_CUT,      // those of rows that are not cut hardly do, but others are cut
} weft_spmm_order_reason;

struct weft_spmm_plan {
    weft_context *ctx;
    int64_t serial; // from 1: no other plan object of this process has or had it
    bool transpose_a, is_dcsr;
    int64_t n_rows, n_cols, nnz; // of A as it was given
    int64_t n_stored;            // rows of a DCSR that are stored; of a CSR all
    weft_dtype offset_dtype, index_dtype;

    weft_row_stats rows; // of op(A)
    int64_t row_chunk;
    bool row_chunk_is_forced;    // not chosen here
    int64_t row_block_rows;      // that a group goes through, of a product with 128 columns
    int64_t staged_b_row_blocks; // and how many row blocks the device then holds at once
    weft_spmm_order order_kind;
    weft_spmm_order_reason order_reason;
    int64_t n_ordered; // places in the order, -1 among them where a group has a row less
    cl_mem order;      // i32; NULL: rows as they come
    int64_t n_row_chunks;
    cl_mem
        row_chunks; // i64: the p of each row chunk, which begins at entry p * row chunk; NULL: no long rows

    // For rows side by side in k-blocks of B: the entries of one row in one k-block. NULL: none.
    int64_t run_rows, k_block; // rows of an item, rows of B in a k-block
    int k_block_from;          // entries of a row that has segments
    cl_mem segment_starts;     // of each item, in the two below; A's offset type
    cl_mem segment_entries;    // where each begins; A's offset type
    cl_mem segments;           // i32: entries x WEFT_SPMM_MOST_ROWS + row within the item

    // A^T by rows, where it was asked for; offsets and source have A's offset type.
    cl_mem offsets;
    cl_mem indices; // i32
    cl_mem source;  // entry e of A^T is entry source[e] of A
};

#endif
