// SPDX-License-Identifier: Apache-2.0
// The data types of tensors and sparse matrices.
#ifndef WEFT_DTYPE_H
#define WEFT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/api.h>

WEFT_BEGIN

typedef enum weft_dtype {
    WEFT_DEFAULT = 0, // f32 for values, i32 for offsets and indices
    WEFT_F32,
    WEFT_F64,  // if the device has it
    WEFT_F16,  // IEEE binary16; storage only, arithmetic is done in f32
    WEFT_BF16, // the upper half of an f32; storage only, arithmetic is done in f32
    WEFT_I16,
    WEFT_I32,
    WEFT_I64,
    WEFT_U8,
    WEFT_I8, // factors of matrix products
} weft_dtype;

// Bytes of one element; 0 for WEFT_DEFAULT and for invalid values.
WEFT_API size_t weft_dtype_size(weft_dtype dtype);

// "f32" for WEFT_F32, and so on; "default" and "unknown" for the rest. Static storage.
WEFT_API const char *weft_dtype_name(weft_dtype dtype);

// The data type of that name ("f32", "bf16", ...), or WEFT_DEFAULT where there is none, as
// for NULL.
WEFT_API weft_dtype weft_dtype_find(const char *name);

// Conversions of single elements on the host: round to nearest even, overflow to infinity,
// subnormals and NaN kept.
WEFT_API uint16_t weft_f16_from_f32(float value);
WEFT_API float weft_f32_from_f16(uint16_t bits);
WEFT_API uint16_t weft_bf16_from_f32(float value);
WEFT_API float weft_f32_from_bf16(uint16_t bits);

WEFT_END

#endif
