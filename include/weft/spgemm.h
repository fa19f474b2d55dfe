// SPDX-License-Identifier: Apache-2.0
// SpGEMM: sparse matrix times sparse matrix, with a sparse or a dense result.
#ifndef WEFT_SPGEMM_H
#define WEFT_SPGEMM_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_spgemm_params {
    size_t size;        // sizeof(weft_spgemm_params): WEFT_SPGEMM() fills it in
    const char *tiling; // NULL: weft chooses; else as weft_spgemm_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_spgemm_params;

#define WEFT_SPGEMM(...) WEFT_PARAMS(weft_spgemm_params, __VA_ARGS__)

// C = A B, in two steps, because the number of C's entries is unknown: the first computes C's
// offsets, the second its indices and values.
//
//   A  CSR [m x k]   f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   B  CSR [k x n]   the same data type; offsets and indices of its own types
//   C  CSR [m x n]   the same data type; offsets and indices of its own types
//
// A and B must be CSR. A CSC matrix is the CSR of its transpose (weft_csr_of_csc() of <weft/csc.h>;
// for a DCSC weft_dcsr_to_csr() of the DCSR from <weft/dcsc.h>), which weft_csr_transpose()
// transposes. weft_spgemm_dense() computes a dense C, in one step, and weft_sddmm_sparse() the
// product at the entries of a third matrix only.
//
// C has an entry for each element with a product of entries, also if its products cancel. C's
// columns ascend in each row; those of A and B need not, and repeated entries add up. Sums are f32
// (f64 for f64), over A's entries in their order, and are rounded to C's data type in the end: the
// same input gives the same bits. If a row of A has more than 4096 entries, its sums are
// compensated for rounding. The error of an element with n terms is at most
//
//   (n + 1) u sum |a b|     u = 2^-24 (2^-53 for f64), before it is rounded to C's data type
//   (3 + n u) u sum |a b|   in rows of A with more than 4096 entries, unless `columns` is 1
//
// Inf and NaN propagate as in the formula over the entries that are stored.
//
// weft_spgemm_count() writes offsets[0] to offsets[m]. It uses only the offsets, sizes and data
// types of C, reads no values, and C->nnz may hold anything. If `nnz` is not NULL it blocks until
// done, and stores the number of entries there; else the caller reads that from offsets[m].
// weft_spgemm() requires these offsets, and a C->nnz of offsets[m]. If patterns have changed since,
// rows are incomplete or invalid, but no row is written beyond its end. With i32 offsets the
// entries of C must not exceed 2^31 - 1, which is not checked.
//
// m, k and n up to 2^31 - 1. Arrays of C that are written must not overlap A or B. Enqueues and
// returns; otherwise it blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes. Columns of A and B are trusted, as in weft_spmm().
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Gustavson, "Two Fast Algorithms for Sparse Matrices: Multiplication and Permuted
// Transposition" (TOMS 1978), row by row. A sweep over a row's products sets a bit for each of
// their columns: an entry's position in the row is the number of bits before its own. Each sweep
// covers a stretch of columns, which begins at the column of the next product and is as wide as
// there are bits or, for several items, as the row has products. If there is a sum for each column
// of a stretch, and they are few for its products, the same sweep adds up; else each entry has a
// sum, and there is another sweep for every `columns` entries of the stretch. If products are few,
// one item reads only words with bits set. Each group that shares a long row sweeps over all of its
// products, and weft_spgemm() counts such rows' entries once more.
WEFT_API weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                       const weft_csr *B, const weft_csr *C, int64_t *nnz,
                                       const weft_spgemm_params *params);
WEFT_API weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                 const weft_csr *B, const weft_csr *C,
                                 const weft_spgemm_params *params);

// C = alpha A B + beta C, with C dense.
//
//   A, B  as above
//   C     dense [m x n], of their data type; any strides, fastest with stride 1 along n; no
//         overlapping elements
//
// Sums are as above, but begin at 0, and in rows of A with more than 4096 entries each 4096 are
// summed separately: the error of an element there is at most (4097 + n / 4096) u sum |a b|, if
// rows of B repeat no column. Sums are multiplied by alpha before beta C is added: alpha and beta
// are f32 (f64 for f64), and the result is rounded to C's data type once. If beta == 0, C is not
// read and may hold anything, also NaN. If alpha == 0, neither A nor B is read. m or n is 0: does
// nothing. alpha, k or either nnz is 0: C = beta C. If products cancel, or there are none, the sum
// is 0 whatever alpha is.
//
// All else as above. Rows are cut as by weft_spgemm(). Local memory has a sum for each column of a
// stretch, and no bits. One sweep over a row's products computes its first columns, and one each
// further stretch with products; C's entries are not counted first. If rows have one product for a
// thousand columns, weft_spgemm() and weft_csr_to_dense() are faster.
WEFT_API weft_status weft_spgemm_dense(weft_context *ctx, cl_command_queue queue, double alpha,
                                       const weft_csr *A, const weft_csr *B, double beta,
                                       const weft_tensor *C, const weft_spgemm_params *params);

// Bytes of scratch memory that weft_spgemm_count() and weft_spgemm() need; 0 where neither needs
// any. Compiles their kernels, because the tiling depends on them too.
WEFT_API weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                           const weft_csr *C, const weft_spgemm_params *params,
                                           size_t *bytes);

// Describes weft_spgemm_count() of these operands in words, like snprintf(). Compiles as above. The
// text is the tiling (its fields: docs/kernels/spgemm.md). Returns the length, or -1 after a
// failure.
WEFT_API int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params, char *text,
                                  size_t size);

// The same for weft_spgemm_dense().
WEFT_API weft_status weft_spgemm_dense_workspace(weft_context *ctx, const weft_csr *A,
                                                 const weft_csr *B, const weft_tensor *C,
                                                 const weft_spgemm_params *params, size_t *bytes);
WEFT_API int weft_spgemm_dense_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                        const weft_tensor *C, const weft_spgemm_params *params,
                                        char *text, size_t size);

WEFT_END

#endif
