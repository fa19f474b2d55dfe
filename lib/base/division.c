// SPDX-License-Identifier: Apache-2.0
// Constants that replace a division by a multiplication.
#include "base/division.h"

#include <assert.h>
#include <stdbool.h>

// floor(2^bits n / d) for n < d, by long division in base 2.
static uint64_t fraction(uint64_t n, uint64_t d, int bits)
{
    uint64_t quotient = 0;
    for (int i = 0; i < bits; i++) {
        const bool fits = n >> 63 || n << 1 >= d; // 2n has a bit more than 64 in the first case
        n = (n << 1) - (fits ? d : 0);
        quotient = quotient << 1 | fits;
    }
    return quotient;
}

// shift = ceil(log2 d); multiplier = floor(2^bits (2^shift - d) / d) + 1.
weft_divisor weft_divisor_of(uint64_t d, int bits)
{
    assert(d > 0 && (bits == 64 || (bits == 32 && d >> 32 == 0)));
    unsigned shift = 0;
    while (shift < 64 && UINT64_C(1) << shift < d)
        shift++;
    const uint64_t power = shift < 64 ? UINT64_C(1) << shift : 0; // modulo 2^64
    return (weft_divisor){fraction(power - d, d, bits) + 1, shift};
}
