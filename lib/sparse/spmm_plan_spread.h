// SPDX-License-Identifier: Apache-2.0
// How a sparse x dense product is cut into n-tiles and groups where lanes are items: on GPUs.
#ifndef WEFT_LIB_SPMM_PLAN_SPREAD_H
#define WEFT_LIB_SPMM_PLAN_SPREAD_H

#include "sparse/spmm_tiling.h"

// A part of weft_spmm_tiling_for().
weft_spmm_tiling weft_spmm_spread_tiling(const weft_limits *limits,
                                         const weft_spmm_problem *problem,
                                         const weft_spmm_facts *f);

#endif
