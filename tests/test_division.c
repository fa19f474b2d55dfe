// SPDX-License-Identifier: Apache-2.0
// Division by multiplication: the formula of division.h, as kernels compute it, against n / d.
#include "base/division.h"
#include "random.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SMALL = 1 << 16, N_RANDOM = 5000, NUMBERS_EACH = 8 };

typedef void check_divisor(uint64_t d, random_state *random);

// As quotient() of cl/elementwise/elementwise.cl, where INDEX is int.
static uint32_t quotient_32(uint32_t n, weft_divisor by)
{
    const uint32_t high = (uint32_t)((uint64_t)n * (uint32_t)by.multiplier >> 32);
    const unsigned first = by.shift < 1 ? by.shift : 1;
    return (((n - high) >> first) + high) >> (by.shift - first);
}

// The upper half of a b, by halves of both.
static uint64_t upper_half(uint64_t a, uint64_t b)
{
    const uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32); // below 2^64
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (uint32_t)middle) >> 32);
}

static uint64_t quotient_64(uint64_t n, weft_divisor by)
{
    const uint64_t high = upper_half(n, by.multiplier);
    const unsigned first = by.shift < 1 ? by.shift : 1;
    return (((n - high) >> first) + high) >> (by.shift - first);
}

static void check_32(uint32_t n, uint32_t d, weft_divisor by)
{
    if (quotient_32(n, by) != n / d)
        fail_msg("%" PRIu32 " / %" PRIu32 " gives %" PRIu32, n, d, quotient_32(n, by));
}

static void check_64(uint64_t n, uint64_t d, weft_divisor by)
{
    if (quotient_64(n, by) != n / d)
        fail_msg("%" PRIu64 " / %" PRIu64 " gives %" PRIu64, n, d, quotient_64(n, by));
}

// Both sides of the last multiple of d up to `end`, and `end`; past the largest number from 0 on.
static void check_near_32(uint32_t end, uint32_t d, weft_divisor by)
{
    const uint32_t multiple = end / d * d;
    for (uint32_t k = 0; k < 3; k++)
        check_32(multiple - 1 + k, d, by);
    check_32(end, d, by);
}

static void check_near_64(uint64_t end, uint64_t d, weft_divisor by)
{
    const uint64_t multiple = end / d * d;
    for (uint64_t k = 0; k < 3; k++)
        check_64(multiple - 1 + k, d, by);
    check_64(end, d, by);
}

static void check_divisor_32(uint64_t divisor, random_state *random)
{
    const uint32_t d = (uint32_t)divisor;
    const weft_divisor by = weft_divisor_of(d, 32);
    assert_true(by.multiplier >> 32 == 0 && by.shift <= 32);
    check_32(0, d, by);
    check_32(1, d, by);
    check_near_32(d, d, by);
    check_near_32(UINT32_C(1) << 31, d, by);
    check_near_32((UINT32_C(1) << 31) - 1, d, by);
    check_near_32(UINT32_MAX, d, by);
    for (int i = 0; i < NUMBERS_EACH; i++)
        check_near_32((uint32_t)(random_u64(random) >> (32 + i)), d, by);
}

static void check_divisor_64(uint64_t d, random_state *random)
{
    const weft_divisor by = weft_divisor_of(d, 64);
    assert_true(by.shift <= 64);
    check_64(0, d, by);
    check_64(1, d, by);
    check_near_64(d, d, by);
    check_near_64(UINT64_C(1) << 32, d, by);
    check_near_64(UINT64_C(1) << 63, d, by);
    check_near_64((UINT64_C(1) << 63) - 1, d, by);
    check_near_64(UINT64_MAX, d, by);
    for (int i = 0; i < NUMBERS_EACH; i++)
        check_near_64(random_u64(random) >> 3 * i, d, by);
}

static void check_small(check_divisor *check)
{
    random_state random = {3};
    for (uint64_t d = 1; d <= SMALL; d++)
        check(d, &random);
}

// 2^k - 1, 2^k and 2^k + 1 of so many bits.
static void check_powers(int bits, check_divisor *check)
{
    random_state random = {5};
    for (int k = 1; k < bits; k++)
        for (uint64_t d = (UINT64_C(1) << k) - 1; d <= (UINT64_C(1) << k) + 1; d++)
            check(d, &random);
    check(UINT64_MAX >> (64 - bits), &random);
}

// Of every magnitude.
static void check_random(int bits, check_divisor *check)
{
    random_state random = {7};
    for (int i = 0; i < N_RANDOM; i++) {
        const uint64_t d = random_u64(&random) >> (64 - bits) >> random_below(&random, bits);
        check(d > 0 ? d : 1, &random);
    }
}

static void test_32_bits(void **state)
{
    (void)state;
    check_small(check_divisor_32);
    check_powers(32, check_divisor_32);
    check_random(32, check_divisor_32);
}

static void test_64_bits(void **state)
{
    (void)state;
    check_small(check_divisor_64);
    check_powers(64, check_divisor_64);
    check_random(64, check_divisor_64);
}

// From the paper: 7 wants a bit more than the word has, and 1 and powers of two want none.
static void test_known_constants(void **state)
{
    (void)state;
    static const struct {
        uint64_t d;
        int bits;
        weft_divisor by;
    } cases[] = {
        {1, 32, {1, 0}},
        {2, 32, {1, 1}},
        {UINT64_C(1) << 31, 32, {1, 31}},
        {7, 32, {0x24924925, 3}},
        {10, 32, {0x9999999a, 4}},
        {UINT32_MAX, 32, {2, 32}},
        {1, 64, {1, 0}},
        {7, 64, {0x2492492492492493, 3}},
        {UINT64_C(1) << 63, 64, {1, 63}},
        {UINT64_MAX, 64, {2, 64}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_divisor by = weft_divisor_of(cases[i].d, cases[i].bits);
        assert_int_equal(by.multiplier, cases[i].by.multiplier);
        assert_int_equal(by.shift, cases[i].by.shift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_constants),
        cmocka_unit_test(test_32_bits),
        cmocka_unit_test(test_64_bits),
    };
    return cmocka_run_group_tests_name("division", tests, NULL, NULL);
}
