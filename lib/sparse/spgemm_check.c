// SPDX-License-Identifier: Apache-2.0
// What sparse x sparse products refuse at their door, and the call as it goes on from there.
#include "sparse/spgemm_call.h"

#include <inttypes.h>

#include "runtime/context.h"

static weft_status dense_check(const weft_spgemm_call *call)
{
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_tensor_form_check(call->dense, weft_operand_text(what, call->name, "C")));
    if (call->dense->ndim != 2)
        return fail(WEFT_BAD_SHAPE, "%s: C has %d dimensions; 2 are wanted", call->name,
                    call->dense->ndim);
    return WEFT_OK;
}

static weft_status forms_check(const weft_spgemm_call *call)
{
    const weft_csr *const matrices[] = {&call->A, &call->B, &call->C};
    const char *const names[] = {"A", "B", "C"};
    const int n_sparse = call->dense ? 2 : 3;
    for (int i = 0; i < n_sparse; i++) {
        char what[WEFT_OPERAND_TEXT];
        TRY(weft_csr_form_check(matrices[i], weft_operand_text(what, call->name, names[i])));
        if (matrices[i]->n_rows > INT32_MAX || matrices[i]->n_cols > INT32_MAX)
            return fail(WEFT_BAD_SHAPE, "%s: %s is %" PRId64 " x %" PRId64 "; at most %d each",
                        call->name, names[i], matrices[i]->n_rows, matrices[i]->n_cols, INT32_MAX);
    }
    return WEFT_OK;
}

static weft_status shapes_check(const weft_spgemm_call *call)
{
    const weft_csr *A = &call->A, *B = &call->B, *C = &call->C;
    if (A->n_cols != B->n_rows)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 ", B has %" PRId64 " rows",
                    call->name, A->n_rows, A->n_cols, B->n_rows);
    if (C->n_rows != A->n_rows || C->n_cols != B->n_cols)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A B is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, call->name,
                    A->n_rows, B->n_cols, C->n_rows, C->n_cols);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_spgemm_call *call)
{
    const weft_dtype a = call->A.dtype, b = call->B.dtype, c = call->C.dtype;
    if (a != b || a != c)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, B %s, C %s; all three want the same", call->name,
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    if (a == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s: A, B and C are f64; %s has no f64", call->name,
                    call->ctx->limits.name);
    return WEFT_OK;
}

static weft_status input_check(const weft_spgemm_call *call, const weft_csr *csr, const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, call->name, name);
    return call->step == WEFT_SPGEMM_COUNT ? weft_csr_given_check(call->ctx, csr, what)
                                           : weft_csr_view_check(call->ctx, csr, 1, what);
}

static weft_status outputs_check(weft_spgemm_call *call)
{
    const weft_csr *C = &call->C;
    char what[WEFT_OPERAND_TEXT];
    weft_outputs *outputs = &call->outputs;
    if (call->dense)
        return weft_outputs_add_tensor(outputs, call->ctx, call->dense, "C");
    if (call->step == WEFT_SPGEMM_COUNT)
        return weft_outputs_add_offsets(outputs, call->ctx, C->offsets, C->offsets_start,
                                        C->n_rows + 1, C->offset_dtype, "C's offsets");
    TRY(weft_offsets_view_check(call->ctx, C, weft_operand_text(what, call->name, "C")));
    if (C->nnz == 0)
        return WEFT_OK;
    TRY(weft_outputs_add_array(outputs, call->ctx, C->indices, C->indices_start, C->nnz,
                               C->index_dtype, "C's indices"));
    TRY(weft_outputs_add_array(outputs, call->ctx, C->values, C->values_start, C->nnz, C->dtype,
                               "C's values"));
    TRY(weft_outputs_apart(outputs));
    return weft_outputs_apart_from_array(outputs, C->offsets, C->offsets_start, C->n_rows + 1,
                                         C->offset_dtype, "C's offsets");
}

static weft_status apart_check(const weft_outputs *outputs, const weft_spgemm_call *call)
{
    TRY(weft_outputs_apart_from_csr(outputs, &call->A, 1, "A"));
    return weft_outputs_apart_from_csr(outputs, &call->B, 1, "B");
}

// What a dense C has of a sparse one.
static weft_csr sizes_of(const weft_tensor *dense)
{
    const bool is_matrix = dense->ndim == 2;
    return (weft_csr){.n_rows = is_matrix ? dense->shape[0] : 0,
                      .n_cols = is_matrix ? dense->shape[1] : 0,
                      .dtype = dense->dtype};
}

// The public calls, by step.
static const char *const names[] = {[WEFT_SPGEMM_COUNT] = "spgemm_count",
                                    [WEFT_SPGEMM_FILL] = "spgemm",
                                    [WEFT_SPGEMM_TO_DENSE] = "spgemm_dense"};

static weft_spgemm_call call_of(weft_spgemm_step step, weft_context *ctx,
                                const weft_spgemm_operands *given)
{
    const weft_csr *A = given->A, *B = given->B;
    const bool has_products = A->n_cols > 0 && A->nnz > 0 && B->nnz > 0;
    const weft_csr dense = given->dense ? sizes_of(given->dense) : (weft_csr){0};
    weft_spgemm_call call = {
        .ctx = ctx,
        .step = step,
        .name = names[step],
        .A = weft_csr_settled(A),
        .B = weft_csr_settled(B),
        .C = weft_csr_settled(given->dense ? &dense : given->C),
        .dense = given->dense,
        .alpha = has_products ? given->alpha : 0,
        .beta = given->beta,
        .outputs = {.op = names[step]},
    };
    call.problem = (weft_spgemm_problem){
        .m = A->n_rows,
        .k = A->n_cols,
        .n = B->n_cols,
        .a_nnz = A->nnz,
        .b_nnz = B->nnz,
        .dtype = call.A.dtype,
    };
    if (step == WEFT_SPGEMM_COUNT)
        call.C.nnz = 0;
    return call;
}

weft_status weft_spgemm_check(weft_spgemm_call *out, weft_spgemm_step step, weft_context *ctx,
                              const weft_spgemm_operands *given, const weft_spgemm_params *params)
{
    char name[WEFT_OPERAND_TEXT];
    const bool has_c = given->C || given->dense;
    TRY(weft_context_check(ctx, names[step]));
    if (!given->A || !given->B || !has_c)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", names[step],
                    !given->A   ? "A"
                    : !given->B ? "B"
                                : "C");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.size is %zu, not %zu: fill it by WEFT_SPGEMM()",
                    names[step], params->size, sizeof(*params));
    *out = call_of(step, ctx, given);
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_spgemm_tiling_table,
                         weft_operand_text(name, out->name, "tiling"), params->tiling));
    TRY(forms_check(out));
    if (out->dense)
        TRY(dense_check(out));
    TRY(shapes_check(out));
    TRY(dtypes_check(out));
    TRY(input_check(out, &out->A, "A"));
    TRY(input_check(out, &out->B, "B"));
    TRY(outputs_check(out));
    TRY(apart_check(&out->outputs, out));
    return out->is_forced ? weft_spgemm_tiling_check(&out->forced, &ctx->limits, &out->problem)
                          : WEFT_OK;
}

weft_status weft_spgemm_workspace_check(const weft_spgemm_call *call, cl_mem workspace,
                                        size_t bytes)
{
    weft_outputs all = call->outputs;
    TRY(weft_outputs_add_workspace(&all, call->ctx, workspace, bytes));
    TRY(weft_outputs_apart(&all));
    if (call->step == WEFT_SPGEMM_FILL)
        TRY(weft_outputs_apart_from_array(&all, call->C.offsets, call->C.offsets_start,
                                          call->C.n_rows + 1, call->C.offset_dtype, "C's offsets"));
    return apart_check(&all, call);
}
