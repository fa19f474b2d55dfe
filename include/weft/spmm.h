// SPDX-License-Identifier: Apache-2.0
// SpMM: sparse matrix times dense matrix.
#ifndef WEFT_SPMM_H
#define WEFT_SPMM_H

#include <weft/activation.h>
#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_spmm_plan weft_spmm_plan;

// Reduces the products a_e b[col_e, j] of all entries e of row i of op(A), for C[i, j]. A row
// without entries gives 0.
typedef enum weft_spmm_reduction {
    WEFT_SPMM_SUM = 0,
    WEFT_SPMM_MEAN, // their sum, divided by their number
    WEFT_SPMM_MAX,  // the largest
    WEFT_SPMM_MIN,  // the smallest
} weft_spmm_reduction;

// "sum", "mean", "max" or "min"; NULL for other values.
WEFT_API const char *weft_spmm_reduction_name(weft_spmm_reduction reduction);

// Finds the reduction of that name. If there is none, or `name` is NULL: false, and `reduction`,
// which must not be NULL, is unchanged.
WEFT_API bool weft_spmm_reduction_find(const char *name, weft_spmm_reduction *reduction);

// How a plan distributes rows to work-groups. It balances the load of a group's lanes, which wait
// for its longest row, and of compute units, which wait for the last group. With the same tiling C
// has the same bits for every row schedule.
typedef enum weft_spmm_row_schedule {
    WEFT_SPMM_ROW_SCHEDULE_DEFAULT = 0, // chosen for the lengths of rows and the device
    WEFT_SPMM_ROW_SCHEDULE_GIVEN,       // in A's order
    WEFT_SPMM_ROW_SCHEDULE_SORTED,      // by length, longest first: rows of a group are similar
    WEFT_SPMM_ROW_SCHEDULE_SNAKE,       // sorted; groups go to compute units 1 .. q, q .. 1
    WEFT_SPMM_ROW_SCHEDULE_ALTERNATING, // runs of neighbouring rows, alternately heavy and light
    WEFT_SPMM_ROW_SCHEDULE_QUEUE, // sorted; as many groups as are resident take row blocks from a
                                  // queue as they finish. SORTED if one group could not take all
                                  // of them (limits' max_iterations), or scratch memory has no
                                  // room
    WEFT_SPMM_ROW_SCHEDULE_REUSE, // neighbours name the same columns, so that rows of B are found
                                  // in a cache
} weft_spmm_row_schedule;

// "default", "given", "sorted", "snake", "alternating", "queue" or "reuse"; NULL for other values.
WEFT_API const char *weft_spmm_row_schedule_name(weft_spmm_row_schedule schedule);

// Finds the row schedule of that name. If there is none, or `name` is NULL: false, and `schedule`,
// which must not be NULL, is unchanged.
WEFT_API bool weft_spmm_row_schedule_find(const char *name, weft_spmm_row_schedule *schedule);

typedef struct weft_spmm_plan_params {
    size_t size;      // sizeof(weft_spmm_plan_params): WEFT_SPMM_PLAN() fills it in
    bool transpose_a; // plan for A^T: stores A's pattern by columns, and each value's position in A
    // As in a tiling. A product without scratch memory for the row chunks fails: WEFT_NO_MEMORY. 0:
    // chosen for the device; then such a product uses longer row chunks, and A's row order.
    int64_t row_chunk;
    // With a forced tiling that has k-blocks or stages B in local memory, QUEUE becomes SORTED.
    weft_spmm_row_schedule row_schedule;
    cl_uint n_wait; // events to wait for before A is read
    const cl_event *wait;
} weft_spmm_plan_params;

#define WEFT_SPMM_PLAN(...) WEFT_PARAMS(weft_spmm_plan_params, __VA_ARGS__)

// Analyses A's pattern once, for many products: reads it back and blocks until done. Long rows are
// cut into row chunks. If row lengths vary, rows are then reordered. On a CPU runs alternate,
// unless rows as they come already balance the cores. On a GPU rows are sorted if all groups are
// resident at once or lengths vary by more than their mean, else distributed in a snake. A queue is
// used only on request, because devices start groups while others end. Rows that would come in A's
// order are ordered for reuse if B, with 128 columns, is larger than half of the last cache, and a
// simulated cache misses often enough in A's order and less in the other; that takes about as long
// as three products. Products whose n is too small for it then keep A's order.
// weft_spmm_describe() prints the row schedule and the reason, and cost and gain of an order for
// reuse. If A, or some of its rows, are dense enough and B has many k-blocks, a CPU's plan also
// cuts their entries at the ends of the k-blocks of a B of 128 columns.
//
// The plan owns its device memory and does not refer to A's. It is valid for every product with the
// same pattern and any values, B, C, n and batch: weft_spmm() checks sizes and index types, and
// trusts the pattern. Several threads may use a plan at once. Destroy it before its context.
// Commands that fill A must have completed, or be on the same in-order queue.
//
// Fails: WEFT_BAD_DATA for a pattern that weft_csr_check() rejects, WEFT_NO_MEMORY, and as
// weft_spmm() for A.
WEFT_API weft_status weft_spmm_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                           cl_command_queue queue, const weft_csr *A,
                                           const weft_spmm_plan_params *params);

// Enqueued products that use the plan must have completed. Sets *plan to NULL; accepts NULL and a
// NULL handle.
WEFT_API void weft_spmm_plan_destroy(weft_spmm_plan **plan);

// The plan's row statistics of op(A). Valid as long as the plan, which must not be NULL.
WEFT_API const weft_row_stats *weft_spmm_plan_rows(const weft_spmm_plan *plan);

typedef struct weft_spmm_params {
    size_t size;                // sizeof(weft_spmm_params): WEFT_SPMM() fills it in
    const weft_spmm_plan *plan; // NULL: no analysis of A's pattern
    bool transpose_a;           // op(A) = A^T; requires a plan that was made for it
    const char *tiling;         // NULL: weft chooses; else as weft_spmm_describe() prints it
    cl_mem workspace;           // the caller's scratch memory; NULL: from the context's pool
    cl_uint n_wait;             // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the product; the caller releases it
    weft_spmm_reduction reduction;
    const weft_tensor *arguments; // for MAX and MIN: the entries of A that are the results; or NULL
    const weft_tensor *bias;      // a number for each row of C; NULL: none
    weft_activation activation;   // applied to C
} weft_spmm_params;

#define WEFT_SPMM(...) WEFT_PARAMS(weft_spmm_params, __VA_ARGS__)

// C = alpha op(A) B + beta C
//
//   A  sparse CSR [m x k], or [k x m] if op(A) = A^T
//      f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   B  dense [k x n]   the same data type; any strides, fastest with stride 1 along n
//   C  dense [m x n]   as B, or f32 if A and B are f16 or bf16; elements must not overlap each
//                      other, A or B
//
// Sums, alpha and beta are f32 (f64 for f64). The order of sums depends on the plan, the tiling and
// the context alone: the same input gives the same bits. Rows longer than two row chunks of p
// entries (p is 4096 where an item computes vectors, as on CPUs, or up to eight times as many for
// few columns, else 256 or 1024) are summed in row chunks, whose sums are then added: C is off by
// at most (2 p + entries / p) u sum |alpha a b|, or in shorter rows by entries u sum |alpha a b|,
// u = 2^-24, before bias and rounding to its data type. Where A is cut into tasks of equal size, as
// on GPUs for uneven rows, a part of a row has at most the p entries of a task, and the first bound
// holds for all rows.
//
// Vectors: B [k], C [m] and arguments [m] count as matrices of one column.
//
// A batch: B [batch x k x n] and C [batch x m x n]. Each matrix is multiplied by A or, if
// A->values_batch_stride is not 0, by its own values with the same pattern.
//
// Graph networks: params->reduction replaces the sum of a row's products by another reduction, R:
//
//   C = alpha R + beta C
//
// A row without entries has R = 0. A mean is the sum divided by the number of the row's entries; if
// the sum overflows, so does the mean. The largest and the smallest of a row are found among
// products rounded to the type of sums. If a product is NaN, so is R. 0 and -0 are equal, and R is
// the first of them.
//
//   arguments  C's shape, i32 or i64; any strides; elements must not overlap each other, A, B, C
//              or bias; only for MAX and MIN. Element (i, j) is the index e of the entry of A
//              whose product is R there, counted from the starts of A's arrays, also for A^T: the
//              gradient of alpha R is alpha a_e at b[col_e, j] and alpha b[col_e, j] at a_e. Of
//              equal products, or several NaN, the one with the lowest index counts. -1: a row
//              without entries, and every element if alpha, k or nnz is 0.
//
// A layer: with params->bias and activation any of these becomes
//
//   C = f(alpha R + beta C + bias)
//
// in the kernel that writes C.
//
//   bias  dense [m], of A's data type, any stride; no byte shared with C. Added to each column of
//         its row, in every matrix of a batch.
//   f     of each element, in the type of sums, before it is rounded to C's
//
// If beta == 0, C is not read and may hold anything, also NaN. If alpha == 0, A and B are not read.
// Inf and NaN propagate as in the formula over the entries that A stores; rows of B that no entry
// refers to have no effect. m, n or the batch is 0: does nothing. alpha, k or nnz is 0: C = beta C,
// or C = f(beta C + bias). m, k and n up to 2^31 - 4097; nnz as far as the offsets reach.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and if
// unfinished calls use too much scratch memory (a workspace of the caller's avoids that; it must
// not overlap an operand, and belongs to the call until `event` completes). Buffers stay yours;
// keep them until `event` completes. A's columns are trusted, with and without a plan object:
// weft_csr_check() checks those of unknown origin. Nothing is enqueued if a check fails:
// WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64 on a
// device without it), WEFT_NO_MEMORY. Thread-safety: any thread; calls on one in-order queue keep
// their order.
//
// After Gale, Zaharia, Young and Elsen, "Sparse GPU Kernels for Deep Learning" (SC 2020): 1-D
// tiles, several rows in a sub-group, row starts rounded down to alignment, rows ordered by length.
// weft adds row chunks, and items that compute vectors on CPUs.
WEFT_API weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha,
                               const weft_csr *A, const weft_tensor *B, double beta,
                               const weft_tensor *C, const weft_spmm_params *params);

// Bytes of scratch memory that such a call needs, or 0. Rejects operands as the call does. Compiles
// the call's kernels, because they may limit the tiling.
WEFT_API weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                         const weft_tensor *C, const weft_spmm_params *params,
                                         size_t *bytes);

// Describes weft_spmm() of these operands in words, like snprintf(). Compiles as above. The text
// before the first ';' is the tiling (its fields: docs/kernels/spmm.md). Returns the length, or -1
// after a failure.
WEFT_API int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, char *text,
                                size_t size);

WEFT_END

#endif
