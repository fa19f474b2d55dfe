// SPDX-License-Identifier: Apache-2.0
// The SpMM reference and its bound: exact on small whole numbers, wide enough for sums in f32 in
// any order, and not so wide that a lost term would pass.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/random.h"
#include "precision.h"
#include "reference.h"
#include "reference_activation.h"
#include "scalar.h"

//   1 0 2      B  1 2     C0  10 20
//   0 0 0         3 4         30 40
//   0 3 0         5 6         50 60
static int32_t offsets[] = {0, 2, 2, 3};
static int32_t indices[] = {0, 2, 1};
static float values[] = {1, 2, 3};
static const float B[] = {1, 2, 3, 4, 5, 6};
static const float C0[] = {10, 20, 30, 40, 50, 60};
static const weft_csr_host A = {3, 3, 3, WEFT_I32, WEFT_I32, WEFT_F32, offsets, indices, values};

static void expect(const reference_spmm *problem, const double *want)
{
    double *reference, *bound;
    complaint why;
    assert_true(reference_spmm_run(problem, &reference, &bound, &why));
    for (int i = 0; i < 6; i++) {
        if (reference[i] != want[i])
            fail_msg("element %d is %g, not %g", i, reference[i], want[i]);
        assert_true(bound[i] >= 0 && bound[i] < 1e-4);
    }
    free(reference);
    free(bound);
}

static void the_reference_is_the_formula(void **state)
{
    const double plain[] = {11, 14, 0, 0, 9, 12};
    const double scaled[] = {-17, -18, 15, 20, 7, 6};
    const double transposed[] = {1, 2, 15, 18, 2, 4};
    const double only_c0[] = {5, 10, 15, 20, 25, 30};
    (void)state;
    expect(&(reference_spmm){.A = &A, .n = 2, .alpha = 1, .B = B}, plain);
    expect(&(reference_spmm){.A = &A, .n = 2, .alpha = -2, .beta = 0.5, .B = B, .C0 = C0}, scaled);
    expect(&(reference_spmm){.A = &A, .transpose_a = true, .n = 2, .alpha = 1, .B = B}, transposed);
    expect(&(reference_spmm){.A = &A, .n = 2, .beta = 0.5, .B = B, .C0 = C0}, only_c0);
}

static void expect_arguments(const reference_spmm *problem, const int64_t *want)
{
    complaint why;
    int64_t *found = reference_spmm_arguments(problem, &why);
    assert_non_null(found);
    for (int i = 0; i < 6; i++)
        assert_int_equal(found[i], want[i]);
    free(found);
}

static void other_reductions_are_their_formulas(void **state)
{
    const double mean[] = {5.5, 7, 0, 0, 9, 12};
    const double most[] = {10, 12, 0, 0, 9, 12};
    const double least[] = {1 * -2 + 5, 2 * -2 + 10, 15, 20, 9 * -2 + 25, 12 * -2 + 30};
    const double transposed[] = {1, 2, 15, 18, 2, 4};
    const int64_t of_most[] = {1, 1, -1, -1, 2, 2}, of_least[] = {0, 0, -1, -1, 2, 2};
    const int64_t of_transposed[] = {0, 0, 2, 2, 1, 1}, none[] = {-1, -1, -1, -1, -1, -1};
    reference_spmm problem = {.A = &A, .n = 2, .reduction = WEFT_SPMM_MEAN, .alpha = 1, .B = B};
    (void)state;
    expect(&problem, mean);
    expect_arguments(&problem, none);
    problem.reduction = WEFT_SPMM_MAX;
    expect(&problem, most);
    expect_arguments(&problem, of_most);
    problem.reduction = WEFT_SPMM_MIN;
    problem.transpose_a = true;
    expect(&problem, transposed);
    expect_arguments(&problem, of_transposed);
    problem = (reference_spmm){
        .A = &A, .n = 2, .reduction = WEFT_SPMM_MIN, .alpha = -2, .beta = 0.5, .B = B, .C0 = C0};
    expect(&problem, least);
    expect_arguments(&problem, of_least);
    problem.alpha = 0;
    expect_arguments(&problem, none);
}

static void an_element_without_terms_is_exact(void **state)
{
    double *reference, *bound;
    complaint why;
    const reference_spmm problem = {.A = &A, .n = 2, .alpha = 1, .B = B};
    (void)state;
    assert_true(reference_spmm_run(&problem, &reference, &bound, &why));
    assert_true(bound[0] > 0 && bound[2] == 0 && bound[3] == 0);
    free(reference);
    free(bound);
}

static void errors_are_counted_in_bounds(void **state)
{
    static const struct {
        weft_dtype dtype;
        double got, want, bound, error;
    } cases[] = {
        {WEFT_F32, 1, 1, 0, 0},
        {WEFT_F32, 1.5, 1, 0.25, 2},
        {WEFT_F32, 1e-40, 0, 0, INFINITY},
        {WEFT_F32, NAN, 1, 0.25, INFINITY},
        {WEFT_F32, 1, NAN, 0.25, INFINITY},
        {WEFT_F32, NAN, NAN, NAN, 0},
        {WEFT_F32, INFINITY, INFINITY, 1, 0},
        {WEFT_F32, -INFINITY, INFINITY, 1, INFINITY},
        {WEFT_F32, INFINITY, 1, 1, INFINITY},
        {WEFT_F32, INFINITY, 4e38, 1, 0},
        {WEFT_F32, -INFINITY, 4e38, 1, INFINITY},
        {WEFT_F16, INFINITY, 65519, 40, 0},
        {WEFT_F16, INFINITY, 65000, 40, INFINITY},
        {WEFT_BF16, INFINITY, 65000, 40, INFINITY},
        {WEFT_F32, NAN, 1, INFINITY, 0},
        {WEFT_F64, 1, NAN, INFINITY, 0},
        {WEFT_F64, 1, -INFINITY, INFINITY, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double error =
            reference_error(cases[i].dtype, cases[i].got, cases[i].want, cases[i].bound);
        if (error != cases[i].error)
            fail_msg("case %zu: %g, not %g", i, error, cases[i].error);
    }
}

// The error of C = alpha a B with a row of two entries and one column.
static double error_of_pair(weft_dtype dtype, double alpha, const double *a, const double *b,
                            double got)
{
    static const int32_t starts[] = {0, 2}, columns[] = {0, 1};
    double a_data[2], b_data[2], C; // of any data type, doubles being the largest
    for (int i = 0; i < 2; i++) {
        scalar_put(dtype, a_data, i, a[i]);
        scalar_put(dtype, b_data, i, b[i]);
    }
    scalar_put(dtype, &C, 0, got);
    const weft_csr_host pair = {
        1, 2, 2, WEFT_I32, WEFT_I32, dtype, (void *)starts, (void *)columns, a_data};
    const reference_spmm problem = {.A = &pair, .n = 1, .alpha = alpha, .B = b_data};
    reference_result result;
    complaint why;
    assert_true(reference_spmm_compare(&problem, &C, &result, &why));
    return result.error;
}

// Where sums may overflow any result is right, in every data type; what infinities and NaN among
// the data make is not any result.
static void sums_that_may_overflow_have_no_bound(void **state)
{
    static const struct {
        weft_dtype dtype;
        double alpha, a[2], b[2];
        double right[3], wrong; // NAN: none is
    } cases[] = {
        {WEFT_F32, 1e28, {1e12, 1}, {-3, 1}, {-INFINITY, NAN, 1}, NAN},
        {WEFT_F32, 1, {2e38, -2e38}, {1, 1}, {0, INFINITY, NAN}, NAN},
        {WEFT_F64, 1e300, {1e12, 1}, {-3, 1}, {-INFINITY, NAN, 1}, NAN},
        {WEFT_F64, 1, {1e308, 1e308}, {-1, -1}, {-INFINITY, -1e308, NAN}, NAN},
        {WEFT_F64, 1, {1e200, 1e200}, {1e200, -1e200}, {NAN, INFINITY, 0}, NAN},
        {WEFT_BF16, 1, {2e38, 2e38}, {1, 1}, {INFINITY, 0, NAN}, NAN},
        {WEFT_F32, 1, {1, -INFINITY}, {1, 1}, {-INFINITY, -INFINITY, -INFINITY}, INFINITY},
        {WEFT_F64, 1, {1, -INFINITY}, {1, 1}, {-INFINITY, -INFINITY, -INFINITY}, 1},
        {WEFT_F64, 1, {1, INFINITY}, {1, 0}, {NAN, NAN, NAN}, 1},
        {WEFT_F16, 1, {1, INFINITY}, {1, 1}, {INFINITY, INFINITY, INFINITY}, 65504},
        {WEFT_F32, 1e-40, {1, INFINITY}, {1, 1}, {INFINITY, NAN, INFINITY}, NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_dtype dtype = cases[i].dtype;
        for (int j = 0; j < 3; j++) {
            const double error =
                error_of_pair(dtype, cases[i].alpha, cases[i].a, cases[i].b, cases[i].right[j]);
            if (error != 0)
                fail_msg("case %zu: %g is %g bounds off", i, cases[i].right[j], error);
        }
        if (!isnan(cases[i].wrong))
            assert_true(error_of_pair(dtype, cases[i].alpha, cases[i].a, cases[i].b,
                                      cases[i].wrong) == INFINITY);
    }
}

// relu of a sum without a bound has none either.
static void no_bound_survives_an_activation(void **state)
{
    for (int f = WEFT_ACTIVATION_NONE; f <= WEFT_ACTIVATION_TANH; f++) {
        const precision p = precision_of(WEFT_F32);
        assert_true(reference_activation_error((weft_activation)f, &p, 1, INFINITY) == INFINITY);
        assert_true(precision_stored(&p, 1, INFINITY) == INFINITY);
    }
    (void)state;
}

// Row 0 of a 1 x LENGTH matrix, all of it stored.
enum { LENGTH = 1000, N_TRIES = 200 };

typedef struct long_row {
    int32_t offsets[2], indices[LENGTH];
    double values[LENGTH], B[LENGTH]; // of any data type, doubles being the largest
    weft_csr_host A;
} long_row;

static void fill_row(long_row *row, weft_dtype dtype, uint64_t seed)
{
    row->offsets[0] = 0;
    row->offsets[1] = LENGTH;
    for (int e = 0; e < LENGTH; e++)
        row->indices[e] = e;
    random_fill(seed, RANDOM_VALUES, dtype, row->values, LENGTH);
    random_fill(seed, RANDOM_DENSE, dtype, row->B, LENGTH);
    row->A = (weft_csr_host){.n_rows = 1,
                             .n_cols = LENGTH,
                             .nnz = LENGTH,
                             .offset_dtype = WEFT_I32,
                             .index_dtype = WEFT_I32,
                             .dtype = dtype,
                             .offsets = row->offsets,
                             .indices = row->indices,
                             .values = row->values};
}

// The product as a device would come to it: partial sums in f32, or f64, then rounded to storage.
static void sum_in_parts(const long_row *row, int n_parts, void *C)
{
    const weft_dtype dtype = row->A.dtype;
    float parts[16] = {0};
    double wide_parts[16] = {0};
    for (int e = 0; e < LENGTH; e++) {
        const double a = scalar_get(dtype, row->values, e), b = scalar_get(dtype, row->B, e);
        parts[e % n_parts] += (float)a * (float)b;
        wide_parts[e % n_parts] += a * b;
    }
    for (int i = 1; i < n_parts; i++) {
        parts[0] += parts[i];
        wide_parts[0] += wide_parts[i];
    }
    scalar_put(dtype, C, 0, dtype == WEFT_F64 ? wide_parts[0] : (double)parts[0]);
}

static double error_of(const long_row *row, const void *C)
{
    const reference_spmm problem = {.A = &row->A, .n = 1, .alpha = 1, .B = row->B};
    reference_result result;
    complaint why;
    assert_true(reference_spmm_compare(&problem, C, &result, &why));
    return result.error;
}

static void the_bound_holds_in_any_order(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    long_row row;
    double C;
    (void)state;
    for (int t = 0; t < 4; t++)
        for (uint64_t seed = 0; seed < N_TRIES; seed++) {
            fill_row(&row, dtypes[t], seed);
            sum_in_parts(&row, 1 + (int)(seed % 16), &C);
            const double error = error_of(&row, &C);
            if (!(error <= 1))
                fail_msg("%s, seed %d: error %g", weft_dtype_name(dtypes[t]), (int)seed, error);
        }
}

static void a_lost_term_is_seen(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    long_row row;
    double C;
    (void)state;
    for (int t = 0; t < 2; t++) {
        fill_row(&row, dtypes[t], 1);
        sum_in_parts(&row, 8, &C);
        const double lost =
            scalar_get(dtypes[t], row.values, 500) * scalar_get(dtypes[t], row.B, 500);
        scalar_put(dtypes[t], &C, 0, scalar_get(dtypes[t], &C, 0) - lost);
        assert_true(error_of(&row, &C) > 1);
    }
}

static void the_worst_element_is_named(void **state)
{
    const float C[] = {11, 14, 0, 0, 9.5f, 12};
    const reference_spmm problem = {.A = &A, .n = 2, .alpha = 1, .B = B};
    reference_result result;
    complaint why;
    (void)state;
    assert_true(reference_spmm_compare(&problem, C, &result, &why));
    assert_true(result.error > 1);
    assert_int_equal(result.row, 2);
    assert_int_equal(result.col, 0);
    assert_true(result.got == 9.5 && result.want == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula),
        cmocka_unit_test(other_reductions_are_their_formulas),
        cmocka_unit_test(an_element_without_terms_is_exact),
        cmocka_unit_test(errors_are_counted_in_bounds),
        cmocka_unit_test(sums_that_may_overflow_have_no_bound),
        cmocka_unit_test(no_bound_survives_an_activation),
        cmocka_unit_test(the_bound_holds_in_any_order),
        cmocka_unit_test(a_lost_term_is_seen),
        cmocka_unit_test(the_worst_element_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
