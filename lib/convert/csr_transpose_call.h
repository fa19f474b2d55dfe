// SPDX-License-Identifier: Apache-2.0
// A transposition between its door (csr_transpose_check.c) and its kernels (csr_transpose.c).
#ifndef WEFT_LIB_CSR_TRANSPOSE_CALL_H
#define WEFT_LIB_CSR_TRANSPOSE_CALL_H

#include <weft/csr_transpose.h>

#include "convert/csr_transpose_plan.h"
#include "operand/outputs.h"

typedef struct weft_csr_transpose_call {
    weft_context *ctx;
    weft_csr_transpose_problem problem;
    weft_csr A; // values NULL: not read
    const weft_csr *T;
    const weft_tensor *source; // NULL: not wanted
    bool has_values;
    bool is_forced; // to a tiling
    weft_csr_transpose_tiling forced;
    weft_outputs outputs; // all that is written
} weft_csr_transpose_call;

// All checks that need no plan. `params` is not NULL.
weft_status weft_csr_transpose_check(weft_csr_transpose_call *out, weft_context *ctx,
                                     const weft_csr *A, const weft_csr *T,
                                     const weft_csr_transpose_params *params);

// The caller's scratch memory: large enough, and apart from all operands.
weft_status weft_csr_transpose_workspace_check(const weft_csr_transpose_call *call,
                                               cl_mem workspace, size_t bytes);

#endif
