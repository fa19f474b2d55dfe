// SPDX-License-Identifier: Apache-2.0
// An expression's code as a define, and a compiler's error about it.
#include "formula/formula.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "formula/expression_token.h"

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

// The first call whose function the sentence has in single quotes: a node, or -1.
static int named_in(const char *sentence, const weft_expression *expression)
{
    for (int i = 0; i < expression->n_nodes; i++) {
        char quoted[64];
        if (expression->nodes[i].kind != WEFT_NODE_CALL)
            continue;
        snprintf(quoted, sizeof(quoted), "'%s'", expression->nodes[i].function->code);
        if (strstr(sentence, quoted))
            return i;
    }
    return -1;
}

weft_status weft_formula_blame(weft_status status, int n, const char *const *texts,
                               const weft_expression *expressions, const char *what)
{
    enum { room = 512 };
    char sentence[room], all[room] = "";
    if (status != WEFT_BUILD_FAILED || n == 0)
        return status;
    snprintf(sentence, sizeof(sentence), "%s", weft_last_error());
    for (int i = 0; i < n; i++) {
        const int node = named_in(sentence, &expressions[i]);
        if (node < 0) {
            const size_t length = strlen(all);
            snprintf(all + length, room - length, "\n    %s", texts[i]);
            continue;
        }
        const weft_scan scan = {.what = what, .text = texts[i], .length = (int)strlen(texts[i])};
        (void)weft_scan_refuse(&scan, expressions[i].nodes[node].at, "%s", sentence);
        return status;
    }
    return fail(status, "%s: %s%s", what, sentence, all);
}
