// SPDX-License-Identifier: Apache-2.0
// The references of reductions, softmax and normalisation: right on numbers done by hand, bounds
// wide enough for f32 as a device would use it, and not so wide that a lost element would pass.
#include "reference_axis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/random.h"
#include "scalar.h"

static const int64_t pair[] = {2, 3};

// ---- by hand
//
//   X   1 -2  3
//       4  0 -5

static const float X[] = {1, -2, 3, 4, 0, -5};

static void expect_values(const reference_values *values, int64_t count, const double *want,
                          double bound, const char *what)
{
    if (values->count != count)
        fail_msg("%s: %d results, not %d", what, (int)values->count, (int)count);
    for (int64_t i = 0; i < count; i++) {
        const double got = values->whole ? (double)values->whole[i] : values->want[i];
        if (!(got == want[i] || fabs(got - want[i]) <= 1e-12 * (1 + fabs(want[i])) ||
              (isnan(got) && isnan(want[i]))))
            fail_msg("%s: element %d is %.17g, not %.17g", what, (int)i, got, want[i]);
        if (values->whole == NULL && !(values->bound[i] >= 0 && values->bound[i] <= bound))
            fail_msg("%s: the bound of element %d is %g", what, (int)i, values->bound[i]);
    }
}

static void expect_reduced(weft_reduction op, const host_tensor *x, int n_axes, const int *axes,
                           weft_dtype y_dtype, int64_t correction, int64_t count,
                           const double *want)
{
    reference_values values;
    complaint why;
    char what[64];
    snprintf(what, sizeof(what), "reduction %d", (int)op);
    assert_true(reference_reduce(
        &values, &(reference_reduction){op, *x, n_axes, axes, y_dtype, correction}, &why));
    expect_values(&values, count, want, 1e-3, what);
    reference_values_free(&values);
}

static void every_reduction_is_its_formula(void **state)
{
    static const int rows[] = {0}, columns[] = {-1};
    const host_tensor x = host_tensor_dense(WEFT_F32, X, 2, pair);
    const double lse = log(exp(1) + exp(-2) + exp(3) + exp(4) + exp(0) + exp(-5));
    static const struct {
        weft_reduction op;
        weft_dtype y_dtype;
        double of_columns[2], of_rows[3];
    } cases[] = {
        {WEFT_SUM, WEFT_F32, {2, -1}, {5, -2, -2}},
        {WEFT_PROD, WEFT_F32, {-6, 0}, {4, 0, -15}},
        {WEFT_MEAN, WEFT_F32, {2 / 3.0, -1 / 3.0}, {2.5, -1, -1}},
        {WEFT_MIN, WEFT_F32, {-2, -5}, {1, -2, -5}},
        {WEFT_MAX, WEFT_F32, {3, 4}, {4, 0, 3}},
        {WEFT_ARGMIN, WEFT_I64, {1, 2}, {0, 0, 1}},
        {WEFT_ARGMAX, WEFT_I32, {2, 0}, {1, 1, 0}},
        {WEFT_ANY, WEFT_U8, {1, 1}, {1, 1, 1}},
        {WEFT_ALL, WEFT_U8, {1, 0}, {1, 0, 1}},
        {WEFT_NORM1, WEFT_F32, {6, 9}, {5, 2, 8}},
        {WEFT_NORM_INF, WEFT_F32, {3, 5}, {4, 2, 5}},
        {WEFT_VAR, WEFT_F32, {38 / 9.0, 122 / 9.0}, {2.25, 1, 16}},
        {WEFT_STD, WEFT_F32, {2.0548046676563256, 3.6817870057290869}, {1.5, 1, 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_reduced(cases[i].op, &x, 1, columns, cases[i].y_dtype, 0, 2, cases[i].of_columns);
        expect_reduced(cases[i].op, &x, 1, rows, cases[i].y_dtype, 0, 3, cases[i].of_rows);
    }
    expect_reduced(WEFT_NORM2, &x, 0, NULL, WEFT_F32, 0, 1, (double[]){sqrt(55)});
    expect_reduced(WEFT_LOGSUMEXP, &x, 0, NULL, WEFT_F32, 0, 1, &lse);
    expect_reduced(WEFT_VAR, &x, 1, columns, WEFT_F32, 1, 2, (double[]){19 / 3.0, 61 / 3.0});
    expect_reduced(WEFT_SUM, &x, 2, (const int[]){1, 0}, WEFT_F32, 0, 1, (double[]){1});
}

static void strides_are_followed(void **state)
{
    // The middle column backwards, three times over.
    const host_tensor x = {X, WEFT_F32, 4, 2, {2, 3}, {-3, 0}};
    (void)state;
    expect_reduced(WEFT_SUM, &x, 1, (const int[]){1}, WEFT_F32, 0, 2, (double[]){0, -6});
    expect_reduced(WEFT_ARGMIN, &x, 0, NULL, WEFT_I64, 0, 1, (double[]){3});
}

static void whole_numbers_are_exact_and_wrap(void **state)
{
    const int64_t large[] = {INT64_MAX, 1, -3}, shape[] = {3};
    const uint8_t bytes[] = {200, 100, 3};
    const host_tensor x = host_tensor_dense(WEFT_I64, large, 1, shape);
    const host_tensor b = host_tensor_dense(WEFT_U8, bytes, 1, shape);
    reference_values values;
    complaint why;
    (void)state;
    const reference_reduction sum = {.op = WEFT_SUM, .X = x, .y_dtype = WEFT_I64};
    assert_true(reference_reduce(&values, &sum, &why));
    assert_true(values.whole[0] == INT64_MAX - 2);
    reference_values_free(&values);
    expect_reduced(WEFT_SUM, &b, 0, NULL, WEFT_I64, 0, 1, (double[]){303});
    expect_reduced(WEFT_PROD, &b, 0, NULL, WEFT_I64, 0, 1, (double[]){60000});
    expect_reduced(WEFT_MAX, &b, 0, NULL, WEFT_U8, 0, 1, (double[]){200});
    expect_reduced(WEFT_MEAN, &b, 0, NULL, WEFT_F32, 0, 1, (double[]){101});
    expect_reduced(WEFT_ARGMAX, &x, 0, NULL, WEFT_I32, 0, 1, (double[]){0});
}

static void nothing_has_its_identity(void **state)
{
    static const struct {
        weft_reduction op;
        weft_dtype y_dtype;
        double want;
    } cases[] = {
        {WEFT_SUM, WEFT_F32, 0},
        {WEFT_PROD, WEFT_F32, 1},
        {WEFT_MEAN, WEFT_F32, NAN},
        {WEFT_ANY, WEFT_U8, 0},
        {WEFT_ALL, WEFT_U8, 1},
        {WEFT_NORM1, WEFT_F32, 0},
        {WEFT_NORM2, WEFT_F32, 0},
        {WEFT_NORM_INF, WEFT_F32, 0},
        {WEFT_VAR, WEFT_F32, NAN},
        {WEFT_STD, WEFT_F32, NAN},
        {WEFT_LOGSUMEXP, WEFT_F32, -INFINITY},
    };
    const int64_t shape[] = {2, 0};
    const host_tensor x = host_tensor_dense(WEFT_F32, X, 2, shape);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_reduced(cases[i].op, &x, 1, (const int[]){1}, cases[i].y_dtype, 0, 2,
                       (double[]){cases[i].want, cases[i].want});
    expect_reduced(WEFT_SUM, &x, 1, (const int[]){0}, WEFT_F32, 0, 0, NULL);
}

static void wild_elements_go_through(void **state)
{
    static const struct {
        weft_reduction op;
        weft_dtype y_dtype;
        double of_nan, of_infinity, of_low;
    } cases[] = {
        {WEFT_SUM, WEFT_F32, NAN, INFINITY, -INFINITY},
        {WEFT_PROD, WEFT_F32, NAN, -INFINITY, INFINITY},
        {WEFT_MEAN, WEFT_F32, NAN, INFINITY, -INFINITY},
        {WEFT_MIN, WEFT_F32, NAN, -2, -INFINITY},
        {WEFT_MAX, WEFT_F32, NAN, INFINITY, 4},
        {WEFT_ARGMIN, WEFT_I64, 1, 2, 1},
        {WEFT_ARGMAX, WEFT_I64, 1, 1, 3},
        {WEFT_ANY, WEFT_U8, 1, 1, 1},
        {WEFT_NORM1, WEFT_F32, NAN, INFINITY, INFINITY},
        {WEFT_NORM2, WEFT_F32, NAN, INFINITY, INFINITY},
        {WEFT_NORM_INF, WEFT_F32, NAN, INFINITY, INFINITY},
        {WEFT_VAR, WEFT_F32, NAN, NAN, NAN},
        {WEFT_LOGSUMEXP, WEFT_F32, NAN, INFINITY, NAN},
    };
    const int64_t shape[] = {4};
    float x[] = {1, 0, -2, 4};
    const host_tensor view = host_tensor_dense(WEFT_F32, x, 1, shape);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        x[1] = NAN;
        expect_reduced(cases[i].op, &view, 0, NULL, cases[i].y_dtype, 0, 1, &cases[i].of_nan);
        x[1] = INFINITY;
        expect_reduced(cases[i].op, &view, 0, NULL, cases[i].y_dtype, 0, 1, &cases[i].of_infinity);
        x[1] = -INFINITY;
        const double lse = log(exp(1) + exp(-2) + exp(4));
        expect_reduced(cases[i].op, &view, 0, NULL, cases[i].y_dtype, 0, 1,
                       cases[i].op == WEFT_LOGSUMEXP ? &lse : &cases[i].of_low);
    }
}

static void expect_softmax(const reference_softmax *problem, int64_t count, const double *want)
{
    reference_values values;
    complaint why;
    assert_true(reference_softmax_run(&values, problem, &why));
    expect_values(&values, count, want, 1e-3, "softmax");
    reference_values_free(&values);
}

static void softmax_is_its_formula(void **state)
{
    const host_tensor x = host_tensor_dense(WEFT_F32, X, 2, pair);
    double want[6], logs[6];
    (void)state;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 2; r++) {
            want[3 * r + c] = 1 / (1 + exp(2 * (X[3 * (1 - r) + c] - X[3 * r + c])));
            logs[3 * r + c] = log(want[3 * r + c]);
        }
    expect_softmax(&(reference_softmax){.X = x, .axis = 0, .scale = 2}, 6, want);
    expect_softmax(&(reference_softmax){.X = x, .axis = 0, .scale = 2, .is_log = true}, 6, logs);
}

static void masked_rows_are_zeros_where_asked(void **state)
{
    const float x[] = {-INFINITY, -INFINITY, 1e30f, -INFINITY, 0, NAN, 5, INFINITY};
    const int64_t shape[] = {4, 2};
    const host_tensor view = host_tensor_dense(WEFT_F32, x, 2, shape);
    const double plain[] = {NAN, NAN, 1, 0, NAN, NAN, NAN, NAN};
    const double masked[] = {0, 0, 1, 0, NAN, NAN, NAN, NAN};
    const double masked_logs[] = {-INFINITY, -INFINITY, 0, -INFINITY, NAN, NAN, NAN, NAN};
    reference_softmax problem = {.X = view, .axis = -1, .scale = 1};
    (void)state;
    expect_softmax(&problem, 8, plain);
    problem.masked = true;
    expect_softmax(&problem, 8, masked);
    problem.is_log = true;
    expect_softmax(&problem, 8, masked_logs);
}

static void softmax_backward_is_its_formula(void **state)
{
    const float y[] = {0.25f, 0.75f}, dy[] = {2, -4}, logs[] = {-2, -1};
    const int64_t shape[] = {2};
    const double want[] = {3 * 0.25 * (2 + 2.5), 3 * 0.75 * (-4 + 2.5)};
    const double of_logs[] = {3 * (2 + 2 * exp(-2)), 3 * (-4 + 2 * exp(-1))};
    reference_softmax problem = {.X = host_tensor_dense(WEFT_F32, y, 1, shape),
                                 .dY = host_tensor_dense(WEFT_F32, dy, 1, shape),
                                 .scale = 3,
                                 .is_backward = true};
    (void)state;
    expect_softmax(&problem, 2, want);
    problem.X.data = logs;
    problem.is_log = true;
    expect_softmax(&problem, 2, of_logs);
}

static void normalisation_is_its_formula(void **state)
{
    const float w_data[] = {1, 2, 3}, b_data[] = {0, 1, -1};
    const host_tensor w = host_tensor_dense(WEFT_F32, w_data, 1, pair + 1);
    const host_tensor b = host_tensor_dense(WEFT_F32, b_data, 1, pair + 1);
    reference_norm problem = {host_tensor_dense(WEFT_F32, X, 2, pair), 1, 0.5, false, &w, &b};
    static const double means[] = {2 / 3.0, -1 / 3.0}, squares[] = {14 / 3.0, 41 / 3.0};
    reference_values values;
    complaint why;
    (void)state;
    for (int is_rms = 0; is_rms < 2; is_rms++) {
        double want[6];
        for (int i = 0; i < 6; i++) {
            const double mean = is_rms ? 0 : means[i / 3];
            const double scale = 1 / sqrt(squares[i / 3] - mean * mean + 0.5);
            want[i] = (X[i] - mean) * scale * w_data[i % 3] + b_data[i % 3];
        }
        problem.is_rms = is_rms;
        assert_true(reference_norm_run(&values, &problem, &why));
        expect_values(&values, 6, want, 1e-4, "norm");
        reference_values_free(&values);
    }
}

// However long its other extents are: neither time nor memory goes by them.
static void an_array_without_elements_needs_no_reference(void **state)
{
    static const int64_t shapes[][3] = {{0, INT64_C(1) << 61, 1},
                                        {INT64_C(1) << 61, 0, 1},
                                        {INT64_C(1) << 61, INT64_C(1) << 61, 0}};
    static const float w_data[] = {1, 2, 3};
    const host_tensor w = host_tensor_dense(WEFT_F32, w_data, 1, pair + 1);
    static const int axes[] = {0, 1};
    complaint why;
    (void)state;
    for (int i = 0; i < 3; i++) {
        reference_values values;
        const host_tensor x = host_tensor_dense(WEFT_F32, X, 3, shapes[i]);
        for (int axis = 0; axis < 3; axis++) {
            const reference_softmax softmax = {.X = x, .axis = axis, .scale = 1};
            assert_true(reference_softmax_run(&values, &softmax, &why));
            expect_values(&values, 0, NULL, 0, "softmax");
            reference_values_free(&values);
        }
        for (int n_axes = 1; n_axes <= 3; n_axes++) {
            const reference_norm norm = {x, n_axes, 1, false, &w, NULL};
            assert_true(reference_norm_run(&values, &norm, &why));
            expect_values(&values, 0, NULL, 0, "norm");
            reference_values_free(&values);
        }
        expect_reduced(WEFT_SUM, &x, 0, NULL, WEFT_F32, 0, 1, (const double[]){0});
    }
    const host_tensor empty = host_tensor_dense(WEFT_F32, X, 3, shapes[0]);
    expect_reduced(WEFT_MAX, &empty, 1, axes + 1, WEFT_F32, 0, 0, NULL);
    reference_values values;
    const reference_reduction sum = {WEFT_SUM, empty, 1, axes, WEFT_F32, 0};
    assert_false(reference_reduce(&values, &sum, &why));
    assert_non_null(
        strstr(why.text, "no memory for the reference: 2305843009213693952 lines of 0"));
}

// ---- bounds: a long line, as a device with 8 lanes might treat it in f32

enum { LENGTH = 1000, LANES = 8, RUN = 128, N_TRIES = 100 };

typedef struct line {
    float x[LENGTH + 1];
    int64_t n;
} line;

static void fill_line(line *l, double centre, double width, uint64_t seed)
{
    random_stream stream = random_start(seed, RANDOM_DENSE);
    l->n = LENGTH;
    for (int i = 0; i < LENGTH; i++)
        l->x[i] = (float)(centre + width * random_uniform(&stream));
}

static float sum_runs(const line *l, float (*term)(float x, float shift), float shift)
{
    float total = 0, compensation = 0;
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t first = lane; first < l->n; first += LANES * RUN) {
            float run = 0;
            for (int64_t i = first; i < l->n && i < first + LANES * RUN; i += LANES)
                run += term(l->x[i], shift);
            const float sum = total + run, back = sum - total; // Knuth's two-sum
            compensation += (total - (sum - back)) + (run - back);
            total = sum;
        }
    return total + compensation;
}

static float plain(float x, float shift)
{
    (void)shift;
    return x;
}

static float magnitude(float x, float shift)
{
    (void)shift;
    return fabsf(x);
}

static float square(float x, float shift)
{
    return (x - shift) * (x - shift);
}

static float exponential(float x, float shift)
{
    return expf(x - shift);
}

static float largest(const line *l)
{
    float m = l->x[0];
    for (int64_t i = 1; i < l->n; i++)
        m = fmaxf(m, l->x[i]);
    return m;
}

static float product(const line *l)
{
    float p = 1;
    for (int64_t i = 0; i < l->n; i++)
        p *= l->x[i];
    return p;
}

static float as_device(weft_reduction op, const line *l)
{
    const float n = (float)l->n;
    switch (op) {
    case WEFT_PROD:
        return product(l);
    case WEFT_MEAN:
        return sum_runs(l, plain, 0) / n;
    case WEFT_NORM1:
        return sum_runs(l, magnitude, 0);
    case WEFT_NORM2:
        return sqrtf(sum_runs(l, square, 0));
    case WEFT_VAR:
        return sum_runs(l, square, sum_runs(l, plain, 0) / n) / n;
    case WEFT_STD:
        return sqrtf(sum_runs(l, square, sum_runs(l, plain, 0) / n) / n);
    case WEFT_LOGSUMEXP:
        return largest(l) + logf(sum_runs(l, exponential, largest(l)));
    default:
        return sum_runs(l, plain, 0);
    }
}

static double error_of(weft_reduction op, const line *l, weft_dtype y_dtype, float y)
{
    const int64_t shape[] = {LENGTH};
    double stored = 0;
    reference_values values;
    reference_worst worst;
    complaint why;
    const host_tensor Y = host_tensor_dense(y_dtype, &stored, 0, shape);
    scalar_put(y_dtype, &stored, 0, y);
    const reference_reduction problem = {
        .op = op, .X = host_tensor_dense(WEFT_F32, l->x, 1, shape), .y_dtype = y_dtype};
    assert_true(reference_reduce(&values, &problem, &why));
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    reference_values_free(&values);
    return worst.error;
}

// Products of numbers around 1, so that they stay in range.
static const struct {
    weft_reduction op;
    double centre, width;
} bounded[] = {
    {WEFT_SUM, 0, 1},   {WEFT_SUM, 1, 1},    {WEFT_PROD, 1, 0.05},   {WEFT_MEAN, 0, 1},
    {WEFT_NORM1, 0, 1}, {WEFT_NORM2, 0, 1},  {WEFT_VAR, 0, 1},       {WEFT_VAR, 100, 1},
    {WEFT_STD, 0, 1},   {WEFT_STD, 1000, 1}, {WEFT_LOGSUMEXP, 0, 1}, {WEFT_LOGSUMEXP, 0, 50},
};

static void bounds_hold(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    line l;
    (void)state;
    for (size_t i = 0; i < sizeof(bounded) / sizeof(bounded[0]); i++)
        for (uint64_t seed = 0; seed < N_TRIES; seed++)
            for (int t = 0; t < 3; t++) {
                fill_line(&l, bounded[i].centre, bounded[i].width, seed);
                const double error =
                    error_of(bounded[i].op, &l, dtypes[t], as_device(bounded[i].op, &l));
                if (!(error <= 1))
                    fail_msg("reduction %d around %g in %s, seed %d: error %g", (int)bounded[i].op,
                             bounded[i].centre, weft_dtype_name(dtypes[t]), (int)seed, error);
            }
}

// The line of the device without element `at`, or with it twice.
static line with_fault(const line *l, int64_t at, bool is_twice)
{
    line faulty = *l;
    if (is_twice) {
        faulty.x[faulty.n++] = l->x[at];
        return faulty;
    }
    faulty.n--;
    memmove(faulty.x + at, l->x + at + 1, (size_t)(faulty.n - at) * sizeof(float));
    return faulty;
}

// An element far enough from what would not show: from 0 in sums, from 1 in products, from the mean
// distance in spreads.
static void lost_and_doubled_elements_are_seen(void **state)
{
    static const struct {
        weft_reduction op;
        double centre;
        float element;
    } cases[] = {
        {WEFT_SUM, 0, 0.05f},   {WEFT_PROD, 1, 1.01f},   {WEFT_MEAN, 0, 0.05f},
        {WEFT_NORM1, 0, 0.05f}, {WEFT_NORM2, 0, 0.3f},   {WEFT_VAR, 0, 0.9f},
        {WEFT_STD, 0, 0.1f},    {WEFT_LOGSUMEXP, 0, -1},
    };
    line l;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int is_twice = 0; is_twice < 2; is_twice++) {
            fill_line(&l, cases[i].centre, cases[i].op == WEFT_PROD ? 0.05 : 1, 1);
            l.x[500] = cases[i].element;
            const line faulty = with_fault(&l, 500, is_twice);
            assert_true(error_of(cases[i].op, &l, WEFT_F32, as_device(cases[i].op, &l)) <= 1);
            if (error_of(cases[i].op, &l, WEFT_F32, as_device(cases[i].op, &faulty)) <= 1)
                fail_msg("reduction %d does not see an element %s", (int)cases[i].op,
                         is_twice ? "twice" : "lost");
        }
}

// Softmax, log-softmax and normalisation of a line in f32, from statistics of another.
typedef enum along { SOFTMAX, LOG_SOFTMAX, SOFTMAX_BACK, LOG_BACK, LAYER, RMS, N_ALONG } along;

static void along_device(along op, const line *l, const line *of, const float *dy, float *y)
{
    const float n = (float)of->n, m = largest(of), s = sum_runs(of, exponential, m);
    const float mean = sum_runs(of, plain, 0) / n;
    float dot = 0, total = 0;
    for (int64_t i = 0; i < of->n; i++) {
        dot += of->x[i] * dy[i];
        total += dy[i];
    }
    for (int64_t i = 0; i < l->n; i++) {
        const float x = l->x[i];
        y[i] = op == SOFTMAX        ? expf(x - m) / s
               : op == LOG_SOFTMAX  ? x - m - logf(s)
               : op == SOFTMAX_BACK ? x * (dy[i] - dot)
               : op == LOG_BACK     ? dy[i] - expf(x) * total
               : op == LAYER        ? (x - mean) / sqrtf(sum_runs(of, square, mean) / n + 1e-5f)
                                    : x / sqrtf(sum_runs(of, square, 0) / n + 1e-5f);
    }
}

static double along_error(along op, const line *l, const float *dy, const float *y)
{
    const int64_t shape[] = {1, LENGTH};
    const host_tensor x = host_tensor_dense(WEFT_F32, l->x, 2, shape);
    const host_tensor Y = host_tensor_dense(WEFT_F32, y, 2, shape);
    reference_values values;
    reference_worst worst;
    complaint why;
    if (op >= LAYER)
        assert_true(reference_norm_run(
            &values, &(reference_norm){.X = x, .n_axes = 1, .epsilon = 1e-5, .is_rms = op == RMS},
            &why));
    else
        assert_true(reference_softmax_run(
            &values,
            &(reference_softmax){.X = x,
                                 .dY = host_tensor_dense(WEFT_F32, dy, 2, shape),
                                 .axis = 1,
                                 .scale = 1,
                                 .is_log = op == LOG_SOFTMAX || op == LOG_BACK,
                                 .is_backward = op == SOFTMAX_BACK || op == LOG_BACK},
            &why));
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    reference_values_free(&values);
    return worst.error;
}

static void results_along_a_line_are_bounded(void **state)
{
    static const double widths[] = {1, 40};
    line l, dy;
    float y[LENGTH + 1];
    (void)state;
    for (int op = 0; op < N_ALONG; op++)
        for (uint64_t seed = 0; seed < N_TRIES; seed++) {
            fill_line(&l, op == SOFTMAX_BACK ? 1 : 0, op == LOG_BACK ? 1 : widths[seed % 2], seed);
            fill_line(&dy, 0, 1, seed + N_TRIES);
            dy.x[LENGTH] = 0;
            along_device((along)op, &l, &l, dy.x, y);
            double error = along_error((along)op, &l, dy.x, y);
            if (!(error <= 1))
                fail_msg("op %d, seed %d: error %g", op, (int)seed, error);
            y[700] = y[701];
            error = along_error((along)op, &l, dy.x, y);
            if (error <= 1 && fabsf(l.x[700] - l.x[701]) > 0.01f)
                fail_msg("op %d, seed %d: a neighbour's result passes", op, (int)seed);
        }
}

static void statistics_with_a_fault_are_seen(void **state)
{
    static const along ops[] = {SOFTMAX, LOG_SOFTMAX, LAYER, RMS};
    const float dy[LENGTH + 1] = {0};
    line l;
    float y[LENGTH];
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int is_twice = 0; is_twice < 2; is_twice++) {
            fill_line(&l, 0, 1, 3);
            l.x[500] = 0.9f;
            const line faulty = with_fault(&l, 500, is_twice);
            along_device(ops[i], &l, &faulty, dy, y);
            if (along_error(ops[i], &l, dy, y) <= 1)
                fail_msg("op %d does not see an element %s", (int)ops[i],
                         is_twice ? "twice" : "lost");
        }
}

// ---- comparing

static void comparing_follows_strides_and_names_the_worst(void **state)
{
    const host_tensor x = host_tensor_dense(WEFT_F32, X, 2, pair);
    const float backwards[] = {-5, 9, 0, 9, 3};
    const host_tensor Y = {backwards, WEFT_F32, 4, 1, {3}, {-2}};
    const reference_reduction problem = {WEFT_MIN, x, 1, (const int[]){0}, WEFT_F32, 0};
    reference_values values;
    reference_worst worst;
    complaint why;
    (void)state;
    assert_true(reference_reduce(&values, &problem, &why)); // 1 -2 -5
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    assert_true(isinf(worst.error));
    assert_int_equal(worst.at, 0);
    assert_true(worst.got == 3 && worst.want == 1);
    reference_values_free(&values);
}

static void comparing_counts_what_is_beyond_its_bound(void **state)
{
    const reference_reduction problem = {
        WEFT_MIN, host_tensor_dense(WEFT_F32, X, 2, pair), 1, (const int[]){0}, WEFT_F32, 0};
    const float right[] = {1, -2, -5}, wrong[] = {1, 5, 7};
    host_tensor Y = host_tensor_dense(WEFT_F32, right, 1, (const int64_t[]){3});
    reference_values values;
    reference_worst worst;
    complaint why;
    (void)state;
    assert_true(reference_reduce(&values, &problem, &why));
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    assert_true(worst.n_beyond == 0 && worst.first == -1 && worst.error == 0);
    Y.data = wrong;
    assert_true(reference_values_compare(&values, &Y, &worst, &why));
    assert_true(worst.n_beyond == 2 && worst.first == 1);
    assert_true(worst.first_got == 5 && worst.first_want == -2);
    reference_values_free(&values);
}

static void shapes_lose_their_axes(void **state)
{
    const int64_t shape[] = {2, 3, 4};
    int64_t out[WEFT_MAX_NDIM];
    (void)state;
    assert_int_equal(reference_reduced_shape(3, shape, 2, (const int[]){-1, 0}, false, out), 1);
    assert_int_equal(out[0], 3);
    assert_int_equal(reference_reduced_shape(3, shape, 1, (const int[]){1}, true, out), 3);
    assert_true(out[0] == 2 && out[1] == 1 && out[2] == 4);
    assert_int_equal(reference_reduced_shape(3, shape, 0, NULL, false, out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reduction_is_its_formula),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(whole_numbers_are_exact_and_wrap),
        cmocka_unit_test(nothing_has_its_identity),
        cmocka_unit_test(wild_elements_go_through),
        cmocka_unit_test(softmax_is_its_formula),
        cmocka_unit_test(masked_rows_are_zeros_where_asked),
        cmocka_unit_test(softmax_backward_is_its_formula),
        cmocka_unit_test(normalisation_is_its_formula),
        cmocka_unit_test(an_array_without_elements_needs_no_reference),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(lost_and_doubled_elements_are_seen),
        cmocka_unit_test(results_along_a_line_are_bounded),
        cmocka_unit_test(statistics_with_a_fault_are_seen),
        cmocka_unit_test(comparing_follows_strides_and_names_the_worst),
        cmocka_unit_test(comparing_counts_what_is_beyond_its_bound),
        cmocka_unit_test(shapes_lose_their_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
