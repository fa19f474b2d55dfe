// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a sparse matrix, and its backward.
#ifndef WEFT_SPARSE_SOFTMAX_H
#define WEFT_SPARSE_SOFTMAX_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_sparse_softmax_params {
    size_t size;        // sizeof(weft_sparse_softmax_params): WEFT_SPARSE_SOFTMAX() fills it in
    const char *tiling; // NULL: weft chooses; else as weft_sparse_softmax_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_sparse_softmax_params;

#define WEFT_SPARSE_SOFTMAX(...) WEFT_PARAMS(weft_sparse_softmax_params, __VA_ARGS__)

// Y = softmax(scale X) over the entries of each row: with the sum taken over them,
//
//     y = exp(scale x - m) / sum exp(scale x - m),  m the largest scale x
//
//   X  sparse CSR   f32, f64, f16 or bf16 values; i32 or i64 offsets; the column indices must be
//                   there, and are never read
//   Y  [nnz]        values for X's entries, of X's data type, with stride 1 (where nnz is above 1).
//                   They may be X's own values (the same buffer and offset); else no byte is
//                   shared with X.
//
// A batch: with Y [batch x nnz], any stride between the matrices that keeps them apart, each is
// made from its own values at the same pattern, X->values_batch_stride elements apart, or, where
// that is 0, all are made from the same ones.
//
// Elements that X does not store count as -inf, not 0. A stored -inf gives 0. Rows without entries
// have no results, and a row whose every scale x is -inf (all masked) gives 0. A scale x that is
// NaN or +inf makes the results of its row NaN, and of no other. Arithmetic is f32 (f64 for f64):
// scale x is rounded to it, then m is subtracted. Neighbouring rows may share one number in place
// of their own m, if all their scale x are within 16 of it: the last bits of a row's results may
// depend on the rows beside it. Large inputs do not overflow. Results below the least normal number
// may be 0. The same input on the same context gives the same bits. Up to 2^31 - 4097 rows; nnz as
// far as the offsets reach. No rows, no entries, or no batch: nothing to do.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap X, Y or a gradient, and belongs to the call until `event` completes). Buffers stay
// yours; keep them until `event` completes. The offsets are trusted: weft_csr_check() checks those
// from unknown sources.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT (also a scale that is not finite),
// WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it),
// WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// Work is distributed by entries, long rows are cut and combined, and rows are not analysed before:
// neither empty rows nor one row with all entries leave the device idle. Entries and rows counted
// together: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector
// Multiplication" (SC 2016).
WEFT_API weft_status weft_sparse_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                         const weft_csr *X, const weft_tensor *Y,
                                         const weft_sparse_softmax_params *params);

// The gradient by X's values, from Y = softmax(scale X), X's pattern with Y's values, and the
// gradient dY by them:
//
//     dx = scale y (dy - sum(y dy))
//
// dY and dX are as Y above, both with a batch or both without; dX may be dY itself or Y's values.
// Rows that were masked (y all 0) give 0 where dy is finite. Else as weft_sparse_softmax().
WEFT_API weft_status weft_sparse_softmax_backward(weft_context *ctx, cl_command_queue queue,
                                                  double scale, const weft_csr *Y,
                                                  const weft_tensor *dY, const weft_tensor *dX,
                                                  const weft_sparse_softmax_params *params);

// Bytes of scratch memory that weft_sparse_softmax() needs for such operands, or 0. Compiles the
// call's kernels, because the tiling depends on them too. The backward call needs as much.
WEFT_API weft_status weft_sparse_softmax_workspace(weft_context *ctx, const weft_csr *X,
                                                   const weft_tensor *Y,
                                                   const weft_sparse_softmax_params *params,
                                                   size_t *bytes);

// Describe the two calls with these operands in words, like snprintf(). Compiles as above.
// The text before the ';' is the tiling (its fields: docs/kernels/sampled.md). Returns the length,
// or -1 after a failure.
WEFT_API int weft_sparse_softmax_describe(weft_context *ctx, const weft_csr *X,
                                          const weft_tensor *Y,
                                          const weft_sparse_softmax_params *params, char *text,
                                          size_t size);
WEFT_API int weft_sparse_softmax_backward_describe(weft_context *ctx, const weft_csr *Y,
                                                   const weft_tensor *dY, const weft_tensor *dX,
                                                   const weft_sparse_softmax_params *params,
                                                   char *text, size_t size);

WEFT_END

#endif
