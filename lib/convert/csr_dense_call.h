// SPDX-License-Identifier: Apache-2.0
// A conversion between sparse and dense, between its door (csr_dense_check.c) and its kernels
// (csr_dense.c).
#ifndef WEFT_LIB_CSR_DENSE_CALL_H
#define WEFT_LIB_CSR_DENSE_CALL_H

#include <weft/csr_dense.h>

#include "convert/csr_dense_plan.h"
#include "operand/outputs.h"

typedef enum weft_csr_dense_step {
    WEFT_CSR_TO_DENSE,
    WEFT_DENSE_TO_CSR_COUNT,
    WEFT_DENSE_TO_CSR_FILL,
} weft_csr_dense_step;

typedef struct weft_csr_dense_call {
    weft_context *ctx;
    weft_csr_dense_step step;
    const char *name; // "csr_to_dense", for messages
    weft_csr_dense_problem problem;
    weft_csr A; // defaults filled in
    const weft_tensor *D_view;
    weft_dense D;
    int64_t n_batches;
    double threshold;
    bool is_forced; // to a tiling
    weft_csr_dense_tiling forced;
    weft_outputs outputs; // all that is written
} weft_csr_dense_call;

// All checks that need no plan. `params` is not NULL.
weft_status weft_csr_dense_check(weft_csr_dense_call *out, weft_csr_dense_step step,
                                 weft_context *ctx, const weft_csr *A, const weft_tensor *D,
                                 const weft_csr_dense_params *params);

// The caller's scratch memory: large enough, and apart from all operands.
weft_status weft_csr_dense_workspace_check(const weft_csr_dense_call *call, cl_mem workspace,
                                           size_t bytes);

#endif
