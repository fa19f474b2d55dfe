// SPDX-License-Identifier: Apache-2.0
// A sparse matrix as a dense one, and a dense one as a sparse one, on the device.
#ifndef WEFT_CSR_DENSE_H
#define WEFT_CSR_DENSE_H

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_csr_dense_params {
    size_t size;        // sizeof(weft_csr_dense_params): WEFT_CSR_DENSE() fills it in
    double threshold;   // weft_dense_to_csr*(): 0 or above; 0 keeps every non-zero
    const char *tiling; // NULL: weft chooses; else as the describe functions print it
    cl_mem workspace;   // the caller's scratch memory; NULL: the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_csr_dense_params;

#define WEFT_CSR_DENSE(...) WEFT_PARAMS(weft_csr_dense_params, __VA_ARGS__)

// D = A
//
//   A  CSR [m x k]     f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   D  dense [m x k], or [batch x m x k]   the same data type; any strides, fastest with stride 1
//                      along k; elements must not overlap each other or A
//
// Every element of D is written: 0 where A has no entry, the bits of the entry where it has one,
// and where it has several their sum, in f32 (f64 for f64), in their order, rounded once. Of a
// batch each matrix has the same values, or, where A->values_batch_stride is not 0, its own.
// Columns need not be sorted; those beyond k are left out. m, k or the batch 0: nothing to do. m
// and k up to 2^31 - 1; a row has fewer than 2^31 - 1 entries.
//
// All entries of a row are read, once or twice, for each stretch of columns that a group has bits
// for: a million on a CPU with 1 MiB of local memory. Where entries share places they are read once
// more, by each item of the group that has such places; in f16 and bf16 for each stretch that it
// has sums for, 65536 columns there.
//
// Enqueues and returns; it blocks only while a kernel is compiled for the first time. Buffers stay
// yours; keep them until `event` completes. The same input gives the same bits.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it).
// Thread-safety: any thread; calls on one in-order queue keep their order.
WEFT_API weft_status weft_csr_to_dense(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                       const weft_tensor *D, const weft_csr_dense_params *params);

// A = D, its entries of |element| > threshold or NaN, in two steps, because their number is not
// known: the first finds A's offsets, the second its indices and values.
//
//   D  dense [m x k]   f32, f64, f16 or bf16; any strides
//   A  CSR [m x k]     values of D's data type; i32 or i64 offsets; i32 or i16 indices
//
// weft_dense_to_csr_count() writes offsets[0] to offsets[m] and uses nothing else of A's but its
// sizes and data types; nnz may hold anything. With `nnz` not NULL it blocks until all is done,
// and stores there how many entries there are; else the caller finds that in offsets[m].
// weft_dense_to_csr() requires these offsets, and an A->nnz of offsets[m], and writes indices,
// which rise in each row, and values, bit by bit. Elements are compared in D's data type, to which
// the threshold is rounded (by way of f32 if that is f16 or bf16): with 0.1 an f32 of 0.1f is not
// kept, and with 70000 no f16 but NaN, as it is rounded to infinity. f64 is compared also on
// devices that do not compute with it, subnormals also where arithmetic would flush them. D and the
// threshold must be those of the first step; with others rows are incomplete or invalid, but
// nothing is written beyond them.
//
// m and k up to 2^31 - 1, and m k up to 2^31 - 1 with i32 offsets. No byte of A that is written is
// shared with D. Otherwise both are as weft_csr_to_dense(). The first step may need scratch memory
// and then waits for it where unfinished calls leave too little; a workspace of the caller's avoids
// that. It shares no byte with an operand, and is the call's until `event` completes.
// WEFT_NO_MEMORY where there is none.
WEFT_API weft_status weft_dense_to_csr_count(weft_context *ctx, cl_command_queue queue,
                                             const weft_tensor *D, const weft_csr *A, int64_t *nnz,
                                             const weft_csr_dense_params *params);
WEFT_API weft_status weft_dense_to_csr(weft_context *ctx, cl_command_queue queue,
                                       const weft_tensor *D, const weft_csr *A,
                                       const weft_csr_dense_params *params);

// Bytes of scratch memory that weft_dense_to_csr_count() needs; 0 where it needs none, as the other
// two never do. Compiles the call's kernels, because the tiling depends on them too.
WEFT_API weft_status weft_dense_to_csr_workspace(weft_context *ctx, const weft_tensor *D,
                                                 const weft_csr *A,
                                                 const weft_csr_dense_params *params,
                                                 size_t *bytes);

// Describe weft_csr_to_dense() and weft_dense_to_csr() of these operands in words, like snprintf().
// Compiles as above. The text is the tiling (its fields: docs/kernels/spgemm.md). Returns the
// length, or -1 after a failure.
WEFT_API int weft_csr_to_dense_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *D,
                                        const weft_csr_dense_params *params, char *text,
                                        size_t size);
WEFT_API int weft_dense_to_csr_describe(weft_context *ctx, const weft_tensor *D, const weft_csr *A,
                                        const weft_csr_dense_params *params, char *text,
                                        size_t size);

WEFT_END

#endif
