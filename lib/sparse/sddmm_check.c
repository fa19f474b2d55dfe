// SPDX-License-Identifier: Apache-2.0
// The checks of weft_sddmm()'s operands.
#include <inttypes.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/sddmm_call.h"
#include "sparse/sparse_limits.h"

static weft_status entries_check(const weft_csr *C)
{
    if (C->nnz > 0 && (C->n_rows == 0 || C->n_cols == 0))
        return fail(WEFT_BAD_SHAPE, "sddmm: C has %" PRId64 " entries, but no %s", C->nnz,
                    C->n_rows == 0 ? "rows" : "columns");
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
        return fail(WEFT_BAD_DTYPE, "sddmm: A is %s, B %s, C %s; all three must be the same",
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    return WEFT_OK;
}

static weft_status operands_check(const weft_call *call)
{
    const weft_tensor *A = weft_call_tensor(call, WEFT_SDDMM_A);
    const weft_tensor *B = weft_call_tensor(call, WEFT_SDDMM_B);
    const weft_tensor *D = weft_call_tensor(call, WEFT_SDDMM_D);
    const weft_csr *C = weft_call_csr(call, WEFT_SDDMM_C);
    TRY(entries_check(C));
    TRY(ranks_check(A, B, D));
    TRY(shapes_check(A, B, C));
    TRY(dtypes_check(A, B, C));
    return weft_csr_results_check(call->ctx, D, "D", C, "C", "sddmm");
}

// All but the alignment, which the plan finds. Where k is 1 the stride along k is not used, and may
// be anything.
static weft_sddmm_problem problem_of(const weft_call *call)
{
    const weft_csr *C = weft_call_csr(call, WEFT_SDDMM_C);
    const weft_tensor *A = weft_call_tensor(call, WEFT_SDDMM_A);
    const weft_tensor *B = weft_call_tensor(call, WEFT_SDDMM_B);
    const int axis = A->ndim - 2;
    const int64_t k = A->shape[axis + 1];
    return (weft_sddmm_problem){
        .m = C->n_rows,
        .n = C->n_cols,
        .k = k,
        .nnz = C->nnz,
        .n_batches = axis == 1 ? A->shape[0] : 1,
        .dtype = weft_dtype_or(A->dtype, WEFT_F32),
        .a_adjacent = k == 1 || A->stride[axis + 1] == 1,
        .b_adjacent = k == 1 || B->stride[axis] == 1,
        .why = weft_call_why(call),
    };
}

weft_status weft_sddmm_check(void *state, const weft_call *call)
{
    weft_sddmm_state *s = state;
    const weft_sddmm_numbers *given = call->own;
    TRY(operands_check(call));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_sddmm_tiling_table, "sddmm: tiling",
                         call->tiling));
    s->problem = problem_of(call);
    s->head.n_batches = s->problem.n_batches;
    s->head.is_empty = s->problem.nnz == 0 || s->problem.n_batches == 0;
    s->is_scale = weft_rounded(s->problem.dtype, given->alpha) == 0 || s->problem.k == 0;
    s->head.is_forced = s->head.is_forced && s->problem.k > 0; // else there is no k to cut
    return WEFT_OK;
}
