// SPDX-License-Identifier: Apache-2.0
// What weft_matmul() refuses at its door, and the call as it goes on from there.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "dense/matmul_call.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/launch.h"

static const char *const factor_names[] = {"matmul: C", "matmul: A", "matmul: B"};

// "matmul: input bias"
static const char *name_of(char text[WEFT_OPERAND_TEXT], const weft_matmul_params *params, int i)
{
    if (i < WEFT_MATMUL_INPUT)
        return factor_names[i];
    snprintf(text, WEFT_OPERAND_TEXT, "matmul: input %s",
             params->inputs[i - WEFT_MATMUL_INPUT].name);
    return text;
}

static const char *short_name(const char *name)
{
    return name + sizeof("matmul: ") - 1;
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

static weft_status params_check(const weft_matmul_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "matmul: params.size is %zu, not %zu: fill it by WEFT_MATMUL()", params->size,
                    sizeof(*params));
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

// Other operations have no i8; in memory it is like u8.
static weft_tensor in_memory(const weft_tensor *tensor)
{
    weft_tensor view = *tensor;
    if (view.dtype == WEFT_I8)
        view.dtype = WEFT_U8;
    return view;
}

static weft_status form_check(const weft_matmul_call *call, int i)
{
    char text[WEFT_OPERAND_TEXT];
    const char *name = name_of(text, call->params, i);
    if (!call->tensors[i])
        return fail(WEFT_BAD_ARGUMENT, "%s is NULL", name);
    const weft_tensor view = in_memory(call->tensors[i]);
    TRY(i == WEFT_MATMUL_C ? weft_output_form_check(&view, name)
                           : weft_tensor_form_check(&view, name));
    if (weft_dtype_or(view.dtype, WEFT_F32) == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s is f64, which %s has not", name, call->ctx->limits.name);
    if (i >= WEFT_MATMUL_INPUT && call->tensors[i]->dtype == WEFT_I8)
        return fail(WEFT_BAD_DTYPE, "%s is i8, which only A and B may be", name);
    if (i < WEFT_MATMUL_INPUT && view.ndim < 2)
        return fail(WEFT_BAD_SHAPE, "%s has %d dimensions, 2 to %d are wanted", name, view.ndim,
                    WEFT_MAX_NDIM);
    return WEFT_OK;
}

static weft_status buffer_check(const weft_matmul_call *call, int i)
{
    char text[WEFT_OPERAND_TEXT];
    const char *name = name_of(text, call->params, i);
    const weft_tensor view = in_memory(call->tensors[i]);
    return i == WEFT_MATMUL_C ? weft_output_check(call->ctx, &view, name)
                              : weft_tensor_check(call->ctx, &view, name);
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

static weft_status shapes_check(const weft_matmul_call *call)
{
    const weft_tensor *C = call->tensors[WEFT_MATMUL_C];
    TRY(extents_check(&call->problem, call->tensors[WEFT_MATMUL_B], C));
    char text[WEFT_OPERAND_TEXT];
    for (int i = WEFT_MATMUL_A; i < call->n_operands; ++i)
        TRY(broadcast_check(call->tensors[i], name_of(text, call->params, i), C,
                            i < WEFT_MATMUL_INPUT ? 2 : 0));
    return WEFT_OK;
}

static bool is_narrow(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

static weft_status dtypes_check(const weft_matmul_call *call)
{
    const weft_dtype a = call->views[WEFT_MATMUL_A].dtype, b = call->views[WEFT_MATMUL_B].dtype;
    const weft_dtype c = call->views[WEFT_MATMUL_C].dtype;
    if (!weft_is_floating(a) && a != WEFT_I8)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s; f32, f64, f16, bf16 or i8 is wanted",
                    weft_dtype_name(a));
    if (a != b)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s, B %s; both want the same", weft_dtype_name(a),
                    weft_dtype_name(b));
    const bool fits = a == WEFT_I8 ? c == WEFT_I32 : is_narrow(a) ? is_narrow(c) : c == a;
    if (!fits)
        return fail(WEFT_BAD_DTYPE, "matmul: A is %s, C %s; %s is wanted", weft_dtype_name(a),
                    weft_dtype_name(c),
                    a == WEFT_I8   ? "i32"
                    : is_narrow(a) ? "f32, f16 or bf16"
                                   : "f64");
    return WEFT_OK;
}

static weft_status apart_check(const weft_matmul_call *call, const weft_tensor *output,
                               const char *name, bool may_be_input)
{
    char text[WEFT_OPERAND_TEXT];
    for (int i = WEFT_MATMUL_A; i < call->n_operands; ++i) {
        const weft_tensor view = in_memory(call->tensors[i]);
        const char *in_name = short_name(name_of(text, call->params, i));
        TRY(i >= WEFT_MATMUL_INPUT && may_be_input
                ? weft_alias_check(output, name, &view, in_name, "matmul")
                : weft_tensor_overlap_check(output, name, &view, in_name, "matmul"));
    }
    return WEFT_OK;
}

// ---- numbers

static weft_status numbers_check(const weft_matmul_call *call, double alpha, double beta)
{
    const weft_elementwise_value *values = call->params->values;
    TRY(weft_number_check(alpha, call->arithmetic, "", "alpha", "matmul"));
    TRY(weft_number_check(beta, call->arithmetic, "", "beta", "matmul"));
    for (int i = 0; i < call->params->n_values; ++i)
        TRY(weft_number_check(values[i].value, call->arithmetic, "value ", values[i].name,
                              "matmul"));
    return WEFT_OK;
}

// ---- the formula

static weft_status arithmetic_check(const weft_matmul_call *call)
{
    TRY(weft_expression_check(&call->formula, call->params->epilogue, call->arithmetic, "matmul"));
    for (int i = WEFT_MATMUL_INPUT; i < call->n_operands && call->arithmetic == WEFT_I32; ++i)
        if (weft_is_floating(call->views[i].dtype))
            return fail(WEFT_BAD_DTYPE, "matmul: input %s is %s, arithmetic is i32",
                        call->params->inputs[i - WEFT_MATMUL_INPUT].name,
                        weft_dtype_name(call->views[i].dtype));
    return WEFT_OK;
}

static weft_status read_formula(weft_matmul_call *call)
{
    const weft_matmul_params *params = call->params;
    call->has_formula = params->epilogue != NULL;
    if (!call->has_formula)
        return WEFT_OK;
    weft_names names = {.n_inputs = 1 + params->n_inputs, .n_values = params->n_values};
    names.inputs[0] = "c";
    for (int i = 0; i < params->n_inputs; ++i)
        names.inputs[1 + i] = params->inputs[i].name;
    for (int i = 0; i < params->n_values; ++i)
        names.values[i] = params->values[i].name;
    TRY(weft_names_check(&names, "matmul"));
    TRY(weft_expression_parse(&call->formula, params->epilogue, &names, "matmul"));
    return arithmetic_check(call);
}

// ---- the call

// As kernels take it; inputs are seen as matrices of C's shape.
static weft_matmul_view view_of(const weft_tensor *t, bool broadcasts)
{
    weft_matmul_view view = {.buffer = t->buffer, .dtype = weft_dtype_or(t->dtype, WEFT_F32)};
    if (t->ndim > 1 && !(broadcasts && t->shape[t->ndim - 2] == 1))
        view.row = t->stride[t->ndim - 2];
    if (t->ndim > 0 && !(broadcasts && t->shape[t->ndim - 1] == 1))
        view.column = t->stride[t->ndim - 1];
    return view;
}

// Where an extent is 1 no step is ever taken, and neighbours are as near as one likes.
static weft_matmul_problem problem_of(const weft_matmul_call *call)
{
    const weft_tensor *A = call->tensors[WEFT_MATMUL_A], *B = call->tensors[WEFT_MATMUL_B];
    const weft_tensor *C = call->tensors[WEFT_MATMUL_C];
    const weft_matmul_view *views = call->views;
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
    };
    for (int d = 0; d < C->ndim - 2; ++d)
        if (!mul_i64(problem.n_batches, C->shape[d], &problem.n_batches))
            problem.n_batches = INT64_MAX;
    return problem;
}

// A tensor of as many matrices, each gone but for its first element. Of one without elements, which
// A and B are where k is 0, offset and strides may be anything, and count for nothing.
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

static void find_nest(weft_matmul_call *call)
{
    weft_tensor batches[WEFT_MATMUL_OPERANDS];
    const weft_tensor *list[WEFT_MATMUL_OPERANDS];
    for (int i = 0; i < call->n_operands; ++i) {
        batches[i] = batch_of(call->tensors[i]);
        list[i] = &batches[i];
    }
    call->nest = weft_nest_of(call->n_operands, list);
}

bool weft_matmul_is_empty(const weft_matmul_call *call)
{
    return weft_tensor_is_empty(call->tensors[WEFT_MATMUL_C]);
}

static void list_operands(weft_matmul_call *call, const weft_tensor *A, const weft_tensor *B,
                          const weft_tensor *C)
{
    call->n_operands = WEFT_MATMUL_INPUT + call->params->n_inputs;
    call->tensors[WEFT_MATMUL_A] = A;
    call->tensors[WEFT_MATMUL_B] = B;
    call->tensors[WEFT_MATMUL_C] = C;
    for (int i = WEFT_MATMUL_INPUT; i < call->n_operands; ++i)
        call->tensors[i] = call->params->inputs[i - WEFT_MATMUL_INPUT].tensor;
}

static weft_status operands_check(weft_matmul_call *call)
{
    for (int i = 0; i < call->n_operands; ++i) {
        TRY(form_check(call, i));
        call->views[i] = view_of(call->tensors[i], i >= WEFT_MATMUL_INPUT);
    }
    TRY(dtypes_check(call));
    call->problem = problem_of(call);
    TRY(shapes_check(call));
    for (int i = 0; i < call->n_operands; ++i)
        TRY(buffer_check(call, i));
    return apart_check(call, call->tensors[WEFT_MATMUL_C], "C", true);
}

weft_status weft_matmul_check(weft_matmul_call *out, weft_context *ctx, double alpha,
                              const weft_tensor *A, const weft_tensor *B, double beta,
                              const weft_tensor *C, const weft_matmul_params *params)
{
    TRY(weft_context_check(ctx, "matmul"));
    TRY(params_check(params));
    *out = (weft_matmul_call){.ctx = ctx, .params = params};
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_matmul_tiling_table, "matmul: tiling",
                         params->tiling));
    list_operands(out, A, B, C);
    TRY(operands_check(out));
    const weft_dtype a = out->problem.dtype;
    out->arithmetic = a == WEFT_F64 ? WEFT_F64 : a == WEFT_I8 ? WEFT_I32 : WEFT_F32;
    TRY(numbers_check(out, alpha, beta));
    TRY(read_formula(out));
    if (weft_matmul_is_empty(out))
        return WEFT_OK;
    find_nest(out);
    if (weft_rounded(out->arithmetic, alpha) == 0)
        out->problem.k = 0;
    if (out->problem.k == 0) // and A and B are not read
        out->problem.a_along_m = out->problem.b_along_n = true;
    out->is_forced = out->is_forced && out->problem.k > 0; // else there is no k to cut
    return out->is_forced ? weft_matmul_tiling_check(&out->forced, &ctx->limits, &out->problem)
                          : WEFT_OK;
}

weft_status weft_matmul_workspace_check(const weft_matmul_call *call, cl_mem workspace,
                                        size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, workspace, bytes, "matmul"));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", call->tensors[WEFT_MATMUL_C], "C",
                                  "matmul"));
    return apart_check(call, &scratch, "workspace", false);
}
