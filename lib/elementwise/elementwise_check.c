// SPDX-License-Identifier: Apache-2.0
// Checks the operands, formulas and numbers of weft_elementwise().
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "elementwise/elementwise_call.h"
#include "operand/view.h"
#include "runtime/context.h"

const char *weft_elementwise_name(char text[WEFT_OPERAND_TEXT], const weft_call *call, int i)
{
    snprintf(text, WEFT_OPERAND_TEXT, "elementwise: %s%s", i < call->n_first ? "" : "input ",
             call->names[i]);
    return text;
}

// ---- arguments

static weft_status count_check(const char *what, int n, int least, int most, const void *array)
{
    if (n < least || n > most)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: %d %s, %d to %d are possible", n, what, least,
                    most);
    if (n > 0 && !array)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: %d %s, but the list of them is NULL", n, what);
    return WEFT_OK;
}

static weft_status params_check(const weft_elementwise_params *params)
{
    const weft_dtype arithmetic = params->arithmetic;
    if (arithmetic != WEFT_DEFAULT && arithmetic != WEFT_F32 && arithmetic != WEFT_F64 &&
        arithmetic != WEFT_I32 && arithmetic != WEFT_I64)
        return fail(WEFT_BAD_DTYPE,
                    "elementwise: params.arithmetic is %s (%d): f32, f64, i32 and i64 are possible",
                    weft_dtype_name(arithmetic), (int)arithmetic);
    return count_check("values", params->n_values, 0, WEFT_ELEMENTWISE_VALUES, params->values);
}

weft_status weft_elementwise_given_check(const weft_elementwise_own *own,
                                         const weft_elementwise_input *inputs,
                                         const weft_elementwise_output *outputs)
{
    const weft_elementwise_params *params = &own->params;
    TRY(params_check(params));
    TRY(count_check("inputs", own->n_inputs, 0, WEFT_ELEMENTWISE_INPUTS, inputs));
    TRY(count_check("outputs", own->n_outputs, 1, WEFT_ELEMENTWISE_OUTPUTS, outputs));
    for (int i = 0; i < params->n_values; ++i)
        if (!params->values[i].name)
            return fail(WEFT_BAD_ARGUMENT, "elementwise: the name of value %d is NULL", i);
    for (int i = 0; i < own->n_outputs; ++i)
        if (!outputs[i].formula)
            return fail(WEFT_BAD_ARGUMENT, "elementwise: the formula of output %d is NULL", i);
    return WEFT_OK;
}

// ---- views

static weft_status device_check(const weft_context *ctx, const weft_tensor *view, const char *what)
{
    if (weft_dtype_or(view->dtype, WEFT_F32) == WEFT_F64 && !ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s is f64, which %s has not", what, ctx->limits.name);
    return WEFT_OK;
}

static weft_status broadcast_check(const weft_tensor *in, const char *in_name,
                                   const weft_tensor *out, const char *out_name)
{
    char in_shape[WEFT_SHAPE_TEXT], out_shape[WEFT_SHAPE_TEXT];
    bool fits = in->ndim <= out->ndim;
    for (int d = 0; fits && d < in->ndim; ++d) {
        const int64_t extent = in->shape[d];
        fits = extent == 1 || extent == out->shape[d + out->ndim - in->ndim];
    }
    if (!fits)
        return fail(WEFT_BAD_SHAPE, "%s %s does not broadcast to %s %s", in_name,
                    weft_shape_text(in, in_shape), out_name + strlen("elementwise: "),
                    weft_shape_text(out, out_shape));
    return WEFT_OK;
}

static weft_status same_shape_check(const weft_tensor *out, const weft_tensor *first, int i)
{
    char shape[WEFT_SHAPE_TEXT], first_shape[WEFT_SHAPE_TEXT];
    bool same = out->ndim == first->ndim;
    for (int d = 0; same && d < out->ndim; ++d)
        same = out->shape[d] == first->shape[d];
    if (!same)
        return fail(WEFT_BAD_SHAPE, "elementwise: output %d is %s, output 0 %s", i,
                    weft_shape_text(out, shape), weft_shape_text(first, first_shape));
    return WEFT_OK;
}

static weft_status views_check(const weft_call *call)
{
    char name[WEFT_OPERAND_TEXT], first_name[WEFT_OPERAND_TEXT];
    const weft_tensor *first = weft_call_tensor(call, 0);
    weft_elementwise_name(first_name, call, 0);
    for (int i = 0; i < call->n_operands; ++i) {
        const weft_tensor *view = weft_call_tensor(call, i);
        TRY(device_check(call->ctx, view, weft_elementwise_name(name, call, i)));
        TRY(i < call->n_first ? same_shape_check(view, first, i)
                              : broadcast_check(view, name, first, first_name));
    }
    return WEFT_OK;
}

weft_status weft_elementwise_shifts(int64_t shifts[WEFT_NEST_OPERANDS], const weft_call *call)
{
    char name[WEFT_OPERAND_TEXT];
    memset(shifts, 0, WEFT_NEST_OPERANDS * sizeof(shifts[0]));
    for (int i = 0; i < call->n_operands; ++i)
        TRY(weft_tensor_shift(&shifts[i], weft_call_tensor(call, i),
                              weft_elementwise_name(name, call, i)));
    return WEFT_OK;
}

// ---- formulas

static weft_names names_of(const weft_call *call)
{
    const weft_elementwise_own *own = call->own;
    weft_names names = {.n_inputs = own->n_inputs, .n_values = own->params.n_values};
    for (int i = 0; i < names.n_inputs; ++i)
        names.inputs[i] = call->names[own->n_outputs + i];
    for (int i = 0; i < names.n_values; ++i)
        names.values[i] = own->params.values[i].name;
    return names;
}

weft_status weft_elementwise_formulas(weft_expression **out, const weft_call *call)
{
    const weft_elementwise_own *own = call->own;
    const weft_names names = names_of(call);
    TRY(weft_names_check(&names, "elementwise"));
    *out = malloc((size_t)own->n_outputs * sizeof(**out));
    if (!*out)
        return fail(WEFT_NO_MEMORY, "elementwise: no memory to read formulas");
    weft_status status = WEFT_OK;
    for (int i = 0; i < own->n_outputs && status == WEFT_OK; ++i)
        status = weft_expression_parse(&(*out)[i], own->formulas[i], &names, "elementwise");
    if (status != WEFT_OK)
        free(*out);
    return status;
}

// ---- the arithmetic

static weft_dtype promoted(const weft_elementwise_state *s, const weft_expression *formulas)
{
    bool has_f64 = false, is_real = false, has_i64 = false;
    for (int i = 0; i < s->n_outputs; ++i) {
        is_real |= formulas[i].is_real;
        has_i64 |= formulas[i].is_long;
    }
    for (int i = s->n_outputs; i < s->n_operands; ++i) {
        has_f64 |= s->dtypes[i] == WEFT_F64;
        is_real |= weft_is_floating(s->dtypes[i]);
        has_i64 |= s->dtypes[i] == WEFT_I64;
    }
    return has_f64 ? WEFT_F64 : is_real ? WEFT_F32 : has_i64 ? WEFT_I64 : WEFT_I32;
}

static weft_status arithmetic_check(const weft_elementwise_state *s, const weft_call *call,
                                    const weft_expression *expression, const char *formula)
{
    if (s->arithmetic == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "elementwise: arithmetic is f64, which %s has not",
                    call->ctx->limits.name);
    TRY(weft_expression_check(expression, formula, s->arithmetic, "elementwise"));
    for (int i = s->n_outputs; i < s->n_operands && !weft_is_floating(s->arithmetic); ++i)
        if (weft_is_floating(s->dtypes[i]))
            return fail(WEFT_BAD_DTYPE, "elementwise: input %s is %s, arithmetic is %s",
                        call->names[i], weft_dtype_name(s->dtypes[i]),
                        weft_dtype_name(s->arithmetic));
    return WEFT_OK;
}

static weft_status find_arithmetic(weft_elementwise_state *s, const weft_call *call,
                                   const weft_expression *formulas)
{
    const weft_elementwise_own *own = call->own;
    s->arithmetic = own->params.arithmetic;
    if (s->arithmetic == WEFT_DEFAULT)
        s->arithmetic = promoted(s, formulas);
    for (int i = 0; i < s->n_outputs; ++i)
        TRY(arithmetic_check(s, call, &formulas[i], own->formulas[i]));
    return WEFT_OK;
}

// ---- the call

weft_status weft_elementwise_numbers_check(const void *state, const weft_call *call)
{
    const weft_elementwise_state *s = state;
    const weft_elementwise_params *params = &((const weft_elementwise_own *)call->own)->params;
    for (int i = 0; i < params->n_values; ++i)
        TRY(weft_number_check(params->values[i].value, s->arithmetic, "value ",
                              params->values[i].name, "elementwise"));
    return WEFT_OK;
}

weft_status weft_elementwise_check(void *state, const weft_call *call)
{
    weft_elementwise_state *s = state;
    weft_expression *formulas;
    s->n_outputs = call->n_first;
    s->n_operands = call->n_operands;
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_elementwise_tiling_table,
                         "elementwise: tiling", call->tiling));
    TRY(views_check(call));
    for (int i = 0; i < s->n_operands; ++i)
        s->dtypes[i] = weft_dtype_or(weft_call_tensor(call, i)->dtype, WEFT_F32);
    s->head.is_empty = weft_tensor_is_empty(weft_call_tensor(call, 0));
    TRY(weft_elementwise_formulas(&formulas, call));
    const weft_status status = find_arithmetic(s, call, formulas);
    free(formulas);
    return status;
}
