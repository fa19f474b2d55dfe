// SPDX-License-Identifier: Apache-2.0
// A call of weft_sparse_linear() or of one of its gradients.
#ifndef WEFT_LIB_SPARSE_LINEAR_CALL_H
#define WEFT_LIB_SPARSE_LINEAR_CALL_H

#include <weft/sparse_linear.h>

// Which one, and what it calls its operands.
typedef struct weft_linear_kind {
    const char *name;               // "sparse_linear_dx"
    const char *in_name, *out_name; // of what is [n_in x n] and [n_out x n]: "dX" and "dY"
    enum { WEFT_LINEAR_FORWARD, WEFT_LINEAR_DX, WEFT_LINEAR_DW } which;
} weft_linear_kind;

typedef struct weft_linear_call {
    const weft_linear_kind *kind;
    weft_context *ctx;
    const weft_csr *W;
    const weft_tensor *in, *out; // [n_in x n] and [n_out x n]
    const weft_tensor *dW;       // of WEFT_LINEAR_DW
    const weft_sparse_linear_params *params;
} weft_linear_call;

// What can be wrong with the operands, before anything is done about them. What a plan and a
// workspace must be, SpMM and SDDMM say.
weft_status weft_linear_check(const weft_linear_call *call);

#endif
