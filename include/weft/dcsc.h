// SPDX-License-Identifier: Apache-2.0
// A sparse operand in doubly compressed sparse columns (DCSC), on the device: only columns with
// entries are stored. For matrices of which most columns are empty.
//
// Column cols[i] holds the entries offsets[i] .. offsets[i + 1] - 1: row indices[e], value
// values[e]. The same arrays are A^T in doubly compressed sparse rows, so that converting one to
// the other costs nothing.
//
//   0 5 0      cols     1 2
//   0 0 0      offsets  0 1 2
//   0 0 7      indices  0 2
//              values   5 7
//
// weft_dcsr_from_csr() of A^T by rows fills A by columns. Products with dense matrices are
// weft_spmm_dcsr() of T = weft_dcsr_of_dcsc(&A):
//
//   A^T B   as it is
//   A B     with .transpose_a, and a plan object made for that
//   B A     of B and C by weft_tensor_transposed(), as C^T = A^T B^T
//
// After Buluc and Gilbert, "On the Representation and Multiplication of Hypersparse Matrices"
// (IPDPS 2008).
#ifndef WEFT_DCSC_H
#define WEFT_DCSC_H

#include <weft/dcsr.h>

WEFT_BEGIN

// As weft_dcsr, with rows and columns exchanged.
typedef struct weft_dcsc {
    int64_t n_rows, n_cols, n_stored, nnz;
    weft_dtype offset_dtype; // i32 (default) or i64
    weft_dtype index_dtype;  // i32 (default), or i16 for up to 32768 rows
    weft_dtype dtype;        // of the values: f32 (default), f64, f16 or bf16
    cl_mem cols, offsets, indices, values;
    int64_t cols_start, offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_dcsc;

// A by columns as A^T by rows: the same buffers, which stay the caller's.
static inline weft_dcsr weft_dcsr_of_dcsc(const weft_dcsc *A)
{
    const weft_dcsr T = {
        A->n_cols,        A->n_rows,        A->n_stored,     A->nnz,
        A->offset_dtype,  A->index_dtype,   A->dtype,        A->cols,
        A->offsets,       A->indices,       A->values,       A->cols_start,
        A->offsets_start, A->indices_start, A->values_start, A->values_batch_stride};
    return T;
}

// A^T by rows as A by columns.
static inline weft_dcsc weft_dcsc_of_dcsr(const weft_dcsr *T)
{
    const weft_dcsc A = {
        T->n_cols,        T->n_rows,        T->n_stored,     T->nnz,
        T->offset_dtype,  T->index_dtype,   T->dtype,        T->rows,
        T->offsets,       T->indices,       T->values,       T->rows_start,
        T->offsets_start, T->indices_start, T->values_start, T->values_batch_stride};
    return A;
}

WEFT_END

#endif
