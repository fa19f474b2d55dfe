// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels.
#ifndef WEFT_LIB_ARGUMENT_H
#define WEFT_LIB_ARGUMENT_H

#include <weft/dtype.h>

#include "runtime/ocl.h"

typedef struct weft_argument {
    size_t size;
    const void *value;
} weft_argument;

#define ARGUMENT(x)                                                                                \
    (weft_argument)                                                                                \
    {                                                                                              \
        sizeof(x), &(x)                                                                            \
    }

// Arguments of one kernel, in order; what they point to must outlive its launch. Too many are an
// assertion: weft makes the lists.
typedef struct weft_arguments {
    weft_argument list[72];
    size_t n;
} weft_arguments;

void weft_arguments_add(weft_arguments *arguments, size_t size, const void *value);

void weft_arguments_add_all(weft_arguments *arguments, size_t n, const weft_argument *more);

#define ADD_ARGUMENT(arguments, x) weft_arguments_add(arguments, sizeof(x), &(x))

// A number in the type that kernels compute in.
typedef union weft_scalar {
    cl_float f32;
    cl_double f64;
    cl_int i32;
    cl_long i64;
    cl_ushort half; // the bits of an f16 or bf16, which some kernels only compare
} weft_scalar;

// f64, i32 and i64 are passed as they are and must fit; other types are computed in f32.
weft_argument weft_scalar_argument(weft_scalar *scalar, weft_dtype dtype, double value);

// The same for a struct of arguments.
typedef struct weft_number {
    size_t size;
    weft_scalar value;
} weft_number;

weft_number weft_number_of(weft_dtype dtype, double value);

// Integers as wide as a program's indices: one, or a vector of them.
enum { WEFT_MOST_INDICES = 8 };
typedef struct weft_indices {
    size_t size;
    union {
        cl_int narrow[WEFT_MOST_INDICES];
        cl_long wide[WEFT_MOST_INDICES];
    } value;
} weft_indices;

weft_indices weft_indices_of(bool is_wide, int n, const int64_t *numbers);

// f64 as it is, other types by way of f32.
double weft_rounded(weft_dtype dtype, double value);

#endif
