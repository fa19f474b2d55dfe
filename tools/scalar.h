// SPDX-License-Identifier: Apache-2.0
// Single elements of host arrays of any data type, seen as doubles.
#ifndef WEFT_TOOLS_SCALAR_H
#define WEFT_TOOLS_SCALAR_H

#include <weft/dtype.h>

// f16, bf16, f32 or f64.
bool scalar_is_float(weft_dtype dtype);

// Element i of the array. An i64 beyond 2^53 is rounded.
double scalar_get(weft_dtype dtype, const void *data, int64_t i);

// Element i of an array of i16, i32, i64, u8 or i8.
int64_t scalar_whole(weft_dtype dtype, const void *data, int64_t i);

// Rounds once, to nearest even; overflow gives infinity. Floating-point types only.
void scalar_put(weft_dtype dtype, void *data, int64_t i, double value);

// The number after a conversion to the type and back. Floating-point types only.
double scalar_stored(weft_dtype dtype, double value);

// A real number as i32, i64 or u8: towards zero, ending at the type's limits; NaN as 0.
int64_t scalar_saturated(weft_dtype dtype, long double value);

// A double that rounds to f16 and bf16 as the integer does.
double scalar_shortened(int64_t value);

#endif
