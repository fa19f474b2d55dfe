// SPDX-License-Identifier: Apache-2.0
// A call of weft_sddmm_sparse() once it has been checked.
#ifndef WEFT_LIB_SDDMM_SPARSE_CALL_H
#define WEFT_LIB_SDDMM_SPARSE_CALL_H

#include <weft/sddmm_sparse.h>

#include "operand/view.h"
#include "sparse/sddmm_sparse_plan.h"

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
    bool is_forced; // to a tiling
    weft_sddmm_sparse_tiling forced;
    weft_sddmm_sparse_problem problem;
} weft_sddmm_sparse_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_sddmm_sparse_check(weft_sddmm_sparse_call *out, weft_context *ctx,
                                    const weft_factor *A, const weft_factor *B, const weft_csr *C,
                                    const weft_tensor *D, const weft_sddmm_sparse_params *params);

#endif
