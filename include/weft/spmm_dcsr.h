// SPDX-License-Identifier: Apache-2.0
// SpMM where A stores its non-empty rows only: for matrices of which most rows are empty.
#ifndef WEFT_SPMM_DCSR_H
#define WEFT_SPMM_DCSR_H

#include <weft/dcsr.h>
#include <weft/spmm.h>

WEFT_BEGIN

// C = alpha op(A) B + beta C
//
//   A  sparse DCSR [m x k], or [k x m] where op(A) = A^T; values and integers as weft_spmm() takes
//   B  dense [k x n], C  dense [m x n]   as there
//
// All is as with weft_spmm() of the same matrix: batches, reductions and their arguments, bias and
// activation, params, beta == 0, which never reads C, and the order of sums: with the same tiling,
// and plans of the same row chunk, rows that are stored have the same bits. The time
// differs: rows of C that A does not store become beta C, or f(beta C + bias), for which of A only
// the numbers of rows are read. Where that is C itself (beta 1, no bias and no activation) they are
// neither read nor written. (weft_spmm() adds alpha times 0 there: the sign of a zero may differ,
// and an alpha that is infinite or NaN does not reach these rows.) Each element of C is written
// once, so that f16 and bf16 are rounded once.
//
// Rows that are not stored have R = 0 and arguments -1. They are counted in m and in A^T's k, up to
// 2^31 - 4097; where op(A) is A, a tiling is chosen, and checked, for m = n_stored. A stored row
// may be empty, but there are no more of them than entries.
//
// A plan object must be made by weft_spmm_dcsr_plan_create(). A^T B requires one, made with
// WEFT_SPMM_PLAN(.transpose_a = true), as there.
//
// Row numbers are trusted to rise within the matrix, as columns are trusted: weft_dcsr_check()
// checks those of unknown origin. Enqueuing, ownership, events, scratch memory, what can fail (also
// WEFT_BAD_SHAPE for more stored rows than rows or entries, or for entries and no stored row) and
// threads are as with weft_spmm().
//
// After Buluc and Gilbert, "On the Representation and Multiplication of Hypersparse Matrices"
// (IPDPS 2008), by rows.
WEFT_API weft_status weft_spmm_dcsr(weft_context *ctx, cl_command_queue queue, double alpha,
                                    const weft_dcsr *A, const weft_tensor *B, double beta,
                                    const weft_tensor *C, const weft_spmm_params *params);

// As weft_spmm_plan_create(): analyses the stored rows once. Reads their numbers too: WEFT_BAD_DATA
// where they do not rise within the matrix. For A^T the plan stores the rows of B that they name.
// weft_spmm_plan_rows() has the statistics of op(A)'s rows, of the stored ones where op(A) is A.
WEFT_API weft_status weft_spmm_dcsr_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                                cl_command_queue queue, const weft_dcsr *A,
                                                const weft_spmm_plan_params *params);

// As weft_spmm_workspace() and weft_spmm_describe().
WEFT_API weft_status weft_spmm_dcsr_workspace(weft_context *ctx, const weft_dcsr *A,
                                              const weft_tensor *B, const weft_tensor *C,
                                              const weft_spmm_params *params, size_t *bytes);
WEFT_API int weft_spmm_dcsr_describe(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                                     const weft_tensor *C, const weft_spmm_params *params,
                                     char *text, size_t size);

WEFT_END

#endif
