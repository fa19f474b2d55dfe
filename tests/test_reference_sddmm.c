// SPDX-License-Identifier: Apache-2.0
// The SDDMM reference and its bound: exact on small whole numbers, wide enough for sums in f32 in
// any order, and not so wide that a lost term would pass.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/random.h"
#include "reference_sddmm.h"
#include "scalar.h"

//   C  1 . 2     A  1 2     B  1 2 3     A B   9 12 15     D0  10 20 30
//      . . .        3 4        4 5 6          19 26 33
//      . 3 .        5 6                       29 40 51
static int32_t offsets[] = {0, 2, 2, 3};
static int32_t indices[] = {0, 2, 1};
static float values[] = {1, 2, 3};
static const float A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 4, 5, 6};
static const float transposed_B[] = {1, 4, 2, 5, 3, 6}, D0[] = {10, 20, 30};
static const weft_csr_host C = {3, 3, 3, WEFT_I32, WEFT_I32, WEFT_F32, offsets, indices, values};

static void expect(const reference_sddmm *problem, const double *want)
{
    double *reference, *bound;
    complaint why;
    assert_true(reference_sddmm_run(problem, &reference, &bound, &why));
    for (int e = 0; e < 3; e++) {
        if (reference[e] != want[e])
            fail_msg("entry %d is %g, not %g", e, reference[e], want[e]);
        assert_true(bound[e] > 0 && bound[e] < 1e-3);
    }
    free(reference);
    free(bound);
}

static void the_reference_is_the_formula(void **state)
{
    static const double plain[] = {9, 30, 120}, places[] = {9, 15, 40};
    static const double scaled[] = {-13, -50, -225}, only_d0[] = {5, 10, 15};
    reference_sddmm problem = {.C = &C, .k = 2, .alpha = 1, .A = A, .B = B, .b_row = 3};
    (void)state;
    problem.b_column = 1;
    expect(&problem, plain);
    problem.indicator = true;
    expect(&problem, places);
    problem.indicator = false;
    problem.B = transposed_B;
    problem.b_row = 1;
    problem.b_column = 2;
    expect(&problem, plain);
    problem.alpha = -2;
    problem.beta = 0.5;
    problem.D0 = D0;
    expect(&problem, scaled);
    problem.alpha = 0;
    problem.A = problem.B = NULL;
    expect(&problem, only_d0);
    problem.alpha = 1;
    problem.k = 0;
    expect(&problem, only_d0);
}

//   A  1 2, the 1 as 3 - 2     B  1 7 .     the 4 as 1 + 3     A B   9  7  6
//      . .                        4 . 3                              .  .  .
//      . 6                                                          24  .  18
static void sparse_factors_have_what_they_store(void **state)
{
    static int32_t a_offsets[] = {0, 3, 3, 4}, a_indices[] = {0, 1, 0, 1};
    static int32_t b_offsets[] = {0, 3, 4, 5}, b_indices[] = {1, 0, 1, 0, 1};
    static float a_values[] = {3, 2, -2, 6}, b_values[] = {1, 1, 3, 7, 3};
    static const weft_csr_host sparse_A = {3,        2,         4,         WEFT_I32, WEFT_I32,
                                           WEFT_F32, a_offsets, a_indices, a_values};
    static const weft_csr_host sparse_B = {3,        2,         5,         WEFT_I32, WEFT_I32,
                                           WEFT_F32, b_offsets, b_indices, b_values};
    static const float infinite_B[] = {1, INFINITY, 3, 4, 5, 6}; // where (3, 2) stores nothing
    static const double left[] = {9, 30, 90}, right[] = {9, 12, 105}, both[] = {9, 12, 0};
    reference_sddmm problem = {.C = &C, .k = 2, .alpha = 1, .B = B, .b_row = 3, .b_column = 1};
    (void)state;
    problem.sparse_A = &sparse_A;
    expect(&problem, left);
    problem.B = infinite_B;
    expect(&problem, left);
    problem.B = NULL;
    problem.sparse_B = &sparse_B;
    expect(&problem, both);
    problem.sparse_A = NULL;
    problem.A = A;
    expect(&problem, right);
}

// 2^24 + 1 - 2^24, which in f32 is 0.
static void repeated_columns_are_rounded(void **state)
{
    static int32_t one_row[] = {0, 1}, three[] = {0, 3}, columns[] = {0, 0, 0};
    static float one[] = {1}, cancelling[] = {16777216, 1, -16777216};
    static const float D[] = {0};
    const weft_csr_host entry = {1, 1, 1, WEFT_I32, WEFT_I32, WEFT_F32, one_row, columns, one};
    const weft_csr_host many = {1, 1, 3, WEFT_I32, WEFT_I32, WEFT_F32, three, columns, cancelling};
    reference_sddmm problem = {.C = &entry, .k = 1, .alpha = 1, .A = one, .B = one};
    reference_result result;
    complaint why;
    (void)state;
    for (int i = 0; i < 3; i++) { // of none, of A, of B
        problem.sparse_A = i == 1 ? &many : NULL;
        problem.sparse_B = i == 2 ? &many : NULL;
        assert_true(reference_sddmm_compare(&problem, D, &result, &why));
        assert_true(result.want == 1);
        assert_int_equal(result.error <= 1, i > 0);
    }
}

static void an_entry_without_terms_is_exact(void **state)
{
    static const reference_sddmm problems[] = {{.C = &C, .k = 2}, {.C = &C, .alpha = 1}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        double *reference, *bound;
        complaint why;
        assert_true(reference_sddmm_run(&problems[i], &reference, &bound, &why));
        for (int e = 0; e < 3; e++)
            assert_true(reference[e] == 0 && bound[e] == 0);
        free(reference);
        free(bound);
    }
}

// One entry of LENGTH terms.
enum { LENGTH = 1000, N_TRIES = 200 };
static const double alpha = 0.7, beta = -0.3;

typedef struct long_entry {
    int32_t offsets[2], indices[1];
    double a[LENGTH], b[LENGTH], c[1], d0[1]; // of any data type, doubles being the largest
    weft_csr_host C;
} long_entry;

static void fill_entry(long_entry *entry, weft_dtype dtype, uint64_t seed)
{
    *entry = (long_entry){.offsets = {0, 1}};
    random_fill(seed, RANDOM_LEFT, dtype, entry->a, LENGTH);
    random_fill(seed, RANDOM_DENSE, dtype, entry->b, LENGTH);
    random_fill(seed, RANDOM_VALUES, dtype, entry->c, 1);
    random_fill(seed, RANDOM_OUTPUT, dtype, entry->d0, 1);
    entry->C = (weft_csr_host){
        1, 1, 1, WEFT_I32, WEFT_I32, dtype, entry->offsets, entry->indices, entry->c};
}

// As a device would come to it, without term `lost`: partial sums in f32, or f64, then rounded to
// storage.
static void sum_in_parts(const long_entry *entry, int n_parts, int lost, double *D)
{
    const weft_dtype dtype = entry->C.dtype;
    const double c = scalar_get(dtype, entry->c, 0), d0 = scalar_get(dtype, entry->d0, 0);
    float parts[16] = {0};
    double wide_parts[16] = {0};
    for (int l = 0; l < LENGTH; l++) {
        const double a = l == lost ? 0 : scalar_get(dtype, entry->a, l);
        const double b = scalar_get(dtype, entry->b, l);
        parts[l % n_parts] += (float)a * (float)b;
        wide_parts[l % n_parts] += a * b;
    }
    for (int i = 1; i < n_parts; i++) {
        parts[0] += parts[i];
        wide_parts[0] += wide_parts[i];
    }
    const float narrow = (float)alpha * parts[0] * (float)c + (float)beta * (float)d0;
    scalar_put(dtype, D, 0,
               dtype == WEFT_F64 ? alpha * wide_parts[0] * c + beta * d0 : (double)narrow);
}

static double error_of(const long_entry *entry, const double *D)
{
    const reference_sddmm problem = {.C = &entry->C,
                                     .k = LENGTH,
                                     .alpha = alpha,
                                     .beta = beta,
                                     .A = entry->a,
                                     .B = entry->b,
                                     .b_row = 1,
                                     .D0 = entry->d0};
    reference_result result;
    complaint why;
    assert_true(reference_sddmm_compare(&problem, D, &result, &why));
    return result.error;
}

static void the_bound_holds_in_any_order(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    static long_entry entry;
    double D;
    (void)state;
    for (int t = 0; t < 4; t++)
        for (uint64_t seed = 0; seed < N_TRIES; seed++) {
            fill_entry(&entry, dtypes[t], seed);
            sum_in_parts(&entry, 1 + (int)(seed % 16), -1, &D);
            const double error = error_of(&entry, &D);
            if (!(error <= 1))
                fail_msg("%s, seed %d: error %g", weft_dtype_name(dtypes[t]), (int)seed, error);
        }
}

static void a_lost_term_is_seen(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    static long_entry entry;
    double D;
    (void)state;
    for (int t = 0; t < 2; t++) {
        fill_entry(&entry, dtypes[t], 1);
        sum_in_parts(&entry, 8, 500, &D);
        assert_true(error_of(&entry, &D) > 1);
    }
}

static void the_worst_entry_is_named(void **state)
{
    static const float D[] = {9, 30.5f, 120};
    const reference_sddmm problem = {
        .C = &C, .k = 2, .alpha = 1, .A = A, .B = B, .b_row = 3, .b_column = 1};
    reference_result result;
    complaint why;
    (void)state;
    assert_true(reference_sddmm_compare(&problem, D, &result, &why));
    assert_true(result.error > 1);
    assert_int_equal(result.row, 0);
    assert_int_equal(result.col, 2);
    assert_true(result.got == 30.5 && result.want == 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula),
        cmocka_unit_test(sparse_factors_have_what_they_store),
        cmocka_unit_test(repeated_columns_are_rounded),
        cmocka_unit_test(an_entry_without_terms_is_exact),
        cmocka_unit_test(the_bound_holds_in_any_order),
        cmocka_unit_test(a_lost_term_is_seen),
        cmocka_unit_test(the_worst_entry_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
