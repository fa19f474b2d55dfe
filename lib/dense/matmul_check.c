// SPDX-License-Identifier: Apache-2.0
// Checks the operands, numbers and formula of weft_matmul().
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "dense/matmul_call.h"
#include "operand/view.h"
#include "runtime/context.h"

// "matmul: input bias"
static const char *name_of(char text[WEFT_OPERAND_TEXT], const weft_call *call, int i)
{
    static const char *const names[] = {"matmul: C", "matmul: A", "matmul: B"};
    if (i < WEFT_MATMUL_INPUT)
        return names[i];
    snprintf(text, WEFT_OPERAND_TEXT, "matmul: input %s", call->names[i]);
    return text;
}

// ---- params

static weft_status count_check(const char *what, int n, int most, const void *array)
{
    if (n < 0 || n > most)
        return fail(WEFT_BAD_ARGUMENT, "matmul: params.n_%s is %d, 0 to %d are possible", what, n,
                    most);
    if (n > 0 && !array)
        return fail(WEFT_BAD_ARGUMENT, "matmul: params.n_%s is %d, but params.%s is NULL", what, n,
                    what);
    return WEFT_OK;
}

weft_status weft_matmul_params_check(const weft_matmul_params *params)
{
    TRY(count_check("inputs", params->n_inputs, WEFT_MATMUL_INPUTS, params->inputs));
    TRY(count_check("values", params->n_values, WEFT_ELEMENTWISE_VALUES, params->values));
    for (int i = 0; i < params->n_inputs; ++i)
        if (!params->inputs[i].name)
            return fail(WEFT_BAD_ARGUMENT, "matmul: the name of input %d is NULL", i);
    for (int i = 0; i < params->n_values; ++i)
        if (!params->values[i].name)
            return fail(WEFT_BAD_ARGUMENT, "matmul: the name of value %d is NULL", i);
    if (!params->epilogue && params->n_inputs + params->n_values > 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: %d inputs and %d values, but params.epilogue is NULL",
                    params->n_inputs, params->n_values);
    return WEFT_OK;
}

// ---- operands

static weft_status operand_check(const weft_call *call, int i)
{
    char text[WEFT_OPERAND_TEXT];
    const char *name = name_of(text, call, i);
    const weft_tensor *operand = weft_call_tensor(call, i);
    if (weft_dtype_or(operand->dtype, WEFT_F32) == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s is f64, which %s has not", name, call->ctx->limits.name);
    if (i >= WEFT_MATMUL_INPUT && operand->dtype == WEFT_I8)
        return fail(WEFT_BAD_DTYPE, "%s is i8, which only A and B may be", name);
    if (i < WEFT_MATMUL_INPUT && operand->ndim < 2)
        return fail(WEFT_BAD_SHAPE, "%s has %d dimensions, 2 to %d are wanted", name, operand->ndim,
                    WEFT_MAX_NDIM);
    return WEFT_OK;
}

// Dimensions before the last `own` ones, by NumPy's rule.
static weft_status broadcast_check(const weft_tensor *in, const char *in_name, const weft_tensor *C,
                                   int own)
{
    bool fits = in->ndim <= C->ndim;
    for (int d = 0; fits && d < in->ndim - own; ++d)
        fits = in->shape[d] == 1 || in->shape[d] == C->shape[d + C->ndim - in->ndim];
    char in_shape[WEFT_SHAPE_TEXT], shape[WEFT_SHAPE_TEXT];
    if (!fits)
        return fail(WEFT_BAD_SHAPE, "%s %s does not broadcast to C %s", in_name,
                    weft_shape_text(in, in_shape), weft_shape_text(C, shape));
    return WEFT_OK;
}

static weft_status extents_check(const weft_matmul_problem *p, const weft_tensor *B,
                                 const weft_tensor *C)
{
    const int64_t *b = B->shape + B->ndim - 2, *c = C->shape + C->ndim - 2;
    if (b[0] != p->k)
        return fail(WEFT_BAD_SHAPE,
                    "matmul: A is %" PRId64 " x %" PRId64 ", B is %" PRId64 " x %" PRId64, p->m,
                    p->k, b[0], b[1]);
    if (c[0] != p->m || c[1] != p->n)
        return fail(WEFT_BAD_SHAPE,
                    "matmul: A B is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, p->m,
                    p->n, c[0], c[1]);
    if (p->m > WEFT_MATMUL_MAX_EXTENT || p->n > WEFT_MATMUL_MAX_EXTENT ||
        p->k > WEFT_MATMUL_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "matmul: m %" PRId64 ", n %" PRId64 ", k %" PRId64 "; at most %d each", p->m,
                    p->n, p->k, WEFT_MATMUL_MAX_EXTENT);
    return WEFT_OK;
}

static weft_status shapes_check(const weft_matmul_state *s, const weft_call *call)
{
    const weft_tensor *C = weft_call_tensor(call, WEFT_MATMUL_C);
    TRY(extents_check(&s->problem, weft_call_tensor(call, WEFT_MATMUL_B), C));
    char text[WEFT_OPERAND_TEXT];
    for (int i = WEFT_MATMUL_A; i < s->n_operands; ++i)
        TRY(broadcast_check(weft_call_tensor(call, i), name_of(text, call, i), C,
                            i < WEFT_MATMUL_INPUT ? 2 : 0));
    return WEFT_OK;
}

static bool is_narrow(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

static weft_status dtypes_check(const weft_matmul_state *s)
{
    const weft_dtype a = s->views[WEFT_MATMUL_A].dtype, b = s->views[WEFT_MATMUL_B].dtype;
    const weft_dtype c = s->views[WEFT_MATMUL_C].dtype;
    if (!weft_is_floating(a) && a != WEFT_I8)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s; f32, f64, f16, bf16 or i8 is wanted",
                    weft_dtype_name(a));
    if (a != b)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s, B %s; both must be the same",
                    weft_dtype_name(a), weft_dtype_name(b));
    const bool fits = a == WEFT_I8 ? c == WEFT_I32 : is_narrow(a) ? is_narrow(c) : c == a;
    if (!fits)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s, C %s; %s is wanted", weft_dtype_name(a),
                    weft_dtype_name(c),
                    a == WEFT_I8   ? "i32"
                    : is_narrow(a) ? "f32, f16 or bf16"
                                   : "f64");
    return WEFT_OK;
}

// ---- numbers

weft_status weft_matmul_numbers_check(const void *state, const weft_call *call)
{
    const weft_matmul_state *s = state;
    const weft_matmul_numbers *given = call->own;
    const weft_elementwise_value *values = given->params.values;
    TRY(weft_number_check(given->alpha, s->arithmetic, "", "alpha", "matmul"));
    TRY(weft_number_check(given->beta, s->arithmetic, "", "beta", "matmul"));
    for (int i = 0; i < given->params.n_values; ++i)
        TRY(weft_number_check(values[i].value, s->arithmetic, "value ", values[i].name, "matmul"));
    return WEFT_OK;
}

// ---- the formula

weft_status weft_matmul_formula(weft_expression *out, const weft_matmul_params *params)
{
    weft_names names = {.n_inputs = 1 + params->n_inputs, .n_values = params->n_values};
    names.inputs[0] = "c";
    for (int i = 0; i < params->n_inputs; ++i)
        names.inputs[1 + i] = params->inputs[i].name;
    for (int i = 0; i < params->n_values; ++i)
        names.values[i] = params->values[i].name;
    TRY(weft_names_check(&names, "matmul"));
    return weft_expression_parse(out, params->epilogue, &names, "matmul");
}

static weft_status formula_check(const weft_matmul_state *s, const weft_call *call)
{
    const weft_matmul_numbers *given = call->own;
    if (!given->params.epilogue)
        return WEFT_OK;
    weft_expression formula;
    TRY(weft_matmul_formula(&formula, &given->params));
    TRY(weft_expression_check(&formula, given->params.epilogue, s->arithmetic, "matmul"));
    for (int i = WEFT_MATMUL_INPUT; i < s->n_operands && s->arithmetic == WEFT_I32; ++i)
        if (weft_is_floating(s->views[i].dtype))
            return fail(WEFT_BAD_DTYPE, "matmul: input %s is %s, arithmetic is i32", call->names[i],
                        weft_dtype_name(s->views[i].dtype));
    return WEFT_OK;
}

// ---- the call

// As kernels take it; inputs are seen as matrices of C's shape.
static weft_matmul_view view_of(const weft_tensor *t, bool broadcasts)
{
    weft_matmul_view view = {.dtype = weft_dtype_or(t->dtype, WEFT_F32)};
    if (t->ndim > 1 && !(broadcasts && t->shape[t->ndim - 2] == 1))
        view.row = t->stride[t->ndim - 2];
    if (t->ndim > 0 && !(broadcasts && t->shape[t->ndim - 1] == 1))
        view.column = t->stride[t->ndim - 1];
    return view;
}

// If an extent is 1 its stride is not used, and neighbours count as adjacent.
static weft_matmul_problem problem_of(const weft_matmul_state *s, const weft_call *call)
{
    const weft_tensor *A = weft_call_tensor(call, WEFT_MATMUL_A);
    const weft_tensor *B = weft_call_tensor(call, WEFT_MATMUL_B);
    const weft_tensor *C = weft_call_tensor(call, WEFT_MATMUL_C);
    const weft_matmul_view *views = s->views;
    const int64_t m = A->shape[A->ndim - 2], k = A->shape[A->ndim - 1], n = B->shape[B->ndim - 1];
    weft_matmul_problem problem = {
        .m = m,
        .n = n,
        .k = k,
        .n_batches = 1,
        .dtype = views[WEFT_MATMUL_A].dtype,
        .a_along_m = m == 1 || views[WEFT_MATMUL_A].row == 1,
        .a_along_k = k == 1 || views[WEFT_MATMUL_A].column == 1,
        .b_along_k = k == 1 || views[WEFT_MATMUL_B].row == 1,
        .b_along_n = n == 1 || views[WEFT_MATMUL_B].column == 1,
        .c_along_m = m == 1 || views[WEFT_MATMUL_C].row == 1,
        .c_along_n = n == 1 || views[WEFT_MATMUL_C].column == 1,
        .why = weft_call_why(call),
    };
    for (int d = 0; d < C->ndim - 2; ++d)
        if (!mul_i64(problem.n_batches, C->shape[d], &problem.n_batches))
            problem.n_batches = INT64_MAX;
    return problem;
}

// A tensor of the matrices' first elements. If there are no elements, as in A and B if k is 0,
// offset and strides may be anything, and are ignored.
static weft_tensor batch_of(const weft_tensor *tensor)
{
    weft_tensor batch = *tensor;
    batch.ndim = (int)max_i64(tensor->ndim - 2, 0);
    if (weft_tensor_is_empty(tensor)) {
        batch.offset = 0;
        memset(batch.stride, 0, sizeof(batch.stride));
    }
    return batch;
}

static void find_nest(weft_matmul_state *s, const weft_call *call)
{
    weft_tensor batches[WEFT_MATMUL_OPERANDS];
    const weft_tensor *list[WEFT_MATMUL_OPERANDS];
    for (int i = 0; i < s->n_operands; ++i) {
        batches[i] = batch_of(weft_call_tensor(call, i));
        list[i] = &batches[i];
    }
    s->nest = weft_nest_of(s->n_operands, list);
}

static weft_status operands_check(weft_matmul_state *s, const weft_call *call)
{
    for (int i = 0; i < s->n_operands; ++i) {
        TRY(operand_check(call, i));
        s->views[i] = view_of(weft_call_tensor(call, i), i >= WEFT_MATMUL_INPUT);
    }
    TRY(dtypes_check(s));
    s->problem = problem_of(s, call);
    return shapes_check(s, call);
}

weft_status weft_matmul_check(void *state, const weft_call *call)
{
    weft_matmul_state *s = state;
    const weft_matmul_numbers *given = call->own;
    s->n_operands = call->n_operands;
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_matmul_tiling_table,
                         "matmul: tiling", call->tiling));
    TRY(operands_check(s, call));
    const weft_dtype a = s->problem.dtype;
    s->arithmetic = a == WEFT_F64 ? WEFT_F64 : a == WEFT_I8 ? WEFT_I32 : WEFT_F32;
    TRY(formula_check(s, call));
    s->head.is_empty = weft_tensor_is_empty(weft_call_tensor(call, WEFT_MATMUL_C));
    if (s->head.is_empty)
        return WEFT_OK;
    find_nest(s, call);
    if (weft_rounded(s->arithmetic, given->alpha) == 0)
        s->problem.k = 0;
    if (s->problem.k == 0) // and A and B are not read
        s->problem.a_along_m = s->problem.b_along_n = true;
    s->head.is_forced = s->head.is_forced && s->problem.k > 0; // else there is no k to divide
    return WEFT_OK;
}
