// SPDX-License-Identifier: Apache-2.0
// Segments, for k-blocks of B: the entries of one row in one k-block.
#ifndef WEFT_LIB_SPMM_SEGMENTS_H
#define WEFT_LIB_SPMM_SEGMENTS_H

#include "sparse/pattern.h"
#include "sparse/spmm_pattern.h"

// Cuts the plan's rows, listed in `order` (NULL: A's order), into segments. Reads p's indices.
weft_status weft_spmm_segment(weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order);

#endif
