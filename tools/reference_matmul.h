// SPDX-License-Identifier: Apache-2.0
// The reference of dense products: a plain loop in double, and a bound on the error for each
// element.
//
// With u, gamma, t, h and s as in reference.h, an element has k terms (none where alpha is 0):
//
//   c = alpha sum_l a_l b_l + beta c0    S = sum_l |a_l b_l|    M = |alpha| S    D = |beta c0|
//
// A term meets one rounding as a product (none in an FMA) and at most k - 1 as the sum grows, in
// whatever order and however many partial sums; then those of alpha to the type of the sums, of the
// product with it, and of adding beta c0: k + 3 in all. beta c0 meets three. Flushed to zero may be
// 2 k numbers within the sum, the scalars, and three behind it. So
//
//   computed   E = gamma(k + 3) M + gamma(3) D + t (2 k |alpha| + S + |c0| + 3)
//   stored     E + h (|c| + E) + s, as there; h and s are those of C's data type
//
// with the gammas of the reference itself added. u and t are those of A's data type. Without terms
// and with beta = 0 an element must be zero: bound 0.
//
// Terms that are not finite make c infinite or NaN, exactly. Where the finite terms of S, their M
// with D, alpha or beta reach the largest number of the type of the sums, or too small an alpha or
// beta meets one that is not finite, the bound is infinite: any result is right. Not covered:
// devices that flush subnormal inputs.
//
// i8 gives integers, which wrap and are exact (up to k of 2^39).
#ifndef WEFT_TOOLS_REFERENCE_MATMUL_H
#define WEFT_TOOLS_REFERENCE_MATMUL_H

#include "reference_axis.h"

typedef struct reference_matmul {
    double alpha, beta;
    host_tensor A, B; // [... x m x k] and [... x k x n] of one data type; their batches broadcast
                      // to C's
    host_tensor C; // initial contents, shape and data type; elements are read only if beta is not 0
    bool unstored; // before storing, as operands of a formula
} reference_matmul;

// Makes the values of C, which belong to the caller; without a formula. False if memory ran out.
// The operands must be valid and of fitting shapes and types.
bool reference_matmul_run(reference_values *out, const reference_matmul *problem, complaint *why);

#endif
