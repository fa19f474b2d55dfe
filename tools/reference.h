// SPDX-License-Identifier: Apache-2.0
// The reference of SpMM: a plain loop in double, and a bound on the error for each element.
//
// Data are first rounded to storage, so that both sides start from the same numbers. Let u be the
// unit roundoff of the sums (2^-24 for f32, 2^-53 for f64), gamma(k) = (1 + u)^k - 1, and element
// (i, j) have L terms, the entries of row i of op(A):
//
//   c = alpha sum_e a_e b_e + beta c0         M = |alpha| sum_e |a_e b_e|       D = |beta c0|
//
// A term meets one rounding as a product (none in an FMA) and at most L - 1 as the sum grows, in
// whatever order and however many partial sums; then those of alpha to the type of the sums, of the
// product with it, and of adding beta c0: L + 3 in all. beta c0 meets three. Each result or scalar
// that is too small may be flushed to zero, an error of at most t, the smallest normal number
// (2^-126, 2^-1022): 2 L within the sum, the scalars, and 3 behind it. The reference, being double,
// errs the same way with u = 2^-53. So
//
//   computed   E = gamma(L + 3) M + gamma(3) D + t (2 L |alpha| + sum_e |a_e b_e| + |c0| + 3)
//   stored     E + h (|c| + E) + s         only for f16: h = 2^-11, s = 2^-24; bf16: 2^-8, 2^-133
//
// h being half a unit in the last place and s the smallest subnormal of storage. An element
// without terms (L = 0 or alpha = 0, and beta = 0) must be zero: bound 0.
//
// A mean divides the sum by L: M is |alpha| / L times the sum, and to its roundings come that of L
// and of the division, which OpenCL C lets miss by 2.5 units in the last place, 5 u. It may flush
// once more: L + 9 roundings, and t |alpha| more. Of max and min, rounding and flushing, being
// monotonic, make the product of the largest the largest of the rounded products: one term, L = 1.
//
// A bias that is added to the row makes D = |beta c0| + |bias|, with one rounding more for
// everything and one more number that may be flushed. The effect of an activation on that error,
// before it is stored, is in reference_activation.h. An element without terms is then exactly the
// bias before the activation.
//
// If M + D, sum_e |a_e b_e|, alpha or beta reaches the largest number of the type of the sums, an
// intermediate result may overflow, and the bound is infinite: any result is right. Infinities and
// NaN among the data count neither in sums of absolute values nor in D: their effect on a result is
// exact, unless alpha or beta may be flushed. Not covered: devices that flush
// subnormal inputs, and alpha or beta that are not finite.
#ifndef WEFT_TOOLS_REFERENCE_H
#define WEFT_TOOLS_REFERENCE_H

#include <weft/spmm.h>

#include "complaint.h"

// All host arrays without gaps, row-major, elements of A->dtype but for C's.
typedef struct reference_spmm {
    const weft_csr_host *A; // sound
    bool transpose_a;
    int64_t n;
    weft_spmm_reduction reduction;
    double alpha, beta;
    const void *B;    // k x n
    const void *C0;   // m x n: C before the product; may be NULL where beta is 0
    const void *bias; // m; NULL: none
    weft_activation activation;
    weft_dtype c_dtype; // of C0 and C; WEFT_DEFAULT: A's
} reference_spmm;

typedef struct reference_result {
    double error; // the largest |C - reference| / bound; infinite if kinds differ (NaN, infinity),
                  // or for a difference with bound 0
    int64_t row, col; // where
    double got, want; // there
} reference_result;

// m x n doubles each, for use one by one: *reference and *bound are malloc'd and belong to the
// caller.
bool reference_spmm_run(const reference_spmm *problem, double **reference, double **bound,
                        complaint *why);

// Of max and min: the entry of A that gave each element of R, the first of equal products and of
// NaN; -1 if none did. m x n, malloc'd, the caller's; NULL without memory. Products are rounded to
// the type of sums first.
int64_t *reference_spmm_arguments(const reference_spmm *problem, complaint *why);

// Distance of element `got` of `dtype` from the reference, in bounds: 0 if that is infinite.
double reference_error(weft_dtype dtype, double got, double want, double bound);

// Runs the reference and compares C (m x n) with it.
bool reference_spmm_compare(const reference_spmm *problem, const void *C, reference_result *out,
                            complaint *why);

#endif
