// SPDX-License-Identifier: Apache-2.0
// Parameters of each kernel of norm.cl; with parts scratch memory follows.
#ifndef WEFT_NORM_PARAMETERS_H
#define WEFT_NORM_PARAMETERS_H

#define NORM_PARAMETERS(P, AND)                                                                    \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, x)                                                                                 \
    AND P(VIEW, y)                                                                                 \
    AND P(VIEW, weight_view)                                                                       \
    AND P(VIEW, bias_view)                                                                         \
    AND P(IN(T), X)                                                                                \
    AND P(OUT(T), Y)                                                                               \
    AND P(IN(T), weight)                                                                           \
    AND P(IN(T), bias)                                                                             \
    AND P(NUMBER(ACC), epsilon)

#endif
