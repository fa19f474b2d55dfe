// SPDX-License-Identifier: Apache-2.0
// How attention over a sparse mask is cut into groups of rows.
#ifndef WEFT_LIB_SPARSE_ATTENTION_PLAN_H
#define WEFT_LIB_SPARSE_ATTENTION_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_sparse_attention_problem {
    int64_t m, n, k, d, nnz; // M is m x n, Q m x k, K n x k, V n x d
    int64_t n_batches;       // 0 counts as 1
    weft_dtype dtype;        // WEFT_DEFAULT is f32
    bool qk_adjacent;        // Q and K have stride 1 along k
    bool vo_adjacent;        // V and O have stride 1 along d
    int64_t alignment;       // largest power of two that divides the start of each row of Q, K, V
                             // and O, in elements; 0 counts as 1
    const weft_why *why;     // where reasons go; NULL: nowhere
} weft_sparse_attention_problem;

// How the work is cut: rows_per_group rows of M make a group, and lanes items share each of them.
typedef struct weft_sparse_attention_tiling {
    int vector_width;   // elements in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // vectors of a row of Q that one item caches in registers, 1 to 8
    int outputs;        // vectors of a row of O that it accumulates there, 1 to 8
    int lanes;          // items that share a row: a power of two up to 64
    int rows_per_group; // rows that share a group
    int rows_per_item;  // rows of an item, one after the other
    int64_t row_chunk;  // entries: rows longer than twice this are cut into row chunks, which are
                        // summed separately and combined in order
    bool aligned;       // Q, K, V and O are read and written by aligned vectors
    bool in_steps;      // products, softmax and sums one after the other, through scratch memory,
                        // as the three calls would; the fields above are not read. Not for f16 and
                        // bf16, whose products would be rounded on the way
} weft_sparse_attention_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_sparse_attention_tiling weft_sparse_attention_tiling_for(
    const weft_limits *limits, const weft_sparse_attention_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_sparse_attention_tiling_check(const weft_sparse_attention_tiling *tiling,
                                               const weft_limits *limits,
                                               const weft_sparse_attention_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_sparse_attention_tiling_print(const weft_sparse_attention_tiling *tiling, char *text,
                                       size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_sparse_attention_tiling_table;

#endif
