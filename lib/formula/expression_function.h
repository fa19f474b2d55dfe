// SPDX-License-Identifier: Apache-2.0
// The functions and constants that expressions may name.
#ifndef WEFT_LIB_EXPRESSION_FUNCTION_H
#define WEFT_LIB_EXPRESSION_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_FUNCTION_ARGUMENTS = 4 };

// The arithmetic that a function requires.
typedef enum weft_needs {
    WEFT_NEEDS_NOTHING = 0,
    WEFT_NEEDS_REALS,    // f32 or f64
    WEFT_NEEDS_INTEGERS, // i32 or i64
} weft_needs;

// A function that expressions may call; operators are calls too.
typedef struct weft_function {
    const char *name;      // in a text
    const char *code;      // in cl/formula/formula.clh
    const char *arguments; // a letter for each: 'n' for a number, 't' for a truth
    bool gives_truth;      // or else a number
    weft_needs needs;
} weft_function;

typedef struct weft_constant {
    const char *name;
    double value;
} weft_constant;

// NULL if there is none of that name, which need not end after its `length` characters.
const weft_function *weft_function_find(const char *name, size_t length);
const weft_constant *weft_constant_find(const char *name, size_t length);

// The i-th, or NULL past the last.
const weft_function *weft_function_at(int i);

// Whether OpenCL C uses or reserves the word.
bool weft_is_reserved(const char *name, size_t length);

#endif
