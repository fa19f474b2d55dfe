// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of plans.
#ifndef WEFT_LIB_ARITHMETIC_H
#define WEFT_LIB_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t abs_i64(int64_t x)
{
    return x < 0 ? -x : x;
}

// The number, or INT64_MAX if it is larger: SIZE_MAX in limits means no limit.
static inline int64_t clamped_i64(uint64_t x)
{
    return x < INT64_MAX ? (int64_t)x : INT64_MAX;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

// The least power of two not below x, for x from 1 to 2^62; 2^62 for a larger x.
static inline int64_t pow2_up(int64_t x)
{
    int64_t power = 1;
    while (power < x && power < INT64_C(1) << 62)
        power *= 2;
    return power;
}

// The largest power of two not above x, for x from 1.
static inline int64_t pow2_down(int64_t x)
{
    int64_t power = 1;
    while (power <= x / 2)
        power *= 2;
    return power;
}

static inline bool is_pow2_upto(int64_t x, int64_t most)
{
    return x >= 1 && x <= most && (x & (x - 1)) == 0;
}

// The largest power of two that divides x; 2^62 for 0.
static inline int64_t pow2_divisor(int64_t x)
{
    const uint64_t bits = (uint64_t)x, lowest = bits & (0 - bits);
    return lowest - 1 >= UINT64_C(1) << 62 ? INT64_C(1) << 62 : (int64_t)lowest;
}

// a * b, or a + b; UINT64_MAX on overflow.
static inline uint64_t mul_most_u64(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t add_most_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// a * b, or a + b; false on overflow.
static inline bool mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool add_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

#endif
