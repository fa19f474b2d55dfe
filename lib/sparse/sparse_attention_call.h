// SPDX-License-Identifier: Apache-2.0
// A call of weft_sparse_attention(), and what is worked out for it.
#ifndef WEFT_LIB_SPARSE_ATTENTION_CALL_H
#define WEFT_LIB_SPARSE_ATTENTION_CALL_H

#include <weft/sparse_attention.h>

#include "sparse/row_chunks.h"
#include "sparse/sddmm_call.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_call.h"
#include "sparse/spmm_call.h"

// Operands in the table's order: dense ones, the last of which is written, and the mask.
enum {
    WEFT_ATTENTION_Q,
    WEFT_ATTENTION_K,
    WEFT_ATTENTION_V,
    WEFT_ATTENTION_O,
    WEFT_ATTENTION_N,
    WEFT_ATTENTION_M = WEFT_ATTENTION_N,
};

// What a call says besides its operands.
typedef struct weft_attention_numbers {
    double scale;
} weft_attention_numbers;

// Of a sweep, or of three steps: then scratch memory has the workspace of a step, and the products
// after it.
typedef struct weft_attention_state {
    weft_state head;
    weft_sparse_attention_problem problem;
    weft_sparse_attention_tiling tiling; // from the check where the caller forces it
    int64_t n_heads, n_outer;            // whose product is problem.n_batches
    weft_row_chunks cut;
    int64_t n_tiles; // of the columns of V
    weft_kernel *rows, *row_chunks, *combine;
    size_t own_bytes; // of steps
    weft_sddmm_state products;
    weft_sparse_softmax_state softmax;
    weft_spmm_state sums;
} weft_attention_state;

// One of the dense operands as kernels take it: [outer x inner x rows x columns], strides in
// elements.
typedef struct weft_heads {
    cl_mem buffer;
    int64_t start, row, column, outer, inner;
} weft_heads;

weft_heads weft_heads_of(const weft_tensor *tensor);

// Hooks of the operation.
weft_status weft_attention_check(void *state, const weft_call *call);
weft_status weft_attention_numbers_check(const void *state, const weft_call *call);

// The three steps for one batch of heads; their calls point to the tensors here.
typedef struct weft_attention_steps {
    weft_tensor Q, K_transposed, V, O, products;
    weft_csr weights; // M with the products as its values
    weft_sddmm_numbers numbers;
    weft_call products_call, softmax_call, sums_call;
} weft_attention_steps;

// Plans and builds them, unheard (weft_call) or not, and finds how much scratch memory they need
// together; *fits is false where that is more than sizes reach.
weft_status weft_attention_steps_prepare(weft_attention_state *s, const weft_call *call,
                                         bool is_unheard, bool *fits);

// Enqueues them after what the launch has enqueued.
weft_status weft_attention_steps_run(weft_launch *launch, const weft_attention_state *s,
                                     const weft_call *call, cl_mem scratch);

#endif
