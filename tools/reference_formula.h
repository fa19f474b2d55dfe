// SPDX-License-Identifier: Apache-2.0
// Formulas (weft/elementwise.h) computed on the host, and the error allowed to devices.
//
// The input is the code that a device's compiler gets for the text (cl/formula), from a rehearsed
// call. The vectors of tests/data/formulas.txt test the parsing of texts.
//
// Integers are exact. A real number x has an error E, so that the device's one is in x - E .. x +
// E; a number that is stored, or written in a formula, has none. The error of a function f of such
// numbers:
//
//   E = largest |f(x_1', x_2', ...) - f(x_1, x_2, ...)| + ulps ulp + flushed
//
// over x' = x - E, x + E, and 0 if that is between: there are steps, poles, cuts and extrema. (Near
// other extrema the end beyond them is farther off.) The ulps are f's own, of its result or of a
// larger term (reference_function.h). `flushed` is for results smaller than 1024 times the smallest
// normal number t: that for compositions of several functions, and 2 t for others, because devices
// may give 0 for subnormal results. An exact 0 has none.
//
// A truth value that errors leave undetermined is off by 1, and a choice may be either of its two;
// a % b may be anything up to b if the quotient may be another one. E is infinite, and any result
// is right, if a step may overflow, f is of another kind at an x' (NaN, infinity), or an error is
// as long as the waves of f. Not covered: devices that flush subnormal operands. The sign of a zero
// is not compared.
#ifndef WEFT_TOOLS_REFERENCE_FORMULA_H
#define WEFT_TOOLS_REFERENCE_FORMULA_H

#include <weft/dtype.h>

#include "complaint.h"
#include "reference_function.h"

enum { FORMULA_STEPS = 512 }; // literals, names and calls: the most in a formula

// A number in arithmetic: f32 and f64 have `real` and `error`, i32 and i64 `whole`.
typedef struct formula_number {
    wide real, error;
    int64_t whole;
} formula_number;

typedef enum formula_step_kind { FORMULA_NAMED, FORMULA_NUMBER, FORMULA_CALL } formula_step_kind;

typedef struct formula_step {
    formula_step_kind kind;
    int named; // index among the names
    formula_number number;
    const reference_function *function; // a call of the steps before it
} formula_step;

typedef struct reference_formula {
    weft_dtype arithmetic; // f32, f64, i32 or i64
    int n_steps;
    formula_step steps[FORMULA_STEPS]; // operands before their function
} reference_formula;

// Description of a formula, as for weft_elementwise().
typedef struct formula_text {
    const char *text;
    int n_inputs, n_values;
    const weft_dtype *dtypes; // of inputs
    const char *const *names; // of inputs, then of values
    weft_dtype arithmetic;    // WEFT_DEFAULT: the library's choice
} formula_text;

// Fails if the library refuses it, with its sentence.
bool reference_formula_read(reference_formula *out, const formula_text *text, complaint *why);

// For values of the names.
formula_number reference_formula_at(const reference_formula *formula, const formula_number *named);

#endif
