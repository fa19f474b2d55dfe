// SPDX-License-Identifier: Apache-2.0
// out[..., i] = values[..., source[i]]: check, plan, defines, arguments, enqueue.
#include <weft/sparse_gather.h>

#include <inttypes.h>

#include "base/clamp.h"
#include "base/dtype.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/context.h"

static const char op[] = "sparse_gather";

typedef struct {
    weft_context *ctx;
    const weft_tensor *values, *source, *out;
    int64_t n, n_batches;
} gather_call;

// Other operations have no i8 and i16; in memory they are like u8 and f16.
static weft_tensor in_memory(const weft_tensor *tensor)
{
    weft_tensor view = *tensor;
    if (view.dtype == WEFT_I8)
        view.dtype = WEFT_U8;
    if (view.dtype == WEFT_I16)
        view.dtype = WEFT_F16;
    return view;
}

static weft_status shapes_check(const gather_call *call)
{
    const weft_tensor *values = call->values, *source = call->source, *out = call->out;
    if ((values->ndim != 1 && values->ndim != 2) || out->ndim != values->ndim || source->ndim != 1)
        return fail(WEFT_BAD_SHAPE,
                    "%s: values has %d dimensions, source %d, out %d; 1 each is wanted, or 2, 1, 2 "
                    "with a batch",
                    op, values->ndim, source->ndim, out->ndim);
    if (out->shape[out->ndim - 1] != source->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: source has %" PRId64 " elements, out %" PRId64, op,
                    source->shape[0], out->shape[out->ndim - 1]);
    if (out->ndim == 2 && out->shape[0] != values->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: values is a batch of %" PRId64 ", out of %" PRId64, op,
                    values->shape[0], out->shape[0]);
    if (source->shape[0] > 0 && values->shape[values->ndim - 1] == 0)
        return fail(WEFT_BAD_SHAPE, "%s: source has %" PRId64 " elements, values none", op,
                    source->shape[0]);
    return WEFT_OK;
}

static weft_status dtypes_check(const gather_call *call)
{
    const weft_dtype values = weft_dtype_or(call->values->dtype, WEFT_F32);
    const weft_dtype out = weft_dtype_or(call->out->dtype, WEFT_F32);
    const weft_dtype source = weft_dtype_or(call->source->dtype, WEFT_F32);
    if (values != out)
        return fail(WEFT_BAD_DTYPE, "%s: values is %s, out %s; both want the same", op,
                    weft_dtype_name(values), weft_dtype_name(out));
    if (source != WEFT_I32 && source != WEFT_I64)
        return fail(WEFT_BAD_DTYPE, "%s: source is %s: i32 or i64 is wanted", op,
                    weft_dtype_name(source));
    return WEFT_OK;
}

static weft_status check(gather_call *call, const weft_sparse_gather_params *params)
{
    TRY(weft_context_check(call->ctx, op));
    if (!call->values || !call->source || !call->out)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", op,
                    !call->values   ? "values"
                    : !call->source ? "source"
                                    : "out");
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.size is %zu, not %zu: fill it by WEFT_SPARSE_GATHER()", op,
                    params->size, sizeof(*params));
    const weft_tensor values = in_memory(call->values), out = in_memory(call->out);
    TRY(weft_tensor_form_check(&values, "sparse_gather: values"));
    TRY(weft_tensor_form_check(call->source, "sparse_gather: source"));
    TRY(weft_output_form_check(&out, "sparse_gather: out"));
    TRY(shapes_check(call));
    TRY(dtypes_check(call));
    TRY(weft_tensor_check(call->ctx, &values, "sparse_gather: values"));
    TRY(weft_tensor_check(call->ctx, call->source, "sparse_gather: source"));
    TRY(weft_output_check(call->ctx, &out, "sparse_gather: out"));
    TRY(weft_tensor_overlap_check(call->out, "out", call->values, "values", op));
    TRY(weft_tensor_overlap_check(call->out, "out", call->source, "source", op));
    call->n = call->source->shape[0];
    call->n_batches = call->out->ndim == 2 ? call->out->shape[0] : 1;
    return WEFT_OK;
}

// The kernel, and the items that it takes.
static weft_status prepare(weft_kernel **kernel, int *items, const gather_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (bool fits = false; !fits;) {
        *items = weft_items_for(&limits);
        weft_defines defines = {0};
        weft_defines_add(&defines, "ITEMS", *items);
        weft_defines_add_word(&defines, "OFFSET",
                              weft_word(weft_dtype_or(call->source->dtype, WEFT_F32)));
        weft_defines_add_word(&defines, "MOVED",
                              weft_moved_word(weft_dtype_or(call->values->dtype, WEFT_F32)));
        size_t most = (size_t)*items;
        TRY(weft_kernel_narrow(kernel, &most, call->ctx, &weft_source_sparse_gather, &defines, op));
        TRY(weft_limits_fit(&fits, &limits, (size_t)*items, most, false, op));
    }
    return WEFT_OK;
}

static weft_status run(weft_launch *launch, const gather_call *call)
{
    if (call->n == 0 || call->n_batches == 0)
        return WEFT_OK;
    weft_kernel *kernel;
    int items;
    TRY(prepare(&kernel, &items, call));
    const weft_tensor *values = call->values, *source = call->source, *out = call->out;
    const int last = out->ndim - 1;
    const int64_t values_batch = last == 1 ? values->stride[0] : 0;
    const int64_t out_batch = last == 1 ? out->stride[0] : 0;
    const int64_t turns = weft_items_run(&call->ctx->limits, items, call->n);
    const weft_argument arguments[] = {
        ARGUMENT(call->n),           ARGUMENT(turns),
        ARGUMENT(source->buffer),    ARGUMENT(source->offset),
        ARGUMENT(source->stride[0]), ARGUMENT(values->buffer),
        ARGUMENT(values->offset),    ARGUMENT(values->stride[last]),
        ARGUMENT(values_batch),      ARGUMENT(out->buffer),
        ARGUMENT(out->offset),       ARGUMENT(out->stride[last]),
        ARGUMENT(out_batch),
    };
    return ENQUEUE_ITEMS(launch, kernel, arguments, items, weft_items_groups(items, turns, call->n),
                         call->n_batches);
}

weft_status weft_sparse_gather(weft_context *ctx, cl_command_queue queue, const weft_tensor *values,
                               const weft_tensor *source, const weft_tensor *out,
                               const weft_sparse_gather_params *params)
{
    params = params ? params : WEFT_SPARSE_GATHER(.n_wait = 0);
    gather_call call = {.ctx = ctx, .values = values, .source = source, .out = out};
    TRY(check(&call, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, op, params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call);
    return weft_launch_end(&launch, status, params->event);
}
