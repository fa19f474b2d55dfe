// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of sparse products: how rows, or the chunks of long ones, are cut; the
// factors; the notes of long rows and the counts of their chunks; and the arrays of C.
#ifndef WEFT_SPGEMM_PARAMETERS_H
#define WEFT_SPGEMM_PARAMETERS_H

// First of each kernel.
#define COUNT_PARAMETERS(P, AND)                                                                   \
    P(LONG, n_rows)                                                                                \
    AND P(INT, n_cols)                                                                             \
    AND P(LONG, rows)                                                                              \
    AND P(INT, words)                                                                              \
    AND P(INT, sorted)                                                                             \
    AND P(INT, long_from)

#define FILL_PARAMETERS(P, AND)                                                                    \
    P(LONG, n_rows)                                                                                \
    AND P(INT, n_cols)                                                                             \
    AND P(LONG, rows)                                                                              \
    AND P(INT, columns)                                                                            \
    AND P(INT, words)                                                                              \
    AND P(INT, sorted)                                                                             \
    AND P(INT, long_from)

// Of rows whose products are sorted by groups; a column of C has so many bits.
#define SORT_PARAMETERS(P, AND)                                                                    \
    P(LONG, n_rows)                                                                                \
    AND P(LONG, rows)                                                                              \
    AND P(INT, sorted)                                                                             \
    AND P(INT, sort_rows)                                                                          \
    AND P(INT, column_bits)

#define DENSE_PARAMETERS(P, AND)                                                                   \
    P(LONG, n_rows)                                                                                \
    AND P(INT, n_cols)                                                                             \
    AND P(LONG, rows)                                                                              \
    AND P(INT, columns)                                                                            \
    AND P(INT, long_from)

#define COUNT_LONG_PARAMETERS(P, AND)                                                              \
    P(INT, n_cols)                                                                                 \
    AND P(LONG, chunk)                                                                             \
    AND P(LONG, share)                                                                             \
    AND P(INT, n_chunks)                                                                           \
    AND P(INT, words)

#define JOIN_LONG_PARAMETERS(P, AND) P(INT, n_chunks)

#define FILL_LONG_PARAMETERS(P, AND)                                                               \
    P(INT, n_cols)                                                                                 \
    AND P(LONG, chunk)                                                                             \
    AND P(INT, n_chunks)                                                                           \
    AND P(INT, columns)                                                                            \
    AND P(INT, words)

#define DENSE_LONG_PARAMETERS(P, AND)                                                              \
    P(INT, n_cols) AND P(LONG, chunk)                                                              \
    AND P(INT, columns)

#define FACTORS_PARAMETERS(P, AND)                                                                 \
    P(SOLE_IN(OFFSET), a_offsets)                                                                  \
    AND P(LONG, a_offsets_start)                                                                   \
    AND P(SOLE_IN(INDEX), a_indices)                                                               \
    AND P(LONG, a_indices_start)                                                                   \
    AND P(SOLE_IN(T), a_values)                                                                    \
    AND P(LONG, a_values_start)                                                                    \
    AND P(SOLE_IN(B_OFFSET), b_offsets)                                                            \
    AND P(LONG, b_offsets_start)                                                                   \
    AND P(SOLE_IN(B_INDEX), b_indices)                                                             \
    AND P(LONG, b_indices_start)                                                                   \
    AND P(SOLE_IN(T), b_values)                                                                    \
    AND P(LONG, b_values_start)

// How many rows are long, which may be more than `most_noted`; then up to `most_noted` of them.
#define NOTES_PARAMETERS(P, AND)                                                                   \
    P(OUT(int), notes) AND P(LONG, notes_start)                                                    \
    AND P(INT, most_noted)

// IN or OUT: [noted row][chunk].
#define COUNTS_PARAMETERS(P, AND, ACCESS) P(ACCESS(NUMBER), counts) AND P(LONG, counts_start)

// IN or OUT: for each group of rows, how many were not sorted.
#define LEFT_PARAMETERS(P, AND, ACCESS) P(ACCESS(int), left) AND P(LONG, left_start)

// SOLE_IN or SOLE_OUT: of C.
#define OFFSETS_PARAMETERS(P, AND, ACCESS) P(ACCESS(NUMBER), c_offsets) AND P(LONG, c_offsets_start)

#define MARKS_PARAMETERS(P, AND) P(LOCAL(mark_word), marks)

#define SUMS_PARAMETERS(P, AND)                                                                    \
    P(LOCAL(int), ranks)                                                                           \
    AND P(LOCAL(ACC), sums)

#define KEYS_PARAMETERS(P, AND) P(LOCAL(uint), keys)

#define PRODUCTS_PARAMETERS(P, AND)                                                                \
    P(LOCAL(ACC), a_factors)                                                                       \
    AND P(LOCAL(ACC), b_factors)                                                                   \
    AND P(LOCAL(ushort), heads)

#define ENTRIES_PARAMETERS(P, AND)                                                                 \
    P(SOLE_OUT(C_INDEX), c_indices)                                                                \
    AND P(LONG, c_indices_start)                                                                   \
    AND P(SOLE_OUT(T), c_values)                                                                   \
    AND P(LONG, c_values_start)

#define ELEMENTS_PARAMETERS(P, AND)                                                                \
    P(SOLE_OUT(T), C)                                                                              \
    AND P(LONG, c_start)                                                                           \
    AND P(LONG, c_row)                                                                             \
    AND P(LONG, c_column)                                                                          \
    AND P(NUMBER(ACC), alpha)                                                                      \
    AND P(NUMBER(ACC), beta)                                                                       \
    AND P(LOCAL(ACC), sums)

#endif
