// SPDX-License-Identifier: Apache-2.0
// A call of weft_matmul() once it has been checked.
#ifndef WEFT_LIB_MATMUL_CALL_H
#define WEFT_LIB_MATMUL_CALL_H

#include <weft/matmul.h>

#include "dense/matmul_tiling.h"
#include "formula/expression.h"
#include "operand/nest.h"

enum { WEFT_MATMUL_OPERANDS = 3 + WEFT_MATMUL_INPUTS };

// A batch of matrices as kernels take it.
typedef struct weft_matmul_view {
    cl_mem buffer;
    weft_dtype dtype;
    int64_t row, column; // strides
} weft_matmul_view;

// Operands are counted C, A, B, inputs, as in the nest of the loops over the batch, which knows
// where the first matrix of each begins.
typedef struct weft_matmul_call {
    weft_context *ctx;
    const weft_matmul_params *params;
    int n_operands;
    const weft_tensor *tensors[WEFT_MATMUL_OPERANDS];
    weft_matmul_view views[WEFT_MATMUL_OPERANDS];
    weft_nest nest;
    weft_dtype arithmetic; // f32, f64 or i32
    bool has_formula;
    weft_expression formula;
    bool is_forced; // to a tiling
    weft_matmul_tiling forced;
    weft_matmul_problem problem;
} weft_matmul_call;

enum { WEFT_MATMUL_C, WEFT_MATMUL_A, WEFT_MATMUL_B, WEFT_MATMUL_INPUT };

// Everything that can be wrong with a call, before anything is done about it. Where alpha is 0, so
// is problem.k: A and B are not read.
weft_status weft_matmul_check(weft_matmul_call *out, weft_context *ctx, double alpha,
                              const weft_tensor *A, const weft_tensor *B, double beta,
                              const weft_tensor *C, const weft_matmul_params *params);

// C has no elements.
bool weft_matmul_is_empty(const weft_matmul_call *call);

// The caller's workspace: large enough, writable, and apart from every operand.
weft_status weft_matmul_workspace_check(const weft_matmul_call *call, cl_mem workspace,
                                        size_t bytes);

#endif
