// SPDX-License-Identifier: Apache-2.0
// How conversions between sparse and dense matrices are cut into blocks.
#ifndef WEFT_LIB_CSR_DENSE_PLAN_H
#define WEFT_LIB_CSR_DENSE_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_csr_dense_problem {
    int64_t n_rows, n_cols;
    weft_dtype dtype; // WEFT_DEFAULT is f32
} weft_csr_dense_problem;

// How the work is cut. A group converts `rows` rows; where it writes a dense matrix, `columns`
// columns of each.
typedef struct weft_csr_dense_tiling {
    int items;   // of a group, side by side along a row: a power of two
    int rows;    // 1 to 32768
    int columns; // 1 to 1048576: a group has two bits for each in local memory
} weft_csr_dense_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_csr_dense_tiling weft_csr_dense_tiling_for(const weft_limits *limits,
                                                const weft_csr_dense_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_csr_dense_tiling_check(const weft_csr_dense_tiling *tiling,
                                        const weft_limits *limits,
                                        const weft_csr_dense_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_csr_dense_tiling_print(const weft_csr_dense_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_csr_dense_tiling_table;

// Local memory of a group: bytes of a bit for each of so many columns, and how many sums: 1 where
// elements hold them.
size_t weft_csr_dense_words_bytes(int columns);
int weft_csr_dense_sums(const weft_limits *limits, int columns,
                        const weft_csr_dense_problem *problem);

#endif
