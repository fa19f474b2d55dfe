// SPDX-License-Identifier: Apache-2.0
// An expression's code as a define.
#include "formula.h"

#include <stdio.h>
#include <stdlib.h>

#include "fail.h"

enum { AROUND = 16 }; // characters of the define around the code

weft_status weft_formula_define(weft_defines *defines, int i, const weft_expression *expression,
                                weft_dtype arithmetic, const char *what)
{
    char name[16];
    const size_t length = weft_expression_code(expression, arithmetic, NULL, 0);
    const size_t room = sizeof(defines->text) - defines->length;
    if (length + AROUND > room)
        return fail(WEFT_UNSUPPORTED,
                    "%s: formula %d comes to %zu characters of code, there is room for %zu", what,
                    i, length, room > AROUND ? room - AROUND : 0);
    char *code = malloc(length + 1);
    if (!code)
        return fail(WEFT_NO_MEMORY, "%s: no memory for the code of formula %d", what, i);
    weft_expression_code(expression, arithmetic, code, length + 1);
    snprintf(name, sizeof(name), "F%d", i);
    weft_defines_add_word(defines, name, code);
    free(code);
    return WEFT_OK;
}
