// SPDX-License-Identifier: Apache-2.0
// Formulas in weft explain.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <weft/elementwise.h>

#include "dense_job.h"
#include "explain_stage.h"
#include "scalar.h"

// Operators and functions of a formula, as they are written.
static int formula_operations(const char *formula)
{
    int n = 0;
    for (const char *c = formula; *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || *c == '_' || *c == '.') {
            const char *end = c + strspn(c, "0123456789.");
            const bool is_number = end > c && (*end == 'e' || *end == 'E');
            end += is_number ? 1 + (end[1] == '-' || end[1] == '+') : 0; // not an operator
            while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
                end++;
            n += end[strspn(end, " ")] == '(';
            c = end - 1;
        } else if (strchr("+-*/%<>=!&|^?~", *c) != NULL) {
            n++;
            while (c[1] != '\0' && strchr("=<>&|*", c[1]) != NULL)
                c++;
        }
    }
    return n;
}

// NAME=SHAPE, NAME:TYPE=SHAPE and NAME=NUMBER after the formula; names are cut out of a copy of the
// words.
typedef struct formula_operands {
    char text[EXPLAIN_WORDS][128];
    int n_inputs, n_values;
    weft_tensor tensors[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
} formula_operands;

static bool take_number(formula_operands *out, explain_stage *s, const char *name, double value)
{
    if (out->n_values == WEFT_ELEMENTWISE_VALUES)
        return complain_usage(s->why, "elementwise: more than %d numbers", out->n_values);
    out->values[out->n_values++] = (weft_elementwise_value){name, value};
    stage_say(s, ", %s = %g", name, value);
    return true;
}

// `type` NULL: that of --dtype.
static bool take_array(formula_operands *out, explain_stage *s, const char *name, const char *type,
                       const char *text)
{
    const weft_dtype dtype = type != NULL ? weft_dtype_find(type) : s->options->dtype;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool transposed;
    char words[256];
    if (dtype == WEFT_DEFAULT)
        return complain_usage(s->why, "%s: there is no data type '%s'", name, type);
    if (out->n_inputs == WEFT_ELEMENTWISE_INPUTS)
        return complain_usage(s->why, "elementwise: more than %d arrays", out->n_inputs);
    if (!stage_shape(&ndim, shape, &transposed, text, s->why))
        return false;
    stage_say(s, ", %s %s%s", name, dense_shape_text(ndim, shape, words, sizeof(words)),
              transposed ? " transposed" : "");
    if (type != NULL)
        stage_say(s, " of %s", type);
    weft_tensor *tensor = &out->tensors[out->n_inputs];
    *tensor = stage_view(s, dtype, ndim, shape, transposed);
    out->inputs[out->n_inputs++] = (weft_elementwise_input){name, tensor};
    return true;
}

static bool is_named(const formula_operands *of, const char *name)
{
    for (int i = 0; i < of->n_inputs; i++)
        if (strcmp(of->inputs[i].name, name) == 0)
            return true;
    for (int i = 0; i < of->n_values; i++)
        if (strcmp(of->values[i].name, name) == 0)
            return true;
    return false;
}

// A word with a type is an array, also of one extent.
static bool take_named(formula_operands *out, explain_stage *s, int i)
{
    char *text = out->text[i], *end;
    snprintf(text, sizeof(out->text[i]), "%s", s->options->words[i]);
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return complain_usage(s->why, "'%s' is neither NAME=SHAPE nor NAME=NUMBER", text);
    *equals = '\0';
    char *colon = strchr(text, ':');
    if (colon != NULL)
        *colon = '\0';
    if (is_named(out, text))
        return complain_usage(s->why, "elementwise: '%s' is named twice", text);
    const double value = strtod(equals + 1, &end);
    const bool is_number = *end == '\0' && strchr(equals + 1, 'x') == NULL; // 0x3 is a shape
    return is_number && colon == NULL
               ? take_number(out, s, text, value)
               : take_array(out, s, text, colon != NULL ? colon + 1 : NULL, equals + 1);
}

// The broadcast shape of the inputs; if they do not broadcast, the call reports it.
static weft_tensor broadcast_output(explain_stage *s, const formula_operands *of)
{
    weft_tensor Y = {.ndim = 0};
    for (int i = 0; i < of->n_inputs; i++)
        Y.ndim = of->tensors[i].ndim > Y.ndim ? of->tensors[i].ndim : Y.ndim;
    for (int d = 0; d < Y.ndim; d++)
        Y.shape[d] = 1;
    for (int i = 0; i < of->n_inputs; i++) {
        const weft_tensor *x = &of->tensors[i];
        for (int d = 0; d < x->ndim; d++)
            if (x->shape[d] != 1)
                Y.shape[Y.ndim - x->ndim + d] = x->shape[d];
    }
    return stage_view(s, s->options->dtype, Y.ndim, Y.shape, false);
}

// As in weft_elementwise(), except that numbers and functions in the formula do not change integer
// types.
static weft_dtype arithmetic_of(const formula_operands *of, weft_dtype none)
{
    weft_dtype widest = of->n_inputs > 0 ? of->tensors[0].dtype : none;
    for (int i = 1; i < of->n_inputs; i++) {
        const weft_dtype dtype = of->tensors[i].dtype;
        if (dtype == WEFT_F64 || (widest != WEFT_F64 && scalar_is_float(dtype)))
            widest = dtype;
    }
    return widest;
}

static bool explain_elementwise(explain_stage *s)
{
    formula_operands of = {.n_inputs = 0};
    if (s->options->n_words < 2)
        return complain_usage(s->why, "elementwise: the formula is missing");
    const char *formula = s->options->words[1];
    stage_say(s, "%s", formula);
    for (int i = 2; i < s->options->n_words; i++)
        if (!take_named(&of, s, i))
            return false;
    const weft_tensor Y = broadcast_output(s, &of);
    const weft_elementwise_output output = {formula, &Y};
    const weft_elementwise_params *params =
        WEFT_ELEMENTWISE(.n_values = of.n_values, .values = of.values);
    s->answer->arithmetic = arithmetic_of(&of, s->options->dtype);
    s->answer->elements = stage_elements(&Y);
    s->answer->operations = formula_operations(formula) * s->answer->elements;
    return stage_called(
               s, weft_elementwise(s->ctx, NULL, of.n_inputs, of.inputs, 1, &output, params)) &&
           stage_described(s, weft_elementwise_describe(s->ctx, of.n_inputs, of.inputs, 1, &output,
                                                        params, STAGE_PLAN(s)));
}

const explain_operation explain_elementwise_operations[] = {
    {"elementwise", 0, false, explain_elementwise},
    {NULL, 0, false, NULL},
};
