// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of reduce.cl.
#ifndef WEFT_REDUCE_PARAMETERS_H
#define WEFT_REDUCE_PARAMETERS_H

#define REDUCE_LINES_PARAMETERS(P, AND)                                                            \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, x)                                                                                 \
    AND P(VIEW, y)                                                                                 \
    AND P(SOLE_IN(T), X)                                                                           \
    AND P(SOLE_OUT(Y_TYPE), Y)                                                                     \
    AND P(SOLE_OUT(char), scratch)                                                                 \
    AND P(LONG, correction)

#define REDUCE_COMBINE_PARAMETERS(P, AND)                                                          \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, y)                                                                                 \
    AND P(SOLE_OUT(Y_TYPE), Y)                                                                     \
    AND P(SOLE_IN(char), scratch)                                                                  \
    AND P(LONG, correction)

#endif
