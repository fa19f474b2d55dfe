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

#endif
