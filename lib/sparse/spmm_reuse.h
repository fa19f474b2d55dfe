// SPDX-License-Identifier: Apache-2.0
// An order of A's rows in which neighbours name the same columns, so that rows of B are found in a
// cache.
#ifndef WEFT_LIB_SPMM_REUSE_H
#define WEFT_LIB_SPMM_REUSE_H

#include "sparse/pattern.h"

// Lists the rows that are not long in an order for reuse. Takes time in proportion to the entries
// and rows. *found: whether there is one; *order has room for all rows.
//
// Rows get the labels of their columns, and columns those of their rows, by majority, in a few
// rounds: rows of a cluster come to have the same label, and are listed together. Clusters come in
// the order in which a search through shared columns, row by row, first reaches them, so that
// clusters that share columns are near each other. At first a row's label is the column whose hash
// is the smallest, which two rows have in common with a probability of the part of their columns
// that they share. If rows sorted by that do not miss less than `most`, rows share too few columns,
// and there is no order.
weft_status weft_spmm_order_for_reuse(int32_t *order, int64_t *n, bool *found,
                                      const weft_pattern *p, int64_t row_chunk, int64_t room,
                                      double most);

#endif
