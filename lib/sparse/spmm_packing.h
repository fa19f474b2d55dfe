// SPDX-License-Identifier: Apache-2.0
// Whether a sparse x dense product should pack B.
#ifndef WEFT_LIB_SPMM_PACKING_H
#define WEFT_LIB_SPMM_PACKING_H

#include "sparse/spmm_tiling.h"

// Packing B pays where each of its rows is used often, and columns are not adjacent or an n-tile of
// `least` bytes or more is a part of rows so long that it would occupy few sets of a cache.
bool weft_spmm_packing_pays(const weft_spmm_problem *problem, int64_t n_tile_columns, int64_t bytes,
                            int64_t least);

#endif
