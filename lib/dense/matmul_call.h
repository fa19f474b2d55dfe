// SPDX-License-Identifier: Apache-2.0
// A call of weft_matmul(), and its state.
#ifndef WEFT_LIB_MATMUL_CALL_H
#define WEFT_LIB_MATMUL_CALL_H

#include <weft/matmul.h>

#include "dense/matmul_tiling.h"
#include "formula/expression.h"
#include "op/op.h"
#include "operand/nest.h"

enum { WEFT_MATMUL_OPERANDS = 3 + WEFT_MATMUL_INPUTS };

// Operands in the order of the table, and of the nest of the loops over the batch, whose starts are
// each operand's first matrix.
enum { WEFT_MATMUL_C, WEFT_MATMUL_A, WEFT_MATMUL_B, WEFT_MATMUL_INPUT };

// Arguments of a call besides its operands.
typedef struct weft_matmul_numbers {
    double alpha, beta;
    weft_matmul_params params;
} weft_matmul_numbers;

// A batch of matrices as kernels take it.
typedef struct weft_matmul_view {
    weft_dtype dtype;
    int64_t row, column; // strides
} weft_matmul_view;

typedef struct weft_matmul_state {
    weft_state head;
    int n_operands;
    weft_matmul_view views[WEFT_MATMUL_OPERANDS];
    weft_nest nest;
    weft_dtype arithmetic;       // f32, f64 or i32
    weft_matmul_problem problem; // k is 0 where alpha is: A and B are not read
    weft_matmul_tiling tiling;   // from the check where the caller forces it, else from the plan
    int64_t m, n;                // of the product that is computed, transposed or not
    int64_t n_chunks;            // of k
    int64_t n_batches;           // products in the loops of a kernel
    int64_t at_once;             // of these, in one launch
    int64_t rows;                // of m, in one launch
    bool streams;                // C is written past the caches
    weft_kernel *product, *combine;
} weft_matmul_state;

// Checks params alone: counts and names.
weft_status weft_matmul_params_check(const weft_matmul_params *params);

// Hooks of the operation.
weft_status weft_matmul_check(void *state, const weft_call *call);
weft_status weft_matmul_numbers_check(const void *state, const weft_call *call);

// The formula of a call with an epilogue.
weft_status weft_matmul_formula(weft_expression *out, const weft_matmul_params *params);

#endif
