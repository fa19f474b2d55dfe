// SPDX-License-Identifier: Apache-2.0
// Layer normalisation and RMS normalisation along the last axes, and their backward.
#ifndef WEFT_NORM_H
#define WEFT_NORM_H

#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_norm_params {
    size_t size;               // sizeof(weft_norm_params): WEFT_NORM() fills it in
    const weft_tensor *weight; // w; NULL: 1
    const weft_tensor *bias;   // b; NULL: 0
    const char *tiling;        // NULL: weft chooses; else as weft_norm_describe() prints it
    cl_mem workspace;          // scratch of the caller's; NULL: from the context's pool
    cl_uint n_wait;            // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_norm_params;

#define WEFT_NORM(...) WEFT_PARAMS(weft_norm_params, __VA_ARGS__)

// Layer normalisation: over the last n_axes axes of X,
//
//     y = (x - mean) / sqrt(var + epsilon) w + b
//
// with the mean and the variance (divided by n) of what is normalised together.
//
//   X     any shape of 1 to 8 dimensions, any strides; f32, f64, f16 or bf16
//   w, b  the shape of X's last n_axes axes and X's data type, any strides
//   Y     X's shape and data type, any strides, no two elements at one place. It may be X itself
//         (the same buffer, offset and strides); else no byte is shared with X, w or b.
//
// Arithmetic is f32 (f64 for f64). Mean and variance are computed together in one sweep, from means
// and squared distances of short runs, combined with compensation of rounding errors (after Chan,
// Golub and LeVeque 1979). The mean stays the sum of two numbers: large means do no harm, up to the
// largest number, and errors are relative to the root of the variance. Squares that overflow or
// underflow are summed once more with a scale (after Blue 1978): results are right for epsilon 0
// and f32 distances of 1e-38 to 1e38, where the root of the variance and its inverse are normal
// numbers and no two elements further apart than the largest one. Equal elements with epsilon 0
// give NaN, and NaN and infinity make the results normalised together NaN. n_axes from 1 to X's
// dimensions; epsilon from 0 to the largest f32. Where an extent is 0: nothing to do. The same
// input on the same context gives the same bits.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and where
// scratch memory in use by unfinished calls leaves too little (a workspace of the caller's avoids
// that; it shares no byte with an operand, and is the call's until `event` completes). Buffers stay
// yours; keep them until `event` completes.
// Nothing is enqueued where a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Ba, Kiros and Hinton, "Layer Normalization" (2016).
WEFT_API weft_status weft_layer_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                     const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                     const weft_norm_params *params);

// RMS normalisation: y = x / sqrt(mean of x^2 + epsilon) w + b; else as weft_layer_norm(). Infinity
// makes finite elements 0 before w and b, and itself NaN.
//
// After Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
WEFT_API weft_status weft_rms_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                   const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                   const weft_norm_params *params);

// Bytes of scratch memory that either call needs for such operands; 0 where it needs none. May
// compile what the call will run.
WEFT_API weft_status weft_norm_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *Y, const weft_norm_params *params,
                                         size_t *bytes);

// The plans of weft_layer_norm() and weft_rms_norm() for these operands, in words, as snprintf()
// does it. May compile. The text behind the ';' is the tiling (its fields: docs/kernels/axis.md).
// Returns the length, or -1 after a failure.
WEFT_API int weft_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *Y, const weft_norm_params *params, char *text,
                                size_t size);
WEFT_API int weft_rms_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                    const weft_tensor *Y, const weft_norm_params *params,
                                    char *text, size_t size);

typedef struct weft_norm_backward_params {
    size_t size; // sizeof(weft_norm_backward_params): WEFT_NORM_BACKWARD() fills it in
    const weft_tensor *weight;  // w; NULL: 1
    const weft_tensor *dW;      // gradient by w; NULL: not computed
    const weft_tensor *db;      // gradient by b; NULL: not computed
    const char *tiling;         // of dX. NULL: weft chooses; else as weft_norm_backward_describe()
                                // prints it
    const char *scaling_tiling; // of dW and db, if they are computed: the same
    cl_mem workspace;           // scratch of the caller's; NULL: the context's pool
    cl_uint n_wait;             // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the results; the caller releases it
} weft_norm_backward_params;

#define WEFT_NORM_BACKWARD(...) WEFT_PARAMS(weft_norm_backward_params, __VA_ARGS__)

// The gradients by X, w and b, from X and the gradient dY by Y. With g = dy w, and mean() over what
// is normalised together:
//
//     r = 1 / sqrt(var + epsilon),  xh = (x - mean) r
//     dx = r (g - mean(g) - xh mean(g xh))
//     dw = sum of dy xh,  db = sum of dy     over all that is normalised apart, rows
//
//   X, dY       as X of weft_layer_norm()
//   w, dW, db   the shape of X's last n_axes axes and X's data type, any strides; of dW and db no
//               two elements at one place
//   dX          as Y of weft_layer_norm(). Without dW and db it may be X or dY itself (the same
//               buffer, offset and strides). With one of them dX shares no byte with X and dY,
//               which are read once more after dX is written.
//
// Outputs are written, not added to; dX is always computed. None shares a byte with another, or w;
// nor do dW and db with X or dY. Epsilon is the forward's. Tilings are of the extents that
// weft_norm_backward_describe() prints, with 10 numbers of a column (RMS 5) and all written; those
// of dW and db with 4 and not.
//
// No result of the forward is needed: mean and variance are computed again, as there, and in the
// same sweep the sums with g, with compensation. Errors of dX are relative to
// r times the largest |g| (1 + |xh|), those of dW to the sum of |dy| (1 + |xh|), of db to the sum
// of |dy|, of millions of rows too.
// Results are right for the elements of X that the forward is right for, and f32 g of 1e-15 to
// 1e15: sums of products of g and distances from the mean have the scale of the squares.
// NaN and infinity in X, dY or w leave no finite number in the dx normalised together with them;
// dW and db have them where their terms do. Where there are no rows dW and db become 0; where a
// normalised extent is 0: nothing to do. Else as weft_layer_norm().
WEFT_API weft_status weft_layer_norm_backward(weft_context *ctx, cl_command_queue queue,
                                              double epsilon, const weft_tensor *X, int n_axes,
                                              const weft_tensor *dY, const weft_tensor *dX,
                                              const weft_norm_backward_params *params);

// The same of RMS normalisation:
//
//     r = 1 / sqrt(mean(x^2) + epsilon),  xh = x r
//     dx = r (g - xh mean(g xh))
WEFT_API weft_status weft_rms_norm_backward(weft_context *ctx, cl_command_queue queue,
                                            double epsilon, const weft_tensor *X, int n_axes,
                                            const weft_tensor *dY, const weft_tensor *dX,
                                            const weft_norm_backward_params *params);

// Bytes of scratch memory that either backward call needs for such operands; 0 where it needs none.
// May compile what the calls will run.
WEFT_API weft_status weft_norm_backward_workspace(weft_context *ctx, const weft_tensor *X,
                                                  int n_axes, const weft_tensor *dY,
                                                  const weft_tensor *dX,
                                                  const weft_norm_backward_params *params,
                                                  size_t *bytes);

// The plan of each of them for these operands, the first one for layer normalisation, in words, as
// snprintf() does it: "...; TILING", or "dX: ...; TILING; dW and db: ...; SCALING_TILING" if these
// are computed (their fields: docs/kernels/axis.md). May compile. Returns the length, or
// -1 after a failure.
WEFT_API int weft_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *dY, const weft_tensor *dX,
                                         const weft_norm_backward_params *params, char *text,
                                         size_t size);
WEFT_API int weft_rms_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                             const weft_tensor *dY, const weft_tensor *dX,
                                             const weft_norm_backward_params *params, char *text,
                                             size_t size);

WEFT_END

#endif
