// SPDX-License-Identifier: Apache-2.0
// The reference of SDDMM: a plain loop in double, and a bound on the error for each entry.
//
// With u, gamma, t, h and s as in reference.h, entry e in row i and column j has k terms; with
// sparse factors only columns that both store have products, one for each repeated entry:
//
//   d = alpha sum_l a_l b_l c + beta d0     S = sum_l |a_l b_l|     M = |alpha c| S
//                                                                   D = |beta d0|
//
// where c is 1 if the pattern is an indicator. A term meets one rounding as a product (none in an
// FMA) and at most k - 1 as the sum grows, or as repeated entries are summed before; then those
// of alpha to the type of the sums, of the products with it and with c, and of adding beta d0:
// k + 4 in all. beta d0 meets three. Flushed to zero may be 2 k numbers within the sum, each an
// error of t |alpha c| in the end; alpha, t S |c|; the product with it, t |c|; beta, t |d0|; and
// three numbers after that. So
//
//   computed   E = gamma(k + 4) M + gamma(3) D + t (2 k |alpha c| + (S + 1) |c| + |d0| + 3)
//   stored     E + h (|d| + E) + s, as there
//
// with the gammas of the reference itself added. Where A has no columns, or alpha = 0, there are no
// roundings of terms, and with beta = 0 too the entry must be zero: bound 0. Where S, |alpha| S,
// M + D, alpha or beta reaches the largest number of the type of the sums, the bound is infinite.
// Infinities and NaN count as there; the same cases are not covered.
#ifndef WEFT_TOOLS_REFERENCE_SDDMM_H
#define WEFT_TOOLS_REFERENCE_SDDMM_H

#include "reference.h"

// All host arrays have elements of C->dtype except D's.
typedef struct reference_sddmm {
    const weft_csr_host *C; // sound
    bool indicator;         // C's values, which may be NULL, do not matter
    int64_t k;
    double alpha, beta;
    const void *A; // m x k, row-major
    const void *B; // element (l, j) at l * b_row + j * b_column
    int64_t b_row, b_column;
    const weft_csr_host *sparse_A; // instead of A: m x k; NULL: none
    const weft_csr_host *sparse_B; // instead of B: B^T, n x k
    const void *D0;                // nnz: D before; may be NULL where beta is 0
    weft_dtype d_dtype;            // of D0 and D; WEFT_DEFAULT: C's
} reference_sddmm;

// nnz doubles each: *reference and *bound are malloc'd and belong to the caller.
bool reference_sddmm_run(const reference_sddmm *problem, double **reference, double **bound,
                         complaint *why);

// Runs the reference and compares D (nnz) with it; `out` has row and column.
bool reference_sddmm_compare(const reference_sddmm *problem, const void *D, reference_result *out,
                             complaint *why);

#endif
