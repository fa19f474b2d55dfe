// SPDX-License-Identifier: Apache-2.0
// Reductions along any axes.
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include <weft/tensor.h>

WEFT_BEGIN

// What an element x of X adds to its result, and the result of no elements at all.
//
//                                                   of nothing    Y for integer X
typedef enum weft_reduction {
    WEFT_SUM = 0,   // sum x                              0          i64
    WEFT_PROD,      // product of x                       1          i64
    WEFT_MEAN,      // sum x / n                          NaN        f32 or f64
    WEFT_MIN,       // least x                            refused    as X
    WEFT_MAX,       // largest x                          refused    as X
    WEFT_ARGMIN,    // place of the least x               refused    i64 or i32, for any X
    WEFT_ARGMAX,    // place of the largest x             refused    i64 or i32, for any X
    WEFT_ANY,       // 1 where an x is not 0, else 0      0          u8, for any X
    WEFT_ALL,       // 0 where an x is 0, else 1          1          u8, for any X
    WEFT_NORM1,     // sum |x|                            0          f32 or f64
    WEFT_NORM2,     // sqrt(sum x^2)                      0          f32 or f64
    WEFT_NORM_INF,  // largest |x|                        0          f32 or f64
    WEFT_VAR,       // sum (x - mean)^2 / (n - c)         NaN        f32 or f64
    WEFT_STD,       // sqrt(var)                          NaN        f32 or f64
    WEFT_LOGSUMEXP, // log(sum exp(x))                    -inf       f32 or f64
} weft_reduction;

// "sum", "prod", "argmax", "norm1", "norm_inf", "logsumexp", ...; NULL where there is no such
// value.
WEFT_API const char *weft_reduction_name(weft_reduction op);

// The reduction of that name; false where there is none, as for NULL. `op` is then left as it was,
// and must not be NULL.
WEFT_API bool weft_reduction_find(const char *name, weft_reduction *op);

typedef struct weft_reduce_params {
    size_t size;        // sizeof(weft_reduce_params): WEFT_REDUCE() fills it in
    int64_t correction; // c of var and std: 0 divides by n, 1 by n - 1
    const char *tiling; // NULL: weft chooses; else as weft_reduce_describe() prints it
    cl_mem workspace;   // scratch of the caller's; NULL: from the context's pool
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
//   Y     X's shape with these axes 1 (keepdims), or without them; any strides, no two elements at
//         one place, no byte shared with X. Floats: X's data type; f16 and bf16 may give f32 too.
//         Integers, places and truth: as in the table above.
//
// Sums of floats are computed in f32 (f64 for f64, and as Y for integers) in short runs, whose sums
// are added with compensation of rounding errors: at most 16 roundings of each term, or
// 1e-6 sum |x| in f32, for any number of elements. Integer sums and products are computed in i64
// and wrap. Var and std are computed from means and squared distances of short runs, combined with
// compensation (after Chan, Golub and LeVeque 1979), the mean as the sum of two numbers: large
// means do no harm, up to the largest number. Squares that overflow or underflow are summed once
// more with a scale (after Blue 1978): norm2 and std hold over the whole range of the type, unless
// two elements are further apart than the largest number. A device that flushes subnormal numbers
// takes them for 0. n - c below 0 counts as 0: NaN or infinity. Logsumexp subtracts the largest
// element first.
//
// NaN: min, max and their places find the first NaN if there is one, any and all take it for true,
// and it goes through the others as in the formula. Max takes 0 for larger than -0 and min -0 for
// smaller than 0, in any order (IEEE 754-2019; NumPy and PyTorch give either); norm_inf
// gives 0. Of equal elements, which 0 and -0 are there, argmin and argmax find the first; places
// are counted along the reduced axes in the order of X's axes, last one fastest.
// Y empty: nothing to do. No elements to reduce: see the table; what is refused is WEFT_BAD_SHAPE.
//
// The same input on the same context gives the same bits. Enqueues and returns. It blocks only
// while a kernel is compiled for the first time, and where scratch memory in use by unfinished
// calls leaves too little (a workspace of the caller's avoids that; it shares no byte with an
// operand, and is the call's until `event` completes). Buffers stay yours; keep them until `event`
// completes.
// Nothing is enqueued where a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
WEFT_API weft_status weft_reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op,
                                 const weft_tensor *X, int n_axes, const int *axes,
                                 const weft_tensor *Y, const weft_reduce_params *params);

// Bytes of scratch memory that such a call needs; 0 where it needs none. May compile what the call
// will run.
WEFT_API weft_status weft_reduce_workspace(weft_context *ctx, weft_reduction op,
                                           const weft_tensor *X, int n_axes, const int *axes,
                                           const weft_tensor *Y, const weft_reduce_params *params,
                                           size_t *bytes);

// The plan of weft_reduce() for these operands, in words, as snprintf() does it. May compile. The
// text behind the ';' is the tiling (its fields: docs/kernels/axis.md). Returns the length, or -1
// after a failure.
WEFT_API int weft_reduce_describe(weft_context *ctx, weft_reduction op, const weft_tensor *X,
                                  int n_axes, const int *axes, const weft_tensor *Y,
                                  const weft_reduce_params *params, char *text, size_t size);

WEFT_END

#endif
