// SPDX-License-Identifier: Apache-2.0
// Copies of a call's arguments in a plan object, and the comparison with those of a later call.
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "elementwise/elementwise_call.h"
#include "runtime/context.h"

// ---- copies

static bool copy(char **to, const char *text)
{
    const size_t size = strlen(text) + 1;
    *to = malloc(size);
    return *to && memcpy(*to, text, size);
}

static weft_tensor view_alone(const weft_tensor *tensor)
{
    weft_tensor view = *tensor;
    view.buffer = NULL;
    view.dtype = weft_dtype_or(tensor->dtype, WEFT_F32);
    return view;
}

weft_status weft_elementwise_remember(weft_elementwise_plan *plan, const weft_call *call)
{
    const weft_elementwise_own *own = call->own;
    bool ok = true;
    plan->ctx = call->ctx;
    plan->n_inputs = own->n_inputs;
    plan->n_outputs = own->n_outputs;
    plan->n_values = own->params.n_values;
    for (int i = 0; i < call->n_operands; ++i)
        plan->operands[i] = view_alone(weft_call_tensor(call, i));
    for (int i = 0; i < plan->n_inputs; ++i)
        ok = copy(&plan->input_names[i], call->names[plan->n_outputs + i]) && ok;
    for (int i = 0; i < plan->n_outputs; ++i)
        ok = copy(&plan->formulas[i], own->formulas[i]) && ok;
    for (int i = 0; i < plan->n_values; ++i)
        ok = copy(&plan->value_names[i], own->params.values[i].name) && ok;
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

// ---- a call with a plan

static bool is_planned(const weft_tensor *planned, const weft_tensor *given)
{
    bool same = given && given->ndim == planned->ndim && given->offset == planned->offset &&
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

static weft_status params_match(const weft_elementwise_plan *plan, const weft_call *call)
{
    const weft_elementwise_own *own = call->own;
    const weft_elementwise_params *params = &own->params;
    TRY(match_check(call->ctx == plan->ctx, "elementwise: ctx"));
    TRY(match_check(own->n_inputs == plan->n_inputs, "elementwise: n_inputs"));
    TRY(match_check(own->n_outputs == plan->n_outputs, "elementwise: n_outputs"));
    TRY(match_check(params->n_values == plan->n_values, "elementwise: params.n_values"));
    TRY(match_check(params->arithmetic == WEFT_DEFAULT ||
                        params->arithmetic == plan->state.arithmetic,
                    "elementwise: params.arithmetic"));
    TRY(match_check(!params->tiling, "elementwise: params.tiling"));
    for (int i = 0; i < plan->n_values; ++i)
        TRY(match_check(strcmp(params->values[i].name, plan->value_names[i]) == 0,
                        "elementwise: the name of a value"));
    return WEFT_OK;
}

// An output's text is its formula, an input's its name.
static weft_status operand_match(const weft_elementwise_plan *plan, const weft_call *call, int i)
{
    char name[WEFT_OPERAND_TEXT];
    const weft_elementwise_own *own = call->own;
    const int input = i - plan->n_outputs;
    const bool says_so = input < 0 ? strcmp(own->formulas[i], plan->formulas[i]) == 0
                                   : strcmp(call->names[i], plan->input_names[input]) == 0;
    if (says_so && is_planned(&plan->operands[i], weft_call_tensor(call, i)))
        return WEFT_OK;
    return match_check(false, weft_elementwise_name(name, call, i));
}

// A plan that was made for other buffers, or for none yet, may use aligned vectors.
static weft_status vectors_check(const weft_elementwise_state *s, const weft_call *call)
{
    char name[WEFT_OPERAND_TEXT];
    int64_t shifts[WEFT_NEST_OPERANDS];
    if (s->head.is_empty || !s->tiling.aligned)
        return WEFT_OK;
    TRY(weft_elementwise_shifts(shifts, call));
    for (int i = 0; i < s->n_operands; ++i)
        if (s->ways[i] != WEFT_SAME && shifts[i] % s->tiling.vector_width != 0)
            return fail(WEFT_BAD_BUFFER,
                        "%s: its buffer is memory of the caller's (CL_MEM_USE_HOST_PTR) that "
                        "begins at no multiple of %d elements, which the plan counts on",
                        weft_elementwise_name(name, call, i), s->tiling.vector_width);
    return WEFT_OK;
}

weft_status weft_elementwise_match(const weft_elementwise_plan *plan, const weft_call *call)
{
    TRY(weft_context_check(call->ctx, "elementwise"));
    TRY(params_match(plan, call));
    for (int i = 0; i < call->n_operands; ++i)
        TRY(operand_match(plan, call, i));
    return vectors_check(&plan->state, call);
}
