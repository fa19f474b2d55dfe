// SPDX-License-Identifier: Apache-2.0
// Values of a sparse matrix in another order.
#ifndef WEFT_SPARSE_GATHER_H
#define WEFT_SPARSE_GATHER_H

#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_sparse_gather_params {
    size_t size;    // sizeof(weft_sparse_gather_params): WEFT_SPARSE_GATHER() fills it in
    cl_uint n_wait; // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_sparse_gather_params;

#define WEFT_SPARSE_GATHER(...) WEFT_PARAMS(weft_sparse_gather_params, __VA_ARGS__)

// out[i] = values[source[i]], or out[b][i] = values[b][source[i]]
//
//   values  [nnz] or [batch x nnz]   any data type of weft/dtype.h, any strides
//   source  [n]                      i32 or i64, any stride; trusted to be 0 to nnz - 1 each
//   out     [n] or [batch x n]       as values; elements must not overlap each other or the others
//
// With the source that weft_csr_transpose() has given, the values of A become those of A^T.
// Elements are moved bit by bit. n or the batch 0: nothing to do.
//
// Enqueues and returns; it blocks only while a kernel is compiled for the first time. Buffers stay
// yours; keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER.
// Thread-safety: any thread; calls on one in-order queue keep their order.
WEFT_API weft_status weft_sparse_gather(weft_context *ctx, cl_command_queue queue,
                                        const weft_tensor *values, const weft_tensor *source,
                                        const weft_tensor *out,
                                        const weft_sparse_gather_params *params);

WEFT_END

#endif
