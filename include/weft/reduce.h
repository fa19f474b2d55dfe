// SPDX-License-Identifier: Apache-2.0
// Reductions along any axes.
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include <weft/tensor.h>

WEFT_BEGIN

// The reductions, their results for no elements, and Y's data types.
//
//                                                  no elements    Y for integer X
typedef enum weft_reduction {
    WEFT_SUM = 0,   // sum x                              0          i64
    WEFT_PROD,      // product of x                       1          i64
    WEFT_MEAN,      // sum x / n                          NaN        f32 or f64
    WEFT_MIN,       // least x                            refused    as X
    WEFT_MAX,       // largest x                          refused    as X
    WEFT_ARGMIN,    // index of the least x               refused    i64 or i32, for any X
    WEFT_ARGMAX,    // index of the largest x             refused    i64 or i32, for any X
    WEFT_ANY,       // 1 if an x is not 0, else 0         0          u8, for any X
    WEFT_ALL,       // 0 if an x is 0, else 1             1          u8, for any X
    WEFT_NORM1,     // sum |x|                            0          f32 or f64
    WEFT_NORM2,     // sqrt(sum x^2)                      0          f32 or f64
    WEFT_NORM_INF,  // largest |x|                        0          f32 or f64
    WEFT_VAR,       // sum (x - mean)^2 / (n - c)         NaN        f32 or f64
    WEFT_STD,       // sqrt(var)                          NaN        f32 or f64
    WEFT_LOGSUMEXP, // log(sum exp(x))                    -inf       f32 or f64
} weft_reduction;

// "sum", "prod", "argmax", "norm1", "norm_inf", "logsumexp", ...; NULL for other values.
WEFT_API const char *weft_reduction_name(weft_reduction op);

// Finds the reduction of that name. If there is none, or `name` is NULL: false, and `op`, which
// must not be NULL, is unchanged.
WEFT_API bool weft_reduction_find(const char *name, weft_reduction *op);

typedef struct weft_reduce_params {
    size_t size;        // sizeof(weft_reduce_params): WEFT_REDUCE() fills it in
    int64_t correction; // c of var and std: 0 divides by n, 1 by n - 1
    const char *tiling; // NULL: weft chooses; else as weft_reduce_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the reduction; the caller releases it
} weft_reduce_params;

#define WEFT_REDUCE(...) WEFT_PARAMS(weft_reduce_params, __VA_ARGS__)

// Y = op over the given axes of X
//
//   X     any shape of up to 8 dimensions, any strides (0 and negative ones too)
//         f32, f64, f16, bf16, i32, i64 or u8
//   axes  n_axes of X's axes, each once, in any order; -1 is the last one. n_axes 0: all axes
//   Y     X's shape with these axes 1 (keepdims), or without them; any strides; elements must not
//         overlap each other or X. Floats: X's data type, or f32 for f16 and bf16. Integers, and
//         ARGMIN, ARGMAX, ANY and ALL: as in the table above.
//
// Sums of floats are computed in f32 (f64 for f64, Y's type for integers) in short runs, whose sums
// are added with compensation: each term is rounded at most 16 times, an error of 1e-6 sum |x| in
// f32, for any number of elements. Integer sums and products are computed in i64 and wrap. Var and
// std are computed from means and squared distances of short runs, combined with compensation
// (after Chan, Golub and LeVeque 1979). The mean is the sum of two numbers, so that large means, up
// to the largest number, lose no accuracy. Squares that overflow or underflow are summed once more
// with a scale (after Blue 1978): norm2 and std are accurate over the whole range of the type,
// unless the distance of two elements exceeds the largest number. Some devices flush subnormal
// numbers to 0. n - c below 0 counts as 0: NaN or infinity. Logsumexp subtracts the largest element
// first.
//
// NaN: min, max, argmin and argmax find the first NaN, if any. For any and all it is true. In the
// others it propagates as in the formula. For min and max -0 is less than 0, in any order (IEEE
// 754-2019; NumPy and PyTorch give either); norm_inf gives 0. Argmin and argmax find the first of
// equal elements, and 0 and -0 are equal there. Indices are counted along the reduced axes in the
// order of X's axes, last one fastest. If Y is empty, does nothing. No elements to reduce: see the
// table; "refused" is WEFT_BAD_SHAPE.
//
// The same input on the same context gives the same bits. Enqueues and returns. It blocks only
// while a kernel is compiled for the first time, and if unfinished calls use too much scratch
// memory (a workspace of the caller's avoids that; it must not overlap an operand, and belongs to
// the call until `event` completes). Buffers stay yours; keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
WEFT_API weft_status weft_reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op,
                                 const weft_tensor *X, int n_axes, const int *axes,
                                 const weft_tensor *Y, const weft_reduce_params *params);

// Bytes of scratch memory that such a call needs, or 0. May compile the call's kernels.
WEFT_API weft_status weft_reduce_workspace(weft_context *ctx, weft_reduction op,
                                           const weft_tensor *X, int n_axes, const int *axes,
                                           const weft_tensor *Y, const weft_reduce_params *params,
                                           size_t *bytes);

// Describes weft_reduce() of these operands in words, like snprintf(). May compile kernels. The
// text after the ';' is the tiling (its fields: docs/kernels/axis.md). Returns the length, or -1
// after a failure.
WEFT_API int weft_reduce_describe(weft_context *ctx, weft_reduction op, const weft_tensor *X,
                                  int n_axes, const int *axes, const weft_tensor *Y,
                                  const weft_reduce_params *params, char *text, size_t size);

WEFT_END

#endif
