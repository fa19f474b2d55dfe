// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels between CSR and DCSR: n rows, of which a group has `run` for each item.
#ifndef WEFT_DCSR_PARAMETERS_H
#define WEFT_DCSR_PARAMETERS_H

#define FLAGS_PARAMETERS(P, AND)                                                                   \
    P(LONG, n)                                                                                     \
    AND P(LONG, run)                                                                               \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)                                                                     \
    AND P(SOLE_OUT(int), flags)

// places[row]: how many rows with entries come before it.
#define ROWS_PARAMETERS(P, AND)                                                                    \
    P(LONG, n)                                                                                     \
    AND P(LONG, run)                                                                               \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)                                                                     \
    AND P(SOLE_IN(int), places)                                                                    \
    AND P(LONG, n_stored)                                                                          \
    AND P(SOLE_OUT(int), rows)                                                                     \
    AND P(LONG, rows_start)                                                                        \
    AND P(SOLE_OUT(D_OFFSET), d_offsets)                                                           \
    AND P(LONG, d_offsets_start)

// n: the number of rows plus 1.
#define OFFSETS_PARAMETERS(P, AND)                                                                 \
    P(LONG, n)                                                                                     \
    AND P(LONG, run)                                                                               \
    AND P(SOLE_IN(int), rows)                                                                      \
    AND P(LONG, rows_start)                                                                        \
    AND P(LONG, n_stored)                                                                          \
    AND P(SOLE_IN(D_OFFSET), d_offsets)                                                            \
    AND P(LONG, d_offsets_start)                                                                   \
    AND P(SOLE_OUT(OFFSET), offsets)                                                               \
    AND P(LONG, offsets_start)

#endif
