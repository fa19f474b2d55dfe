// SPDX-License-Identifier: Apache-2.0
// How a call of weft_spmm() runs: what it needs besides its operands.
#ifndef WEFT_LIB_SPMM_SCHEDULE_H
#define WEFT_LIB_SPMM_SCHEDULE_H

#include "runtime/program.h"
#include "sparse/pieces.h"
#include "sparse/spmm_product.h"
#include "sparse/spmm_tiling.h"

// How a call runs: its tiling, and what it wants in scratch memory: B packed, then what pieces come
// to, then where that was found, then queues of bundles.
typedef struct weft_spmm_schedule {
    weft_spmm_tiling tiling;
    bool has_rows;   // C's rows are found by numbers of A's, and others written apart
    bool is_planned; // rows in the plan's order, cut as it says; else as they come
    weft_pieces cut; // of long rows: those the plan found, or all that there could be
    int64_t n_slices;
    int64_t n_queues;     // one for each slice and matrix; 0: bundles are not taken from queues
    const char *unqueued; // why not, where the plan's order is a queue; else NULL
    size_t packed_bytes, queues_bytes;
} weft_spmm_schedule;

// The kernels of one call; NULL where it needs none.
typedef struct weft_spmm_kernels {
    weft_kernel *pack, *queues, *rows, *pieces, *combine, *scale, *none;
} weft_spmm_kernels;

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
// is_scale: there is nothing to add to beta C.
weft_status weft_spmm_prepare(weft_spmm_schedule *s, weft_spmm_kernels *k,
                              const weft_spmm_product *p, bool is_scale);

size_t weft_spmm_scratch_bytes(const weft_spmm_schedule *s);

// Of one slice.
int64_t weft_spmm_slice_columns(const weft_spmm_tiling *tiling);

// Whether the plan has cut the rows as the tiling wants them.
bool weft_spmm_has_segments(const weft_spmm_product *p, const weft_spmm_schedule *s);

#endif
