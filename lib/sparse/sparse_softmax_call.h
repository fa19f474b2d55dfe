// SPDX-License-Identifier: Apache-2.0
// A call of weft_sparse_softmax() or its backward, and what is worked out for it.
#ifndef WEFT_LIB_SPARSE_SOFTMAX_CALL_H
#define WEFT_LIB_SPARSE_SOFTMAX_CALL_H

#include <weft/sparse_softmax.h>

#include "op/op.h"
#include "sparse/row_chunks.h"
#include "sparse/sparse_softmax_plan.h"

// What a call says besides its operands.
typedef struct weft_sparse_softmax_numbers {
    double scale;
} weft_sparse_softmax_numbers;

typedef struct weft_sparse_softmax_state {
    weft_state head;
    weft_sparse_softmax_problem problem;
    weft_sparse_softmax_tiling tiling; // from the check where the caller forces it
    weft_row_chunks cut;
    weft_kernel *rows, *row_chunks, *combine, *apply; // the last three where there are row chunks
} weft_sparse_softmax_state;

// Forward. Operands: X, and Y, which may be X's values.
extern const weft_op weft_sparse_softmax_op;

#endif
