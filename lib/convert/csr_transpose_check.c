// SPDX-License-Identifier: Apache-2.0
// The checks of weft_csr_transpose()'s operands.
#include <inttypes.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "convert/csr_transpose_call.h"
#include "operand/view.h"

static const char op[] = "csr_transpose";

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

static weft_status source_check(const weft_csr_transpose_state *s, const weft_tensor *source)
{
    const weft_dtype wanted = s->problem.offset_dtype;
    if (source->ndim != 1 || source->shape[0] != s->problem.nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: source has %d dimensions, the first of %" PRId64 "; one of %" PRId64
                    ", an element for each entry, is wanted",
                    op, source->ndim, source->ndim > 0 ? source->shape[0] : 1, s->problem.nnz);
    const weft_dtype given = weft_dtype_or(source->dtype, WEFT_F32);
    if (given != wanted)
        return fail(WEFT_BAD_DTYPE, "%s: source is %s, A's offsets are %s; both must be the same",
                    op, weft_dtype_name(given), weft_dtype_name(wanted));
    return WEFT_OK;
}

weft_status weft_csr_transpose_check(void *state, const weft_call *call)
{
    weft_csr_transpose_state *s = state;
    const weft_csr *A = weft_call_csr(call, WEFT_TRANSPOSE_A);
    const weft_csr *T = weft_call_csr(call, WEFT_TRANSPOSE_T);
    const weft_tensor *source = weft_call_tensor(call, WEFT_TRANSPOSE_SOURCE);
    TRY(shapes_check(A, T));
    TRY(weft_same_dtype_check(A->dtype, "A", T->dtype, "T", op));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_csr_transpose_tiling_table,
                         "csr_transpose: tiling", call->tiling));
    s->problem =
        (weft_csr_transpose_problem){.n_cols = A->n_cols,
                                     .nnz = A->nnz,
                                     .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32)};
    return source ? source_check(s, source) : WEFT_OK;
}
