// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel of elementwise operations: a view of each input and each output, the
// values, and the nest of loops with its blocks.
#ifndef WEFT_ELEMENTWISE_PARAMETERS_H
#define WEFT_ELEMENTWISE_PARAMETERS_H

#define VIEW_PARAMETERS(P, AND, KIND, M)                                                           \
    P(KIND, M) AND P(LONG, M##_start) AND P(WHOLE(INDICES), M##_strides)

#define VALUE_PARAMETERS(P, AND, k) P(NUMBER(ACC), value##k)

// Quotients by the extents are a multiplication and a shift. There are n_y x n_x blocks of `rows` x
// `columns`; in pairs a block and its mirror image go together.
#define SHAPE_PARAMETERS(P, AND)                                                                   \
    P(WHOLE(INDICES), extents)                                                                     \
    AND P(WHOLE(UINDICES), multipliers)                                                            \
    AND P(WHOLE(UINDICES), shifts)                                                                 \
    AND P(WHOLE(INDEX), outers)                                                                    \
    AND P(WHOLE(INDEX), n_y)                                                                       \
    AND P(WHOLE(INDEX), rows)                                                                      \
    AND P(WHOLE(INDEX), n_x)                                                                       \
    AND P(WHOLE(INDEX), columns)                                                                   \
    AND P(INT, streams)                                                                            \
    AND P(INT, pairs)

#endif
