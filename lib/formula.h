// SPDX-License-Identifier: Apache-2.0
// Formulas among the defines of a program.
#ifndef WEFT_LIB_FORMULA_H
#define WEFT_LIB_FORMULA_H

#include "expression.h"
#include "program.h"

// Adds F<i>: the expression as cl/formula.clh has it. WEFT_UNSUPPORTED where it is longer than the
// list of defines has room for; `what` is "elementwise".
weft_status weft_formula_define(weft_defines *defines, int i, const weft_expression *expression,
                                weft_dtype arithmetic, const char *what);

#endif
