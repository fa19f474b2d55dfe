// SPDX-License-Identifier: Apache-2.0
// The reference of the backward of layer and RMS normalisation: right on numbers done by hand and
// by the slope of the forward's formula, and not so wide that a lost element would pass.
#include "reference_axis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../tools/random.h"
#include "../tools/wide.h"

static const char *const gradients[] = {"dX", "dW", "db"};

static void expect_values(const reference_values *values, int64_t count, const double *want,
                          double error, bool is_rms, int k)
{
    double largest = 0;
    assert_int_equal(values->count, count);
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < count; i++) {
        if (!(fabs(values->want[i] - want[i]) <= error * largest))
            fail_msg("%s of %s: element %d is %.17g, not %.17g", gradients[k],
                     is_rms ? "RMS" : "layer", (int)i, values->want[i], want[i]);
        if (!(values->bound[i] >= 0 && values->bound[i] <= 1e-3 * largest))
            fail_msg("%s of %s: the bound of element %d is %g", gradients[k],
                     is_rms ? "RMS" : "layer", (int)i, values->bound[i]);
    }
}

static void expect_gradients(const reference_norm_backward *problem, const double *const want[3],
                             double error)
{
    const int64_t columns = problem->X.shape[1], rows = problem->X.shape[0];
    reference_norm_gradients got;
    complaint why;
    assert_true(reference_norm_backward_run(&got, problem, &why));
    const reference_values *const values[3] = {&got.dX, &got.dW, &got.db};
    for (int k = 0; k < 3; k++)
        expect_values(values[k], k == 0 ? rows * columns : columns, want[k], error, problem->is_rms,
                      k);
    reference_norm_gradients_free(&got);
}

// ---- by hand
//
// Distances of -3, -1, 1 and 3 have the variance 5: with epsilon 4 the root's inverse is 1/3, xh is
// -1, -1/3, 1/3 and 1, and the mean of xh^2 is 5/9. Let h be 1, -1, -1 and 1: its mean is 0, and
// that of h xh, too. For g = dy w = c + a xh + e h, then,
//
//     dx = (e h + 4/9 a xh) / 3          of RMS normalisation, where the mean is 0: c / 3 more
//
// and where all distances are 0 the inverse is 1/2, and dx = (g - mean g) / 2, of RMS g / 2.
//
//     row 0   c = 1, a = 9, e = 2      g = -6 -4  2  12
//     row 1   c = 0, a = 9, e = -3     g =  6  0  6 -12, distances of 3, -1, 1 and -3
//     row 2   no distances             g =  3  4  3  -4

static const int64_t by_hand[] = {3, 4};
static const float w_data[] = {3, 2, 1, -1};
static const float dy_data[] = {-2, -2, 2, -12, 2, 0, 6, 12, 1, 2, 3, 4};
static const double want_dw[] = {4, 2 / 3.0, 8 / 3.0, -24}, want_db[] = {1, 0, 11, 4};

static reference_norm_backward hand_problem(const float *x, const host_tensor *w, bool is_rms)
{
    return (reference_norm_backward){host_tensor_dense(WEFT_F32, x, 2, by_hand),
                                     host_tensor_dense(WEFT_F32, dy_data, 2, by_hand),
                                     1,
                                     4,
                                     is_rms,
                                     w};
}

// Around means of 0, 8 million and 8 million.
static void layer_norm_is_its_formula(void **state)
{
    static const float x[] = {-3,      -1,      1,       3,       8000003, 7999999,
                              8000001, 7999997, 8000000, 8000000, 8000000, 8000000};
    static const double dx[] = {-2 / 3.0, -10 / 9.0, -2 / 9.0, 2,    1 / 3.0, 5 / 9.0,
                                13 / 9.0, -7 / 3.0,  0.75,     1.25, 0.75,    -2.75};
    const host_tensor w = host_tensor_dense(WEFT_F32, w_data, 1, by_hand + 1);
    (void)state;
    const reference_norm_backward problem = hand_problem(x, &w, false);
    expect_gradients(&problem, (const double *const[3]){dx, want_dw, want_db}, 1e-14);
}

static void rms_norm_is_its_formula(void **state)
{
    static const float x[] = {-3, -1, 1, 3, 3, -1, 1, -3, 0, 0, 0, 0};
    static const double dx[] = {-1 / 3.0, -7 / 9.0, 1 / 9.0, 7 / 3.0, 1 / 3.0, 5 / 9.0,
                                13 / 9.0, -7 / 3.0, 1.5,     2,       1.5,     -2};
    const host_tensor w = host_tensor_dense(WEFT_F32, w_data, 1, by_hand + 1);
    (void)state;
    const reference_norm_backward problem = hand_problem(x, &w, true);
    expect_gradients(&problem, (const double *const[3]){dx, want_dw, want_db}, 1e-14);
}

// Without rows, and w, there is nothing to sum.
static void no_rows_leave_zeros(void **state)
{
    static const int64_t shape[] = {0, 4};
    static const double zeros[4];
    (void)state;
    for (int is_rms = 0; is_rms < 2; is_rms++) {
        reference_norm_backward problem = hand_problem(w_data, NULL, is_rms);
        problem.X.shape[0] = problem.dY.shape[0] = shape[0];
        expect_gradients(&problem, (const double *const[3]){NULL, zeros, zeros}, 0);
    }
}

// ---- slopes

enum { ROWS = 3, FEW = 13 };

typedef struct operands {
    wide x[ROWS * FEW], dy[ROWS * FEW], w[FEW], b[FEW];
    bool is_rms;
    double epsilon;
} operands;

static wide mean_of(const wide *x)
{
    wide sum = 0;
    for (int i = 0; i < FEW; i++)
        sum += x[i];
    return sum / FEW;
}

// What the forward divides by.
static wide root_of(const wide *x, wide mean, double epsilon)
{
    wide squares = 0;
    for (int i = 0; i < FEW; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrtl(squares / FEW + epsilon);
}

// The sum of dy y, whose gradients are wanted.
static wide weighed(const operands *o)
{
    wide sum = 0;
    for (int row = 0; row < ROWS; row++) {
        const wide *x = o->x + row * FEW, *dy = o->dy + row * FEW;
        const wide mean = o->is_rms ? 0 : mean_of(x), root = root_of(x, mean, o->epsilon);
        for (int i = 0; i < FEW; i++)
            sum += dy[i] * ((x[i] - mean) / root * o->w[i] + o->b[i]);
    }
    return sum;
}

static double slope(const operands *o, wide *number, wide step)
{
    const wide before = *number;
    *number = before + step;
    const wide above = weighed(o);
    *number = before - step;
    const wide below = weighed(o);
    *number = before;
    return (double)((above - below) / (2 * step));
}

static void draw(wide *numbers, double *drawn, int n, double centre, random_stream *stream)
{
    for (int i = 0; i < n; i++)
        numbers[i] = drawn[i] = centre + random_uniform(stream);
}

static void expect_slopes(double centre, double epsilon, bool is_rms, uint64_t seed)
{
    static const int64_t shape[] = {ROWS, FEW};
    double x[ROWS * FEW], dy[ROWS * FEW], w_drawn[FEW], b[FEW];
    double dx[ROWS * FEW], dw[FEW], db[FEW];
    operands o = {.is_rms = is_rms, .epsilon = epsilon};
    random_stream stream = random_start(seed, RANDOM_DENSE);
    draw(o.x, x, ROWS * FEW, centre, &stream);
    draw(o.dy, dy, ROWS * FEW, 0, &stream);
    draw(o.w, w_drawn, FEW, 1, &stream);
    draw(o.b, b, FEW, 0, &stream);
    const wide step = 1e-4 * (is_rms ? fmax(centre, 1) : 1);
    for (int i = 0; i < ROWS * FEW; i++)
        dx[i] = slope(&o, &o.x[i], step);
    for (int i = 0; i < FEW; i++) {
        dw[i] = slope(&o, &o.w[i], 1);
        db[i] = slope(&o, &o.b[i], 1);
    }
    const host_tensor w = host_tensor_dense(WEFT_F64, w_drawn, 1, shape + 1);
    const reference_norm_backward problem = {host_tensor_dense(WEFT_F64, x, 2, shape),
                                             host_tensor_dense(WEFT_F64, dy, 2, shape),
                                             1,
                                             epsilon,
                                             is_rms,
                                             &w};
    expect_gradients(&problem, (const double *const[3]){dx, dw, db}, 1e-6);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    for (int is_rms = 0; is_rms < 2; is_rms++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            expect_slopes(0, 0, is_rms, seed);
            expect_slopes(0, 0.25, is_rms, seed);
            expect_slopes(1e4, 0, is_rms, seed);
            expect_slopes(1e4, 0.25, is_rms, seed);
        }
}

// ---- bounds

enum { LENGTH = 1000 };

// A row's dX and dW in f32, from sums over the first n elements.
static void as_device(float *dx, float *dw, const float *x, const float *dy, int n, bool is_rms)
{
    double mean = 0, square = 0, center = 0, products = 0;
    for (int i = 0; i < n; i++) {
        mean += is_rms ? 0 : (double)x[i] / n;
        center += is_rms ? 0 : (double)dy[i] / n;
    }
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / n;
    const double r = 1 / sqrt(square + 1e-5);
    for (int i = 0; i < n; i++)
        products += dy[i] * (x[i] - mean) * r / n;
    for (int i = 0; i < LENGTH; i++) {
        const double y = (x[i] - mean) * r;
        dx[i] = (float)(r * (dy[i] - center - y * products));
        dw[i] = (float)(dy[i] * y);
    }
}

static double error_of(const reference_values *values, const float *got)
{
    static const int64_t shape[] = {1, LENGTH};
    const host_tensor there = host_tensor_dense(WEFT_F32, got, 2, shape);
    reference_worst worst;
    complaint why;
    assert_true(reference_values_compare(values, &there, &worst, &why));
    return worst.error;
}

// Far from a mean of 1000, too, but for RMS: there all squares are much the same.
static void expect_seen(bool is_rms, uint64_t seed)
{
    static const int64_t shape[] = {1, LENGTH};
    float x[LENGTH], dy[LENGTH], dx[LENGTH], dw[LENGTH];
    random_stream stream = random_start(seed, RANDOM_DENSE);
    for (int i = 0; i < LENGTH; i++) {
        x[i] = (float)((is_rms ? 0 : 1000) + random_uniform(&stream));
        dy[i] = (float)(0.5 + random_uniform(&stream));
    }
    x[LENGTH - 1] += 1;
    reference_norm_gradients want;
    complaint why;
    const reference_norm_backward problem = {host_tensor_dense(WEFT_F32, x, 2, shape),
                                             host_tensor_dense(WEFT_F32, dy, 2, shape),
                                             1,
                                             1e-5,
                                             is_rms,
                                             NULL};
    assert_true(reference_norm_backward_run(&want, &problem, &why));
    as_device(dx, dw, x, dy, LENGTH, is_rms);
    if (!(error_of(&want.dX, dx) <= 1 && error_of(&want.dW, dw) <= 1))
        fail_msg("seed %d: errors of %g and %g", (int)seed, error_of(&want.dX, dx),
                 error_of(&want.dW, dw));
    as_device(dx, dw, x, dy, LENGTH - 1, is_rms);
    if (error_of(&want.dX, dx) <= 1 || error_of(&want.dW, dw) <= 1)
        fail_msg("%s, seed %d: errors of %g and %g where an element is lost",
                 is_rms ? "RMS" : "layer", (int)seed, error_of(&want.dX, dx),
                 error_of(&want.dW, dw));
    reference_norm_gradients_free(&want);
}

static void a_lost_element_is_seen(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        expect_seen(false, seed);
        expect_seen(true, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_is_its_formula), cmocka_unit_test(rms_norm_is_its_formula),
        cmocka_unit_test(no_rows_leave_zeros),       cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(a_lost_element_is_seen),
    };
    return cmocka_run_group_tests_name("reference of norms", tests, NULL, NULL);
}
