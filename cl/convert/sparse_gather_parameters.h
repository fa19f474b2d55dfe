// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel that gathers values. A group has ITEMS x run adjacent ones.
#ifndef WEFT_SPARSE_GATHER_PARAMETERS_H
#define WEFT_SPARSE_GATHER_PARAMETERS_H

#define GATHER_PARAMETERS(P, AND)                                                                  \
    P(LONG, n)                                                                                     \
    AND P(LONG, run)                                                                               \
    AND P(SOLE_IN(OFFSET), source)                                                                 \
    AND P(LONG, source_start)                                                                      \
    AND P(LONG, source_stride)                                                                     \
    AND P(SOLE_IN(MOVED), values)                                                                  \
    AND P(LONG, values_start)                                                                      \
    AND P(LONG, values_stride)                                                                     \
    AND P(LONG, values_batch)                                                                      \
    AND P(SOLE_OUT(MOVED), out)                                                                    \
    AND P(LONG, out_start)                                                                         \
    AND P(LONG, out_stride)                                                                        \
    AND P(LONG, out_batch)

#endif
