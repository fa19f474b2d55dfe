// SPDX-License-Identifier: Apache-2.0
// Expressions: what is refused and in which column, which names there may be, how far a text may
// go, and that no text does harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "expression_text.h"
#include "formula/expression_token.h"
#include "random.h"

enum { N_RANDOM = 15000 };

// The caret stands below what is refused.
static void check_caret(const char *text, int column)
{
    char message[1024];
    snprintf(message, sizeof(message), "%s", weft_last_error());
    char *shown = strchr(message, '\n') + 1;
    char *caret = strchr(shown, '\n') + 1;
    const size_t place = strlen(caret) - 1;
    assert_int_equal(caret[place], '^');
    assert_int_equal(strspn(caret, " "), place);
    const char wanted = text[column - 1];
    if (wanted == '\0')
        assert_int_equal(shown[place], '\n');
    else if (wanted >= ' ' && wanted <= '~')
        assert_int_equal(shown[place], wanted);
    else
        assert_int_equal(shown[place], wanted == '\n' || wanted == '\t' ? ' ' : '?');
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *words;
    } cases[] = {
        {"", 1, "is empty"},
        {" \t\n ", 1, "is empty"},
        {"a = b", 3, "'=' assigns; '==' compares"},
        {"a += b", 3, "'+=' assigns"},
        {"a -= b", 3, "'-=' assigns"},
        {"a *= b", 3, "'*=' assigns"},
        {"a /= b", 3, "'/=' assigns"},
        {"a %= b", 3, "'%=' assigns"},
        {"a &= b", 3, "'&=' assigns"},
        {"a |= b", 3, "'|=' assigns"},
        {"a ^= b", 3, "'^=' assigns"},
        {"a <<= b", 3, "'<<=' assigns"},
        {"a >>= b", 3, "'>>=' assigns"},
        {"a === b", 5, "'=' assigns"},
        {"++a", 1, "'++' would change"},
        {"a--", 2, "'--' would change"},
        {"a; b", 2, "';' belongs to statements"},
        {"{a}", 1, "'{' belongs to statements"},
        {"a}", 2, "'}' belongs to statements"},
        {"a[0]", 2, "'[' is an index"},
        {"a]", 2, "']' is an index"},
        {"a // b", 3, "'//' begins a comment"},
        {"a /* b */", 3, "'/*' begins a comment"},
        {"#a", 1, "'#' is no sign"},
        {"a @ b", 3, "'@' is no sign"},
        {"a\\\nb", 2, "'\\' is no sign"},
        {"\"a\"", 1, "'\"' is of texts"},
        {"'a'", 1, "''' is of texts"},
        {"a.x", 2, "'.' selects a member"},
        {"a->x", 2, "'->' selects a member"},
        {"a, b", 2, "',' is allowed between arguments alone"},
        {"(a, b)", 3, "')' is wanted before ','"},
        {"(float)a", 2, "'float' is a word of OpenCL C"},
        {"(float4)(a)", 2, "'float4' is a word of OpenCL C"},
        {"sizeof(a)", 1, "'sizeof' is a word of OpenCL C"},
        {"if (a) b", 1, "'if' is a word"},
        {"__global", 1, "'__global' is a word"},
        {"gamma(a)", 1, "nothing named 'gamma'; inputs: a, b, c; values: alpha, beta"},
        {"a + foo", 5, "nothing named 'foo'"},
        {"a + A", 5, "nothing named 'A'"},
        {"x0", 1, "nothing named 'x0'"},
        {"ADD(a, b)", 1, "nothing named 'ADD'"},
        {"a + exp", 5, "exp is a function"},
        {"a(b)", 2, "an operator is wanted before '('"},
        {"alpha(b)", 6, "an operator is wanted before '('"},
        {"a b", 3, "an operator is wanted before 'b'"},
        {"a 1", 3, "an operator is wanted before '1'"},
        {"a )", 3, "an operator is wanted before ')'"},
        {"(a", 3, "')' is wanted where the expression ends"},
        {"()", 2, "an operand is wanted before ')'"},
        {"a +", 4, "an operand is wanted where the expression ends"},
        {"* a", 1, "an operand is wanted before '*'"},
        {"a ? b", 6, "':' is wanted where the expression ends"},
        {"a ? : b", 5, "an operand is wanted before ':'"},
        {"a : b", 3, "an operator is wanted before ':'"},
        {"exp(a", 6, "',' or ')' is wanted where"},
        {"exp(a b)", 7, "',' or ')' is wanted before 'b'"},
        {"exp()", 1, "exp takes 1 argument, here are 0"},
        {"a + exp(a, b)", 5, "exp takes 1 argument, here are 2"},
        {"min(a,)", 7, "an operand is wanted before ')'"},
        {"min(,a)", 5, "an operand is wanted before ','"},
        {"a + 08", 5, "'08' is no number: a 0 in front"},
        {"0777", 1, "a 0 in front"},
        {"00", 1, "a 0 in front"},
        {"0b11", 1, "'0b11' is no number"},
        {"1.2.3", 1, "'1.2.3' is no number"},
        {"1x", 1, "'1x' is no number"},
        {"1.0h", 1, "'1.0h' is no number"},
        {"1.0ff", 1, "'1.0ff' is no number"},
        {"1f", 1, "'1f' is no number"},
        {"1uu", 1, "'1uu' is no number"},
        {"1lL", 1, "'1lL' is no number"},
        {"1.0u", 1, "'1.0u' is no number"},
        {"1e", 1, "its exponent has no digits"},
        {"a*1e+", 3, "its exponent has no digits"},
        {"0x", 1, "0x requires digits"},
        {"0x.p1", 1, "0x requires digits"},
        {"0x1.8", 1, "ends in p and a power"},
        {"0x1p", 1, "its exponent has no digits"},
        {"1e309", 1, "beyond f64"},
        {"1e99999999999", 1, "beyond f64"},
        {"18446744073709551616", 1, "beyond 64 bits"},
        {"0x10000000000000000", 1, "beyond 64 bits"},
        {"a\x01", 2, "byte 0x01"},
        {"a\r", 2, "byte 0x0d"},
        {"a\x7f", 2, "byte 0x7f"},
        {"a + \xc3\xa9", 5, "byte 0xc3"},
        {"a +\n\t= b", 6, "'=' assigns"},
        {"exp(a) & b", 8, "'&' in column 8 requires integers, 'exp' in column 1 reals"},
        {"~a + 1.5", 6, "'~' in column 1 requires integers, '1.5' in column 6 reals"},
        {"a << 1 == M_PI", 11, "'<<' in column 3 requires integers, 'M_PI' in column 11 reals"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_refused(&names, cases[i].text, cases[i].column, cases[i].words);
        check_caret(cases[i].text, cases[i].column);
    }
    assert_int_equal(weft_expression_parse(&parsed, NULL, &names, "test"), WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(), "test: the expression is NULL");
}

// Too many names to list them all.
static void test_many_names(void **state)
{
    (void)state;
    static const weft_names many = {.n_inputs = 8,
                                    .inputs = {"a", "b", "c", "d", "e", "f", "g", "h"},
                                    .n_values = 1,
                                    .values = {"s"}};
    check_refused(&many, "zz", 1, "nothing named 'zz'\n");
    parse_with(&many, "h * s + a");
    assert_string_equal(code_of(WEFT_I64), "ADD(MUL(x7,v0),x0)");
    assert_int_equal(parsed.inputs, 0x81);
}

static void check_name(const char *name, const char *words)
{
    const weft_names with = {.n_inputs = 1, .inputs = {"a"}, .n_values = 1, .values = {name}};
    const weft_status status = weft_names_check(&with, "test");
    if (!words && status != WEFT_OK)
        fail_msg("%s", weft_last_error());
    if (words && (status != WEFT_BAD_ARGUMENT || !strstr(weft_last_error(), words)))
        fail_msg("wanted '%s', not: %s", words, status ? weft_last_error() : "ok");
}

static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {
        "b",     "_",   "_b",  "x0",     "A",      "Abs",
        "M_PI2", "b_1", "f16", "float5", "images", "a234567890123456789012345678901",
    };
    static const struct {
        const char *name, *words;
    } bad[] = {
        {NULL, "values[0] is NULL"},
        {"", "values[0], '', is no identifier"},
        {"1b", "'1b', is no identifier"},
        {"b c", "'b c', is no identifier"},
        {"b-c", "'b-c', is no identifier"},
        {"b\n\xff", "'b?\?', is no identifier"},
        {"a2345678901234567890123456789012", "has more than 31 characters"},
        {"exp", "'exp', is a function"},
        {"gelu_tanh_backward", "is a function"},
        {"M_PI", "'M_PI', is a constant"},
        {"M_PI_F", "is a constant"},
        {"NAN", "is a constant"},
        {"float", "'float', is a word of OpenCL C"},
        {"half", "is a word"},
        {"uchar16", "is a word"},
        {"image2d_t", "is a word"},
        {"kernel", "is a word"},
        {"__kernel", "is a word"},
        {"_Bool", "is a word"},
        {"while", "is a word"},
        {"a", "values[0], 'a', is there twice"},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        check_name(good[i], NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_name(bad[i].name, bad[i].words);

    weft_names counts = {.n_inputs = 9};
    assert_int_equal(weft_names_check(&counts, "test"), WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(), "test: there are 9 inputs, not 0 to 8");
    counts = (weft_names){.n_values = -1};
    assert_int_equal(weft_names_check(&counts, "test"), WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(), "test: there are -1 values, not 0 to 16");
    counts = (weft_names){.n_inputs = 0};
    assert_int_equal(weft_names_check(&counts, "test"), WEFT_OK);
}

// A part so many times, the middle, and another part as often.
static const char *nested(const char *part, const char *middle, const char *end, int times)
{
    static char text[2 * WEFT_EXPRESSION_LENGTH];
    char *next = text;
    for (int i = 0; i < times; i++)
        next += sprintf(next, "%s", part);
    next += sprintf(next, "%s", middle);
    for (int i = 0; i < times; i++)
        next += sprintf(next, "%s", end);
    return text;
}

static void test_depth(void **state)
{
    (void)state;
    static const char deep[] = "more than 64 deep", inside[] = "inside more than 128 signs";
    static const struct {
        const char *part, *middle, *end;
        int most; // times
        const char *words;
    } cases[] = {
        {"exp(", "a", ")", 64, deep},     {"- ", "a", "", 64, deep},
        {"!", "a", "", 64, deep},         {"a ? a : ", "a", "", 64, deep},
        {"", "a", "+a", 64, deep},        {"", "(a)", "?a:a", 64, deep},
        {"", "- a", "+ - a", 63, deep},   {"", "(a)", "-(a)", 64, deep},
        {"(b-", "a", ")", 64, deep},      {"exp(-(", "a", "))", 32, deep},
        {"-(", "a", ")", 64, inside},     {"(", "a", ")", 128, inside},
        {"+ ", "a", "", 128, inside},     {"+(", "a", ")", 64, inside},
        {"exp((", "a", "))", 64, inside},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int times = 1; times <= cases[i].most; times++)
            parse_with(&names, nested(cases[i].part, cases[i].middle, cases[i].end, times));
        for (int times = cases[i].most + 1; times < 400; times += times < 200 ? 1 : 50) {
            const char *text = nested(cases[i].part, cases[i].middle, cases[i].end, times);
            assert_int_equal(weft_expression_parse(&parsed, text, &names, "test"),
                             WEFT_BAD_ARGUMENT);
            const char *said = weft_last_error();
            const bool is_first = times == cases[i].most + 1;
            if (!strstr(said, cases[i].words) && (is_first || !strstr(said, inside)))
                fail_msg("%d times %s: %s", times, cases[i].part, said);
        }
    }
}

// What whole arithmetic does not hold; a sign before a number is the number's.
static void test_whole_literals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int i32_column, i64_column; // 0: it is held
        const char *number;
    } cases[] = {
        {"2147483647 - a", 0, 0, ""},
        {"a < 2147483648", 5, 0, "2147483648"},
        {"a + -2147483648", 0, 0, ""},
        {"-(2147483648) % a", 0, 0, ""},
        {"- - 2147483648", 0, 0, ""},
        {"-2147483649", 2, 0, "-2147483649"},
        {"a - 2147483648", 5, 0, "2147483648"},
        {"a & 0xffffffff", 5, 0, "4294967295"},
        {"a * (9223372036854775807)", 6, 0, "9223372036854775807"},
        {"a < 9223372036854775808", 5, 5, "9223372036854775808"},
        {"min(a,\n-9223372036854775808)", 9, 0, "-9223372036854775808"},
        {"-9223372036854775809", 2, 2, "-9223372036854775809"},
        {"0xffffffffffffffff ^ a", 1, 1, "18446744073709551615"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int k = 0; k < 4; k++) {
            const weft_dtype arithmetic = k == 0   ? WEFT_I32
                                          : k == 1 ? WEFT_I64
                                          : k == 2 ? WEFT_F32
                                                   : WEFT_F64;
            const int column = k == 0 ? cases[i].i32_column : k == 1 ? cases[i].i64_column : 0;
            char wanted[128];
            parse_with(&names, cases[i].text);
            if (k > 1 && parsed.is_integral)
                continue;
            const weft_status status =
                weft_expression_check(&parsed, cases[i].text, arithmetic, "test");
            assert_int_equal(status, column ? WEFT_BAD_ARGUMENT : WEFT_OK);
            if (!column)
                continue;
            snprintf(wanted, sizeof(wanted), "test: column %d: the number %s is beyond %s, which ",
                     column, cases[i].number, weft_dtype_name(arithmetic));
            if (strncmp(weft_last_error(), wanted, strlen(wanted)) != 0)
                fail_msg("wanted %s, not: %s", wanted, weft_last_error());
            check_caret(cases[i].text, column);
        }
}

// A sum of sums: 2^levels - 1 nodes.
static char *write_tree(char *text, int levels)
{
    if (levels == 1)
        return text + sprintf(text, "a");
    text += sprintf(text, "(");
    text = write_tree(text, levels - 1);
    text += sprintf(text, "+");
    text = write_tree(text, levels - 1);
    return text + sprintf(text, ")");
}

static void test_sizes(void **state)
{
    (void)state;
    static char text[2 * WEFT_EXPRESSION_LENGTH];
    write_tree(text, 9);
    parse_with(&names, text);
    assert_int_equal(parsed.n_nodes, 511);
    text[0] = '-';
    write_tree(text + 1, 9);
    parse_with(&names, text);
    assert_int_equal(parsed.n_nodes, WEFT_EXPRESSION_NODES);
    strcat(text, "+a");
    check_refused(&names, text, (int)strlen(text), "more than 512 operands and calls");

    memset(text, ' ', sizeof(text));
    strcpy(text + WEFT_EXPRESSION_LENGTH - 1, "a");
    parse_with(&names, text);
    strcpy(text + WEFT_EXPRESSION_LENGTH - 1, " a");
    check_refused(&names, text, WEFT_EXPRESSION_LENGTH + 1, "goes on beyond 4096 characters");

    memset(text, '1', WEFT_EXPRESSION_LENGTH);
    strcpy(text + WEFT_EXPRESSION_LENGTH - 4, ".e-9");
    check_refused(&names, text, 1, "beyond f64");
    strcpy(text + WEFT_EXPRESSION_LENGTH - 6, "e-4090");
    parse_with(&names, text);
    assert_true(parsed.nodes[0].real == 0.1111111111111111);
    memset(text, 'b', WEFT_EXPRESSION_LENGTH);
    check_refused(&names, text, 1, "nothing named 'bbb");
}

// Of a long text the part around the fault is shown.
static void test_k_blocks(void **state)
{
    (void)state;
    char text[512];
    for (int before = 0; before < 200; before += 7)
        for (int after = 0; after < 200; after += 9) {
            sprintf(text, "%*s@%*s", before, "", after, "");
            check_refused(&names, text, before + 1, "'@' is no sign");
            check_caret(text, before + 1);
            assert_true(strlen(weft_last_error()) < 250);
        }
}

static void check_harmless(const char *code)
{
    static const char taken[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_(),.+-";
    assert_int_equal(strspn(code, taken), strlen(code));
    int depth = 0;
    for (; *code; code++) {
        depth += (*code == '(') - (*code == ')');
        assert_in_range(depth, 0, 2 * WEFT_EXPRESSION_DEPTH + 2); // clang gives up at 256
    }
    assert_int_equal(depth, 0);
}

// Whether it was taken.
static bool try_text(const char *text)
{
    if (weft_expression_parse(&parsed, text, &names, "test") != WEFT_OK) {
        assert_true(strncmp(weft_last_error(), "test: column ", 13) == 0);
        return false;
    }
    assert_false(parsed.is_real && parsed.is_integral);
    const weft_dtype arithmetic[] = {WEFT_F32, WEFT_F64, WEFT_I32, WEFT_I64};
    for (int i = 0; i < 4; i++)
        if (i < 2 ? !parsed.is_integral : !parsed.is_real)
            check_harmless(code_of(arithmetic[i]));
    return true;
}

static void test_random_bytes(void **state)
{
    (void)state;
    random_state random = {20261};
    for (int i = 0; i < N_RANDOM; i++) {
        char text[64];
        const int length = (int)random_below(&random, (int64_t)sizeof(text));
        const bool is_printable = random_below(&random, 2) == 0;
        for (int k = 0; k < length; k++)
            text[k] = (char)(is_printable ? random_between(&random, ' ', '~')
                                          : random_between(&random, 1, 255));
        text[length] = '\0';
        try_text(text);
    }
}

static const char *const operands[] = {
    "a", "b", "c", "alpha", "beta", "1", "0x1f", "2.5", "1e-3", "M_PI", "NAN", "4294967296",
};

static const char *const others[] = {
    "(",     ")",    "(",   ")",   ",",     "+",     "-",
    "*",     "/",    "%",   "<",   "<=",    "==",    "!=",
    "&&",    "||",   "!",   "?",   ":",     "~",     "&",
    "<<",    "<",    "min", "exp", "where", "isnan", "clamp_backward",
    "a = b", "1.5.", "foo", ";",   "9e99",
};

static void test_random_tokens(void **state)
{
    (void)state;
    random_state random = {20262};
    for (int i = 0; i < N_RANDOM; i++) {
        char text[512] = "", *next = text;
        const int n = (int)random_below(&random, 24);
        for (int k = 0; k < n; k++)
            next += sprintf(next, "%s ",
                            random_below(&random, 3) == 0
                                ? operands[random_below(&random, COUNT_OF(operands))]
                                : others[random_below(&random, COUNT_OF(others))]);
        try_text(text);
    }
}

// Sound expressions of every kind, and some that ask for both reals and integers.
static char *write_random(random_state *random, char *text, int levels)
{
    const int kind = levels == 0 ? 0 : (int)random_below(random, 6);
    if (kind == 0)
        return text + sprintf(text, "%s", operands[random_below(random, COUNT_OF(operands))]);
    if (kind == 1) {
        text += sprintf(text, "%c ", "-!+~"[random_below(random, 4)]);
        return write_random(random, text, levels - 1);
    }
    if (kind == 2 || kind == 3) {
        static const char *const words[2][3] = {{"(", "?", ":"}, {"where(", ",", ","}};
        for (int i = 0; i < 3; i++) {
            text += sprintf(text, "%s", words[kind - 2][i]);
            text = write_random(random, text, levels - 1);
        }
        return text + sprintf(text, ")");
    }
    text = write_random(random, text, levels - 1);
    text += sprintf(text, " %c ", "+-*/%<>&|^"[random_below(random, kind == 4 ? 7 : 10)]);
    return write_random(random, text, levels - 1);
}

static void test_random_expressions(void **state)
{
    (void)state;
    random_state random = {20263};
    int n_taken = 0;
    for (int i = 0; i < N_RANDOM / 5; i++) {
        static char text[8192];
        write_random(&random, text, (int)random_below(&random, 5));
        const bool is_taken = try_text(text);
        n_taken += is_taken;
        if (!is_taken && !strpbrk(text, "~&|^"))
            fail_msg("%s", weft_last_error());
    }
    assert_in_range(n_taken, N_RANDOM / 10, N_RANDOM / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_depth),
        cmocka_unit_test(test_whole_literals), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_k_blocks),       cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_random_tokens),  cmocka_unit_test(test_random_expressions),
    };
    return cmocka_run_group_tests_name("expression_limits", tests, NULL, NULL);
}
