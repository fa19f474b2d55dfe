// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of sparse x dense products, besides the sparse matrix
// (operand/csr_parameters.h), by group.
#ifndef WEFT_SPMM_PARAMETERS_H
#define WEFT_SPMM_PARAMETERS_H

#define B_PARAMETERS(P, AND)                                                                       \
    P(SOLE_IN(T), B)                                                                               \
    AND P(LONG, b_start)                                                                           \
    AND P(LONG, b_row)                                                                             \
    AND P(LONG, b_column)                                                                          \
    AND P(LONG, b_batch)

#define C_PARAMETERS(P, AND)                                                                       \
    P(SOLE_OUT(RESULT_T), C)                                                                       \
    AND P(LONG, c_start)                                                                           \
    AND P(LONG, c_row)                                                                             \
    AND P(LONG, c_column)                                                                          \
    AND P(LONG, c_batch)

// After C: a number for each of its rows, and the numbers of the rows that A stores.
#define BIAS_PARAMETERS(P, AND)                                                                    \
    P(SOLE_IN(T), bias)                                                                            \
    AND P(LONG, bias_start)                                                                        \
    AND P(LONG, bias_step)

#define STORED_PARAMETERS(P, AND)                                                                  \
    P(SOLE_IN(int), stored_rows)                                                                   \
    AND P(LONG, stored_rows_start)                                                                 \
    AND P(LONG, n_stored)

#define SCALARS_PARAMETERS(P, AND)                                                                 \
    P(INT, n)                                                                                      \
    AND P(NUMBER(ACC), alpha)                                                                      \
    AND P(NUMBER(ACC), beta)

// The entries that gave max or min.
#define ARGUMENTS_PARAMETERS(P, AND)                                                               \
    P(SOLE_OUT(ARGUMENT), arguments)                                                               \
    AND P(LONG, arguments_start)                                                                   \
    AND P(LONG, arguments_row)                                                                     \
    AND P(LONG, arguments_column)                                                                  \
    AND P(LONG, arguments_batch)

// ---- row blocks

#define QUEUE_PARAMETERS(P, AND)                                                                   \
    P(ATOMIC(uint), queues)                                                                        \
    AND P(LONG, queues_start)

#define START_QUEUES_PARAMETERS(P, AND)                                                            \
    P(SOLE_OUT(uint), queues)                                                                      \
    AND P(LONG, queues_start)                                                                      \
    AND P(LONG, n_queues)

// An n-tile of B in local memory.
#define STAGED_B_PARAMETERS(P, AND)                                                                \
    P(INT, row_blocks_per_copy)                                                                    \
    AND P(INT, depth)                                                                              \
    AND P(INT, groups_per_copy)                                                                    \
    AND P(SOLE_LOCAL(ACCS), staged_b)

// Rows side by side in k-blocks of B, found by the kernel or by a plan.
#define K_BLOCKS_PARAMETERS(P, AND)                                                                \
    P(INT, k_block_from) AND P(INT, k)                                                             \
    AND P(INT, k_block)

#define SEGMENTS_PARAMETERS(P, AND)                                                                \
    P(INT, k_block_from)                                                                           \
    AND P(SOLE_IN(OFFSET), segment_starts)                                                         \
    AND P(SOLE_IN(OFFSET), segment_entries)                                                        \
    AND P(SOLE_IN(int), segments)

// ---- row chunks of long rows, whose sums and places are written, then read

#define ROW_CHUNKS_PARAMETERS(P, AND, POINTER)                                                     \
    P(INT, n_row_chunks)                                                                           \
    AND P(INT, has_list)                                                                           \
    AND P(SOLE_IN(long), list)                                                                     \
    AND P(POINTER(ACC), scratch)                                                                   \
    AND P(LONG, scratch_start)

#define FOUND_PARAMETERS(P, AND, POINTER)                                                          \
    P(POINTER(OFFSET), found)                                                                      \
    AND P(LONG, found_start)

// ---- tasks, whose parts of rows are written, then read

#define TASKS_PARAMETERS(P, AND, POINTER)                                                          \
    P(INT, task_size)                                                                              \
    AND P(INT, n_tasks)                                                                            \
    AND P(POINTER(ACC), scratch)                                                                   \
    AND P(LONG, scratch_start)

// ---- kernels that multiply nothing

// After B.
#define PACK_PARAMETERS(P, AND)                                                                    \
    P(INT, k)                                                                                      \
    AND P(INT, n)                                                                                  \
    AND P(INT, rows_per_item)                                                                      \
    AND P(SOLE_OUT(T), packed)

// Rows of C, rows_per_item for each item.
#define LEFT_PARAMETERS(P, AND)                                                                    \
    P(INT, n_rows) AND P(INT, n)                                                                   \
    AND P(INT, rows_per_item)

#define SCALE_PARAMETERS(P, AND)                                                                   \
    P(INT, n_rows) AND P(INT, n)                                                                   \
    AND P(INT, rows_per_item)                                                                      \
    AND P(NUMBER(ACC), beta)

#endif
