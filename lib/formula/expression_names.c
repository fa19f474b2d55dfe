// SPDX-License-Identifier: Apache-2.0
// Checks the names of an expression's inputs and values.
#include "formula/expression.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "formula/expression_token.h"

static bool is_identifier(const char *name)
{
    for (const char *c = name; *c; c++) {
        const bool is_digit = *c >= '0' && *c <= '9';
        const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!is_letter && !(is_digit && c > name))
            return false;
    }
    return *name != '\0';
}

static weft_status counts_check(const weft_names *names, const char *what)
{
    if (names->n_inputs < 0 || names->n_inputs > WEFT_EXPRESSION_INPUTS)
        return fail(WEFT_BAD_ARGUMENT, "%s: there are %d inputs, not 0 to %d", what,
                    names->n_inputs, (int)WEFT_EXPRESSION_INPUTS);
    if (names->n_values < 0 || names->n_values > WEFT_EXPRESSION_VALUES)
        return fail(WEFT_BAD_ARGUMENT, "%s: there are %d values, not 0 to %d", what,
                    names->n_values, (int)WEFT_EXPRESSION_VALUES);
    return WEFT_OK;
}

// Inputs, then values.
static const char *name_at(const weft_names *names, int i)
{
    return i < names->n_inputs ? names->inputs[i] : names->values[i - names->n_inputs];
}

// A printable form of a name.
static void show(char shown[WEFT_EXPRESSION_NAME + 4], const char *name)
{
    int n = 0;
    for (; n < WEFT_EXPRESSION_NAME && name[n]; n++)
        shown[n] = (char)(name[n] >= ' ' && name[n] <= '~' ? name[n] : '?');
    sprintf(shown + n, "%s", name[n] ? "..." : "");
}

static const char *fault_of(const char *name)
{
    if (!is_identifier(name))
        return "is no identifier of C";
    if (memchr(name, '\0', WEFT_EXPRESSION_NAME + 1) == NULL)
        return "has more than 31 characters";
    if (weft_function_find(name, strlen(name)))
        return "is a function of expressions";
    if (weft_constant_find(name, strlen(name)))
        return "is a constant of expressions";
    if (weft_is_reserved(name, strlen(name)))
        return "is a word of OpenCL C";
    return NULL;
}

static weft_status name_check(const weft_names *names, int i, const char *what)
{
    const char *name = name_at(names, i);
    const char *list = i < names->n_inputs ? "inputs" : "values";
    const int place = i < names->n_inputs ? i : i - names->n_inputs;
    if (!name)
        return fail(WEFT_BAD_ARGUMENT, "%s: the name %s[%d] is NULL", what, list, place);

    char shown[WEFT_EXPRESSION_NAME + 4];
    show(shown, name);
    const char *fault = fault_of(name);
    if (fault)
        return fail(WEFT_BAD_ARGUMENT, "%s: the name %s[%d], '%s', %s", what, list, place, shown,
                    fault);
    for (int k = 0; k < i; k++)
        if (strcmp(name_at(names, k), name) == 0)
            return fail(WEFT_BAD_ARGUMENT, "%s: the name %s[%d], '%s', is there twice", what, list,
                        place, shown);
    return WEFT_OK;
}

weft_status weft_names_check(const weft_names *names, const char *what)
{
    TRY(counts_check(names, what));
    for (int i = 0; i < names->n_inputs + names->n_values; i++)
        TRY(name_check(names, i, what));
    return WEFT_OK;
}
