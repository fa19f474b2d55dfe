// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of sampled dense products: A, B, or both, then those of each kernel.
#ifndef WEFT_SDDMM_PARAMETERS_H
#define WEFT_SDDMM_PARAMETERS_H

// A or B; the names of its numbers begin with `m`.
#define SDDMM_DENSE_PARAMETERS(P, AND, M, m)                                                       \
    P(SOLE_IN(T), M)                                                                               \
    AND P(LONG, m##_start) AND P(LONG, m##_row) AND P(LONG, m##_column) AND P(LONG, m##_batch)

// Tiles of k from `from` up to `upto`. `sums` has room for sums that wait for further tiles.
#define SDDMM_ENTRIES_PARAMETERS(P, AND)                                                           \
    P(INT, n_rows)                                                                                 \
    AND P(LONG, nnz)                                                                               \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(LONG, offsets_start)                                                                     \
    AND P(LONG, indices_start)                                                                     \
    AND P(IN(BITS), values)                                                                        \
    AND P(LONG, values_start)                                                                      \
    AND P(LONG, values_batch)                                                                      \
    AND P(OUT(RESULT_T), D)                                                                        \
    AND P(LONG, d_start)                                                                           \
    AND P(LONG, d_batch)                                                                           \
    AND P(INT, k)                                                                                  \
    AND P(INT, from)                                                                               \
    AND P(INT, upto)                                                                               \
    AND P(LONG, entries)                                                                           \
    AND P(NUMBER(ACC), alpha)                                                                      \
    AND P(NUMBER(ACC), beta)                                                                       \
    AND P(OUT(ACC), sums)                                                                          \
    AND P(LONG, sums_start)

// After these, where rows advance through column blocks of B.
#define SDDMM_COLUMN_BLOCKS_PARAMETERS(P, AND) P(INT, n) AND P(LONG, column_block)

#define SDDMM_PACK_PARAMETERS(P, AND)                                                              \
    P(INT, n) AND P(INT, k)                                                                        \
    AND P(INT, from)                                                                               \
    AND P(SOLE_OUT(T), packed)

#define SDDMM_TRANSPOSE_PARAMETERS(P, AND)                                                         \
    P(INT, n) AND P(INT, k)                                                                        \
    AND P(SOLE_OUT(BITS), transposed)

#define SDDMM_SCALE_PARAMETERS(P, AND)                                                             \
    P(LONG, nnz)                                                                                   \
    AND P(OUT(RESULT_T), D)                                                                        \
    AND P(LONG, d_start)                                                                           \
    AND P(LONG, d_batch)                                                                           \
    AND P(LONG, entries)                                                                           \
    AND P(NUMBER(ACC), beta)

#endif
