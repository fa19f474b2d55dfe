// SPDX-License-Identifier: Apache-2.0
// Every function that formulas may call against C's, in every type of arithmetic that has it.
#include "elementwise_case.h"
#include "expression.h"

#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set
static int every = 1;   // one in so many functions runs: rusticl compiles for long. PoCL compiles
                        // f32 alone for all, Oclgrind does without

// ---- what they are, in reals

#define REAL_1(name, result)                                                                       \
    static wide real_##name(const wide *p, wide *size)                                             \
    {                                                                                              \
        const wide x = p[0];                                                                       \
        (void)size;                                                                                \
        return result;                                                                             \
    }
#define REAL_2(name, result)                                                                       \
    static wide real_##name(const wide *p, wide *size)                                             \
    {                                                                                              \
        const wide a = p[0], b = p[1];                                                             \
        (void)size;                                                                                \
        return result;                                                                             \
    }
#define REAL_3(name, result)                                                                       \
    static wide real_##name(const wide *p, wide *size)                                             \
    {                                                                                              \
        const wide a = p[0], b = p[1], c = p[2];                                                   \
        (void)size;                                                                                \
        return result;                                                                             \
    }
// dy times a derivative.
#define REAL_BACKWARD(name, slope)                                                                 \
    static wide real_##name##_backward(const wide *p, wide *size)                                  \
    {                                                                                              \
        const wide dy = p[0], x = p[1];                                                            \
        (void)size;                                                                                \
        return dy * (slope);                                                                       \
    }

#define PI      3.14159265358979323846264338327950288L
#define ROOT_PI 1.77245385090551602729816748334114518L
#define ROOT_2  1.41421356237309504880168872420969808L

REAL_2(add, (*size = fabsl(a) + fabsl(b), a + b))
REAL_2(subtract, (*size = fabsl(a) + fabsl(b), a - b))
REAL_2(multiply, a *b)
REAL_2(divide, a / b)
REAL_2(remainder, fmodl(a, b))
REAL_1(negate, -x)
REAL_1(copy, x)
REAL_1(abs, fabsl(x))
REAL_1(sign, x > 0 ? 1 : x < 0 ? -1 : x)
REAL_1(square, x *x)
REAL_2(min, isnan(a) || isnan(b) ? NAN : fminl(a, b))
REAL_2(max, isnan(a) || isnan(b) ? NAN : fmaxl(a, b))
REAL_2(fmin, fminl(a, b))
REAL_2(fmax, fmaxl(a, b))
REAL_3(clamp, isnan(a) ? a : fminl(fmaxl(a, b), c))
REAL_3(where, a != 0 ? b : c)
REAL_3(select, c != 0 ? b : a)
REAL_1(relu, x < 0 ? 0 : x)
REAL_2(equal, a == b)
REAL_2(not_equal, a != b)
REAL_2(less, a < b)
REAL_2(less_equal, a <= b)
REAL_2(greater, a > b)
REAL_2(greater_equal, a >= b)
REAL_2(logical_and, a != 0 && b != 0)
REAL_2(logical_or, a != 0 || b != 0)
REAL_1(logical_not, x == 0)
REAL_1(sqrt, sqrtl(x))
REAL_1(rsqrt, 1 / sqrtl(x))
REAL_1(cbrt, cbrtl(x))
REAL_1(reciprocal, 1 / x)
REAL_1(exp, expl(x))
REAL_1(exp2, exp2l(x))
REAL_1(exp10, powl(10, x))
REAL_1(expm1, expm1l(x))
REAL_1(log, logl(x))
REAL_1(log2, log2l(x))
REAL_1(log10, log10l(x))
REAL_1(log1p, log1pl(x))
REAL_2(pow, powl(a, b))
REAL_2(hypot, hypotl(a, b))
REAL_1(sin, sinl(x))
REAL_1(cos, cosl(x))
REAL_1(tan, tanl(x))
REAL_1(asin, asinl(x))
REAL_1(acos, acosl(x))
REAL_1(atan, atanl(x))
REAL_2(atan2, atan2l(a, b))
REAL_1(sinh, sinhl(x))
REAL_1(cosh, coshl(x))
REAL_1(tanh, tanhl(x))
REAL_1(asinh, asinhl(x))
REAL_1(acosh, acoshl(x))
REAL_1(atanh, atanhl(x))
REAL_1(erf, erfl(x))
REAL_1(erfc, erfcl(x))
REAL_1(floor, floorl(x))
REAL_1(ceil, ceill(x))
REAL_1(round, roundl(x))
REAL_1(rint, rintl(x))
REAL_1(trunc, truncl(x))
REAL_2(copysign, copysignl(a, b))
REAL_3(fma, (*size = fabsl(a * b + c), a *b + c))
REAL_3(mad, (*size = fabsl(a * b) + fabsl(c), a *b + c))
REAL_3(mix, (*size = 2 * fabsl(a) + (fabsl(a) + fabsl(b)) * fabsl(c), a + (b - a) * c))
REAL_1(isnan, isnan(x))
REAL_1(isinf, isinf(x) != 0)
REAL_1(isfinite, isfinite(x) != 0)

static wide sigmoid(wide x)
{
    return 1 / (1 + expl(-x));
}

// Beyond, what is multiplied by 0 is no longer infinite. NaN stays.
static wide bounded(wide x)
{
    return x < -1000 ? -1000 : x > 1000 ? 1000 : x;
}

static wide bounded_below(wide x)
{
    return x < -1000 ? -1000 : x;
}

// The normal distribution up to x, and its density.
static wide normal(wide x)
{
    return erfcl(-x / ROOT_2) / 2;
}

static wide density(wide x)
{
    return expl(-x * x / 2) / (ROOT_2 * ROOT_PI);
}

// 2 sqrt(2 / pi) (x + 0.044715 x^3), of whose logistic function gelu_tanh is made.
static wide weight(wide x)
{
    return 2 * ROOT_2 / ROOT_PI * (x + 0.044715L * x * x * x);
}

static wide weight_slope(wide x)
{
    return 2 * ROOT_2 / ROOT_PI * (1 + 3 * 0.044715L * x * x);
}

static wide slope(wide x)
{
    return sigmoid(x) * sigmoid(-x);
}

REAL_1(sigmoid, sigmoid(x))
REAL_1(softplus, x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)))
REAL_1(silu, bounded_below(x) * sigmoid(x))
REAL_1(gelu, bounded_below(x) * normal(x))
REAL_1(gelu_tanh, bounded_below(x) * sigmoid(weight(x)))
REAL_2(leaky_relu, a < 0 ? b * a : a)
REAL_2(elu, a < 0 ? b * expm1l(a) : a)

REAL_BACKWARD(square, 2 * x)
REAL_BACKWARD(sqrt, 1 / (2 * sqrtl(x)))
REAL_BACKWARD(exp, expl(x))
REAL_BACKWARD(log, 1 / x)
REAL_BACKWARD(tanh, 1 / (coshl(x) * coshl(x)))
REAL_BACKWARD(erf, 2 / ROOT_PI * expl(-x * x))
REAL_BACKWARD(sigmoid, slope(x))
REAL_BACKWARD(silu, (*size = 2 * fabsl(dy), sigmoid(x) + bounded(x) * slope(x)))
REAL_BACKWARD(gelu, (*size = 2 * fabsl(dy), normal(x) + bounded(x) * density(x)))
REAL_BACKWARD(gelu_tanh,
              (*size = 4 * fabsl(dy), sigmoid(weight(x)) + bounded(x) * weight_slope(bounded(x)) *
                                                               slope(weight(bounded(x)))))

// A derivative of 0 is no factor: the result is 0 whatever dy is.
REAL_2(abs_backward, b > 0 ? a : b < 0 ? -a : b)
REAL_2(relu_backward, b <= 0 ? 0 : a)

static wide real_clamp_backward(const wide *p, wide *size)
{
    (void)size;
    return p[1] >= p[2] && p[1] <= p[3] ? p[0] : 0;
}

// ---- and in whole numbers

#define WHOLE(name, result)                                                                        \
    static int64_t whole_##name(const int64_t *p, int width)                                       \
    {                                                                                              \
        const int64_t a = p[0], b = p[1], c = p[2];                                                \
        (void)a, (void)b, (void)c, (void)width;                                                    \
        return result;                                                                             \
    }

static int64_t in_unsigned(uint64_t x)
{
    return (int64_t)x;
}

// Of 64 bits INT64_MIN / -1 does not exist in C.
static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? in_unsigned(-(uint64_t)a) : a / b;
}

WHOLE(add, in_unsigned((uint64_t)a + (uint64_t)b))
WHOLE(subtract, in_unsigned((uint64_t)a - (uint64_t)b))
WHOLE(multiply, in_unsigned((uint64_t)a *(uint64_t)b))
WHOLE(divide, quotient(a, b))
WHOLE(remainder, b == 0 || b == -1 ? 0 : a % b)
WHOLE(negate, in_unsigned(-(uint64_t)a))
WHOLE(copy, a)
WHOLE(abs, a < 0 ? in_unsigned(-(uint64_t)a) : a)
WHOLE(sign, (a > 0) - (a < 0))
WHOLE(square, in_unsigned((uint64_t)a *(uint64_t)a))
WHOLE(min, a < b ? a : b)
WHOLE(max, a > b ? a : b)
WHOLE(clamp, (a < b ? b : a) > c ? c : (a < b ? b : a))
WHOLE(where, a != 0 ? b : c)
WHOLE(select, c != 0 ? b : a)
WHOLE(relu, a < 0 ? 0 : a)
WHOLE(equal, a == b)
WHOLE(not_equal, a != b)
WHOLE(less, a < b)
WHOLE(less_equal, a <= b)
WHOLE(greater, a > b)
WHOLE(greater_equal, a >= b)
WHOLE(logical_and, a != 0 && b != 0)
WHOLE(logical_or, a != 0 || b != 0)
WHOLE(logical_not, a == 0)
WHOLE(bitwise_and, a &b)
WHOLE(bitwise_or, a | b)
WHOLE(bitwise_xor, a ^ b)
WHOLE(bitwise_not, ~a)
WHOLE(left_shift, in_unsigned((uint64_t)a << (b & (width - 1))))
WHOLE(right_shift, a >> (b & (width - 1)))
WHOLE(abs_backward, b > 0 ? a : b < 0 ? in_unsigned(-(uint64_t)a) : b)
WHOLE(square_backward, in_unsigned(2 * (uint64_t)a * (uint64_t)b))
WHOLE(relu_backward, b > 0 ? a : 0)
WHOLE(clamp_backward, b >= c && b <= p[3] ? a : 0)

// ---- the table

#define REALS(n, ulps, least, most)                                                                \
    {                                                                                              \
#n, real_##n, NULL, ulps, true, least, most                                                \
    }
#define BOTH(n, ulps, least, most)                                                                 \
    {                                                                                              \
#n, real_##n, whole_##n, ulps, false, least, most                                          \
    }
#define WHOLES(n)                                                                                  \
    {                                                                                              \
#n, NULL, whole_##n, 0, false, 0, 0                                                        \
    }
// Ulps as OpenCL promises them for f32 and f64, one or two more for each further rounding, and what
// a function makes of an argument that is already rounded.
static const elementwise_formula functions[] = {
    BOTH(add, 0.5, 0, 0),
    BOTH(subtract, 0.5, 0, 0),
    BOTH(multiply, 0.5, 0, 0),
    BOTH(divide, 2.5, 0, 0),
    BOTH(remainder, 0, -100, 100),
    BOTH(negate, 0, 0, 0),
    BOTH(copy, 0, 0, 0),
    BOTH(abs, 0, 0, 0),
    {"fabs", real_abs, whole_abs, 0, false, 0, 0},
    BOTH(sign, 0, 0, 0),
    BOTH(square, 0.5, 0, 0),
    BOTH(min, 0, 0, 0),
    BOTH(max, 0, 0, 0),
    {"fmin", real_fmin, whole_min, 0, false, 0, 0},
    {"fmax", real_fmax, whole_max, 0, false, 0, 0},
    BOTH(clamp, 0, 0, 0),
    BOTH(where, 0, 0, 0),
    BOTH(select, 0, 0, 0),
    BOTH(relu, 0, 0, 0),
    BOTH(equal, 0, 0, 0),
    BOTH(not_equal, 0, 0, 0),
    BOTH(less, 0, 0, 0),
    BOTH(less_equal, 0, 0, 0),
    BOTH(greater, 0, 0, 0),
    BOTH(greater_equal, 0, 0, 0),
    BOTH(logical_and, 0, 0, 0),
    BOTH(logical_or, 0, 0, 0),
    BOTH(logical_not, 0, 0, 0),
    WHOLES(bitwise_and),
    WHOLES(bitwise_or),
    WHOLES(bitwise_xor),
    WHOLES(bitwise_not),
    WHOLES(left_shift),
    WHOLES(right_shift),
    REALS(sqrt, 3, 0, 100),
    REALS(rsqrt, 2, 0, 100),
    REALS(cbrt, 2, -100, 100),
    REALS(reciprocal, 2.5, 0, 0),
    REALS(exp, 3, -80, 80),
    REALS(exp2, 3, -100, 100),
    REALS(exp10, 3, -30, 30),
    REALS(expm1, 3, 0, 0),
    REALS(log, 3, 0, 100),
    REALS(log2, 3, 0, 100),
    REALS(log10, 3, 0, 100),
    REALS(log1p, 2, -1, 8),
    REALS(pow, 16, 0, 8),
    {"power", real_pow, NULL, 16, true, 0, 8},
    REALS(hypot, 4, 0, 0),
    REALS(sin, 4, -30, 30),
    REALS(cos, 4, -30, 30),
    REALS(tan, 5, -30, 30),
    REALS(asin, 4, -1, 1),
    REALS(acos, 4, -1, 1),
    REALS(atan, 5, 0, 0),
    REALS(atan2, 6, 0, 0),
    REALS(sinh, 4, 0, 0),
    REALS(cosh, 4, 0, 0),
    REALS(tanh, 5, 0, 0),
    REALS(asinh, 4, 0, 0),
    REALS(acosh, 4, 1, 100),
    REALS(atanh, 5, -1, 1),
    REALS(erf, 16, -4, 4),
    REALS(erfc, 16, -4, 4),
    REALS(floor, 0, 0, 0),
    REALS(ceil, 0, 0, 0),
    REALS(round, 0, 0, 0),
    REALS(rint, 0, 0, 0),
    REALS(trunc, 0, 0, 0),
    {"fmod", real_remainder, NULL, 0, true, -100, 100},
    REALS(copysign, 0, 0, 0),
    REALS(fma, 0.5, 0, 0),
    REALS(mad, 1, 0, 0),
    REALS(mix, 1.5, 0, 0),
    REALS(isnan, 0, 0, 0),
    REALS(isinf, 0, 0, 0),
    REALS(isfinite, 0, 0, 0),
    REALS(sigmoid, 8, -80, 80),
    REALS(softplus, 8, -80, 80),
    REALS(silu, 8, -80, 80),
    REALS(gelu, 24, -4, 8),
    REALS(gelu_tanh, 48, -4, 8), // exp multiplies what 3 roundings of a weight of -10 leave
    REALS(leaky_relu, 0.5, 0, 0),
    REALS(elu, 4, 0, 0),
    BOTH(abs_backward, 0, 0, 0),
    BOTH(square_backward, 1, 0, 0),
    BOTH(relu_backward, 0, 0, 0),
    BOTH(clamp_backward, 0, 0, 0),
    REALS(sqrt_backward, 6, 0, 100),
    REALS(exp_backward, 4, 0, 0),
    REALS(log_backward, 2.5, 0, 100),
    REALS(tanh_backward, 10, -8, 8),
    REALS(erf_backward, 8, -4, 4),
    REALS(sigmoid_backward, 8, -80, 80),
    REALS(silu_backward, 8, -80, 80),
    REALS(gelu_backward, 24, -4, 8),
    REALS(gelu_tanh_backward, 48, -4, 8),
};
enum { N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static const elementwise_formula *find(const char *name)
{
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (strcmp(functions[i].text, name) == 0)
            return &functions[i];
    return NULL;
}

static void test_all_are_there(void **state)
{
    (void)state;
    for (int i = 0; weft_function_at(i); i++)
        if (!find(weft_function_at(i)->name))
            fail_msg("%s is not tested", weft_function_at(i)->name);
}

// ---- several of them in one call, each of inputs of its own

typedef struct batch {
    elementwise_case of;
    elementwise_formula formulas[WEFT_ELEMENTWISE_OUTPUTS];
    char texts[WEFT_ELEMENTWISE_OUTPUTS][64];
} batch;

static int n_arguments(const elementwise_formula *f)
{
    return (int)strlen(weft_function_find(f->text, strlen(f->text))->arguments);
}

// "clamp(d, e, f)"
static void write_text(char text[64], const char *name, int first, int n)
{
    int length = snprintf(text, 64, "%s(", name);
    for (int i = 0; i < n; i++)
        length +=
            snprintf(text + length, 64 - (size_t)length, "%s%c", i ? ", " : "", 'a' + first + i);
    snprintf(text + length, 64 - (size_t)length, ")");
}

static void add_function(batch *b, const elementwise_formula *f, weft_dtype dtype)
{
    const int j = b->of.n_outputs++, n = n_arguments(f);
    write_text(b->texts[j], f->text, b->of.n_inputs, n);
    b->formulas[j] = *f;
    b->formulas[j].text = b->texts[j];
    b->of.formulas[j] = &b->formulas[j];
    b->of.first[j] = b->of.n_inputs;
    b->of.out[j].dtype = dtype;
    for (int i = 0; i < n; i++)
        b->of.in[b->of.n_inputs++].dtype = dtype;
}

static bool has_room(const batch *b, const elementwise_formula *f)
{
    return b->of.n_outputs < WEFT_ELEMENTWISE_OUTPUTS &&
           b->of.n_inputs + n_arguments(f) <= WEFT_ELEMENTWISE_INPUTS;
}

static void run_batch(batch *b, elementwise_numbers numbers)
{
    b->of.numbers = numbers;
    b->of.seed++;
    elementwise_run(ctx, &b->of);
}

static void run_kinds(batch *b, bool is_real)
{
    if (b->of.n_outputs == 0)
        return;
    static const weft_elementwise_tiling plain = {.fold = 1,
                                                  .vectors = 1,
                                                  .items = 1,
                                                  .team = 1,
                                                  .columns = 1 << 20,
                                                  .rows = 1,
                                                  .grid_x = 1,
                                                  .grid_y = 1,
                                                  .grid_z = 1};
    b->of.ndim = 1;
    b->of.shape[0] = is_reduced ? 53 : 1003;
    b->of.tiling = weft_context_limits(ctx)->fold > 1 ? NULL : &plain; // rusticl compiles for long
    run_batch(b, TAME);
    run_batch(b, is_real ? WILD : WIDE);
}

// Those of `dtype` that `in_arithmetic` has.
static void run_all(weft_dtype dtype, bool is_real)
{
    batch b = {.of.seed = 100 * (uint64_t)dtype};
    const int step = dtype == WEFT_F32 || every > 3 || is_on("oclgrind") ? every : 3;
    for (int i = 0; i < N_FUNCTIONS; i++) {
        const elementwise_formula *f = &functions[i];
        if ((is_real ? !f->real : !f->whole) || (i + (int)dtype) % step != 0)
            continue;
        if (!has_room(&b, f)) {
            run_kinds(&b, is_real);
            b = (batch){.of.seed = b.of.seed};
        }
        add_function(&b, f, dtype);
    }
    run_kinds(&b, is_real);
}

static void test_f32(void **state)
{
    (void)state;
    run_all(WEFT_F32, true);
}

static void test_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    run_all(WEFT_F64, true);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    run_all(WEFT_I32, false);
    run_all(WEFT_I64, false);
    run_all(WEFT_U8, false);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    every = is_on("rusticl") ? 8 : 1;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_there),
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_whole_numbers),
    };
    const int failed = cmocka_run_group_tests_name("elementwise functions", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
