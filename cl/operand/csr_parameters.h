// SPDX-License-Identifier: Apache-2.0
// A sparse matrix by rows (CSR) as kernels take it, and the rows that an item goes through.
#ifndef WEFT_CSR_PARAMETERS_H
#define WEFT_CSR_PARAMETERS_H

// Long rows have more than 2 * row chunk entries; nnz bounds what may be read.
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

// Rows in the order in which row blocks have them, where they have one.
#define ORDER_PARAMETERS(P, AND)                                                                   \
    P(INT, rows_per_item)                                                                          \
    AND P(INT, n_ordered)                                                                          \
    AND P(INT, has_order)                                                                          \
    AND P(SOLE_IN(int), order)

#endif
