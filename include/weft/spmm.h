// SPDX-License-Identifier: Apache-2.0
// SpMM: sparse matrix times dense matrix.
#ifndef WEFT_SPMM_H
#define WEFT_SPMM_H

#include <weft/activation.h>
#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_spmm_plan weft_spmm_plan;

// The reduction, for C[i, j], of the products a_e b[col_e, j] of all entries e of row i of op(A).
// Of a row without entries it is 0.
typedef enum weft_spmm_reduction {
    WEFT_SPMM_SUM = 0,
    WEFT_SPMM_MEAN, // their sum, divided by their number
    WEFT_SPMM_MAX,  // the largest
    WEFT_SPMM_MIN,  // the smallest
} weft_spmm_reduction;

// "sum", "mean", "max" or "min"; NULL where there is no such value.
WEFT_API const char *weft_spmm_reduction_name(weft_spmm_reduction reduction);

// The reduction of that name; false where there is none, as for NULL. `reduction` is then left as
// it was, and must not be NULL.
WEFT_API bool weft_spmm_reduction_find(const char *name, weft_spmm_reduction *reduction);

// How a plan distributes rows to work-groups, which decides how even the load is: of the lanes of a
// group, which wait for its longest row, and of compute units, which wait for the last group. With
// one tiling C has the same bits with every row schedule.
typedef enum weft_spmm_row_schedule {
    WEFT_SPMM_ROW_SCHEDULE_DEFAULT = 0, // chosen for the lengths of rows and the device
    WEFT_SPMM_ROW_SCHEDULE_GIVEN,       // in A's order
    WEFT_SPMM_ROW_SCHEDULE_SORTED,      // by length, longest first: rows of a group are alike
    WEFT_SPMM_ROW_SCHEDULE_SNAKE,       // sorted; groups go to compute units 1 .. q, q .. 1
    WEFT_SPMM_ROW_SCHEDULE_ALTERNATING, // runs of neighbouring rows, alternately heavy and light
    WEFT_SPMM_ROW_SCHEDULE_QUEUE, // sorted; as many groups as fit the device take row blocks from a
                                  // queue as they finish. SORTED where one group could not take
                                  // them all (limits' max_iterations), or scratch memory has no
                                  // room
} weft_spmm_row_schedule;

// "default", "given", "sorted", "snake", "alternating" or "queue"; NULL where there is no such
// value.
WEFT_API const char *weft_spmm_row_schedule_name(weft_spmm_row_schedule schedule);

// The row schedule of that name; false where there is none, as for NULL. `schedule` is then left as
// it was, and must not be NULL.
WEFT_API bool weft_spmm_row_schedule_find(const char *name, weft_spmm_row_schedule *schedule);

typedef struct weft_spmm_plan_params {
    size_t size;      // sizeof(weft_spmm_plan_params): WEFT_SPMM_PLAN() fills it in
    bool transpose_a; // make it for A^T: stores A's pattern by columns, and the origin of values
    // As in a tiling; a product that lacks scratch memory for them fails: WEFT_NO_MEMORY. 0: chosen
    // for the device; such a product uses longer row chunks, and rows in A's order.
    int64_t row_chunk;
    // A forced tiling with k-blocks or with B staged in local memory uses SORTED in place of QUEUE.
    weft_spmm_row_schedule row_schedule;
    cl_uint n_wait; // events to wait for before A is read
    const cl_event *wait;
} weft_spmm_plan_params;

#define WEFT_SPMM_PLAN(...) WEFT_PARAMS(weft_spmm_plan_params, __VA_ARGS__)

// Analyses A's pattern once, for many products: reads it back and blocks until done. Long rows are
// found and cut into row chunks. Then, where row lengths vary, rows are reordered: on a CPU in
// alternating runs, unless neighbouring rows already give each core its share; on a GPU sorted
// where all groups fit the device at once or lengths vary by more than their mean, else distributed
// in a snake. A queue is used only on request, because devices start groups while others end.
// weft_spmm_describe() prints the row schedule and the reason. Where A is dense enough, or rows of
// it are, a CPU's plan also cuts their entries at the ends of the k-blocks of B that a product with
// 128 columns has.
//
// The plan holds its own device memory and no reference to A's. It is good for every product with
// the same pattern, with any values, B, C, n and batch: weft_spmm() checks sizes and index types,
// and trusts that the pattern is the same. It may be used by several threads at once, and must be
// destroyed before its context. Commands that fill A must have completed, or be on the same
// in-order queue.
//
// Fails: WEFT_BAD_DATA where the pattern is not sound (as weft_csr_check() has it), WEFT_NO_MEMORY,
// and the failures of weft_spmm() that concern A.
WEFT_API weft_status weft_spmm_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                           cl_command_queue queue, const weft_csr *A,
                                           const weft_spmm_plan_params *params);

// Enqueued products that use it must have completed. Sets *plan to NULL; NULL and a NULL handle are
// fine.
WEFT_API void weft_spmm_plan_destroy(weft_spmm_plan **plan);

// Row statistics of op(A), as the plan found them. Valid as long as the plan, which must not be
// NULL.
WEFT_API const weft_row_stats *weft_spmm_plan_rows(const weft_spmm_plan *plan);

typedef struct weft_spmm_params {
    size_t size;                // sizeof(weft_spmm_params): WEFT_SPMM() fills it in
    const weft_spmm_plan *plan; // NULL: no analysis of A's pattern
    bool transpose_a;           // op(A) = A^T; requires a plan that was made for it
    const char *tiling;         // NULL: weft chooses; else as weft_spmm_describe() prints it
    cl_mem workspace;           // scratch of the caller's; NULL: from the context's pool
    cl_uint n_wait;             // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the product; the caller releases it
    weft_spmm_reduction reduction;
    const weft_tensor *arguments; // of MAX and MIN: the entries of A that gave them; or NULL
    const weft_tensor *bias;      // a number for each row of C; NULL: none
    weft_activation activation;   // applied to C
} weft_spmm_params;

#define WEFT_SPMM(...) WEFT_PARAMS(weft_spmm_params, __VA_ARGS__)

// C = alpha op(A) B + beta C
//
//   A  sparse CSR [m x k], or [k x m] where op(A) = A^T
//      f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   B  dense [k x n]   the same data type; any strides, fastest with stride 1 along n
//   C  dense [m x n]   as B, or f32 where A and B are f16 or bf16; no two elements at one place,
//                      and no byte shared with A or B
//
// Sums, alpha and beta are f32 (f64 for f64). The order of sums depends on the plan, the tiling and
// the context alone: the same input gives the same bits. Rows longer than two row chunks of p
// entries (p is 4096 where an item computes vectors, as on CPUs, or up to eight times as many for
// few columns, else 256 or 1024) are summed in row chunks, whose sums are then added: C is off by
// at most (2 p + entries / p) u sum |alpha a b|, or in shorter rows by entries u sum |alpha a b|,
// u = 2^-24, before bias and rounding to its data type.
//
// Vectors: with B [k] and C [m], and arguments [m], as with matrices of one column.
//
// A batch: with B [batch x k x n] and C [batch x m x n] each matrix is multiplied by A, or, where
// A->values_batch_stride is not 0, by values of its own at the same pattern.
//
// Graph networks: params->reduction replaces the sum of a row's products by another reduction, R of
//
//   C = alpha R + beta C
//
// where a row without entries has R = 0. A mean is the sum divided by the number of the row's
// entries; if the sum overflows, so does the mean. The largest and the smallest of a row are found
// among products rounded to the type of sums. A product that is NaN is the result; 0 and -0 are
// equal, and the first of them is R.
//
//   arguments  with C's shape, i32 or i64; any strides, no two elements at one place, no byte
//              shared with A, B, C or bias; only for MAX and MIN. (i, j) gets the number e of the
//              entry of A that gave R there, counted as A's arrays are from their starts, for A^T
//              too: the gradient of alpha R is alpha a_e at b[col_e, j] and alpha b[col_e, j] at
//              a_e. Of equal products it is the one with the lowest number, and so it is of NaN.
//              -1: a row without entries, and every element where alpha, k or nnz is 0.
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
// beta == 0 never reads C: it may hold anything, NaN included. alpha == 0 reads neither A nor B.
// Inf and NaN go through as in the formula over the entries that A stores; rows of B that no entry
// names change nothing. m, n or the batch 0: nothing to do. alpha, k or nnz 0: C = beta C, or
// C = f(beta C + bias). m, k and n up to 2^31 - 4097; nnz as far as the offsets reach.
//
// Enqueues and returns. It blocks only while a kernel is compiled for the first time, and where
// scratch memory in use by unfinished calls leaves too little (a workspace of the caller's avoids
// that; it shares no byte with an operand, and is the call's until `event` completes). Buffers stay
// yours; keep them until `event` completes. A's columns are trusted, with a plan object and
// without: weft_csr_check() checks those of unknown origin. Nothing is enqueued where a check
// fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER, WEFT_UNSUPPORTED (f64
// on a device without), WEFT_NO_MEMORY. Thread-safety: any thread; calls on one in-order queue keep
// their order.
//
// After Gale, Zaharia, Young and Elsen, "Sparse GPU Kernels for Deep Learning" (SC 2020): 1-D
// tiles, several rows in a sub-group, aligned-down row starts, rows ordered by length. Row chunks,
// and items that compute vectors on CPUs, are weft's.
WEFT_API weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha,
                               const weft_csr *A, const weft_tensor *B, double beta,
                               const weft_tensor *C, const weft_spmm_params *params);

// Bytes of scratch memory that such a call needs; 0 where it needs none. Operands that the call
// would refuse are refused here. Compiles the call's kernels, because they may limit the
// tiling.
WEFT_API weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                         const weft_tensor *C, const weft_spmm_params *params,
                                         size_t *bytes);

// Describes weft_spmm() of these operands in words, as snprintf() does it. Compiles as above. The
// text before the first ';' is the tiling (its fields: docs/kernels/spmm.md). Returns the length,
// or -1 after a failure.
WEFT_API int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, char *text,
                                size_t size);

WEFT_END

#endif
