// SPDX-License-Identifier: Apache-2.0
// Constants that replace a division by a multiplication.
#include "base/division.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide;

// shift = ceil(log2 d); multiplier = floor(2^bits (2^shift - d) / d) + 1.
weft_divisor weft_divisor_of(uint64_t d, int bits)
{
    assert(d > 0 && (bits == 64 || (bits == 32 && d >> 32 == 0)));
    unsigned shift = 0;
    while (shift < 64 && (wide)1 << shift < d)
        shift++;
    const wide gap = ((wide)1 << shift) - d;
    return (weft_divisor){(uint64_t)((gap << bits) / d) + 1, shift};
}
