// SPDX-License-Identifier: Apache-2.0
// What conversions between sparse and dense refuse at their door, and the call as it goes on from
// there.
#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "convert/csr_dense_call.h"
#include "runtime/context.h"

static weft_status params_check(const weft_csr_dense_call *call,
                                const weft_csr_dense_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_CSR_DENSE()", call->name,
                    params->size, sizeof(*params));
    if (!(params->threshold >= 0))
        return fail(WEFT_BAD_ARGUMENT, "%s: the threshold is %g, 0 or more is possible", call->name,
                    params->threshold);
    return WEFT_OK;
}

static weft_status shapes_check(const weft_csr_dense_call *call)
{
    const weft_csr *A = &call->A;
    const weft_tensor *D = call->D_view;
    const bool may_be_batch = call->step == WEFT_CSR_TO_DENSE;
    if (D->ndim != 2 && !(may_be_batch && D->ndim == 3))
        return fail(WEFT_BAD_SHAPE, "%s: D has %d dimensions; 2 are wanted%s", call->name, D->ndim,
                    may_be_batch ? ", or 3 with a batch" : "");
    const int axis = D->ndim - 2;
    if (D->shape[axis] != A->n_rows || D->shape[axis + 1] != A->n_cols)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A is %" PRId64 " x %" PRId64 ", D is %" PRId64 " x %" PRId64, call->name,
                    A->n_rows, A->n_cols, D->shape[axis], D->shape[axis + 1]);
    if (A->n_rows > INT32_MAX || A->n_cols > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 "; at most %d each",
                    call->name, A->n_rows, A->n_cols, INT32_MAX);
    if (!may_be_batch && A->offset_dtype == WEFT_I32 && A->n_rows * A->n_cols > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: D is %" PRId64 " x %" PRId64 ", i32 offsets reach %d",
                    call->name, A->n_rows, A->n_cols, INT32_MAX);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_csr_dense_call *call)
{
    const weft_dtype d = weft_dtype_or(call->D_view->dtype, WEFT_F32);
    if (d != call->A.dtype)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, D %s; both want the same", call->name,
                    weft_dtype_name(call->A.dtype), weft_dtype_name(d));
    return call->step == WEFT_CSR_TO_DENSE
               ? weft_floating_check(call->ctx, call->D_view, "D", call->name)
               : WEFT_OK;
}

static weft_status to_dense_check(weft_csr_dense_call *call)
{
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_csr_view_check(call->ctx, &call->A, call->n_batches,
                            weft_operand_text(what, call->name, "A")));
    TRY(weft_outputs_add_tensor(&call->outputs, call->ctx, call->D_view, "D"));
    return weft_outputs_apart_from_csr(&call->outputs, &call->A, call->n_batches, "A");
}

static weft_status count_check(weft_csr_dense_call *call)
{
    const weft_csr *A = &call->A;
    TRY(weft_outputs_add_offsets(&call->outputs, call->ctx, A->offsets, A->offsets_start,
                                 A->n_rows + 1, A->offset_dtype, "A's offsets"));
    return weft_outputs_apart_from_tensor(&call->outputs, call->D_view, "D");
}

static weft_status fill_check(weft_csr_dense_call *call)
{
    const weft_csr *A = &call->A;
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_offsets_view_check(call->ctx, A, weft_operand_text(what, call->name, "A")));
    if (A->nnz == 0)
        return WEFT_OK;
    TRY(weft_outputs_add_array(&call->outputs, call->ctx, A->indices, A->indices_start, A->nnz,
                               A->index_dtype, "A's indices"));
    TRY(weft_outputs_add_array(&call->outputs, call->ctx, A->values, A->values_start, A->nnz,
                               A->dtype, "A's values"));
    TRY(weft_outputs_apart(&call->outputs));
    TRY(weft_outputs_apart_from_tensor(&call->outputs, call->D_view, "D"));
    weft_csr offsets_alone = *A;
    offsets_alone.nnz = 0;
    return weft_outputs_apart_from_csr(&call->outputs, &offsets_alone, 1, "A");
}

static weft_status operands_check(weft_csr_dense_call *call)
{
    switch (call->step) {
    case WEFT_CSR_TO_DENSE:
        return to_dense_check(call);
    case WEFT_DENSE_TO_CSR_COUNT:
        return count_check(call);
    default:
        return fill_check(call);
    }
}

// The public calls, by step.
static const char *const names[] = {"csr_to_dense", "dense_to_csr_count", "dense_to_csr"};

static weft_csr_dense_call call_of(weft_csr_dense_step step, weft_context *ctx, const weft_csr *A,
                                   const weft_tensor *D, const weft_csr_dense_params *params)
{
    weft_csr_dense_call call = {
        .ctx = ctx,
        .step = step,
        .name = names[step],
        .A = *A,
        .D_view = D,
        .n_batches = D->ndim == 3 ? D->shape[0] : 1,
        .threshold = fabs(params->threshold),
        .outputs = {.op = names[step]},
    };
    call.A.offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32);
    call.A.index_dtype = weft_dtype_or(A->index_dtype, WEFT_I32);
    call.A.dtype = weft_dtype_or(A->dtype, WEFT_F32);
    if (step == WEFT_DENSE_TO_CSR_COUNT)
        call.A.nnz = 0;
    call.problem = (weft_csr_dense_problem){A->n_rows, A->n_cols, call.A.dtype};
    return call;
}

weft_status weft_csr_dense_check(weft_csr_dense_call *out, weft_csr_dense_step step,
                                 weft_context *ctx, const weft_csr *A, const weft_tensor *D,
                                 const weft_csr_dense_params *params)
{
    TRY(weft_context_check(ctx, names[step]));
    if (!A || !D)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", names[step], A ? "D" : "A");
    *out = call_of(step, ctx, A, D, params);
    char a[WEFT_OPERAND_TEXT], d[WEFT_OPERAND_TEXT];
    TRY(params_check(out, params));
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_csr_dense_tiling_table,
                         weft_operand_text(a, out->name, "tiling"), params->tiling));
    TRY(weft_csr_form_check(&out->A, weft_operand_text(a, out->name, "A")));
    TRY(weft_tensor_form_check(D, weft_operand_text(d, out->name, "D")));
    TRY(shapes_check(out));
    TRY(dtypes_check(out));
    TRY(weft_tensor_check(ctx, D, d));
    TRY(operands_check(out));
    out->D = weft_dense_of(D);
    return out->is_forced ? weft_csr_dense_tiling_check(&out->forced, &ctx->limits, &out->problem)
                          : WEFT_OK;
}

weft_status weft_csr_dense_workspace_check(const weft_csr_dense_call *call, cl_mem workspace,
                                           size_t bytes)
{
    weft_outputs all = call->outputs;
    TRY(weft_outputs_add_workspace(&all, call->ctx, workspace, bytes));
    TRY(weft_outputs_apart(&all));
    return weft_outputs_apart_from_tensor(&all, call->D_view, "D");
}
