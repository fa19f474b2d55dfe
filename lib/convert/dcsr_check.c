// SPDX-License-Identifier: Apache-2.0
// What conversions between CSR and DCSR refuse at their door, and the call as it goes on from
// there.
#include <inttypes.h>

#include "base/dtype.h"
#include "convert/dcsr_call.h"
#include "op/items.h"
#include "runtime/context.h"

static weft_status sizes_check(const weft_dcsr_call *call)
{
    const weft_csr *A = &call->A;
    const weft_dcsr *D = &call->D;
    if (A->n_rows > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: A has %" PRId64 " rows; at most %d", call->name, A->n_rows,
                    INT32_MAX);
    if (call->step == WEFT_DCSR_COUNT)
        return WEFT_OK;
    if (A->n_rows != D->n_rows || A->n_cols != D->n_cols || A->nnz != D->nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A is %" PRId64 " x %" PRId64 " with %" PRId64 " entries, D %" PRId64
                    " x %" PRId64 " with %" PRId64,
                    call->name, A->n_rows, A->n_cols, A->nnz, D->n_rows, D->n_cols, D->nnz);
    if (D->n_stored > D->n_rows || D->n_stored > D->nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: D stores %" PRId64 " rows of %" PRId64 ", with %" PRId64 " entries",
                    call->name, D->n_stored, D->n_rows, D->nnz);
    return WEFT_OK;
}

// The arrays of D that conversions look at: `rows`, and offsets.
static weft_status stored_check(const weft_dcsr_call *call)
{
    const weft_dcsr *D = &call->D;
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, call->name, "D");
    if (D->n_stored > 0)
        TRY(weft_array_check(call->ctx, D->rows, D->rows_start, D->n_stored, WEFT_I32, what,
                             "'s rows"));
    return weft_array_check(call->ctx, D->offsets, D->offsets_start, D->n_stored + 1,
                            D->offset_dtype, what, "'s offsets");
}

static weft_status from_csr_check(weft_dcsr_call *call)
{
    const weft_dcsr *D = &call->D;
    if (D->n_stored > 0)
        TRY(weft_outputs_add_array(&call->outputs, call->ctx, D->rows, D->rows_start, D->n_stored,
                                   WEFT_I32, "D's rows"));
    TRY(weft_outputs_add_offsets(&call->outputs, call->ctx, D->offsets, D->offsets_start,
                                 D->n_stored + 1, D->offset_dtype, "D's offsets"));
    TRY(weft_outputs_apart(&call->outputs));
    return weft_outputs_apart_from_csr(&call->outputs, &call->A, 1, "A");
}

static weft_status to_csr_check(weft_dcsr_call *call)
{
    const weft_csr *A = &call->A;
    const weft_dcsr *D = &call->D;
    TRY(stored_check(call));
    TRY(weft_outputs_add_offsets(&call->outputs, call->ctx, A->offsets, A->offsets_start,
                                 A->n_rows + 1, A->offset_dtype, "A's offsets"));
    if (D->n_stored > 0)
        TRY(weft_outputs_apart_from_array(&call->outputs, D->rows, D->rows_start, D->n_stored,
                                          WEFT_I32, "D's rows"));
    return weft_outputs_apart_from_array(&call->outputs, D->offsets, D->offsets_start,
                                         D->n_stored + 1, D->offset_dtype, "D's offsets");
}

// The public calls, by step.
static const char *const names[] = {"dcsr_count", "dcsr_from_csr", "dcsr_to_csr"};

static weft_dcsr_call call_of(weft_dcsr_step step, weft_context *ctx, const weft_csr *A,
                              const weft_dcsr *D, const weft_dcsr_params *params)
{
    weft_dcsr_call call = {
        .ctx = ctx,
        .step = step,
        .name = names[step],
        .A = *A,
        .D = D ? *D : (weft_dcsr){0},
        .items = params->items,
        .outputs = {.op = names[step]},
    };
    call.A.offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32);
    call.D.offset_dtype = weft_dtype_or(call.D.offset_dtype, WEFT_I32);
    return call;
}

static weft_status forms_check(const weft_dcsr_call *call)
{
    char what[WEFT_OPERAND_TEXT];
    const weft_csr stored = weft_dcsr_stored(&call->D);
    TRY(weft_csr_form_check(&call->A, weft_operand_text(what, call->name, "A")));
    if (call->step != WEFT_DCSR_COUNT)
        TRY(weft_csr_form_check(&stored, weft_operand_text(what, call->name, "D")));
    return sizes_check(call);
}

weft_status weft_dcsr_call_check(weft_dcsr_call *out, weft_dcsr_step step, weft_context *ctx,
                                 const weft_csr *A, const weft_dcsr *D,
                                 const weft_dcsr_params *params)
{
    TRY(weft_context_check(ctx, names[step]));
    if (!A || (!D && step != WEFT_DCSR_COUNT))
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", names[step], A ? "D" : "A");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.size is %zu, not %zu: fill it by WEFT_DCSR()",
                    names[step], params->size, sizeof(*params));
    *out = call_of(step, ctx, A, D, params);
    TRY(forms_check(out));
    if (out->items != 0)
        TRY(weft_items_check(out->items, "items", &ctx->limits, out->name));
    if (step == WEFT_DCSR_TO_CSR)
        return to_csr_check(out);
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_csr_given_check(ctx, A, weft_operand_text(what, out->name, "A")));
    return step == WEFT_DCSR_FROM_CSR ? from_csr_check(out) : WEFT_OK;
}

weft_status weft_dcsr_workspace_check(const weft_dcsr_call *call, cl_mem workspace, size_t bytes)
{
    weft_outputs all = call->outputs;
    TRY(weft_outputs_add_workspace(&all, call->ctx, workspace, bytes));
    TRY(weft_outputs_apart(&all));
    return weft_outputs_apart_from_csr(&all, &call->A, 1, "A");
}
