// SPDX-License-Identifier: Apache-2.0
// What a plan object keeps of a sparsity pattern.
#ifndef WEFT_LIB_SPMM_PATTERN_H
#define WEFT_LIB_SPMM_PATTERN_H

#include <weft/spmm.h>

struct weft_spmm_plan {
    weft_context *ctx;
    bool transpose_a;
    int64_t n_rows, n_cols, nnz; // of A as it was given
    weft_dtype offset_dtype, index_dtype;

    weft_row_stats rows; // of op(A)
    int64_t piece;
    int64_t n_ordered; // places in the order, -1 among them where a group has a row less
    cl_mem order;      // i32; NULL: rows as they come
    int64_t n_pieces;
    cl_mem pieces; // i64: the p of each piece, which begins at entry p * piece; NULL: no long rows

    // A^T by rows, where it was asked for; offsets and source have A's offset type.
    cl_mem offsets;
    cl_mem indices; // i32
    cl_mem source;  // entry e of A^T is entry source[e] of A
};

#endif
