// SPDX-License-Identifier: Apache-2.0
// Formulas (weft/elementwise.h) reckoned on the host, and how far devices may be off.
//
// The text is read here once more, by nothing of the library's. Whole numbers are exact. A real
// one x comes with an error E, so that what a device has for it lies in x - E .. x + E; a number
// that is stored, or written in a formula, has none. What a function f of such numbers is off by:
//
//   E = largest |f(x_1', x_2', ...) - f(x_1, x_2, ...)| + ulps ulp + flushed
//
// over x' = x - E, x + E, and 0 where that lies between: there are truths, poles, cuts and peaks.
// (Near other peaks the end behind them is farther off.) The ulps are f's own, of its result or of
// a larger term (reference_function.h). `flushed`, where the result is smaller than 1024 times the
// smallest normal number t, is that for what is made of several functions, and 2 t for others:
// devices may give 0 for subnormal results. What is exactly 0 is so.
//
// A truth that errors leave open is off by 1, and a choice may be either of its two; a % b may be
// anything up to b where the quotient may be another one. E is infinite, and any result is right,
// where a step may overflow, f is of another kind at an x' (NaN, infinity), or an error is as long
// as the waves of f. Not covered: devices that flush subnormal operands. The sign of a zero is not
// compared.
#ifndef WEFT_TOOLS_REFERENCE_FORMULA_H
#define WEFT_TOOLS_REFERENCE_FORMULA_H

#include <weft/dtype.h>

#include "complaint.h"
#include "reference_function.h"

enum { FORMULA_STEPS = 1024 }; // literals, names, calls, and signs of literals

typedef enum formula_step_kind { FORMULA_NAMED, FORMULA_NUMBER, FORMULA_CALL } formula_step_kind;

typedef struct formula_step {
    formula_step_kind kind;
    int named;                          // which of the names
    double real;                        // a number; each rounded once
    float single;                       //
    uint64_t whole;                     //
    bool is_real;                       // written with a point or exponent, or a constant
    const reference_function *function; // a call of what stands before it
} formula_step;

typedef struct reference_formula {
    int n_steps;
    formula_step steps[FORMULA_STEPS]; // operands before their function
    bool is_real;                      // asks for real arithmetic
    bool is_long;                      // has a whole number that i32 does not hold
} reference_formula;

// Of a text that weft_elementwise() has taken, which bounds how deep it is. The first `n_inputs`
// names are of inputs.
bool reference_formula_read(reference_formula *out, const char *text, int n_inputs, int n_names,
                            const char *const *names, complaint *why);

// The type that the header says it is reckoned in, of inputs of these types.
weft_dtype reference_formula_arithmetic(const reference_formula *formula, int n_inputs,
                                        const weft_dtype *dtypes);

// A number in arithmetic: f32 and f64 have `real` and `error`, i32 and i64 `whole`.
typedef struct formula_number {
    wide real, error;
    int64_t whole;
} formula_number;

// Of what the names stand for.
formula_number reference_formula_at(const reference_formula *formula, weft_dtype arithmetic,
                                    const formula_number *named);

#endif
