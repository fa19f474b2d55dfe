// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of attention over a sparse mask: dense operands, M, and those of each
// kernel.
#ifndef WEFT_SPARSE_ATTENTION_PARAMETERS_H
#define WEFT_SPARSE_ATTENTION_PARAMETERS_H

// Q, K, V or O; the names of its numbers begin with a small letter. O is written.
#define ATTENTION_DENSE_PARAMETERS(P, AND, KIND, X, x)                                             \
    P(KIND(T), X)                                                                                  \
    AND P(LONG, x##_start) AND P(LONG, x##_row) AND P(LONG, x##_column) AND P(LONG, x##_outer) AND \
    P(LONG, x##_inner)

// M, the same for every one of n_heads heads, and for every batch of them.
#define ATTENTION_ENTRIES_PARAMETERS(P, AND)                                                       \
    P(LONG, n_heads)                                                                               \
    AND P(INT, n_rows)                                                                             \
    AND P(LONG, row_chunk)                                                                         \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(SOLE_IN(INDEX), indices)                                                                 \
    AND P(LONG, offsets_start)                                                                     \
    AND P(LONG, indices_start)

#define ATTENTION_ROWS_PARAMETERS(P, AND)                                                          \
    P(INT, depth) AND P(INT, n_columns)                                                            \
    AND P(NUMBER(ACC), scale)                                                                      \
    AND P(INT, rows_per_item)

#define ATTENTION_ROW_CHUNKS_PARAMETERS(P, AND)                                                    \
    P(INT, depth)                                                                                  \
    AND P(INT, n_columns)                                                                          \
    AND P(NUMBER(ACC), scale)                                                                      \
    AND P(INT, n_row_chunks)                                                                       \
    AND P(SOLE_OUT(ACC), scratch)

#define ATTENTION_COMBINE_PARAMETERS(P, AND)                                                       \
    P(INT, n_columns) AND P(INT, n_row_chunks)                                                     \
    AND P(SOLE_IN(ACC), scratch)

#endif
