// SPDX-License-Identifier: Apache-2.0
// Planning for one device and running on another.
#ifndef WEFT_LIB_CLAMP_H
#define WEFT_LIB_CLAMP_H

#include <weft/limits.h>

#include "base/why.h"

// `wanted`, limited to the device of `real`: the smaller of both sizes, and abilities that both
// have, except sub-groups, for which kernels have a fallback; named "wanted on real". What failed
// on either is not used. Both pass weft_limits_check(), and so does the result.
weft_limits weft_limits_clamp(const weft_limits *wanted, const weft_limits *real);

// Limits whose groups have at most `items` items, 1 or more. They pass weft_limits_check() if the
// given ones do.
weft_limits weft_limits_lowered(const weft_limits *limits, size_t items);

// Limits of a device on which these weft_trial bits failed too, without the features that failed.
// They pass weft_limits_check() if the given ones do.
weft_limits weft_limits_distrust(const weft_limits *limits, unsigned failed);

// The most items of a group along one dimension, as a power of two.
int64_t weft_limits_items_along(const weft_limits *limits, int dimension);

// Elements of `bytes` bytes in the widest vector, which has limits->vector_width of 4: 1 to `most`.
int64_t weft_limits_vector_width(const weft_limits *limits, int64_t bytes, int64_t most);

// Whether groups of `wanted` items can run if the built kernels take `most`. If not, the limits are
// lowered for another plan and build; but WEFT_UNSUPPORTED if the tiling is forced, the kernels
// take no items, or the limits have been as low before: planning again would not end. `what` is
// "spmm"; the reason goes to `why`.
weft_status weft_limits_fit(bool *fits, weft_limits *limits, size_t wanted, size_t most,
                            bool is_forced, const char *what, const weft_why *why);

#endif
