// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of a transposition.
#ifndef WEFT_CSR_TRANSPOSE_PARAMETERS_H
#define WEFT_CSR_TRANSPOSE_PARAMETERS_H

// Columns, by which a pass sorts: of A, or from the pass before.
#define COLUMNS_PARAMETERS(P, AND)                                                                 \
    P(LONG, nnz)                                                                                   \
    AND P(LONG, run)                                                                               \
    AND P(INT, shift)                                                                              \
    AND P(INT, bits)                                                                               \
    AND P(INT, is_first)                                                                           \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(LONG, indices_start)                                                                     \
    AND P(OUT(int), whole)                                                                         \
    AND P(LONG, columns_in)

// After these, of each kernel of a pass.
#define COUNT_PARAMETERS(P, AND) P(OUT(OFFSET), table) AND P(LOCAL(OFFSET), counters)

// `whole` has columns and rows, `wide` the sources of entries; a pass reads those at _in and writes
// those at _out.
#define SCATTER_PARAMETERS(P, AND)                                                                 \
    P(IN(OFFSET), table)                                                                           \
    AND P(LOCAL(OFFSET), counters)                                                                 \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)                                                                     \
    AND P(INT, n_rows)                                                                             \
    AND P(LONG, columns_out)                                                                       \
    AND P(LONG, rows_in)                                                                           \
    AND P(LONG, rows_out)                                                                          \
    AND P(OUT(OFFSET), wide)                                                                       \
    AND P(LONG, sources_in)                                                                        \
    AND P(LONG, sources_out)                                                                       \
    AND P(INT, is_last)                                                                            \
    AND P(SOLE_OUT(T_INDEX), t_indices)                                                            \
    AND P(LONG, t_indices_start)                                                                   \
    AND P(INT, has_values)                                                                         \
    AND P(SOLE_IN(MOVED), values)                                                                  \
    AND P(LONG, values_start)                                                                      \
    AND P(SOLE_OUT(MOVED), t_values)                                                               \
    AND P(LONG, t_values_start)                                                                    \
    AND P(INT, has_source)                                                                         \
    AND P(SOLE_OUT(OFFSET), source)                                                                \
    AND P(LONG, source_start)                                                                      \
    AND P(LONG, source_stride)

#define OFFSETS_PARAMETERS(P, AND)                                                                 \
    P(LONG, n_offsets)                                                                             \
    AND P(LONG, run)                                                                               \
    AND P(LONG, nnz)                                                                               \
    AND P(IN(int), whole)                                                                          \
    AND P(LONG, columns_in)                                                                        \
    AND P(SOLE_OUT(T_OFFSET), t_offsets)                                                           \
    AND P(LONG, t_offsets_start)

#endif
