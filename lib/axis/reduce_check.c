// SPDX-License-Identifier: Apache-2.0
// What weft_reduce() refuses at its door, and the call as it goes on from there.
#include "axis/reduce_call.h"

#include <inttypes.h>

#include "axis/axis_plan.h"
#include "axis/axis_walk.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"

static const int64_t MOST_CORRECTION = INT64_C(1) << 62; // n minus it never overflows

static weft_status params_check(const weft_reduce_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "reduce: params.size is %zu, not %zu: fill it by WEFT_REDUCE()", params->size,
                    sizeof(*params));
    if (params->correction < -MOST_CORRECTION || params->correction > MOST_CORRECTION)
        return fail(WEFT_BAD_ARGUMENT,
                    "reduce: params.correction is %" PRId64 ", not within 2^62 of 0",
                    params->correction);
    return WEFT_OK;
}

static weft_status axes_check(bool is_reduced[WEFT_MAX_NDIM], const weft_tensor *X, int n_axes,
                              const int *axes)
{
    if (n_axes < 0 || (n_axes > 0 && !axes))
        return fail(WEFT_BAD_ARGUMENT, "reduce: n_axes is %d, axes is %s", n_axes,
                    axes ? "given" : "NULL");
    for (int d = 0; d < WEFT_MAX_NDIM; d++)
        is_reduced[d] = n_axes == 0 && d < X->ndim;
    for (int i = 0; i < n_axes; i++) {
        if (axes[i] < -X->ndim || axes[i] >= X->ndim)
            return fail(WEFT_BAD_ARGUMENT, "reduce: axes[%d] is %d, X has %d dimensions", i,
                        axes[i], X->ndim);
        const int d = axes[i] < 0 ? axes[i] + X->ndim : axes[i];
        if (is_reduced[d])
            return fail(WEFT_BAD_ARGUMENT, "reduce: axes[%d] is %d: X's axis %d is named twice", i,
                        axes[i], d);
        is_reduced[d] = true;
    }
    return WEFT_OK;
}

static int count_kept(const weft_tensor *X, const bool is_reduced[WEFT_MAX_NDIM])
{
    int n = 0;
    for (int d = 0; d < X->ndim; d++)
        n += !is_reduced[d];
    return n;
}

// Y's axis for each of X's, or -1: it has X's axes, or only those that are kept.
static weft_status shapes_check(int y_axis[WEFT_MAX_NDIM], const weft_tensor *X,
                                const weft_tensor *Y, const bool is_reduced[WEFT_MAX_NDIM])
{
    const int n_kept = count_kept(X, is_reduced);
    const bool keeps_all = Y->ndim == X->ndim;
    if (!keeps_all && Y->ndim != n_kept)
        return fail(WEFT_BAD_SHAPE,
                    "reduce: Y has %d dimensions; of X's %d are %d kept, or all %d with reduced "
                    "ones of extent 1",
                    Y->ndim, X->ndim, n_kept, X->ndim);
    int next = 0;
    for (int d = 0; d < X->ndim; d++) {
        y_axis[d] = keeps_all || !is_reduced[d] ? next++ : -1;
        if (y_axis[d] < 0)
            continue;
        const int64_t wanted = is_reduced[d] ? 1 : X->shape[d];
        if (Y->shape[y_axis[d]] != wanted)
            return fail(WEFT_BAD_SHAPE,
                        "reduce: Y's extent %d is %" PRId64 "; X's axis %d has %" PRId64
                        " and is %s: %" PRId64 " is wanted",
                        y_axis[d], Y->shape[y_axis[d]], d, X->shape[d],
                        is_reduced[d] ? "reduced" : "kept", wanted);
    }
    return WEFT_OK;
}

static bool is_narrow_float(weft_dtype dtype)
{
    return dtype == WEFT_F16 || dtype == WEFT_BF16;
}

// What Y may hold, in words; NULL where that is what it holds.
static const char *wanted_result(weft_result_kind kind, weft_dtype dtype, weft_dtype result)
{
    if (kind == WEFT_RESULT_PLACE)
        return result == WEFT_I64 || result == WEFT_I32 ? NULL : "i64 or i32";
    if (kind == WEFT_RESULT_TRUTH)
        return result == WEFT_U8 ? NULL : "u8";
    if (is_narrow_float(dtype))
        return result == dtype || result == WEFT_F32 ? NULL : "the same or f32";
    if (weft_is_floating(dtype) || kind == WEFT_RESULT_SAME)
        return result == dtype ? NULL : "the same";
    if (kind == WEFT_RESULT_WIDE)
        return result == WEFT_I64 ? NULL : "i64";
    return result == WEFT_F32 || result == WEFT_F64 ? NULL : "f32 or f64";
}

static weft_status dtypes_check(const weft_reduce_call *call)
{
    const char *wanted = wanted_result(call->facts->result, call->dtype, call->result);
    if (wanted)
        return fail(WEFT_BAD_DTYPE, "reduce: Y is %s, %s of %s wants %s",
                    weft_dtype_name(call->result), call->facts->name, weft_dtype_name(call->dtype),
                    wanted);
    if (call->arithmetic == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "reduce: %s is f64; %s has no f64",
                    call->dtype == WEFT_F64 ? "X" : "Y", call->ctx->limits.name);
    return WEFT_OK;
}

// Floats in their own type, or in f32; integers as what Y holds, and where that is only a place or
// a truth, as themselves.
static weft_dtype arithmetic_of(weft_result_kind kind, weft_dtype dtype, weft_dtype result)
{
    if (weft_is_floating(dtype))
        return dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    if (kind == WEFT_RESULT_FLOAT)
        return result;
    return kind == WEFT_RESULT_WIDE || dtype == WEFT_I64 ? WEFT_I64 : WEFT_I32;
}

static int64_t product_of(const weft_tensor *X, const bool is_reduced[WEFT_MAX_NDIM], bool which)
{
    int64_t n = 1;
    for (int d = 0; d < X->ndim; d++)
        if (is_reduced[d] == which)
            n *= X->shape[d];
    return n;
}

static weft_status elements_check(const weft_reduce_call *call)
{
    if (call->n == 0 && call->n_results > 0 && call->facts->needs_elements)
        return fail(WEFT_BAD_SHAPE, "reduce: %s of no elements: a reduced axis of X has extent 0",
                    call->facts->name);
    if (call->facts->result == WEFT_RESULT_PLACE && call->result == WEFT_I32 &&
        call->n - 1 > INT32_MAX)
        return fail(WEFT_BAD_DTYPE,
                    "reduce: Y is i32, but there are %" PRId64 " places: i64 is wanted", call->n);
    return WEFT_OK;
}

// Where there are no elements, X is as if it had one, which nobody reads: its strides and offset
// may then be anything.
static weft_axes sorted_axes(const weft_reduce_call *call, const bool is_reduced[WEFT_MAX_NDIM],
                             const int y_axis[WEFT_MAX_NDIM])
{
    const weft_tensor *X = call->X, *Y = call->Y;
    int64_t shape[WEFT_MAX_NDIM], x_stride[WEFT_MAX_NDIM], y_stride[WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = X->ndim,
        .is_folded = call->ctx->limits.fold > 1,
        .shape = shape,
        .in_order = call->facts->result == WEFT_RESULT_PLACE,
        .n_operands = 2,
        .n_lines = 1,
        .start = {call->n == 0 ? 0 : X->offset, Y->offset},
        .stride = {x_stride, y_stride},
    };
    for (int d = 0; d < X->ndim; d++) {
        request.is_reduced[d] = is_reduced[d];
        shape[d] = is_reduced[d] && call->n == 0 ? 1 : X->shape[d];
        x_stride[d] = call->n == 0 ? 0 : X->stride[d];
        y_stride[d] = is_reduced[d] ? 0 : Y->stride[y_axis[d]];
    }
    return weft_axes_sort(&request);
}

static weft_status operands_check(weft_reduce_call *call, int n_axes, const int *axes)
{
    bool is_reduced[WEFT_MAX_NDIM];
    int y_axis[WEFT_MAX_NDIM];
    TRY(weft_tensor_form_check(call->X, "reduce: X"));
    TRY(weft_output_form_check(call->Y, "reduce: Y"));
    TRY(axes_check(is_reduced, call->X, n_axes, axes));
    TRY(shapes_check(y_axis, call->X, call->Y, is_reduced));

    call->dtype = weft_dtype_or(call->X->dtype, WEFT_F32);
    call->result = weft_dtype_or(call->Y->dtype, WEFT_F32);
    call->arithmetic = arithmetic_of(call->facts->result, call->dtype, call->result);
    call->n = product_of(call->X, is_reduced, true);
    call->n_results = product_of(call->X, is_reduced, false);
    TRY(dtypes_check(call));
    TRY(elements_check(call));
    TRY(weft_tensor_check(call->ctx, call->X, "reduce: X"));
    TRY(weft_output_check(call->ctx, call->Y, "reduce: Y"));
    if (call->n > 0 && call->n_results > 0)
        TRY(weft_tensor_overlap_check(call->Y, "Y", call->X, "X", "reduce"));
    if (call->n_results == 0)
        return WEFT_OK;

    call->axes = sorted_axes(call, is_reduced, y_axis);
    call->problem = weft_axis_problem_of(&call->axes, call->dtype);
    call->problem.accumulator_bytes = (int)weft_dtype_size(call->arithmetic);
    call->problem.numbers = call->facts->n_numbers;
    if (call->is_forced)
        TRY(weft_axis_named_tiling_check("reduce: tiling", &call->forced, &call->ctx->limits,
                                         &call->problem));
    return WEFT_OK;
}

weft_status weft_reduce_check(weft_reduce_call *out, weft_context *ctx, weft_reduction op,
                              const weft_tensor *X, int n_axes, const int *axes,
                              const weft_tensor *Y, const weft_reduce_params *params)
{
    TRY(weft_context_check(ctx, "reduce"));
    if (!X || !Y)
        return fail(WEFT_BAD_ARGUMENT, "reduce: %s is NULL", X ? "Y" : "X");
    TRY(params_check(params));
    *out = (weft_reduce_call){
        .ctx = ctx,
        .op = op,
        .facts = weft_reduction_facts_of(op),
        .X = X,
        .Y = Y,
        .correction = params->correction,
    };
    if (!out->facts)
        return fail(WEFT_BAD_ARGUMENT, "reduce: op is %d, which is no reduction", (int)op);
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_axis_tiling_table, "reduce: tiling",
                         params->tiling));
    TRY(operands_check(out, n_axes, axes));
    if (out->n == 0)
        out->op = out->facts->of_none;
    return WEFT_OK;
}

weft_status weft_reduce_workspace_check(const weft_reduce_call *call, cl_mem workspace,
                                        size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, workspace, bytes, "reduce"));
    if (call->n > 0)
        TRY(weft_tensor_overlap_check(&scratch, "workspace", call->X, "X", "reduce"));
    return weft_tensor_overlap_check(&scratch, "workspace", call->Y, "Y", "reduce");
}
