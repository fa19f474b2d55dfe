// SPDX-License-Identifier: Apache-2.0
// Parameters of each kernel of softmax_backward.cl; with parts scratch memory follows.
#ifndef WEFT_SOFTMAX_BACKWARD_PARAMETERS_H
#define WEFT_SOFTMAX_BACKWARD_PARAMETERS_H

#define SOFTMAX_BACKWARD_PARAMETERS(P, AND)                                                        \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, y)                                                                                 \
    AND P(VIEW, dy)                                                                                \
    AND P(VIEW, dx)                                                                                \
    AND P(IN(T), Y)                                                                                \
    AND P(IN(T), dY)                                                                               \
    AND P(OUT(T), dX)                                                                              \
    AND P(NUMBER(ACC), scale)

#endif
