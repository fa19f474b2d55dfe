// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of norm_scaling.cl.
#ifndef WEFT_NORM_SCALING_PARAMETERS_H
#define WEFT_NORM_SCALING_PARAMETERS_H

#define NORM_SCALING_PARTS_PARAMETERS(P, AND)                                                      \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, x)                                                                                 \
    AND P(VIEW, dy)                                                                                \
    AND P(SOLE_IN(T), X)                                                                           \
    AND P(SOLE_IN(T), dY)                                                                          \
    AND P(LONG, found)                                                                             \
    AND P(OUT(char), scratch)

#define NORM_SCALING_JOIN_PARAMETERS(P, AND)                                                       \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, dw)                                                                                \
    AND P(VIEW, db)                                                                                \
    AND P(OUT(T), dW)                                                                              \
    AND P(OUT(T), dB)                                                                              \
    AND P(INT, wants_dw)                                                                           \
    AND P(INT, wants_db)                                                                           \
    AND P(LONG, found)                                                                             \
    AND P(IN(char), scratch)

#endif
