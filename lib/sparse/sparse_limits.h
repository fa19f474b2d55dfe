// SPDX-License-Identifier: Apache-2.0
// What 32-bit rows and columns in the kernels leave room for: the last group may reach past the
// last row or column by as much as a group has, and a k-block past the last row of B.
#ifndef WEFT_LIB_SPARSE_LIMITS_H
#define WEFT_LIB_SPARSE_LIMITS_H

#include <stdint.h>

enum {
    WEFT_SPARSE_MARGIN = 4096, // bounds n-tiles, rows of a group, and k-blocks
    WEFT_SPARSE_MAX_EXTENT = INT32_MAX - WEFT_SPARSE_MARGIN,
};

#endif
