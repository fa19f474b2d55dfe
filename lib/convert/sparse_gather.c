// SPDX-License-Identifier: Apache-2.0
// out[..., i] = values[..., source[i]]: check, plan, defines, arguments, enqueue.
#include <weft/sparse_gather.h>

#include <inttypes.h>

#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "convert/sparse_gather_parameters.h"
#include "op/items.h"
#include "op/op.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"

static const char op[] = "sparse_gather";

// Operands in the table's order.
enum { VALUES, SOURCE, OUT };

typedef struct {
    weft_state head;
    int64_t n, run, n_groups;
    int items;
    weft_kernel *kernel;
} gather_state;

// ---- check

static weft_status shapes_check(const weft_tensor *values, const weft_tensor *source,
                                const weft_tensor *out)
{
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

static weft_status dtypes_check(const weft_tensor *values, const weft_tensor *source,
                                const weft_tensor *out)
{
    const weft_dtype dtype = weft_dtype_or(source->dtype, WEFT_F32);
    TRY(weft_same_dtype_check(values->dtype, "values", out->dtype, "out", op));
    if (dtype != WEFT_I32 && dtype != WEFT_I64)
        return fail(WEFT_BAD_DTYPE, "%s: source is %s: i32 or i64 is wanted", op,
                    weft_dtype_name(dtype));
    return WEFT_OK;
}

static weft_status check(void *state, const weft_call *call)
{
    gather_state *s = state;
    const weft_tensor *values = weft_call_tensor(call, VALUES);
    const weft_tensor *source = weft_call_tensor(call, SOURCE), *out = weft_call_tensor(call, OUT);
    TRY(shapes_check(values, source, out));
    TRY(dtypes_check(values, source, out));
    s->n = source->shape[0];
    s->head.is_empty = weft_tensor_is_empty(out);
    return WEFT_OK;
}

// ---- plan, defines

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    gather_state *s = state;
    (void)call;
    s->items = weft_items_for(limits);
    s->head.group_items = (size_t)s->items;
    s->run = weft_items_run(limits, s->items, s->n);
    s->n_groups = weft_items_groups(s->items, s->run, s->n);
    return WEFT_OK;
}

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    gather_state *s = state;
    const weft_dtype source = weft_dtype_or(weft_call_tensor(call, SOURCE)->dtype, WEFT_F32);
    const weft_dtype values = weft_dtype_or(weft_call_tensor(call, VALUES)->dtype, WEFT_F32);
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", s->items);
    weft_defines_add_word(&defines, "OFFSET", weft_word(source));
    weft_defines_add_word(&defines, "MOVED", weft_moved_word(values));
    return weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_sparse_gather, &defines,
                              op);
}

// ---- arguments, enqueue

typedef struct {
    GATHER_PARAMETERS(FIELD, )
} gather;

static weft_status run(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch)
{
    const gather_state *s = state;
    const weft_tensor *values = weft_call_tensor(call, VALUES);
    const weft_tensor *source = weft_call_tensor(call, SOURCE), *out = weft_call_tensor(call, OUT);
    const int last = out->ndim - 1;
    const gather own = {
        .n = s->n,
        .run = s->run,
        .source = source->buffer,
        .source_start = source->offset,
        .source_stride = source->stride[0],
        .values = values->buffer,
        .values_start = values->offset,
        .values_stride = values->stride[last],
        .values_batch = last == 1 ? values->stride[0] : 0,
        .out = out->buffer,
        .out_start = out->offset,
        .out_stride = out->stride[last],
        .out_batch = last == 1 ? out->stride[0] : 0,
    };
    const gather *a = &own;
    const weft_argument list[] = {GATHER_PARAMETERS(LISTED, COMMA)};
    (void)scratch;
    return ENQUEUE_ITEMS(launch, s->kernel, list, s->items, s->n_groups,
                         last == 1 ? out->shape[0] : 1);
}

// ---- calls

static const weft_op sparse_gather = {
    .name = op,
    .n_operands = 3,
    .operands = {[VALUES] = {.name = "values",
                             .access = WEFT_READS_VALUES,
                             .may_be_i8 = true,
                             .may_be_i16 = true},
                 [SOURCE] = {.name = "source", .access = WEFT_READS_VALUES},
                 [OUT] = {.name = "out",
                          .access = WEFT_WRITES_VALUES,
                          .may_be_i8 = true,
                          .may_be_i16 = true}},
    .state_bytes = sizeof(gather_state),
    .check = check,
    .plan = plan,
    .build = build,
    .run = run,
};

weft_status weft_sparse_gather(weft_context *ctx, cl_command_queue queue, const weft_tensor *values,
                               const weft_tensor *source, const weft_tensor *out,
                               const weft_sparse_gather_params *params)
{
    weft_sparse_gather_params own;
    TRY(PARAMS_READ(&own, params, op, "WEFT_SPARSE_GATHER"));
    const weft_call call = {
        .op = &sparse_gather,
        .ctx = ctx,
        .operands = {values, source, out},
        .n_wait = own.n_wait,
        .wait = own.wait,
        .event = own.event,
    };
    return weft_op_run(&call, queue);
}
