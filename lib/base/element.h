// SPDX-License-Identifier: Apache-2.0
// Elements of host arrays whose data type is known at run time.
#ifndef WEFT_LIB_ELEMENT_H
#define WEFT_LIB_ELEMENT_H

#include <assert.h>

#include <weft/dtype.h>

// Element i of an array of i16, i32 or i64.
static inline int64_t integer_at(const void *array, weft_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WEFT_I16:
        return ((const int16_t *)array)[i];
    case WEFT_I32:
        return ((const int32_t *)array)[i];
    default:
        assert(dtype == WEFT_I64);
        return ((const int64_t *)array)[i];
    }
}

// The value fits the type.
static inline void integer_put(void *array, weft_dtype dtype, int64_t i, int64_t value)
{
    switch (dtype) {
    case WEFT_I16:
        ((int16_t *)array)[i] = (int16_t)value;
        break;
    case WEFT_I32:
        ((int32_t *)array)[i] = (int32_t)value;
        break;
    default:
        assert(dtype == WEFT_I64);
        ((int64_t *)array)[i] = value;
    }
}

// Sets element i of an array of f32, f64, f16 or bf16 to the value, rounded once: never by way of
// f32, which would round twice.
void weft_element_put(void *array, weft_dtype dtype, int64_t i, double value);

#endif
