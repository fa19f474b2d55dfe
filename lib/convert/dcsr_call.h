// SPDX-License-Identifier: Apache-2.0
// A conversion between CSR and DCSR between its door (dcsr_check.c) and its kernels (dcsr.c).
#ifndef WEFT_LIB_DCSR_CALL_H
#define WEFT_LIB_DCSR_CALL_H

#include <weft/dcsr.h>

#include "operand/outputs.h"

typedef enum weft_dcsr_step {
    WEFT_DCSR_COUNT,
    WEFT_DCSR_FROM_CSR,
    WEFT_DCSR_TO_CSR,
} weft_dcsr_step;

typedef struct weft_dcsr_call {
    weft_context *ctx;
    weft_dcsr_step step;
    const char *name; // "dcsr_count", for messages
    weft_csr A;       // defaults filled in
    weft_dcsr D;      // the same; all zero while rows are counted
    int items;        // 0: not forced
    weft_outputs outputs;
    int64_t *n_stored; // where the count goes
} weft_dcsr_call;

// All checks. `params` is not NULL; D is, while rows are counted.
weft_status weft_dcsr_call_check(weft_dcsr_call *out, weft_dcsr_step step, weft_context *ctx,
                                 const weft_csr *A, const weft_dcsr *D,
                                 const weft_dcsr_params *params);

// The caller's scratch memory: large enough, and apart from all operands.
weft_status weft_dcsr_workspace_check(const weft_dcsr_call *call, cl_mem workspace, size_t bytes);

#endif
