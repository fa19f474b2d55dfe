// SPDX-License-Identifier: Apache-2.0
// What sparse x sparse products refuse at their door, and the call as it goes on from there.
#include "spgemm_call.h"

#include <inttypes.h>

#include "context.h"

static weft_status forms_check(const weft_spgemm_call *call)
{
    const weft_csr *const matrices[] = {&call->A, &call->B, &call->C};
    const char *const names[] = {"A", "B", "C"};
    for (int i = 0; i < 3; i++) {
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
    return call->is_count ? weft_csr_given_check(call->ctx, csr, what)
                          : weft_csr_view_check(call->ctx, csr, 1, what);
}

static weft_status outputs_check(weft_spgemm_call *call)
{
    const weft_csr *C = &call->C;
    char what[WEFT_OPERAND_TEXT];
    weft_outputs *outputs = &call->outputs;
    if (call->is_count)
        return weft_outputs_add_array(outputs, call->ctx, C->offsets, C->offsets_start,
                                      C->n_rows + 1, C->offset_dtype, "C's offsets");
    TRY(weft_csr_view_check(call->ctx, C, 1, weft_operand_text(what, call->name, "C")));
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

static weft_csr settled(const weft_csr *csr)
{
    weft_csr own = *csr;
    own.offset_dtype = weft_dtype_or(csr->offset_dtype, WEFT_I32);
    own.index_dtype = weft_dtype_or(csr->index_dtype, WEFT_I32);
    own.dtype = weft_dtype_or(csr->dtype, WEFT_F32);
    return own;
}

static weft_spgemm_call call_of(bool is_count, weft_context *ctx, const weft_csr *A,
                                const weft_csr *B, const weft_csr *C,
                                const weft_spgemm_params *params)
{
    const char *name = is_count ? "spgemm_count" : "spgemm";
    weft_spgemm_call call = {
        .ctx = ctx,
        .is_count = is_count,
        .name = name,
        .A = settled(A),
        .B = settled(B),
        .C = settled(C),
        .forced = params->tiling,
        .outputs = {.op = name},
    };
    call.problem = (weft_spgemm_problem){
        .m = A->n_rows,
        .k = A->n_cols,
        .n = B->n_cols,
        .a_nnz = A->nnz,
        .b_nnz = B->nnz,
        .dtype = call.A.dtype,
    };
    if (is_count)
        call.C.nnz = 0;
    return call;
}

weft_status weft_spgemm_check(weft_spgemm_call *out, bool is_count, weft_context *ctx,
                              const weft_csr *A, const weft_csr *B, const weft_csr *C,
                              const weft_spgemm_params *params)
{
    if (!ctx || !A || !B || !C)
        return fail(WEFT_BAD_ARGUMENT, "spgemm: %s is NULL",
                    !ctx ? "ctx"
                    : !A ? "A"
                    : !B ? "B"
                         : "C");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "spgemm: params.size is %zu, not %zu: fill it by WEFT_SPGEMM()", params->size,
                    sizeof(*params));
    *out = call_of(is_count, ctx, A, B, C, params);
    TRY(forms_check(out));
    TRY(shapes_check(out));
    TRY(dtypes_check(out));
    TRY(input_check(out, &out->A, "A"));
    TRY(input_check(out, &out->B, "B"));
    TRY(outputs_check(out));
    TRY(apart_check(&out->outputs, out));
    return out->forced ? weft_spgemm_tiling_check(out->forced, &ctx->limits, &out->problem)
                       : WEFT_OK;
}

weft_status weft_spgemm_workspace_check(const weft_spgemm_call *call, cl_mem workspace,
                                        size_t bytes)
{
    weft_outputs all = call->outputs;
    TRY(weft_outputs_add_workspace(&all, call->ctx, workspace, bytes));
    TRY(weft_outputs_apart(&all));
    if (!call->is_count)
        TRY(weft_outputs_apart_from_array(&all, call->C.offsets, call->C.offsets_start,
                                          call->C.n_rows + 1, call->C.offset_dtype, "C's offsets"));
    return apart_check(&all, call);
}
