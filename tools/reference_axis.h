// SPDX-License-Identifier: Apache-2.0
// The references of reductions, softmax and normalisation: plain loops in the widest type of C, and
// a bound on the error of each element.
//
// Both sides start from the same stored numbers. Let u be the unit roundoff of the device's
// arithmetic (2^-24 for f32, 2^-53 for f64), t its smallest normal number, gamma(k) =
// (1 + u)^k - 1, n the elements of one result.
//
//   sum     Each term meets at most 16 roundings: in the pairwise sum of a short run, as the sums
//           of a few runs and those of a vector's lanes are added, and in the end; all others are
//           compensated, up to n u^2. Partial sums may be flushed.
//               E(sum) = G sum|x| + n t,   G = gamma(16) + n u^2
//   mean    E(sum) / n, and 3 roundings
//   norm1   as sum; norm2: squares have E(q) = (G + u) q + n min(t, u q), since small ones are
//           scaled; the root is in sqrt(q - E) .. sqrt(q + E), and sqrt() itself errs
//           by 3 ulp: 8 u
//   prod    gamma(n + 1) |p|. No partial product is outside a .. b, the products of all factors
//           below 1 and above 1: where a < t one may be flushed, n t b more; where b overflows
//           there is no bound
//   var     A mean is the sum of two numbers, and only distances from it are rounded. With R, the
//           largest |x - mean|, means of runs err by at most d = (G + 6 u log2 n) R, and so do the
//           means that they are combined with. Shifting every element by d or less moves
//           M = sum (x - mean)^2 by 2 d sqrt(n M) + n d^2 (Cauchy and Schwarz), and M itself is
//           a sum of positive terms, in runs of 8, of distances from one of the 8, whose squares
//           are 8 times those from the mean at most:
//               E(M) = (8 G + 6 u (log2 n + 1)) M + 2 d sqrt(n M) + n d^2 + n min(t, u M)
//           var is M / (n - c) and 3 roundings; std has the roots of both ends, and 8 u. One
//           element has M = 0 exactly.
//   logsumexp, softmax   With D = |scale| (largest x - x) a term e = exp(-D) errs by
//           (2 D + 16) 2 u relative: the difference, exp() to a few ulp, 10 roundings of the sum,
//           and taking it again each time that the largest element has grown by 4 or more. So with
//           s = sum e and q = E(s) / s:
//               log s       2 q + 4 u |log s|
//               softmax     y ((2 D + 16) 2 u + 2 q) + t
//               log         2 u (2 D + 2 |log s| + 8) + 2 q + t
//           A scale that is no 1 rounds scale x first: u |scale x| more for each e, and for y.
//   backward   its sum as a sum with two roundings more; then 4 roundings
//   layer norm, RMS norm    the interval of mean and var (or of mean x^2, a sum of squares) through
//           the formula; 8 roundings of each term, w and b included
//   their backward   With S = sum |g|, R and d as above: sum g errs as a sum; of the sum of
//           g (x - mean) each distance is off by d at most, terms of runs have distances from one
//           of the 8, 2 R at most, and where means are combined that are 2 R apart at most a few
//           roundings of that times g are lost, log n times S at most in all:
//               E(sum g (x - mean)) = (3 G + 12 u (log2 n + 1)) R S + d S
//           (of RMS a sum). These and the intervals of mean and 1 / sqrt(...) go through the
//           formula, 4 roundings of each term. dW and db err as sums of dY xh and dY over rows, and
//           dW by what each xh errs by times |dY|.
//
// Whole numbers that f32 cannot hold are rounded first (i32, i64 for means and norms): u |x| more
// for each. Where a result is stored in f16 or bf16, E becomes E + h (|y| + E) + s, as in
// reference.h. min, max, norm_inf of floats, positions and truth values have no error at all, nor
// have integer results.
//
// If partial results may overflow, or the error may turn an operand into another kind (0 / 0 if 0
// was rounded), the bound is infinite: any result is right. Elsewhere NaN must be NaN and an
// infinity the same one. Not covered: devices that flush subnormal inputs.
#ifndef WEFT_TOOLS_REFERENCE_AXIS_H
#define WEFT_TOOLS_REFERENCE_AXIS_H

#include <weft/reduce.h>

#include "complaint.h"

// A strided view of host memory, like weft_tensor of a buffer: element (i0, i1, ...) is
// data[offset + i0 stride[0] + ...].
typedef struct host_tensor {
    const void *data;
    weft_dtype dtype; // WEFT_DEFAULT is f32
    int64_t offset;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_MAX_NDIM];
} host_tensor;

// Without gaps, row-major.
host_tensor host_tensor_dense(weft_dtype dtype, const void *data, int ndim, const int64_t *shape);

// The shape of a reduction's result; returns its number of dimensions. The axes must be valid.
int reference_reduced_shape(int ndim, const int64_t *shape, int n_axes, const int *axes,
                            bool keepdims, int64_t *out);

// Y's elements in row-major order: floats in `want`, integers in `whole`.
typedef struct reference_values {
    weft_dtype dtype; // Y's
    int64_t count;
    double *want;
    int64_t *whole; // NULL for floats
    double *bound;  // 0: exact, as integers are, except those converted from reals
} reference_values;

// Each makes the values, which belong to the caller; false if memory ran out. The operands must be
// valid and of fitting types.

typedef struct reference_reduction {
    weft_reduction op;
    host_tensor X;
    int n_axes; // 0: all axes
    const int *axes;
    weft_dtype y_dtype;
    int64_t correction;
} reference_reduction;

// Must not be called for an op that has no result for n = 0.
bool reference_reduce(reference_values *out, const reference_reduction *problem, complaint *why);

typedef struct reference_softmax {
    host_tensor X; // backward: Y
    host_tensor dY;
    int axis;
    double scale;
    bool is_log, is_backward, masked;
} reference_softmax;

bool reference_softmax_run(reference_values *out, const reference_softmax *problem, complaint *why);

typedef struct reference_norm {
    host_tensor X;
    int n_axes;
    double epsilon;
    bool is_rms;
    const host_tensor *weight, *bias; // of X's last n_axes axes; NULL: 1, 0
} reference_norm;

bool reference_norm_run(reference_values *out, const reference_norm *problem, complaint *why);

typedef struct reference_norm_backward {
    host_tensor X, dY;
    int n_axes;
    double epsilon;
    bool is_rms;
    const host_tensor *weight; // NULL: 1
} reference_norm_backward;

typedef struct reference_norm_gradients {
    reference_values dX, dW, db;
} reference_norm_gradients;

// If an operand is NaN, or g is beyond the limits of the header, there is no bound.
bool reference_norm_backward_run(reference_norm_gradients *out,
                                 const reference_norm_backward *problem, complaint *why);
void reference_norm_gradients_free(reference_norm_gradients *gradients);

// Frees the arrays and zeroes the struct; zeroes are fine.
void reference_values_free(reference_values *values);

typedef struct reference_worst {
    double error;            // the largest |y - want| / bound, infinite if kinds differ, or for
                             // a difference with bound 0
    int64_t at;              // which element, in row-major order
    double got, want;        // there
    int64_t n_beyond, first; // elements beyond their bounds, and the first of them; or -1
    double first_got, first_want; // there
} reference_worst;

// Compares Y, of the values' type and shape, with them.
bool reference_values_compare(const reference_values *values, const host_tensor *Y,
                              reference_worst *out, complaint *why);

#endif
