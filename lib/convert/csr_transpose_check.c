// SPDX-License-Identifier: Apache-2.0
// What weft_csr_transpose() refuses at its door, and the call as it goes on from there.
#include "convert/csr_transpose_call.h"

#include <inttypes.h>

#include "base/dtype.h"
#include "runtime/context.h"

static const char op[] = "csr_transpose";

static weft_status params_check(const weft_csr_transpose_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_CSR_TRANSPOSE()", op,
                    params->size, sizeof(*params));
    return WEFT_OK;
}

static weft_status shapes_check(const weft_csr *A, const weft_csr *T)
{
    if (T->n_rows != A->n_cols || T->n_cols != A->n_rows || T->nnz != A->nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A is %" PRId64 " x %" PRId64 " with %" PRId64 " entries, T %" PRId64
                    " x %" PRId64 " with %" PRId64,
                    op, A->n_rows, A->n_cols, A->nnz, T->n_rows, T->n_cols, T->nnz);
    if (A->n_rows > INT32_MAX || A->n_cols > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 "; at most %d each", op,
                    A->n_rows, A->n_cols, INT32_MAX);
    if (A->n_rows == 0 && A->nnz > 0)
        return fail(WEFT_BAD_SHAPE, "%s: A has %" PRId64 " entries, but no rows", op, A->nnz);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_csr *A, const weft_csr *T)
{
    const weft_dtype a = weft_dtype_or(A->dtype, WEFT_F32), t = weft_dtype_or(T->dtype, WEFT_F32);
    if (a != t)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, T %s; both want the same", op, weft_dtype_name(a),
                    weft_dtype_name(t));
    return WEFT_OK;
}

static weft_status source_check(const weft_csr_transpose_call *call)
{
    const weft_tensor *source = call->source;
    if (!source)
        return WEFT_OK;
    TRY(weft_tensor_form_check(source, "csr_transpose: source"));
    const weft_dtype wanted = call->problem.offset_dtype;
    if (source->ndim != 1 || source->shape[0] != call->problem.nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: source has %d dimensions, the first of %" PRId64 "; one of %" PRId64
                    ", an element for each entry, is wanted",
                    op, source->ndim, source->ndim > 0 ? source->shape[0] : 1, call->problem.nnz);
    const weft_dtype given = weft_dtype_or(source->dtype, WEFT_F32);
    if (given != wanted)
        return fail(WEFT_BAD_DTYPE, "%s: source is %s, A's offsets are %s; both want the same", op,
                    weft_dtype_name(given), weft_dtype_name(wanted));
    return WEFT_OK;
}

static weft_status outputs_check(weft_csr_transpose_call *call)
{
    const weft_csr *T = call->T;
    weft_outputs *outputs = &call->outputs;
    outputs->op = op;
    TRY(weft_outputs_add_offsets(outputs, call->ctx, T->offsets, T->offsets_start, T->n_rows + 1,
                                 weft_dtype_or(T->offset_dtype, WEFT_I32), "T's offsets"));
    if (T->nnz > 0)
        TRY(weft_outputs_add_array(outputs, call->ctx, T->indices, T->indices_start, T->nnz,
                                   weft_dtype_or(T->index_dtype, WEFT_I32), "T's indices"));
    if (call->has_values)
        TRY(weft_outputs_add_array(outputs, call->ctx, T->values, T->values_start, T->nnz,
                                   weft_dtype_or(T->dtype, WEFT_F32), "T's values"));
    if (call->source)
        TRY(weft_outputs_add_tensor(outputs, call->ctx, call->source, "source"));
    TRY(weft_outputs_apart(outputs));
    return weft_outputs_apart_from_csr(outputs, &call->A, 1, "A");
}

weft_status weft_csr_transpose_check(weft_csr_transpose_call *out, weft_context *ctx,
                                     const weft_csr *A, const weft_csr *T,
                                     const weft_csr_transpose_params *params)
{
    TRY(weft_context_check(ctx, op));
    if (!A || !T)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", op, A ? "T" : "A");
    TRY(params_check(params));
    TRY(weft_csr_form_check(A, "csr_transpose: A"));
    TRY(weft_csr_form_check(T, "csr_transpose: T"));
    TRY(shapes_check(A, T));
    TRY(dtypes_check(A, T));
    *out = (weft_csr_transpose_call){
        .ctx = ctx,
        .problem = {.n_cols = A->n_cols,
                    .nnz = A->nnz,
                    .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32)},
        .A = *A,
        .T = T,
        .source = params->source,
        .has_values = T->values && A->nnz > 0,
    };
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_csr_transpose_tiling_table,
                         "csr_transpose: tiling", params->tiling));
    TRY(source_check(out));
    TRY(out->has_values ? weft_csr_view_check(ctx, A, 1, "csr_transpose: A")
                        : weft_csr_given_check(ctx, A, "csr_transpose: A"));
    TRY(outputs_check(out));
    return out->is_forced
               ? weft_csr_transpose_tiling_check(&out->forced, &ctx->limits, &out->problem)
               : WEFT_OK;
}

weft_status weft_csr_transpose_workspace_check(const weft_csr_transpose_call *call,
                                               cl_mem workspace, size_t bytes)
{
    weft_outputs all = call->outputs;
    TRY(weft_outputs_add_workspace(&all, call->ctx, workspace, bytes));
    TRY(weft_outputs_apart(&all));
    return weft_outputs_apart_from_csr(&all, &call->A, 1, "A");
}
