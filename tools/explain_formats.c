// SPDX-License-Identifier: Apache-2.0
// Conversions of sparse matrices in weft explain. Moving numbers is no operation. If one call
// counts entries for another, both are rehearsed, but for weft_dcsr_count(), whose kernels the
// other begins with; operands that both read are counted once.
#include <inttypes.h>
#include <math.h>

#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/dcsr.h>
#include <weft/sparse_gather.h>
#include <weft/spgemm.h>

#include "explain_stage.h"

// ---- conversions

static bool explain_csr_transpose(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_ALL);
    const weft_csr_host sizes = {
        .n_rows = A.n_cols, .n_cols = A.n_rows, .nnz = A.nnz, .offset_dtype = A.offset_dtype};
    const weft_csr T = stage_csr(s, &sizes, STAGE_ALL);
    return stage_ends_at(s, 2) && stage_called(s, weft_csr_transpose(s->ctx, NULL, &A, &T, NULL)) &&
           stage_described(s, weft_csr_transpose_describe(s->ctx, &A, &T, NULL, STAGE_PLAN(s)));
}

static bool explain_csr_to_dense(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_ALL);
    const int64_t shape[2] = {A.n_rows, A.n_cols};
    const weft_tensor D = stage_view(s, A.dtype, 2, shape, false);
    return stage_ends_at(s, 2) && stage_called(s, weft_csr_to_dense(s->ctx, NULL, &A, &D, NULL)) &&
           stage_described(s, weft_csr_to_dense_describe(s->ctx, &A, &D, NULL, STAGE_PLAN(s)));
}

// Each element is compared with the threshold.
static bool explain_dense_to_csr(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "D", STAGE_ALL);
    const int64_t shape[2] = {A.n_rows, A.n_cols};
    const weft_tensor D = stage_view(s, A.dtype, 2, shape, false);
    s->answer->operations = stage_elements(&D);
    return stage_ends_at(s, 2) &&
           stage_called(s, weft_dense_to_csr_count(s->ctx, NULL, &D, &A, NULL, NULL)) &&
           stage_called(s, weft_dense_to_csr(s->ctx, NULL, &D, &A, NULL)) &&
           stage_described(s, weft_dense_to_csr_describe(s->ctx, &D, &A, NULL, STAGE_PLAN(s)));
}

// ---- rows with entries alone

// Its rows and offsets; entries are A's own, and are not read.
static weft_dcsr stored_operand(explain_stage *s, const weft_csr *A)
{
    const int64_t n_stored = stage_stored_rows(s);
    stage_say(s, ", D of %" PRId64 " rows", n_stored);
    const weft_tensor rows = stage_view(s, WEFT_I32, 1, &n_stored, false);
    const weft_csr_host sizes = {
        .n_rows = n_stored, .n_cols = A->n_cols, .nnz = A->nnz, .offset_dtype = A->offset_dtype};
    const weft_csr stored = stage_csr(s, &sizes, STAGE_OFFSETS);
    return (weft_dcsr){
        .n_rows = A->n_rows,
        .n_cols = A->n_cols,
        .n_stored = n_stored,
        .nnz = A->nnz,
        .offset_dtype = A->offset_dtype,
        .index_dtype = A->index_dtype,
        .dtype = A->dtype,
        .rows = rows.buffer,
        .offsets = stored.offsets,
        .indices = A->indices,
        .values = A->values,
    };
}

// The kernels of weft_dcsr_count() are the first ones.
static bool explain_dcsr_from_csr(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_OFFSETS);
    const weft_dcsr D = stored_operand(s, &A);
    return stage_ends_at(s, 2) && stage_called(s, weft_dcsr_from_csr(s->ctx, NULL, &A, &D, NULL));
}

static bool explain_dcsr_to_csr(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_OFFSETS);
    const weft_dcsr D = stored_operand(s, &A);
    return stage_ends_at(s, 2) && stage_called(s, weft_dcsr_to_csr(s->ctx, NULL, &D, &A, NULL));
}

// ---- values in another order

// All of them, each once.
static bool explain_sparse_gather(explain_stage *s)
{
    weft_tensor values;
    if (!stage_operand(&values, s, 1, "values") || !stage_has_axes(s, &values, "values", 1, 2) ||
        !stage_ends_at(s, 2))
        return false;
    const int64_t n = values.shape[values.ndim - 1];
    const weft_tensor source = stage_view(s, n > INT32_MAX ? WEFT_I64 : WEFT_I32, 1, &n, false);
    const weft_tensor out = stage_view(s, values.dtype, values.ndim, values.shape, false);
    return stage_called(s, weft_sparse_gather(s->ctx, NULL, &values, &source, &out, NULL));
}

// ---- sparse x sparse

// Entries of C if those of A and B are uniformly random: the share of places where any of k pairs
// matches.
static double expected_entries(const weft_csr *A, const weft_csr *B)
{
    const double m = (double)A->n_rows, k = (double)A->n_cols, n = (double)B->n_cols;
    if (A->nnz == 0 || B->nnz == 0)
        return 0;
    const double pair = (double)A->nnz / (m * k) * ((double)B->nnz / (k * n));
    return -expm1(k * log1p(-pair)) * m * n;
}

// A multiplication and an addition for each pair of an entry of A and one of the matching row of B;
// rows of B count as equally long.
static double product_operations(const weft_csr *A, const weft_csr *B)
{
    return B->n_rows > 0 ? 2 * (double)A->nnz * (double)B->nnz / (double)B->n_rows : 0;
}

static bool explain_spgemm(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_ALL), B = stage_sparse(s, 1, "B", STAGE_ALL);
    weft_csr_host sizes = {
        .n_rows = A.n_rows, .n_cols = B.n_cols, .nnz = llround(expected_entries(&A, &B))};
    sizes.offset_dtype = sizes.nnz > INT32_MAX ? WEFT_I64 : WEFT_I32;
    const weft_csr C = stage_csr(s, &sizes, STAGE_ALL);
    stage_say(s, ", C with about %" PRId64, C.nnz);
    s->answer->operations = product_operations(&A, &B);
    return stage_ends_at(s, 3) &&
           stage_called(s, weft_spgemm_count(s->ctx, NULL, &A, &B, &C, NULL, NULL)) &&
           stage_called(s, weft_spgemm(s->ctx, NULL, &A, &B, &C, NULL)) &&
           stage_described(s, weft_spgemm_describe(s->ctx, &A, &B, &C, NULL, STAGE_PLAN(s)));
}

static bool explain_spgemm_dense(explain_stage *s)
{
    const weft_csr A = stage_sparse(s, 0, "A", STAGE_ALL), B = stage_sparse(s, 1, "B", STAGE_ALL);
    const int64_t shape[] = {A.n_rows, B.n_cols};
    const weft_tensor C = stage_view(s, A.dtype, 2, shape, false);
    s->answer->operations = product_operations(&A, &B);
    return stage_ends_at(s, 3) &&
           stage_called(s, weft_spgemm_dense(s->ctx, NULL, 1, &A, &B, 0, &C, NULL)) &&
           stage_described(s, weft_spgemm_dense_describe(s->ctx, &A, &B, &C, NULL, STAGE_PLAN(s)));
}

const explain_operation explain_format_operations[] = {
    {"csr_transpose", 1, false, explain_csr_transpose},
    {"csr_to_dense", 1, false, explain_csr_to_dense},
    {"dense_to_csr", 1, false, explain_dense_to_csr},
    {"dcsr_from_csr", 1, false, explain_dcsr_from_csr},
    {"dcsr_to_csr", 1, false, explain_dcsr_to_csr},
    {"sparse_gather", 0, false, explain_sparse_gather},
    {"spgemm", 2, false, explain_spgemm},
    {"spgemm_dense", 2, false, explain_spgemm_dense},
    {NULL, 0, false, NULL},
};
