// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax along any axis, and their backward passes.
#ifndef WEFT_SOFTMAX_H
#define WEFT_SOFTMAX_H

#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_softmax_params {
    size_t size;        // sizeof(weft_softmax_params): WEFT_SOFTMAX() fills it in
    bool masked;        // if every scale x is -inf: softmax 0 and log-softmax -inf, in place of NaN
    const char *tiling; // NULL: weft chooses; else as weft_softmax_describe() prints it
    cl_mem workspace;   // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the result; the caller releases it
} weft_softmax_params;

#define WEFT_SOFTMAX(...) WEFT_PARAMS(weft_softmax_params, __VA_ARGS__)

// Y = softmax(scale X) along one axis: with the sum taken over that axis,
//
//     y = exp(scale x - m) / sum exp(scale x - m),  m the largest scale x
//
//   X     any shape of 1 to 8 dimensions, any strides; f32, f64, f16 or bf16
//   axis  of X; -1 is the last one
//   Y     X's shape and data type, any strides, no overlapping elements. It may be X itself (the
//         same buffer, offset and strides); else it must not overlap X.
//
// Arithmetic is f32 (f64 for f64): scale x is rounded to it, then m is subtracted. Large inputs
// do not overflow: one sweep finds maximum and sum together, and rescales the sum when the running
// maximum grows. A scale x that is NaN or +inf makes the results along the axis NaN; -inf gives 0.
// If all are -inf: NaN, or 0 with params->masked. Results below the least normal number may be 0.
// If the axis has extent 0, does nothing. The same input on the same context gives the same bits.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT (also a scale that is not finite),
// WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it),
// WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// One sweep for maximum and sum: Milakov and Gimelshein, "Online normalizer calculation for
// softmax" (2018).
WEFT_API weft_status weft_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *X, int axis, const weft_tensor *Y,
                                  const weft_softmax_params *params);

// Y = log(softmax(scale X)) = scale x - m - log(sum exp(scale x - m)); else as weft_softmax().
// -inf gives -inf.
WEFT_API weft_status weft_log_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                      const weft_tensor *X, int axis, const weft_tensor *Y,
                                      const weft_softmax_params *params);

// The gradient by X, from Y = softmax(scale X) and the gradient dY by Y:
//
//     dx = scale y (dy - sum(y dy))
//
// Y, dY and dX have one shape and data type, any strides. dX may be Y or dY itself. Rows that were
// masked (y all 0) give 0. Else as weft_softmax(); params->masked has no effect here.
WEFT_API weft_status weft_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                           const weft_tensor *Y, const weft_tensor *dY, int axis,
                                           const weft_tensor *dX,
                                           const weft_softmax_params *params);

// The same from Y = log(softmax(scale X)):
//
//     dx = scale (dy - exp(y) sum(dy))
//
// Rows that were masked (y all -inf) give scale dy.
WEFT_API weft_status weft_log_softmax_backward(weft_context *ctx, cl_command_queue queue,
                                               double scale, const weft_tensor *Y,
                                               const weft_tensor *dY, int axis,
                                               const weft_tensor *dX,
                                               const weft_softmax_params *params);

// Bytes of scratch memory that weft_softmax() or weft_log_softmax() needs for such operands, or 0.
// May compile the call's kernels. The backward calls need no more with the same shapes and strides.
WEFT_API weft_status weft_softmax_workspace(weft_context *ctx, const weft_tensor *X, int axis,
                                            const weft_tensor *Y, const weft_softmax_params *params,
                                            size_t *bytes);

// Describe the four calls with these operands in words, like snprintf(). May compile kernels. The
// text after the ';' is the tiling (its fields: docs/kernels/axis.md). Returns the length, or -1
// after a failure.
WEFT_API int weft_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                                   const weft_tensor *Y, const weft_softmax_params *params,
                                   char *text, size_t size);
WEFT_API int weft_log_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                                       const weft_tensor *Y, const weft_softmax_params *params,
                                       char *text, size_t size);
WEFT_API int weft_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                            const weft_tensor *dY, int axis, const weft_tensor *dX,
                                            const weft_softmax_params *params, char *text,
                                            size_t size);
WEFT_API int weft_log_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                                const weft_tensor *dY, int axis,
                                                const weft_tensor *dX,
                                                const weft_softmax_params *params, char *text,
                                                size_t size);

WEFT_END

#endif
