// SPDX-License-Identifier: Apache-2.0
// What weft_sparse_softmax() and its backward refuse at their door, and the call as it goes on from
// there.
#include "sparse/sparse_softmax_call.h"

#include <inttypes.h>
#include <math.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"

static weft_status nulls_check(const weft_sparse_softmax_call *call)
{
    const weft_sparse_softmax_kind *kind = call->kind;
    const char *missing = !call->csr                       ? kind->csr_name
                          : kind->is_backward && !call->dY ? "dY"
                          : !call->out                     ? kind->out_name
                                                           : NULL;
    return missing ? fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", kind->name, missing) : WEFT_OK;
}

static weft_status params_check(const weft_sparse_softmax_kind *kind,
                                const weft_sparse_softmax_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_SPARSE_SOFTMAX()", kind->name,
                    params->size, sizeof(*params));
    return WEFT_OK;
}

static weft_status scale_check(const weft_sparse_softmax_call *call)
{
    const bool is_double = weft_dtype_or(call->csr->dtype, WEFT_F32) == WEFT_F64;
    if (!isfinite(call->scale) || (!is_double && !isfinite((float)call->scale)))
        return fail(WEFT_BAD_ARGUMENT, "%s: scale is %g: a finite one is wanted", call->kind->name,
                    call->scale);
    return WEFT_OK;
}

static weft_status values_check(const weft_sparse_softmax_call *call, const weft_tensor *values,
                                const char *name)
{
    return weft_csr_values_check(call->ctx, values, name, call->csr, call->kind->csr_name,
                                 call->kind->name);
}

static weft_status sizes_check(const weft_sparse_softmax_call *call)
{
    const weft_sparse_softmax_kind *kind = call->kind;
    if (call->csr->n_rows > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " rows; at most %d are possible",
                    kind->name, kind->csr_name, call->csr->n_rows, WEFT_SPARSE_MAX_EXTENT);
    return call->dY ? weft_same_check(call->dY, "dY", call->out, kind->out_name, kind->name)
                    : WEFT_OK;
}

static bool is_empty(const weft_sparse_softmax_call *call)
{
    return weft_tensor_is_empty(call->out) || call->csr->n_rows == 0;
}

static weft_status apart_check(const weft_sparse_softmax_call *call, int64_t n_batches)
{
    const weft_sparse_softmax_kind *kind = call->kind;
    const weft_tensor values = weft_csr_values(call->csr, call->out->ndim == 2 ? n_batches : 0);
    TRY(weft_pattern_overlap_check(call->out, kind->out_name, call->csr, kind->csr_name,
                                   kind->name));
    TRY(weft_alias_check(call->out, kind->out_name, &values, kind->csr_name, kind->name));
    return call->dY ? weft_alias_check(call->out, kind->out_name, call->dY, "dY", kind->name)
                    : WEFT_OK;
}

static weft_status operands_check(const weft_sparse_softmax_call *call)
{
    const weft_sparse_softmax_kind *kind = call->kind;
    char name[WEFT_OPERAND_TEXT];
    TRY(weft_csr_form_check(call->csr, weft_operand_text(name, kind->name, kind->csr_name)));
    if (call->dY)
        TRY(weft_tensor_form_check(call->dY, weft_operand_text(name, kind->name, "dY")));
    TRY(weft_output_form_check(call->out, weft_operand_text(name, kind->name, kind->out_name)));
    if (call->dY)
        TRY(values_check(call, call->dY, "dY"));
    TRY(values_check(call, call->out, kind->out_name));
    TRY(sizes_check(call));
    TRY(scale_check(call));

    if (call->dY)
        TRY(weft_tensor_check(call->ctx, call->dY, weft_operand_text(name, kind->name, "dY")));
    TRY(weft_output_check(call->ctx, call->out,
                          weft_operand_text(name, kind->name, kind->out_name)));
    const int64_t n_batches = call->out->ndim == 2 ? call->out->shape[0] : 1;
    TRY(weft_csr_view_check(call->ctx, call->csr, n_batches,
                            weft_operand_text(name, kind->name, kind->csr_name)));
    return is_empty(call) ? WEFT_OK : apart_check(call, n_batches);
}

static weft_sparse_softmax_call views_of(const weft_sparse_softmax_kind *kind, weft_context *ctx,
                                         double scale, const weft_csr *csr, const weft_tensor *dY,
                                         const weft_tensor *output)
{
    return (weft_sparse_softmax_call){
        .kind = kind,
        .ctx = ctx,
        .scale = scale,
        .csr = csr,
        .dY = dY,
        .out = output,
    };
}

weft_sparse_softmax_call weft_sparse_softmax_call_of(const weft_sparse_softmax_kind *kind,
                                                     weft_context *ctx, double scale,
                                                     const weft_csr *csr, const weft_tensor *dY,
                                                     const weft_tensor *output)
{
    weft_sparse_softmax_call call = views_of(kind, ctx, scale, csr, dY, output);
    call.problem = (weft_sparse_softmax_problem){
        .n_rows = csr->n_rows,
        .nnz = csr->nnz,
        .n_batches = output->ndim == 2 ? output->shape[0] : 1,
        .dtype = weft_dtype_or(csr->dtype, WEFT_F32),
        .is_backward = kind->is_backward,
    };
    call.is_empty = is_empty(&call);
    return call;
}

weft_status weft_sparse_softmax_check(weft_sparse_softmax_call *out,
                                      const weft_sparse_softmax_kind *kind, weft_context *ctx,
                                      double scale, const weft_csr *csr, const weft_tensor *dY,
                                      const weft_tensor *output,
                                      const weft_sparse_softmax_params *params)
{
    const weft_sparse_softmax_call views = views_of(kind, ctx, scale, csr, dY, output);
    TRY(weft_context_check(ctx, kind->name));
    TRY(nulls_check(&views));
    TRY(params_check(kind, params));
    TRY(operands_check(&views));
    *out = weft_sparse_softmax_call_of(kind, ctx, scale, csr, dY, output);
    char name[WEFT_OPERAND_TEXT];
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_sparse_softmax_tiling_table,
                         weft_operand_text(name, kind->name, "tiling"), params->tiling));
    return out->is_forced && !out->is_empty
               ? weft_sparse_softmax_tiling_check(&out->forced, &ctx->limits, &out->problem)
               : WEFT_OK;
}

weft_status weft_sparse_softmax_workspace_check(const weft_sparse_softmax_call *call,
                                                cl_mem workspace, size_t bytes)
{
    const weft_sparse_softmax_kind *kind = call->kind;
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, workspace, bytes, kind->name));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", call->out, kind->out_name, kind->name));
    if (call->dY)
        TRY(weft_tensor_overlap_check(&scratch, "workspace", call->dY, "dY", kind->name));
    return weft_csr_overlap_check(&scratch, "workspace", call->csr, kind->csr_name,
                                  call->problem.n_batches, kind->name);
}
