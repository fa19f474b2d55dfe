// SPDX-License-Identifier: Apache-2.0
// A call of a sparse x sparse product, and what is worked out for it.
#ifndef WEFT_LIB_SPGEMM_CALL_H
#define WEFT_LIB_SPGEMM_CALL_H

#include <weft/spgemm.h>

#include "op/op.h"
#include "op/scan.h"
#include "sparse/spgemm_plan.h"

// To a sparse C in two steps, or to a dense one.
typedef enum weft_spgemm_step {
    WEFT_SPGEMM_COUNT,
    WEFT_SPGEMM_FILL,
    WEFT_SPGEMM_TO_DENSE,
} weft_spgemm_step;

// Operands in the tables' order.
enum { WEFT_SPGEMM_A, WEFT_SPGEMM_B, WEFT_SPGEMM_C };

// What a call says besides its operands: alpha and beta with a dense C.
typedef struct weft_spgemm_numbers {
    weft_spgemm_step step;
    double alpha, beta;
} weft_spgemm_numbers;

// Scratch memory has how many rows each group did not sort, the notes of long rows, the counts of
// their chunks of adjacent columns, and the sums of the scan.
typedef struct weft_spgemm_state {
    weft_state head;
    weft_spgemm_problem problem;
    weft_dtype c_offset, c_index; // of a dense C i32
    bool has_products;            // else alpha is 0
    bool is_scaling;              // C = beta C
    weft_spgemm_tiling tiling;    // from the check where the caller forces it, else from the plan
    int64_t n_row_blocks;         // of rows
    bool has_sorted;              // groups sort rows of few products
    bool has_long;                // there may be long rows
    int64_t chunk, n_chunks;      // columns; of a row
    int64_t share;                // chunks of a group that counts
    weft_scan scan;               // of the rows' lengths, where they are counted
    int64_t left, notes, counts, sums;
    weft_kernel *rows, *sorted, *start, *count_long, *join_long, *fill_long, *dense_long;
} weft_spgemm_state;

// Hook of all three operations.
weft_status weft_spgemm_check(void *state, const weft_call *call);

// Run hooks, for each step one: spgemm_steps.c.
weft_status weft_spgemm_run_count(weft_launch *launch, const void *state, const weft_call *call,
                                  cl_mem scratch);
weft_status weft_spgemm_run_fill(weft_launch *launch, const void *state, const weft_call *call,
                                 cl_mem scratch);
weft_status weft_spgemm_run_dense(weft_launch *launch, const void *state, const weft_call *call,
                                  cl_mem scratch);

#endif
