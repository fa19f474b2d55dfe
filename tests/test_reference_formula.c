// SPDX-License-Identifier: Apache-2.0
// The reference of formulas: agrees with other implementations (vectors.h), and bounds errors by as
// much as devices may be off, and not by so much that a wrong element would pass. It computes what
// the library reads, so that a text that is misread is seen here, too.
#include "reference_formula.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formula/expression_function.h"
#include "implementation.h"
#include "reference_elementwise.h"
#include "scalar.h"
#include "vectors.h"

// ---- what others make of formulas: vectors.h

static const char *const letters[] = {"a",  "b",  "c",  "d",  "e",  "f",  "g",  "h", "v0",
                                      "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8"};

// Which says more than another: f64, f32, i64, i32.
static int rank_of(weft_dtype arithmetic)
{
    return arithmetic == WEFT_F64 ? 3 : arithmetic == WEFT_F32 ? 2 : arithmetic == WEFT_I64 ? 1 : 0;
}

// All formulas of a call are computed in one arithmetic.
static weft_dtype arithmetic_of(const vectors_call *call, const char *const *call_names)
{
    weft_dtype dtypes[WEFT_ELEMENTWISE_INPUTS], most = WEFT_I32;
    for (int k = 0; k < call->n_inputs; k++)
        dtypes[k] = call->in[k].dtype;
    for (int j = 0; j < call->n_outputs; j++) {
        const formula_text text = {call->out[j].formula, call->n_inputs,  call->n_values, dtypes,
                                   call_names,           call->arithmetic};
        reference_formula formula;
        complaint why;
        if (!reference_formula_read(&formula, &text, &why))
            fail_msg("%s: %s", text.text, why.text);
        most = rank_of(formula.arithmetic) > rank_of(most) ? formula.arithmetic : most;
    }
    return most;
}

static void check_output(const vectors_numbers *out, reference_elementwise problem)
{
    int64_t memory[VECTORS_LENGTH];
    reference_values values;
    reference_worst worst;
    complaint why;
    const int64_t count = problem.shape[0];
    problem.formula = out->formula;
    problem.y_dtype = out->dtype;
    if (!reference_elementwise_run(&values, &problem, &why))
        fail_msg("%s: %s", out->formula, why.text);
    vectors_put(out, (int)count, memory);
    const host_tensor Y = host_tensor_dense(out->dtype, memory, 1, &count);
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    reference_values_free(&values);
    if (worst.error > 1)
        fail_msg("%s in %s, element %d, is %.17g, not %.17g", out->formula,
                 weft_dtype_name(problem.arithmetic), (int)worst.at, worst.want, worst.got);
}

static void check_call(const vectors_call *call)
{
    static int64_t memory[WEFT_ELEMENTWISE_INPUTS][VECTORS_LENGTH];
    host_tensor inputs[WEFT_ELEMENTWISE_INPUTS];
    const char *call_names[WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_VALUES];
    const int64_t count = call->count;
    for (int k = 0; k < call->n_inputs; k++) {
        vectors_put(&call->in[k], call->count, memory[k]);
        inputs[k] = host_tensor_dense(call->in[k].dtype, memory[k], 1, &count);
        call_names[k] = letters[k];
    }
    for (int i = 0; i < call->n_values; i++)
        call_names[call->n_inputs + i] = letters[WEFT_ELEMENTWISE_INPUTS + i];
    for (int j = 0; j < call->n_outputs; j++)
        check_output(&call->out[j],
                     (reference_elementwise){.n_inputs = call->n_inputs,
                                             .n_values = call->n_values,
                                             .inputs = inputs,
                                             .values = call->values,
                                             .names = call_names,
                                             .arithmetic = arithmetic_of(call, call_names),
                                             .ndim = 1,
                                             .shape = &count});
}

// Valgrind makes of a long double one of 64 bits, of which cbrtl() makes NaN where it is infinite.
static void vectors_lie_within_the_bounds(void **state)
{
    static vectors_call call;
    (void)state;
    if (is_on("valgrind"))
        skip();
    FILE *file = vectors_open();
    while (vectors_next(file, &call))
        check_call(&call);
    fclose(file);
}

// Each function that formulas may call, of each kind of arithmetic that has it.
static void every_function_has_vectors(void **state)
{
    static vectors_call call;
    bool is_there[256][2] = {{false}};
    FILE *file = vectors_open();
    (void)state;
    while (vectors_next(file, &call))
        for (int j = 0; j < call.n_outputs; j++)
            for (int i = 0; weft_function_at(i); i++) {
                const char *const name = weft_function_at(i)->name, *text = call.out[j].formula;
                const size_t length = strlen(name);
                if (strncmp(text, name, length) == 0 && strchr("(", text[length]) != NULL)
                    is_there[i][scalar_is_float(call.in[0].dtype)] = true;
            }
    fclose(file);
    for (int i = 0; weft_function_at(i); i++) {
        const weft_function *f = weft_function_at(i);
        if (!(is_there[i][0] || f->needs == WEFT_NEEDS_REALS) ||
            !(is_there[i][1] || f->needs == WEFT_NEEDS_INTEGERS))
            fail_msg("%s has no vectors", f->name);
    }
}

static void what_the_library_refuses_is_told(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F32};
    const formula_text text = {"a + q", 2, 0, dtypes, letters, WEFT_DEFAULT};
    reference_formula formula;
    complaint why;
    (void)state;
    assert_false(reference_formula_read(&formula, &text, &why));
    assert_non_null(strstr(why.text, "column 5: there is nothing named 'q'"));
}

// ---- errors of f32, in ulps of 1

#define ULP ((wide)FLT_EPSILON)

static const char *const names[] = {"a", "b", "v"};

static formula_number of_numbers(const char *text, const formula_number *named)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F32};
    const formula_text of = {text, 2, 1, dtypes, names, WEFT_F32};
    reference_formula formula;
    complaint why;
    if (!reference_formula_read(&formula, &of, &why))
        fail_msg("%s: %s", text, why.text);
    return reference_formula_at(&formula, named);
}

static wide error_of(const char *text, wide a, wide a_error, wide b)
{
    const formula_number named[] = {{a, a_error, 0}, {b, 0, 0}, {2, 0, 0}};
    return of_numbers(text, named).error;
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
    const formula_number beyond = of_numbers("a * b", named);
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
        cmocka_unit_test(vectors_lie_within_the_bounds),
        cmocka_unit_test(every_function_has_vectors),
        cmocka_unit_test(what_the_library_refuses_is_told),
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
