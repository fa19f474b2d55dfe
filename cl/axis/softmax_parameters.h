// SPDX-License-Identifier: Apache-2.0
// Parameters of each kernel of softmax.cl; with parts scratch memory follows, else local memory for
// cached elements, if any.
#ifndef WEFT_SOFTMAX_PARAMETERS_H
#define WEFT_SOFTMAX_PARAMETERS_H

#define SOFTMAX_PARAMETERS(P, AND)                                                                 \
    P(WALK, walk)                                                                                  \
    AND P(VIEW, x)                                                                                 \
    AND P(VIEW, y)                                                                                 \
    AND P(IN(T), X)                                                                                \
    AND P(OUT(T), Y)                                                                               \
    AND P(NUMBER(ACC), scale)                                                                      \
    AND P(INT, masked)

#endif
