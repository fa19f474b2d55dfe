// SPDX-License-Identifier: Apache-2.0
// The data types: sizes, names, and the conversions of f16 and bf16 in plain bit arithmetic.
#include "base/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [WEFT_DEFAULT] = {"default", 0}, [WEFT_F32] = {"f32", 4},   [WEFT_F64] = {"f64", 8},
    [WEFT_F16] = {"f16", 2},         [WEFT_BF16] = {"bf16", 2}, [WEFT_I16] = {"i16", 2},
    [WEFT_I32] = {"i32", 4},         [WEFT_I64] = {"i64", 8},   [WEFT_U8] = {"u8", 1},
    [WEFT_I8] = {"i8", 1},
};

enum { N_DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

static bool is_known(weft_dtype dtype)
{
    return (unsigned)dtype < N_DTYPES;
}

size_t weft_dtype_size(weft_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].size : 0;
}

const char *weft_dtype_name(weft_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].name : "unknown";
}

weft_dtype weft_dtype_find(const char *name)
{
    for (int i = WEFT_F32; name && i < N_DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            return (weft_dtype)i;
    return WEFT_DEFAULT;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// value / 2^shift, to the nearest and ties to even; shift from 1 to 31.
static uint32_t round_shift(uint32_t value, uint32_t shift)
{
    const uint32_t below_half = (UINT32_C(1) << (shift - 1)) - 1;
    const uint32_t is_odd = value >> shift & 1;
    return (value + below_half + is_odd) >> shift;
}

enum {
    F32_INFINITY = 0x7f800000,
    F32_MANTISSA_BITS = 23,
    F16_INFINITY = 0x7c00,
    F16_QUIET = 0x0200,
    BF16_QUIET = 0x0040,
    MANTISSA_BITS_LOST = 13, // from f32 to f16
    BIAS_LOST = (127 - 15) << F32_MANTISSA_BITS,
    F32_OF_2_TO_16 = 0x47800000,       // the first power of two that f16 lacks
    F32_OF_2_TO_MINUS_14 = 0x38800000, // the least normal f16
};

// Below 2^-14 an f16 counts units of 2^-24.
static uint32_t f16_subnormal(uint32_t magnitude)
{
    const uint32_t exponent = magnitude >> F32_MANTISSA_BITS;
    const uint32_t implicit_one = UINT32_C(1) << F32_MANTISSA_BITS;
    const uint32_t significand = (magnitude & (implicit_one - 1)) | implicit_one;
    const uint32_t shift = 126 - exponent;
    return shift > 24 ? 0 : round_shift(significand, shift);
}

uint16_t weft_f16_from_f32(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;

    uint32_t result;
    if (magnitude > F32_INFINITY)
        result = F16_INFINITY | F16_QUIET | (magnitude >> MANTISSA_BITS_LOST & 0x3ff);
    else if (magnitude >= F32_OF_2_TO_16)
        result = F16_INFINITY;
    else if (magnitude >= F32_OF_2_TO_MINUS_14)
        result = round_shift(magnitude - BIAS_LOST, MANTISSA_BITS_LOST); // may carry to infinity
    else
        result = f16_subnormal(magnitude);
    return (uint16_t)(sign | result);
}

float weft_f32_from_f16(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t magnitude = bits & 0x7fff;
    const uint32_t mantissa = bits & 0x3ff;

    if (magnitude >= F16_INFINITY)
        return float_of(sign | F32_INFINITY | mantissa << MANTISSA_BITS_LOST);
    if (magnitude > mantissa)
        return float_of(sign | ((magnitude << MANTISSA_BITS_LOST) + BIAS_LOST));
    return float_of(sign | bits_of((float)mantissa * 0x1p-24f));
}

uint16_t weft_bf16_from_f32(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > F32_INFINITY)
        return (uint16_t)(bits >> 16 | BF16_QUIET);
    return (uint16_t)round_shift(bits, 16); // the carry of the largest ends at infinity
}

float weft_f32_from_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

weft_dtype weft_dtype_or(weft_dtype dtype, weft_dtype fallback)
{
    return dtype == WEFT_DEFAULT ? fallback : dtype;
}

bool weft_is_floating(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

bool weft_widens(weft_dtype operands, weft_dtype results)
{
    return weft_dtype_or(results, WEFT_F32) == WEFT_F32 &&
           (operands == WEFT_F16 || operands == WEFT_BF16);
}

int64_t weft_sum_bytes(weft_dtype dtype)
{
    return dtype == WEFT_F64 ? 8 : 4;
}
