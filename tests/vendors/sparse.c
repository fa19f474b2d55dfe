// SPDX-License-Identifier: Apache-2.0
// Problems of sparse products, softmax and attention.
#include <inttypes.h>
#include <stdio.h>

#include "problem.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

// ---- sparse times dense

typedef struct spmm_problem {
    int64_t m, k, row, n; // `row` entries in each row
    weft_dtype dtype;
    problem_rows rows;
    bool with_plan, transpose_a;
    weft_spmm_reduction reduction;
    weft_activation activation;
} spmm_problem;

static const spmm_problem spmm_problems[] = {
    {2048, 2048, 204, 128, WEFT_F32, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 128, WEFT_F32, ROWS_EVEN, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 256, WEFT_F32, ROWS_EVEN, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 512, 256, 128, WEFT_F32, ROWS_EVEN, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_GELU},
    {2048, 2048, 204, 128, WEFT_F32, ROWS_EVEN, true, true, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 128, WEFT_F64, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 128, WEFT_F16, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 128, WEFT_F16, ROWS_EVEN, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 128, WEFT_BF16, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 32, WEFT_F32, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {2048, 2048, 204, 32, WEFT_F32, ROWS_EVEN, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {8192, 8192, 80, 1, WEFT_F32, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {8192, 8192, 80, 33, WEFT_F32, ROWS_EVEN, false, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {8192, 8192, 8, 64, WEFT_F32, ROWS_ONE_FULL, true, false, WEFT_SPMM_SUM, WEFT_ACTIVATION_NONE},
    {8192, 8192, 8, 64, WEFT_F32, ROWS_EVEN, false, false, WEFT_SPMM_MEAN, WEFT_ACTIVATION_NONE},
    {8192, 8192, 8, 64, WEFT_F32, ROWS_ONE_FULL, true, false, WEFT_SPMM_MAX, WEFT_ACTIVATION_NONE},
    {8192, 8192, 8, 100, WEFT_F16, ROWS_EVEN, false, false, WEFT_SPMM_MIN, WEFT_ACTIVATION_RELU},
};

static void spmm(weft_context *ctx, cl_command_queue queue, const spmm_problem *p)
{
    if (!problem_has(ctx, p->dtype))
        return;
    problem_begin(
        "spmm, %s of %" PRId64 " x %" PRId64 " with rows of %" PRId64 "%s, n %" PRId64 ", %s%s%s",
        weft_spmm_reduction_name(p->reduction), p->m, p->k, p->row,
        p->rows == ROWS_ONE_FULL ? " and a full one" : "", p->n, weft_dtype_name(p->dtype),
        p->with_plan ? ", a plan" : "", p->transpose_a ? ", A transposed" : "");
    const weft_csr A = problem_csr(ctx, p->dtype, p->m, p->k, p->row, p->rows);
    const weft_tensor B = ARRAY(ctx, p->dtype, p->transpose_a ? p->m : p->k, p->n);
    const weft_tensor C = ARRAY(ctx, p->dtype, p->transpose_a ? p->k : p->m, p->n);
    const weft_tensor bias = ARRAY(ctx, p->dtype, C.shape[0]);
    const weft_tensor arguments = ARRAY(ctx, WEFT_I32, C.shape[0], p->n);
    const bool is_peak = p->reduction == WEFT_SPMM_MAX || p->reduction == WEFT_SPMM_MIN;
    weft_spmm_plan *plan = NULL;
    if (p->with_plan)
        CALL(weft_spmm_plan_create(&plan, ctx, queue, &A,
                                   WEFT_SPMM_PLAN(.transpose_a = p->transpose_a)));
    CALL(weft_spmm(ctx, queue, 1, &A, &B, 0, &C,
                   WEFT_SPMM(.plan = plan, .transpose_a = p->transpose_a, .reduction = p->reduction,
                             .arguments = is_peak ? &arguments : NULL,
                             .bias = p->activation ? &bias : NULL, .activation = p->activation)));
    weft_spmm_plan_destroy(&plan);
    problem_end();
}

// ---- products at the entries of a sparse matrix

typedef struct sddmm_problem {
    int64_t m, n, row, k;
    weft_dtype dtype;
    bool b_row_major;
} sddmm_problem;

static const sddmm_problem sddmm_problems[] = {
    {2048, 2048, 204, 128, WEFT_F32, false}, {2048, 2048, 204, 512, WEFT_F32, false},
    {2048, 2048, 204, 100, WEFT_F32, false}, {2048, 2048, 204, 33, WEFT_F32, false},
    {2048, 2048, 204, 128, WEFT_F32, true},  {2048, 2048, 204, 128, WEFT_F64, false},
    {2048, 2048, 204, 128, WEFT_F16, false}, {2048, 2048, 204, 128, WEFT_BF16, false},
    {65536, 65536, 8, 16, WEFT_F32, false},
};

static void sddmm(weft_context *ctx, cl_command_queue queue, const sddmm_problem *p)
{
    if (!problem_has(ctx, p->dtype))
        return;
    problem_begin(
        "sddmm of %" PRId64 " x %" PRId64 " with rows of %" PRId64 ", k %" PRId64 ", %s%s", p->m,
        p->n, p->row, p->k, weft_dtype_name(p->dtype), p->b_row_major ? ", B row-major" : "");
    const weft_csr C = problem_csr(ctx, p->dtype, p->m, p->n, p->row, ROWS_EVEN);
    const weft_tensor A = ARRAY(ctx, p->dtype, p->m, p->k), D = ARRAY(ctx, p->dtype, C.nnz);
    weft_tensor B =
        p->b_row_major ? ARRAY(ctx, p->dtype, p->k, p->n) : ARRAY(ctx, p->dtype, p->n, p->k);
    B = p->b_row_major ? B : weft_tensor_transposed(&B);
    CALL(weft_sddmm(ctx, queue, 1, &A, &B, &C, 0, &D, NULL));
    problem_end();
}

// ---- the same of sparse factors

typedef struct masked_problem {
    int64_t m, n, k, row; // `row` entries of C in each row
    int64_t a_row, b_row; // of A, of B; 0: dense
    weft_dtype dtype;
} masked_problem;

static const masked_problem masked_problems[] = {
    {2048, 2048, 2048, 204, 204, 204, WEFT_F32}, {8192, 8192, 65536, 8, 16, 16, WEFT_F32},
    {2048, 2048, 128, 204, 0, 13, WEFT_F32},     {2048, 2048, 65536, 204, 0, 64, WEFT_F32},
    {2048, 2048, 128, 204, 13, 0, WEFT_F32},     {8192, 8192, 8192, 8, 1024, 0, WEFT_F32},
    {2048, 2048, 2048, 204, 204, 204, WEFT_F64}, {2048, 2048, 128, 204, 13, 0, WEFT_F64},
    {2048, 2048, 2048, 204, 20, 20, WEFT_F16},   {2048, 2048, 128, 204, 13, 0, WEFT_F16},
    {2048, 2048, 2048, 204, 20, 20, WEFT_BF16},  {2048, 2048, 128, 204, 0, 13, WEFT_BF16},
};

static void masked(weft_context *ctx, cl_command_queue queue, const masked_problem *p)
{
    if (!problem_has(ctx, p->dtype))
        return;
    problem_begin("sddmm_sparse of %" PRId64 " x %" PRId64 " with rows of %" PRId64 ", k %" PRId64
                  ", %s A, %s B, %s",
                  p->m, p->n, p->row, p->k, p->a_row ? "sparse" : "dense",
                  p->b_row ? "sparse" : "dense", weft_dtype_name(p->dtype));
    const weft_csr C = problem_csr(ctx, p->dtype, p->m, p->n, p->row, ROWS_EVEN);
    const weft_csr A = problem_csr(ctx, p->dtype, p->m, p->k, p->a_row, ROWS_EVEN);
    const weft_csr B = problem_csr(ctx, p->dtype, p->n, p->k, p->b_row, ROWS_EVEN);
    const weft_tensor dense_A = ARRAY(ctx, p->dtype, p->m, p->k);
    const weft_tensor dense_B = ARRAY(ctx, p->dtype, p->n, p->k);
    const weft_tensor D = ARRAY(ctx, p->dtype, C.nnz);
    CALL(weft_sddmm_sparse(ctx, queue, 1, p->a_row ? WEFT_SPARSE(&A) : WEFT_DENSE(&dense_A),
                           p->b_row ? WEFT_SPARSE(&B) : WEFT_DENSE(&dense_B), &C, 0, &D, NULL));
    problem_end();
}

// ---- softmax of sparse rows

static void sparse_softmax(weft_context *ctx, cl_command_queue queue, int64_t m, int64_t n,
                           int64_t row, problem_rows rows, weft_dtype dtype)
{
    if (!problem_has(ctx, dtype))
        return;
    const weft_csr X = problem_csr(ctx, dtype, m, n, row, rows);
    const weft_tensor dY = ARRAY(ctx, dtype, X.nnz), Y = ARRAY(ctx, dtype, X.nnz);
    problem_begin("sparse_softmax of %" PRId64 " rows of %" PRId64 "%s, %s", m, row,
                  rows == ROWS_ONE_FULL ? " and a full one" : "", weft_dtype_name(dtype));
    CALL(weft_sparse_softmax(ctx, queue, 0.125, &X, &Y, NULL));
    problem_begin("sparse_softmax_backward of %" PRId64 " rows of %" PRId64 "%s, %s", m, row,
                  rows == ROWS_ONE_FULL ? " and a full one" : "", weft_dtype_name(dtype));
    CALL(weft_sparse_softmax_backward(ctx, queue, 0.125, &X, &dY, &Y, NULL));
    problem_end();
}

// ---- attention

static void attention(weft_context *ctx, cl_command_queue queue, int64_t k, int64_t d,
                      problem_rows rows, weft_dtype dtype)
{
    enum { HEADS = 8 };
    if (!problem_has(ctx, dtype))
        return;
    const int64_t length = rows == ROWS_ONE_FULL ? 8192 : 2048;
    problem_begin("sparse_attention of %d heads of %" PRId64 "%s, k %" PRId64 ", d %" PRId64 ", %s",
                  HEADS, length, rows == ROWS_ONE_FULL ? " with a full row" : "", k, d,
                  weft_dtype_name(dtype));
    const weft_csr M = problem_csr(ctx, WEFT_F32, length, length, 64, rows);
    const weft_tensor Q = ARRAY(ctx, dtype, HEADS, length, k),
                      K = ARRAY(ctx, dtype, HEADS, length, k);
    const weft_tensor V = ARRAY(ctx, dtype, HEADS, length, d),
                      O = ARRAY(ctx, dtype, HEADS, length, d);
    CALL(weft_sparse_attention(ctx, queue, 0.125, &Q, &K, &V, &M, &O, NULL));
    problem_end();
}

void problems_sparse(weft_context *ctx, cl_command_queue queue)
{
    static const weft_dtype reals[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};
    for (int i = 0; i < COUNT(spmm_problems); i++)
        spmm(ctx, queue, &spmm_problems[i]);
    for (int i = 0; i < COUNT(sddmm_problems); i++)
        sddmm(ctx, queue, &sddmm_problems[i]);
    for (int i = 0; i < COUNT(masked_problems); i++)
        masked(ctx, queue, &masked_problems[i]);
    sparse_softmax(ctx, queue, 1 << 14, 4096, 256, ROWS_EVEN, WEFT_F32);
    sparse_softmax(ctx, queue, 1 << 15, 1 << 15, 8, ROWS_ONE_FULL, WEFT_F32);
    attention(ctx, queue, 128, 128, ROWS_EVEN, WEFT_F32);
    attention(ctx, queue, 40, 40, ROWS_EVEN, WEFT_F32);
    attention(ctx, queue, 64, 512, ROWS_EVEN, WEFT_F32);
    attention(ctx, queue, 64, 64, ROWS_ONE_FULL, WEFT_F32);
    for (int i = 0; i < COUNT(reals); i++) {
        sparse_softmax(ctx, queue, 4096, 4096, 128, ROWS_EVEN, reals[i]);
        attention(ctx, queue, 64, 64, ROWS_EVEN, reals[i]);
    }
}
