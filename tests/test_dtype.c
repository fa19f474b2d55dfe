// SPDX-License-Identifier: Apache-2.0
// Data types: names and sizes; f16 and bf16 in every value and at every boundary between two.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <weft/dtype.h>

#include "base/element.h"

static void test_names_and_sizes(void **state)
{
    (void)state;
    static const struct {
        weft_dtype dtype;
        const char *name;
        size_t size;
    } cases[] = {
        {WEFT_F32, "f32", 4},   {WEFT_F64, "f64", 8}, {WEFT_F16, "f16", 2},
        {WEFT_BF16, "bf16", 2}, {WEFT_I16, "i16", 2}, {WEFT_I32, "i32", 4},
        {WEFT_I64, "i64", 8},   {WEFT_U8, "u8", 1},   {WEFT_I8, "i8", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(weft_dtype_name(cases[i].dtype), cases[i].name);
        assert_int_equal(weft_dtype_size(cases[i].dtype), cases[i].size);
        assert_int_equal(weft_dtype_find(cases[i].name), cases[i].dtype);
    }
}

static void test_what_is_no_data_type(void **state)
{
    (void)state;
    assert_string_equal(weft_dtype_name(WEFT_DEFAULT), "default");
    assert_int_equal(weft_dtype_size(WEFT_DEFAULT), 0);

    static const int outside[] = {-1, WEFT_I8 + 1, 1 << 30};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(weft_dtype_name((weft_dtype)outside[i]), "unknown");
        assert_int_equal(weft_dtype_size((weft_dtype)outside[i]), 0);
    }

    static const char *const names[] = {"", "f", "F32", "f32 ", "f320", "default", "unknown"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(weft_dtype_find(names[i]), WEFT_DEFAULT);
    assert_int_equal(weft_dtype_find(NULL), WEFT_DEFAULT);
}

// A 16-bit type, with what its definition says a pattern is worth. The pattern of infinity gives
// the power of two that would follow the largest number, so that it too has a lower boundary.
typedef struct half_type {
    const char *name;
    weft_dtype dtype;
    int mantissa_bits, bias;
    uint16_t infinity;
    uint16_t (*from_f32)(float);
    float (*to_f32)(uint16_t);
} half_type;

static const half_type half_types[] = {
    {"f16", WEFT_F16, 10, 15, 0x7c00, weft_f16_from_f32, weft_f32_from_f16},
    {"bf16", WEFT_BF16, 7, 127, 0x7f80, weft_bf16_from_f32, weft_f32_from_bf16},
};

enum { N_HALF_TYPES = sizeof(half_types) / sizeof(half_types[0]) };

// Of a pattern without sign.
static double worth(const half_type *type, uint16_t bits)
{
    const int mantissa = bits & ((1 << type->mantissa_bits) - 1);
    const int exponent = bits >> type->mantissa_bits;
    const int hidden = exponent ? 1 << type->mantissa_bits : 0;
    const int scale = (exponent ? exponent : 1) - type->bias - type->mantissa_bits;
    return ldexp(hidden + mantissa, scale);
}

static void test_every_pattern_there_and_back(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++)
        for (uint32_t pattern = 0; pattern <= 0xffff; pattern++) {
            const uint16_t bits = (uint16_t)pattern, magnitude = bits & 0x7fff;
            const float value = type->to_f32(bits);
            const uint16_t back = type->from_f32(value);

            assert_int_equal(!signbit(value), !(bits & 0x8000));
            if (magnitude > type->infinity) {
                assert_true(isnan(value));
                assert_true((back & 0x7fff) > type->infinity);
                assert_int_equal(back & 0x8000, bits & 0x8000);
            } else {
                assert_int_equal(back, bits);
                if (magnitude == type->infinity)
                    assert_true(isinf(value));
                else
                    assert_true(fabs((double)value) == worth(type, magnitude));
            }
        }
}

// The number between two neighbours is an f32; it goes to the even one, all below it to the lower
// one, all above it to the upper one, which after the largest number is infinity.
static void test_every_boundary(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++)
        for (uint16_t lower = 0; lower < type->infinity; lower++) {
            const uint16_t upper = lower + 1, even = lower & 1 ? upper : lower;
            const float middle = (float)((worth(type, lower) + worth(type, upper)) / 2);

            assert_int_equal(type->from_f32(middle), even);
            assert_int_equal(type->from_f32(-middle), even | 0x8000);
            assert_int_equal(type->from_f32(nextafterf(middle, 0)), lower);
            assert_int_equal(type->from_f32(-nextafterf(middle, 0)), lower | 0x8000);
            assert_int_equal(type->from_f32(nextafterf(middle, INFINITY)), upper);
            assert_int_equal(type->from_f32(-nextafterf(middle, INFINITY)), upper | 0x8000);
        }
}

static void test_extremes(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++) {
        assert_int_equal(type->from_f32(INFINITY), type->infinity);
        assert_int_equal(type->from_f32(-INFINITY), type->infinity | 0x8000);
        assert_int_equal(type->from_f32(FLT_MAX), type->infinity);
        assert_int_equal(type->from_f32(-FLT_MAX), type->infinity | 0x8000);
        assert_int_equal(type->from_f32(0.0f), 0);
        assert_int_equal(type->from_f32(-0.0f), 0x8000);
        assert_int_equal(type->from_f32(FLT_TRUE_MIN), 0);
        assert_int_equal(type->from_f32(-FLT_TRUE_MIN), 0x8000);
    }
    assert_int_equal(weft_f16_from_f32(65519.996f), 0x7bff);
    assert_int_equal(weft_f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(weft_bf16_from_f32(1.0f), 0x3f80);
    assert_int_equal(weft_f16_from_f32(1.0f), 0x3c00);
}

// A NaN whose payload lies in the bits that are dropped must not become an infinity.
static void test_nan_stays_nan(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++)
        for (int bit = 0; bit < 23; bit++)
            for (uint32_t sign = 0; sign <= 1; sign++) {
                const uint32_t bits = sign << 31 | 0x7f800000 | UINT32_C(1) << bit;
                float nan;
                memcpy(&nan, &bits, sizeof(nan));
                const uint16_t half = type->from_f32(nan);
                assert_true((half & 0x7fff) > type->infinity);
                assert_int_equal(half >> 15, sign);
            }
}

static uint16_t put_half(const half_type *type, double value)
{
    uint16_t bits = 0xdead;
    weft_element_put(&bits, type->dtype, 0, value);
    return bits;
}

// By way of f32 the doubles next to a boundary would land on it, and half of them round wrongly.
static void test_doubles_are_rounded_once(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++)
        for (uint16_t lower = 0; lower < type->infinity; lower++) {
            const uint16_t upper = lower + 1, even = lower & 1 ? upper : lower;
            const double middle = (worth(type, lower) + worth(type, upper)) / 2;

            assert_int_equal(put_half(type, worth(type, lower)), lower);
            assert_int_equal(put_half(type, middle), even);
            assert_int_equal(put_half(type, nextafter(middle, 0)), lower);
            assert_int_equal(put_half(type, nextafter(middle, INFINITY)), upper);
            assert_int_equal(put_half(type, -nextafter(middle, 0)), lower | 0x8000);
            assert_int_equal(put_half(type, -nextafter(middle, INFINITY)), upper | 0x8000);
        }
}

static void test_extreme_doubles(void **state)
{
    (void)state;
    for (const half_type *type = half_types; type < half_types + N_HALF_TYPES; type++) {
        assert_int_equal(put_half(type, DBL_MAX), type->infinity);
        assert_int_equal(put_half(type, -INFINITY), type->infinity | 0x8000);
        assert_int_equal(put_half(type, DBL_TRUE_MIN), 0);
        assert_int_equal(put_half(type, -1e-300), 0x8000);
        assert_true((put_half(type, NAN) & 0x7fff) > type->infinity);
    }
    float f32[2] = {0, 0};
    double f64[2] = {0, 0};
    weft_element_put(f32, WEFT_F32, 1, 0.1);
    weft_element_put(f64, WEFT_F64, 1, 0.1);
    assert_true(f32[1] == 0.1f && f32[0] == 0);
    assert_true(f64[1] == 0.1 && f64[0] == 0);
}

static void test_integers_there_and_back(void **state)
{
    (void)state;
    static const struct {
        weft_dtype dtype;
        int64_t least, most;
    } cases[] = {
        {WEFT_I16, INT16_MIN, INT16_MAX},
        {WEFT_I32, INT32_MIN, INT32_MAX},
        {WEFT_I64, INT64_MIN, INT64_MAX},
    };
    for (int i = 0; i < 3; i++) {
        int64_t array[3] = {0};
        integer_put(array, cases[i].dtype, 0, cases[i].least);
        integer_put(array, cases[i].dtype, 1, cases[i].most);
        integer_put(array, cases[i].dtype, 2, -1);
        assert_int_equal(integer_at(array, cases[i].dtype, 0), cases[i].least);
        assert_int_equal(integer_at(array, cases[i].dtype, 1), cases[i].most);
        assert_int_equal(integer_at(array, cases[i].dtype, 2), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_what_is_no_data_type),
        cmocka_unit_test(test_every_pattern_there_and_back),
        cmocka_unit_test(test_every_boundary),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_nan_stays_nan),
        cmocka_unit_test(test_doubles_are_rounded_once),
        cmocka_unit_test(test_extreme_doubles),
        cmocka_unit_test(test_integers_there_and_back),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
