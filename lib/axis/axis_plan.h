// SPDX-License-Identifier: Apache-2.0
// What operations along an axis refuse of a tiling that their caller forces.
#ifndef WEFT_LIB_AXIS_PLAN_H
#define WEFT_LIB_AXIS_PLAN_H

#include <weft/axis.h>

// weft_axis_tiling_check() of one that is there, whose sentence begins with what it is of whom:
// "softmax: tiling".
weft_status weft_axis_named_tiling_check(const char *name, const weft_axis_tiling *tiling,
                                         const weft_limits *limits,
                                         const weft_axis_problem *problem);

#endif
