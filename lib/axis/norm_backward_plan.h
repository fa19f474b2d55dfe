// SPDX-License-Identifier: Apache-2.0
// Whether the norms' backward computes dX, dW and db in one pass.
#ifndef WEFT_LIB_NORM_BACKWARD_PLAN_H
#define WEFT_LIB_NORM_BACKWARD_PLAN_H

#include "axis/axis_plan.h"

// The problem of dX, of `high` rows of `mid`, and that of dW and db, with rows and columns
// exchanged. are_even: rows are at equal distances. Sets both tilings if one pass pays: each group
// then takes one run of rows, and leaves their sums for dW and db as one part. A pure function.
bool weft_norm_backward_in_one(weft_axis_tiling *rows, weft_axis_tiling *columns,
                               const weft_limits *limits, const weft_axis_problem *of_rows,
                               const weft_axis_problem *of_columns, bool are_even);

#endif
