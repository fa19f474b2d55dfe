// SPDX-License-Identifier: Apache-2.0
// Formulas among the defines of a program.
#ifndef WEFT_LIB_FORMULA_H
#define WEFT_LIB_FORMULA_H

#include "formula/expression.h"
#include "runtime/program.h"

// Adds F<i>: the expression in terms of cl/formula/formula.clh. WEFT_UNSUPPORTED if it does not fit
// into the list of defines; `what` is "elementwise".
weft_status weft_formula_define(weft_defines *defines, int i, const weft_expression *expression,
                                weft_dtype arithmetic, const char *what);

// Passes on the status of a program that has the formulas' code. If a device's compiler refused it,
// the sentence shows the formula with the call that the compiler names in quotes, with a caret
// there; or else the formulas.
weft_status weft_formula_blame(weft_status status, int n, const char *const *texts,
                               const weft_expression *expressions, const char *what);

#endif
