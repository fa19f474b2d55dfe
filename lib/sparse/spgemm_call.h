// SPDX-License-Identifier: Apache-2.0
// A sparse x sparse product between its door (spgemm_check.c) and its kernels (spgemm.c).
#ifndef WEFT_LIB_SPGEMM_CALL_H
#define WEFT_LIB_SPGEMM_CALL_H

#include <weft/spgemm.h>

#include "operand/outputs.h"
#include "sparse/spgemm_plan.h"

// To a sparse C in two steps, or to a dense one.
typedef enum weft_spgemm_step {
    WEFT_SPGEMM_COUNT,
    WEFT_SPGEMM_FILL,
    WEFT_SPGEMM_TO_DENSE,
} weft_spgemm_step;

// As the caller gave them; of `C` and `dense` one is there, alpha and beta with the latter.
typedef struct weft_spgemm_operands {
    const weft_csr *A, *B, *C;
    const weft_tensor *dense;
    double alpha, beta;
} weft_spgemm_operands;

typedef struct weft_spgemm_call {
    weft_context *ctx;
    weft_spgemm_step step;
    const char *name;
    weft_spgemm_problem problem;
    weft_csr A, B; // defaults filled in; while entries are counted values are not looked at
    weft_csr C;    // the same; of a dense C sizes and data types alone
    const weft_tensor *dense; // or NULL
    double alpha, beta;       // of a dense C; alpha is 0 where there are no products
    bool is_forced;           // to a tiling
    weft_spgemm_tiling forced;
    weft_outputs outputs; // all that is written
} weft_spgemm_call;

// All checks that need no plan. `params` is not NULL.
weft_status weft_spgemm_check(weft_spgemm_call *out, weft_spgemm_step step, weft_context *ctx,
                              const weft_spgemm_operands *given, const weft_spgemm_params *params);

// The caller's scratch memory: large enough, and apart from all operands.
weft_status weft_spgemm_workspace_check(const weft_spgemm_call *call, cl_mem workspace,
                                        size_t bytes);

#endif
