// SPDX-License-Identifier: Apache-2.0
// Elementwise operations with strided broadcasting: any formula over any views.
#ifndef WEFT_ELEMENTWISE_H
#define WEFT_ELEMENTWISE_H

#include <weft/limits.h>
#include <weft/tensor.h>

WEFT_BEGIN

enum {
    WEFT_ELEMENTWISE_INPUTS = 8,
    WEFT_ELEMENTWISE_OUTPUTS = 4,
    WEFT_ELEMENTWISE_VALUES = 16,
};

typedef struct weft_elementwise_plan weft_elementwise_plan;

// An input, under its name in formulas.
typedef struct weft_elementwise_input {
    const char *name; // a C identifier that formulas use for nothing else, 31 characters at most;
                      // NULL: a, b, c, ... by place, which no other operand may be called then
    const weft_tensor *tensor;
} weft_elementwise_input;

// A named number in formulas. A call with another number runs the same program.
typedef struct weft_elementwise_value {
    const char *name;
    double value;
} weft_elementwise_value;

typedef struct weft_elementwise_output {
    const char *formula;
    const weft_tensor *tensor;
} weft_elementwise_output;

// Arguments of calls: a count and an array.
//
//     weft_elementwise(ctx, queue, WEFT_INPUTS({"x", &X}, {"y", &Y}),
//                      WEFT_OUTPUTS({"alpha * x + max(y, 0)", &Z}),
//                      WEFT_ELEMENTWISE(WEFT_VALUES({"alpha", 0.5})));
#define WEFT_INPUTS(...)                                                                           \
    WEFT_COUNT(weft_elementwise_input, __VA_ARGS__), WEFT_ARRAY(weft_elementwise_input, __VA_ARGS__)
#define WEFT_OUTPUTS(...)                                                                          \
    WEFT_COUNT(weft_elementwise_output, __VA_ARGS__),                                              \
        WEFT_ARRAY(weft_elementwise_output, __VA_ARGS__)
#define WEFT_VALUES(...)                                                                           \
    .n_values = WEFT_COUNT(weft_elementwise_value, __VA_ARGS__),                                   \
    .values = WEFT_ARRAY(weft_elementwise_value, __VA_ARGS__)

typedef struct weft_elementwise_params {
    size_t size; // sizeof(weft_elementwise_params): WEFT_ELEMENTWISE() fills it in
    int n_values;
    const weft_elementwise_value *values;
    weft_dtype arithmetic; // f32, f64, i32 or i64; WEFT_DEFAULT: chosen by the operands, see below
    const weft_elementwise_plan *plan; // NULL: the call is prepared from scratch
    const char *tiling; // NULL: weft chooses; else as weft_elementwise_describe() prints it
    cl_uint n_wait;     // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the results; the caller releases it
} weft_elementwise_params;

#define WEFT_ELEMENTWISE(...) WEFT_PARAMS(weft_elementwise_params, __VA_ARGS__)

// y_j = f_j(x_1, ..., x_k), element by element
//
//   inputs   0 to 8: any shapes that broadcast to the outputs' by NumPy's rule (missing leading
//            dimensions and extents of 1 are repeated); any strides
//   outputs  1 to 4, of one shape; any strides, no overlapping elements
//            each f32, f64 (if the device has it), f16, bf16, i32, i64 or u8
//
// An output may be an input itself (the same buffer, offset, shape, strides and data type). Else it
// must not overlap an input or another output.
//
// A formula is an expression of OpenCL C without side effects:
//
//   numbers and names   2, 0x1f, 1e-3f; inputs, values; INFINITY, NAN
//   constants           M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI
//                       M_2_SQRTPI M_SQRT2 M_SQRT1_2, also with the suffix _F
//   operators           + - * / %  << >> & | ^ ~  < <= > >= == != && || !  ?:  ( )
//
// and calls of these functions, of numbers and of booleans t, u (0 is false):
//
//   in any type         add subtract multiply (a, b); quotient(a, b), which is a / b; floor_divide
//                       remainder (a, b); fmod(a, b), which is a % b; negate copy square sign (x),
//                       abs(x), which is fabs(x); min max fmin fmax (a, b); clamp(x, low, high);
//                       relu(x)
//   choices             where(t, a, b) and select(b, a, t): a where t holds, else b
//   comparisons         equal not_equal less less_equal greater greater_equal (a, b);
//                       logical_and logical_or (t, u); logical_not(t)
//   whole numbers       bitwise_and bitwise_or bitwise_xor left_shift right_shift (a, b);
//                       bitwise_not(x)
//   real numbers        divide(a, b); sqrt rsqrt cbrt reciprocal exp exp2 exp10 expm1 log log2
//                       log10 log1p (x); pow(a, b), which is power(a, b); hypot(a, b); sin cos tan
//                       asin acos atan sinh cosh tanh asinh acosh atanh erf erfc (x); atan2(y, x)
//     rounding          floor ceil trunc (x); round(x): halves away from 0; rint(x): halves to even
//     and further       copysign(x, sign); isnan isinf isfinite (x), 1 or 0; fma(a, b, c) = a b +
//                       c, rounded once; mad(a, b, c), the same rounded once or twice;
//                       mix(a, b, t) = a + (b - a) t for a number t
//     activations       sigmoid softplus silu gelu gelu_tanh (x); leaky_relu(x, slope);
//                       elu(x, alpha)
//   gradients           of (dy, x), dy times the derivative at x: abs_backward square_backward
//                       relu_backward, and clamp_backward(dy, x, low, high); 0 if there is no
//                       derivative, at 0 (abs, relu), low and high, as in PyTorch 2.15 (whose
//                       clamp once gave dy at low and high)
//     of real numbers   sqrt_backward exp_backward log_backward tanh_backward erf_backward
//                       sigmoid_backward silu_backward gelu_backward gelu_tanh_backward
//
// Activations and their derivatives are accurate where exp(x) alone would be subnormal: silu(-104)
// is -7e-44 in f32. If a device flushes subnormal numbers (CL_FP_DENORM), it is 0.
//
// A function of real numbers, or a number with a point, requires arithmetic in f32 or f64; a
// function of whole numbers, or a bit operator, in i32 or i64. Else they are refused.
//
// Operators divide as C's do, functions as NumPy's of these names:
//
//   a / b               of whole numbers cut off towards 0: -7 / 2 is -3
//   divide(a, b)        of real numbers alone, so that whole ones are converted: -3.5
//   floor_divide(a, b)  the largest whole number up to a / b: -4; in f32 exact up to 2^20 and in
//                       f64 to 2^49, and within 3 ulp beyond
//   a % b, fmod(a, b)   the remainder of a / b, with the sign of a: -7 % 3 is -1; exact, however
//                       large a / b is
//   remainder(a, b)     the remainder of floor_divide(a, b), with the sign of b:
//                       remainder(-7, 3) is 2; that of fmod, or if its sign is not b's, b more,
//                       rounded once
//
// Division of whole numbers by 0 gives 0 in all of them. Of real numbers the quotient is infinite,
// or NaN for 0 / 0, and the remainder is NaN. For an infinite a, floor_divide and remainders are
// NaN. For an infinite b remainders are a and floor_divide 0, but remainder is b and floor_divide
// -1 if the signs of a and b differ and a is not 0. Zeros have the sign of a / b, of a (fmod) or of
// b (remainder), those of real numbers.
//
// Inputs and values must not have these names, or be keywords of OpenCL C:
//
//   auto bool break case char complex const constant continue default do double else enum event_t
//   extern false float for generic global goto half if imaginary inline int intptr_t kernel local
//   long pipe private ptrdiff_t quad read_only read_write register restrict return sampler_t short
//   signed size_t sizeof static struct switch true typedef uchar uint uintptr_t ulong uniform union
//   unsigned ushort void volatile while write_only
//
// Nor may they be types of vectors of 2, 3, 4, 8 or 16 (float4) or images (image2d_t), or begin
// with __ or with _ and a capital letter.
//
// The formula "copy" copies, and views determine the operation:
//
//   transpose, permute  the input's shape and strides are in the output's order of axes
//   tile, repeat        both have one more axis, along which the input's stride is 0
//   concatenate         one call for each part: its output is a view of a part of the whole's
//                       buffer, by offset and strides
//
// A text has at most 4096 characters, 512 literals, names and calls, 64 nested calls or operators,
// as in a + b + c + ..., and 128 signs, parentheses (those of calls, too) and branches of ?: around
// anything. Integers are decimal or hexadecimal. The name of a function alone is its call with all
// inputs in order: "gelu", "add", "copy". If an argument is NaN, min and max give NaN, fmin and
// fmax the other number. For all four -0 is less than 0, in any order; for clamp they are equal,
// and it gives x. Statements, comments, brackets and unknown names are refused; the message has the
// column.
//
// All formulas of a call are computed in one type, params->arithmetic or else the first of
//
//   f64   an input is f64
//   f32   an input is f32, f16 or bf16, or a formula has a number with a point or exponent or a
//         function of real numbers
//   i64   an input or a written number is i64
//   i32   all else
//
// Inputs are converted to it first. Comparisons give 1 and 0. Whole numbers wrap, the
// least one / -1 too; shifts count modulo the width. In real arithmetic 1 / 2 is 0.5. A result is
// converted to its output's type once: real to whole numbers by truncation, saturated, NaN as 0;
// whole to narrower whole numbers by the lower bits; to real numbers by rounding to nearest.
// params->values are converted to the type of arithmetic, and refused if that is an integer type
// that cannot represent them; so are integers in a formula, such as 0xffffffff in i32 and 2^63 in
// i64, unless a sign before them makes them fit: -2147483648.
//
// If an extent is 0, does nothing. The same input on the same context gives the same bits.
//
// With params->plan only buffers and values may differ from the plan: shapes, strides, offsets,
// data types, formulas and names must be the same, and params->tiling NULL. If the plan uses
// vectors and was made without the buffer, one in the caller's memory (CL_MEM_USE_HOST_PTR) that
// does not begin at a multiple of 4 elements is WEFT_BAD_BUFFER.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time: for new
// formulas, data types, kinds of strides (alignment to vectors among them) and numbers of
// dimensions. A new shape with known kinds of strides compiles nothing.
// Buffers stay yours; keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT (also a formula), WEFT_BAD_SHAPE,
// WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a device without it; more operands and
// dimensions than its kernels take arguments; formulas of more than about 7000 characters of code),
// WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// Strides are computed once, as in PyTorch's TensorIterator and others. Divisions are
// multiplications, after Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (PLDI 1994).
WEFT_API weft_status weft_elementwise(weft_context *ctx, cl_command_queue queue, int n_inputs,
                                      const weft_elementwise_input *inputs, int n_outputs,
                                      const weft_elementwise_output *outputs,
                                      const weft_elementwise_params *params);

// Prepares many such calls: checks, plans and compiles. Buffers may be NULL here. Of params it uses
// the values' names (not their numbers), arithmetic and tiling. The plan has no buffers. Several
// threads may use it at once, and it must be destroyed before its context. Fails as
// weft_elementwise() does.
WEFT_API weft_status weft_elementwise_plan_create(weft_elementwise_plan **out, weft_context *ctx,
                                                  int n_inputs,
                                                  const weft_elementwise_input *inputs,
                                                  int n_outputs,
                                                  const weft_elementwise_output *outputs,
                                                  const weft_elementwise_params *params);

// Sets *plan to NULL; accepts NULL and a NULL handle. Enqueued commands no longer need the plan.
WEFT_API void weft_elementwise_plan_destroy(weft_elementwise_plan **plan);

// Describes weft_elementwise() of these operands in words, like snprintf(). May compile. The text
// between the first ';' and the next is the tiling (its fields: docs/kernels/elementwise.md).
// Returns the length, or -1 after a failure.
WEFT_API int weft_elementwise_describe(weft_context *ctx, int n_inputs,
                                       const weft_elementwise_input *inputs, int n_outputs,
                                       const weft_elementwise_output *outputs,
                                       const weft_elementwise_params *params, char *text,
                                       size_t size);

WEFT_END

#endif
