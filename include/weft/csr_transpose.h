// SPDX-License-Identifier: Apache-2.0
// The transpose of a sparse matrix, and how new values follow it: T = A^T on the device.
#ifndef WEFT_CSR_TRANSPOSE_H
#define WEFT_CSR_TRANSPOSE_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_csr_transpose_params {
    size_t size; // sizeof(weft_csr_transpose_params): WEFT_CSR_TRANSPOSE() fills it in
    const weft_tensor *source; // NULL, or an output [nnz] of A's offset data type, any stride:
                               // entry e of T is entry source[e] of A
    const char *tiling; // NULL: weft chooses; else as weft_csr_transpose_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_csr_transpose_params;

#define WEFT_CSR_TRANSPOSE(...) WEFT_PARAMS(weft_csr_transpose_params, __VA_ARGS__)

// T = A^T
//
//   A  CSR [m x k]   i32 or i64 offsets, i32 or i16 indices; values of any data type that a CSR has
//   T  CSR [k x m]   as many entries, values of A's data type; offsets and indices of any type that
//                    holds them; with values NULL only the pattern is made
//
// T is A by columns, too: its offsets, indices and values are those of A as CSC. Columns of T come
// out sorted within each row; those of A need not be. Entries that share a place stay separate, in
// A's order. Values are moved bit by bit, f64 also on devices that do not compute
// with it: those of the first matrix of a batch. weft_sparse_gather() moves the others, and new
// ones later.
//
// m and k up to 2^31 - 1; T has k + 1 offsets even where there is no entry. No byte of T or source
// is shared with A or with one another. Columns of A beyond k make T invalid, but nothing is
// written out of bounds.
//
// Enqueues and returns; nothing is read back. It blocks only while a kernel is compiled for the
// first time, and if unfinished calls use too much scratch memory (a workspace of the caller's
// avoids that; it must not overlap an operand, and belongs to the call until `event` completes).
// Buffers stay yours; keep them until `event` completes.
// The same input gives the same bits.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// A stable radix sort from the lowest digit, by counters of each item: after Satish, Harris and
// Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (IPDPS 2009). On a CPU the
// items are few and their digits wide, so that most matrices take one or two passes.
WEFT_API weft_status weft_csr_transpose(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *A, const weft_csr *T,
                                        const weft_csr_transpose_params *params);

// Bytes of scratch memory that such a call needs, or 0. Compiles the call's kernels, because the
// tiling depends on them too.
WEFT_API weft_status weft_csr_transpose_workspace(weft_context *ctx, const weft_csr *A,
                                                  const weft_csr *T,
                                                  const weft_csr_transpose_params *params,
                                                  size_t *bytes);

// Describes weft_csr_transpose() of these operands in words, like snprintf(). Compiles as above.
// The text after the ';' is the tiling (its fields: docs/kernels/spgemm.md). Returns the length, or
// -1 after a failure.
WEFT_API int weft_csr_transpose_describe(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                         const weft_csr_transpose_params *params, char *text,
                                         size_t size);

WEFT_END

#endif
