// SPDX-License-Identifier: Apache-2.0
// Layer normalisation and RMS normalisation along the last axes, and their backward passes.
#ifndef WEFT_NORM_H
#define WEFT_NORM_H

#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_norm_params {
    size_t size;               // sizeof(weft_norm_params): WEFT_NORM() fills it in
    const weft_tensor *weight; // w; NULL: 1
    const weft_tensor *bias;   // b; NULL: 0
    const char *tiling;        // NULL: weft chooses; else as weft_norm_describe() prints it
    cl_mem workspace;          // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;            // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_norm_params;

#define WEFT_NORM(...) WEFT_PARAMS(weft_norm_params, __VA_ARGS__)

// Layer normalisation of the elements along the last n_axes axes of X, here a row:
//
//     y = (x - mean) / sqrt(var + epsilon) w + b
//
// with the mean and the variance (divided by n) of these elements.
//
//   X     any shape of 1 to 8 dimensions, any strides; f32, f64, f16 or bf16
//   w, b  the shape of X's last n_axes axes and X's data type, any strides
//   Y     X's shape and data type, any strides, no overlapping elements. It may be X itself (the
//         same buffer, offset and strides); else it must not overlap X, w or b.
//
// Arithmetic is f32 (f64 for f64). Mean and variance are computed together in one sweep, from means
// and squared distances of short runs, combined with compensation of rounding errors (after Chan,
// Golub and LeVeque 1979). The mean is the sum of two numbers, so that large means, up to the
// largest number, lose no accuracy; errors are relative to the standard deviation. Squares that
// overflow or underflow are summed once more with a scale (after Blue 1978): results are accurate
// for epsilon 0 and f32 distances of 1e-38 to 1e38, if the standard deviation and its inverse are
// normal numbers and no distance of two elements exceeds the largest number. Equal elements with
// epsilon 0 give NaN. NaN or infinity makes all results of its row NaN. n_axes from 1 to X's
// dimensions; epsilon from 0 to the largest f32. If an extent is 0, does nothing. The same input on
// the same context gives the same bits.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it), WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Ba, Kiros and Hinton, "Layer Normalization" (2016).
WEFT_API weft_status weft_layer_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                     const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                     const weft_norm_params *params);

// RMS normalisation: y = x / sqrt(mean of x^2 + epsilon) w + b; else as weft_layer_norm(). In a row
// with an infinity finite elements become 0 before w and b, and infinite ones NaN.
//
// After Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
WEFT_API weft_status weft_rms_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                   const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                   const weft_norm_params *params);

// Bytes of scratch memory that either call needs for such operands, or 0. May compile the call's
// kernels.
WEFT_API weft_status weft_norm_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *Y, const weft_norm_params *params,
                                         size_t *bytes);

// Describe weft_layer_norm() and weft_rms_norm() of these operands in words, like snprintf(). May
// compile kernels. The text after the ';' is the tiling (its fields: docs/kernels/axis.md). Returns
// the length, or -1 after a failure.
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
    const char *scaling_tiling; // of dW and db, if they are computed: the same. With either they
                                // are computed after dX, else maybe beside it
    cl_mem workspace;           // the caller's scratch memory; NULL: the context's pool
    cl_uint n_wait;             // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the results; the caller releases it
} weft_norm_backward_params;

#define WEFT_NORM_BACKWARD(...) WEFT_PARAMS(weft_norm_backward_params, __VA_ARGS__)

// The gradients by X, w and b, from X and the gradient dY by Y. With g = dy w, and mean() over the
// elements that are normalised together, a row:
//
//     r = 1 / sqrt(var + epsilon),  xh = (x - mean) r
//     dx = r (g - mean(g) - xh mean(g xh))
//     dw = sum of dy xh,  db = sum of dy     over all rows
//
//   X, dY       as X of weft_layer_norm()
//   w, dW, db   the shape of X's last n_axes axes and X's data type, any strides; no overlapping
//               elements in dW or db
//   dX          as Y of weft_layer_norm(). Without dW and db it may be X or dY itself (the same
//               buffer, offset and strides). With one of them dX must not overlap X and dY,
//               which are read once more after dX is written.
//
// Outputs are overwritten; dX is always computed. No output overlaps another or w; dW and db do not
// overlap X or dY. Epsilon is the forward pass's. A tiling is for the extents that
// weft_norm_backward_describe() prints: for dX with a state of 10 numbers per column (RMS 5) and
// all elements written, for dW and db with a state of 4 and no elements written.
//
// No result of the forward pass is needed: one sweep computes mean and variance again, in the same
// way, and the sums with g, with compensation. Errors of dX are relative to r times the largest |g|
// (1 + |xh|), those of dW to the sum of |dy| (1 + |xh|), of db to the sum of |dy|, of millions of
// rows too.
// Results are accurate for the elements of X for which the forward pass is, and f32 g of 1e-15 to
// 1e15: sums of products of g and distances from the mean have the scale of the squares. With NaN
// or infinity in X, dY or w no dx of the same row is finite; in dW and db they propagate from the
// terms. Without rows dW and db become 0. If a normalised extent is 0, does nothing. Else as
// weft_layer_norm().
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

// Bytes of scratch memory that either backward call needs for such operands, or 0. May compile the
// calls' kernels.
WEFT_API weft_status weft_norm_backward_workspace(weft_context *ctx, const weft_tensor *X,
                                                  int n_axes, const weft_tensor *dY,
                                                  const weft_tensor *dX,
                                                  const weft_norm_backward_params *params,
                                                  size_t *bytes);

// Describe the two backward calls with these operands in words, like snprintf(): "...; TILING", or
// "dX: ...; TILING; dW and db: ...; SCALING_TILING" if these are computed (their fields:
// docs/kernels/axis.md). May compile. Returns the length, or
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
