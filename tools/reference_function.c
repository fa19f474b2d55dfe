// SPDX-License-Identifier: Apache-2.0
// The functions of formulas, by those of C.
#include "reference_function.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

// ---- in real numbers

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

#define ROOT_PI 1.77245385090551602729816748334114518L
#define ROOT_2  1.41421356237309504880168872420969808L

REAL_2(add, a + b)
REAL_2(sub, a - b)
REAL_2(mul, a *b)
REAL_2(div, a / b)
REAL_2(fmod, fmodl(a, b))
REAL_1(neg, -x)
REAL_1(copy, x)
REAL_1(abs, fabsl(x))
REAL_1(sign, x > 0 ? 1 : x < 0 ? -1 : x)
REAL_1(square, x *x)
REAL_2(min, a < b || isnan(a) ? a : b)
REAL_2(max, a > b || isnan(a) ? a : b)
REAL_2(fmin, a < b || isnan(b) ? a : b)
REAL_2(fmax, a > b || isnan(b) ? a : b)
REAL_3(clamp, (a < b ? b : a) > c ? c : a < b ? b : a)
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

// Whether an integer remainder and its divisor have different signs.
static bool is_across(wide rest, wide divisor)
{
    return rest != 0 && (rest < 0) != (divisor < 0);
}

static wide floored(wide a, wide b)
{
    const wide rest = fmodl(a, b);
    return b == 0 ? a / b : rintl((a - rest) / b) - is_across(rest, b);
}

REAL_2(floor_divide, floored(a, b))
REAL_2(remainder, is_across(fmodl(a, b), b) ? fmodl(a, b) + b : fmodl(a, b))

static wide sigmoid(wide x)
{
    return 1 / (1 + expl(-x));
}

// Beyond these, a factor of 0 would be infinite. NaN stays.
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

// 2 sqrt(2 / pi) (x + 0.044715 x^3), the argument of the logistic function in gelu_tanh.
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
// In the tail exp() multiplies an error of the weight by the weight.
static wide real_gelu_tanh(const wide *p, wide *size)
{
    const wide result = bounded_below(p[0]) * sigmoid(weight(p[0]));
    *size = fabsl(result) * fmaxl(1, -weight(p[0]) / 16);
    return result;
}

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

// A derivative of 0 gives 0, whatever dy is.
REAL_2(abs_backward, b > 0 ? a : b < 0 ? -a : b)
REAL_2(relu_backward, b <= 0 ? 0 : a)

static wide real_clamp_backward(const wide *p, wide *size)
{
    (void)size;
    return p[1] > p[2] && p[1] < p[3] ? p[0] : 0;
}

// ---- in whole numbers

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
WHOLE(sub, in_unsigned((uint64_t)a - (uint64_t)b))
WHOLE(mul, in_unsigned((uint64_t)a *(uint64_t)b))
// The remainder of truncation, by which the floored quotient and its remainder differ.
static int64_t rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static bool is_below(int64_t a, int64_t b)
{
    return rest(a, b) != 0 && (a < 0) != (b < 0);
}

WHOLE(div, quotient(a, b))
WHOLE(floor_divide, quotient(a, b) - is_below(a, b))
WHOLE(remainder, is_below(a, b) ? rest(a, b) + b : rest(a, b))
WHOLE(fmod, rest(a, b))
WHOLE(neg, in_unsigned(-(uint64_t)a))
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
WHOLE(and, a &b)
WHOLE(or, a | b)
WHOLE(xor, a ^ b)
WHOLE(invert, ~a)
WHOLE(shl, in_unsigned((uint64_t)a << (b & (width - 1))))
WHOLE(shr, a >> (b & (width - 1)))
WHOLE(abs_backward, b > 0 ? a : b < 0 ? in_unsigned(-(uint64_t)a) : b)
WHOLE(square_backward, in_unsigned(2 * (uint64_t)a * (uint64_t)b))
WHOLE(relu_backward, b > 0 ? a : 0)
WHOLE(clamp_backward, b > c && b < p[3] ? a : 0)

// ---- the table

#define REALS(n, n_arguments, ulps, trait)                                                         \
    {                                                                                              \
#n, n_arguments, real_##n, NULL, ulps, REFERENCE_##trait                                   \
    }
#define BOTH(n, n_arguments, ulps, trait)                                                          \
    {                                                                                              \
#n, n_arguments, real_##n, whole_##n, ulps, REFERENCE_##trait                              \
    }
#define WHOLES(n, n_arguments)                                                                     \
    {                                                                                              \
#n, n_arguments, NULL, whole_##n, 0, REFERENCE_PLAIN                                       \
    }
// Ulps as OpenCL promises them for f32 and f64, one or two more for each further rounding, and the
// function's amplification of a rounded argument.
static const reference_function functions[] = {
    BOTH(add, 2, 0.5, PLAIN),
    BOTH(sub, 2, 0.5, PLAIN),
    BOTH(mul, 2, 0.5, PLAIN),
    BOTH(div, 2, 2.5, PLAIN),
    BOTH(floor_divide, 2, 3.5, PLAIN),
    BOTH(remainder, 2, 0.5, REMAINDER),
    BOTH(fmod, 2, 0, REMAINDER),
    BOTH(neg, 1, 0, PLAIN),
    BOTH(copy, 1, 0, PLAIN),
    BOTH(abs, 1, 0, PLAIN),
    BOTH(sign, 1, 0, PLAIN),
    BOTH(square, 1, 0.5, PLAIN),
    BOTH(min, 2, 0, PLAIN),
    BOTH(max, 2, 0, PLAIN),
    {"fmin", 2, real_fmin, whole_min, 0, REFERENCE_PLAIN},
    {"fmax", 2, real_fmax, whole_max, 0, REFERENCE_PLAIN},
    BOTH(clamp, 3, 0, PLAIN),
    BOTH(where, 3, 0, WHERE),
    BOTH(select, 3, 0, SELECT),
    BOTH(relu, 1, 0, PLAIN),
    BOTH(equal, 2, 0, EQUALITY),
    BOTH(not_equal, 2, 0, EQUALITY),
    BOTH(less, 2, 0, TRUTH),
    BOTH(less_equal, 2, 0, TRUTH),
    BOTH(greater, 2, 0, TRUTH),
    BOTH(greater_equal, 2, 0, TRUTH),
    BOTH(logical_and, 2, 0, TRUTH),
    BOTH(logical_or, 2, 0, TRUTH),
    BOTH(logical_not, 1, 0, TRUTH),
    WHOLES(and, 2),
    WHOLES(or, 2),
    WHOLES(xor, 2),
    WHOLES(invert, 1),
    WHOLES(shl, 2),
    WHOLES(shr, 2),
    REALS(sqrt, 1, 3, PLAIN),
    REALS(rsqrt, 1, 2, PLAIN),
    REALS(cbrt, 1, 2, PLAIN),
    REALS(reciprocal, 1, 2.5, PLAIN),
    REALS(exp, 1, 3, PLAIN),
    REALS(exp2, 1, 3, PLAIN),
    REALS(exp10, 1, 3, PLAIN),
    REALS(expm1, 1, 3, PLAIN),
    REALS(log, 1, 3, PLAIN),
    REALS(log2, 1, 3, PLAIN),
    REALS(log10, 1, 3, PLAIN),
    REALS(log1p, 1, 2, PLAIN),
    REALS(pow, 2, 16, PLAIN),
    REALS(hypot, 2, 4, PLAIN),
    REALS(sin, 1, 4, WAVES),
    REALS(cos, 1, 4, WAVES),
    REALS(tan, 1, 5, TANGENT),
    REALS(asin, 1, 4, PLAIN),
    REALS(acos, 1, 4, PLAIN),
    REALS(atan, 1, 5, PLAIN),
    REALS(atan2, 2, 6, PLAIN),
    REALS(sinh, 1, 4, PLAIN),
    REALS(cosh, 1, 4, PLAIN),
    REALS(tanh, 1, 5, PLAIN),
    REALS(asinh, 1, 4, PLAIN),
    REALS(acosh, 1, 4, PLAIN),
    REALS(atanh, 1, 5, PLAIN),
    REALS(erf, 1, 16, PLAIN),
    REALS(erfc, 1, 16, PLAIN),
    REALS(floor, 1, 0, PLAIN),
    REALS(ceil, 1, 0, PLAIN),
    REALS(round, 1, 0, PLAIN),
    REALS(rint, 1, 0, PLAIN),
    REALS(trunc, 1, 0, PLAIN),
    REALS(copysign, 2, 0, PLAIN),
    REALS(fma, 3, 0.5, PLAIN),
    REALS(mad, 3, 1, PLAIN),
    REALS(mix, 3, 2, MIX),
    REALS(isnan, 1, 0, TRUTH),
    REALS(isinf, 1, 0, TRUTH),
    REALS(isfinite, 1, 0, TRUTH),
    REALS(sigmoid, 1, 8, PLAIN),
    REALS(softplus, 1, 8, PLAIN),
    REALS(silu, 1, 8, WAVES),
    REALS(gelu, 1, 24, WAVES),
    REALS(gelu_tanh, 1, 48, WAVES), // exp multiplies what 3 roundings of a weight of -10 leave
    REALS(leaky_relu, 2, 0.5, PLAIN),
    REALS(elu, 2, 4, PLAIN),
    BOTH(abs_backward, 2, 0, PLAIN),
    BOTH(square_backward, 2, 1, BACKWARD),
    BOTH(relu_backward, 2, 0, PLAIN),
    BOTH(clamp_backward, 4, 0, RANGE),
    REALS(sqrt_backward, 2, 6, BACKWARD),
    REALS(exp_backward, 2, 4, BACKWARD),
    REALS(log_backward, 2, 2.5, BACKWARD),
    REALS(tanh_backward, 2, 10, BACKWARD_WAVES),
    REALS(erf_backward, 2, 8, BACKWARD_WAVES),
    REALS(sigmoid_backward, 2, 8, BACKWARD_WAVES),
    REALS(silu_backward, 2, 8, BACKWARD_WAVES),
    REALS(gelu_backward, 2, 24, BACKWARD_WAVES),
    REALS(gelu_tanh_backward, 2, 48, BACKWARD_WAVES),
};

const reference_function *reference_function_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strlen(functions[i].name) == length &&
            strncasecmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}
