// SPDX-License-Identifier: Apache-2.0
// What weft_sddmm() refuses at its door, and the call as it goes on from there.
#include "sparse/sddmm_product.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "runtime/context.h"
#include "sparse/sparse_limits.h"

static weft_status params_check(const weft_sddmm_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: params.size is %zu, not %zu: fill it by WEFT_SDDMM()", params->size,
                    sizeof(*params));
    return WEFT_OK;
}

static weft_status ranks_check(const weft_tensor *A, const weft_tensor *B, const weft_tensor *D)
{
    if ((A->ndim != 2 && A->ndim != 3) || B->ndim != A->ndim || D->ndim != A->ndim - 1)
        return fail(WEFT_BAD_SHAPE,
                    "sddmm: A has %d dimensions, B %d and D %d; 2, 2 and 1 are wanted, or 3, 3 and "
                    "2 with a batch",
                    A->ndim, B->ndim, D->ndim);
    if (A->ndim == 3 && (A->shape[0] != B->shape[0] || A->shape[0] != D->shape[0]))
        return fail(WEFT_BAD_SHAPE,
                    "sddmm: A is a batch of %" PRId64 ", B of %" PRId64 ", D of %" PRId64,
                    A->shape[0], B->shape[0], D->shape[0]);
    return WEFT_OK;
}

static weft_status shapes_check(const weft_tensor *A, const weft_tensor *B, const weft_csr *C)
{
    const int axis = A->ndim - 2;
    const int64_t m = A->shape[axis], k = A->shape[axis + 1], n = B->shape[axis + 1];
    if (B->shape[axis] != k)
        return fail(WEFT_BAD_SHAPE, "sddmm: A is %" PRId64 " x %" PRId64 ", B has %" PRId64 " rows",
                    m, k, B->shape[axis]);
    if (C->n_rows != m || C->n_cols != n)
        return fail(WEFT_BAD_SHAPE,
                    "sddmm: A B is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, m, n,
                    C->n_rows, C->n_cols);
    if (m > WEFT_SPARSE_MAX_EXTENT || n > WEFT_SPARSE_MAX_EXTENT || k > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "sddmm: m %" PRId64 ", n %" PRId64 ", k %" PRId64 "; at most %d each", m, n, k,
                    WEFT_SPARSE_MAX_EXTENT);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_tensor *A, const weft_tensor *B, const weft_csr *C)
{
    const weft_dtype a = weft_dtype_or(A->dtype, WEFT_F32);
    const weft_dtype b = weft_dtype_or(B->dtype, WEFT_F32);
    const weft_dtype c = weft_dtype_or(C->dtype, WEFT_F32);
    if (a != b || a != c)
        return fail(WEFT_BAD_DTYPE, "sddmm: A is %s, B %s, C %s; all three want the same",
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    return WEFT_OK;
}

// Writing C's values entry by entry is fine, if what is written belongs to what is read.
static weft_status apart_check(const weft_sddmm_product *p, const weft_tensor *output,
                               const char *name, bool may_be_values)
{
    const weft_csr *C = p->C;
    TRY(weft_tensor_overlap_check(output, name, p->A_view, "A", "sddmm"));
    TRY(weft_tensor_overlap_check(output, name, p->B_view, "B", "sddmm"));
    TRY(weft_pattern_overlap_check(output, name, C, "C", "sddmm"));
    if (p->indicator || C->nnz == 0)
        return WEFT_OK;
    const weft_tensor values = weft_csr_values(C, p->D_view->ndim == 2 ? p->D_view->shape[0] : 0);
    return may_be_values ? weft_alias_check(output, name, &values, "C's values", "sddmm")
                         : weft_tensor_overlap_check(output, name, &values, "C's values", "sddmm");
}

static weft_status operands_check(const weft_sddmm_product *p)
{
    const weft_tensor *A = p->A_view, *B = p->B_view, *D = p->D_view;
    const weft_csr *C = p->C;
    TRY(weft_tensor_form_check(A, "sddmm: A"));
    TRY(weft_tensor_form_check(B, "sddmm: B"));
    TRY(weft_csr_form_check(C, "sddmm: C"));
    if (C->nnz > 0 && (C->n_rows == 0 || C->n_cols == 0))
        return fail(WEFT_BAD_SHAPE, "sddmm: C has %" PRId64 " entries, but no %s", C->nnz,
                    C->n_rows == 0 ? "rows" : "columns");
    TRY(weft_output_form_check(D, "sddmm: D"));
    TRY(ranks_check(A, B, D));
    TRY(shapes_check(A, B, C));
    TRY(dtypes_check(A, B, C));
    TRY(weft_csr_results_check(p->ctx, D, "D", C, "C", "sddmm"));
    TRY(weft_tensor_check(p->ctx, A, "sddmm: A"));
    TRY(weft_tensor_check(p->ctx, B, "sddmm: B"));
    TRY(weft_output_check(p->ctx, D, "sddmm: D"));
    const int64_t n_batches = A->ndim == 3 ? A->shape[0] : 1;
    TRY(p->indicator ? weft_pattern_view_check(p->ctx, C, "sddmm: C")
                     : weft_csr_view_check(p->ctx, C, n_batches, "sddmm: C"));
    return apart_check(p, D, "D", true);
}

// Where k is 1 no stride along k is ever taken, and the field may hold anything.
static weft_sddmm_problem problem_of(const weft_sddmm_product *p, int64_t shift)
{
    const weft_tensor *A = p->A_view;
    const weft_dense *a = &p->A, *b = &p->B;
    const int axis = A->ndim - 2;
    const int64_t k = A->shape[axis + 1], b_starts = b->start | b->column | b->batch;
    const bool b_adjacent = k == 1 || b->row == 1;
    return (weft_sddmm_problem){
        .m = p->C->n_rows,
        .n = p->C->n_cols,
        .k = k,
        .nnz = p->C->nnz,
        .n_batches = axis == 1 ? A->shape[0] : 1,
        .dtype = weft_dtype_or(A->dtype, WEFT_F32),
        .a_adjacent = k == 1 || a->column == 1,
        .b_adjacent = b_adjacent,
        .alignment =
            pow2_divisor(a->start | a->row | a->batch | (b_adjacent ? b_starts : 0) | shift),
    };
}

bool weft_sddmm_is_empty(const weft_sddmm_product *p)
{
    return p->problem.nnz == 0 || p->problem.n_batches == 0;
}

static weft_sddmm_product views_of(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                   const weft_csr *C, const weft_tensor *D,
                                   const weft_sddmm_params *params)
{
    return (weft_sddmm_product){
        .ctx = ctx,
        .C = C,
        .A_view = A,
        .B_view = B,
        .D_view = D,
        .indicator = params->indicator,
    };
}

weft_status weft_sddmm_product_of(weft_sddmm_product *out, weft_context *ctx, const weft_tensor *A,
                                  const weft_tensor *B, const weft_csr *C, const weft_tensor *D,
                                  const weft_sddmm_params *params)
{
    int64_t shift = 0;
    TRY(weft_tensor_shift(&shift, A, "sddmm: A"));
    TRY(weft_tensor_shift(&shift, B, "sddmm: B"));
    *out = views_of(ctx, A, B, C, D, params);
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_sddmm_tiling_table, "sddmm: tiling",
                         params->tiling));
    out->A = weft_dense_of(A);
    out->B = weft_dense_of(B);
    out->d_batch = D->ndim == 2 ? D->stride[0] : 0;
    out->problem = problem_of(out, shift);
    if (weft_sddmm_is_empty(out) || out->problem.k == 0)
        out->is_forced = false; // there is no k to cut
    return WEFT_OK;
}

weft_status weft_sddmm_check(weft_sddmm_product *out, weft_context *ctx, const weft_tensor *A,
                             const weft_tensor *B, const weft_csr *C, const weft_tensor *D,
                             const weft_sddmm_params *params)
{
    TRY(weft_context_check(ctx, "sddmm"));
    if (!A || !B || !C || !D)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: %s is NULL", !A ? "A" : !B ? "B" : !C ? "C" : "D");
    TRY(params_check(params));
    const weft_sddmm_product views = views_of(ctx, A, B, C, D, params);
    TRY(operands_check(&views));
    TRY(weft_sddmm_product_of(out, ctx, A, B, C, D, params));
    if (out->is_forced)
        TRY(weft_sddmm_tiling_check(&out->forced, &ctx->limits, &out->problem));
    return WEFT_OK;
}

weft_status weft_sddmm_workspace_check(const weft_sddmm_product *p, cl_mem workspace, size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, p->ctx, workspace, bytes, "sddmm"));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", p->D_view, "D", "sddmm"));
    return apart_check(p, &scratch, "workspace", false);
}
