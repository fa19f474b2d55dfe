// SPDX-License-Identifier: Apache-2.0
// Elements of host arrays: doubles rounded once to any floating data type.
#include "base/element.h"

#include <math.h>
#include <string.h>

// To f32 by "round to odd": a value between two f32 goes to the one whose last bit is 1. Rounding
// that to a type with at least two bits less gives the same as rounding the double.
static float round_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || isnan(value))
        return nearest;

    uint32_t bits;
    memcpy(&bits, &nearest, sizeof(bits));
    if (fabs((double)nearest) > fabs(value))
        bits -= 1; // the next f32 towards zero, from infinity too
    bits |= 1;
    memcpy(&nearest, &bits, sizeof(bits));
    return nearest;
}

void weft_element_put(void *array, weft_dtype dtype, int64_t i, double value)
{
    switch (dtype) {
    case WEFT_F32:
        ((float *)array)[i] = (float)value;
        break;
    case WEFT_F16:
        ((uint16_t *)array)[i] = weft_f16_from_f32(round_to_odd(value));
        break;
    case WEFT_BF16:
        ((uint16_t *)array)[i] = weft_bf16_from_f32(round_to_odd(value));
        break;
    default:
        assert(dtype == WEFT_F64);
        ((double *)array)[i] = value;
    }
}
