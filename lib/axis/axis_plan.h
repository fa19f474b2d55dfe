// SPDX-License-Identifier: Apache-2.0
// Chooses how work along an axis is divided, for reductions, softmax and normalisation.
#ifndef WEFT_LIB_AXIS_PLAN_H
#define WEFT_LIB_AXIS_PLAN_H

#include <weft/geometry.h>

#include "axis/axis_tiling.h"
#include "base/tiling.h"

// Chooses, by weft_geometry_for(); a pure function. `limits` must pass weft_limits_check().
weft_axis_tiling weft_axis_tiling_for(const weft_limits *limits, const weft_axis_problem *problem);

// Checks the caller's tiling against the limits and the problem: WEFT_BAD_ARGUMENT names the field.
weft_status weft_axis_tiling_check(const weft_axis_tiling *tiling, const weft_limits *limits,
                                   const weft_axis_problem *problem);

// Local memory of a group for cached elements; 0 unless tiling->cache. The tiling must pass
// weft_axis_tiling_check().
int64_t weft_axis_tiling_cached_bytes(const weft_axis_tiling *tiling,
                                      const weft_axis_problem *problem);

// Whether the operands may well be in the last cache, as what was written just before.
bool weft_axis_is_near(const weft_limits *limits, const weft_axis_problem *problem);

// Prints the tiling in one line, like snprintf().
int weft_axis_tiling_print(const weft_axis_tiling *tiling, char *text, size_t size);

// The table that prints and reads it.
extern const weft_tiling_table weft_axis_tiling_table;

// weft_axis_tiling_check() of a tiling that is not NULL; messages begin with `name`:
// "softmax: tiling".
weft_status weft_axis_named_tiling_check(const char *name, const weft_axis_tiling *tiling,
                                         const weft_limits *limits,
                                         const weft_axis_problem *problem);

#endif
