// SPDX-License-Identifier: Apache-2.0
// Expressions: what code becomes of them: precedence, functions, truths and numbers, literals.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "expression_text.h"
#include "implementation.h"

static void test_code(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a", "x0"},
        {" \t(\n(beta) )", "v1"},
        {"a+b*c", "ADD(x0,MUL(x1,x2))"},
        {"(a+b)*c", "MUL(ADD(x0,x1),x2)"},
        {"a-b-c", "SUB(SUB(x0,x1),x2)"},
        {"a/b%c", "FMOD(DIV(x0,x1),x2)"},
        {"-a*b", "MUL(NEG(x0),x1)"},
        {"- -a", "NEG(NEG(x0))"},
        {"+a", "x0"},
        {"-+a", "NEG(x0)"},
        {"a- -b", "SUB(x0,NEG(x1))"},
        {"a<b ? b : c ? a : b", "WHERE(LESS(x0,x1),x1,WHERE(TRUTH(x2),x0,x1))"},
        {"a ? b ? a : c : b", "WHERE(TRUTH(x0),WHERE(TRUTH(x1),x0,x2),x1)"},
        {"a ? b : c + a", "WHERE(TRUTH(x0),x1,ADD(x2,x0))"},
        {"where(a, b, c)", "WHERE(TRUTH(x0),x1,x2)"},
        {"select(a, b, c)", "SELECT(x0,x1,TRUTH(x2))"},
        {"min(a,max(b,c))", "MIN(x0,MAX(x1,x2))"},
        {"alpha*a+beta*b", "ADD(MUL(v0,x0),MUL(v1,x1))"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_code(cases[i][0], WEFT_F32, cases[i][1]);
    check_code("a&b|c^a<<b>>~c", WEFT_I32, "OR(AND(x0,x1),XOR(x2,SHR(SHL(x0,x1),INVERT(x2))))");
}

// What becomes a truth, and what becomes a number again.
static void test_kinds(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a<b", "NUMBER(LESS(x0,x1))"},
        {"!a", "NUMBER(LOGICAL_NOT(TRUTH(x0)))"},
        {"!!a", "NUMBER(LOGICAL_NOT(LOGICAL_NOT(TRUTH(x0))))"},
        {"!(a<b)", "NUMBER(LOGICAL_NOT(LESS(x0,x1)))"},
        {"a && b == c", "NUMBER(LOGICAL_AND(TRUTH(x0),EQUAL(x1,x2)))"},
        {"a < b < c", "NUMBER(LESS(NUMBER(LESS(x0,x1)),x2))"},
        {"-(a < b)", "NEG(NUMBER(LESS(x0,x1)))"},
        {"+(a < b)", "NUMBER(LESS(x0,x1))"},
        {"(a > 0) * b", "MUL(NUMBER(GREATER(x0,LITERAL(0x0p+0f))),x1)"},
        {"a != b ? a <= b : a >= b",
         "WHERE(NOT_EQUAL(x0,x1),NUMBER(LESS_EQUAL(x0,x1)),NUMBER(GREATER_EQUAL(x0,x1)))"},
        {"isnan(a) || isinf(b)", "NUMBER(LOGICAL_OR(ISNAN(x0),ISINF(x1)))"},
        {"where(isfinite(a), a, b)", "WHERE(ISFINITE(x0),x0,x1)"},
        {"exp(a < b)", "EXP(NUMBER(LESS(x0,x1)))"},
        {"1 ? a : b", "WHERE(TRUTH(LITERAL(0x1p+0f)),x0,x1)"},
        {"copy(a == b)", "COPY(NUMBER(EQUAL(x0,x1)))"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_code(cases[i][0], WEFT_F32, cases[i][1]);
}

static int64_t value_of_node(int index, const int64_t inputs[3]);

static int64_t value_of_call(const weft_node *node, const int64_t inputs[3])
{
    int64_t x[WEFT_FUNCTION_ARGUMENTS] = {0};
    for (size_t i = 0; i < strlen(node->function->arguments); i++)
        x[i] = value_of_node(node->arguments[i], inputs);
    const char *is = node->function->name;
    return strcmp(is, "add") == 0             ? x[0] + x[1]
           : strcmp(is, "subtract") == 0      ? x[0] - x[1]
           : strcmp(is, "multiply") == 0      ? x[0] * x[1]
           : strcmp(is, "quotient") == 0      ? x[0] / x[1]
           : strcmp(is, "fmod") == 0          ? x[0] % x[1]
           : strcmp(is, "left_shift") == 0    ? x[0] << (x[1] & 63)
           : strcmp(is, "right_shift") == 0   ? x[0] >> (x[1] & 63)
           : strcmp(is, "less") == 0          ? x[0] < x[1]
           : strcmp(is, "less_equal") == 0    ? x[0] <= x[1]
           : strcmp(is, "greater") == 0       ? x[0] > x[1]
           : strcmp(is, "greater_equal") == 0 ? x[0] >= x[1]
           : strcmp(is, "equal") == 0         ? x[0] == x[1]
           : strcmp(is, "not_equal") == 0     ? x[0] != x[1]
           : strcmp(is, "bitwise_and") == 0   ? (x[0] & x[1])
           : strcmp(is, "bitwise_or") == 0    ? (x[0] | x[1])
           : strcmp(is, "bitwise_xor") == 0   ? (x[0] ^ x[1])
           : strcmp(is, "bitwise_not") == 0   ? ~x[0]
           : strcmp(is, "logical_and") == 0   ? x[0] && x[1]
           : strcmp(is, "logical_or") == 0    ? x[0] || x[1]
           : strcmp(is, "logical_not") == 0   ? !x[0]
           : strcmp(is, "negate") == 0        ? -x[0]
           : strcmp(is, "where") == 0         ? (x[0] ? x[1] : x[2])
                                              : -12345;
}

static int64_t value_of_node(int index, const int64_t inputs[3])
{
    const weft_node *node = &parsed.nodes[index];
    if (node->kind == WEFT_NODE_INPUT)
        return inputs[node->index];
    if (node->kind == WEFT_NODE_INTEGER)
        return node->is_negative ? -(int64_t)node->integer : (int64_t)node->integer;
    return value_of_call(node, inputs);
}

// The compiler of this test reckons the same texts.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
static void test_precedence(void **state)
{
    (void)state;
#define CASE(...)                                                                                  \
    {                                                                                              \
#__VA_ARGS__, __VA_ARGS__                                                                  \
    }
    static const int64_t all[][3] = {{7, 3, 2}, {1, 2, 5}, {6, 5, 3}, {2, 7, 1}, {4, 1, 6}};
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        const int64_t a = all[k][0], b = all[k][1], c = all[k][2];
        const struct {
            const char *text;
            int64_t value;
        } cases[] = {
            CASE(a + b * c),
            CASE(a * b + c),
            CASE(a - b - c),
            CASE(a - b + c),
            CASE(a / b / c),
            CASE(a / b * c),
            CASE(a * b / c),
            CASE(a % b * c),
            CASE(a + b % c),
            CASE(a + b << c),
            CASE(a << b + c),
            CASE(a << b >> c),
            CASE(a >> b << c),
            CASE(a << b < c),
            CASE(a < b >> c),
            CASE(a < b < c),
            CASE(a > b <= c),
            CASE(a < b == c),
            CASE(a == b < c),
            CASE(a != b >= c),
            CASE(a == b == c),
            CASE(a != b == c),
            CASE(a & b == c),
            CASE(a == b & c),
            CASE(a & b ^ c),
            CASE(a ^ b & c),
            CASE(a ^ b | c),
            CASE(a | b ^ c),
            CASE(a | b && c),
            CASE(a && b | c),
            CASE(a && b || c),
            CASE(a - 7 || b && c),
            CASE(a || b ? c : a),
            CASE(a ? b : c || a),
            CASE(-a + b),
            CASE(-a * -b),
            CASE(~a & b),
            CASE(!a == b),
            CASE(!a + ~b),
            CASE(- -a - -b),
            CASE(a < b   ? a
                 : b < c ? b
                         : c),
            CASE(a < b ? b < c ? a : b : c),
            CASE(a | b ^ c & a == b < c << a + b * c),
            CASE(a * b + c << b < c == a & b ^ c | a),
            CASE((a | b) & c),
            CASE((a + b) * -c),
            CASE(a - (b - c)),
            CASE(a << (b >> c)),
            CASE(1 + 2 * 0x1f),
            CASE(a - 1 - 2),
            CASE(~0 ^ a - 1),
            CASE(-5 % 3 + a),
        };
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            parse_with(&names, cases[i].text);
            const int64_t value = value_of_node(parsed.n_nodes - 1, all[k]);
            if (value != cases[i].value)
                fail_msg("%s is %lld, not %lld", cases[i].text, (long long)cases[i].value,
                         (long long)value);
        }
    }
}
#pragma GCC diagnostic pop

// A letter for each argument as in weft_function; the result's comes last.
static const struct {
    const char *name, *code, *kinds;
    char needs; // reals, integers, or any of both
} functions[] = {
    {"add", "ADD", "nn>n", 'a'},
    {"subtract", "SUB", "nn>n", 'a'},
    {"multiply", "MUL", "nn>n", 'a'},
    {"divide", "DIV", "nn>n", 'r'},
    {"quotient", "DIV", "nn>n", 'a'},
    {"floor_divide", "FLOOR_DIVIDE", "nn>n", 'a'},
    {"remainder", "REMAINDER", "nn>n", 'a'},
    {"power", "POW", "nn>n", 'r'},
    {"negate", "NEG", "n>n", 'a'},
    {"copy", "COPY", "n>n", 'a'},
    {"equal", "EQUAL", "nn>t", 'a'},
    {"not_equal", "NOT_EQUAL", "nn>t", 'a'},
    {"less", "LESS", "nn>t", 'a'},
    {"less_equal", "LESS_EQUAL", "nn>t", 'a'},
    {"greater", "GREATER", "nn>t", 'a'},
    {"greater_equal", "GREATER_EQUAL", "nn>t", 'a'},
    {"logical_and", "LOGICAL_AND", "tt>t", 'a'},
    {"logical_or", "LOGICAL_OR", "tt>t", 'a'},
    {"logical_not", "LOGICAL_NOT", "t>t", 'a'},
    {"bitwise_and", "AND", "nn>n", 'i'},
    {"bitwise_or", "OR", "nn>n", 'i'},
    {"bitwise_xor", "XOR", "nn>n", 'i'},
    {"bitwise_not", "INVERT", "n>n", 'i'},
    {"left_shift", "SHL", "nn>n", 'i'},
    {"right_shift", "SHR", "nn>n", 'i'},
    {"where", "WHERE", "tnn>n", 'a'},
    {"select", "SELECT", "nnt>n", 'a'},
    {"min", "MIN", "nn>n", 'a'},
    {"max", "MAX", "nn>n", 'a'},
    {"fmin", "FMIN", "nn>n", 'a'},
    {"fmax", "FMAX", "nn>n", 'a'},
    {"clamp", "CLAMP", "nnn>n", 'a'},
    {"abs", "ABS", "n>n", 'a'},
    {"fabs", "ABS", "n>n", 'a'},
    {"sign", "SIGN", "n>n", 'a'},
    {"square", "SQUARE", "n>n", 'a'},
    {"relu", "RELU", "n>n", 'a'},
    {"sqrt", "SQRT", "n>n", 'r'},
    {"rsqrt", "RSQRT", "n>n", 'r'},
    {"cbrt", "CBRT", "n>n", 'r'},
    {"exp", "EXP", "n>n", 'r'},
    {"exp2", "EXP2", "n>n", 'r'},
    {"exp10", "EXP10", "n>n", 'r'},
    {"expm1", "EXPM1", "n>n", 'r'},
    {"log", "LOG", "n>n", 'r'},
    {"log2", "LOG2", "n>n", 'r'},
    {"log10", "LOG10", "n>n", 'r'},
    {"log1p", "LOG1P", "n>n", 'r'},
    {"sin", "SIN", "n>n", 'r'},
    {"cos", "COS", "n>n", 'r'},
    {"tan", "TAN", "n>n", 'r'},
    {"asin", "ASIN", "n>n", 'r'},
    {"acos", "ACOS", "n>n", 'r'},
    {"atan", "ATAN", "n>n", 'r'},
    {"atan2", "ATAN2", "nn>n", 'r'},
    {"sinh", "SINH", "n>n", 'r'},
    {"cosh", "COSH", "n>n", 'r'},
    {"tanh", "TANH", "n>n", 'r'},
    {"asinh", "ASINH", "n>n", 'r'},
    {"acosh", "ACOSH", "n>n", 'r'},
    {"atanh", "ATANH", "n>n", 'r'},
    {"erf", "ERF", "n>n", 'r'},
    {"erfc", "ERFC", "n>n", 'r'},
    {"pow", "POW", "nn>n", 'r'},
    {"hypot", "HYPOT", "nn>n", 'r'},
    {"floor", "FLOOR", "n>n", 'r'},
    {"ceil", "CEIL", "n>n", 'r'},
    {"round", "ROUND", "n>n", 'r'},
    {"rint", "RINT", "n>n", 'r'},
    {"trunc", "TRUNC", "n>n", 'r'},
    {"fmod", "FMOD", "nn>n", 'a'},
    {"copysign", "COPYSIGN", "nn>n", 'r'},
    {"fma", "FMA", "nnn>n", 'r'},
    {"mad", "MAD", "nnn>n", 'r'},
    {"mix", "MIX", "nnn>n", 'r'},
    {"isnan", "ISNAN", "n>t", 'r'},
    {"isinf", "ISINF", "n>t", 'r'},
    {"isfinite", "ISFINITE", "n>t", 'r'},
    {"reciprocal", "RECIPROCAL", "n>n", 'r'},
    {"sigmoid", "SIGMOID", "n>n", 'r'},
    {"softplus", "SOFTPLUS", "n>n", 'r'},
    {"silu", "SILU", "n>n", 'r'},
    {"leaky_relu", "LEAKY_RELU", "nn>n", 'r'},
    {"elu", "ELU", "nn>n", 'r'},
    {"gelu", "GELU", "n>n", 'r'},
    {"gelu_tanh", "GELU_TANH", "n>n", 'r'},
    {"abs_backward", "ABS_BACKWARD", "nn>n", 'a'},
    {"square_backward", "SQUARE_BACKWARD", "nn>n", 'a'},
    {"relu_backward", "RELU_BACKWARD", "nn>n", 'a'},
    {"clamp_backward", "CLAMP_BACKWARD", "nnnn>n", 'a'},
    {"sqrt_backward", "SQRT_BACKWARD", "nn>n", 'r'},
    {"exp_backward", "EXP_BACKWARD", "nn>n", 'r'},
    {"log_backward", "LOG_BACKWARD", "nn>n", 'r'},
    {"tanh_backward", "TANH_BACKWARD", "nn>n", 'r'},
    {"erf_backward", "ERF_BACKWARD", "nn>n", 'r'},
    {"sigmoid_backward", "SIGMOID_BACKWARD", "nn>n", 'r'},
    {"silu_backward", "SILU_BACKWARD", "nn>n", 'r'},
    {"gelu_backward", "GELU_BACKWARD", "nn>n", 'r'},
    {"gelu_tanh_backward", "GELU_TANH_BACKWARD", "nn>n", 'r'},
};

static void write_call(char *text, const char *name, const char *operand, int n)
{
    text += sprintf(text, "%s(", name);
    for (int i = 0; i < n; i++)
        text += sprintf(text, operand, i == 0 ? "" : ",", i);
    sprintf(text, ")");
}

static void expected_code(char *text, size_t i)
{
    const char *kinds = functions[i].kinds;
    const bool gives_truth = kinds[strlen(kinds) - 1] == 't';
    text += sprintf(text, "%s%s(", gives_truth ? "NUMBER(" : "", functions[i].code);
    for (int k = 0; kinds[k] != '>'; k++)
        text += sprintf(text, kinds[k] == 't' ? "%sTRUTH(x%d)" : "%sx%d", k == 0 ? "" : ",", k);
    sprintf(text, "%s)", gives_truth ? ")" : "");
}

static weft_names some_inputs(int n)
{
    return (weft_names){.n_inputs = n, .inputs = {"p", "q", "r", "s", "t"}};
}

static void check_function(size_t i)
{
    char text[128], code[128], words[64];
    const int wanted = (int)(strchr(functions[i].kinds, '>') - functions[i].kinds);
    for (int n = 0; n <= 5; n++) {
        const weft_names inputs = some_inputs(n);
        write_call(text, functions[i].name, "%s%c", 0);
        char *end = strchr(text, '(') + 1;
        for (int k = 0; k < n; k++)
            end += sprintf(end, "%s%s", k == 0 ? "" : ",", inputs.inputs[k]);
        sprintf(end, ")");
        if (n == wanted) {
            expected_code(code, i);
            const weft_dtype arithmetic = functions[i].needs == 'i' ? WEFT_I32 : WEFT_F32;
            parse_with(&inputs, text);
            assert_string_equal(code_of(arithmetic), code);
            assert_int_equal(parsed.is_real, functions[i].needs == 'r');
            assert_int_equal(parsed.is_integral, functions[i].needs == 'i');
            parse_with(&inputs, functions[i].name);
            assert_string_equal(code_of(arithmetic), code);
            assert_int_equal(parsed.inputs, (1 << n) - 1);
            assert_int_equal(parsed.is_real, functions[i].needs == 'r');
            continue;
        }
        sprintf(words, "%s takes %d argument%s, here %s %d", functions[i].name, wanted,
                wanted == 1 ? "" : "s", n == 1 ? "is" : "are", n);
        check_refused(&inputs, text, 1, words);
        sprintf(words + strlen(words), " input%s", n == 1 ? "" : "s");
        check_refused(&inputs, functions[i].name, 1, words);
    }
}

static void test_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        check_function(i);
    assert_non_null(weft_function_at((int)COUNT_OF(functions) - 1));
    assert_null(weft_function_at((int)COUNT_OF(functions)));
    assert_null(weft_function_at(-1));
}

// Valgrind turns integers into f32 by way of f64.
static bool is_rounded_twice(const char *text)
{
    return is_on("valgrind") && strcmp(text, "0x1000001000000001") == 0;
}

static void test_literals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *f32, *f64, *i32, *i64; // NULL: there is no such arithmetic for it
    } cases[] = {
        {"0", "0x0p+0f", "0x0p+0", "0", "0L"},
        {"1", "0x1p+0f", "0x1p+0", "1", "1L"},
        {"-1", "-0x1p+0f", "-0x1p+0", "-1", "-1L"},
        {"- 0", "-0x0p+0f", "-0x0p+0", "0", "0L"},
        {"12", "0x3p+2f", "0x3p+2", "12", "12L"},
        {"0xFf", "0xffp+0f", "0xffp+0", "255", "255L"},
        {"0X10uL", "0x1p+4f", "0x1p+4", "16", "16L"},
        {"7u", "0x7p+0f", "0x7p+0", "7", "7L"},
        {"7LLU", "0x7p+0f", "0x7p+0", "7", "7L"},
        {"7Ull", "0x7p+0f", "0x7p+0", "7", "7L"},
        {"16777217", "0x1p+24f", "0x1000001p+0", "16777217", "16777217L"},
        {"2147483647", "0x1p+31f", "0x7fffffffp+0", "2147483647", "2147483647L"},
        {"-2147483648", "-0x1p+31f", "-0x1p+31", "-2147483647-1", "-2147483648L"},
        {"0xffffffff", "0x1p+32f", "0xffffffffp+0", "-1", "4294967295L"},
        {"9223372036854775807", "0x1p+63f", "0x1p+63", "-1", "9223372036854775807L"},
        {"-9223372036854775808", "-0x1p+63f", "-0x1p+63", "0", "-9223372036854775807L-1L"},
        {"9223372036854775808", "0x1p+63f", "0x1p+63", "0", "-9223372036854775807L-1L"},
        {"18446744073709551615", "0x1p+64f", "0x1p+64", "-1", "-1L"},
        {"0xffffffffffffffff", "0x1p+64f", "0x1p+64", "-1", "-1L"},
        // 2^60 + 2^36 + 1, and a little more than 1 + 2^-24: by way of f64 they would be ties.
        {"0x1000001000000001", "0x800001p+37f", "0x1000001p+36", "1", "1152921573326323713L"},
        {"1.0000000596046447754", "0x800001p-23f", "0x1000001p-24", NULL, NULL},
        {"1.5", "0x3p-1f", "0x3p-1", NULL, NULL},
        {"0.1", "0xcccccdp-27f", "0xccccccccccccdp-55", NULL, NULL},
        {".1F", "0xcccccdp-27f", "0xccccccccccccdp-55", NULL, NULL},
        {"1.", "0x1p+0f", "0x1p+0", NULL, NULL},
        {"1e3", "0x7dp+3f", "0x7dp+3", NULL, NULL},
        {"1E+3f", "0x7dp+3f", "0x7dp+3", NULL, NULL},
        {"125.e-3L", "0x1p-3f", "0x1p-3", NULL, NULL},
        {"007.5", "0xfp-1f", "0xfp-1", NULL, NULL},
        {"0x1.8p3", "0x3p+2f", "0x3p+2", NULL, NULL},
        {"0x.8P-1f", "0x1p-2f", "0x1p-2", NULL, NULL},
        {"0x3p0", "0x3p+0f", "0x3p+0", NULL, NULL},
        {"1e-45", "0x1p-149f", "0x16d601ad376ab9p-202", NULL, NULL},
        {"1e39", "INFINITY", "0x178287f49c4a1dp+77", NULL, NULL},
        {"4.9e-324", "0x0p+0f", "0x1p-1074", NULL, NULL},
        {"1e-999999999999", "0x0p+0f", "0x0p+0", NULL, NULL},
        {"0e999999999999", "0x0p+0f", "0x0p+0", NULL, NULL},
        {"INFINITY", "INFINITY", "INFINITY", NULL, NULL},
        {"NAN", "NAN", "NAN", NULL, NULL},
        {"M_PI", "0xc90fdbp-22f", "0x3243f6a8885a3p-48", NULL, NULL},
        {"M_PI_F", "0xc90fdbp-22f", "0x3243f6a8885a3p-48", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *wanted[] = {cases[i].f32, cases[i].f64, cases[i].i32, cases[i].i64};
        const weft_dtype arithmetic[] = {WEFT_F32, WEFT_F64, WEFT_I32, WEFT_I64};
        parse_with(&names, cases[i].text);
        for (int k = 0; k < 4; k++) {
            char code[64];
            if (!wanted[k] || (k == 0 && is_rounded_twice(cases[i].text)))
                continue;
            sprintf(code, "LITERAL(%s)", wanted[k]);
            assert_string_equal(code_of(arithmetic[k]), code);
        }
    }
    check_code("0x1e+2", WEFT_I32, "ADD(LITERAL(30),LITERAL(2))");
    check_code("-1.5", WEFT_F32, "NEG(LITERAL(0x3p-1f))");
    check_code("a-1", WEFT_I32, "SUB(x0,LITERAL(1))");
    check_code("- -1", WEFT_I32, "NEG(LITERAL(-1))");
    check_code("1/2", WEFT_F64, "DIV(LITERAL(0x1p+0),LITERAL(0x1p+1))");
}

// A comma for a point must not change what is read or written.
static void test_locale(void **state)
{
    static const char *const with_commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; !found && i < COUNT_OF(with_commas); i++)
        found = setlocale(LC_ALL, with_commas[i]) != NULL;
    if (found)
        test_literals(state);
    setlocale(LC_ALL, "C");
    if (!found)
        skip();
}

// Digits of each constant, as an independent source has them.
static void test_constants(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double value;
    } cases[] = {
        {"M_PI", 3.141592653589793},       {"M_E", 2.718281828459045},
        {"M_SQRT2", 1.4142135623730951},   {"M_LN2", 0.6931471805599453},
        {"M_LN10", 2.302585092994046},     {"M_LOG2E", 1.4426950408889634},
        {"M_1_PI", 0.3183098861837907},    {"M_2_PI", 0.6366197723675814},
        {"M_SQRT1_2", 0.7071067811865476},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int k = 0; k < 2; k++) {
            char text[16];
            sprintf(text, "%s%s", cases[i].name, k ? "_F" : "");
            parse_with(&names, text);
            assert_true(parsed.nodes[0].real == cases[i].value);
            assert_true(parsed.nodes[0].single == (float)cases[i].value);
            assert_true(parsed.is_real);
        }
    check_refused(&names, "INFINITY_F", 1, "nothing named 'INFINITY_F'");
    check_refused(&names, "M_PI_F_F", 1, "nothing named 'M_PI_F_F'");
}

static void test_facts(void **state)
{
    (void)state;
    enum { REAL = 1, INTEGRAL = 2, LONG = 4, WIDE = 8 };
    static const struct {
        const char *text;
        unsigned facts, inputs, values;
    } cases[] = {
        {"a", 0, 1, 0},
        {"b + beta", 0, 2, 2},
        {"1/2", 0, 0, 0},
        {"a * 1.0 + c", REAL, 5, 0},
        {"1e0", REAL, 0, 0},
        {"a == INFINITY", REAL, 1, 0},
        {"exp(alpha)", REAL, 0, 1},
        {"~a", INTEGRAL, 1, 0},
        {"a & b", INTEGRAL, 3, 0},
        {"a >> 1", INTEGRAL, 1, 0},
        {"2147483647", 0, 0, 0},
        {"2147483648", LONG, 0, 0},
        {"-2147483648", 0, 0, 0},
        {"-2147483649", LONG, 0, 0},
        {"~0xffffffff", INTEGRAL | LONG, 0, 0},
        {"3.4028235e38", REAL, 0, 0},
        {"3.4028236e38f", REAL | WIDE, 0, 0},
        {"a % b", 0, 3, 0},
        {"fmod(a, b)", 0, 3, 0},
        {"divide(a, b)", REAL, 3, 0},
        {"relu(a)", 0, 1, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        parse_with(&names, cases[i].text);
        const unsigned facts = (parsed.is_real ? REAL : 0) | (parsed.is_integral ? INTEGRAL : 0) |
                               (parsed.is_long ? LONG : 0) | (parsed.is_wide ? WIDE : 0);
        assert_int_equal(facts, cases[i].facts);
        assert_int_equal(parsed.inputs, cases[i].inputs);
        assert_int_equal(parsed.values, cases[i].values);
    }
}

// As snprintf().
static void test_room(void **state)
{
    (void)state;
    parse_with(&names, "a + b * 1.5");
    const char whole[] = "ADD(x0,MUL(x1,LITERAL(0x3p-1f)))";
    for (size_t size = 0; size < sizeof(whole) + 4; size++) {
        char text[64];
        memset(text, '#', sizeof(text));
        assert_int_equal(weft_expression_code(&parsed, WEFT_F32, text, size), sizeof(whole) - 1);
        const size_t kept = size < sizeof(whole) ? size : sizeof(whole);
        if (kept > 0) {
            assert_memory_equal(text, whole, kept - 1);
            assert_int_equal(text[kept - 1], 0);
        }
        assert_int_equal(text[kept], '#');
    }
    assert_int_equal(weft_expression_code(&parsed, WEFT_F32, NULL, 0), sizeof(whole) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code),       cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_precedence), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_literals),   cmocka_unit_test(test_locale),
        cmocka_unit_test(test_constants),  cmocka_unit_test(test_facts),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests_name("expression", tests, NULL, NULL);
}
