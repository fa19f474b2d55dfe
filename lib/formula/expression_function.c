// SPDX-License-Identifier: Apache-2.0
// The tables of functions, constants and reserved words of expressions.
#include "formula/expression_function.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(table) ((int)(sizeof(table) / sizeof((table)[0])))

// name in a text, name in cl/formula/formula.clh, arguments (n a number, t a truth)
#define ANY(name, code, arguments)                                                                 \
    {                                                                                              \
        name, code, arguments, false, WEFT_NEEDS_NOTHING                                           \
    }
#define TEST(name, code, arguments)                                                                \
    {                                                                                              \
        name, code, arguments, true, WEFT_NEEDS_NOTHING                                            \
    }
#define REALS(name, code, arguments)                                                               \
    {                                                                                              \
        name, code, arguments, false, WEFT_NEEDS_REALS                                             \
    }
#define REALS_TEST(name, code, arguments)                                                          \
    {                                                                                              \
        name, code, arguments, true, WEFT_NEEDS_REALS                                              \
    }
#define INTEGERS(name, code, arguments)                                                            \
    {                                                                                              \
        name, code, arguments, false, WEFT_NEEDS_INTEGERS                                          \
    }

static const weft_function functions[] = {
    ANY("add", "ADD", "nn"),
    ANY("subtract", "SUB", "nn"),
    ANY("multiply", "MUL", "nn"),
    ANY("quotient", "DIV", "nn"),
    ANY("floor_divide", "FLOOR_DIVIDE", "nn"),
    ANY("remainder", "REMAINDER", "nn"), // of a floored quotient
    ANY("fmod", "FMOD", "nn"),           // of a truncated one
    ANY("negate", "NEG", "n"),
    ANY("copy", "COPY", "n"),
    ANY("abs", "ABS", "n"),
    ANY("fabs", "ABS", "n"),
    ANY("sign", "SIGN", "n"),
    ANY("square", "SQUARE", "n"),
    ANY("min", "MIN", "nn"),
    ANY("max", "MAX", "nn"),
    ANY("fmin", "FMIN", "nn"),
    ANY("fmax", "FMAX", "nn"),
    ANY("clamp", "CLAMP", "nnn"), // x, least, most
    ANY("where", "WHERE", "tnn"),
    ANY("select", "SELECT", "nnt"),
    ANY("relu", "RELU", "n"),

    TEST("equal", "EQUAL", "nn"),
    TEST("not_equal", "NOT_EQUAL", "nn"),
    TEST("less", "LESS", "nn"),
    TEST("less_equal", "LESS_EQUAL", "nn"),
    TEST("greater", "GREATER", "nn"),
    TEST("greater_equal", "GREATER_EQUAL", "nn"),
    TEST("logical_and", "LOGICAL_AND", "tt"),
    TEST("logical_or", "LOGICAL_OR", "tt"),
    TEST("logical_not", "LOGICAL_NOT", "t"),

    INTEGERS("bitwise_and", "AND", "nn"),
    INTEGERS("bitwise_or", "OR", "nn"),
    INTEGERS("bitwise_xor", "XOR", "nn"),
    INTEGERS("bitwise_not", "INVERT", "n"),
    INTEGERS("left_shift", "SHL", "nn"),
    INTEGERS("right_shift", "SHR", "nn"),

    REALS("divide", "DIV", "nn"),
    REALS("sqrt", "SQRT", "n"),
    REALS("rsqrt", "RSQRT", "n"),
    REALS("cbrt", "CBRT", "n"),
    REALS("reciprocal", "RECIPROCAL", "n"),
    REALS("exp", "EXP", "n"),
    REALS("exp2", "EXP2", "n"),
    REALS("exp10", "EXP10", "n"),
    REALS("expm1", "EXPM1", "n"),
    REALS("log", "LOG", "n"),
    REALS("log2", "LOG2", "n"),
    REALS("log10", "LOG10", "n"),
    REALS("log1p", "LOG1P", "n"),
    REALS("pow", "POW", "nn"),
    REALS("power", "POW", "nn"),
    REALS("hypot", "HYPOT", "nn"),
    REALS("sin", "SIN", "n"),
    REALS("cos", "COS", "n"),
    REALS("tan", "TAN", "n"),
    REALS("asin", "ASIN", "n"),
    REALS("acos", "ACOS", "n"),
    REALS("atan", "ATAN", "n"),
    REALS("atan2", "ATAN2", "nn"),
    REALS("sinh", "SINH", "n"),
    REALS("cosh", "COSH", "n"),
    REALS("tanh", "TANH", "n"),
    REALS("asinh", "ASINH", "n"),
    REALS("acosh", "ACOSH", "n"),
    REALS("atanh", "ATANH", "n"),
    REALS("erf", "ERF", "n"),
    REALS("erfc", "ERFC", "n"),
    REALS("floor", "FLOOR", "n"),
    REALS("ceil", "CEIL", "n"),
    REALS("round", "ROUND", "n"), // halves away from 0
    REALS("rint", "RINT", "n"),   // halves to even
    REALS("trunc", "TRUNC", "n"),
    REALS("copysign", "COPYSIGN", "nn"),
    REALS("fma", "FMA", "nnn"),
    REALS("mad", "MAD", "nnn"),
    REALS("mix", "MIX", "nnn"), // a + (b - a) t
    REALS_TEST("isnan", "ISNAN", "n"),
    REALS_TEST("isinf", "ISINF", "n"),
    REALS_TEST("isfinite", "ISFINITE", "n"),

    REALS("sigmoid", "SIGMOID", "n"),
    REALS("softplus", "SOFTPLUS", "n"),
    REALS("silu", "SILU", "n"),
    REALS("gelu", "GELU", "n"),
    REALS("gelu_tanh", "GELU_TANH", "n"),
    REALS("leaky_relu", "LEAKY_RELU", "nn"), // x, slope
    REALS("elu", "ELU", "nn"),               // x, alpha

    // Of (dy, x): dy times the derivative at x.
    ANY("abs_backward", "ABS_BACKWARD", "nn"),
    ANY("square_backward", "SQUARE_BACKWARD", "nn"),
    ANY("relu_backward", "RELU_BACKWARD", "nn"),
    ANY("clamp_backward", "CLAMP_BACKWARD", "nnnn"),
    REALS("sqrt_backward", "SQRT_BACKWARD", "nn"),
    REALS("exp_backward", "EXP_BACKWARD", "nn"),
    REALS("log_backward", "LOG_BACKWARD", "nn"),
    REALS("tanh_backward", "TANH_BACKWARD", "nn"),
    REALS("erf_backward", "ERF_BACKWARD", "nn"),
    REALS("sigmoid_backward", "SIGMOID_BACKWARD", "nn"),
    REALS("silu_backward", "SILU_BACKWARD", "nn"),
    REALS("gelu_backward", "GELU_BACKWARD", "nn"),
    REALS("gelu_tanh_backward", "GELU_TANH_BACKWARD", "nn"),
};

static const weft_constant constants[] = {
    {"M_E", 2.71828182845904523536},
    {"M_LOG2E", 1.44269504088896340736},
    {"M_LN2", 0.69314718055994530942},
    {"M_LN10", 2.30258509299404568402},
    {"M_PI", 3.14159265358979323846},
    {"M_1_PI", 0.31830988618379067154},
    {"M_2_PI", 0.63661977236758134308},
    {"M_SQRT2", 1.41421356237309504880},
    {"M_PI_2", 1.57079632679489661923},
    {"M_PI_4", 0.78539816339744830962},
    {"M_LOG10E", 0.43429448190325182765},
    {"M_2_SQRTPI", 1.12837916709551257390},
    {"M_SQRT1_2", 0.70710678118654752440},
    {"INFINITY", INFINITY},
    {"NAN", NAN},
};

static const char *const reserved[] = {
    "auto",      "bool",       "break",    "case",      "char",    "complex",    "const",
    "constant",  "continue",   "default",  "do",        "double",  "else",       "enum",
    "event_t",   "extern",     "false",    "float",     "for",     "generic",    "global",
    "goto",      "half",       "if",       "imaginary", "inline",  "int",        "intptr_t",
    "kernel",    "local",      "long",     "pipe",      "private", "ptrdiff_t",  "quad",
    "read_only", "read_write", "register", "restrict",  "return",  "sampler_t",  "short",
    "signed",    "size_t",     "sizeof",   "static",    "struct",  "switch",     "true",
    "typedef",   "uchar",      "uint",     "uintptr_t", "ulong",   "uniform",    "union",
    "unsigned",  "ushort",     "void",     "volatile",  "while",   "write_only",
};

// float4 and the like are types too, and image2d_t.
static const char *const vectors[] = {"char",  "uchar", "short",  "ushort", "int",  "uint", "long",
                                      "ulong", "float", "double", "half",   "bool", "quad"};
static const char *const widths[] = {"2", "3", "4", "8", "16"};

static bool is_text(const char *name, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(name, text, length) == 0;
}

static bool begins(const char *name, size_t length, const char *part)
{
    return length >= strlen(part) && memcmp(name, part, strlen(part)) == 0;
}

static bool ends(const char *name, size_t length, const char *part)
{
    return length >= strlen(part) && memcmp(name + length - strlen(part), part, strlen(part)) == 0;
}

static bool is_among(const char *const *words, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (is_text(name, length, words[i]))
            return true;
    return false;
}

static bool is_vector(const char *name, size_t length)
{
    for (int i = 0; i < COUNT_OF(vectors); i++) {
        const size_t n = strlen(vectors[i]);
        if (begins(name, length, vectors[i]) &&
            is_among(widths, COUNT_OF(widths), name + n, length - n))
            return true;
    }
    return false;
}

bool weft_is_reserved(const char *name, size_t length)
{
    const bool is_own =
        length > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
    const bool is_image = begins(name, length, "image") && ends(name, length, "_t");
    return is_own || is_image || is_vector(name, length) ||
           is_among(reserved, COUNT_OF(reserved), name, length);
}

const weft_function *weft_function_at(int i)
{
    return i >= 0 && i < COUNT_OF(functions) ? &functions[i] : NULL;
}

const weft_function *weft_function_find(const char *name, size_t length)
{
    for (int i = 0; i < COUNT_OF(functions); i++)
        if (is_text(name, length, functions[i].name))
            return &functions[i];
    return NULL;
}

const weft_constant *weft_constant_find(const char *name, size_t length)
{
    if (begins(name, length, "M_") && ends(name, length, "_F"))
        length -= 2;
    for (int i = 0; i < COUNT_OF(constants); i++)
        if (is_text(name, length, constants[i].name))
            return &constants[i];
    return NULL;
}
