// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same at every run.
#include "chance.h"

#include <math.h>

double chance_uniform(chance *c)
{
    *c ^= *c << 13;
    *c ^= *c >> 7;
    *c ^= *c << 17;
    return ((double)(*c >> 12) + 0.5) * 0x1p-52;
}

int64_t chance_below(chance *c, int64_t n)
{
    return (int64_t)(chance_uniform(c) * (double)n);
}

double chance_normal(chance *c)
{
    const double two_pi = 6.283185307179586;
    const double radius = sqrt(-2 * log(chance_uniform(c)));
    return radius * cos(two_pi * chance_uniform(c));
}
