// SPDX-License-Identifier: Apache-2.0
// A linear layer with sparse weights: what it is of SpMM and SDDMM, once it has been checked.
#include <stddef.h>

#include "operand/csr_content.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/sparse_linear_call.h"

static const weft_linear_kind forward = {"sparse_linear", "X", "Y", WEFT_LINEAR_FORWARD};
static const weft_linear_kind by_input = {"sparse_linear_dx", "dX", "dY", WEFT_LINEAR_DX};
static const weft_linear_kind by_weights = {"sparse_linear_dw", "X", "dY", WEFT_LINEAR_DW};

// SpMM and SDDMM would call W something else where it lies.
static weft_status check(const weft_linear_call *call, cl_command_queue queue)
{
    weft_launch launch;
    TRY(weft_linear_check(call));
    if (!call->ctx->check_matrices)
        return WEFT_OK;
    TRY(weft_launch_begin(&launch, call->ctx, queue, call->kind->name, call->params->n_wait,
                          call->params->wait, false));
    return weft_csr_content_check(&launch, call->W, "W");
}

weft_status weft_sparse_linear(weft_context *ctx, cl_command_queue queue, const weft_csr *W,
                               const weft_tensor *X, const weft_tensor *Y,
                               const weft_sparse_linear_params *params)
{
    params = params ? params : WEFT_SPARSE_LINEAR(.plan = NULL);
    TRY(check(
        &(weft_linear_call){
            .kind = &forward, .ctx = ctx, .W = W, .in = X, .out = Y, .params = params},
        queue));
    return weft_spmm(ctx, queue, 1, W, X, 0, Y,
                     WEFT_SPMM(.plan = params->plan, .workspace = params->workspace,
                               .n_wait = params->n_wait, .wait = params->wait,
                               .event = params->event, .bias = params->bias,
                               .activation = params->activation));
}

weft_status weft_sparse_linear_dx(weft_context *ctx, cl_command_queue queue, const weft_csr *W,
                                  const weft_tensor *dY, const weft_tensor *dX,
                                  const weft_sparse_linear_params *params)
{
    params = params ? params : WEFT_SPARSE_LINEAR(.plan = NULL);
    TRY(check(
        &(weft_linear_call){
            .kind = &by_input, .ctx = ctx, .W = W, .in = dX, .out = dY, .params = params},
        queue));
    return weft_spmm(ctx, queue, 1, W, dY, params->beta, dX,
                     WEFT_SPMM(.plan = params->plan, .transpose_a = true,
                               .workspace = params->workspace, .n_wait = params->n_wait,
                               .wait = params->wait, .event = params->event));
}

weft_status weft_sparse_linear_dw(weft_context *ctx, cl_command_queue queue, const weft_tensor *dY,
                                  const weft_tensor *X, const weft_csr *W, const weft_tensor *dW,
                                  const weft_sparse_linear_params *params)
{
    params = params ? params : WEFT_SPARSE_LINEAR(.plan = NULL);
    TRY(check(&(weft_linear_call){.kind = &by_weights,
                                  .ctx = ctx,
                                  .W = W,
                                  .in = X,
                                  .out = dY,
                                  .dW = dW,
                                  .params = params},
              queue));
    const weft_tensor rows = weft_tensor_as_matrix(dY), columns = weft_tensor_as_matrix(X);
    const weft_tensor Xt = weft_tensor_transposed(&columns);
    return weft_sddmm(ctx, queue, 1, &rows, &Xt, W, params->beta, dW,
                      WEFT_SDDMM(.indicator = true, .workspace = params->workspace,
                                 .n_wait = params->n_wait, .wait = params->wait,
                                 .event = params->event));
}
