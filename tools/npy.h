// SPDX-License-Identifier: Apache-2.0
// Dense arrays in files: NumPy's .npy, versions 1.0 to 3.0, little-endian, C order.
#ifndef WEFT_TOOLS_NPY_H
#define WEFT_TOOLS_NPY_H

#include <weft/tensor.h>

#include "complaint.h"

typedef struct npy_array {
    weft_dtype dtype;
    int ndim; // 0 to 8
    int64_t shape[WEFT_MAX_NDIM];
    int64_t count; // elements
    void *data;    // malloc'd, also where count is 0
} npy_array;

// Reads '<f2', '<f4', '<f8', '<i2', '<i4', '<i8', '|u1' and '|i1', and converts to `dtype`: any of
// them to a floating-point type, integers to nothing but themselves. WEFT_DEFAULT leaves the type
// as it is.
// NumPy has no bf16: '<u2' holds its bits, and is read with `dtype` WEFT_BF16 alone.
bool npy_read(npy_array *out, const char *path, weft_dtype dtype, complaint *why);

// Writes version 1.0; bf16 as '<u2'.
bool npy_write(const char *path, weft_dtype dtype, int ndim, const int64_t *shape, const void *data,
               complaint *why);

// Extent of the d-th dimension from the end; 1 where there are not so many.
int64_t npy_extent_from_end(const npy_array *array, int d);

// Frees the data and zeroes the struct.
void npy_free(npy_array *array);

#endif
