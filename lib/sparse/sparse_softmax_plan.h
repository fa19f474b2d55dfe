// SPDX-License-Identifier: Apache-2.0
// How softmax along rows of a sparse matrix is cut into chunks of rows.
#ifndef WEFT_LIB_SPARSE_SOFTMAX_PLAN_H
#define WEFT_LIB_SPARSE_SOFTMAX_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_sparse_softmax_problem {
    int64_t n_rows, nnz;
    int64_t n_batches;   // 0 counts as 1
    weft_dtype dtype;    // WEFT_DEFAULT is f32
    bool is_backward;    // it is that of weft_sparse_softmax_backward()
    const weft_why *why; // where reasons go; NULL: nowhere
} weft_sparse_softmax_problem;

// How the work is cut. A group computes a chunk: rows that together have so many entries, each
// row counted as one more.
typedef struct weft_sparse_softmax_tiling {
    int vector_width;   // entries in one OpenCL vector: 1; or 2, 4, 8, 16 where one item is a group
    int lanes;          // items that share a row: a power of two
    int rows_per_group; // rows that a group has side by side: a power of two
    // Entries that are cached. With vectors, of several rows, in private memory of an item, which
    // has room for four numbers and some more for each: vector_width to 8192. Without vectors, of
    // one row, in registers of its items: 1 to 16 times lanes, 0 counts as lanes. All items of the
    // group sweep a longer row.
    int cache;
    int64_t chunk;     // entries and rows of a group
    int64_t row_chunk; // entries: rows longer than twice this are cut into row chunks, which are
                       // summed separately and combined in order
} weft_sparse_softmax_tiling;

enum {
    WEFT_SPARSE_SOFTMAX_MOST_CACHED = 8192,
    WEFT_SPARSE_SOFTMAX_MOST_EACH = 16, // of one item without vectors
};

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_sparse_softmax_tiling weft_sparse_softmax_tiling_for(
    const weft_limits *limits, const weft_sparse_softmax_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_sparse_softmax_tiling_check(const weft_sparse_softmax_tiling *tiling,
                                             const weft_limits *limits,
                                             const weft_sparse_softmax_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_sparse_softmax_tiling_print(const weft_sparse_softmax_tiling *tiling, char *text,
                                     size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_sparse_softmax_tiling_table;

#endif
