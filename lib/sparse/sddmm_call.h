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

// Kernels of a launch for one tile of k, several, or all of it; NULL: not needed.
typedef struct weft_sddmm_kernels {
    weft_kernel *pack, *entries;
} weft_sddmm_kernels;

// Scratch memory has a tile of B packed, or all of it transposed, then the sums that wait for
// further tiles. The last of several launches computes the vectors that are left.
typedef struct weft_sddmm_state {
    weft_state head;
    bool is_scale; // alpha or k is 0: A, B and C are not read
    weft_sddmm_problem problem;
    weft_sddmm_tiling tiling; // from the check where the caller forces it, else from the plan
    int64_t last_from;        // where along k the last launch begins: 0 where there is one
    int last_vectors;
    int64_t n_groups;
    size_t copy_bytes, sums_bytes;
    weft_sddmm_kernels whole, last; // of the launches before the last, and of the last
    weft_kernel *transpose, *scale;
} weft_sddmm_state;

extern const weft_op weft_sddmm_op;

// Hooks of the operation.
void weft_sddmm_key(weft_key *key, const weft_call *call);
weft_status weft_sddmm_check(void *state, const weft_call *call);
weft_status weft_sddmm_schedule(void *state, const weft_call *call, const weft_limits *limits);
weft_status weft_sddmm_build(void *state, const weft_call *call, size_t *most);
weft_status weft_sddmm_enqueue(weft_launch *launch, const void *state, const weft_call *call,
                               cl_mem scratch);
int weft_sddmm_print(const void *state, const weft_call *call, char *text, size_t size);

// What follows key and check, for the table of an operation that is such a product under another
// name, with the same operands.
#define WEFT_SDDMM_HOOKS                                                                           \
    .state_bytes = sizeof(weft_sddmm_state), .sees_alignment = true, .plan = weft_sddmm_schedule,  \
    .build = weft_sddmm_build, .run = weft_sddmm_enqueue, .print = weft_sddmm_print

#endif
