// SPDX-License-Identifier: Apache-2.0
// The checks of weft_sparse_attention()'s operands and of its scale.
#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "base/fail.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/sparse_attention_call.h"
#include "sparse/sparse_limits.h"

static const char *const names[WEFT_ATTENTION_N] = {"Q", "K", "V", "O"};

static int64_t rows_of(const weft_tensor *t)
{
    return t->shape[t->ndim - 2];
}

static int64_t columns_of(const weft_tensor *t)
{
    return t->shape[t->ndim - 1];
}

// The axes in front of the last two, of one operand and of Q.
static weft_status batch_check(const weft_tensor *t, const char *name, const weft_tensor *Q)
{
    if (t->ndim != Q->ndim)
        return fail(WEFT_BAD_SHAPE, "sparse_attention: Q has %d dimensions, %s %d", Q->ndim, name,
                    t->ndim);
    for (int d = 0; d < Q->ndim - 2; ++d)
        if (t->shape[d] != Q->shape[d])
            return fail(WEFT_BAD_SHAPE,
                        "sparse_attention: extent %d of Q is %" PRId64 ", of %s %" PRId64, d,
                        Q->shape[d], name, t->shape[d]);
    return WEFT_OK;
}

static weft_status extents_check(const weft_call *call)
{
    for (int i = 0; i < WEFT_ATTENTION_N; ++i) {
        const int64_t rows = rows_of(weft_call_tensor(call, i));
        const int64_t columns = columns_of(weft_call_tensor(call, i));
        if (rows > WEFT_SPARSE_MAX_EXTENT || columns > WEFT_SPARSE_MAX_EXTENT)
            return fail(WEFT_BAD_SHAPE,
                        "sparse_attention: %s is %" PRId64 " x %" PRId64 "; at most %d each",
                        names[i], rows, columns, WEFT_SPARSE_MAX_EXTENT);
    }
    return WEFT_OK;
}

static weft_status sizes_check(const weft_call *call)
{
    const weft_tensor *Q = weft_call_tensor(call, WEFT_ATTENTION_Q);
    const weft_tensor *K = weft_call_tensor(call, WEFT_ATTENTION_K);
    const weft_tensor *V = weft_call_tensor(call, WEFT_ATTENTION_V);
    const weft_tensor *O = weft_call_tensor(call, WEFT_ATTENTION_O);
    const weft_csr *M = weft_call_csr(call, WEFT_ATTENTION_M);
    if (columns_of(K) != columns_of(Q))
        return fail(WEFT_BAD_SHAPE, "sparse_attention: Q has %" PRId64 " columns, K %" PRId64,
                    columns_of(Q), columns_of(K));
    if (rows_of(V) != rows_of(K))
        return fail(WEFT_BAD_SHAPE, "sparse_attention: K has %" PRId64 " rows, V %" PRId64,
                    rows_of(K), rows_of(V));
    if (M->n_rows != rows_of(Q) || M->n_cols != rows_of(K))
        return fail(WEFT_BAD_SHAPE,
                    "sparse_attention: Q has %" PRId64 " rows and K %" PRId64 ", M is %" PRId64
                    " x %" PRId64,
                    rows_of(Q), rows_of(K), M->n_rows, M->n_cols);
    if (M->nnz > 0 && M->n_rows > 0 && M->n_cols == 0)
        return fail(WEFT_BAD_SHAPE, "sparse_attention: M has %" PRId64 " entries, but no columns",
                    M->nnz);
    if (rows_of(O) != rows_of(Q) || columns_of(O) != columns_of(V))
        return fail(WEFT_BAD_SHAPE,
                    "sparse_attention: the result is %" PRId64 " x %" PRId64 ", O is %" PRId64
                    " x %" PRId64,
                    rows_of(Q), columns_of(V), rows_of(O), columns_of(O));
    return extents_check(call);
}

static weft_status shapes_check(const weft_call *call)
{
    const weft_tensor *Q = weft_call_tensor(call, WEFT_ATTENTION_Q);
    if (Q->ndim < 2 || Q->ndim > 4)
        return fail(WEFT_BAD_SHAPE,
                    "sparse_attention: Q has %d dimensions; 2 are wanted, or up to 4 with batches",
                    Q->ndim);
    for (int i = 1; i < WEFT_ATTENTION_N; ++i)
        TRY(batch_check(weft_call_tensor(call, i), names[i], Q));
    return sizes_check(call);
}

static weft_status dtypes_check(const weft_call *call)
{
    const weft_tensor *Q = weft_call_tensor(call, WEFT_ATTENTION_Q);
    for (int i = 1; i < WEFT_ATTENTION_N; ++i) {
        const weft_dtype q = weft_dtype_or(Q->dtype, WEFT_F32);
        const weft_dtype other = weft_dtype_or(weft_call_tensor(call, i)->dtype, WEFT_F32);
        if (other != q)
            return fail(WEFT_BAD_DTYPE, "sparse_attention: Q is %s, %s %s; both must be the same",
                        weft_dtype_name(q), names[i], weft_dtype_name(other));
    }
    return weft_floating_check(call->ctx, Q, "Q", "sparse_attention");
}

weft_status weft_attention_numbers_check(const void *state, const weft_call *call)
{
    const weft_attention_state *s = state;
    const weft_attention_numbers *given = call->own;
    const double scale = given->scale;
    if (!isfinite(scale) || (s->problem.dtype != WEFT_F64 && !isfinite((float)scale)))
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention: scale is %g: a finite one is wanted",
                    scale);
    return WEFT_OK;
}

weft_heads weft_heads_of(const weft_tensor *tensor)
{
    const int axis = tensor->ndim - 2;
    return (weft_heads){
        .buffer = tensor->buffer,
        .start = tensor->offset,
        .row = tensor->stride[axis],
        .column = tensor->stride[axis + 1],
        .outer = axis == 2 ? tensor->stride[0] : 0,
        .inner = axis > 0 ? tensor->stride[axis - 1] : 0,
    };
}

// The stride of an axis of extent 1 is not used, and may be anything.
static bool are_adjacent(const weft_call *call, int one, int other)
{
    const weft_tensor *a = weft_call_tensor(call, one), *b = weft_call_tensor(call, other);
    return columns_of(a) == 1 || (a->stride[a->ndim - 1] == 1 && b->stride[b->ndim - 1] == 1);
}

// All but the alignment, which the plan finds.
static void find_problem(weft_attention_state *s, const weft_call *call)
{
    const weft_tensor *Q = weft_call_tensor(call, WEFT_ATTENTION_Q);
    const weft_csr *M = weft_call_csr(call, WEFT_ATTENTION_M);
    s->n_heads = Q->ndim > 2 ? Q->shape[Q->ndim - 3] : 1;
    s->n_outer = Q->ndim == 4 ? Q->shape[0] : 1;
    s->problem.m = rows_of(Q);
    s->problem.n = M->n_cols;
    s->problem.k = columns_of(Q);
    s->problem.d = columns_of(weft_call_tensor(call, WEFT_ATTENTION_V));
    s->problem.nnz = M->nnz;
    s->problem.n_batches = s->n_heads * s->n_outer;
    s->problem.qk_adjacent = are_adjacent(call, WEFT_ATTENTION_Q, WEFT_ATTENTION_K);
    s->problem.vo_adjacent = are_adjacent(call, WEFT_ATTENTION_V, WEFT_ATTENTION_O);
}

weft_status weft_attention_check(void *state, const weft_call *call)
{
    weft_attention_state *s = state;
    const weft_tensor *O = weft_call_tensor(call, WEFT_ATTENTION_O);
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_sparse_attention_tiling_table,
                         "sparse_attention: tiling", call->tiling));
    TRY(shapes_check(call));
    TRY(dtypes_check(call));
    s->problem.dtype = weft_dtype_or(O->dtype, WEFT_F32);
    s->problem.why = weft_call_why(call);
    s->head.is_empty = weft_tensor_is_empty(O); // then other extents may be anything
    if (s->head.is_empty)
        return WEFT_OK;
    find_problem(s, call);
    return WEFT_OK;
}
