// SPDX-License-Identifier: Apache-2.0
// A transposition, and what is worked out for it.
#ifndef WEFT_LIB_CSR_TRANSPOSE_CALL_H
#define WEFT_LIB_CSR_TRANSPOSE_CALL_H

#include <weft/csr_transpose.h>

#include "convert/csr_transpose_plan.h"
#include "op/op.h"
#include "op/scan.h"

// Operands in the table's order. The source is optional; so are the values of T, without which
// those of A are not read.
enum { WEFT_TRANSPOSE_A, WEFT_TRANSPOSE_T, WEFT_TRANSPOSE_SOURCE };

// Scratch memory has the table of digits, then the results of passes: columns, and with several
// passes rows and sources of entries. Each pass reads one of two copies and writes the other.
typedef struct weft_csr_transpose_state {
    weft_state head;
    weft_csr_transpose_problem problem;
    weft_csr_transpose_tiling tiling; // from the check where the caller forces it
    int n_passes;                     // 0 without entries
    int64_t n_groups, n_offsets, offsets_run;
    weft_scan scan;              // of the table
    int64_t table, sums;         // in elements of A's offsets
    int64_t sources[2];          // the same
    int64_t columns[2], rows[2]; // in ints
    weft_kernel *count, *scatter, *offsets;
} weft_csr_transpose_state;

// The operation's check.
weft_status weft_csr_transpose_check(void *state, const weft_call *call);

#endif
