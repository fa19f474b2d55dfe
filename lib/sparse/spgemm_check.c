// SPDX-License-Identifier: Apache-2.0
// The checks of sparse x sparse products' operands.
#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/spgemm_call.h"

static bool is_dense(const weft_call *call)
{
    return ((const weft_spgemm_numbers *)call->own)->step == WEFT_SPGEMM_TO_DENSE;
}

static weft_status extents_check(const weft_call *call)
{
    const char *what = weft_call_name(call);
    const int n_sparse = is_dense(call) ? WEFT_SPGEMM_C : WEFT_SPGEMM_C + 1;
    for (int i = 0; i < n_sparse; ++i) {
        const weft_csr *csr = weft_call_csr(call, i);
        if (csr->n_rows > INT32_MAX || csr->n_cols > INT32_MAX)
            return fail(WEFT_BAD_SHAPE, "%s: %s is %" PRId64 " x %" PRId64 "; at most %d each",
                        what, call->op->operands[i].name, csr->n_rows, csr->n_cols, INT32_MAX);
    }
    const int ndim = is_dense(call) ? weft_call_tensor(call, WEFT_SPGEMM_C)->ndim : 2;
    if (ndim != 2)
        return fail(WEFT_BAD_SHAPE, "%s: C has %d dimensions; 2 are wanted", what, ndim);
    return WEFT_OK;
}

// C, or a CSR with the sizes and data type of a dense C.
static weft_csr c_of(const weft_call *call)
{
    if (!is_dense(call))
        return weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_C));
    const weft_tensor *dense = weft_call_tensor(call, WEFT_SPGEMM_C);
    const weft_csr sizes = {
        .n_rows = dense->shape[0], .n_cols = dense->shape[1], .dtype = dense->dtype};
    return weft_csr_with_defaults(&sizes);
}

static weft_status shapes_check(const char *what, const weft_csr *A, const weft_csr *B,
                                const weft_csr *C)
{
    if (A->n_cols != B->n_rows)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 ", B has %" PRId64 " rows",
                    what, A->n_rows, A->n_cols, B->n_rows);
    if (C->n_rows != A->n_rows || C->n_cols != B->n_cols)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A B is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, what,
                    A->n_rows, B->n_cols, C->n_rows, C->n_cols);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_call *call, weft_dtype a, weft_dtype b, weft_dtype c)
{
    const char *what = weft_call_name(call);
    if (a != b || a != c)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, B %s, C %s; all three must be the same", what,
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    if (a == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s: A, B and C are f64; %s has no f64", what,
                    call->ctx->limits.name);
    return WEFT_OK;
}

static bool is_empty(const weft_spgemm_state *s, const weft_spgemm_numbers *given,
                     const weft_csr *C)
{
    switch (given->step) {
    case WEFT_SPGEMM_COUNT:
        return false;
    case WEFT_SPGEMM_FILL:
        return C->nnz == 0 || C->n_rows == 0;
    default:
        return C->n_rows == 0 || C->n_cols == 0 ||
               (s->is_scaling && weft_rounded(C->dtype, given->beta) == 1);
    }
}

static void find_problem(weft_spgemm_state *s, const weft_spgemm_numbers *given, const weft_csr *A,
                         const weft_csr *B, const weft_csr *C)
{
    s->problem = (weft_spgemm_problem){
        .m = A->n_rows,
        .k = A->n_cols,
        .n = B->n_cols,
        .a_nnz = A->nnz,
        .b_nnz = B->nnz,
        .dtype = A->dtype,
    };
    s->c_offset = C->offset_dtype;
    s->c_index = C->index_dtype;
    s->has_products = A->n_cols > 0 && A->nnz > 0 && B->nnz > 0;
    s->is_scaling = given->step == WEFT_SPGEMM_TO_DENSE &&
                    (!s->has_products || weft_rounded(C->dtype, given->alpha) == 0);
    s->head.is_empty = is_empty(s, given, C);
}

weft_status weft_spgemm_check(void *state, const weft_call *call)
{
    weft_spgemm_state *s = state;
    char name[WEFT_OPERAND_TEXT];
    TRY(extents_check(call));
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_A));
    const weft_csr B = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_B)), C = c_of(call);
    TRY(shapes_check(weft_call_name(call), &A, &B, &C));
    TRY(dtypes_check(call, A.dtype, B.dtype, C.dtype));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_spgemm_tiling_table,
                         weft_operand_text(name, weft_call_name(call), "tiling"), call->tiling));
    find_problem(s, call->own, &A, &B, &C);
    return WEFT_OK;
}
