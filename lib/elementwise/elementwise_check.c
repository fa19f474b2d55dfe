// SPDX-License-Identifier: Apache-2.0
// What weft_elementwise() refuses at its door.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "elementwise/elementwise_call.h"
#include "operand/view.h"
#include "runtime/context.h"

enum { OPERAND_TEXT = 64 };

static const char *const letters[WEFT_ELEMENTWISE_INPUTS] = {"a", "b", "c", "d",
                                                             "e", "f", "g", "h"};

const char *weft_elementwise_input_name(const weft_elementwise_operands *operands, int i)
{
    const char *name = operands->inputs[i].name;
    return name ? name : letters[i];
}

// "elementwise: input a"
static const char *input_text(char text[OPERAND_TEXT], const weft_elementwise_operands *operands,
                              int i)
{
    snprintf(text, OPERAND_TEXT, "elementwise: input %s", weft_elementwise_input_name(operands, i));
    return text;
}

static const char *output_text(char text[OPERAND_TEXT], const weft_elementwise_operands *operands,
                               int i)
{
    if (operands->n_outputs == 1)
        snprintf(text, OPERAND_TEXT, "elementwise: the output");
    else
        snprintf(text, OPERAND_TEXT, "elementwise: output %d", i);
    return text;
}

// The same without "elementwise: ".
static const char *short_text(const char *text)
{
    return text + strlen("elementwise: ");
}

// ---- counts and names

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
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: params.size is %zu, not %zu: fill it by WEFT_ELEMENTWISE()",
                    params->size, sizeof(*params));
    const weft_dtype arithmetic = params->arithmetic;
    if (arithmetic != WEFT_DEFAULT && arithmetic != WEFT_F32 && arithmetic != WEFT_F64 &&
        arithmetic != WEFT_I32 && arithmetic != WEFT_I64)
        return fail(WEFT_BAD_DTYPE,
                    "elementwise: params.arithmetic is %s (%d): f32, f64, i32 and i64 are possible",
                    weft_dtype_name(arithmetic), (int)arithmetic);
    return count_check("values", params->n_values, 0, WEFT_ELEMENTWISE_VALUES, params->values);
}

static weft_status counts_check(const weft_context *ctx, const weft_elementwise_operands *operands)
{
    TRY(weft_context_check(ctx, "elementwise"));
    TRY(params_check(operands->params));
    TRY(count_check("inputs", operands->n_inputs, 0, WEFT_ELEMENTWISE_INPUTS, operands->inputs));
    TRY(count_check("outputs", operands->n_outputs, 1, WEFT_ELEMENTWISE_OUTPUTS,
                    operands->outputs));
    for (int i = 0; i < operands->params->n_values; ++i)
        if (!operands->params->values[i].name)
            return fail(WEFT_BAD_ARGUMENT, "elementwise: the name of value %d is NULL", i);
    for (int i = 0; i < operands->n_outputs; ++i)
        if (!operands->outputs[i].formula)
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
                    weft_shape_text(in, in_shape), short_text(out_name),
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

static weft_status views_check(const weft_context *ctx, const weft_elementwise_operands *operands)
{
    char name[OPERAND_TEXT], first_name[OPERAND_TEXT];
    const weft_tensor *first = operands->outputs[0].tensor;
    for (int i = 0; i < operands->n_outputs; ++i) {
        const weft_tensor *out = operands->outputs[i].tensor;
        TRY(weft_output_form_check(out, output_text(name, operands, i)));
        TRY(device_check(ctx, out, name));
        TRY(same_shape_check(out, first, i));
    }
    output_text(first_name, operands, 0);
    for (int i = 0; i < operands->n_inputs; ++i) {
        const weft_tensor *in = operands->inputs[i].tensor;
        TRY(weft_tensor_form_check(in, input_text(name, operands, i)));
        TRY(device_check(ctx, in, name));
        TRY(broadcast_check(in, name, first, first_name));
    }
    return WEFT_OK;
}

// ---- what is reckoned in

static weft_dtype promoted(const weft_elementwise_plan *plan, bool is_real, bool is_long)
{
    bool has_f64 = false, has_i64 = is_long;
    for (int i = 0; i < plan->n_inputs; ++i) {
        const weft_dtype dtype = plan->inputs[i].dtype;
        has_f64 |= dtype == WEFT_F64;
        is_real |= weft_is_floating(dtype);
        has_i64 |= dtype == WEFT_I64;
    }
    return has_f64 ? WEFT_F64 : is_real ? WEFT_F32 : has_i64 ? WEFT_I64 : WEFT_I32;
}

static weft_status arithmetic_check(const weft_elementwise_plan *plan,
                                    const weft_expression *expression, const char *formula)
{
    const weft_dtype arithmetic = plan->arithmetic;
    if (arithmetic == WEFT_F64 && !plan->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "elementwise: arithmetic is f64, which %s has not",
                    plan->ctx->limits.name);
    TRY(weft_expression_check(expression, formula, arithmetic, "elementwise"));
    for (int i = 0; i < plan->n_inputs && !weft_is_floating(arithmetic); ++i)
        if (weft_is_floating(plan->inputs[i].dtype))
            return fail(WEFT_BAD_DTYPE, "elementwise: input %s is %s, arithmetic is %s",
                        plan->input_names[i], weft_dtype_name(plan->inputs[i].dtype),
                        weft_dtype_name(arithmetic));
    return WEFT_OK;
}

// ---- the plan's copies

static char *copy_of(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static weft_tensor view_alone(const weft_tensor *tensor)
{
    weft_tensor view = *tensor;
    view.buffer = NULL;
    view.dtype = weft_dtype_or(tensor->dtype, WEFT_F32);
    return view;
}

static weft_status remember(weft_elementwise_plan *plan, const weft_elementwise_operands *operands)
{
    bool ok = true;
    plan->n_inputs = operands->n_inputs;
    plan->n_outputs = operands->n_outputs;
    plan->n_values = operands->params->n_values;
    for (int i = 0; i < plan->n_inputs; ++i) {
        plan->inputs[i] = view_alone(operands->inputs[i].tensor);
        plan->input_names[i] = copy_of(weft_elementwise_input_name(operands, i));
        ok = ok && plan->input_names[i];
    }
    for (int i = 0; i < plan->n_outputs; ++i) {
        plan->outputs[i] = view_alone(operands->outputs[i].tensor);
        plan->formulas[i] = copy_of(operands->outputs[i].formula);
        ok = ok && plan->formulas[i];
    }
    for (int i = 0; i < plan->n_values; ++i) {
        plan->value_names[i] = copy_of(operands->params->values[i].name);
        ok = ok && plan->value_names[i];
    }
    return ok ? WEFT_OK : fail(WEFT_NO_MEMORY, "elementwise: no memory for names and formulas");
}

void weft_elementwise_forget(weft_elementwise_plan *plan)
{
    for (int i = 0; i < plan->n_inputs; ++i)
        free(plan->input_names[i]);
    for (int i = 0; i < plan->n_outputs; ++i)
        free(plan->formulas[i]);
    for (int i = 0; i < plan->n_values; ++i)
        free(plan->value_names[i]);
    plan->n_inputs = plan->n_outputs = plan->n_values = 0;
}

static weft_names names_of(const weft_elementwise_operands *operands)
{
    weft_names names = {.n_inputs = operands->n_inputs, .n_values = operands->params->n_values};
    for (int i = 0; i < names.n_inputs; ++i)
        names.inputs[i] = weft_elementwise_input_name(operands, i);
    for (int i = 0; i < names.n_values; ++i)
        names.values[i] = operands->params->values[i].name;
    return names;
}

static weft_status find_shifts(int64_t shifts[WEFT_NEST_OPERANDS],
                               const weft_elementwise_operands *operands)
{
    char name[OPERAND_TEXT];
    int64_t *input_shifts = shifts + operands->n_outputs;
    memset(shifts, 0, WEFT_NEST_OPERANDS * sizeof(shifts[0]));
    for (int i = 0; i < operands->n_outputs; ++i)
        TRY(weft_tensor_shift(&shifts[i], operands->outputs[i].tensor,
                              output_text(name, operands, i)));
    for (int i = 0; i < operands->n_inputs; ++i)
        TRY(weft_tensor_shift(&input_shifts[i], operands->inputs[i].tensor,
                              input_text(name, operands, i)));
    return WEFT_OK;
}

weft_status weft_elementwise_check(weft_elementwise_plan *plan, weft_context *ctx,
                                   const weft_elementwise_operands *operands,
                                   weft_expression *expressions)
{
    TRY(counts_check(ctx, operands));
    TRY(weft_tiling_read(&plan->is_forced, &plan->tiling, &weft_elementwise_tiling_table,
                         "elementwise: tiling", operands->params->tiling));
    const weft_names names = names_of(operands);
    TRY(weft_names_check(&names, "elementwise"));
    TRY(views_check(ctx, operands));
    TRY(remember(plan, operands));
    bool is_real = false, is_long = false;
    for (int i = 0; i < plan->n_outputs; ++i) {
        TRY(weft_expression_parse(&expressions[i], plan->formulas[i], &names, "elementwise"));
        is_real |= expressions[i].is_real;
        is_long |= expressions[i].is_long;
    }
    plan->arithmetic = weft_dtype_or(operands->params->arithmetic, WEFT_DEFAULT);
    if (plan->arithmetic == WEFT_DEFAULT)
        plan->arithmetic = promoted(plan, is_real, is_long);
    for (int i = 0; i < plan->n_outputs; ++i)
        TRY(arithmetic_check(plan, &expressions[i], plan->formulas[i]));
    plan->is_empty = weft_tensor_is_empty(&plan->outputs[0]);
    return plan->is_empty ? WEFT_OK : find_shifts(plan->shifts, operands);
}

// ---- a call with a plan

static bool same_view(const weft_tensor *planned, const weft_tensor *given)
{
    bool same = given->ndim == planned->ndim && given->offset == planned->offset &&
                weft_dtype_or(given->dtype, WEFT_F32) == planned->dtype;
    for (int d = 0; same && d < planned->ndim; ++d)
        same = given->shape[d] == planned->shape[d] && given->stride[d] == planned->stride[d];
    return same;
}

static weft_status match_check(bool matches, const char *what)
{
    return matches ? WEFT_OK
                   : fail(WEFT_BAD_ARGUMENT, "%s is not what params.plan was made for", what);
}

// A plan that was made for other buffers, or for none yet, may count on vectors.
static weft_status vectors_check(const weft_elementwise_plan *plan,
                                 const weft_elementwise_operands *operands)
{
    char name[OPERAND_TEXT];
    int64_t shifts[WEFT_NEST_OPERANDS];
    const int fold = plan->tiling.fold;
    if (plan->is_empty || !plan->tiling.aligned)
        return WEFT_OK;
    TRY(find_shifts(shifts, operands));
    for (int i = 0; i < plan->n_outputs + plan->n_inputs; ++i)
        if (plan->ways[i] != WEFT_SAME && shifts[i] % fold != 0)
            return fail(WEFT_BAD_BUFFER,
                        "%s: its buffer is memory of the caller's (CL_MEM_USE_HOST_PTR) that "
                        "begins at no multiple of %d elements, which the plan counts on",
                        i < plan->n_outputs ? output_text(name, operands, i)
                                            : input_text(name, operands, i - plan->n_outputs),
                        fold);
    return WEFT_OK;
}

weft_status weft_elementwise_match(const weft_elementwise_plan *plan, const weft_context *ctx,
                                   const weft_elementwise_operands *operands)
{
    char name[OPERAND_TEXT];
    TRY(counts_check(ctx, operands));
    const weft_elementwise_params *params = operands->params;
    TRY(match_check(ctx == plan->ctx, "elementwise: ctx"));
    TRY(match_check(operands->n_inputs == plan->n_inputs, "elementwise: n_inputs"));
    TRY(match_check(operands->n_outputs == plan->n_outputs, "elementwise: n_outputs"));
    TRY(match_check(params->n_values == plan->n_values, "elementwise: params.n_values"));
    TRY(match_check(params->arithmetic == WEFT_DEFAULT || params->arithmetic == plan->arithmetic,
                    "elementwise: params.arithmetic"));
    TRY(match_check(!params->tiling, "elementwise: params.tiling"));
    for (int i = 0; i < plan->n_inputs; ++i) {
        input_text(name, operands, i);
        TRY(match_check(
            operands->inputs[i].tensor && same_view(&plan->inputs[i], operands->inputs[i].tensor) &&
                strcmp(weft_elementwise_input_name(operands, i), plan->input_names[i]) == 0,
            name));
    }
    for (int i = 0; i < plan->n_outputs; ++i) {
        output_text(name, operands, i);
        TRY(match_check(operands->outputs[i].tensor &&
                            same_view(&plan->outputs[i], operands->outputs[i].tensor) &&
                            strcmp(operands->outputs[i].formula, plan->formulas[i]) == 0,
                        name));
    }
    for (int i = 0; i < plan->n_values; ++i)
        TRY(match_check(strcmp(params->values[i].name, plan->value_names[i]) == 0,
                        "elementwise: the name of a value"));
    return vectors_check(plan, operands);
}

// ---- buffers and numbers

static weft_status sharing_check(const weft_elementwise_operands *operands, int out)
{
    char out_name[OPERAND_TEXT], name[OPERAND_TEXT];
    const weft_tensor *tensor = operands->outputs[out].tensor;
    output_text(out_name, operands, out);
    for (int i = 0; i < out; ++i)
        TRY(weft_tensor_overlap_check(tensor, short_text(out_name), operands->outputs[i].tensor,
                                      short_text(output_text(name, operands, i)), "elementwise"));
    for (int i = 0; i < operands->n_inputs; ++i)
        TRY(weft_alias_check(tensor, short_text(out_name), operands->inputs[i].tensor,
                             short_text(input_text(name, operands, i)), "elementwise"));
    return WEFT_OK;
}

weft_status weft_elementwise_buffers_check(const weft_elementwise_plan *plan,
                                           const weft_elementwise_operands *operands)
{
    char name[OPERAND_TEXT];
    for (int i = 0; i < operands->params->n_values; ++i)
        TRY(weft_number_check(operands->params->values[i].value, plan->arithmetic, "value ",
                              operands->params->values[i].name, "elementwise"));
    for (int i = 0; i < operands->n_outputs; ++i)
        TRY(weft_output_check(plan->ctx, operands->outputs[i].tensor,
                              output_text(name, operands, i)));
    for (int i = 0; i < operands->n_inputs; ++i)
        TRY(weft_tensor_check(plan->ctx, operands->inputs[i].tensor,
                              input_text(name, operands, i)));
    for (int i = 0; i < operands->n_outputs; ++i)
        TRY(sharing_check(operands, i));
    return WEFT_OK;
}
