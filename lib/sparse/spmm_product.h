// SPDX-License-Identifier: Apache-2.0
// A call of weft_spmm() or weft_spmm_dcsr() once it has been checked.
#ifndef WEFT_LIB_SPMM_PRODUCT_H
#define WEFT_LIB_SPMM_PRODUCT_H

#include <weft/spmm_dcsr.h>

#include "operand/view.h"
#include "runtime/launch.h"
#include "sparse/sparse_limits.h"
#include "sparse/spmm_pattern.h"
#include "sparse/spmm_tiling.h"

typedef struct weft_spmm_product {
    weft_context *ctx;
    const weft_csr *A;
    const weft_dcsr *stored; // whose stored rows A is; NULL: A has all rows
    bool has_rows;           // C's rows are found by numbers of A's: a DCSR that is not transposed
    int64_t n_rows;          // of C; the problem's m are those that A has something for
    weft_tensor B_view, C_view, arguments_view; // vectors as matrices of one column
    bool has_arguments;
    const weft_tensor *bias_view; // NULL: none
    weft_activation activation;
    const weft_spmm_plan *plan;
    bool is_forced; // to a tiling
    weft_spmm_tiling forced;
    weft_spmm_problem problem;
    weft_dtype offset_dtype, index_dtype; // of op(A) as the kernels see it
    weft_dense B, C, arguments;
} weft_spmm_product;

// Everything that can be wrong with a call, before anything is done about it. `stored` is the DCSR
// whose stored rows A is, or NULL.
weft_status weft_spmm_check(weft_spmm_product *out, weft_context *ctx, const weft_csr *A,
                            const weft_dcsr *stored, const weft_tensor *B, const weft_tensor *C,
                            const weft_spmm_params *params);

// Whether the plan, where there is one, was made for such a matrix; `stored` where it is a DCSR.
weft_status weft_spmm_plan_fits(const weft_context *ctx, const weft_spmm_plan *plan,
                                bool transpose_a, const weft_csr *A, const weft_dcsr *stored,
                                const char *op, const char *name);

// The same of operands that are known to be good, but for where their memory begins.
weft_status weft_spmm_product_of(weft_spmm_product *out, weft_context *ctx, const weft_csr *A,
                                 const weft_dcsr *stored, const weft_tensor *B,
                                 const weft_tensor *C, const weft_spmm_params *params);

// Bytes of scratch memory that it wants. Looks at no buffer; compiles what it will run.
weft_status weft_spmm_wants(size_t *bytes, const weft_spmm_product *p);

// Its kernels, behind what the launch has enqueued. What stands in A has been checked.
weft_status weft_spmm_run(weft_launch *launch, const weft_spmm_product *p, double alpha,
                          double beta, cl_mem workspace);

// No elements of C: nothing to do.
bool weft_spmm_is_empty(const weft_spmm_product *p);

// The caller's workspace: large enough, writable, and apart from every operand.
weft_status weft_spmm_workspace_check(const weft_spmm_product *p, cl_mem workspace, size_t bytes);

#endif
