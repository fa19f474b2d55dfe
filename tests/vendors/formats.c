// SPDX-License-Identifier: Apache-2.0
// Problems of sparse formats: conversions, transposes, values in another order, sparse products.
#include <inttypes.h>
#include <stdio.h>

#include "problem.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { ROWS = 4096, COLUMNS = 2048, ENTRIES = 64 }; // ENTRIES in each row
enum { WIDE = 300000 }; // columns of a product in which groups share long rows

static void dense(weft_context *ctx, cl_command_queue queue, weft_dtype dtype)
{
    const weft_csr A = problem_csr(ctx, dtype, ROWS, COLUMNS, ENTRIES, ROWS_EVEN);
    const weft_tensor D = ARRAY(ctx, dtype, ROWS, COLUMNS);
    problem_begin("csr_to_dense of %d x %d, %s", ROWS, COLUMNS, weft_dtype_name(dtype));
    CALL(weft_csr_to_dense(ctx, queue, &A, &D, NULL));
    problem_begin("dense_to_csr of %d x %d, %s", ROWS, COLUMNS, weft_dtype_name(dtype));
    CALL(weft_dense_to_csr_count(ctx, queue, &D, &A, NULL, NULL));
    CALL(weft_dense_to_csr(ctx, queue, &D, &A, NULL));
    problem_end();
}

static void transpose(weft_context *ctx, cl_command_queue queue, weft_dtype dtype)
{
    const weft_csr A = problem_csr(ctx, dtype, ROWS, COLUMNS, ENTRIES, ROWS_EVEN);
    const weft_csr T = problem_csr(ctx, dtype, COLUMNS, ROWS, ENTRIES * ROWS / COLUMNS, ROWS_EVEN);
    const weft_tensor source = ARRAY(ctx, WEFT_I32, A.nnz);
    const weft_tensor values = {A.values, dtype, 0, 1, {A.nnz}, {1}};
    const weft_tensor out = {T.values, dtype, 0, 1, {A.nnz}, {1}};
    problem_begin("csr_transpose of %d x %d, %s", ROWS, COLUMNS, weft_dtype_name(dtype));
    CALL(weft_csr_transpose(ctx, queue, &A, &T, WEFT_CSR_TRANSPOSE(.source = &source)));
    problem_begin("sparse_gather of %" PRId64 " values, %s", A.nnz, weft_dtype_name(dtype));
    CALL(weft_sparse_gather(ctx, queue, &values, &source, &out, NULL));
    problem_end();
}

static void stored_rows(weft_context *ctx, cl_command_queue queue)
{
    problem_begin("dcsr of %d x %d", ROWS, COLUMNS);
    const weft_csr A = problem_csr(ctx, WEFT_F32, ROWS, COLUMNS, ENTRIES, ROWS_EVEN);
    const weft_tensor rows = ARRAY(ctx, WEFT_I32, ROWS), offsets = ARRAY(ctx, WEFT_I32, ROWS + 1);
    const weft_dcsr D = {.n_rows = ROWS,
                         .n_cols = COLUMNS,
                         .n_stored = ROWS,
                         .nnz = A.nnz,
                         .rows = rows.buffer,
                         .offsets = offsets.buffer,
                         .indices = A.indices,
                         .values = A.values};
    int64_t n_stored;
    CALL(weft_dcsr_count(ctx, queue, &A, &n_stored, NULL));
    CALL(weft_dcsr_from_csr(ctx, queue, &A, &D, NULL));
    const weft_tensor whole = ARRAY(ctx, WEFT_I32, ROWS + 1);
    weft_csr back = A;
    back.offsets = whole.buffer;
    CALL(weft_dcsr_to_csr(ctx, queue, &D, &back, NULL));
    problem_end();
}

// All that a product by stored rows may run: long rows in row chunks, and arguments.
static void spmm_of_stored_rows(weft_context *ctx, cl_command_queue queue, weft_dtype dtype,
                                weft_spmm_reduction reduction)
{
    problem_begin("spmm_dcsr of %d rows of %d, %s, %s", ROWS, 2 * ROWS,
                  weft_spmm_reduction_name(reduction), weft_dtype_name(dtype));
    const weft_csr stored = problem_csr(ctx, dtype, ROWS, COLUMNS, ENTRIES, ROWS_ONE_FULL);
    const weft_tensor rows = ARRAY(ctx, WEFT_I32, ROWS);
    const weft_dcsr D = {.n_rows = 2 * ROWS,
                         .n_cols = COLUMNS,
                         .n_stored = ROWS,
                         .nnz = stored.nnz,
                         .dtype = dtype,
                         .rows = rows.buffer,
                         .offsets = stored.offsets,
                         .indices = stored.indices,
                         .values = stored.values};
    const weft_tensor B = ARRAY(ctx, dtype, COLUMNS, 128), C = ARRAY(ctx, dtype, 2 * ROWS, 128);
    const weft_tensor arguments = ARRAY(ctx, WEFT_I32, 2 * ROWS, 128);
    CALL(weft_spmm_dcsr(ctx, queue, 1, &D, &B, 0, &C,
                        WEFT_SPMM(.reduction = reduction,
                                  .arguments = reduction == WEFT_SPMM_MAX ? &arguments : NULL)));
    problem_end();
}

static void spgemm(weft_context *ctx, cl_command_queue queue, int64_t row, int64_t n,
                   weft_dtype dtype)
{
    problem_begin("spgemm of %d x %d with rows of %" PRId64 " and %" PRId64 " columns, %s", COLUMNS,
                  COLUMNS, row, n, weft_dtype_name(dtype));
    const weft_csr A = problem_csr(ctx, dtype, COLUMNS, COLUMNS, row, ROWS_EVEN);
    const weft_csr B = problem_csr(ctx, dtype, COLUMNS, n, row, ROWS_EVEN);
    const weft_csr C = problem_csr(ctx, dtype, COLUMNS, n, 2 * row, ROWS_EVEN);
    CALL(weft_spgemm_count(ctx, queue, &A, &B, &C, NULL, NULL));
    CALL(weft_spgemm(ctx, queue, &A, &B, &C, NULL));
    const weft_tensor D = ARRAY(ctx, dtype, COLUMNS, n);
    CALL(weft_spgemm_dense(ctx, queue, 1, &A, &B, 1, &D, NULL));
    problem_end();
}

void problems_formats(weft_context *ctx, cl_command_queue queue)
{
    static const weft_dtype reals[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};
    for (int i = 0; i < COUNT(reals); i++) {
        if (!problem_has(ctx, reals[i]))
            continue;
        dense(ctx, queue, reals[i]);
        transpose(ctx, queue, reals[i]);
        spgemm(ctx, queue, 8, COLUMNS, reals[i]);
        spgemm(ctx, queue, 8, WIDE, reals[i]);
    }
    spgemm(ctx, queue, 41, WIDE, WEFT_F32); // whose rows groups sort one by one
    spgemm(ctx, queue, 128, COLUMNS, WEFT_F32);
    stored_rows(ctx, queue);
    spmm_of_stored_rows(ctx, queue, WEFT_F32, WEFT_SPMM_SUM);
    spmm_of_stored_rows(ctx, queue, WEFT_BF16, WEFT_SPMM_MEAN);
    spmm_of_stored_rows(ctx, queue, WEFT_F32, WEFT_SPMM_MAX);
}
