// SPDX-License-Identifier: Apache-2.0
// A call of weft_sparse_softmax() or its backward once it has been checked.
#ifndef WEFT_LIB_SPARSE_SOFTMAX_CALL_H
#define WEFT_LIB_SPARSE_SOFTMAX_CALL_H

#include <weft/sparse_softmax.h>

#include "runtime/launch.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_softmax_plan.h"

// The operation: its operands are X and Y, or Y, dY and dX.
typedef struct weft_sparse_softmax_kind {
    const char *name; // "sparse_softmax_backward"
    bool is_backward;
    const char *csr_name, *out_name;
} weft_sparse_softmax_kind;

typedef struct weft_sparse_softmax_call {
    const weft_sparse_softmax_kind *kind;
    weft_context *ctx;
    double scale;
    const weft_csr *csr;
    const weft_tensor *dY; // backward
    const weft_tensor *out;
    bool is_forced; // to a tiling
    weft_sparse_softmax_tiling forced;
    weft_sparse_softmax_problem problem;
    bool is_empty; // nothing to do
} weft_sparse_softmax_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_sparse_softmax_check(weft_sparse_softmax_call *out,
                                      const weft_sparse_softmax_kind *kind, weft_context *ctx,
                                      double scale, const weft_csr *csr, const weft_tensor *dY,
                                      const weft_tensor *output,
                                      const weft_sparse_softmax_params *params);

// The same of operands that are known to be good.
weft_sparse_softmax_call weft_sparse_softmax_call_of(const weft_sparse_softmax_kind *kind,
                                                     weft_context *ctx, double scale,
                                                     const weft_csr *csr, const weft_tensor *dY,
                                                     const weft_tensor *output);

// Bytes of scratch memory that it wants. Looks at no buffer; compiles what it will run.
weft_status weft_sparse_softmax_wants(size_t *bytes, const weft_sparse_softmax_call *call);

// Its kernels, behind what the launch has enqueued. What stands in the matrix has been checked.
weft_status weft_sparse_softmax_run(weft_launch *launch, const weft_sparse_softmax_call *call,
                                    cl_mem workspace);

// The caller's workspace: large enough, writable, and apart from every operand.
weft_status weft_sparse_softmax_workspace_check(const weft_sparse_softmax_call *call,
                                                cl_mem workspace, size_t bytes);

#endif
