// SPDX-License-Identifier: Apache-2.0
// The first check of every tiling.
#ifndef WEFT_LIB_TILING_GIVEN_H
#define WEFT_LIB_TILING_GIVEN_H

#include "base/fail.h"

// WEFT_BAD_ARGUMENT if one of them is NULL.
static inline weft_status weft_tiling_given_check(const void *tiling, const void *limits,
                                                  const void *problem, const char *op)
{
    const char *missing = !tiling ? "tiling" : !limits ? "limits" : !problem ? "problem" : NULL;
    return missing ? fail(WEFT_BAD_ARGUMENT, "%s_tiling_check: %s is NULL", op, missing) : WEFT_OK;
}

#endif
