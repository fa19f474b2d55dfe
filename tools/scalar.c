// SPDX-License-Identifier: Apache-2.0
// Elements of host arrays as doubles, and back with one rounding.
#include "scalar.h"

#include <math.h>
#include <string.h>

bool scalar_is_float(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

double scalar_get(weft_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case WEFT_F64:
        return ((const double *)data)[i];
    case WEFT_F16:
        return (double)weft_f32_from_f16(((const uint16_t *)data)[i]);
    case WEFT_BF16:
        return (double)weft_f32_from_bf16(((const uint16_t *)data)[i]);
    case WEFT_I16:
        return ((const int16_t *)data)[i];
    case WEFT_I32:
        return ((const int32_t *)data)[i];
    case WEFT_I64:
        return (double)((const int64_t *)data)[i];
    case WEFT_U8:
        return ((const uint8_t *)data)[i];
    case WEFT_I8:
        return ((const int8_t *)data)[i];
    case WEFT_DEFAULT:
    case WEFT_F32:
        break;
    }
    return (double)((const float *)data)[i];
}

int64_t scalar_whole(weft_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case WEFT_I64:
        return ((const int64_t *)data)[i];
    case WEFT_I16:
        return ((const int16_t *)data)[i];
    case WEFT_U8:
        return ((const uint8_t *)data)[i];
    case WEFT_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const int32_t *)data)[i];
    }
}

// Rounded to odd: of the two neighbours of a double that no float equals, the one with an odd last
// bit. Rounding that to a shorter type gives what rounding the double at once would have given.
static float to_float_odd(double value)
{
    float nearest = (float)value;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof(bits));
    if (isinf(value) || (double)nearest == value || isnan(value) || (bits & 1) != 0)
        return nearest;
    return nextafterf(nearest, (double)nearest < value ? INFINITY : -INFINITY);
}

void scalar_put(weft_dtype dtype, void *data, int64_t i, double value)
{
    if (dtype == WEFT_F64)
        ((double *)data)[i] = value;
    else if (dtype == WEFT_F16)
        ((uint16_t *)data)[i] = weft_f16_from_f32(to_float_odd(value));
    else if (dtype == WEFT_BF16)
        ((uint16_t *)data)[i] = weft_bf16_from_f32(to_float_odd(value));
    else
        ((float *)data)[i] = (float)value;
}

double scalar_stored(weft_dtype dtype, double value)
{
    double element = 0;
    scalar_put(dtype, &element, 0, value);
    return scalar_get(dtype, &element, 0);
}

int64_t scalar_saturated(weft_dtype dtype, long double value)
{
    const int64_t least = dtype == WEFT_U8 ? 0 : dtype == WEFT_I32 ? INT32_MIN : INT64_MIN;
    const int64_t most = dtype == WEFT_U8 ? UINT8_MAX : dtype == WEFT_I32 ? INT32_MAX : INT64_MAX;
    if (isnan(value))
        return 0;
    return value <= (long double)least ? least : value >= (long double)most ? most : (int64_t)value;
}

double scalar_shortened(int64_t value)
{
    const int64_t kept = value & ~INT64_C(0x7ff);
    const bool is_long = value >= INT64_C(1) << 53 || value <= -(INT64_C(1) << 53);
    return (double)(is_long && kept != value ? kept | 0x400 : value);
}
