// SPDX-License-Identifier: Apache-2.0
// Reductions of a row's products.
#ifndef WEFT_LIB_SPMM_REDUCTION_H
#define WEFT_LIB_SPMM_REDUCTION_H

#include <weft/spmm.h>

// Whether it is the largest or smallest product, which spmm_max_min.cl computes.
bool weft_spmm_is_max_min(weft_spmm_reduction reduction);

#endif
