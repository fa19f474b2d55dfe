// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that compute prefix sums of n numbers, of which a group has `span`.
#ifndef WEFT_SCAN_PARAMETERS_H
#define WEFT_SCAN_PARAMETERS_H

#define SCAN_SUMS_PARAMETERS(P, AND)                                                               \
    P(LONG, n)                                                                                     \
    AND P(LONG, span)                                                                              \
    AND P(SOLE_IN(NUMBER), in)                                                                     \
    AND P(LONG, in_start)                                                                          \
    AND P(SOLE_OUT(NUMBER), sums)                                                                  \
    AND P(LONG, sums_start)

// has_total: out has one number more, the sum of all.
#define SCAN_APPLY_PARAMETERS(P, AND)                                                              \
    P(LONG, n)                                                                                     \
    AND P(LONG, span)                                                                              \
    AND P(IN(NUMBER), in)                                                                          \
    AND P(LONG, in_start)                                                                          \
    AND P(OUT(NUMBER), out)                                                                        \
    AND P(LONG, out_start)                                                                         \
    AND P(INT, has_total)                                                                          \
    AND P(SOLE_IN(NUMBER), sums)                                                                   \
    AND P(LONG, sums_start)

#endif
