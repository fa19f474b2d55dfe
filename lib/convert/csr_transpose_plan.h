// SPDX-License-Identifier: Apache-2.0
// How a transposition sorts entries by columns.
#ifndef WEFT_LIB_CSR_TRANSPOSE_PLAN_H
#define WEFT_LIB_CSR_TRANSPOSE_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_csr_transpose_problem {
    int64_t n_cols, nnz;     // of A
    weft_dtype offset_dtype; // of A; WEFT_DEFAULT is i32
} weft_csr_transpose_problem;

// How the work is cut. Entries are sorted by `bits` bits of their column in each pass; an item
// sorts `run` entries one after the other.
typedef struct weft_csr_transpose_tiling {
    int items; // of a group: a power of two
    int bits;  // 1 to 16: a group has 2^bits counters for each item in local memory
    int run;   // 1 to 32768
} weft_csr_transpose_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_csr_transpose_tiling weft_csr_transpose_tiling_for(const weft_limits *limits,
                                                        const weft_csr_transpose_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_csr_transpose_tiling_check(const weft_csr_transpose_tiling *tiling,
                                            const weft_limits *limits,
                                            const weft_csr_transpose_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_csr_transpose_tiling_print(const weft_csr_transpose_tiling *tiling, char *text,
                                    size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_csr_transpose_tiling_table;

// Counters of a group.
int64_t weft_csr_transpose_counters(const weft_csr_transpose_tiling *tiling);

// Passes for all bits of a column; at least 1.
int weft_csr_transpose_passes(const weft_csr_transpose_tiling *tiling, int64_t n_cols);

#endif
