// SPDX-License-Identifier: Apache-2.0
// Formulas of elementwise operations: refused in words, or written as calls of small functions,
// with nothing in them that could mean something else to a compiler.
#include <string.h>

#include "formula/expression.h"
#include "target.h"

static const weft_names names = {
    .n_inputs = 3,
    .inputs = {"a", "b", "x1"},
    .n_values = 2,
    .values = {"alpha", "v0"},
};

static void check_code(const weft_expression *expression, weft_dtype arithmetic)
{
    static char code[1 << 16];
    const size_t length = weft_expression_code(expression, arithmetic, code, sizeof(code));
    HOLDS(length < sizeof(code) && strlen(code) == length, "%zu characters\n", length);
    HOLDS(strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_(),.+-") ==
              length,
          "%s\n", code);
    int depth = 0;
    for (size_t i = 0; i < length && depth >= 0; i++)
        depth += (code[i] == '(') - (code[i] == ')');
    HOLDS(depth == 0, "%s\n", code);

    char cut[16];
    memset(cut, 'x', sizeof(cut));
    HOLDS(weft_expression_code(expression, arithmetic, cut, sizeof(cut) - 1) == length,
          "another length\n");
    HOLDS(cut[sizeof(cut) - 1] == 'x' && memchr(cut, '\0', sizeof(cut)), "no end\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static weft_expression expression;
    char *text = malloc(size + 1);
    HOLDS(text, "no memory\n");
    for (size_t i = 0; i < size; i++)
        text[i] = (char)bytes[i];
    text[size] = '\0';
    if (weft_expression_parse(&expression, text, &names, "fuzz") != WEFT_OK) {
        HOLDS(strncmp(weft_last_error(), "fuzz: column ", 13) == 0, "%s\n", weft_last_error());
    } else {
        HOLDS(expression.n_nodes > 0 && expression.n_nodes <= WEFT_EXPRESSION_NODES, "%d nodes\n",
              expression.n_nodes);
        HOLDS(!expression.is_real || !expression.is_integral, "both\n");
        for (int wide = 0; wide < 2; wide++) {
            if (!expression.is_integral)
                check_code(&expression, wide ? WEFT_F64 : WEFT_F32);
            if (!expression.is_real)
                check_code(&expression, wide ? WEFT_I64 : WEFT_I32);
        }
    }
    free(text);
    return 0;
}
