// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels.
#ifndef WEFT_LIB_ARGUMENT_H
#define WEFT_LIB_ARGUMENT_H

#include <weft/dtype.h>

#include "runtime/ocl.h"

typedef struct weft_argument {
    size_t size;
    const void *value; // NULL: local memory of that size
    bool is_buffer;
} weft_argument;

#define ARGUMENT(x)                                                                                \
    (weft_argument)                                                                                \
    {                                                                                              \
        sizeof(x), &(x), IS_BUFFER(x)                                                              \
    }

#define IS_BUFFER(x) _Generic((x), cl_mem : true, default : false)

// Arguments of one kernel, in order. Their values must outlive its launch. Too many fail an
// assertion: weft makes the lists.
typedef struct weft_arguments {
    weft_argument list[72];
    size_t n;
} weft_arguments;

void weft_arguments_add(weft_arguments *arguments, weft_argument argument);

void weft_arguments_add_all(weft_arguments *arguments, size_t n, const weft_argument *more);

#define ADD_ARGUMENT(arguments, x) weft_arguments_add(arguments, ARGUMENT(x))

// A number in a kernel's type of arithmetic.
typedef union weft_scalar {
    cl_float f32;
    cl_double f64;
    cl_int i32;
    cl_long i64;
    cl_ushort half; // the bits of an f16 or bf16, which some kernels only compare
} weft_scalar;

// f64, i32 and i64 numbers keep their type, and must fit it; others become f32.
weft_argument weft_scalar_argument(weft_scalar *scalar, weft_dtype dtype, double value);

// The same number in a struct of arguments.
typedef struct weft_number {
    size_t size;
    weft_scalar value;
} weft_number;

weft_number weft_number_of(weft_dtype dtype, double value);

// An integer, or a vector of integers, as wide as a program's indices.
enum { WEFT_MOST_INDICES = 8 };
typedef struct weft_indices {
    size_t size;
    union {
        cl_int narrow[WEFT_MOST_INDICES];
        cl_long wide[WEFT_MOST_INDICES];
    } value;
} weft_indices;

weft_indices weft_indices_of(bool is_wide, int n, const int64_t *numbers);

// Rounds `value` to f32, unless the type is f64.
double weft_rounded(weft_dtype dtype, double value);

#endif
