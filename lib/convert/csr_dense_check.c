// SPDX-License-Identifier: Apache-2.0
// The checks of the operands of conversions between sparse and dense.
#include <inttypes.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "convert/csr_dense_call.h"
#include "operand/view.h"

static weft_csr_dense_step step_of(const weft_call *call)
{
    return ((const weft_csr_dense_own *)call->own)->step;
}

static weft_status shapes_check(const weft_call *call)
{
    const char *name = weft_call_name(call);
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const weft_tensor *D = weft_call_tensor(call, WEFT_CSR_DENSE_D);
    const bool may_be_batch = step_of(call) == WEFT_CSR_TO_DENSE;
    if (D->ndim != 2 && !(may_be_batch && D->ndim == 3))
        return fail(WEFT_BAD_SHAPE, "%s: D has %d dimensions; 2 are wanted%s", name, D->ndim,
                    may_be_batch ? ", or 3 with a batch" : "");
    const int axis = D->ndim - 2;
    if (D->shape[axis] != A->n_rows || D->shape[axis + 1] != A->n_cols)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A is %" PRId64 " x %" PRId64 ", D is %" PRId64 " x %" PRId64, name,
                    A->n_rows, A->n_cols, D->shape[axis], D->shape[axis + 1]);
    if (A->n_rows > INT32_MAX || A->n_cols > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 "; at most %d each", name,
                    A->n_rows, A->n_cols, INT32_MAX);
    if (!may_be_batch && weft_dtype_or(A->offset_dtype, WEFT_I32) == WEFT_I32 &&
        A->n_rows * A->n_cols > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: D is %" PRId64 " x %" PRId64 ", i32 offsets reach %d",
                    name, A->n_rows, A->n_cols, INT32_MAX);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_call *call)
{
    const weft_tensor *D = weft_call_tensor(call, WEFT_CSR_DENSE_D);
    TRY(weft_same_dtype_check(weft_call_csr(call, WEFT_CSR_DENSE_A)->dtype, "A", D->dtype, "D",
                              weft_call_name(call)));
    return step_of(call) == WEFT_CSR_TO_DENSE
               ? weft_floating_check(call->ctx, D, "D", weft_call_name(call))
               : WEFT_OK;
}

static bool is_empty(const weft_call *call)
{
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const weft_csr_dense_step step = step_of(call);
    return step == WEFT_CSR_TO_DENSE
               ? weft_tensor_is_empty(weft_call_tensor(call, WEFT_CSR_DENSE_D))
               : step == WEFT_DENSE_TO_CSR_FILL && (A->nnz == 0 || A->n_rows == 0);
}

weft_status weft_csr_dense_check(void *state, const weft_call *call)
{
    weft_csr_dense_state *s = state;
    const weft_csr *A = weft_call_csr(call, WEFT_CSR_DENSE_A);
    const weft_tensor *D = weft_call_tensor(call, WEFT_CSR_DENSE_D);
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_csr_dense_tiling_table,
                         weft_operand_text(what, weft_call_name(call), "tiling"), call->tiling));
    TRY(shapes_check(call));
    TRY(dtypes_check(call));
    s->head.n_batches = D->ndim == 3 ? D->shape[0] : 1;
    s->head.is_empty = is_empty(call);
    s->problem = (weft_csr_dense_problem){A->n_rows, A->n_cols, weft_dtype_or(A->dtype, WEFT_F32)};
    return WEFT_OK;
}

weft_status weft_csr_dense_numbers_check(const void *state, const weft_call *call)
{
    const double threshold = ((const weft_csr_dense_own *)call->own)->threshold;
    (void)state;
    if (!(threshold >= 0))
        return fail(WEFT_BAD_ARGUMENT, "%s: the threshold is %g, 0 or more is possible",
                    weft_call_name(call), threshold);
    return WEFT_OK;
}
