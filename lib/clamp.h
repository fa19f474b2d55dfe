// SPDX-License-Identifier: Apache-2.0
// Planning for one device and running on another.
#ifndef WEFT_LIB_CLAMP_H
#define WEFT_LIB_CLAMP_H

#include <weft/limits.h>

// `wanted`, cut down to what the device of `real` can hold: sizes to the smaller of both, abilities
// to those of both but for sub-groups, which kernels do without where there are none; named "wanted
// on real". Both pass weft_limits_check(), and so does the result.
weft_limits weft_limits_clamp(const weft_limits *wanted, const weft_limits *real);

#endif
