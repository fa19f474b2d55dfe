// SPDX-License-Identifier: Apache-2.0
// Planning for one device and running on another.
#ifndef WEFT_LIB_CLAMP_H
#define WEFT_LIB_CLAMP_H

#include <weft/limits.h>

#include "base/why.h"

// `wanted`, cut down to what the device of `real` can hold: sizes to the smaller of both, abilities
// to those of both but for sub-groups, which kernels do without where there are none; named "wanted
// on real". What failed on either is not trusted. Both pass weft_limits_check(), and so does the
// result.
weft_limits weft_limits_clamp(const weft_limits *wanted, const weft_limits *real);

// Limits whose groups have at most so many items, 1 or more. They pass weft_limits_check() where
// those given do.
weft_limits weft_limits_lowered(const weft_limits *limits, size_t items);

// Limits of a device on which these weft_trial bits failed, besides what had failed before: without
// what is not to be trusted. They pass weft_limits_check() where those given do.
weft_limits weft_limits_distrust(const weft_limits *limits, unsigned failed);

// Items that a group may have along one dimension, as a power of two.
int64_t weft_limits_items_along(const weft_limits *limits, int dimension);

// Elements of so many bytes in the widest vector, which has limits->vector width of 4: 1 to `most`.
int64_t weft_limits_vector_width(const weft_limits *limits, int64_t bytes, int64_t most);

// Whether groups of `wanted` items can run where the kernels as built take `most`. Where they
// cannot, the limits are lowered, to plan and build again with; but WEFT_UNSUPPORTED where the
// tiling is forced, the kernels take none, or the limits have been as low before: planning again
// would not end. `what` is "spmm"; `why` is told of larger groups.
weft_status weft_limits_fit(bool *fits, weft_limits *limits, size_t wanted, size_t most,
                            bool is_forced, const char *what, const weft_why *why);

#endif
