// SPDX-License-Identifier: Apache-2.0
// Extents that suit 32-bit rows and columns in kernels: the last group may reach past the last row
// or column by the extent of a group, and a k-block past the last row of B.
#ifndef WEFT_LIB_SPARSE_LIMITS_H
#define WEFT_LIB_SPARSE_LIMITS_H

#include <stdint.h>

enum {
    WEFT_SPARSE_MARGIN = 4096, // bounds n-tiles, rows of a group, and k-blocks
    WEFT_SPARSE_MAX_EXTENT = INT32_MAX - WEFT_SPARSE_MARGIN,
};

#endif
