// SPDX-License-Identifier: Apache-2.0
// Attention with a sparse mask.
#ifndef WEFT_SPARSE_ATTENTION_H
#define WEFT_SPARSE_ATTENTION_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_sparse_attention_params {
    size_t size;        // sizeof(weft_sparse_attention_params): WEFT_SPARSE_ATTENTION() fills it in
    const char *tiling; // NULL: weft chooses; else as weft_sparse_attention_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_sparse_attention_params;

#define WEFT_SPARSE_ATTENTION(...) WEFT_PARAMS(weft_sparse_attention_params, __VA_ARGS__)

// O = softmax(scale Q K^T) V, where row i attends only to the columns j of row i of M:
//
//     o[i] = sum over j of w[i, j] v[j] / sum over j of w[i, j],   w[i, j] = exp(scale q[i] . k[j])
//
//   Q  dense [m x k]    f32, f64, f16 or bf16; any strides, fastest with stride 1 along the last
//                       axis
//   K  dense [n x k]    as Q
//   V  dense [n x d]    as Q
//   M  sparse CSR [m x n]   its pattern: values are not read and may be NULL; its data type may be
//                           any that values may have; a column that occurs twice in a row counts
//                           twice
//   O  dense [m x d]    as Q; elements must not overlap each other, Q, K, V or M's offsets and
//                       indices
//
// Q, K, V and O have one data type. Products, weights and sums are f32 (f64 for f64), whatever the
// storage. One sweep over the entries computes weft_sddmm(), weft_sparse_softmax() and weft_spmm():
// it subtracts the running maximum, products and weights are never written to memory, and large
// ones do not overflow. If V has more columns than the items of a group sum at once (up to 128 for
// f32) a sweep would compute the products again for each n-tile; then weft runs the three steps, if
// scratch memory has room for the products. Results differ only in rounding and overflow. A sweep
// sums weights times V before it divides, the steps divide the weights first: elements of V near
// the largest number of the sums' type may give infinity in a sweep and a number in steps. For an
// infinite element with a tiny weight one may give infinity and the other NaN, 0 times infinity.
// The same input on the same context gives the same bits.
//
// A batch, or a batch of heads: Q, K, V and O may have one or two more axes in front, of the same
// extents. M is the same for all matrices.
//
// Rows without entries, and those whose products are all -inf, give 0. A product that is NaN or
// +inf makes its row of O NaN. Rows of K and V that no entry refers to have no effect; in the
// others infinities and NaN of V propagate, whatever their weight (0 times infinity is NaN).
// Without rows, columns of V, or a batch, does nothing. If k, or the scale in the type of sums, is
// 0, all weights of a row are the same, and neither Q nor K is read. m, n, k and d up to 2^31 -
// 4097; nnz as far as the offsets reach.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes. M's offsets and indices are trusted: weft_csr_check() checks
// those from unknown sources.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT (also a scale that is not finite),
// WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it),
// WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// One sweep for maximum and sum: Milakov and Gimelshein, "Online normalizer calculation for
// softmax" (2018); with the product by V included: Dao, Fu, Ermon, Rudra and Re, "FlashAttention"
// (2022). Sparse rows, and long ones in row chunks, as in weft_spmm().
WEFT_API weft_status weft_sparse_attention(weft_context *ctx, cl_command_queue queue, double scale,
                                           const weft_tensor *Q, const weft_tensor *K,
                                           const weft_tensor *V, const weft_csr *M,
                                           const weft_tensor *O,
                                           const weft_sparse_attention_params *params);

// Bytes of scratch memory that such a call needs, or 0. Compiles the call's kernels, because the
// tiling depends on them too.
WEFT_API weft_status weft_sparse_attention_workspace(weft_context *ctx, const weft_tensor *Q,
                                                     const weft_tensor *K, const weft_tensor *V,
                                                     const weft_csr *M, const weft_tensor *O,
                                                     const weft_sparse_attention_params *params,
                                                     size_t *bytes);

// Describes weft_sparse_attention() of these operands in words, like snprintf(). Compiles as above.
// The text before the first ';' is the tiling (its fields: docs/kernels/sampled.md). Returns the
// length, or -1 after a failure.
WEFT_API int weft_sparse_attention_describe(weft_context *ctx, const weft_tensor *Q,
                                            const weft_tensor *K, const weft_tensor *V,
                                            const weft_csr *M, const weft_tensor *O,
                                            const weft_sparse_attention_params *params, char *text,
                                            size_t size);

WEFT_END

#endif
