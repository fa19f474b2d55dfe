// SPDX-License-Identifier: Apache-2.0
// A fully connected layer with sparse weights, and its training. Samples are columns:
//
//     Y = f(W X + b)                  X [n_in x n], W sparse [n_out x n_in], b [n_out], f relu or
//                                     nothing: weft_sparse_linear()
//     dZ = f'(W X + b) .* dY          and relu' is 1 where Y > 0
//     dW = dZ X^T where W has entries weft_sparse_linear_dw()
//     db = the sums of dZ's rows
//     dX = W^T dZ                     weft_sparse_linear_dx() with a plan for the transpose
//     v = momentum v + dw, w -= rate v    for each weight, and for b likewise
//
// Calls enqueue on the context's queue and return, unless a comment says that they wait. All return
// false after a message on standard error.
#ifndef WEFT_EXAMPLES_SPARSE_LAYER_H
#define WEFT_EXAMPLES_SPARSE_LAYER_H

#include "common.h"

typedef struct sparse_layer {
    weft_context *ctx;
    bool relu;
    weft_csr_host pattern; // W as created
    weft_csr W;
    weft_spmm_plan *plan, *transposed; // for W and for W^T
    weft_tensor w, dw, vw;             // W's values [nnz], with gradients and velocities
    weft_tensor b, db, vb;             // [n_out]
} sparse_layer;

// f32 or f64 weights with i32 offsets and indices, as weft_csr_host_from_*() make them; b begins
// with `bias` everywhere, all velocities with 0. The layer takes ownership of the weights' arrays
// and zeroes *weights, also on failure; the layer must be freed either way. Waits.
bool sparse_layer_create(sparse_layer *out, weft_context *ctx, weft_csr_host *weights, double bias,
                         bool relu);

// NULL is not fine; a layer that is all zeros is.
void sparse_layer_free(sparse_layer *layer);

bool sparse_layer_forward(const sparse_layer *layer, const weft_tensor *X, const weft_tensor *Y);

// From X, Y and the gradient dY by Y, which becomes dZ: dw, db, and dX unless that is NULL.
bool sparse_layer_backward(const sparse_layer *layer, const weft_tensor *X, const weft_tensor *Y,
                           const weft_tensor *dY, const weft_tensor *dX);

bool sparse_layer_update(const sparse_layer *layer, double rate, double momentum);

// Keeps the largest weights, so that `sparsity` of the whole matrix has no entry: at least one, and
// all that equal the smallest kept one. Velocities of weights begin with 0 again. Waits.
bool sparse_layer_prune(sparse_layer *layer, double sparsity);

#endif
