// SPDX-License-Identifier: Apache-2.0
// Roundoffs and ranges of the floating-point types.
#include "precision.h"

#include <float.h>
#include <math.h>

precision precision_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F64:
        return (precision){0x1p-53, DBL_MIN, DBL_MAX, 0, 0, DBL_MAX};
    case WEFT_F16:
        return (precision){0x1p-24, FLT_MIN, FLT_MAX, 0x1p-11, 0x1p-24, 65504};
    case WEFT_BF16:
        return (precision){0x1p-24, FLT_MIN, FLT_MAX, 0x1p-8, 0x1p-133, 0x1.fep127};
    default:
        return (precision){0x1p-24, FLT_MIN, FLT_MAX, 0, 0, FLT_MAX};
    }
}

double precision_growth(const precision *p, double n_roundings)
{
    return expm1(n_roundings * log1p(p->unit));
}

double precision_apart(const precision *p, double n_roundings)
{
    return precision_growth(p, n_roundings) + expm1(n_roundings * log1p(0x1p-53));
}

bool precision_may_vanish(const precision *p, double scalar)
{
    return scalar != 0 && fabs(scalar) < p->tiny;
}

double precision_stored(const precision *p, double value, double computed)
{
    if (!isfinite(computed))
        return INFINITY;
    if (!isfinite(value))
        return computed;
    return computed + p->half_ulp * (fabs(value) + computed) + p->smallest;
}
