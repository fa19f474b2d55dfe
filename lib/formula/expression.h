// SPDX-License-Identifier: Apache-2.0
// Expressions: the text of a function of named inputs and values, read and checked on the host and
// written again as calls of the small functions of cl/formula/formula.clh. Nothing of the text
// itself ever reaches a device's compiler.
#ifndef WEFT_LIB_EXPRESSION_H
#define WEFT_LIB_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/dtype.h>
#include <weft/status.h>

#include "formula/expression_function.h"

enum {
    WEFT_EXPRESSION_INPUTS = 8,
    WEFT_EXPRESSION_VALUES = 16,
    WEFT_EXPRESSION_NODES = 512, // literals, inputs, values and calls
    WEFT_EXPRESSION_DEPTH = 64,  // of calls in calls, which a + b + c is: compilers give up too
    WEFT_EXPRESSION_NESTING = 2 * WEFT_EXPRESSION_DEPTH, // of signs, parentheses and branches
};

// What a text may name.
typedef struct weft_names {
    int n_inputs;
    const char *inputs[WEFT_EXPRESSION_INPUTS];
    int n_values;
    const char *values[WEFT_EXPRESSION_VALUES];
} weft_names;

// Names are identifiers of C of at most 31 characters, each once, and mean nothing else: no
// function or constant of an expression, no keyword or type of OpenCL C, nothing that C keeps for
// itself (__x, _X). WEFT_BAD_ARGUMENT names the offender; its sentence begins with `what`, as in
// "elementwise".
weft_status weft_names_check(const weft_names *names, const char *what);

typedef enum weft_node_kind {
    WEFT_NODE_INPUT,
    WEFT_NODE_VALUE,
    WEFT_NODE_INTEGER,
    WEFT_NODE_REAL,
    WEFT_NODE_CALL,
} weft_node_kind;

typedef struct weft_node {
    weft_node_kind kind;
    int at;           // where the text has it, from 0
    int index;        // of an input or value
    uint64_t integer; // the magnitude
    bool is_negative; // only of an integer: -2147483648 is one
    double real;      // each rounded once
    float single;
    const weft_function *function;
    int16_t arguments[WEFT_FUNCTION_ARGUMENTS]; // nodes, all before this one
} weft_node;

typedef struct weft_expression {
    int n_nodes;
    weft_node nodes[WEFT_EXPRESSION_NODES]; // the last one is the whole
    unsigned inputs, values;                // bit i: the i-th one is used
    bool is_real;     // has a literal with point or exponent, a constant, or a function of reals
    bool is_integral; // has & | ^ ~ << or >>; never both
    bool is_long;     // has an integer that i32 does not hold
    bool is_wide;     // has a real that is beyond f32, and in f32 an infinity
} weft_expression;

// Reads a text in the syntax of OpenCL C's expressions, or one that is only a function's name and
// stands for that function of all inputs in their order ("where": where(a, b, c)).
//
//   literals   7, 0x1f, 1.5e-3, .5, 0x1.8p3. Suffixes f l u are taken and mean nothing. No octal:
//              a leading 0 is refused. 2^64 and more is refused, and a real beyond f64.
//   operators  ?: || && | ^ & == != < <= > >= << >> + - * / % and unary + - ! ~, with C's
//              precedence; parentheses
//   functions  those of expression_function.c; constants M_PI (and so on, also with _F), INFINITY,
//              NAN
//   blanks     space, tab, newline
//
// Nothing else: no assignment, no statement, no cast, no comment, no member, no comma but between
// arguments.
//
// All of it is computed in one arithmetic type, f32, f64, i32 or i64, which the caller chooses:
// literals too, so that 1/2 is 0.5 in reals and 0 in integers, and in an expression that is_real it
// is 0.5 whatever the inputs hold.
//
// Comparisons and logic give 1 or 0; what is not 0 is true, NaN too. && || ?: compute all of their
// operands: there is nothing that could go wrong in one. where(c, a, b) and c ? a : b are the same;
// select(a, b, c) is c ? b : a.
// Integers: + - * wrap; / truncates, x / 0 and x % 0 are 0, and the most negative / -1 is itself;
// << and >> count modulo the width, and >> keeps the sign. / is quotient and % is fmod, of reals
// and of integers.
// NaN: min, max, sign, relu and x of clamp keep it; fmin and fmax take the other number.
//
// `names` have passed weft_names_check(). WEFT_BAD_ARGUMENT begins with `what`, names the column
// (characters of the text from 1, newlines counted as one) and what stands there, and shows that
// part of the text with a caret below.
weft_status weft_expression_parse(weft_expression *out, const char *text, const weft_names *names,
                                  const char *what);

// Whether that arithmetic, which is F32, F64, I32 or I64, can compute the expression, whose text it
// was: WEFT_BAD_DTYPE for whole numbers where it is_real, and reals where it is_integral;
// WEFT_BAD_ARGUMENT for a literal that the arithmetic does not hold, by its column where it is a
// whole one. -2147483648 is one literal, however its sign stands before it.
weft_status weft_expression_check(const weft_expression *expression, const char *text,
                                  weft_dtype arithmetic, const char *what);

// Refuses a number of a call, as "value " and "v" or "" and "alpha", that whole arithmetic does not
// hold: WEFT_BAD_ARGUMENT. Real arithmetic takes every one.
weft_status weft_number_check(double number, weft_dtype arithmetic, const char *kind,
                              const char *name, const char *what);

// The expression as one call of cl/formula/formula.clh: "ADD(x0,MUL(x1,v0))". Input i is x<i>,
// value i is v<i>; the result is a number. Letters, digits and _(),.+- alone: it fits an option -D
// F0=... As snprintf(): writes at most `size` bytes with the 0 that ends it, returns the length
// wanted. `arithmetic` is one that weft_expression_check() takes, but for literals, which wrap.
size_t weft_expression_code(const weft_expression *expression, weft_dtype arithmetic, char *text,
                            size_t size);

#endif
