// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B^T) .* C + beta D at the entries of C, A or B sparse. Checked by
// sddmm_sparse_check.c; here: plan, defines, arguments, enqueue.
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "op/items.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "sparse/sddmm_sparse_call.h"

static const char op[] = "sddmm_sparse";

enum { LEAST_FOLD = 4, MOST_FOLD = 8 };

// ---- plan and defines

// An item that is a group takes terms by vectors, whose lanes are filled one by one: more than
// eight gain nothing, and fewer than four have no columns by words.
static int64_t fold_of(const weft_sddmm_sparse_call *call, const weft_sddmm_sparse_tiling *tiling)
{
    const int64_t sum_bytes = weft_sum_bytes(call->problem.dtype);
    const int64_t fold = weft_limits_fold(&call->ctx->limits, sum_bytes, MOST_FOLD);
    return tiling->items == 1 && fold >= LEAST_FOLD ? fold : 1;
}

static void defines_of(weft_defines *defines, const weft_sddmm_sparse_call *call,
                       const weft_sddmm_sparse_tiling *tiling)
{
    const weft_csr *A = &call->A.csr, *B = &call->B.csr, *C = &call->C;
    weft_defines_add_dtype(defines, "DTYPE", call->problem.dtype);
    weft_defines_add(defines, "FOLD", fold_of(call, tiling));
    weft_defines_add(defines, "ITEMS", tiling->items);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "A_SPARSE", call->A.is_sparse);
    weft_defines_add(defines, "B_SPARSE", call->B.is_sparse);
    weft_defines_add(defines, "PARTS", weft_sddmm_sparse_has_parts(tiling, &call->problem));
    weft_defines_add(defines, "WAITING", WEFT_SDDMM_SPARSE_WAITING);
    weft_defines_add(defines, "INDICATOR", call->indicator);
    if (weft_widens(call->problem.dtype, call->D->dtype))
        weft_defines_add(defines, "WIDE", 1);
    weft_defines_add_shuffles(defines, call->ctx, tiling->lanes > 1);
    weft_defines_add_word(defines, "OFFSET", weft_word(C->offset_dtype));
    weft_defines_add_word(defines, "INDEX", weft_word(C->index_dtype));
    weft_defines_add_word(defines, "A_OFFSET", weft_word(A->offset_dtype));
    weft_defines_add_word(defines, "A_INDEX", weft_word(A->index_dtype));
    weft_defines_add_word(defines, "B_OFFSET", weft_word(B->offset_dtype));
    weft_defines_add_word(defines, "B_INDEX", weft_word(B->index_dtype));
}

// Plans, builds, and plans again where the built kernel takes fewer items than the device promised.
static weft_status prepare(weft_sddmm_sparse_tiling *tiling, weft_kernel **kernel,
                           const weft_sddmm_sparse_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *tiling =
            call->is_forced ? call->forced : weft_sddmm_sparse_tiling_for(&limits, &call->problem);
        weft_defines defines = {0};
        defines_of(&defines, call, tiling);
        const size_t wanted = (size_t)tiling->items;
        size_t most = wanted;
        TRY(weft_kernel_narrow(kernel, &most, call->ctx, &weft_source_sddmm_sparse, &defines, op));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, op));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments and enqueue

// An array; where it is not there, another one stands in that is not looked at.
static void add_array(weft_arguments *arguments, const cl_mem *array, const cl_mem *other,
                      const int64_t *start)
{
    weft_arguments_add(arguments, sizeof(*array), *array ? array : other);
    ADD_ARGUMENT(arguments, *start);
}

static void add_factor(weft_arguments *arguments, const weft_factor_view *factor,
                       const cl_mem *other)
{
    const weft_csr *csr = &factor->csr;
    add_array(arguments, &csr->offsets, other, &csr->offsets_start);
    add_array(arguments, &csr->indices, other, &csr->indices_start);
    add_array(arguments, &csr->values, other, &csr->values_start);
    ADD_ARGUMENT(arguments, factor->row);
    ADD_ARGUMENT(arguments, factor->column);
}

static void add_scalar(weft_arguments *arguments, weft_scalar *scalar, weft_dtype dtype,
                       double value)
{
    const weft_argument argument = weft_scalar_argument(scalar, dtype, value);
    weft_arguments_add(arguments, argument.size, argument.value);
}

// A row of A in local memory, and what is known of each place there.
static void add_row(weft_arguments *arguments, const weft_sddmm_sparse_call *call,
                    const weft_sddmm_sparse_tiling *tiling)
{
    const bool is_hashed = weft_sddmm_sparse_is_hashed(tiling, &call->problem);
    const int64_t places =
        is_hashed ? weft_sddmm_sparse_places(tiling, &call->problem) : tiling->columns;
    const int64_t known = is_hashed ? (int64_t)sizeof(cl_int) : 1;
    const size_t n = (size_t)max_i64(places, 1);
    weft_arguments_add(arguments, n * (size_t)weft_sum_bytes(call->problem.dtype), NULL);
    weft_arguments_add(arguments, call->A.is_sparse ? n * (size_t)known : 1, NULL);
}

static weft_status enqueue(weft_launch *launch, const weft_sddmm_sparse_call *call, double alpha,
                           double beta)
{
    weft_sddmm_sparse_tiling tiling;
    weft_kernel *kernel;
    TRY(prepare(&tiling, &kernel, call));
    const weft_csr *C = &call->C;
    const weft_dtype dtype = call->problem.dtype;
    const cl_int n_rows = (cl_int)C->n_rows, k = (cl_int)call->problem.k;
    const cl_int most = weft_sddmm_sparse_most(&tiling, &call->problem);
    weft_scalar scalars[2];
    weft_arguments arguments = {0};
    ADD_ARGUMENT(&arguments, n_rows);
    ADD_ARGUMENT(&arguments, C->nnz);
    add_array(&arguments, &C->offsets, &C->offsets, &C->offsets_start);
    add_array(&arguments, &C->indices, &C->indices, &C->indices_start);
    add_array(&arguments, &C->values, &C->indices, &C->values_start);
    ADD_ARGUMENT(&arguments, call->D->buffer);
    ADD_ARGUMENT(&arguments, call->D->offset);
    ADD_ARGUMENT(&arguments, tiling.entries);
    ADD_ARGUMENT(&arguments, k);
    ADD_ARGUMENT(&arguments, most);
    add_factor(&arguments, &call->A, &C->indices);
    add_factor(&arguments, &call->B, &C->indices);
    add_scalar(&arguments, &scalars[0], dtype, alpha);
    add_scalar(&arguments, &scalars[1], dtype, beta);
    add_row(&arguments, call, &tiling);
    return weft_items_enqueue(launch, kernel, arguments.n, arguments.list, tiling.items,
                              (const int64_t[3]){ceil_div(C->nnz, tiling.entries)});
}

weft_status weft_sddmm_sparse(weft_context *ctx, cl_command_queue queue, double alpha,
                              const weft_factor *A, const weft_factor *B, const weft_csr *C,
                              double beta, const weft_tensor *D,
                              const weft_sddmm_sparse_params *params)
{
    params = params ? params : WEFT_SDDMM_SPARSE(.indicator = false);
    weft_sddmm_sparse_call call;
    TRY(weft_sddmm_sparse_check(&call, ctx, A, B, C, D, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, op, params->n_wait, params->wait,
                          params->event != NULL));
    if (A->sparse)
        TRY(weft_csr_content_check(&launch, A->sparse, "A"));
    if (B->sparse)
        TRY(weft_csr_content_check(&launch, B->sparse, "B"));
    TRY(weft_csr_content_check(&launch, C, "C"));
    const double of_products = call.problem.k > 0 ? alpha : 0;
    const weft_status status = C->nnz > 0 ? enqueue(&launch, &call, of_products, beta) : WEFT_OK;
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

int weft_sddmm_sparse_describe(weft_context *ctx, const weft_factor *A, const weft_factor *B,
                               const weft_csr *C, const weft_tensor *D,
                               const weft_sddmm_sparse_params *params, char *text, size_t size)
{
    weft_sddmm_sparse_call call;
    weft_sddmm_sparse_tiling tiling;
    weft_kernel *kernel;
    params = params ? params : WEFT_SDDMM_SPARSE(.indicator = false);
    if (weft_sddmm_sparse_check(&call, ctx, A, B, C, D, params) != WEFT_OK)
        return -1;
    if (call.problem.nnz == 0)
        return snprintf(text, size, "nothing to do");
    if (call.problem.k == 0)
        return snprintf(text, size, "D = beta D");
    if (prepare(&tiling, &kernel, &call) != WEFT_OK)
        return -1;
    return weft_sddmm_sparse_tiling_print(&tiling, text, size);
}
