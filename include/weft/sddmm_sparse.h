// SPDX-License-Identifier: Apache-2.0
// SDDMM with sparse factors, which is also masked SpGEMM: a product of matrices of which one or
// both are sparse, sampled where a third one has entries.
#ifndef WEFT_SDDMM_SPARSE_H
#define WEFT_SDDMM_SPARSE_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

// A factor: one of the two is NULL.
typedef struct weft_factor {
    const weft_tensor *dense; // a matrix with any strides
    const weft_csr *sparse;
} weft_factor;

// As arguments: WEFT_SPARSE(&X), WEFT_DENSE(&dY).
#define WEFT_SPARSE(csr)   WEFT_POINTER(weft_factor, .sparse = (csr))
#define WEFT_DENSE(tensor) WEFT_POINTER(weft_factor, .dense = (tensor))

typedef struct weft_sddmm_sparse_params {
    size_t size;        // sizeof(weft_sddmm_sparse_params): WEFT_SDDMM_SPARSE() fills it in
    bool indicator;     // C says where, and its values, which may be NULL, are not read
    const char *tiling; // NULL: weft chooses; else as weft_sddmm_sparse_describe() prints it
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_sddmm_sparse_params;

#define WEFT_SDDMM_SPARSE(...) WEFT_PARAMS(weft_sddmm_sparse_params, __VA_ARGS__)

// D = alpha (A B^T) .* C + beta D at the entries of C: for entry e in row i and column j
//
//     d[e] = alpha (sum over l of a[i, l] b[j, l]) c[e] + beta d[e]
//
// or without the factor c[e], with params->indicator. The gradient of a sparse layer by its weights
// is such a product, dW = dY X^T at the entries of W:
//
//     weft_sddmm_sparse(ctx, queue, 1, WEFT_DENSE(&dY), WEFT_SPARSE(&X), &W, 0, &dW,
//                       WEFT_SDDMM_SPARSE(.indicator = true));
//
//   A  dense [m x k], any strides, or sparse CSR [m x k]   f32, f64, f16 or bf16
//   B  the same [n x k]: B by rows is B^T by columns
//   C  sparse CSR [m x n]   values as A
//   D  values for C's entries, [nnz] in C's order, stride 1. It may be C's own values (the same
//      buffer, start and data type); else no byte is shared with A, B or what is read of C.
//
// One of A and B is sparse, or both are; weft_sddmm() multiplies two dense ones. All have
// one data type, or D is f32 where A, B and C are f16 or bf16. Offsets (i32 or i64) and indices
// (i32 or i16) of each sparse one are of its own types. Columns need not be sorted, and repeated
// entries of A and B add up, before or after they are multiplied; those of C are separate results.
// There are no batches: samples are columns of A and B, and values_batch_stride is ignored.
//
// Sums are over what sparse factors store, and f32 (f64 for f64), as alpha and beta are: Inf and
// NaN propagate as in the formula, but what is not stored has no product, not even with them. The
// order of sums depends on the tiling and the context: the same input gives the same bits. No f32
// sum has more than 2048 terms, or sums of as many, of rows with up to 2^22: D is off by at
// most 2^12 u sum |a b| |alpha c|, u = 2^-24, before it is rounded to its data type.
//
// beta == 0 never reads D, which may hold anything, NaN included. alpha == 0 reads neither A, B nor
// C's values, and k == 0 is the same: D = beta D. No entries of C: nothing to do. m, n and k up to
// 2^31 - 4097; nnz as far as the offsets reach.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and needs no
// scratch memory. Buffers stay yours; keep them until `event` completes. Offsets and indices are
// trusted: weft_csr_check() checks those from unknown sources.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// Each entry is a dot product over the stored elements of one row: of B, times A's row in local
// memory, by columns or, where there are too many, hashed; or, where B is dense, of A. Work is
// distributed by entries of C, whatever its rows' lengths. That suits patterns that leave out most
// of the product; for nearly all of it weft_spgemm() has less to do. And a sparse factor must be
// sparse enough: on CPUs, where a tenth is stored, weft_csr_to_dense() and weft_sddmm() take less
// time than a sparse A, and more than a sparse B. After Milakovic, Selvitopi, Nisa, Budimlic and
// Buluc, "Parallel Algorithms for Masked Sparse Matrix-Matrix Products" (ICPP 2022), who compare
// dot products with other algorithms.
WEFT_API weft_status weft_sddmm_sparse(weft_context *ctx, cl_command_queue queue, double alpha,
                                       const weft_factor *A, const weft_factor *B,
                                       const weft_csr *C, double beta, const weft_tensor *D,
                                       const weft_sddmm_sparse_params *params);

// Describes weft_sddmm_sparse() of these operands in words, like snprintf(). Compiles the call's
// kernel, because the tiling depends on it too. The text is the tiling (its fields:
// docs/kernels/sampled.md). Returns the length, or -1 after a failure.
WEFT_API int weft_sddmm_sparse_describe(weft_context *ctx, const weft_factor *A,
                                        const weft_factor *B, const weft_csr *C,
                                        const weft_tensor *D,
                                        const weft_sddmm_sparse_params *params, char *text,
                                        size_t size);

WEFT_END

#endif
