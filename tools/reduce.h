// SPDX-License-Identifier: Apache-2.0
// What the commands reduce and explain share.
#ifndef WEFT_TOOLS_REDUCE_H
#define WEFT_TOOLS_REDUCE_H

#include <weft/reduce.h>

// Of the result on such a device. Whole numbers have sums in i64, and means and norms in the
// longest type that the device has.
weft_dtype reduce_dtype(const weft_limits *device, weft_reduction op, weft_dtype dtype);

#endif
