// SPDX-License-Identifier: Apache-2.0
// The reference of dense products and its bound: exact on small whole numbers, wide enough for sums
// in f32 in any order, and not so wide that a lost term would pass.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/random.h"
#include "reference_matmul.h"
#include "scalar.h"

//   A  1 2     B  1 2 3     A B   9 12 15     C0  10 20 30
//      3 4        4 5 6          19 26 33         40 50 60
//      5 6                       29 40 51         70 80 90
static const float A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 4, 5, 6};
static const float C0[] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
static const int64_t TALL[] = {3, 2}, WIDE[] = {2, 3}, SQUARE[] = {3, 3};

static reference_matmul small_problem(void)
{
    return (reference_matmul){
        .alpha = 1,
        .A = host_tensor_dense(WEFT_F32, A, 2, TALL),
        .B = host_tensor_dense(WEFT_F32, B, 2, WIDE),
        .C = host_tensor_dense(WEFT_F32, NULL, 2, SQUARE),
    };
}

static reference_values run(const reference_matmul *problem)
{
    reference_values values;
    complaint why;
    if (!reference_matmul_run(&values, problem, &why))
        fail_msg("%s", why.text);
    return values;
}

static void expect(const reference_matmul *problem, int64_t count, const double *want)
{
    reference_values values = run(problem);
    assert_int_equal(values.count, count);
    for (int64_t i = 0; i < count; i++) {
        if (values.want[i] != want[i])
            fail_msg("element %d is %g, not %g", (int)i, values.want[i], want[i]);
        assert_true(values.bound[i] > 0 && values.bound[i] < 1e-3);
    }
    reference_values_free(&values);
}

static void the_reference_is_the_formula(void **state)
{
    static const double plain[] = {9, 12, 15, 19, 26, 33, 29, 40, 51};
    static const double scaled[] = {-13, -14, -15, -18, -27, -36, -23, -40, -57};
    static const double only_c0[] = {5, 10, 15, 20, 25, 30, 35, 40, 45};
    reference_matmul problem = small_problem();
    (void)state;
    expect(&problem, 9, plain);
    problem.alpha = -2;
    problem.beta = 0.5;
    problem.C.data = C0;
    expect(&problem, 9, scaled);
    problem.alpha = 0;
    problem.A.data = problem.B.data = NULL;
    expect(&problem, 9, only_c0);
    problem.alpha = 1;
    problem.A.shape[1] = problem.B.shape[0] = 0;
    expect(&problem, 9, only_c0);
}

static void operands_have_any_strides(void **state)
{
    static const double transposed[] = {22, 28, 49, 64};       // B A
    static const float padded_C0[] = {0, 1, 0, 2, 0, 3, 0, 4}; // one number in front of each
    static const double with_c0[] = {23, 30, 52, 68};
    reference_matmul problem = {
        .alpha = 1,
        .A = host_tensor_dense(WEFT_F32, B, 2, WIDE),
        .B = host_tensor_dense(WEFT_F32, A, 2, TALL),
        .C = {.dtype = WEFT_F32, .ndim = 2, .shape = {2, 2}, .stride = {2, 1}},
    };
    (void)state;
    expect(&problem, 4, transposed);
    problem.beta = 1;
    problem.C = (host_tensor){padded_C0, WEFT_F32, 1, 2, {2, 2}, {4, 2}};
    expect(&problem, 4, with_c0);
    // A with its columns from behind, and B, which puts them back.
    static const float unit[] = {0, 1, 1, 0};
    problem = (reference_matmul){
        .alpha = 1,
        .A = {A, WEFT_F32, 1, 2, {3, 2}, {2, -1}},
        .B = {unit, WEFT_F32, 0, 2, {2, 2}, {2, 1}},
        .C = {.dtype = WEFT_F32, .ndim = 2, .shape = {3, 2}},
    };
    expect(&problem, 6, (double[]){1, 2, 3, 4, 5, 6});
}

// A of 2 x 1 matrices, B of 3, one product for each pair.
static void batches_broadcast(void **state)
{
    static const float a[] = {1, 2, 10, 20}, b[] = {1, 1, 2, 3, 5, 7};
    static const float c0[] = {1, 2, 3, 4, 5, 6};
    static const double want[] = {3, 8, 19, 30, 80, 190};
    static const double with_c0[] = {4, 10, 22, 34, 85, 196};
    reference_matmul problem = {
        .alpha = 1,
        .A = host_tensor_dense(WEFT_F32, a, 4, (int64_t[]){2, 1, 1, 2}),
        .B = host_tensor_dense(WEFT_F32, b, 3, (int64_t[]){3, 2, 1}),
        .C = host_tensor_dense(WEFT_F32, c0, 4, (int64_t[]){2, 3, 1, 1}),
    };
    (void)state;
    expect(&problem, 6, want);
    problem.beta = 1;
    expect(&problem, 6, with_c0);
    problem.C.shape[0] = problem.A.shape[0] = 0;
    expect(&problem, 0, NULL);
}

static void an_element_without_terms_is_exact(void **state)
{
    reference_matmul problems[] = {small_problem(), small_problem()};
    (void)state;
    problems[0].alpha = 0;
    problems[1].A.shape[1] = problems[1].B.shape[0] = 0;
    for (int i = 0; i < 2; i++) {
        reference_values values = run(&problems[i]);
        for (int at = 0; at < 9; at++)
            assert_true(values.want[at] == 0 && values.bound[at] == 0);
        reference_values_free(&values);
    }
}

static void whole_numbers_wrap(void **state)
{
    static const int8_t a[] = {-128, 127, 3}, b[] = {-128, 2, 127, -1, -7, 0};
    static const int32_t c0[] = {INT32_MAX, -5};
    reference_matmul problem = {
        .alpha = 1,
        .A = host_tensor_dense(WEFT_I8, a, 2, (int64_t[]){1, 3}),
        .B = host_tensor_dense(WEFT_I8, b, 2, (int64_t[]){3, 2}),
        .C = host_tensor_dense(WEFT_I32, c0, 2, (int64_t[]){1, 2}),
    };
    (void)state;
    reference_values values = run(&problem);
    assert_null(values.want);
    assert_true(values.whole[0] == 32492 && values.whole[1] == -383);
    reference_values_free(&values);
    problem.alpha = INT32_MIN + 3.0;
    problem.beta = 2;
    values = run(&problem);
    assert_true(values.whole[0] == (int32_t)(3u * 32492u - 2u));
    assert_true(values.whole[1] == (int32_t)(0x80000000u - 3u * 383u - 10u));
    reference_values_free(&values);
}

// What is not finite must be as it is; where a sum may overflow, anything goes.
static void infinities_and_overflows_are_told_apart(void **state)
{
    static const float a[] = {INFINITY, 1, NAN, 1, 3e38f, 3e38f}, b[] = {1, 1};
    const reference_matmul problem = {
        .alpha = 1,
        .A = host_tensor_dense(WEFT_F32, a, 2, TALL),
        .B = host_tensor_dense(WEFT_F32, b, 2, (int64_t[]){2, 1}),
        .C = host_tensor_dense(WEFT_F32, NULL, 2, (int64_t[]){3, 1}),
    };
    (void)state;
    reference_values values = run(&problem);
    assert_true(values.want[0] == INFINITY && values.bound[0] == 0);
    assert_true(isnan(values.want[1]) && values.bound[1] == 0);
    assert_true(values.bound[2] == INFINITY);
    reference_values_free(&values);
}

// ---- the bound: one element of LENGTH terms

enum { LENGTH = 1000, N_TRIES = 200 };
static const double alpha = 0.7, beta = -0.3;

typedef struct long_element {
    weft_dtype dtype, c_dtype;
    double a[LENGTH], b[LENGTH], c0[1]; // of any data type, doubles being the largest
} long_element;

static void fill_element(long_element *element, weft_dtype dtype, weft_dtype c_dtype, uint64_t seed)
{
    *element = (long_element){.dtype = dtype, .c_dtype = c_dtype};
    random_fill(seed, RANDOM_LEFT, dtype, element->a, LENGTH);
    random_fill(seed, RANDOM_DENSE, dtype, element->b, LENGTH);
    random_fill(seed, RANDOM_OUTPUT, c_dtype, element->c0, 1);
}

// As a device would come to it, without term `lost`: partial sums in f32, or f64, then rounded to
// storage.
static void sum_in_parts(const long_element *element, int n_parts, int lost, double *C)
{
    const double c0 = scalar_get(element->c_dtype, element->c0, 0);
    float parts[16] = {0};
    double wide_parts[16] = {0};
    for (int l = 0; l < LENGTH; l++) {
        const double a = l == lost ? 0 : scalar_get(element->dtype, element->a, l);
        const double b = scalar_get(element->dtype, element->b, l);
        parts[l % n_parts] += (float)a * (float)b;
        wide_parts[l % n_parts] += a * b;
    }
    for (int i = 1; i < n_parts; i++) {
        parts[0] += parts[i];
        wide_parts[0] += wide_parts[i];
    }
    const float narrow = (float)alpha * parts[0] + (float)beta * (float)c0;
    scalar_put(element->c_dtype, C, 0,
               element->dtype == WEFT_F64 ? alpha * wide_parts[0] + beta * c0 : (double)narrow);
}

static double error_of(const long_element *element, const double *got)
{
    const int64_t one[] = {1, 1};
    const reference_matmul problem = {
        .alpha = alpha,
        .beta = beta,
        .A = host_tensor_dense(element->dtype, element->a, 2, (int64_t[]){1, LENGTH}),
        .B = host_tensor_dense(element->dtype, element->b, 2, (int64_t[]){LENGTH, 1}),
        .C = host_tensor_dense(element->c_dtype, element->c0, 2, one),
    };
    const host_tensor C = host_tensor_dense(element->c_dtype, got, 2, one);
    reference_values values = run(&problem);
    reference_worst worst;
    complaint why;
    assert_true(reference_values_compare(&values, &C, &worst, &why));
    reference_values_free(&values);
    return worst.error;
}

static void the_bound_holds_in_any_order(void **state)
{
    static const weft_dtype dtypes[][2] = {{WEFT_F32, WEFT_F32},   {WEFT_F64, WEFT_F64},
                                           {WEFT_F16, WEFT_F16},   {WEFT_F16, WEFT_F32},
                                           {WEFT_BF16, WEFT_BF16}, {WEFT_F32, WEFT_BF16}};
    static long_element element;
    double C;
    (void)state;
    for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++)
        for (uint64_t seed = 0; seed < N_TRIES; seed++) {
            fill_element(&element, dtypes[t][0], dtypes[t][1], seed);
            sum_in_parts(&element, 1 + (int)(seed % 16), -1, &C);
            const double error = error_of(&element, &C);
            if (!(error <= 1))
                fail_msg("%s to %s, seed %d: error %g", weft_dtype_name(dtypes[t][0]),
                         weft_dtype_name(dtypes[t][1]), (int)seed, error);
        }
}

static void a_lost_term_is_seen(void **state)
{
    static const weft_dtype dtypes[][2] = {
        {WEFT_F32, WEFT_F32}, {WEFT_F64, WEFT_F64}, {WEFT_F16, WEFT_F32}};
    static long_element element;
    double C;
    (void)state;
    for (int t = 0; t < 3; t++) {
        fill_element(&element, dtypes[t][0], dtypes[t][1], 1);
        sum_in_parts(&element, 8, 500, &C);
        assert_true(error_of(&element, &C) > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula),
        cmocka_unit_test(operands_have_any_strides),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(an_element_without_terms_is_exact),
        cmocka_unit_test(whole_numbers_wrap),
        cmocka_unit_test(infinities_and_overflows_are_told_apart),
        cmocka_unit_test(the_bound_holds_in_any_order),
        cmocka_unit_test(a_lost_term_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
