// SPDX-License-Identifier: Apache-2.0
// What weft_sparse_attention() refuses at its door, and the call as it goes on from there.
#include "sparse/sparse_attention_call.h"

#include <inttypes.h>
#include <math.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "runtime/context.h"
#include "sparse/sparse_limits.h"

static const char *const names[WEFT_ATTENTION_N] = {"Q", "K", "V", "O"};
static const char op[] = "sparse_attention";

static weft_status params_check(const weft_sparse_attention_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "sparse_attention: params.size is %zu, not %zu: fill it by "
                    "WEFT_SPARSE_ATTENTION()",
                    params->size, sizeof(*params));
    return WEFT_OK;
}

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

static weft_status sizes_check(const weft_tensor *const views[], const weft_csr *M)
{
    const weft_tensor *Q = views[WEFT_ATTENTION_Q], *K = views[WEFT_ATTENTION_K];
    const weft_tensor *V = views[WEFT_ATTENTION_V], *O = views[WEFT_ATTENTION_O];
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
    for (int i = 0; i < WEFT_ATTENTION_N; ++i)
        if (rows_of(views[i]) > WEFT_SPARSE_MAX_EXTENT ||
            columns_of(views[i]) > WEFT_SPARSE_MAX_EXTENT)
            return fail(WEFT_BAD_SHAPE,
                        "sparse_attention: %s is %" PRId64 " x %" PRId64 "; at most %d each",
                        names[i], rows_of(views[i]), columns_of(views[i]), WEFT_SPARSE_MAX_EXTENT);
    return WEFT_OK;
}

static weft_status shapes_check(const weft_tensor *const views[], const weft_csr *M)
{
    const weft_tensor *Q = views[WEFT_ATTENTION_Q];
    if (Q->ndim < 2 || Q->ndim > 4)
        return fail(WEFT_BAD_SHAPE,
                    "sparse_attention: Q has %d dimensions; 2 are wanted, or up to 4 with batches",
                    Q->ndim);
    for (int i = 1; i < WEFT_ATTENTION_N; ++i)
        TRY(batch_check(views[i], names[i], Q));
    return sizes_check(views, M);
}

static weft_status dtypes_check(const weft_context *ctx, const weft_tensor *const views[])
{
    const weft_dtype q = weft_dtype_or(views[WEFT_ATTENTION_Q]->dtype, WEFT_F32);
    for (int i = 1; i < WEFT_ATTENTION_N; ++i) {
        const weft_dtype other = weft_dtype_or(views[i]->dtype, WEFT_F32);
        if (other != q)
            return fail(WEFT_BAD_DTYPE, "sparse_attention: Q is %s, %s %s; both want the same",
                        weft_dtype_name(q), names[i], weft_dtype_name(other));
    }
    return weft_floating_check(ctx, views[WEFT_ATTENTION_Q], "Q", op);
}

static weft_status scale_check(weft_dtype dtype, double scale)
{
    if (!isfinite(scale) || (dtype != WEFT_F64 && !isfinite((float)scale)))
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention: scale is %g: a finite one is wanted",
                    scale);
    return WEFT_OK;
}

static weft_status apart_check(const weft_sparse_attention_call *call, const weft_tensor *output,
                               const char *name)
{
    for (int i = 0; i < WEFT_ATTENTION_O; ++i)
        TRY(weft_tensor_overlap_check(output, name, call->views[i], names[i], op));
    return weft_pattern_overlap_check(output, name, call->M, "M", op);
}

static weft_status operands_check(const weft_sparse_attention_call *call)
{
    char what[WEFT_OPERAND_TEXT];
    const weft_tensor *O = call->views[WEFT_ATTENTION_O];
    for (int i = 0; i < WEFT_ATTENTION_O; ++i)
        TRY(weft_tensor_form_check(call->views[i], weft_operand_text(what, op, names[i])));
    TRY(weft_output_form_check(O, "sparse_attention: O"));
    TRY(weft_csr_form_check(call->M, "sparse_attention: M"));
    TRY(shapes_check(call->views, call->M));
    TRY(dtypes_check(call->ctx, call->views));
    TRY(scale_check(weft_dtype_or(O->dtype, WEFT_F32), call->scale));
    for (int i = 0; i < WEFT_ATTENTION_O; ++i)
        TRY(weft_tensor_check(call->ctx, call->views[i], weft_operand_text(what, op, names[i])));
    TRY(weft_output_check(call->ctx, O, "sparse_attention: O"));
    TRY(weft_pattern_view_check(call->ctx, call->M, "sparse_attention: M"));
    return apart_check(call, O, "O");
}

static weft_heads heads_of(const weft_tensor *t)
{
    const int axis = t->ndim - 2;
    return (weft_heads){
        .buffer = t->buffer,
        .start = t->offset,
        .row = t->stride[axis],
        .column = t->stride[axis + 1],
        .outer = axis == 2 ? t->stride[0] : 0,
        .inner = axis > 0 ? t->stride[axis - 1] : 0,
    };
}

static weft_status find_alignment(int64_t *out, const weft_sparse_attention_call *call)
{
    int64_t all = 0;
    char what[WEFT_OPERAND_TEXT];
    for (int i = 0; i < WEFT_ATTENTION_N; ++i) {
        const weft_heads *dense = &call->dense[i];
        all |= dense->start | dense->row | dense->outer | dense->inner;
        TRY(weft_tensor_shift(&all, call->views[i], weft_operand_text(what, op, names[i])));
    }
    *out = pow2_divisor(all);
    return WEFT_OK;
}

// An axis of extent 1 is never stepped along, and its stride may be anything.
static bool are_adjacent(const weft_heads *a, const weft_heads *b, int64_t extent)
{
    return extent == 1 || (a->column == 1 && b->column == 1);
}

static weft_status settle(weft_sparse_attention_call *call)
{
    const weft_tensor *Q = call->views[WEFT_ATTENTION_Q], *V = call->views[WEFT_ATTENTION_V];
    weft_heads *dense = call->dense;
    for (int i = 0; i < WEFT_ATTENTION_N; ++i)
        dense[i] = heads_of(call->views[i]);
    // Where O has no elements its extents may be anything.
    if (weft_tensor_is_empty(call->views[WEFT_ATTENTION_O])) {
        call->problem = (weft_sparse_attention_problem){0};
        return WEFT_OK;
    }
    call->n_heads = Q->ndim > 2 ? Q->shape[Q->ndim - 3] : 1;
    call->problem = (weft_sparse_attention_problem){
        .m = rows_of(Q),
        .n = call->M->n_cols,
        .k = columns_of(Q),
        .d = columns_of(V),
        .nnz = call->M->nnz,
        .n_batches = call->n_heads * (Q->ndim == 4 ? Q->shape[0] : 1),
        .dtype = weft_dtype_or(Q->dtype, WEFT_F32),
        .qk_adjacent =
            are_adjacent(&dense[WEFT_ATTENTION_Q], &dense[WEFT_ATTENTION_K], columns_of(Q)),
        .vo_adjacent =
            are_adjacent(&dense[WEFT_ATTENTION_V], &dense[WEFT_ATTENTION_O], columns_of(V)),
    };
    return find_alignment(&call->problem.alignment, call);
}

bool weft_sparse_attention_is_empty(const weft_sparse_attention_call *call)
{
    return call->problem.m == 0 || call->problem.d == 0 || call->problem.n_batches == 0;
}

weft_status weft_sparse_attention_check(weft_sparse_attention_call *out, weft_context *ctx,
                                        double scale, const weft_tensor *Q, const weft_tensor *K,
                                        const weft_tensor *V, const weft_csr *M,
                                        const weft_tensor *O,
                                        const weft_sparse_attention_params *params)
{
    TRY(weft_context_check(ctx, op));
    if (!Q || !K || !V || !M || !O)
        return fail(WEFT_BAD_ARGUMENT, "sparse_attention: %s is NULL",
                    !Q   ? "Q"
                    : !K ? "K"
                    : !V ? "V"
                    : !M ? "M"
                         : "O");
    TRY(params_check(params));
    *out = (weft_sparse_attention_call){
        .ctx = ctx,
        .M = M,
        .views = {Q, K, V, O},
        .scale = scale,
    };
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_sparse_attention_tiling_table,
                         "sparse_attention: tiling", params->tiling));
    TRY(operands_check(out));
    TRY(settle(out));
    if (out->is_forced && !weft_sparse_attention_is_empty(out))
        TRY(weft_sparse_attention_tiling_check(&out->forced, &ctx->limits, &out->problem));
    // Without entries there are no steps to take: a sweep, as it is planned, writes the zeros.
    if (out->is_forced && out->forced.in_steps && M->nnz == 0)
        out->is_forced = false;
    return WEFT_OK;
}

weft_status weft_sparse_attention_workspace_check(const weft_sparse_attention_call *call,
                                                  cl_mem workspace, size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, workspace, bytes, op));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", call->views[WEFT_ATTENTION_O], "O", op));
    return apart_check(call, &scratch, "workspace");
}
