// SPDX-License-Identifier: Apache-2.0
// The tokens of an expression, one after the other, and refusals of them.
#ifndef WEFT_LIB_EXPRESSION_TOKEN_H
#define WEFT_LIB_EXPRESSION_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/printf.h"

enum {
    WEFT_EXPRESSION_LENGTH = 4096, // characters of the text
    WEFT_EXPRESSION_NAME = 31,     // characters of a name
};

typedef enum weft_token_kind {
    WEFT_TOKEN_END,
    WEFT_TOKEN_NAME,
    WEFT_TOKEN_INTEGER,
    WEFT_TOKEN_REAL,
    WEFT_TOKEN_SIGN, // an operator, a parenthesis or a comma
} weft_token_kind;

typedef struct weft_token {
    weft_token_kind kind;
    int at, length;   // in the text
    uint64_t integer; // value of a literal
    double real;      // rounded to each once
    float single;
} weft_token;

typedef struct weft_scan {
    const char *what; // begins each refusal
    const char *text;
    int length;
    int at;           // position after the current token
    weft_token token; // the current one
} weft_scan;

// Begins at the first token. Refuses NULL and too long a text.
weft_status weft_scan_begin(weft_scan *scan, const char *text, const char *what);

// Advances to the next token. After the last it stays at the end.
weft_status weft_scan_next(weft_scan *scan);

// Whether the current token is this sign.
bool weft_scan_is(const weft_scan *scan, const char *sign);

// WEFT_BAD_ARGUMENT with a sentence about the token at `at`, and the text with a caret there. Uses
// what, text and length of `scan`.
weft_status weft_scan_refuse(const weft_scan *scan, int at, const char *format, ...)
    WEFT_PRINTF(3, 4);

#endif
