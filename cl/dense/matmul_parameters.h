// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of dense products: two factors, the batch, the ending with the
// formula's inputs and values, and the sizes of blocks.
#ifndef WEFT_MATMUL_PARAMETERS_H
#define WEFT_MATMUL_PARAMETERS_H

#define FACTOR_PARAMETERS(P, AND, M)                                                               \
    P(SOLE_IN(T), M)                                                                               \
    AND P(LONG, M##_start) AND P(LONG, M##_row) AND P(LONG, M##_column) AND P(LONG4, M##_batch)

// Products first_batch .. first_batch + n_batches - 1 of those that the loops count.
#define BATCH_PARAMETERS(P, AND)                                                                   \
    P(LONG4, loops) AND P(LONG, first_batch)                                                       \
    AND P(LONG, n_batches)

// `chunks` has room for sums of n_chunks chunks of each product, if there are several. C is written
// past the caches if it `streams`.
#define ENDING_PARAMETERS(P, AND)                                                                  \
    P(OUT(TYPE_OF(OUT)), C)                                                                        \
    AND P(LONG, c_start)                                                                           \
    AND P(LONG, c_row)                                                                             \
    AND P(LONG, c_column)                                                                          \
    AND P(LONG4, c_batch)                                                                          \
    AND P(INT, streams)                                                                            \
    AND P(NUMBER(ACC), alpha)                                                                      \
    AND P(NUMBER(ACC), beta)                                                                       \
    AND P(INT, n_chunks)                                                                           \
    AND P(INT, chunk)                                                                              \
    AND P(OUT(ACC), chunks)

#define INPUT_PARAMETERS(P, AND, k)                                                                \
    P(IN(TYPE_OF(IN##k)), in##k)                                                                   \
    AND P(LONG, in##k##_start) AND P(LONG, in##k##_row) AND P(LONG, in##k##_column) AND P(         \
        LONG4, in##k##_batch)

#define VALUE_PARAMETERS(P, AND, k) P(NUMBER(ACC), value##k)

// After the ending, of each kernel.
#define COMBINE_PARAMETERS(P, AND) P(INT, m) AND P(INT, n)

#define BLOCKS_PARAMETERS(P, AND)                                                                  \
    P(INT, m)                                                                                      \
    AND P(INT, n)                                                                                  \
    AND P(INT, k)                                                                                  \
    AND P(INT, block_rows)                                                                         \
    AND P(INT, block_columns)                                                                      \
    AND P(LOCAL(ACCS), strips)                                                                     \
    AND P(LOCAL(ACCS), steps)                                                                      \
    AND P(LOCAL(ACCS), sums_of_block)

#define DOTS_PARAMETERS(P, AND)                                                                    \
    P(INT, m)                                                                                      \
    AND P(INT, n)                                                                                  \
    AND P(INT, k)                                                                                  \
    AND P(INT, block_columns)                                                                      \
    AND P(INT, depth)                                                                              \
    AND P(LOCAL(ACCS), rows_of_A)                                                                  \
    AND P(LOCAL(ACCS), sums)                                                                       \
    AND P(LOCAL(ACCS), partials)

#define ROWS_PARAMETERS(P, AND)                                                                    \
    P(INT, m) AND P(INT, n)                                                                        \
    AND P(INT, k)                                                                                  \
    AND P(INT, block_rows)                                                                         \
    AND P(INT, block_columns)

#endif
