// SPDX-License-Identifier: Apache-2.0
// Shared by the commands reduce and explain.
#ifndef WEFT_TOOLS_REDUCE_H
#define WEFT_TOOLS_REDUCE_H

#include <weft/reduce.h>

// Type of the result on such a device. Sums of integers are i64; their means and norms have the
// longest floating-point type of the device.
weft_dtype reduce_dtype(const weft_limits *device, weft_reduction op, weft_dtype dtype);

#endif
