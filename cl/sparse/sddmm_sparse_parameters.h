// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel of sampled products of sparse factors: C and D, then A, then B, then the
// numbers, and local memory for a row of A.
#ifndef WEFT_SDDMM_SPARSE_PARAMETERS_H
#define WEFT_SDDMM_SPARSE_PARAMETERS_H

#define SDDMM_SPARSE_ENTRIES_PARAMETERS(P, AND)                                                    \
    P(INT, n_rows)                                                                                 \
    AND P(LONG, nnz)                                                                               \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)                                                                     \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(LONG, indices_start)                                                                     \
    AND P(IN(BITS), values)                                                                        \
    AND P(LONG, values_start)                                                                      \
    AND P(OUT(RESULT_T), D)                                                                        \
    AND P(LONG, d_start)                                                                           \
    AND P(LONG, entries)                                                                           \
    AND P(INT, k)                                                                                  \
    AND P(INT, most)

// The arrays of a sparse factor, or the values and strides of a dense one.
#define SDDMM_SPARSE_FACTOR_PARAMETERS(P, AND, OFFSETS, INDEXES, x)                                \
    P(SOLE_IN(OFFSETS), x##_offsets)                                                               \
    AND P(LONG, x##_offsets_start) AND P(SOLE_IN(INDEXES), x##_indices) AND P(                     \
        LONG, x##_indices_start) AND                                                               \
    P(SOLE_IN(T), x##_values) AND                                                                  \
    P(LONG, x##_values_start) AND                                                                  \
    P(LONG, x##_row) AND                                                                           \
    P(LONG, x##_column)

#define SDDMM_SPARSE_ENDING_PARAMETERS(P, AND)                                                     \
    P(NUMBER(ACC), alpha)                                                                          \
    AND P(NUMBER(ACC), beta)                                                                       \
    AND P(LOCAL(ACC), row_values)                                                                  \
    AND P(LOCAL(known), row_known)

#endif
