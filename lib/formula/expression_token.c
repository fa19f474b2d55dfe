// SPDX-License-Identifier: Apache-2.0
// Tokens and refusals of expressions. Independent of the locale: no isalpha(), and no decimal point
// in strtod()'s input.
#include "formula/expression_token.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum {
    SENTENCE = 480, // bytes
    SHOWN = 72,     // characters of the text in a refusal
    SHOWN_NAME = 40,
    MOST_EXPONENT = 100000, // beyond every number, even after thousands of digits
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static char printable(char c)
{
    return (char)(is_blank(c) ? ' ' : c > ' ' && c <= '~' ? c : '?');
}

// The text from `first` on, as one line, with dots for omitted parts.
static void show_excerpt(const weft_scan *scan, int first, char line[SHOWN + 8])
{
    const int last = first + SHOWN < scan->length ? first + SHOWN : scan->length;
    int n = first > 0 ? sprintf(line, "...") : 0;
    for (int i = first; i < last; i++)
        line[n++] = printable(scan->text[i]);
    sprintf(line + n, "%s", last < scan->length ? "..." : "");
}

weft_status weft_scan_refuse(const weft_scan *scan, int at, const char *format, ...)
{
    char sentence[SENTENCE], line[SHOWN + 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);

    const int first = scan->length > SHOWN && at > SHOWN / 2 ? at - SHOWN / 2 : 0;
    show_excerpt(scan, first, line);
    return fail(WEFT_BAD_ARGUMENT, "%s: column %d: %s\n    %s\n    %*s^", scan->what, at + 1,
                sentence, line, at - first + (first > 0 ? 3 : 0), "");
}

// The byte at `at` and those after it; 0 past the end.
static char peek(const weft_scan *scan, int at)
{
    if (at >= scan->length)
        return '\0';
    return scan->text[at];
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int digits_from(const weft_scan *scan, int at, bool is_hex)
{
    int n = 0;
    while (is_hex ? is_hex_digit(peek(scan, at + n)) : is_digit(peek(scan, at + n)))
        n++;
    return n;
}

static bool is_either(char c, char lower)
{
    return c == lower || c == lower - 'a' + 'A';
}

// The parts of a literal: 0x whole . part p exponent suffix
typedef struct literal {
    bool is_hex, has_point, has_exponent;
    int begin, digits; // digits: where they begin
    int n_whole, n_part, exponent;
} literal;

// Length of a word that begins like a number.
static int word_length(const weft_scan *scan, int at)
{
    int n = 0;
    while (is_letter(peek(scan, at + n)) || is_digit(peek(scan, at + n)) ||
           peek(scan, at + n) == '.')
        n++;
    return n;
}

static weft_status refuse_literal(const weft_scan *scan, int at, const char *why)
{
    const int length = word_length(scan, at);
    return weft_scan_refuse(scan, at, "'%.*s%s' is no number: %s",
                            length < SHOWN_NAME ? length : SHOWN_NAME, scan->text + at,
                            length > SHOWN_NAME ? "..." : "", why);
}

static weft_status exponent_of(weft_scan *scan, literal *l)
{
    const bool is_below_1 = peek(scan, scan->at) == '-';
    if (is_below_1 || peek(scan, scan->at) == '+')
        scan->at++;
    const int n = digits_from(scan, scan->at, false);
    if (n == 0)
        return refuse_literal(scan, l->begin, "its exponent has no digits");
    for (int i = 0; i < n; i++)
        if (l->exponent < MOST_EXPONENT)
            l->exponent = 10 * l->exponent + (peek(scan, scan->at + i) - '0');
    l->exponent = is_below_1 ? -l->exponent : l->exponent;
    scan->at += n;
    return WEFT_OK;
}

static weft_status parts_of(weft_scan *scan, literal *l)
{
    l->begin = scan->at;
    l->is_hex = peek(scan, scan->at) == '0' && is_either(peek(scan, scan->at + 1), 'x');
    l->digits = scan->at += l->is_hex ? 2 : 0;
    l->n_whole = digits_from(scan, scan->at, l->is_hex);
    scan->at += l->n_whole;
    l->has_point = peek(scan, scan->at) == '.';
    if (l->has_point)
        l->n_part = digits_from(scan, ++scan->at, l->is_hex);
    scan->at += l->n_part;
    if (l->n_whole + l->n_part == 0)
        return refuse_literal(scan, l->begin, "0x requires digits behind it");
    l->has_exponent = is_either(peek(scan, scan->at), l->is_hex ? 'p' : 'e');
    if (l->has_exponent) {
        scan->at++;
        return exponent_of(scan, l);
    }
    if (l->is_hex && l->has_point)
        return refuse_literal(scan, l->begin, "a hexadecimal with a point ends in p and a power");
    return WEFT_OK;
}

static bool take_letter(weft_scan *scan, char lower)
{
    const bool is_there = is_either(peek(scan, scan->at), lower);
    scan->at += is_there;
    return is_there;
}

static void skip_suffix(weft_scan *scan, bool is_real)
{
    if (is_real) {
        if (!take_letter(scan, 'f'))
            take_letter(scan, 'l');
        return;
    }
    const bool is_unsigned = take_letter(scan, 'u');
    const char l = peek(scan, scan->at);
    if (take_letter(scan, 'l') && peek(scan, scan->at) == l)
        scan->at++;
    if (!is_unsigned)
        take_letter(scan, 'u');
}

// The digits without their point, with the exponent corrected, are the same number.
static void real_of(weft_token *token, const char *text, const literal *l)
{
    char buffer[WEFT_EXPRESSION_LENGTH + 32];
    const int after = l->digits + l->n_whole + l->has_point;
    snprintf(buffer, sizeof(buffer), "%s%.*s%.*s%c%d", l->is_hex ? "0x" : "", l->n_whole,
             text + l->digits, l->n_part, text + after, l->is_hex ? 'p' : 'e',
             l->exponent - l->n_part * (l->is_hex ? 4 : 1));
    token->real = strtod(buffer, NULL);
    token->single = strtof(buffer, NULL);
}

static unsigned digit_of(char c)
{
    return is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

// False if it is beyond 64 bits.
static bool integer_of(weft_token *token, const char *text, const literal *l)
{
    const unsigned base = l->is_hex ? 16 : 10;
    for (int i = 0; i < l->n_whole; i++) {
        const unsigned digit = digit_of(text[l->digits + i]);
        if (token->integer > (UINT64_MAX - digit) / base)
            return false;
        token->integer = token->integer * base + digit;
    }
    return true;
}

static weft_status scan_number(weft_scan *scan)
{
    literal l = {0};
    weft_token *token = &scan->token;
    TRY(parts_of(scan, &l));
    const bool is_real = l.has_point || l.has_exponent;
    skip_suffix(scan, is_real);
    if (word_length(scan, scan->at) > 0)
        return refuse_literal(scan, l.begin, "it does not end where a number would");

    token->kind = is_real ? WEFT_TOKEN_REAL : WEFT_TOKEN_INTEGER;
    if (is_real) {
        real_of(token, scan->text, &l);
        return isinf(token->real) ? refuse_literal(scan, l.begin, "it is beyond f64") : WEFT_OK;
    }
    if (!l.is_hex && l.n_whole > 1 && scan->text[l.digits] == '0')
        return refuse_literal(scan, l.begin, "a 0 in front makes an octal in C, not taken here");
    if (!integer_of(token, scan->text, &l))
        return refuse_literal(scan, l.begin, "it is beyond 64 bits");
    return WEFT_OK;
}

static const char ASSIGNS[] = "assigns; an expression only gives a value";
static const char CHANGES[] = "would change an operand; set signs that are two apart";
static const char COMMENT[] = "begins a comment; an expression has none";
static const char STATEMENT[] = "belongs to statements; an expression has none";
static const char INDEX[] = "is an index; an input's name is its element";
static const char TEXT[] = "is of texts; an expression has numbers alone";
static const char MEMBER[] = "selects a member; an expression has numbers alone";

// Longer ones first. Those without a reason are accepted.
static const struct {
    const char *text, *reason;
} signs[] = {
    {"<<=", ASSIGNS}, {">>=", ASSIGNS}, {"<<", NULL},
    {">>", NULL},     {"<=", NULL},     {">=", NULL},
    {"==", NULL},     {"!=", NULL},     {"&&", NULL},
    {"||", NULL},     {"+=", ASSIGNS},  {"-=", ASSIGNS},
    {"*=", ASSIGNS},  {"/=", ASSIGNS},  {"%=", ASSIGNS},
    {"&=", ASSIGNS},  {"^=", ASSIGNS},  {"|=", ASSIGNS},
    {"++", CHANGES},  {"--", CHANGES},  {"->", MEMBER},
    {"//", COMMENT},  {"/*", COMMENT},  {"+", NULL},
    {"-", NULL},      {"*", NULL},      {"/", NULL},
    {"%", NULL},      {"<", NULL},      {">", NULL},
    {"!", NULL},      {"~", NULL},      {"&", NULL},
    {"^", NULL},      {"|", NULL},      {"?", NULL},
    {":", NULL},      {"(", NULL},      {")", NULL},
    {",", NULL},      {".", MEMBER},    {"=", "assigns; '==' compares"},
    {";", STATEMENT}, {"{", STATEMENT}, {"}", STATEMENT},
    {"[", INDEX},     {"]", INDEX},     {"\"", TEXT},
    {"'", TEXT},
};

static weft_status scan_sign(weft_scan *scan)
{
    const char *here = scan->text + scan->at;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        const int length = (int)strlen(signs[i].text);
        if (length > scan->length - scan->at || memcmp(here, signs[i].text, (size_t)length) != 0)
            continue;
        if (signs[i].reason)
            return weft_scan_refuse(scan, scan->at, "'%s' %s", signs[i].text, signs[i].reason);
        scan->token.kind = WEFT_TOKEN_SIGN;
        scan->at += length;
        return WEFT_OK;
    }
    if (*here > ' ' && *here <= '~')
        return weft_scan_refuse(scan, scan->at, "'%c' is no sign of an expression", *here);
    return weft_scan_refuse(scan, scan->at, "byte 0x%02x is no character of an expression",
                            (unsigned)(unsigned char)*here);
}

weft_status weft_scan_next(weft_scan *scan)
{
    while (is_blank(peek(scan, scan->at)))
        scan->at++;
    scan->token = (weft_token){.kind = WEFT_TOKEN_END, .at = scan->at};
    if (scan->at == scan->length)
        return WEFT_OK;

    const char c = peek(scan, scan->at);
    if (is_letter(c)) {
        scan->token.kind = WEFT_TOKEN_NAME;
        while (is_letter(peek(scan, scan->at)) || is_digit(peek(scan, scan->at)))
            scan->at++;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(scan, scan->at + 1)))) {
        TRY(scan_number(scan));
    } else {
        TRY(scan_sign(scan));
    }
    scan->token.length = scan->at - scan->token.at;
    return WEFT_OK;
}

weft_status weft_scan_begin(weft_scan *scan, const char *text, const char *what)
{
    if (!text)
        return fail(WEFT_BAD_ARGUMENT, "%s: the expression is NULL", what);
    const char *end = memchr(text, '\0', WEFT_EXPRESSION_LENGTH + 1);
    *scan = (weft_scan){
        .what = what, .text = text, .length = end ? (int)(end - text) : WEFT_EXPRESSION_LENGTH + 1};
    if (!end)
        return weft_scan_refuse(scan, WEFT_EXPRESSION_LENGTH,
                                "the expression goes on beyond %d characters",
                                (int)WEFT_EXPRESSION_LENGTH);
    return weft_scan_next(scan);
}

bool weft_scan_is(const weft_scan *scan, const char *sign)
{
    return scan->token.kind == WEFT_TOKEN_SIGN && (size_t)scan->token.length == strlen(sign) &&
           memcmp(scan->text + scan->token.at, sign, strlen(sign)) == 0;
}
