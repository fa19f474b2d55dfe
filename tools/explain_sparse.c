// SPDX-License-Identifier: Apache-2.0
// Sparse operations in weft explain: the calls, and their least bytes and operations.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_linear.h>
#include <weft/sparse_softmax.h>
#include <weft/spmm_dcsr.h>

#include "explain_stage.h"

// ---- products

// A plan of A for such a product; none with --no-plan.
static bool make_plan(explain_stage *s, const weft_csr *A, bool transpose_a)
{
    return s->options->no_plan ||
           stage_called(s, weft_spmm_plan_create(&s->plan, s->ctx, NULL, A,
                                                 WEFT_SPMM_PLAN(.transpose_a = transpose_a)));
}

// op(A) B and the like, one matrix of B's batch at a time.
static weft_tensor product_of(explain_stage *s, int64_t n_rows, const weft_tensor *B)
{
    int64_t shape[WEFT_MAX_NDIM];
    memcpy(shape, B->shape, sizeof(shape));
    shape[B->ndim - 2] = n_rows;
    return stage_view(s, B->dtype, B->ndim, shape, false);
}

// A multiplication and an addition for each entry, once for each of so many elements of its row.
static double product_operations(const weft_csr *A, const weft_tensor *B)
{
    const double n_batches = B->ndim == 3 ? (double)B->shape[0] : 1;
    return 2 * (double)A->nnz * (double)B->shape[B->ndim - 1] * n_batches;
}

static bool explain_spmm(explain_stage *s)
{
    const explain_options *o = s->options;
    weft_tensor B;
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_ALL);
    if (!stage_operand(&B, s, 2, "B") || !stage_has_axes(s, &B, "B", 2, 3) || !stage_ends_at(s, 3))
        return false;
    const weft_tensor C = product_of(s, o->transpose_a ? A.n_cols : A.n_rows, &B);
    s->answer->operations = product_operations(&A, &B);
    if (!make_plan(s, &A, o->transpose_a))
        return false;
    const weft_spmm_params *params = WEFT_SPMM(.plan = s->plan, .transpose_a = o->transpose_a,
                                               .reduction = o->product_reduction);
    return stage_called(s, weft_spmm(s->ctx, NULL, 1, &A, &B, 0, &C, params)) &&
           stage_described(s, weft_spmm_describe(s->ctx, &A, &B, &C, params, STAGE_PLAN(s)));
}

// The numbers of rows with entries, and their offsets: the arrays of a DCSR's own.
typedef struct {
    int32_t *rows;
    void *offsets; // of the pattern's type
    int64_t n;
} stored_rows;

static int64_t offset_at(const weft_csr_host *host, int64_t row)
{
    return host->offset_dtype == WEFT_I64 ? ((const int64_t *)host->offsets)[row]
                                          : ((const int32_t *)host->offsets)[row];
}

static void put_offset(stored_rows *out, const weft_csr_host *host, int64_t at, int64_t offset)
{
    if (host->offset_dtype == WEFT_I64)
        ((int64_t *)out->offsets)[at] = offset;
    else
        ((int32_t *)out->offsets)[at] = (int32_t)offset;
}

// From a pattern; for mere sizes the number alone.
static bool stored_make(stored_rows *out, explain_stage *s)
{
    const weft_csr_host *host = &s->problem->sparse[0];
    *out = (stored_rows){.n = stage_stored_rows(s)};
    if (host->offsets == NULL)
        return true;
    out->rows = calloc((size_t)out->n + 1, sizeof(*out->rows));
    out->offsets = calloc((size_t)out->n + 1, sizeof(int64_t));
    if (out->rows == NULL || out->offsets == NULL)
        return complain(s->why, "no memory for %" PRId64 " rows", out->n);
    int64_t n = 0;
    for (int64_t row = 0; row < host->n_rows; row++)
        if (offset_at(host, row) < offset_at(host, row + 1)) {
            out->rows[n] = (int32_t)row;
            put_offset(out, host, n++, offset_at(host, row));
        }
    put_offset(out, host, n, host->nnz);
    return true;
}

static void stored_free(stored_rows *stored)
{
    free(stored->rows);
    free(stored->offsets);
}

static weft_dcsr stored_operand(explain_stage *s, const stored_rows *stored)
{
    weft_csr_host host = s->problem->sparse[0];
    stage_say(s, "A %" PRId64 " x %" PRId64 " with %" PRId64 " entries in %" PRId64 " rows",
              host.n_rows, host.n_cols, host.nnz, stored->n);
    const int64_t n_rows = host.n_rows;
    host.n_rows = stored->n;
    host.offsets = stored->offsets;
    const weft_csr alone = stage_csr(s, &host, STAGE_ALL);
    s->answer->bytes += (double)stored->n * (double)sizeof(int32_t);
    return (weft_dcsr){
        .n_rows = n_rows,
        .n_cols = alone.n_cols,
        .n_stored = stored->n,
        .nnz = alone.nnz,
        .offset_dtype = alone.offset_dtype,
        .index_dtype = alone.index_dtype,
        .dtype = alone.dtype,
        .rows = weft_rehearsal_buffer(s->ctx, stored->rows),
        .offsets = alone.offsets,
        .indices = alone.indices,
        .values = alone.values,
    };
}

static bool multiply_stored(explain_stage *s, const stored_rows *stored)
{
    const explain_options *o = s->options;
    weft_tensor B;
    const weft_dcsr A = stored_operand(s, stored);
    const weft_csr alone = weft_dcsr_stored(&A);
    if (!stage_operand(&B, s, 2, "B") || !stage_has_axes(s, &B, "B", 2, 3) || !stage_ends_at(s, 3))
        return false;
    const weft_tensor C = product_of(s, o->transpose_a ? A.n_cols : A.n_rows, &B);
    s->answer->operations = product_operations(&alone, &B);
    if (!o->no_plan &&
        !stage_called(s, weft_spmm_dcsr_plan_create(&s->plan, s->ctx, NULL, &A,
                                                    WEFT_SPMM_PLAN(.transpose_a = o->transpose_a))))
        return false;
    const weft_spmm_params *params = WEFT_SPMM(.plan = s->plan, .transpose_a = o->transpose_a,
                                               .reduction = o->product_reduction);
    return stage_called(s, weft_spmm_dcsr(s->ctx, NULL, 1, &A, &B, 0, &C, params)) &&
           stage_described(s, weft_spmm_dcsr_describe(s->ctx, &A, &B, &C, params, STAGE_PLAN(s)));
}

static bool explain_spmm_dcsr(explain_stage *s)
{
    stored_rows stored;
    const bool done = stored_make(&stored, s) && multiply_stored(s, &stored);
    stored_free(&stored);
    return done;
}

static bool explain_sddmm(explain_stage *s)
{
    weft_tensor A, B;
    const weft_csr C = stage_sparse(s, 0, "C", STAGE_ALL);
    if (!stage_operand(&A, s, 2, "A") || !stage_operand(&B, s, 3, "B") ||
        !stage_has_axes(s, &A, "A", 2, 3) || !stage_ends_at(s, 4))
        return false;
    const int64_t shape[2] = {A.ndim == 3 ? A.shape[0] : C.nnz, C.nnz};
    const weft_tensor D = stage_view(s, s->options->dtype, A.ndim - 1, shape, false);
    const double n_batches = A.ndim == 3 ? (double)A.shape[0] : 1;
    s->answer->operations = (2 * (double)A.shape[A.ndim - 1] + 1) * (double)C.nnz * n_batches;
    return stage_called(s, weft_sddmm(s->ctx, NULL, 1, &A, &B, &C, 0, &D, NULL)) &&
           stage_described(s, weft_sddmm_describe(s->ctx, &A, &B, &C, &D, NULL, STAGE_PLAN(s)));
}

// A factor of a sampled product, in either form.
typedef struct {
    weft_csr sparse;
    weft_tensor dense;
    weft_factor as_either;
} either_factor;

static bool factor_operand(either_factor *out, explain_stage *s, int i, const char *name)
{
    *out = (either_factor){.as_either = {.sparse = &out->sparse}};
    if (!stage_is_dense(s->options, i)) {
        out->sparse = stage_sparse(s, i, name, STAGE_ALL);
        return true;
    }
    out->as_either = (weft_factor){.dense = &out->dense};
    return stage_operand(&out->dense, s, 1 + i, name);
}

// A multiplication and an addition for each element of a row of B, or if that is dense of A, for
// each entry of C, and one by its value; rows count as equally long.
static double sampled_operations(const weft_csr *A, const weft_csr *B, const weft_csr *C,
                                 bool is_dense_b)
{
    const weft_csr *terms = is_dense_b ? A : B;
    return C->nnz > 0 ? (2 * (double)terms->nnz / (double)terms->n_rows + 1) * (double)C->nnz : 0;
}

static bool explain_sddmm_sparse(explain_stage *s)
{
    either_factor A, B;
    const weft_csr C = stage_sparse(s, 0, "C", STAGE_ALL);
    if (!factor_operand(&A, s, 1, "A") || !factor_operand(&B, s, 2, "B") || !stage_ends_at(s, 4))
        return false;
    const weft_tensor D = stage_view(s, s->options->dtype, 1, &C.nnz, false);
    s->answer->operations =
        sampled_operations(&A.sparse, &B.sparse, &C, stage_is_dense(s->options, 2));
    return stage_called(s, weft_sddmm_sparse(s->ctx, NULL, 1, &A.as_either, &B.as_either, &C, 0, &D,
                                             NULL)) &&
           stage_described(s, weft_sddmm_sparse_describe(s->ctx, &A.as_either, &B.as_either, &C, &D,
                                                         NULL, STAGE_PLAN(s)));
}

// ---- softmax, attention

static bool explain_sparse_softmax(explain_stage *s)
{
    const weft_csr X = stage_sparse(s, 0, "X", STAGE_OFFSETS | STAGE_VALUES);
    const weft_tensor Y = stage_view(s, X.dtype, 1, &X.nnz, false);
    s->answer->operations = SOFTMAX_OPERATIONS * (double)X.nnz;
    return stage_ends_at(s, 2) &&
           stage_called(s, weft_sparse_softmax(s->ctx, NULL, 1, &X, &Y, NULL)) &&
           stage_described(s, weft_sparse_softmax_describe(s->ctx, &X, &Y, NULL, STAGE_PLAN(s)));
}

static bool explain_sparse_softmax_backward(explain_stage *s)
{
    const weft_csr Y = stage_sparse(s, 0, "Y", STAGE_OFFSETS | STAGE_VALUES);
    const weft_tensor dY = stage_view(s, Y.dtype, 1, &Y.nnz, false);
    const weft_tensor dX = stage_view(s, Y.dtype, 1, &Y.nnz, false);
    s->answer->operations = SOFTMAX_BACKWARD_OPERATIONS * (double)Y.nnz;
    return stage_ends_at(s, 2) &&
           stage_called(s, weft_sparse_softmax_backward(s->ctx, NULL, 1, &Y, &dY, &dX, NULL)) &&
           stage_described(
               s, weft_sparse_softmax_backward_describe(s->ctx, &Y, &dY, &dX, NULL, STAGE_PLAN(s)));
}

static bool explain_attention(explain_stage *s)
{
    weft_tensor Q, V;
    const weft_csr M = stage_sparse(s, 0, "M", STAGE_OFFSETS | STAGE_INDICES);
    if (!stage_operand(&Q, s, 2, "Q") || !stage_has_axes(s, &Q, "Q", 2, 4) || !stage_ends_at(s, 4))
        return false;
    int64_t shape[WEFT_MAX_NDIM];
    memcpy(shape, Q.shape, sizeof(shape));
    const int last = Q.ndim - 1;
    shape[last - 1] = M.n_cols;
    const weft_tensor K = stage_view(s, s->options->dtype, Q.ndim, shape, false);
    if (s->options->n_words < 4)
        V = stage_view(s, s->options->dtype, Q.ndim, shape, false);
    else if (!stage_operand(&V, s, 3, "V") || !stage_has_axes(s, &V, "V", Q.ndim, Q.ndim))
        return false;
    shape[last - 1] = M.n_rows;
    shape[last] = V.shape[last];
    const weft_tensor O = stage_view(s, s->options->dtype, Q.ndim, shape, false);
    double heads = 1;
    for (int d = 0; d < last - 1; d++)
        heads *= (double)Q.shape[d];
    s->answer->entries = (double)M.nnz * heads;
    s->answer->weighted = 2 * (double)V.shape[last] * s->answer->entries;
    s->answer->operations =
        (2 * (double)Q.shape[last] + SOFTMAX_OPERATIONS) * s->answer->entries + s->answer->weighted;
    return stage_called(s, weft_sparse_attention(s->ctx, NULL, 1, &Q, &K, &V, &M, &O, NULL)) &&
           stage_described(
               s, weft_sparse_attention_describe(s->ctx, &Q, &K, &V, &M, &O, NULL, STAGE_PLAN(s)));
}

// ---- a layer: the calls are SpMM and SDDMM, which say what they would do

// The layer's weights, and its operand of n columns.
static bool linear_operands(weft_csr *W, weft_tensor *t, explain_stage *s, const char *name,
                            unsigned arrays)
{
    *W = stage_sparse(s, 0, "W", arrays);
    return stage_operand(t, s, 2, name) && stage_has_axes(s, t, name, 2, 3) && stage_ends_at(s, 3);
}

// With a bias, which is added to each element.
static bool explain_sparse_linear(explain_stage *s)
{
    weft_csr W;
    weft_tensor X;
    if (!linear_operands(&W, &X, s, "X", STAGE_ALL))
        return false;
    const weft_tensor Y = product_of(s, W.n_rows, &X);
    const weft_tensor bias = stage_view(s, X.dtype, 1, &W.n_rows, false);
    s->answer->operations = product_operations(&W, &X) + stage_elements(&Y);
    return make_plan(s, &W, false) &&
           stage_called(s,
                        weft_sparse_linear(s->ctx, NULL, &W, &X, &Y,
                                           WEFT_SPARSE_LINEAR(.plan = s->plan, .bias = &bias))) &&
           stage_described(s, weft_spmm_describe(s->ctx, &W, &X, &Y,
                                                 WEFT_SPMM(.plan = s->plan, .bias = &bias),
                                                 STAGE_PLAN(s)));
}

static bool explain_sparse_linear_dx(explain_stage *s)
{
    weft_csr W;
    weft_tensor dY;
    if (!linear_operands(&W, &dY, s, "dY", STAGE_ALL))
        return false;
    const weft_tensor dX = product_of(s, W.n_cols, &dY);
    s->answer->operations = product_operations(&W, &dY);
    return make_plan(s, &W, true) &&
           stage_called(s, weft_sparse_linear_dx(s->ctx, NULL, &W, &dY, &dX,
                                                 WEFT_SPARSE_LINEAR(.plan = s->plan))) &&
           stage_described(s, weft_spmm_describe(s->ctx, &W, &dY, &dX,
                                                 WEFT_SPMM(.plan = s->plan, .transpose_a = true),
                                                 STAGE_PLAN(s)));
}

static bool explain_sparse_linear_dw(explain_stage *s)
{
    weft_csr W;
    weft_tensor X;
    if (!linear_operands(&W, &X, s, "X", STAGE_OFFSETS | STAGE_INDICES))
        return false;
    const weft_tensor dY = product_of(s, W.n_rows, &X), Xt = weft_tensor_transposed(&X);
    const int64_t shape[2] = {X.ndim == 3 ? X.shape[0] : W.nnz, W.nnz};
    const weft_tensor dW = stage_view(s, X.dtype, X.ndim - 1, shape, false);
    s->answer->operations = product_operations(&W, &X);
    return stage_called(s, weft_sparse_linear_dw(s->ctx, NULL, &dY, &X, &W, &dW, NULL)) &&
           stage_described(s, weft_sddmm_describe(s->ctx, &dY, &Xt, &W, &dW,
                                                  WEFT_SDDMM(.indicator = true), STAGE_PLAN(s)));
}

const explain_operation explain_sparse_operations[] = {
    {"spmm", 1, true, explain_spmm},
    {"spmm_dcsr", 1, true, explain_spmm_dcsr},
    {"sddmm", 1, false, explain_sddmm},
    {"sddmm_sparse", 3, false, explain_sddmm_sparse},
    {"sparse_softmax", 1, false, explain_sparse_softmax},
    {"sparse_softmax_backward", 1, false, explain_sparse_softmax_backward},
    {"attention", 1, false, explain_attention},
    {"sparse_linear", 1, true, explain_sparse_linear},
    {"sparse_linear_dx", 1, true, explain_sparse_linear_dx},
    {"sparse_linear_dw", 1, false, explain_sparse_linear_dw},
    {NULL, 0, false, NULL},
};
