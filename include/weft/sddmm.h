// SPDX-License-Identifier: Apache-2.0
// SDDMM: a product of dense matrices, sampled at the entries of a sparse matrix.
#ifndef WEFT_SDDMM_H
#define WEFT_SDDMM_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_sddmm_params {
    size_t size;        // sizeof(weft_sddmm_params): WEFT_SDDMM() fills it in
    bool indicator;     // only C's pattern is used; its values, which may be NULL, are not read
    const char *tiling; // NULL: weft chooses; else as weft_sddmm_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_sddmm_params;

#define WEFT_SDDMM(...) WEFT_PARAMS(weft_sddmm_params, __VA_ARGS__)

// D = alpha (A B) .* C + beta D at the entries of C: for entry e in row i and column j
//
//     d[e] = alpha (sum over l of a[i, l] b[l, j]) c[e] + beta d[e]
//
// With params->indicator there is no factor c[e].
//
//   A  dense [m x k]     any strides, fastest with stride 1 along k; f32, f64, f16 or bf16
//   B  dense [k x n]     any strides, fastest with stride 1 along k: a row-major B^T, [n x k], is
//                        the view {.shape = {k, n}, .stride = {1, k}}
//   C  sparse CSR [m x n]   values as A; i32 or i64 offsets; i32 or i16 indices
//   D  values for C's entries, [nnz] in C's order, stride 1. It may be C's own values (the same
//      buffer and start); else it must not overlap A, B or the arrays of C that are read.
//
// All have one data type, or D is f32 if A, B and C are f16 or bf16. Sums, alpha and beta are f32
// (f64 for f64); the order of sums depends on the tiling, the context and, for bf16, on whether B
// has stride 1 along k: the same input gives the same bits. Products are summed in tiles of k, of
// at least 64 products each, and then the tiles are added: up to k = 2^18 neither f32 sum has more
// than 4096 terms, and the error of D is at most 2^13 u sum |a b| |alpha c|, u = 2^-24, before it
// is rounded to its data type. A CSR with C's pattern and the values D is an operand for
// weft_spmm(). If A or B is sparse, use weft_sddmm_sparse().
//
// A batch: A [batch x m x k], B [batch x k x n] and D [batch x nnz]. Each product is sampled at C's
// pattern and, if C->values_batch_stride is not 0, has its own values of C.
//
// If beta == 0, D is not read and may hold anything, also NaN. If alpha == 0 or k == 0, A, B and
// C's values are not read: D = beta D. Inf and NaN propagate as in the formula; rows of A and
// columns of B that no entry refers to have no effect. No entries or no batch: does nothing.
// m, n and k up to 2^31 - 4097; nnz as far as the offsets reach.
//
// Work is distributed by entries, whatever the rows' lengths: kernels search for the row of an
// entry, and C is not analysed before.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap A, B, C or D, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes. C's offsets and indices are trusted: weft_csr_check() checks
// those from unknown sources.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Gale, Zaharia, Young and Elsen, "Sparse GPU Kernels for Deep Learning" (SC 2020): work by
// entries, and lanes that share each dot product. weft adds chunks across the ends of rows, passes
// over tiles of k with stored sums, column blocks, and vectors on CPUs.
WEFT_API weft_status weft_sddmm(weft_context *ctx, cl_command_queue queue, double alpha,
                                const weft_tensor *A, const weft_tensor *B, const weft_csr *C,
                                double beta, const weft_tensor *D, const weft_sddmm_params *params);

// Bytes of scratch memory that such a call needs, or 0. Compiles the call's kernels, because the
// tiling depends on them too.
WEFT_API weft_status weft_sddmm_workspace(weft_context *ctx, const weft_tensor *A,
                                          const weft_tensor *B, const weft_csr *C,
                                          const weft_tensor *D, const weft_sddmm_params *params,
                                          size_t *bytes);

// Describes weft_sddmm() of these operands in words, like snprintf(). Compiles as above. The text
// is the tiling (its fields: docs/kernels/sampled.md). Returns the length, or -1 after a failure.
WEFT_API int weft_sddmm_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                 const weft_csr *C, const weft_tensor *D,
                                 const weft_sddmm_params *params, char *text, size_t size);

WEFT_END

#endif
