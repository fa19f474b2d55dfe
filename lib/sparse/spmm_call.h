// SPDX-License-Identifier: Apache-2.0
// A call of weft_spmm() or weft_spmm_dcsr(), and its state. Operations that compute such a product
// under another name have their own table with the same operands and hooks.
#ifndef WEFT_LIB_SPMM_CALL_H
#define WEFT_LIB_SPMM_CALL_H

#include <weft/spmm_dcsr.h>

#include "op/op.h"
#include "operand/view.h"
#include "sparse/row_chunks.h"
#include "sparse/spmm_pattern.h"
#include "sparse/spmm_tiling.h"

// Operands in the table's order. For a DCSR, A has the stored rows, and ROWS their numbers. ROWS,
// BIAS and ARGUMENTS may be NULL.
enum {
    WEFT_SPMM_ROWS,
    WEFT_SPMM_A,
    WEFT_SPMM_B,
    WEFT_SPMM_C,
    WEFT_SPMM_BIAS,
    WEFT_SPMM_ARGUMENTS,
    WEFT_SPMM_OPERANDS
};

// Adjacent rows of a larger product, whose entries keep the numbers that they have there: offsets
// are the larger A's, and row chunks end where its own do. nnz counts the entries that the buffers
// have, at least 16 more on either side where the larger A has them: kernels read some of the
// neighbours.
typedef struct weft_spmm_block {
    int64_t first_entry;  // the number, a multiple of 16, of the one that A's arrays begin with
    int64_t n_row_chunks; // of long rows
    cl_mem row_chunks;    // their numbers, as i64
} weft_spmm_block;

// Parameters of a call besides its operands.
typedef struct weft_spmm_numbers {
    double alpha, beta;
    const weft_spmm_plan *plan; // NULL: none. States must not point to it
    bool transpose_a;
    weft_spmm_reduction reduction;
    weft_activation activation;
    bool in_blocks;               // the tiling suits blocks of rows and columns: no tasks, and B is
                                  // not packed
    const weft_spmm_block *block; // one of them; NULL: all rows. Only in calls with a `state`
} weft_spmm_numbers;

// NULL if the call does not need the kernel.
typedef struct weft_spmm_kernels {
    weft_kernel *pack, *queues, *rows, *row_chunks, *combine, *scale, *none;
} weft_spmm_kernels;

// Scratch memory has packed B, the sums of row chunks or of tasks' parts of rows, the positions of
// max or min, and the queues of row blocks. Starts of operands are in the call, not in the state.
typedef struct weft_spmm_state {
    weft_state head;
    bool is_scale;             // alpha, k or nnz is 0: neither A nor B is read
    bool has_rows;             // op(A) is a DCSR: other rows are written by a separate kernel
    int64_t n_rows;            // of C; for a DCSR the problem's m counts only stored rows
    weft_spmm_problem problem; // without `rows`, which the plan object has
    weft_dtype offset_dtype, index_dtype; // of op(A), for kernels
    weft_dtype result_dtype, argument_dtype;
    weft_dense B, C, arguments; // vectors as matrices of one column; only strides are set
    weft_spmm_tiling tiling;    // from the check if the caller forces it, else from the plan
    bool is_planned;            // uses the plan object's row chunks, and no order but its own
    bool has_order;             // and its row order, if it has one; else A's
    bool has_segments;          // and uses its segments
    weft_row_chunks cut;        // row chunks: the plan object's, or the largest possible number
    int64_t n_tasks;            // with them there are neither row chunks nor an order
    int64_t n_tiles;
    int64_t n_queues;     // one for each n-tile and matrix; 0: row blocks are not taken from queues
    const char *unqueued; // why not, if the plan object's row schedule is QUEUE; else NULL
    size_t packed_bytes, parts_bytes, queues_bytes;
    weft_spmm_kernels kernels;
} weft_spmm_state;

extern const weft_op weft_spmm_op;

// Hooks of the operation.
void weft_spmm_key(weft_key *key, const weft_call *call);
weft_status weft_spmm_check(void *state, const weft_call *call);
weft_status weft_spmm_schedule(void *state, const weft_call *call, const weft_limits *limits);
weft_status weft_spmm_build(void *state, const weft_call *call, size_t *most);
weft_status weft_spmm_enqueue(weft_launch *launch, const void *state, const weft_call *call,
                              cl_mem scratch);
int weft_spmm_print(const void *state, const weft_call *call, char *text, size_t size);

// The other hooks of such a table, after key and check.
#define WEFT_SPMM_HOOKS                                                                            \
    .state_bytes = sizeof(weft_spmm_state), .sees_alignment = true, .plan = weft_spmm_schedule,    \
    .build = weft_spmm_build, .run = weft_spmm_enqueue, .print = weft_spmm_print

// Checks that the plan object, if any, was made for such a matrix. `stored` is not NULL for a DCSR.
weft_status weft_spmm_plan_fits(const weft_context *ctx, const weft_spmm_plan *plan,
                                bool transpose_a, const weft_csr *A, const weft_dcsr *stored,
                                const char *op, const char *name);

// Columns of one n-tile.
int64_t weft_spmm_n_tile_columns(const weft_spmm_tiling *tiling);

#endif
