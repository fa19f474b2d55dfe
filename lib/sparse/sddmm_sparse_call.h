// SPDX-License-Identifier: Apache-2.0
// A call of weft_sddmm_sparse() once it has been checked.
#ifndef WEFT_LIB_SDDMM_SPARSE_CALL_H
#define WEFT_LIB_SDDMM_SPARSE_CALL_H

#include <weft/sddmm_sparse.h>

#include "operand/view.h"

// A factor, dense or sparse.
typedef struct weft_factor_view {
    bool is_sparse;
    weft_csr csr;        // defaults filled in; of a dense one sizes and values
    int64_t row, column; // strides of a dense one
} weft_factor_view;

typedef struct weft_sddmm_sparse_call {
    weft_context *ctx;
    weft_factor_view A, B;
    weft_csr C; // defaults filled in; without values that are not read
    const weft_tensor *D;
    bool indicator;
    const weft_sddmm_sparse_tiling *forced;
    weft_sddmm_sparse_problem problem;
} weft_sddmm_sparse_call;

enum {
    WEFT_SDDMM_SPARSE_WAITING = 256, // sums of a group that wait for further parts of a row of A
};

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_sddmm_sparse_check(weft_sddmm_sparse_call *out, weft_context *ctx,
                                    const weft_factor *A, const weft_factor *B, const weft_csr *C,
                                    const weft_tensor *D, const weft_sddmm_sparse_params *params);

// Whether a row of A has more columns than stand in local memory at a time: a dense one comes in
// parts then, and a sparse one's elements stand by hashes.
bool weft_sddmm_sparse_has_parts(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);
bool weft_sddmm_sparse_is_hashed(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);

// Places for these, a power of two.
int64_t weft_sddmm_sparse_places(const weft_sddmm_sparse_tiling *tiling,
                                 const weft_sddmm_sparse_problem *problem);

// Elements of a row of A in one part.
int weft_sddmm_sparse_most(const weft_sddmm_sparse_tiling *tiling,
                           const weft_sddmm_sparse_problem *problem);

#endif
