// SPDX-License-Identifier: Apache-2.0
// Properties of data types for plans and checks.
#ifndef WEFT_LIB_DTYPE_H
#define WEFT_LIB_DTYPE_H

#include <weft/dtype.h>

// The type, or `fallback` for WEFT_DEFAULT.
weft_dtype weft_dtype_or(weft_dtype dtype, weft_dtype fallback);

// f32, f64, f16 or bf16.
bool weft_is_floating(weft_dtype dtype);

// Whether results have the type of sums and operands do not: f32 of f16 or bf16.
bool weft_widens(weft_dtype operands, weft_dtype results);

// Bytes of a sum of such elements, in the type that kernels compute in: 8 for f64, else 4.
int64_t weft_sum_bytes(weft_dtype dtype);

#endif
