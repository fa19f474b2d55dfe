// SPDX-License-Identifier: Apache-2.0
// Dense matrix products of any shape, batched, with a formula as the epilogue.
#ifndef WEFT_MATMUL_H
#define WEFT_MATMUL_H

#include <weft/elementwise.h>
#include <weft/tensor.h>

WEFT_BEGIN

enum { WEFT_MATMUL_INPUTS = 4 }; // of the formula, besides the product

typedef struct weft_matmul_params {
    size_t size;                          // sizeof(weft_matmul_params): WEFT_MATMUL() fills it in
    const char *epilogue;                 // f: a formula of c, inputs and values; NULL: c itself
    int n_inputs;                         // up to WEFT_MATMUL_INPUTS
    const weft_elementwise_input *inputs; // each with a name, which is not c
    int n_values;
    const weft_elementwise_value *values;
    const char *tiling; // NULL: weft chooses; else as weft_matmul_describe() prints it, not used if
                        // alpha or k is 0
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_matmul_params;

#define WEFT_MATMUL(...) WEFT_PARAMS(weft_matmul_params, __VA_ARGS__)

// Gives the formula its inputs, in the params:
//
//     weft_matmul(ctx, queue, 1, &X, &W, 0, &Y,
//                 WEFT_MATMUL(.epilogue = "gelu(c + bias)", WEFT_MATMUL_WITH({"bias", &bias})));
#define WEFT_MATMUL_WITH(...)                                                                      \
    .n_inputs = WEFT_COUNT(weft_elementwise_input, __VA_ARGS__),                                   \
    .inputs = WEFT_ARRAY(weft_elementwise_input, __VA_ARGS__)

// C = f(alpha A B + beta C), element by element:
//
//     c = alpha sum over l of a[i, l] b[l, j] + beta c[i, j]
//     c[i, j] = f(c, inputs[i, j], values)
//
//   A  dense [... x m x k]   f32, f64 (if the device has it), f16, bf16 or i8
//   B  dense [... x k x n]   A's data type
//   C  dense [... x m x n]   A's data type, or another of f32, f16 and bf16 where A has one of
//                            these; i32 if A is i8. Elements must not overlap each other, A or B
//
// Any strides: a transposed operand is a view (weft_tensor_transposed()), as are parts of larger
// matrices. Fastest if one of the two dimensions has stride 1. Up to 6 batch dimensions come before
// the matrices; those of A and B broadcast to C's by NumPy's rule (missing dimensions and extents
// of 1 are repeated).
//
// Sums, alpha, beta and f are computed in f32; in f64 for f64; in i32, which wraps, for i8: then
// alpha, beta, values and the numbers in f must be integers within i32. f is an expression of
// weft_elementwise(). Its inputs broadcast to C's shape and may have any data type of
// weft_elementwise() and any strides. An input in C's memory must be the same view as C. f64 and
// i64 inputs are first converted to the type of f.
//
// If beta == 0, C is not read and may hold anything, also NaN. If alpha == 0 or k == 0, neither A
// nor B is read: c = beta C. Inf and NaN propagate as in the formula. If an extent of C is 0, does
// nothing. m, n and k up to 2^31 - 4097.
//
// One program serves all shapes, strides and alignments of a method and, on a GPU, of a block size,
// on a CPU of a few columns' vectors: 2, 3, 4, 5 to 7, 8.
// Products are summed in the order of k or, by the method DOTS, in an order that k and the tiling
// determine; if k is long and m and n are short, in chunks, which are added in order. The same
// input gives the same bits on the same context, whatever else is in the batch. Long sums are sums
// of shorter ones: up to k = 2^21 no f32 sum has more than 8192 terms, products or sums of these.
// The error of an element is at most 2^14 u sum |a b|, u = 2^-24, or k u sum |a b| if k is short,
// before it is rounded to C's data type. On a GPU this does not hold if chunks of 8192 would take
// more than 256 MiB of scratch memory: then chunks are as short as that allows.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT (also a formula), WEFT_BAD_SHAPE,
// WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 2008),
// and Van Zee and van de Geijn, "BLIS" (ACM TOMS 2015), for blocks in caches and registers. Trip
// counts of loops are arguments, in place of padding, so that a program serves every shape.
WEFT_API weft_status weft_matmul(weft_context *ctx, cl_command_queue queue, double alpha,
                                 const weft_tensor *A, const weft_tensor *B, double beta,
                                 const weft_tensor *C, const weft_matmul_params *params);

// Bytes of scratch memory that such a call needs, or 0. Compiles the call's kernels, because they
// affect the tiling too.
WEFT_API weft_status weft_matmul_workspace(weft_context *ctx, const weft_tensor *A,
                                           const weft_tensor *B, const weft_tensor *C,
                                           const weft_matmul_params *params, size_t *bytes);

// Describes weft_matmul() of these operands in words, like snprintf(). Compiles as above. The text
// is the tiling (its fields: docs/kernels/dense.md). Returns the length, or -1 after a failure.
WEFT_API int weft_matmul_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                  const weft_tensor *C, const weft_matmul_params *params,
                                  char *text, size_t size);

WEFT_END

#endif
