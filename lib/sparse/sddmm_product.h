// SPDX-License-Identifier: Apache-2.0
// A call of weft_sddmm() once it has been checked.
#ifndef WEFT_LIB_SDDMM_PRODUCT_H
#define WEFT_LIB_SDDMM_PRODUCT_H

#include <weft/sddmm.h>

#include "operand/view.h"
#include "runtime/launch.h"
#include "sparse/sddmm_plan.h"

typedef struct weft_sddmm_product {
    weft_context *ctx;
    const weft_csr *C;
    const weft_tensor *A_view, *B_view, *D_view;
    bool indicator;
    bool is_forced; // to a tiling
    weft_sddmm_tiling forced;
    weft_sddmm_problem problem;
    weft_dense A, B;
    int64_t d_batch; // elements from D of one matrix to that of the next
} weft_sddmm_product;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_sddmm_check(weft_sddmm_product *out, weft_context *ctx, const weft_tensor *A,
                             const weft_tensor *B, const weft_csr *C, const weft_tensor *D,
                             const weft_sddmm_params *params);

// The same of operands that are known to be good, but for where their memory begins.
weft_status weft_sddmm_product_of(weft_sddmm_product *out, weft_context *ctx, const weft_tensor *A,
                                  const weft_tensor *B, const weft_csr *C, const weft_tensor *D,
                                  const weft_sddmm_params *params);

// Bytes of scratch memory that it wants. Looks at no buffer; compiles what it will run.
weft_status weft_sddmm_wants(size_t *bytes, const weft_sddmm_product *p);

// Its kernels, behind what the launch has enqueued. What stands in C has been checked.
weft_status weft_sddmm_run(weft_launch *launch, const weft_sddmm_product *p, double alpha,
                           double beta, cl_mem workspace);

// No entries of C, or no batch: nothing to do.
bool weft_sddmm_is_empty(const weft_sddmm_product *p);

// The caller's workspace: large enough, writable, and apart from every operand.
weft_status weft_sddmm_workspace_check(const weft_sddmm_product *p, cl_mem workspace, size_t bytes);

#endif
