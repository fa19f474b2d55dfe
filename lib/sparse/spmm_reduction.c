// SPDX-License-Identifier: Apache-2.0
// The reductions of SpMM.
#include "sparse/spmm_reduction.h"
#include "base/text.h"

static const char *const names[] = {
    [WEFT_SPMM_SUM] = "sum",
    [WEFT_SPMM_MEAN] = "mean",
    [WEFT_SPMM_MAX] = "max",
    [WEFT_SPMM_MIN] = "min",
};

enum { N_REDUCTIONS = sizeof(names) / sizeof(names[0]) };

const char *weft_spmm_reduction_name(weft_spmm_reduction reduction)
{
    return (int)reduction >= 0 && (int)reduction < N_REDUCTIONS ? names[reduction] : NULL;
}

bool weft_spmm_reduction_find(const char *name, weft_spmm_reduction *reduction)
{
    const int found = text_among(names, N_REDUCTIONS, name);
    if (found >= 0)
        *reduction = (weft_spmm_reduction)found;
    return found >= 0;
}

bool weft_spmm_is_max_min(weft_spmm_reduction reduction)
{
    return reduction == WEFT_SPMM_MAX || reduction == WEFT_SPMM_MIN;
}
