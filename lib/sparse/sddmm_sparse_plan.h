// SPDX-License-Identifier: Apache-2.0
// How sampled products with sparse factors are cut into groups of entries.
#ifndef WEFT_LIB_SDDMM_SPARSE_PLAN_H
#define WEFT_LIB_SDDMM_SPARSE_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_sddmm_sparse_problem {
    int64_t m, n, k, nnz;    // C is m x n, A m x k, B n x k
    int64_t a_nnz, b_nnz;    // entries of A, of B; not used of a dense one
    bool a_sparse, b_sparse; // at least one is
    weft_dtype dtype;        // WEFT_DEFAULT is f32
} weft_sddmm_sparse_problem;

// How the work is cut.
typedef struct weft_sddmm_sparse_tiling {
    int items;       // of a group: a power of two
    int lanes;       // of these that share an entry's sum: a power of two up to `items`
    int columns;     // of a row of A in local memory, where B is sparse: 1 to 262144; else 0. A
                     // longer dense row is read in parts, and all terms once for each part; of a
                     // sparse one at least an eighth as many elements are hashed by their columns,
                     // and more are read in parts
    int64_t entries; // of C, of whatever rows, for a group: 1 to 2^60
} weft_sddmm_sparse_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_sddmm_sparse_tiling weft_sddmm_sparse_tiling_for(const weft_limits *limits,
                                                      const weft_sddmm_sparse_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_sddmm_sparse_tiling_check(const weft_sddmm_sparse_tiling *tiling,
                                           const weft_limits *limits,
                                           const weft_sddmm_sparse_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_sddmm_sparse_tiling_print(const weft_sddmm_sparse_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_sddmm_sparse_tiling_table;

enum {
    WEFT_SDDMM_SPARSE_WAITING = 256, // sums of a group that wait for further parts of a row of A
};

// Whether a row of A has more columns than local memory has room for: a dense one is read in parts
// then, and a sparse one's elements are hashed.
bool weft_sddmm_sparse_has_parts(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);
bool weft_sddmm_sparse_is_hashed(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);

// Places for hashed elements, a power of two.
int64_t weft_sddmm_sparse_places(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);

// Elements of a row of A in one part.
int weft_sddmm_sparse_most(const weft_sddmm_sparse_tiling *tiling,
                           const weft_sddmm_sparse_problem *problem);

#endif
