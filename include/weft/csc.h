// SPDX-License-Identifier: Apache-2.0
// A sparse operand in compressed sparse columns (CSC), on the device.
//
// Column c holds the entries offsets[c] .. offsets[c + 1] - 1: row indices[e], value values[e]. The
// same arrays are A^T in compressed sparse rows, so that converting one to the other costs nothing:
//
//   weft_csr T = weft_csr_of_csc(&A);                  // A^T by rows
//   weft_csr_transpose(ctx, queue, &A_csr, &T, NULL);  // fills A by columns
//
// Products with dense matrices are weft_spmm() of T:
//
//   A^T B   as it is
//   A B     with .transpose_a, and a plan object made for that
//   B A     of B and C by weft_tensor_transposed(), as C^T = A^T B^T
#ifndef WEFT_CSC_H
#define WEFT_CSC_H

#include <weft/csr.h>

WEFT_BEGIN

// As weft_csr, with rows and columns exchanged.
typedef struct weft_csc {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype; // i32 (default) or i64
    weft_dtype index_dtype;  // i32 (default), or i16 for up to 32768 rows
    weft_dtype dtype;        // of the values: f32 (default), f64, f16 or bf16
    cl_mem offsets, indices, values;
    int64_t offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_csc;

// A by columns as A^T by rows: the same buffers, which stay the caller's.
static inline weft_csr weft_csr_of_csc(const weft_csc *A)
{
    const weft_csr T = {A->n_cols,
                        A->n_rows,
                        A->nnz,
                        A->offset_dtype,
                        A->index_dtype,
                        A->dtype,
                        A->offsets,
                        A->indices,
                        A->values,
                        A->offsets_start,
                        A->indices_start,
                        A->values_start,
                        A->values_batch_stride};
    return T;
}

// A^T by rows as A by columns.
static inline weft_csc weft_csc_of_csr(const weft_csr *T)
{
    const weft_csc A = {T->n_cols,
                        T->n_rows,
                        T->nnz,
                        T->offset_dtype,
                        T->index_dtype,
                        T->dtype,
                        T->offsets,
                        T->indices,
                        T->values,
                        T->offsets_start,
                        T->indices_start,
                        T->values_start,
                        T->values_batch_stride};
    return A;
}

WEFT_END

#endif
