// SPDX-License-Identifier: Apache-2.0
// Effects of a data type on numbers on a device: the terms of error bounds.
#ifndef WEFT_TOOLS_PRECISION_H
#define WEFT_TOOLS_PRECISION_H

#include <stdbool.h>

#include <weft/dtype.h>

typedef struct precision {
    double unit;     // roundoff of arithmetic: u
    double tiny;     // smallest normal number of arithmetic: t
    double largest;  // largest number of arithmetic
    double half_ulp; // of storage, relative: h; 0 if numbers are stored unrounded
    double smallest; // subnormal of storage: s
    double largest_stored;
} precision;

// Arithmetic in f32 for f16, bf16 and f32, in f64 for f64.
precision precision_of(weft_dtype dtype);

// gamma(n) = (1 + u)^n - 1: n roundings, relative.
double precision_growth(const precision *p, double n_roundings);

// Their difference from the same in double, which errs too: gamma(n) and that of u = 2^-53.
double precision_apart(const precision *p, double n_roundings);

// Whether a scalar is not zero, but may become zero on the device.
bool precision_may_vanish(const precision *p, double scalar);

// The bound of a number after it is stored: of `value`, computed with an error up to `computed`.
// Infinite if that is infinite or NaN; a value that is not finite itself is stored unchanged.
double precision_stored(const precision *p, double value, double computed);

#endif
