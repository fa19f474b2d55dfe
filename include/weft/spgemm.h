// SPDX-License-Identifier: Apache-2.0
// SpGEMM: sparse matrix times sparse matrix, to a sparse or a dense one.
#ifndef WEFT_SPGEMM_H
#define WEFT_SPGEMM_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_spgemm_params {
    size_t size;        // sizeof(weft_spgemm_params): WEFT_SPGEMM() fills it in
    const char *tiling; // NULL: weft chooses; else as weft_spgemm_describe() prints it
    cl_mem workspace;   // scratch of the caller's; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_spgemm_params;

#define WEFT_SPGEMM(...) WEFT_PARAMS(weft_spgemm_params, __VA_ARGS__)

// C = A B, in two steps, because the number of C's entries is not known: the first finds C's
// offsets, the second its indices and values.
//
//   A  CSR [m x k]   f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   B  CSR [k x n]   the same data type; offsets and indices of its own types
//   C  CSR [m x n]   the same data type; offsets and indices of its own types
//
// A matrix by columns is its transpose by rows (weft_csr_of_csc() of <weft/csc.h>, for a DCSC
// weft_dcsr_to_csr() of the DCSR from <weft/dcsc.h>), and weft_csr_transpose() of that the matrix
// by rows, as A and B must be here. weft_spgemm_dense() makes C dense, in one step, and
// weft_sddmm_sparse() computes the product only at the entries of a third matrix.
//
// C has an entry wherever A and B have entries that meet, also where products cancel. Its columns
// rise in each row; those of A and B need not, and repeated entries add up. Sums are f32 (f64 for
// f64), over A's entries in their order, and are rounded to C's data type in the end: the same
// input gives the same bits. Where a row of A has more than 4096 entries, its sums are compensated
// for rounding. An element with n terms errs by at most
//
//   (n + 1) u sum |a b|     u = 2^-24 (2^-53 for f64), before it is rounded to C's data type
//   (3 + n u) u sum |a b|   in rows of A with more than 4096 entries, unless `columns` is 1
//
// Inf and NaN go through as in the formula over the entries that are stored.
//
// weft_spgemm_count() writes offsets[0] to offsets[m] and uses nothing else of C's but its sizes
// and data types, and no values; C->nnz may hold anything. With `nnz` not NULL it blocks until all
// is done, and stores there how many entries there are; else the caller finds that in offsets[m].
// weft_spgemm() requires these offsets, and a C->nnz of offsets[m]. With patterns that have changed
// since, rows come out short or invalid, but no row is written beyond its end. With i32 offsets the
// entries of C must not exceed 2^31 - 1, which is not checked.
//
// m, k and n up to 2^31 - 1. No byte of C that is written is shared with A or B. Enqueues and
// returns; it blocks, besides, only while a kernel is compiled for the first time, and where
// scratch memory in use by unfinished calls leaves too little (a workspace of the caller's avoids
// that; it shares no byte with an operand, and is the call's until `event` completes). Buffers stay
// yours; keep them until `event` completes. Columns that A and B name are trusted, as weft_spmm()
// has it.
// Nothing is enqueued where a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Gustavson, "Two Fast Algorithms for Sparse Matrices: Multiplication and Permuted
// Transposition" (TOMS 1978), row by row. A sweep over a row's products marks their columns, a bit
// each: an entry's place in the row is the number of marks before its own. Sweeps go stretch by
// stretch, each from the next product's column on, as wide as there are marks for, or for several
// items as the row has products. Where a stretch has as few columns as there are sums, and few for
// its products, each column has a sum and the same sweep adds up; else each entry has one, and
// there is another sweep for every `columns` entries of the stretch. Where products are few, one
// item reads only words of marks that have any. Each group that shares a long row sweeps over all
// of its products, and weft_spgemm() counts such rows' entries once more.
WEFT_API weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                       const weft_csr *B, const weft_csr *C, int64_t *nnz,
                                       const weft_spgemm_params *params);
WEFT_API weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                 const weft_csr *B, const weft_csr *C,
                                 const weft_spgemm_params *params);

// C = alpha A B + beta C, with C dense.
//
//   A, B  as above
//   C     dense [m x n], of their data type; any strides, fastest with stride 1 along n; no two
//         elements at one place
//
// Sums are as above, but begin at 0, and in rows of A with more than 4096 entries those of each
// 4096 are summed by themselves: an element errs by at most (4097 + n / 4096) u sum |a b| there,
// where rows of B repeat no column. They are multiplied by alpha before beta C is added: alpha and
// beta are f32 (f64 for f64), and the result is rounded to C's data type once. beta == 0 never
// reads C, which may hold anything, NaN included. alpha == 0 reads neither A nor B. m or n 0:
// nothing to do. alpha, k or either nnz 0: C = beta C. What products that cancel, or none at all,
// leave is 0 whatever alpha is.
//
// All else as above. Rows are cut as weft_spgemm() cuts them, with a sum for each column in local
// memory and no marks, with one sweep over a row's products for its first columns and one for each
// further stretch that has any; C's entries are not counted first. Where rows have one product for
// a thousand columns, weft_spgemm() and weft_csr_to_dense() are faster.
WEFT_API weft_status weft_spgemm_dense(weft_context *ctx, cl_command_queue queue, double alpha,
                                       const weft_csr *A, const weft_csr *B, double beta,
                                       const weft_tensor *C, const weft_spgemm_params *params);

// Bytes of scratch memory that weft_spgemm_count() and weft_spgemm() need; 0 where neither needs
// any. Compiles what they will run, because the tiling depends on the compiled kernels, too.
WEFT_API weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                           const weft_csr *C, const weft_spgemm_params *params,
                                           size_t *bytes);

// What weft_spgemm_count() would do with these operands, in words, as snprintf() does it. Compiles
// as above. The line is the tiling (its fields: docs/kernels/spgemm.md). Returns the length, or -1
// after a failure.
WEFT_API int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params, char *text,
                                  size_t size);

// The same of weft_spgemm_dense().
WEFT_API weft_status weft_spgemm_dense_workspace(weft_context *ctx, const weft_csr *A,
                                                 const weft_csr *B, const weft_tensor *C,
                                                 const weft_spgemm_params *params, size_t *bytes);
WEFT_API int weft_spgemm_dense_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                        const weft_tensor *C, const weft_spgemm_params *params,
                                        char *text, size_t size);

WEFT_END

#endif
