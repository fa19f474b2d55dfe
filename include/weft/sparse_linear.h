// SPDX-License-Identifier: Apache-2.0
// A linear layer with sparse weights: forward, and its gradients.
//
// The three are SpMM and SDDMM under the names of a layer. Activations are columns: X is [n_in x
// n], n the batch. Activations by rows, [n x n_in], as most frameworks store them, are the
// transposed view of the same memory: {.shape = {n_in, n}, .stride = {1, n_in}}.
//
//     weft_sparse_linear(ctx, queue, &W, &X, &Y,
//                        WEFT_SPARSE_LINEAR(.plan = plan, .bias = &b,
//                                           .activation = WEFT_ACTIVATION_RELU));
//     weft_elementwise(ctx, queue, WEFT_INPUTS({"dy", &dY}, {"y", &Y}),
//                      WEFT_OUTPUTS({"relu_backward(dy, y)", &dZ}), NULL);
//     weft_sparse_linear_dw(ctx, queue, &dZ, &X, &W, &dW, NULL);
//     weft_reduce(ctx, queue, WEFT_SUM, &dZ, 1, (const int[]){1}, &db, NULL);
//     weft_sparse_linear_dx(ctx, queue, &W, &dZ, &dX, WEFT_SPARSE_LINEAR(.plan = transposed));
//
// Where activations or gradients are sparse themselves (CSR), weft_spgemm() multiplies W by X, and
// W^T, of weft_csr_transpose(), by dY, or weft_spgemm_dense() where the product is to be dense;
// weft_sddmm_sparse() takes one or both for dW, which it computes at W's entries only.
#ifndef WEFT_SPARSE_LINEAR_H
#define WEFT_SPARSE_LINEAR_H

#include <weft/sddmm.h>
#include <weft/spmm.h>

WEFT_BEGIN

typedef struct weft_sparse_linear_params {
    size_t size; // sizeof(weft_sparse_linear_params): WEFT_SPARSE_LINEAR() fills it in
    const weft_spmm_plan *plan; // of W, or for dX of W^T, which dX requires; NULL: none
    const weft_tensor *bias;    // forward: [n_out], W's data type, any stride; NULL: none
    weft_activation activation; // forward: of each element; none by default
    double beta;                // gradients: dX = W^T dY + beta dX, and dW likewise
    cl_mem workspace;           // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;             // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_sparse_linear_params;

#define WEFT_SPARSE_LINEAR(...) WEFT_PARAMS(weft_sparse_linear_params, __VA_ARGS__)

// Y = f(W X + bias), bias added to each column, f the activation.
//
//   W  sparse CSR [n_out x n_in]   f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16
//                                  indices
//   X  dense [n_in x n]            W's data type, any strides; fastest with stride 1 along n
//   Y  dense [n_out x n]           as X, or f32 where W and X are f16 or bf16; no two elements at
//                                  one place, no byte shared with the rest
//
// One kernel writes Y: sums get bias and activation in registers. Sums are f32 (f64 for f64). X and
// Y may be vectors, [n_in] and [n_out], of one sample. With a batch axis in front of them each
// matrix is multiplied by W, or by values of its own where W->values_batch_stride is not 0. A row
// of W without entries gives f(bias).
//
// Blocking, scratch memory (as much as weft_spmm_workspace() says), ownership, order of sums, trust
// in W's pattern, failures and threads are as with weft_spmm(), which this is. beta is not for this
// call: WEFT_BAD_ARGUMENT where it is not 0.
WEFT_API weft_status weft_sparse_linear(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *W, const weft_tensor *X,
                                        const weft_tensor *Y,
                                        const weft_sparse_linear_params *params);

// dX = W^T dY + beta dX, the gradient by X, from dY, the gradient by W X + bias: where the layer
// has an activation, its backward comes first. weft_elementwise() has one for each:
// relu_backward(dy, y) takes Y or W X + bias, the others (gelu_backward(dy, z) and so on) require
// z = W X + bias, which a forward without activation gives.
//
//   dY  dense [n_out x n]   dX  dense [n_in x n]   as X and Y above: dX may be f32, both vectors
//
// params->plan was made with WEFT_SPMM_PLAN(.transpose_a = true), and stays good when W's values
// change. beta == 0 never reads dX. bias and activation are not for this call: WEFT_BAD_ARGUMENT.
// Else as above.
WEFT_API weft_status weft_sparse_linear_dx(weft_context *ctx, cl_command_queue queue,
                                           const weft_csr *W, const weft_tensor *dY,
                                           const weft_tensor *dX,
                                           const weft_sparse_linear_params *params);

// dW = (dY X^T) at the entries of W + beta dW, the gradient by W's values.
//
//   dY, X  as above
//   W      its pattern: values are not read, and may be NULL
//   dW     values for W's entries, [nnz] in W's order, stride 1; W's data type, or f32 where that
//          is f16 or bf16; for a batch [batch x nnz]; no byte shared with dY, X or W's pattern
//
// weft_reduce() adds up a batch's gradients; or batch and n are one axis, where strides allow such
// a view. beta == 0 never reads dW. The plan is ignored; bias and activation are not for this call:
// WEFT_BAD_ARGUMENT. The gradient by bias is weft_reduce() of dY, WEFT_SUM along n. Else as
// weft_sddmm(), with its scratch memory.
WEFT_API weft_status weft_sparse_linear_dw(weft_context *ctx, cl_command_queue queue,
                                           const weft_tensor *dY, const weft_tensor *X,
                                           const weft_csr *W, const weft_tensor *dW,
                                           const weft_sparse_linear_params *params);

WEFT_END

#endif
