// SPDX-License-Identifier: Apache-2.0
// Division by a number that is known beforehand, for kernels: a multiplication and shifts.
//
//     n / d = (((n - h) >> s) + h) >> (shift - s),  h = upper half of n multiplier,
//                                                   s = min(shift, 1)
//
// for every n of that many bits, after Granlund and Montgomery (1994); used by
// cl/elementwise/elementwise.cl.
#ifndef WEFT_LIB_DIVISION_H
#define WEFT_LIB_DIVISION_H

#include <stdint.h>

typedef struct weft_divisor {
    uint64_t multiplier;
    unsigned shift;
} weft_divisor;

// For numbers of 32 or 64 bits; d is one of them, and not 0.
weft_divisor weft_divisor_of(uint64_t d, int bits);

#endif
