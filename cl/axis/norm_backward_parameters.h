// SPDX-License-Identifier: Apache-2.0
// Parameters of each kernel of norm_backward.cl, before the scratch memory.
#ifndef WEFT_NORM_BACKWARD_PARAMETERS_H
#define WEFT_NORM_BACKWARD_PARAMETERS_H

#define NORM_BACKWARD_PARAMETERS(P, AND)                                                           \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, x)                                                                                 \
    AND P(VIEW, dy)                                                                                \
    AND P(VIEW, weight_view)                                                                       \
    AND P(VIEW, dx)                                                                                \
    AND P(IN(T), X)                                                                                \
    AND P(IN(T), dY)                                                                               \
    AND P(IN(T), weight)                                                                           \
    AND P(OUT(T), dX)                                                                              \
    AND P(NUMBER(ACC), epsilon)                                                                    \
    AND P(LONG, found)

// The further ones of norm_backward_columns.
#define NORM_COLUMNS_PARAMETERS(P, AND)                                                            \
    P(OUT(T), dW)                                                                                  \
    AND P(OUT(T), dB)                                                                              \
    AND P(LONG, dw_start)                                                                          \
    AND P(LONG, dw_step)                                                                           \
    AND P(LONG, db_start)                                                                          \
    AND P(LONG, db_step)                                                                           \
    AND P(INT, writes)                                                                             \
    AND P(OUT(char), scratch)

#endif
