// SPDX-License-Identifier: Apache-2.0
// Numbers for tests: the same seed gives the same ones everywhere. The generator is SplitMix64
// (Steele, Lea and Flood 2014).
#ifndef WEFT_TESTS_RANDOM_H
#define WEFT_TESTS_RANDOM_H

#include <stdint.h>

#include <weft/dtype.h>

#include "implementation.h"

typedef struct random_state {
    uint64_t state; // start with any seed
} random_state;

static inline uint64_t random_u64(random_state *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// 0 to n - 1; n from 1. The slight bias towards small numbers does not matter to a test.
static inline int64_t random_below(random_state *random, int64_t n)
{
    return (int64_t)(random_u64(random) % (uint64_t)n);
}

// least to most, both included.
static inline int64_t random_between(random_state *random, int64_t least, int64_t most)
{
    return least + random_below(random, most - least + 1);
}

// 1 to 2^62, every magnitude equally likely.
static inline int64_t random_extent(random_state *random)
{
    const int64_t least = INT64_C(1) << random_below(random, 62);
    return random_between(random, least, 2 * least);
}

// A multiple of 2^-23 in [-1, 1): exact in f32 and in f64.
static inline float random_float(random_state *random)
{
    return (float)((int32_t)(random_u64(random) >> 40) - (1 << 23)) * 0x1p-23f;
}

// How many of n random cases are tried: under Valgrind, fifty times slower, a thousandth.
static inline int random_cases(int n)
{
    return is_on("valgrind") ? n / 1000 : n;
}

// Means for fractions, of which f32 keeps some digits then, or none.
static inline double far_away(weft_dtype dtype, uint64_t kind)
{
    static const double means[] = {100, 2000, 1e5, 1e7};
    return dtype == WEFT_F32 || dtype == WEFT_F64 ? means[kind % 4] : 1000;
}

// What fractions are multiplied by for squares to be beyond the range, or none to be left.
static inline double out_of_range(weft_dtype dtype, uint64_t kind)
{
    static const double of_f32[] = {1e30, 1e-25, 3e19, 1e-21},
                        of_f64[] = {1e200, 1e-200, 1e155, 1e-165};
    return dtype == WEFT_F16 ? 1 : dtype == WEFT_F64 ? of_f64[kind % 4] : of_f32[kind % 4];
}

#endif
