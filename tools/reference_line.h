// SPDX-License-Identifier: Apache-2.0
// Shared by the references along axes: positions of elements in strided arrays, and the numbers of
// one result, as a plain array.
#ifndef WEFT_TOOLS_REFERENCE_LINE_H
#define WEFT_TOOLS_REFERENCE_LINE_H

#include "precision.h"
#include "reference_axis.h"
#include "wide.h"

// Bit d for axis d, of axes that may count from the end; none at all are all.
unsigned line_axes(int ndim, int n_axes, const int *axes);

// Number of elements along the chosen axes (bits), INT64_MAX if it overflows: arrays without
// elements may be that long.
int64_t line_count(const host_tensor *X, unsigned chosen);

// Offsets of all elements along the chosen axes, in row-major order and without the array's
// own offset; the caller frees them. NULL where memory ran out.
int64_t *line_places(const host_tensor *X, unsigned chosen, int64_t *count);

// An array divided into lines: element i of line l is at X.offset + outer[l] + inner[i].
typedef struct line_cut {
    int64_t n_lines, n;
    int64_t *outer, *inner;
} line_cut;

bool line_cut_create(line_cut *out, const host_tensor *X, unsigned chosen, complaint *why);
void line_cut_destroy(line_cut *cut);

// Line l of X as numbers.
void line_load(wide *x, const host_tensor *X, const line_cut *cut, int64_t l);

// Work space: a line of X, of the other operands, and of the result.
typedef struct line_job {
    precision p;
    int64_t n;
    wide *x, *dy; // backward: x is y
    wide *want, *error;
} line_job;

bool line_job_create(line_job *out, weft_dtype dtype, int64_t n, complaint *why);
void line_job_destroy(line_job *j);

// Room for a result; dtype decides between floats and whole numbers.
bool values_create(reference_values *out, weft_dtype dtype, int64_t count, complaint *why);

// Sets an element and its bound, including the error of storing it.
void values_put(reference_values *out, const precision *stored, int64_t at, wide want, wide error);

// Sums of a line.
typedef struct line_sum {
    wide sum, magnitude; // sum x, and sum |x| of those that are finite
    wide largest;        // largest |x| of those that are finite
} line_sum;

line_sum line_sum_of(const wide *x, int64_t n);

// G: the error of a sum, relative to the sum of magnitudes.
wide line_sum_growth(const precision *p, int64_t n);

// Error of a sum of squares if some are flushed to 0: if all are small they are scaled.
wide line_flushed_squares(const precision *p, int64_t n, wide squares);

// M = sum (x - mean)^2 and its bound, for elements that were rounded by up to `rounding` first.
// Infinite where partial results may overflow. The mean is mean + rest: of doubles far from 0 one
// number is not precise enough.
typedef struct line_spread {
    wide mean, rest, mean_error;
    wide m2, m2_error;
} line_spread;

line_spread line_spread_of(const precision *p, const wide *x, int64_t n, wide rounding);

// The larger distance of sqrt(q - error) and sqrt(q + error) from sqrt(q), q from 0.
wide line_sqrt_error(wide q, wide error);

#endif
