// SPDX-License-Identifier: Apache-2.0
// Expressions: the text of a function of named inputs and values, parsed and checked on the host
// and written as calls of the small functions of cl/formula/formula.clh. The text itself never
// reaches a device's compiler.
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
    WEFT_EXPRESSION_DEPTH = 64,  // of calls in calls, as in a + b + c: compilers have limits too
    WEFT_EXPRESSION_NESTING = 2 * WEFT_EXPRESSION_DEPTH, // of signs, parentheses and branches
};

// Names that a text may use.
typedef struct weft_names {
    int n_inputs;
    const char *inputs[WEFT_EXPRESSION_INPUTS];
    int n_values;
    const char *values[WEFT_EXPRESSION_VALUES];
} weft_names;

// Names are identifiers of C of at most 31 characters, each once, with no other meaning: no
// function or constant of an expression, no keyword or type of OpenCL C, no identifier that C
// reserves (__x, _X). WEFT_BAD_ARGUMENT names the offender; its sentence begins with `what`, as in
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
    int at;           // position in the text, from 0
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
    weft_node nodes[WEFT_EXPRESSION_NODES]; // the last one is the whole expression
    unsigned inputs, values;                // bit i: the i-th one is used
    bool is_real;     // has a literal with point or exponent, a constant, or a function of reals
    bool is_integral; // has & | ^ ~ << or >>; never both
    bool is_long;     // has an integer beyond i32
    bool is_wide;     // has a real beyond f32, which is an infinity in f32
} weft_expression;

// Parses the syntax of OpenCL C's expressions. A function's name alone is that function of all
// inputs in their order ("where": where(a, b, c)).
//
//   literals   7, 0x1f, 1.5e-3, .5, 0x1.8p3. Suffixes f l u are accepted and ignored. No octal:
//              a leading 0 is refused. So are 2^64 and more, and a real beyond f64.
//   operators  ?: || && | ^ & == != < <= > >= << >> + - * / % and unary + - ! ~, with C's
//              precedence; parentheses
//   functions  those of expression_function.c; constants M_PI (and so on, also with _F), INFINITY,
//              NAN
//   blanks     space, tab, newline
//
// Nothing else: no assignment, statement, cast, comment or member, and commas between arguments
// only.
//
// All is computed in one arithmetic type, f32, f64, i32 or i64, which the caller chooses: literals
// too, so that 1/2 is 0.5 in reals and 0 in integers. In an expression that is_real it is 0.5 for
// inputs of any type.
//
// Comparisons and logic give 1 or 0; all but 0 is true, NaN too. && || ?: compute all of their
// operands, which is safe. where(c, a, b) and c ? a : b are the same; select(a, b, c)
// is c ? b : a.
// Integers: + - * wrap; / truncates, x / 0 and x % 0 are 0, and the most negative / -1 is itself;
// << and >> count modulo the width, and >> keeps the sign. / is quotient and % is fmod, of reals
// and of integers.
// NaN: min, max, sign, relu and x of clamp keep it; fmin and fmax take the other number.
//
// `names` have passed weft_names_check(). WEFT_BAD_ARGUMENT begins with `what`, names the column
// (characters of the text from 1, newlines counted as one) and the text there, and shows that part
// of the text with a caret below.
weft_status weft_expression_parse(weft_expression *out, const char *text, const weft_names *names,
                                  const char *what);

// Whether the arithmetic, F32, F64, I32 or I64, can compute the expression of `text`:
// WEFT_BAD_DTYPE for integer arithmetic if it is_real, and reals if it is_integral;
// WEFT_BAD_ARGUMENT for a literal beyond the arithmetic's range, with the column of an integer.
// -2147483648 is one literal, wherever its sign is.
weft_status weft_expression_check(const weft_expression *expression, const char *text,
                                  weft_dtype arithmetic, const char *what);

// Refuses a number of a call, as "value " and "v" or "" and "alpha", that integer arithmetic cannot
// represent: WEFT_BAD_ARGUMENT. Real arithmetic takes all numbers.
weft_status weft_number_check(double number, weft_dtype arithmetic, const char *kind,
                              const char *name, const char *what);

// The expression as one call of cl/formula/formula.clh: "ADD(x0,MUL(x1,v0))". Input i is x<i>,
// value i is v<i>; the result is a number. Letters, digits and _(),.+- alone: it fits an option -D
// F0=... As snprintf(): writes at most `size` bytes with the 0 that ends it, returns the full
// length. `arithmetic` has passed weft_expression_check(), except for literals, which wrap.
size_t weft_expression_code(const weft_expression *expression, weft_dtype arithmetic, char *text,
                            size_t size);

#endif
