// SPDX-License-Identifier: Apache-2.0
// What weft_sparse_linear() and its gradients refuse at their door.
#include "sparse/sparse_linear_call.h"

#include <inttypes.h>

#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/spmm_call.h"

static weft_status null_check(const weft_linear_call *call)
{
    const weft_linear_kind *kind = call->kind;
    const char *missing = !call->W                                     ? "W"
                          : !call->in                                  ? kind->in_name
                          : !call->out                                 ? kind->out_name
                          : kind->which == WEFT_LINEAR_DW && !call->dW ? "dW"
                                                                       : NULL;
    return missing ? fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", kind->name, missing) : WEFT_OK;
}

static weft_status params_check(const weft_linear_call *call)
{
    const weft_sparse_linear_params *params = call->params;
    const char *op = call->kind->name;
    const bool is_forward = call->kind->which == WEFT_LINEAR_FORWARD;
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_SPARSE_LINEAR()", op,
                    params->size, sizeof(*params));
    if (!weft_activation_name(params->activation))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.activation is %d: no weft_activation", op,
                    (int)params->activation);
    if (is_forward && params->beta != 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: params.beta is %g, but Y is only written", op,
                    params->beta);
    if (!is_forward && params->bias)
        return fail(WEFT_BAD_ARGUMENT, "%s: params.bias: gradients have none", op);
    if (!is_forward && params->activation != WEFT_ACTIVATION_NONE)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.activation is %s: its backward comes first, by weft_elementwise()",
                    op, weft_activation_name(params->activation));
    return WEFT_OK;
}

// The operand that is [n_rows x n], or a batch of such, or a vector: n is 1.
static weft_status rows_check(const weft_linear_call *call, const weft_tensor *t, const char *name,
                              int64_t n_rows)
{
    const char *op = call->kind->name;
    if (t->ndim < 1 || t->ndim > 3)
        return fail(WEFT_BAD_SHAPE,
                    "%s: %s has %d dimensions; 2 are wanted, or 3 with a batch, or 1: a vector", op,
                    name, t->ndim);
    const weft_tensor matrix = weft_tensor_as_matrix(t);
    if (matrix.shape[matrix.ndim - 2] != n_rows)
        return fail(WEFT_BAD_SHAPE,
                    "%s: W is %" PRId64 " x %" PRId64 ", %s has %" PRId64 " rows, not %" PRId64, op,
                    call->W->n_rows, call->W->n_cols, name, matrix.shape[matrix.ndim - 2], n_rows);
    return WEFT_OK;
}

// Results may stay as sums are.
static weft_status dtype_check(const weft_linear_call *call, const weft_tensor *t, const char *name,
                               bool is_output)
{
    const char *op = call->kind->name;
    TRY(is_output ? weft_result_dtype_check(t->dtype, name, call->W->dtype, "W", op)
                  : weft_same_dtype_check(t->dtype, name, call->W->dtype, "W", op));
    return weft_floating_check(call->ctx, t, name, op);
}

// The batch and n.
static weft_status samples_check(const weft_linear_call *call)
{
    const weft_tensor *in = call->in, *out = call->out;
    const weft_linear_kind *kind = call->kind;
    if (in->ndim != out->ndim)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions, %s %d", kind->name, kind->in_name,
                    in->ndim, kind->out_name, out->ndim);
    if (in->ndim > 1 && in->shape[in->ndim - 1] != out->shape[in->ndim - 1])
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " columns, %s %" PRId64, kind->name,
                    kind->in_name, in->shape[in->ndim - 1], kind->out_name,
                    out->shape[in->ndim - 1]);
    if (in->ndim == 3 && in->shape[0] != out->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: %s is a batch of %" PRId64 ", %s of %" PRId64, kind->name,
                    kind->in_name, in->shape[0], kind->out_name, out->shape[0]);
    return WEFT_OK;
}

static weft_status form_check(const weft_linear_call *call, const weft_tensor *t, const char *name,
                              int64_t n_rows, bool is_output)
{
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, call->kind->name, name);
    TRY(is_output ? weft_output_form_check(t, what) : weft_tensor_form_check(t, what));
    TRY(rows_check(call, t, name, n_rows));
    return dtype_check(call, t, name, is_output);
}

static weft_status buffer_check(const weft_linear_call *call, const weft_tensor *t,
                                const char *name, bool is_output)
{
    char what[WEFT_OPERAND_TEXT];
    weft_operand_text(what, call->kind->name, name);
    return is_output ? weft_output_check(call->ctx, t, what)
                     : weft_tensor_check(call->ctx, t, what);
}

static weft_status apart_check(const weft_linear_call *call, int64_t n_batches)
{
    const weft_linear_kind *kind = call->kind;
    const bool is_forward = kind->which == WEFT_LINEAR_FORWARD;
    const weft_tensor *read = is_forward ? call->in : call->out;
    const weft_tensor *written = is_forward ? call->out : call->in;
    const char *read_name = is_forward ? kind->in_name : kind->out_name;
    const char *written_name = is_forward ? kind->out_name : kind->in_name;
    TRY(weft_tensor_overlap_check(written, written_name, read, read_name, kind->name));
    return weft_csr_overlap_check(written, written_name, call->W, "W", n_batches, kind->name);
}

static weft_status bias_form_check(const weft_linear_call *call)
{
    const weft_tensor *bias = call->params->bias;
    if (!bias)
        return WEFT_OK;
    const weft_tensor Y = weft_tensor_as_matrix(call->out);
    TRY(weft_row_numbers_form_check(bias, "bias", &Y, "Y", call->kind->name));
    return weft_same_dtype_check(bias->dtype, "bias", call->W->dtype, "W", call->kind->name);
}

static weft_status bias_buffer_check(const weft_linear_call *call)
{
    const weft_tensor *bias = call->params->bias;
    if (!bias)
        return WEFT_OK;
    TRY(buffer_check(call, bias, "bias", false));
    return weft_tensor_overlap_check(call->out, "Y", bias, "bias", call->kind->name);
}

// dW
static weft_status values_form_check(const weft_linear_call *call)
{
    const weft_tensor *dW = call->dW, *in = call->in;
    const char *op = call->kind->name;
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_output_form_check(dW, weft_operand_text(what, op, "dW")));
    TRY(weft_csr_results_check(call->ctx, dW, "dW", call->W, "W", op));
    const int wanted = in->ndim == 3 ? 2 : 1;
    if (dW->ndim != wanted)
        return fail(WEFT_BAD_SHAPE, "%s: X has %d dimensions, dW %d: %d are wanted", op, in->ndim,
                    dW->ndim, wanted);
    if (dW->ndim == 2 && dW->shape[0] != in->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: X is a batch of %" PRId64 ", dW of %" PRId64, op,
                    in->shape[0], dW->shape[0]);
    return WEFT_OK;
}

static weft_status values_buffer_check(const weft_linear_call *call)
{
    const weft_tensor *dW = call->dW;
    const char *op = call->kind->name;
    TRY(buffer_check(call, dW, "dW", true));
    TRY(weft_tensor_overlap_check(dW, "dW", call->in, "X", op));
    TRY(weft_tensor_overlap_check(dW, "dW", call->out, "dY", op));
    return weft_pattern_overlap_check(dW, "dW", call->W, "W", op);
}

static weft_status forms_check(const weft_linear_call *call, const char *W)
{
    const weft_linear_kind *kind = call->kind;
    TRY(weft_csr_form_check(call->W, W));
    if (kind->which != WEFT_LINEAR_DW)
        TRY(weft_spmm_plan_fits(call->ctx, call->params->plan, kind->which == WEFT_LINEAR_DX,
                                call->W, NULL, kind->name, "W"));
    TRY(form_check(call, call->in, kind->in_name, call->W->n_cols, kind->which == WEFT_LINEAR_DX));
    TRY(form_check(call, call->out, kind->out_name, call->W->n_rows,
                   kind->which == WEFT_LINEAR_FORWARD));
    TRY(samples_check(call));
    return kind->which == WEFT_LINEAR_DW ? values_form_check(call) : bias_form_check(call);
}

static weft_status buffers_check(const weft_linear_call *call, const char *W)
{
    const weft_linear_kind *kind = call->kind;
    TRY(buffer_check(call, call->in, kind->in_name, kind->which == WEFT_LINEAR_DX));
    TRY(buffer_check(call, call->out, kind->out_name, kind->which == WEFT_LINEAR_FORWARD));
    if (kind->which == WEFT_LINEAR_DW) {
        TRY(weft_pattern_view_check(call->ctx, call->W, W));
        return values_buffer_check(call);
    }
    const int64_t n_batches = call->in->ndim == 3 ? call->in->shape[0] : 1;
    TRY(weft_csr_view_check(call->ctx, call->W, n_batches, W));
    TRY(apart_check(call, n_batches));
    return bias_buffer_check(call);
}

weft_status weft_linear_check(const weft_linear_call *call)
{
    const weft_linear_kind *kind = call->kind;
    char W[WEFT_OPERAND_TEXT];
    TRY(weft_context_check(call->ctx, kind->name));
    TRY(null_check(call));
    TRY(params_check(call));
    weft_operand_text(W, kind->name, "W");
    TRY(forms_check(call, W));
    return buffers_check(call, W);
}
