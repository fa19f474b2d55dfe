// SPDX-License-Identifier: Apache-2.0
// The reference of sparse attention: a plain loop in double, and a bound on the error for each
// element.
//
// With u, gamma, t, h and s as in reference.h, row i has L entries, and entry e, in column j, a
// product p, a distance D from the largest one and a weight w:
//
//   p = scale sum_l q_l k_l     S = sum_l |q_l k_l|     D = max p - p     w = exp(-D)
//   o = N / W                   N = sum_e w v           W = sum_e w
//
// A product meets k + 2 roundings, those of scale and by it included; flushed to zero may be 2 k
// numbers within the sum, then scale and the result:
//
//   P = gamma(k + 2) |scale| S + t (2 k |scale| + S + 1)
//
// The running maximum is subtracted as entries come, and each time that it grows, an exp scales
// earlier weights down: the distances of these add up to D. Each rounds its difference (u x), an
// exp errs by 2 u x + 7 u at most (3 ulp; exp.clh: 2^-23, and the roundings of x log2(e) and of its
// polynomial), and the product by it by u. So, with L of them at most, and as many roundings of the
// sums again, a weight errs, relative to itself, by
//
//   r = expm1(P + max P + u (3 D + 10 L + 20))
//
// max P because errors of products move the maximum; 20 for the last exp, 1 / W (5, by OpenCL),
// products by it, and by V. A number that is flushed is an error of t in N or W, as no factor
// behind it is above 1: at most 4 L of them in each; a flushed weight is one of t |v| in N. So
//
//   E(N) = sum_e r w |v| + t (4 L + sum_e |v|)        E(W) = sum_e r w + 4 L t
//   computed   E = (E(N) + |o| E(W)) / (W - E(W)) + t
//   stored     E + h (|o| + E) + s, as there
//
// with u's share of the reference itself added. With scale 0 there is no product. Where E(W) is not
// below W / 2, or where S, |scale| S or sum |v| reach the largest number of the type of the sums,
// the bound is infinite; so it is where a weight that may be flushed meets an infinite element of
// V. The kind of an infinite or NaN result has no bound: it must be the same. Not covered: the
// cases that are not covered there.
#ifndef WEFT_TOOLS_REFERENCE_ATTENTION_H
#define WEFT_TOOLS_REFERENCE_ATTENTION_H

#include "reference.h"

// All host arrays without gaps, row-major, elements of `dtype`.
typedef struct reference_attention {
    const weft_csr_host *M; // sound; its values, which may be NULL, do not matter
    weft_dtype dtype;
    int64_t k, d;
    double scale;  // 0, or no smaller than the type of the sums has
    const void *Q; // m x k
    const void *K; // n x k
    const void *V; // n x d
} reference_attention;

// m x d doubles each: *reference and *bound are malloc'd and belong to the caller.
bool reference_attention_run(const reference_attention *problem, double **reference, double **bound,
                             complaint *why);

#endif
