// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of sparse_softmax.cl.
#ifndef WEFT_SPARSE_SOFTMAX_PARAMETERS_H
#define WEFT_SPARSE_SOFTMAX_PARAMETERS_H

// Entry e of matrix b is values[start + b * batch + e]. Results are written past the caches if
// `stream`.
#define VALUES_PARAMETERS(P, AND)                                                                  \
    P(IN(T), x)                                                                                    \
    AND P(LONG, x_start)                                                                           \
    AND P(LONG, x_batch)                                                                           \
    AND P(IN(T), dy)                                                                               \
    AND P(LONG, dy_start)                                                                          \
    AND P(LONG, dy_batch)                                                                          \
    AND P(OUT(T), y)                                                                               \
    AND P(LONG, y_start)                                                                           \
    AND P(LONG, y_batch)                                                                           \
    AND P(NUMBER(ACC), scale)                                                                      \
    AND P(INT, stream)

// Long rows have more than 2 * row_chunk entries.
#define ROWS_PARAMETERS(P, AND)                                                                    \
    P(INT, n_rows) AND P(LONG, row_chunk)                                                          \
    AND P(SOLE_IN(OFFSET), offsets)                                                                \
    AND P(LONG, offsets_start)

// The states of row chunks, a maximum and a sum each: [matrix][row chunk].
#define ROW_CHUNKS_PARAMETERS(P, AND) P(LONG, n_row_chunks) AND P(SOLE_OUT(ACC), scratch)

#define CHUNK_PARAMETERS(P, AND) P(LONG, chunk)

#endif
