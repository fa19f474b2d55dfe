// SPDX-License-Identifier: Apache-2.0
// The reference of sparse attention and its bound: the formula on numbers that can be checked by
// hand, and not so wide that a lost entry would pass.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reference_attention.h"

//   1 . 1      Q  1 0     K  0   9     V  1 10
//   . . .         2 1        5   5        2 20
//   . 1 .         3 4        L   9        5 50      L: ln 3
static int32_t offsets[] = {0, 2, 2, 3};
static int32_t indices[] = {0, 2, 1};
static const weft_csr_host M = {.n_rows = 3,
                                .n_cols = 3,
                                .nnz = 3,
                                .offset_dtype = WEFT_I32,
                                .index_dtype = WEFT_I32,
                                .offsets = offsets,
                                .indices = indices};
static const float Q[] = {1, 0, 2, 1, 3, 4};
static const float V[] = {1, 10, 2, 20, 5, 50};
enum { N = 6 };

// K's element (2, 0), whose product with row 0 of Q it is.
static void run(float element, double scale, double want[N], double bound[N])
{
    const float K[] = {0, 9, 5, 5, element, 9};
    const reference_attention problem = {
        .M = &M, .dtype = WEFT_F32, .k = 2, .d = 2, .scale = scale, .Q = Q, .K = K, .V = V};
    double *reference, *bounds;
    complaint why;
    assert_true(reference_attention_run(&problem, &reference, &bounds, &why));
    memcpy(want, reference, N * sizeof(*want));
    memcpy(bound, bounds, N * sizeof(*bound));
    free(reference);
    free(bounds);
}

static void expect(float element, double scale, const double want[N])
{
    double got[N], bound[N];
    run(element, scale, got, bound);
    for (int i = 0; i < N; i++) {
        if (!(fabs(got[i] - want[i]) < 1e-6))
            fail_msg("element %d is %g, not %g", i, got[i], want[i]);
        assert_true(bound[i] >= 0 && bound[i] <= 1e-3 * fabs(want[i]));
    }
}

static void the_reference_is_the_formula(void **state)
{
    const double weights_1_and_3[N] = {4, 40, 0, 0, 2, 20};
    const double the_same_weights[N] = {3, 30, 0, 0, 2, 20};
    const double the_first_alone[N] = {1, 10, 0, 0, 2, 20};
    const double the_last_alone[N] = {5, 50, 0, 0, 2, 20};
    (void)state;
    expect(logf(3), 1, weights_1_and_3);
    expect(logf(3) / 2, 2, weights_1_and_3);
    expect(logf(3), 0, the_same_weights);
    expect(-INFINITY, 1, the_first_alone);
    expect(100, 1, the_last_alone);
    expect(-100, 1, the_first_alone);
}

static void what_is_no_number_has_a_kind(void **state)
{
    static const float wild[] = {INFINITY, NAN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        double want[N], bound[N];
        run(wild[i], 1, want, bound);
        assert_true(isnan(want[0]) && isnan(want[1]));
        assert_true(want[2] == 0 && bound[2] == 0);
        assert_true(fabs(want[4] - 2) < 1e-12);
    }
}

// A row without entries is exact; else there is room for a few hundred roundings.
static void the_bound_is_narrow(void **state)
{
    double want[N], bound[N];
    (void)state;
    run(logf(3), 1, want, bound);
    assert_true(bound[2] == 0 && bound[3] == 0);
    for (int i = 0; i < 2; i++)
        assert_true(bound[i] > fabs(want[i]) * 0x1p-24 && bound[i] < fabs(want[i]) * 1e-4);
}

static void what_overflows_has_no_bound(void **state)
{
    double want[N], bound[N];
    (void)state;
    run(1e30F, 1e20, want, bound);
    assert_true(isinf(bound[0]) && isinf(bound[1]) && bound[2] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula),
        cmocka_unit_test(what_is_no_number_has_a_kind),
        cmocka_unit_test(the_bound_is_narrow),
        cmocka_unit_test(what_overflows_has_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
