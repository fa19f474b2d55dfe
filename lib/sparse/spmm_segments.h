// SPDX-License-Identifier: Apache-2.0
// Rows side by side in k-blocks of B: where the entries of each row in each k-block are.
#ifndef WEFT_LIB_SPMM_SEGMENTS_H
#define WEFT_LIB_SPMM_SEGMENTS_H

#include "sparse/pattern.h"
#include "sparse/spmm_pattern.h"

// Cuts the plan's rows, in their order (NULL: as they come), into segments. Wants p's indices.
weft_status weft_spmm_segment(weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order);

#endif
