// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels between sparse and dense matrices. A group converts `rows` rows.
#ifndef WEFT_CSR_DENSE_PARAMETERS_H
#define WEFT_CSR_DENSE_PARAMETERS_H

#define TO_DENSE_PARAMETERS(P, AND)                                                                \
    P(LONG, n_rows)                                                                                \
    AND P(LONG, n_cols)                                                                            \
    AND P(LONG, rows)                                                                              \
    AND P(INT, columns)                                                                            \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)                                                                     \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(LONG, indices_start)                                                                     \
    AND P(SOLE_IN(MOVED), values)                                                                  \
    AND P(LONG, values_start)                                                                      \
    AND P(LONG, values_batch)                                                                      \
    AND P(SOLE_OUT(MOVED), D)                                                                      \
    AND P(LONG, d_start)                                                                           \
    AND P(LONG, d_row)                                                                             \
    AND P(LONG, d_column)                                                                          \
    AND P(LONG, d_batch)                                                                           \
    AND P(LOCAL(uint), seen)                                                                       \
    AND P(LOCAL(uint), repeated)                                                                   \
    AND P(LOCAL(ACC), sums)

// The threshold is a magnitude, in the bits of an element.
#define FROM_DENSE_PARAMETERS(P, AND)                                                              \
    P(LONG, n_rows)                                                                                \
    AND P(LONG, n_cols)                                                                            \
    AND P(LONG, rows)                                                                              \
    AND P(NUMBER(MOVED), threshold)                                                                \
    AND P(SOLE_IN(MOVED), D)                                                                       \
    AND P(LONG, d_start)                                                                           \
    AND P(LONG, d_row)                                                                             \
    AND P(LONG, d_column)

// After these: the first step writes lengths of rows, the second reads offsets.
#define COUNT_PARAMETERS(P, AND) P(SOLE_OUT(OFFSET), offsets) AND P(LONG, offsets_start)

#define FILL_PARAMETERS(P, AND)                                                                    \
    P(SOLE_IN(OFFSET), offsets)                                                                    \
    AND P(LONG, offsets_start)                                                                     \
    AND P(SOLE_OUT(INDEX), indices)                                                                \
    AND P(LONG, indices_start)                                                                     \
    AND P(SOLE_OUT(MOVED), values)                                                                 \
    AND P(LONG, values_start)

#endif
