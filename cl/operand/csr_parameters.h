// SPDX-License-Identifier: Apache-2.0
// Parameters of a sparse matrix by rows (CSR), and of the rows of an item.
#ifndef WEFT_CSR_PARAMETERS_H
#define WEFT_CSR_PARAMETERS_H

// Long rows have more than 2 * row_chunk entries; nnz bounds reads of entries.
#define PATTERN_PARAMETERS(P, AND)                                                                 \
    P(INT, n_rows)                                                                                 \
    AND P(LONG, nnz)                                                                               \
    AND P(LONG, row_chunk)                                                                         \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(SOLE_IN(BITS), values)                                                                   \
    AND P(SOLE_IN(OFFSET), source)                                                                 \
    AND P(LONG, offsets_start)                                                                     \
    AND P(LONG, indices_start)                                                                     \
    AND P(LONG, values_start)                                                                      \
    AND P(LONG, values_batch)

// The order of rows in row blocks, if has_order.
#define ORDER_PARAMETERS(P, AND)                                                                   \
    P(INT, rows_per_item)                                                                          \
    AND P(INT, n_ordered)                                                                          \
    AND P(INT, has_order)                                                                          \
    AND P(SOLE_IN(int), order)

#endif
