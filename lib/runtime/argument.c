// SPDX-License-Identifier: Apache-2.0
// Lists of kernel arguments, and conversion of numbers to them.
#include "runtime/argument.h"

#include <assert.h>
#include <float.h>
#include <math.h>

// Infinity beyond f32, which C leaves undefined.
static cl_float single(double value)
{
    return value > FLT_MAX ? INFINITY : value < -FLT_MAX ? -INFINITY : (cl_float)value;
}

double weft_rounded(weft_dtype dtype, double value)
{
    return dtype == WEFT_F64 ? value : single(value);
}

weft_argument weft_scalar_argument(weft_scalar *scalar, weft_dtype dtype, double value)
{
    switch (dtype) {
    case WEFT_F64:
        scalar->f64 = value;
        return ARGUMENT(scalar->f64);
    case WEFT_I32:
        scalar->i32 = (cl_int)value;
        return ARGUMENT(scalar->i32);
    case WEFT_I64:
        scalar->i64 = (cl_long)value;
        return ARGUMENT(scalar->i64);
    default:
        scalar->f32 = single(value);
        return ARGUMENT(scalar->f32);
    }
}

weft_number weft_number_of(weft_dtype dtype, double value)
{
    weft_number number;
    number.size = weft_scalar_argument(&number.value, dtype, value).size;
    return number;
}

weft_indices weft_indices_of(bool is_wide, int n, const int64_t *numbers)
{
    weft_indices indices = {.size = (size_t)n * (is_wide ? sizeof(cl_long) : sizeof(cl_int))};
    assert(n <= WEFT_MOST_INDICES);
    for (int d = 0; d < n; ++d)
        if (is_wide)
            indices.value.wide[d] = numbers[d];
        else
            indices.value.narrow[d] = (cl_int)numbers[d];
    return indices;
}

void weft_arguments_add(weft_arguments *arguments, size_t size, const void *value)
{
    assert(arguments->n < sizeof(arguments->list) / sizeof(arguments->list[0]));
    arguments->list[arguments->n++] = (weft_argument){size, value};
}

void weft_arguments_add_all(weft_arguments *arguments, size_t n, const weft_argument *more)
{
    for (size_t i = 0; i < n; ++i)
        weft_arguments_add(arguments, more[i].size, more[i].value);
}
