// SPDX-License-Identifier: Apache-2.0
// What choosing a tiling of weft_spmm() and checking one both go by.
#ifndef WEFT_LIB_SPMM_TILING_H
#define WEFT_LIB_SPMM_TILING_H

#include <weft/spmm.h>

enum {
    WEFT_SPMM_MAX_FOLD = 16,
    WEFT_SPMM_MAX_VECTORS = 8,
    WEFT_SPMM_MAX_UNROLL = 8,
    WEFT_SPMM_MAX_LOAD = 4,
    WEFT_SPMM_MAX_TEAM = 32,
};

// A forgiving view of the problem: defaults filled in, extents at least 1.
typedef struct weft_spmm_facts {
    weft_dtype dtype;
    int64_t n, alignment, entry_alignment;
} weft_spmm_facts;

weft_spmm_facts weft_spmm_facts_of(const weft_spmm_problem *problem);

// Groups that the device holds at once. A CPU's limits count its groups of one item as they are.
int64_t weft_spmm_held_groups(const weft_spmm_tiling *tiling, const weft_limits *limits);

// Items along x of groups that sum rows.
static inline int64_t weft_spmm_team_items(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * (tiling->team > 0 ? tiling->team : 1);
}

// Turns of the loops of an item that goes through all rows of A, at most.
double weft_spmm_turns_of_all(const weft_spmm_problem *problem);

#endif
