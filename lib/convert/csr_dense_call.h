// SPDX-License-Identifier: Apache-2.0
// A conversion between sparse and dense, and what is worked out for it.
#ifndef WEFT_LIB_CSR_DENSE_CALL_H
#define WEFT_LIB_CSR_DENSE_CALL_H

#include <weft/csr_dense.h>

#include "convert/csr_dense_plan.h"
#include "op/op.h"
#include "op/scan.h"

// Operands in the tables' order.
enum { WEFT_CSR_DENSE_A, WEFT_CSR_DENSE_D };

// What the kernel does.
typedef enum weft_csr_dense_step {
    WEFT_CSR_TO_DENSE,
    WEFT_DENSE_TO_CSR_COUNT,
    WEFT_DENSE_TO_CSR_FILL,
} weft_csr_dense_step;

// What a call says besides its operands; each step is an operation of its own.
typedef struct weft_csr_dense_own {
    weft_csr_dense_step step;
    double threshold;
} weft_csr_dense_own;

typedef struct weft_csr_dense_state {
    weft_state head;
    weft_csr_dense_problem problem;
    weft_csr_dense_tiling tiling; // from the check where the caller forces it
    int64_t n_row_blocks;         // of rows
    int sums;                     // in local memory
    weft_scan scan;               // of the rows' lengths
    weft_kernel *kernel;
} weft_csr_dense_state;

// Hooks of the operations.
weft_status weft_csr_dense_check(void *state, const weft_call *call);
weft_status weft_csr_dense_numbers_check(const void *state, const weft_call *call);

#endif
