// SPDX-License-Identifier: Apache-2.0
// A call of weft_sddmm(), and what is worked out for it.
#ifndef WEFT_LIB_SDDMM_CALL_H
#define WEFT_LIB_SDDMM_CALL_H

#include <weft/sddmm.h>

#include "op/op.h"
#include "sparse/sddmm_plan.h"

// Operands in the table's order. C's values are unread where it is an indicator.
enum { WEFT_SDDMM_A, WEFT_SDDMM_B, WEFT_SDDMM_C, WEFT_SDDMM_D };

// What a call says besides its operands.
typedef struct weft_sddmm_numbers {
    double alpha, beta;
} weft_sddmm_numbers;

// Of a launch through a tile of k, several, or all of it; NULL: it needs none.
typedef struct weft_sddmm_kernels {
    weft_kernel *pack, *entries;
} weft_sddmm_kernels;

// Its scratch memory has a tile of B packed, or all of it turned, then the sums that wait for
// further tiles. The last of several launches takes the vectors that are left.
typedef struct weft_sddmm_state {
    weft_state head;
    bool is_scale; // alpha or k is 0: A, B and C are not read
    weft_sddmm_problem problem;
    weft_sddmm_tiling tiling; // from the check where the caller forces it, else from the plan
    int64_t last_from;        // where along k the last launch begins: 0 where there is one
    int last_vectors;
    int64_t n_groups;
    size_t copy_bytes, sums_bytes;
    weft_sddmm_kernels whole, last; // of the launches before the last, and of that
    weft_kernel *turn, *scale;
} weft_sddmm_state;

extern const weft_op weft_sddmm_op;

// Hook of the operation.
weft_status weft_sddmm_check(void *state, const weft_call *call);

#endif
