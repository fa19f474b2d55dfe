// SPDX-License-Identifier: Apache-2.0
// Expressions: what code becomes of them: functions, truths and numbers, literals. Precedence is
// seen by the vectors of test_reference_formula.c.
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

static weft_names some_inputs(int n)
{
    return (weft_names){.n_inputs = n, .inputs = {"p", "q", "r", "s", "t"}};
}

static void check_function(const weft_function *f)
{
    char text[128], words[64];
    const int wanted = (int)strlen(f->arguments);
    for (int n = 0; n <= 5; n++) {
        const weft_names inputs = some_inputs(n);
        char *end = text + sprintf(text, "%s(", f->name);
        for (int k = 0; k < n; k++)
            end += sprintf(end, "%s%s", k == 0 ? "" : ",", inputs.inputs[k]);
        sprintf(end, ")");
        if (n == wanted) {
            parse_with(&inputs, text);
            assert_int_equal(parsed.is_real, f->needs == WEFT_NEEDS_REALS);
            assert_int_equal(parsed.is_integral, f->needs == WEFT_NEEDS_INTEGERS);
            const weft_expression called = parsed;
            parse_with(&inputs, f->name);
            assert_int_equal(parsed.inputs, (1 << n) - 1);
            assert_int_equal(parsed.is_real, called.is_real);
            continue;
        }
        sprintf(words, "%s takes %d argument%s, here %s %d", f->name, wanted,
                wanted == 1 ? "" : "s", n == 1 ? "is" : "are", n);
        check_refused(&inputs, text, 1, words);
        sprintf(words + strlen(words), " input%s", n == 1 ? "" : "s");
        check_refused(&inputs, f->name, 1, words);
    }
}

// What each of them is, the vectors say.
static void test_functions(void **state)
{
    int n = 0;
    (void)state;
    for (; weft_function_at(n); n++)
        check_function(weft_function_at(n));
    assert_null(weft_function_at(n + 1));
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

static void test_constants(void **state)
{
    (void)state;
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
        cmocka_unit_test(test_code),      cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_literals),
        cmocka_unit_test(test_locale),    cmocka_unit_test(test_constants),
        cmocka_unit_test(test_facts),     cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests_name("expression", tests, NULL, NULL);
}
