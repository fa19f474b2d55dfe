// SPDX-License-Identifier: Apache-2.0
// Texts of expressions for tests: taken with what code, or refused with what words. For what
// includes cmocka.h first.
#ifndef WEFT_TESTS_EXPRESSION_TEXT_H
#define WEFT_TESTS_EXPRESSION_TEXT_H

#include <stdio.h>
#include <string.h>

#include <weft/status.h>

#include "formula/expression.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const weft_names names = {
    .n_inputs = 3,
    .inputs = {"a", "b", "c"},
    .n_values = 2,
    .values = {"alpha", "beta"},
};

static weft_expression parsed; // the last one

static inline void parse_with(const weft_names *with, const char *text)
{
    if (weft_expression_parse(&parsed, text, with, "test") != WEFT_OK)
        fail_msg("%s", weft_last_error());
}

static inline const char *code_of(weft_dtype arithmetic)
{
    static char code[32768];
    const size_t length = weft_expression_code(&parsed, arithmetic, code, sizeof(code));
    assert_true(length < sizeof(code));
    assert_int_equal(strlen(code), length);
    return code;
}

static inline void check_code(const char *text, weft_dtype arithmetic, const char *code)
{
    parse_with(&names, text);
    assert_string_equal(code_of(arithmetic), code);
}

static inline void check_refused(const weft_names *with, const char *text, int column,
                                 const char *words)
{
    char place[32];
    if (weft_expression_parse(&parsed, text, with, "test") != WEFT_BAD_ARGUMENT)
        fail_msg("not refused: %s", text);
    sprintf(place, "test: column %d: ", column);
    const char *said = weft_last_error();
    if (strncmp(said, place, strlen(place)) != 0 || !strstr(said, words))
        fail_msg("wanted column %d and '%s', not: %s", column, words, said);
}

#endif
