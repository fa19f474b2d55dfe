// SPDX-License-Identifier: Apache-2.0
// Activations in the widest type that C has, and the error bound derived in reference_activation.h.
#include "reference_activation.h"

#include <math.h>

// y / (1 + exp(-w)), without overflow.
static long double weighed(long double y, long double w)
{
    const long double e = expl(-fabsl(w));
    return (w < 0 ? y * e : y) / (1 + e);
}

static long double weight(long double z)
{
    return 2 * sqrtl(2 / acosl(-1)) * z * (1 + 0.044715L * z * z);
}

double reference_activation(weft_activation f, double z)
{
    const long double x = z < -1000 ? -1000 : z; // below, all but relu and tanh are 0
    switch (f) {
    case WEFT_ACTIVATION_RELU:
        return z < 0 ? 0 : z;
    case WEFT_ACTIVATION_GELU:
        return (double)(x * erfcl(-x / sqrtl(2)) / 2);
    case WEFT_ACTIVATION_GELU_TANH:
        return (double)weighed(x, weight(x));
    case WEFT_ACTIVATION_SILU:
        return (double)weighed(x, x);
    case WEFT_ACTIVATION_SIGMOID:
        return (double)weighed(1, x);
    case WEFT_ACTIVATION_TANH:
        return tanh(z);
    case WEFT_ACTIVATION_NONE:
        break;
    }
    return z;
}

static double slope_of(weft_activation f)
{
    switch (f) {
    case WEFT_ACTIVATION_GELU:
    case WEFT_ACTIVATION_GELU_TANH:
        return 1.13;
    case WEFT_ACTIVATION_SILU:
        return 1.1;
    case WEFT_ACTIVATION_SIGMOID:
        return 0.25;
    default:
        return 1;
    }
}

static double roundings_of(weft_activation f, double z)
{
    switch (f) {
    case WEFT_ACTIVATION_GELU:
        return 40;
    case WEFT_ACTIVATION_GELU_TANH:
        return 20 + 8 * fmin(fabs((double)weight(z)), 1000);
    case WEFT_ACTIVATION_SILU:
    case WEFT_ACTIVATION_SIGMOID:
        return 20;
    case WEFT_ACTIVATION_TANH:
        return 10;
    default:
        return 0;
    }
}

double reference_activation_error(weft_activation f, const precision *p, double z, double error)
{
    if (f == WEFT_ACTIVATION_NONE)
        return error;
    if (isinf(error))
        return INFINITY;
    const double y = fabs(reference_activation(f, z));
    if (!isfinite(y))
        return 0;
    const double moved = isfinite(z) ? slope_of(f) * error : 0;
    const double size = y + moved;
    const double factor = fmin(fabs(z), 1000) + (isfinite(z) ? error : 0);
    const double flushed = f == WEFT_ACTIVATION_RELU ? 0 : p->tiny * (factor + 4);
    return moved + precision_apart(p, roundings_of(f, z)) * size + flushed;
}
