// SPDX-License-Identifier: Apache-2.0
// What weft_sddmm_sparse() refuses at its door, and the call as it goes on from there.
#include "sparse/sddmm_sparse_call.h"

#include <inttypes.h>

#include "runtime/context.h"
#include "sparse/sparse_limits.h"

static const char op[] = "sddmm_sparse";

// What a caller gave, with its name.
typedef struct {
    const weft_factor *factor;
    const char *name;
} operand;

static weft_status params_check(const weft_sddmm_sparse_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_SDDMM_SPARSE()", op,
                    params->size, sizeof(*params));
    return WEFT_OK;
}

static weft_status kinds_check(const weft_factor *A, const weft_factor *B)
{
    const operand factors[] = {{A, "A"}, {B, "B"}};
    for (int i = 0; i < 2; i++) {
        const weft_factor *f = factors[i].factor;
        if (!f->dense == !f->sparse)
            return fail(WEFT_BAD_ARGUMENT, "%s: %s is %s: one of both is wanted", op,
                        factors[i].name,
                        f->dense ? "dense and sparse" : "neither dense nor sparse");
    }
    if (A->dense && B->dense)
        return fail(WEFT_BAD_ARGUMENT, "%s: A and B are both dense: weft_sddmm() is for these", op);
    return WEFT_OK;
}

static weft_status factor_form_check(const operand *of)
{
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, op, of->name);
    if (of->factor->sparse)
        return weft_csr_form_check(of->factor->sparse, what);
    TRY(weft_tensor_form_check(of->factor->dense, what));
    if (of->factor->dense->ndim != 2)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions; 2 are wanted", op, of->name,
                    of->factor->dense->ndim);
    return WEFT_OK;
}

static weft_factor_view view_of(const weft_factor *factor)
{
    if (factor->sparse)
        return (weft_factor_view){.is_sparse = true, .csr = weft_csr_settled(factor->sparse)};
    const weft_tensor *dense = factor->dense;
    const weft_csr csr = {.n_rows = dense->shape[0],
                          .n_cols = dense->shape[1],
                          .dtype = dense->dtype,
                          .values = dense->buffer,
                          .values_start = dense->offset};
    return (weft_factor_view){
        .csr = weft_csr_settled(&csr), .row = dense->stride[0], .column = dense->stride[1]};
}

static weft_status shapes_check(const weft_sddmm_sparse_call *call)
{
    const weft_csr *A = &call->A.csr, *B = &call->B.csr, *C = &call->C;
    if (A->n_cols != B->n_cols)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 ", B has %" PRId64 " columns",
                    op, A->n_rows, A->n_cols, B->n_cols);
    if (C->n_rows != A->n_rows || C->n_cols != B->n_rows)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A B^T is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, op,
                    A->n_rows, B->n_rows, C->n_rows, C->n_cols);
    if (C->n_rows > WEFT_SPARSE_MAX_EXTENT || C->n_cols > WEFT_SPARSE_MAX_EXTENT ||
        A->n_cols > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "%s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 "; at most %d each", op,
                    C->n_rows, C->n_cols, A->n_cols, WEFT_SPARSE_MAX_EXTENT);
    if (C->nnz > 0 && (C->n_rows == 0 || C->n_cols == 0))
        return fail(WEFT_BAD_SHAPE, "%s: C has %" PRId64 " entries, but no %s", op, C->nnz,
                    C->n_rows == 0 ? "rows" : "columns");
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_sddmm_sparse_call *call)
{
    const weft_dtype a = call->A.csr.dtype, b = call->B.csr.dtype, c = call->C.dtype;
    if (a != b || a != c)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, B %s, C %s; all three want the same", op,
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    return WEFT_OK;
}

static weft_status results_check(const weft_sddmm_sparse_call *call)
{
    const weft_tensor *D = call->D;
    if (D->ndim != 1)
        return fail(WEFT_BAD_SHAPE, "%s: D has %d dimensions; 1 is wanted", op, D->ndim);
    return weft_csr_results_check(call->ctx, D, "D", &call->C, "C", op);
}

static weft_status apart_check(const weft_tensor *D, const operand *from)
{
    return from->factor->sparse
               ? weft_csr_overlap_check(D, "D", from->factor->sparse, from->name, 1, op)
               : weft_tensor_overlap_check(D, "D", from->factor->dense, from->name, op);
}

static weft_status buffers_check(const weft_sddmm_sparse_call *call, const weft_factor *A,
                                 const weft_factor *B)
{
    const operand factors[] = {{A, "A"}, {B, "B"}};
    const weft_csr *C = &call->C;
    for (int i = 0; i < 2; i++) {
        char what[WEFT_OPERAND_TEXT];
        const weft_factor *factor = factors[i].factor;
        weft_operand_text(what, op, factors[i].name);
        TRY(factor->sparse ? weft_csr_view_check(call->ctx, factor->sparse, 1, what)
                           : weft_tensor_check(call->ctx, factor->dense, what));
    }
    TRY(weft_output_check(call->ctx, call->D, "sddmm_sparse: D"));
    TRY(call->indicator ? weft_pattern_view_check(call->ctx, C, "sddmm_sparse: C")
                        : weft_csr_view_check(call->ctx, C, 1, "sddmm_sparse: C"));
    for (int i = 0; i < 2; i++)
        TRY(apart_check(call->D, &factors[i]));
    TRY(weft_pattern_overlap_check(call->D, "D", C, "C", op));
    if (call->indicator || C->nnz == 0)
        return WEFT_OK;
    const weft_tensor values = weft_csr_values(C, 0);
    return weft_alias_check(call->D, "D", &values, "C's values", op);
}

static weft_sddmm_sparse_call call_of(weft_context *ctx, const weft_factor *A, const weft_factor *B,
                                      const weft_csr *C, const weft_tensor *D,
                                      const weft_sddmm_sparse_params *params)
{
    weft_sddmm_sparse_call call = {
        .ctx = ctx,
        .A = view_of(A),
        .B = view_of(B),
        .C = weft_csr_settled(C),
        .D = D,
        .indicator = params->indicator,
    };
    call.problem = (weft_sddmm_sparse_problem){
        .m = C->n_rows,
        .n = C->n_cols,
        .k = call.A.csr.n_cols,
        .nnz = C->nnz,
        .a_nnz = call.A.csr.nnz,
        .b_nnz = call.B.csr.nnz,
        .a_sparse = call.A.is_sparse,
        .b_sparse = call.B.is_sparse,
        .dtype = call.C.dtype,
    };
    if (call.indicator)
        call.C.values = NULL;
    return call;
}

weft_status weft_sddmm_sparse_check(weft_sddmm_sparse_call *out, weft_context *ctx,
                                    const weft_factor *A, const weft_factor *B, const weft_csr *C,
                                    const weft_tensor *D, const weft_sddmm_sparse_params *params)
{
    TRY(weft_context_check(ctx, op));
    if (!A || !B || !C || !D)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", op, !A ? "A" : !B ? "B" : !C ? "C" : "D");
    TRY(params_check(params));
    TRY(kinds_check(A, B));
    TRY(factor_form_check(&(operand){A, "A"}));
    TRY(factor_form_check(&(operand){B, "B"}));
    TRY(weft_csr_form_check(C, "sddmm_sparse: C"));
    TRY(weft_output_form_check(D, "sddmm_sparse: D"));
    *out = call_of(ctx, A, B, C, D, params);
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_sddmm_sparse_tiling_table,
                         "sddmm_sparse: tiling", params->tiling));
    TRY(shapes_check(out));
    TRY(dtypes_check(out));
    TRY(results_check(out));
    TRY(buffers_check(out, A, B));
    return out->is_forced
               ? weft_sddmm_sparse_tiling_check(&out->forced, &ctx->limits, &out->problem)
               : WEFT_OK;
}
