// SPDX-License-Identifier: Apache-2.0
// What tests of matrix products share: operands made from a few words, the call, and the comparison
// with a plain loop.
//
// What stands between the elements of A, B and inputs is NaN, or -1, and nothing stands behind the
// last one. C holds NaN where beta is 0. Whatever a product must not write is compared with what
// was there before.
#ifndef WEFT_TESTS_MATMUL_CASE_H
#define WEFT_TESTS_MATMUL_CASE_H

#include <weft/matmul.h>

#include "dense/matmul_tiling.h"
#include "strided.h"
#include "wide.h"

enum { MATMUL_BATCH_NDIM = 6, MATMUL_VALUES = 2 };

// A text that devices see, and what it means. Inputs are called x0, x1, ..., values v0, v1, ...
typedef struct matmul_formula {
    const char *text;
    int n_inputs, n_values;
    // *slope: how many times c's error its own is at most. *size: the sum of its terms.
    wide (*real)(wide c, const wide *x, const wide *v, wide *slope, wide *size);
    // Its lower 32 bits count. NULL: of real numbers alone, and whole ones do not stay whole.
    int64_t (*whole)(int64_t c, const int64_t *x, const int64_t *v);
    double ulps; // of *size that arithmetic with real numbers may be off
} matmul_formula;

typedef enum matmul_numbers {
    WHOLE,     // small whole numbers: sums are exact, and results must be
    FRACTIONS, // in [-1, 1): the error must keep to its bound
    WILD_A,    // WHOLE; one element of every other row of A is infinite or NaN
    WILD_B,    // WHOLE; one element of every other column of B is
    WILD_C,    // WHOLE; every third element of C is, and is read unless beta is 0
    N_NUMBERS,
    POISON = N_NUMBERS, // A and B are NaN, for alpha 0
} matmul_numbers;

typedef struct matmul_operand {
    weft_dtype dtype; // of an input
    strided_layout layout;
    int64_t gap;   // elements behind each row, rows behind each matrix, and so on
    unsigned ones; // bit d: extent 1 where C has its dimension d
    int missing;   // of C's leading dimensions
} matmul_operand;

typedef struct matmul_case {
    uint64_t seed;
    int64_t m, n, k;
    int n_batch; // dimensions before those of the matrices
    int64_t batch[MATMUL_BATCH_NDIM];
    weft_dtype dtype;   // of A and B
    weft_dtype c_dtype; // WEFT_DEFAULT: A's, and i32 where that is i8
    matmul_operand a, b, c;
    matmul_numbers numbers;
    double alpha, beta;
    const matmul_formula *formula; // NULL: none
    matmul_operand inputs[WEFT_MATMUL_INPUTS];
    double values[MATMUL_VALUES];
    bool over;                        // the first input is C itself
    const weft_matmul_tiling *tiling; // NULL: the library chooses
} matmul_case;

typedef struct matmul_operands {
    matmul_case of;
    weft_context *ctx;
    cl_command_queue queue;
    strided a, b, c;
    strided x[WEFT_MATMUL_INPUTS]; // the first is not there where it is C
    cl_mem workspace;              // of exactly the size needed; NULL: the pool's
    weft_elementwise_input inputs[WEFT_MATMUL_INPUTS];
    weft_elementwise_value values[MATMUL_VALUES];
} matmul_operands;

// Lays the factor out whose neighbours the case's tiling wants side by side: B, or A if transposed.
void matmul_suit(matmul_case *of);

// Whether the device has the types.
bool matmul_is_possible(const weft_context *ctx, const matmul_case *of);

void matmul_create(matmul_operands *o, weft_context *ctx, cl_command_queue queue,
                   const matmul_case *of);
void matmul_destroy(matmul_operands *o);

// The params of the case, to change before the call.
weft_matmul_params matmul_params(const matmul_operands *o);

// Puts back into C what stood there at first, or what the test wrote to its memory since.
void matmul_restore(const matmul_operands *o);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void matmul_call(const matmul_operands *o);

// Fails the test where C is not what it should be, or anything around it changed.
void matmul_check(const matmul_operands *o);

// All of it: create, call, check, destroy; nothing where the device cannot do it.
void matmul_run(weft_context *ctx, const matmul_case *of);

// ---- formulas that several tests have

extern const matmul_formula matmul_bias;     // c + x0
extern const matmul_formula matmul_blend;    // max(v0 * c, 0) + x0 * x1 - v1
extern const matmul_formula matmul_tanh;     // tanh(c + x0)
extern const matmul_formula matmul_residual; // x0 - c

#endif
