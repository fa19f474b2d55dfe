// SPDX-License-Identifier: Apache-2.0
// What a call with sparse results writes, checked.
#include "operand/outputs.h"

#include <assert.h>
#include <stdio.h>

#include "base/fail.h"

static const char *keep_name(weft_outputs *outputs, const char *name)
{
    assert(outputs->n < WEFT_MOST_OUTPUTS);
    snprintf(outputs->names[outputs->n], WEFT_OPERAND_TEXT, "%s", name);
    return outputs->names[outputs->n];
}

// Since tensors have no i16.
static weft_tensor array_bytes(cl_mem buffer, int64_t start, int64_t n, weft_dtype dtype)
{
    const int64_t size = (int64_t)weft_dtype_size(dtype);
    return (weft_tensor){.buffer = buffer,
                         .dtype = WEFT_U8,
                         .offset = start * size,
                         .ndim = 1,
                         .shape = {n * size},
                         .stride = {1}};
}

weft_status weft_outputs_add_array(weft_outputs *outputs, const weft_context *ctx, cl_mem buffer,
                                   int64_t start, int64_t n, weft_dtype dtype, const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    keep_name(outputs, name);
    weft_operand_text(what, outputs->op, name);
    TRY(weft_array_place_check(ctx, buffer, start, n, dtype, what, ""));
    outputs->views[outputs->n] = array_bytes(buffer, start, n, dtype);
    return weft_output_check(ctx, &outputs->views[outputs->n++], what);
}

weft_status weft_outputs_add_offsets(weft_outputs *outputs, const weft_context *ctx, cl_mem buffer,
                                     int64_t start, int64_t n, weft_dtype dtype, const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, outputs->op, name);
    TRY(weft_array_check(ctx, buffer, start, n, dtype, what, ""));
    return weft_outputs_add_array(outputs, ctx, buffer, start, n, dtype, name);
}

weft_status weft_outputs_add_tensor(weft_outputs *outputs, const weft_context *ctx,
                                    const weft_tensor *tensor, const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    keep_name(outputs, name);
    TRY(weft_output_check(ctx, tensor, weft_operand_text(what, outputs->op, name)));
    outputs->views[outputs->n++] = *tensor;
    return WEFT_OK;
}

weft_status weft_outputs_add_workspace(weft_outputs *outputs, const weft_context *ctx,
                                       cl_mem workspace, size_t bytes)
{
    keep_name(outputs, "workspace");
    TRY(weft_workspace_view(&outputs->views[outputs->n], ctx, workspace, bytes, outputs->op));
    outputs->n++;
    return WEFT_OK;
}

weft_status weft_outputs_apart(const weft_outputs *outputs)
{
    for (int i = 0; i < outputs->n; i++)
        for (int j = 0; j < i; j++)
            TRY(weft_tensor_overlap_check(&outputs->views[i], outputs->names[i], &outputs->views[j],
                                          outputs->names[j], outputs->op));
    return WEFT_OK;
}

weft_status weft_outputs_apart_from_tensor(const weft_outputs *outputs, const weft_tensor *tensor,
                                           const char *name)
{
    for (int i = 0; i < outputs->n; i++)
        TRY(weft_tensor_overlap_check(&outputs->views[i], outputs->names[i], tensor, name,
                                      outputs->op));
    return WEFT_OK;
}

weft_status weft_outputs_apart_from_array(const weft_outputs *outputs, cl_mem buffer, int64_t start,
                                          int64_t n, weft_dtype dtype, const char *name)
{
    const weft_tensor bytes = array_bytes(buffer, start, n, dtype);
    return weft_outputs_apart_from_tensor(outputs, &bytes, name);
}

weft_status weft_outputs_apart_from_csr(const weft_outputs *outputs, const weft_csr *csr,
                                        int64_t n_batches, const char *name)
{
    for (int i = 0; i < outputs->n; i++) {
        const weft_tensor *view = &outputs->views[i];
        TRY(csr->values
                ? weft_csr_overlap_check(view, outputs->names[i], csr, name, n_batches, outputs->op)
                : weft_pattern_overlap_check(view, outputs->names[i], csr, name, outputs->op));
    }
    return WEFT_OK;
}
