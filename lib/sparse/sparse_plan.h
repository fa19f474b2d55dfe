// SPDX-License-Identifier: Apache-2.0
// Arithmetic that plans of sparse products share.
#ifndef WEFT_LIB_SPARSE_PLAN_H
#define WEFT_LIB_SPARSE_PLAN_H

#include <weft/dtype.h>

#include <stdbool.h>
#include <stdint.h>

// Vectors of vector_width elements for an item, of n elements, in steps that keep programs few and
// waste little of the last item's.
int weft_vectors_for(int64_t n, int64_t vector_width, int64_t most);

// Whether rows that begin so many elements apart are near in the sense of nth_row()
// (cl/base/nth_row.clh): then items compute their addresses in fewer instructions.
bool weft_rows_are_near(int64_t distance, weft_dtype dtype);

#endif
