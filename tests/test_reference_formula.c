// SPDX-License-Identifier: Apache-2.0
// The reference of formulas: reads texts as C does, is right on numbers done by hand, and bounds
// errors by as much as devices may be off, and not by so much that a wrong element would pass.
#include "reference_formula.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reference_elementwise.h"
#include "scalar.h"

// ---- texts, of a = 5, b = -3 and the value v = 2

static const char *const names[] = {"a", "b", "v"};

static formula_number of_numbers(const char *text, weft_dtype arithmetic,
                                 const formula_number *named)
{
    reference_formula formula;
    complaint why;
    if (!reference_formula_read(&formula, text, 2, 3, names, &why))
        fail_msg("%s: %s", text, why.text);
    return reference_formula_at(&formula, arithmetic, named);
}

static void texts_mean_what_they_mean_in_c(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"a - b - 1", 7},
        {"a / 2 * 2", 4},
        {"-a % 3", -2},
        {"- - a", 5},
        {"+a", 5},
        {"!a + !0", 1},
        {"~a & 255", 250},
        {"1 << 2 + 1", 8},
        {"-16 >> 2 >> 1", -2},
        {"1 | 6 ^ 2 & 3", 5},
        {"a > b == 1", 1},
        {"1 < 2 != 0 && 3 >= 4 || a <= 5", 1},
        {"a < b ? 1 : a == 5 ? 2 : 3", 2},
        {"a < b ? 1 : 2 ? 3 : 4", 3},
        {"where(a, b, v)", -3},
        {"select(a, b, v)", -3},
        {"max(a, b) - min(a,b)", 8},
        {"clamp(a\t,\n0, v)", 2},
        {"0x1F + 10u", 41},
        {"add", 2},
        {"  multiply ", -15},
        {"quotient", -1},
        {"floor_divide", -2},
        {"remainder", -1},
        {"fmod", 2},
        {"remainder(-a, v)", 1},
        {"floor_divide(a, 0) + remainder(a, 0)", 0},
        {"-2147483648", INT32_MIN},
        {"2147483647 + 1", INT32_MIN},
    };
    const formula_number named[] = {{.whole = 5}, {.whole = -3}, {.whole = 2}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t got = of_numbers(cases[i].text, WEFT_I32, named).whole;
        if (got != cases[i].want)
            fail_msg("%s is %d, not %d", cases[i].text, (int)got, (int)cases[i].want);
    }
    assert_true(of_numbers("2147483647 + 1", WEFT_I64, named).whole == INT64_C(1) << 31);
    assert_true(of_numbers("1 << 33", WEFT_I64, named).whole == INT64_C(1) << 33);
}

static void numbers_are_rounded_to_arithmetic_once(void **state)
{
    const formula_number named[] = {{.real = 5}, {.real = -3}, {.real = 2}};
    (void)state;
    assert_true(of_numbers("0.1", WEFT_F32, named).real == (wide)0.1f);
    assert_true(of_numbers("0.1", WEFT_F64, named).real == (wide)0.1);
    assert_true(of_numbers("1e-3f", WEFT_F64, named).real == (wide)1e-3);
    assert_true(of_numbers("0x1.8p3", WEFT_F32, named).real == 12);
    assert_true(of_numbers(".5e+1", WEFT_F32, named).real == 5);
    assert_true(of_numbers("16777217", WEFT_F32, named).real == 16777216);
    assert_true(of_numbers("M_PI", WEFT_F32, named).real == (wide)3.14159265358979323846f);
    assert_true(of_numbers("M_PI_2_F", WEFT_F64, named).real == (wide)1.57079632679489661923);
    assert_true(isinf(of_numbers("-INFINITY", WEFT_F32, named).real));
    assert_true(isnan(of_numbers("NAN", WEFT_F32, named).real));
    assert_true(of_numbers("1 / 2", WEFT_F32, named).real == 0.5L);
    assert_true(of_numbers("floor_divide(a, b)", WEFT_F32, named).real == -2);
    assert_true(of_numbers("remainder(a, b)", WEFT_F32, named).real == -1);
    assert_true(of_numbers("fmod(a, b)", WEFT_F32, named).real == 2);
}

static void arithmetic_is_the_headers(void **state)
{
    static const struct {
        const char *text;
        weft_dtype a, b, want;
    } cases[] = {
        {"a + b", WEFT_I32, WEFT_U8, WEFT_I32},
        {"a + b", WEFT_I32, WEFT_I64, WEFT_I64},
        {"a + b", WEFT_I64, WEFT_F16, WEFT_F32},
        {"a + b", WEFT_F64, WEFT_I32, WEFT_F64},
        {"a + b", WEFT_DEFAULT, WEFT_U8, WEFT_F32},
        {"a + 2.0", WEFT_I32, WEFT_I64, WEFT_F32},
        {"sqrt(a)", WEFT_I32, WEFT_I32, WEFT_F32},
        {"a + 2147483648", WEFT_I32, WEFT_I32, WEFT_I64},
        {"a * M_E", WEFT_I32, WEFT_I32, WEFT_F32},
        {"a - 2147483648", WEFT_I32, WEFT_I32, WEFT_I64},
        {"a % b", WEFT_I32, WEFT_I32, WEFT_I32},
        {"floor_divide(a, b)", WEFT_I32, WEFT_I32, WEFT_I32},
        {"divide(a, b)", WEFT_I32, WEFT_I32, WEFT_F32},
        {"a + -2147483648", WEFT_I32, WEFT_U8, WEFT_I32},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_dtype dtypes[] = {cases[i].a, cases[i].b};
        reference_formula formula;
        complaint why;
        assert_true(reference_formula_read(&formula, cases[i].text, 2, 3, names, &why));
        const weft_dtype got = reference_formula_arithmetic(&formula, 2, dtypes);
        if (got != cases[i].want)
            fail_msg("%s, case %d: %s", cases[i].text, (int)i, weft_dtype_name(got));
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"",       "a +",       "a b",    "(a",     "a)",
                                        "c + 1",  "sqrt",      "sqrt a", "max(a)", "a ? b",
                                        "a ?: b", "exp(a, b)", "a = b",  "a; b",   "where(a, b)",
                                        "M_PI_X", "_F",        "clamp"};
    reference_formula formula;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        complaint why = {.text = ""};
        if (reference_formula_read(&formula, texts[i], 2, 3, names, &why))
            fail_msg("'%s' was read", texts[i]);
        assert_non_null(strstr(why.text, "the reference wants"));
    }
}

// ---- errors of f32, in ulps of 1

#define ULP ((wide)FLT_EPSILON)

static wide error_of(const char *text, wide a, wide a_error, wide b)
{
    const formula_number named[] = {{a, a_error, 0}, {b, 0, 0}, {2, 0, 0}};
    return of_numbers(text, WEFT_F32, named).error;
}

static void expect_between(const char *text, wide a, wide a_error, wide b, wide least, wide most)
{
    const wide error = error_of(text, a, a_error, b);
    if (!(error >= least && error <= most))
        fail_msg("%s of %Lg +- %Lg and %Lg is off by %Lg, not %Lg to %Lg", text, a, a_error, b,
                 error, least, most);
}

static void what_is_exact_has_no_error(void **state)
{
    static const char *const texts[] = {"a",       "-a",       "abs(b)",    "max(a, b)",
                                        "a > b",   "floor(a)", "a ? b : 1", "fmod(a, b)",
                                        "sign(b)", "isnan(a)"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        expect_between(texts[i], 5.25L, 0, -3, 0, 0);
}

static void errors_follow_the_formula(void **state)
{
    (void)state;
    expect_between("a + b", 1, 0, 0.5L, 0.5L * ULP, 0.51L * ULP);
    expect_between("a * b", 1.5L, 0, 0.5L, 0.25L * ULP, 0.26L * ULP);
    expect_between("exp(a)", 0, 0, 0, 3 * ULP, 3.1L * ULP);
    // What an operand is off by, times the slope.
    expect_between("a * b", 1, ULP, 100, 100 * ULP, 140 * ULP);
    expect_between("exp(a)", 2, ULP, 0, 7 * ULP, 24 * ULP);
    expect_between("a - b", 1, ULP, 1, ULP, 2.1L * ULP);
    expect_between("sqrt(a)", 0, 0x1p-20L, 0, INFINITY, INFINITY); // may be below 0
    expect_between("abs(a)", 0, 0x1p-20L, 0, 0x1p-20L, 0x1p-20L);
    expect_between("(a + 1) - (a + 1)", 0.5L, 0, 0, ULP, 4 * ULP);
    expect_between("a - b", 1, 0, 1 - ULP / 2, 0, ULP / 1024);
    expect_between("sqrt(a * a + b * b)", 0, 0, 0, 0, 1e-37L);
}

static void what_errors_leave_open_may_be_either(void **state)
{
    (void)state;
    expect_between("where(a > b, 10, 2)", 1, ULP, 1, 8, 8);
    expect_between("where(a > b, 10, 2)", 1, ULP, 2, 0, 0);
    expect_between("a == b", 1 + ULP / 2, ULP, 1, 1, 1);
    expect_between("a == b", 1 + ULP / 2, 0, 1, 0, 0);
    expect_between("floor(a)", 1, ULP, 0, 1, 1);
    expect_between("a % b", 5.5L, 1, 2, 2, 2); // 0.5, or anything up to 2
    expect_between("a % b", 5, ULP, 2, ULP, 2 * ULP);
    expect_between("remainder(a, b)", 5.5L, 1, -2, 2, 2.1L);
    expect_between("floor_divide(a, b)", 6, ULP, 2, 1, 1.1L);
    expect_between("b % a", 0.476L, 2e-8L, 16777215, 0.476L, 0.477L);
    expect_between("where(a, 10, 2)", 1e-20L, 1e-7L, 0, 8, 8);
    expect_between("!a + (a && b)", 1e-20L, 1e-7L, 1, 2, 2.1L);
    expect_between("where(b, a, 1)", 0, INFINITY, 0, 0, 0);
    expect_between("a > b", 1, INFINITY, 0, 1, 1);
    expect_between("clamp_backward(b, a, 0, 0)", 1e-8L, 1e-7L, 3, 3, 3);
    expect_between("pow(a, b)", 0.5L, 1, -2, INFINITY, INFINITY);
    expect_between("pow(a, b)", 2, ULP, -2, 0, 20 * ULP);
    expect_between("b / a", 1e-20L, 1e-7L, 0, INFINITY, INFINITY);
    expect_between("tan(a)", 1.57L, 0.01L, 0, INFINITY, INFINITY);
    expect_between("tan(a)", 0, ULP, 0, ULP, 2 * ULP);
    expect_between("atan2(a, b)", 1e-9L, 1e-7L, -1e-3L, 6.28L, 6.29L);
    expect_between("erf_backward(b, a)", 3, 4, 1, INFINITY, INFINITY);
    expect_between("erf_backward(b, a)", 0.4L, 0.5L, 1, 0.1L, 0.5L);
    expect_between("sin(a)", 1, 4, 0, INFINITY, INFINITY);
    expect_between("1 / a", ULP, 2 * ULP, 0, INFINITY, INFINITY);
}

static void infinities_are_exact_and_overflow_is_anything(void **state)
{
    const formula_number named[] = {{FLT_MAX, 0, 0}, {2, 0, 0}, {2, 0, 0}};
    const formula_number beyond = of_numbers("a * b", WEFT_F32, named);
    (void)state;
    assert_true(isinf(beyond.real) && beyond.error == 0);
    expect_between("a + b", FLT_MAX, 0, 0x1p102L, 0, 0x1p104L); // rounds down
    expect_between("a + b", FLT_MAX, 0x1p103L, 0x1p102L, INFINITY, INFINITY);
    expect_between("a - b", 3e38L, 0, 2e38L, 0, 1e31L);
    expect_between("mix(a, b, 1e-10)", 2e38L, 0, -2e38L, INFINITY, INFINITY);
    expect_between("exp_backward(a, b)", INFINITY, 0, -200, INFINITY, INFINITY);
    expect_between("exp_backward(a, b)", INFINITY, 0, 1, 0, 0);
    expect_between("a / b", 1, 0, 0, 0, 0);
    expect_between("a - a", INFINITY, 0, 0, 0, 0);
    expect_between("exp_backward(b, a)", 100, 0, 0x1p-100L, INFINITY, INFINITY);
    expect_between("a * b", 0x1p-100L, 0, 0x1p-40L, 2 * FLT_MIN, 3 * FLT_MIN); // may be flushed
    expect_between("tanh_backward(b, a)", 46, 0, 0x1p20L, 0x1p20L * FLT_MIN, 0x1p31L * FLT_MIN);
}

// ---- arrays
//
//   A   1 -2  3      B  100
//       4  0 -5         200

static const float A[] = {1, -2, 3, 4, 0, -5};
static const float B[] = {100, 200};
static const int32_t WHOLE_A[] = {1, -2, 3, 4, 0, -5}, WHOLE_B[] = {100, 200};
static const int64_t PLANE[] = {2, 3}, COLUMN[] = {2, 1};

static void expect_elements(const char *text, weft_dtype arithmetic, weft_dtype y_dtype,
                            const double *want, double bound)
{
    const bool is_whole = arithmetic == WEFT_I32 || arithmetic == WEFT_I64;
    const host_tensor inputs[] = {
        is_whole ? host_tensor_dense(WEFT_I32, WHOLE_A, 2, PLANE)
                 : host_tensor_dense(WEFT_DEFAULT, A, 2, PLANE),
        is_whole ? host_tensor_dense(WEFT_I32, WHOLE_B, 2, COLUMN)
                 : host_tensor_dense(WEFT_F32, B, 2, COLUMN),
    };
    const double v[] = {2};
    const reference_elementwise problem = {.formula = text,
                                           .n_inputs = 2,
                                           .n_values = 1,
                                           .inputs = inputs,
                                           .values = v,
                                           .names = names,
                                           .arithmetic = arithmetic,
                                           .y_dtype = y_dtype,
                                           .ndim = 2,
                                           .shape = PLANE};
    reference_values values;
    complaint why;
    if (!reference_elementwise_run(&values, &problem, &why))
        fail_msg("%s: %s", text, why.text);
    assert_int_equal(values.count, 6);
    for (int i = 0; i < 6; i++) {
        const double got = values.whole ? (double)values.whole[i] : values.want[i];
        if (!(fabs(got - want[i]) <= 1e-12 * fabs(want[i]) && values.bound[i] >= 0 &&
              values.bound[i] <= bound))
            fail_msg("%s: element %d is %.17g, not %.17g, by %g", text, i, got, want[i],
                     values.bound[i]);
    }
    reference_values_free(&values);
}

static void arrays_broadcast_and_are_stored(void **state)
{
    static const double sums[] = {101, 98, 103, 204, 200, 195};
    static const double thirds[] = {1.0 / 3, -2.0 / 3, 1, 4.0 / 3, 0, -5.0 / 3};
    static const double bytes[] = {1, 0, 3, 4, 0, 0}, wrapped[] = {1, 254, 3, 4, 0, 251};
    static const double one = 1e30f;
    const double huge[] = {one, -2 * one, 3 * one, 4 * one, 0, -5 * one};
    static const double shifted[] = {0x1p20, -0x2p20, 0x3p20, 0x4p20, 0, -0x5p20};
    static const double most[] = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX, 0, INT32_MIN};
    (void)state;
    expect_elements("a + b", WEFT_DEFAULT, WEFT_F32, sums, 1e-4);
    expect_elements("a + b", WEFT_I32, WEFT_F32, sums, 0);
    expect_elements("a + b", WEFT_I64, WEFT_F16, sums, 0);
    expect_elements("a / 3", WEFT_F64, WEFT_F64, thirds, 1e-14);
    expect_elements("a / 3", WEFT_F64, WEFT_F32, thirds, 1e-6);
    expect_elements("a / 3", WEFT_DEFAULT, WEFT_BF16, thirds, 0.01);
    expect_elements("a", WEFT_DEFAULT, WEFT_U8, bytes, 0);
    expect_elements("a", WEFT_I32, WEFT_U8, wrapped, 0);
    expect_elements("a * (1 << 20)", WEFT_I32, WEFT_BF16, shifted, 0);
    expect_elements("a * 1e30", WEFT_DEFAULT, WEFT_F32, huge, 1e24);
    expect_elements("a * 1e30", WEFT_DEFAULT, WEFT_I32, most, 0);
}

// What storing in a narrower type may make of a number that was off before.
static void storing_rounds_once_more(void **state)
{
    const float thirds[] = {1 / 3.0f, -2 / 3.0f, 1, 4 / 3.0f, 0, -5 / 3.0f};
    const host_tensor inputs[] = {host_tensor_dense(WEFT_F32, A, 2, PLANE),
                                  host_tensor_dense(WEFT_F32, B, 2, COLUMN)};
    const host_tensor is = host_tensor_dense(WEFT_F32, thirds, 2, PLANE);
    const reference_elementwise problem = {.formula = "a / 3",
                                           .n_inputs = 2,
                                           .inputs = inputs,
                                           .names = names,
                                           .arithmetic = WEFT_F64,
                                           .y_dtype = WEFT_F32,
                                           .ndim = 2,
                                           .shape = PLANE};
    reference_values values;
    reference_worst worst;
    complaint why;
    (void)state;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(reference_values_compare(&values, &is, &worst, &why));
    assert_true(worst.error > 0.1 && worst.error <= 1);
    reference_values_free(&values);
}

// Of a / 3 * 3 nobody knows whether it is a or a little less.
static void numbers_that_become_whole_may_be_off_by_one(void **state)
{
    static const int32_t good[] = {1, -1, 3, 3, 0, -5}, bad[] = {1, -2, 3, 4, 0, -7};
    const host_tensor inputs[] = {host_tensor_dense(WEFT_F32, A, 2, PLANE),
                                  host_tensor_dense(WEFT_F32, B, 2, COLUMN)};
    const reference_elementwise problem = {.formula = "a / 3 * 3",
                                           .n_inputs = 2,
                                           .inputs = inputs,
                                           .names = names,
                                           .y_dtype = WEFT_I32,
                                           .ndim = 2,
                                           .shape = PLANE};
    const host_tensor is_good = host_tensor_dense(WEFT_I32, good, 2, PLANE);
    const host_tensor is_bad = host_tensor_dense(WEFT_I32, bad, 2, PLANE);
    reference_values values;
    reference_worst worst;
    complaint why;
    (void)state;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(reference_values_compare(&values, &is_good, &worst, &why));
    assert_true(worst.error <= 1);
    assert_true(reference_values_compare(&values, &is_bad, &worst, &why));
    assert_true(worst.error > 1 && worst.at == 5);
    reference_values_free(&values);
}

static void no_dimensions_are_one_element_and_an_extent_of_0_none(void **state)
{
    static const int64_t nothing[] = {2, 0};
    const host_tensor inputs[] = {host_tensor_dense(WEFT_F32, B, 0, NULL),
                                  host_tensor_dense(WEFT_F32, B, 0, NULL)};
    reference_elementwise problem = {
        .formula = "a + b", .n_inputs = 2, .inputs = inputs, .names = names, .y_dtype = WEFT_F32};
    reference_values values;
    complaint why;
    (void)state;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(values.count == 1 && values.want[0] == 200);
    reference_values_free(&values);
    problem.ndim = 2, problem.shape = nothing;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_int_equal(values.count, 0);
    reference_values_free(&values);
}

// Whose elements are off already.
static void a_reference_may_be_the_first_operand(void **state)
{
    double want[] = {1, -2, 3, 4, 0, -5}, bound[] = {0, 0.5, 0, 0, 0.25, 0};
    int64_t whole[] = {1, -2, 3, 4, 0, -5};
    const reference_values real = {.dtype = WEFT_F32, .count = 6, .want = want, .bound = bound};
    const reference_values integers = {.dtype = WEFT_I32, .count = 6, .whole = whole};
    const host_tensor inputs[] = {host_tensor_dense(WEFT_I32, WHOLE_B, 2, COLUMN)};
    reference_elementwise problem = {.formula = "max(2 * a, b / 100)",
                                     .first = &real,
                                     .n_inputs = 1,
                                     .inputs = inputs,
                                     .names = names,
                                     .arithmetic = WEFT_F32,
                                     .y_dtype = WEFT_F32,
                                     .ndim = 2,
                                     .shape = PLANE};
    reference_values values;
    complaint why;
    (void)state;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(values.want[0] == 2 && values.want[1] == 1 && values.want[3] == 8);
    assert_true(values.bound[0] < 1e-6 && values.bound[4] < 1e-6);
    reference_values_free(&values);
    problem.formula = "2 * a + b";
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(values.bound[1] > 1 && values.bound[1] < 1.001 && values.bound[3] < 1e-3);
    reference_values_free(&values);
    problem.first = &integers, problem.arithmetic = WEFT_I32, problem.y_dtype = WEFT_I32;
    assert_true(reference_elementwise_run(&values, &problem, &why));
    assert_true(values.whole[0] == 102 && values.whole[5] == 190);
    reference_values_free(&values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_what_they_mean_in_c),
        cmocka_unit_test(numbers_are_rounded_to_arithmetic_once),
        cmocka_unit_test(arithmetic_is_the_headers),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(what_is_exact_has_no_error),
        cmocka_unit_test(errors_follow_the_formula),
        cmocka_unit_test(what_errors_leave_open_may_be_either),
        cmocka_unit_test(infinities_are_exact_and_overflow_is_anything),
        cmocka_unit_test(arrays_broadcast_and_are_stored),
        cmocka_unit_test(storing_rounds_once_more),
        cmocka_unit_test(numbers_that_become_whole_may_be_off_by_one),
        cmocka_unit_test(a_reference_may_be_the_first_operand),
        cmocka_unit_test(no_dimensions_are_one_element_and_an_extent_of_0_none),
    };
    return cmocka_run_group_tests_name("reference of formulas", tests, NULL, NULL);
}
