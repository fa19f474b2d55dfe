// SPDX-License-Identifier: Apache-2.0
// What each kernel of softmax.cl takes; in parts also what parts found, else the elements that a
// tiling keeps.
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
