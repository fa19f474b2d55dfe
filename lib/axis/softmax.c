// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and their backward: checks, defines and arguments. The sweep is in sweep.c.
#include <weft/softmax.h>

#include <math.h>

#include "axis/softmax_backward_parameters.h"
#include "axis/softmax_parameters.h"
#include "axis/sweep.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"

// Operands: X and Y, or Y, dY and dX.
enum { FORWARD_X, FORWARD_Y };
enum { BACKWARD_Y, BACKWARD_DY, BACKWARD_DX };

// Arguments of a call besides its operands.
typedef struct {
    bool is_log, is_backward;
    double scale;
    int axis;
    weft_softmax_params params;
} numbers;

typedef struct {
    weft_state head;
    weft_dtype dtype;
    weft_sweep sweep;
} state;

// ---- checks

static int last_of(const numbers *given)
{
    return given->is_backward ? BACKWARD_DX : FORWARD_Y;
}

static weft_status axis_check(const weft_call *call, const weft_tensor *in, int axis)
{
    if (in->ndim < 1 || axis < -in->ndim || axis >= in->ndim)
        return fail(WEFT_BAD_ARGUMENT, "%s: axis is %d, %s has %d dimensions", call->op->name, axis,
                    call->op->operands[0].name, in->ndim);
    return WEFT_OK;
}

static weft_axes sorted_axes(const weft_call *call, int last)
{
    const numbers *given = call->own;
    const weft_tensor *out = weft_call_tensor(call, last);
    weft_axes_request request = {
        .ndim = out->ndim,
        .is_vectorized = call->ctx->limits.vector_width > 1,
        .holds = true,
        .shape = out->shape,
        .n_operands = last + 1,
        .n_lines = last + 1,
    };
    request.is_reduced[given->axis < 0 ? given->axis + out->ndim : given->axis] = true;
    for (int i = 0; i <= last; ++i) {
        request.start[i] = weft_call_tensor(call, i)->offset;
        request.stride[i] = weft_call_tensor(call, i)->stride;
    }
    return weft_axes_sort(&request);
}

static weft_status check(void *memory, const weft_call *call)
{
    state *s = memory;
    const numbers *given = call->own;
    const weft_operand_rule *rules = call->op->operands;
    const weft_tensor *first = weft_call_tensor(call, 0);
    const int last = last_of(given);
    TRY(axis_check(call, first, given->axis));
    for (int i = 1; i <= last; ++i)
        TRY(weft_same_check(first, rules[0].name, weft_call_tensor(call, i), rules[i].name,
                            call->op->name));
    TRY(weft_floating_check(call->ctx, first, rules[0].name, call->op->name));
    TRY(weft_sweep_read_tiling(&s->sweep, call, call->tiling, "tiling"));
    s->dtype = weft_dtype_or(first->dtype, WEFT_F32);
    s->head.is_empty = weft_tensor_is_empty(first);
    if (s->head.is_empty)
        return WEFT_OK;
    s->sweep.axes = sorted_axes(call, last);
    weft_sweep_find_problem(&s->sweep, call, s->dtype, given->is_backward ? 2 : 3,
                            !given->is_backward && !given->is_log);
    s->sweep.problem.reads = given->is_backward ? 2 : 1;
    return WEFT_OK;
}

static weft_status numbers_check(const void *memory, const weft_call *call)
{
    const state *s = memory;
    const double scale = ((const numbers *)call->own)->scale;
    if (!isfinite(scale) || (s->dtype != WEFT_F64 && !isfinite((float)scale)))
        return fail(WEFT_BAD_ARGUMENT, "%s: scale is %g: a finite one is wanted", call->op->name,
                    scale);
    return WEFT_OK;
}

// ---- plan and defines

static bool is_scaled(const numbers *given)
{
    return !given->is_backward && given->scale != 1;
}

static void add_key(weft_key *key, const weft_call *call)
{
    const numbers *given = call->own;
    weft_key_add_number(key, given->axis);
    weft_key_add_number(key, is_scaled(given));
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    state *s = memory;
    const weft_tensor *out = weft_call_tensor(call, last_of(call->own));
    s->head.is_forced = s->sweep.is_forced;
    TRY(weft_sweep_plan(&s->sweep, &s->head.group_items, call, limits, "tiling", out));
    s->head.scratch_bytes = s->sweep.scratch_bytes;
    return WEFT_OK;
}

// Longer rows take no longer when the running maximum is found with their exponentials, and read
// memory more evenly.
enum { SHORT_ROW_VECTORS = 40 };

static bool has_short_rows(const weft_sweep *sweep)
{
    const weft_axis_tiling *t = &sweep->tiling;
    return t->cache && t->widen > 1 && t->vectors == 1 && sweep->walk.low == 1 &&
           sweep->walk.lines <= SHORT_ROW_VECTORS;
}

static weft_status build(void *memory, const weft_call *call, size_t *most)
{
    static const weft_sweep_kernels kernels = {.source = &weft_source_softmax,
                                               .lines = "softmax_lines",
                                               .parts = "softmax_parts",
                                               .apply = "softmax_apply"};
    static const weft_sweep_kernels backward = {.source = &weft_source_softmax_backward,
                                                .lines = "softmax_backward_lines",
                                                .parts = "softmax_backward_parts",
                                                .apply = "softmax_backward_apply"};
    state *s = memory;
    const numbers *given = call->own;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->dtype);
    weft_defines_add(&defines, "LOG", given->is_log);
    if (!given->is_backward)
        weft_defines_add(&defines, "SCALED", is_scaled(given));
    if (has_short_rows(&s->sweep))
        weft_defines_add(&defines, "SHORT_ROWS", 1);
    return weft_sweep_build(&s->sweep, most, call, given->is_backward ? &backward : &kernels,
                            &defines);
}

// ---- arguments

typedef struct {
    SOFTMAX_PARAMETERS(FIELD, )
} arguments;

typedef struct {
    SOFTMAX_BACKWARD_PARAMETERS(FIELD, )
} backward_arguments;

static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const state *s = memory;
    const numbers *given = call->own;
    const weft_tensor *in = weft_call_tensor(call, FORWARD_X);
    const weft_tensor *out = weft_call_tensor(call, FORWARD_Y);
    const arguments own = {
        .walk = s->sweep.walk,
        .x = weft_sweep_input(&s->sweep, FORWARD_X, in, out),
        .y = weft_view_of(&s->sweep.axes, FORWARD_Y),
        .X = in->buffer,
        .Y = out->buffer,
        .scale = weft_number_of(s->dtype, given->scale),
        .masked = given->params.masked,
    };
    const arguments *a = &own;
    const weft_argument list[] = {SOFTMAX_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue(launch, &s->sweep, scratch, sizeof(list) / sizeof(list[0]), list);
}

static weft_status run_backward(weft_launch *launch, const void *memory, const weft_call *call,
                                cl_mem scratch)
{
    const state *s = memory;
    const numbers *given = call->own;
    const weft_tensor *y = weft_call_tensor(call, BACKWARD_Y),
                      *dy = weft_call_tensor(call, BACKWARD_DY);
    const weft_tensor *dx = weft_call_tensor(call, BACKWARD_DX);
    const backward_arguments own = {
        .walk = s->sweep.walk,
        .y = weft_sweep_input(&s->sweep, BACKWARD_Y, y, dx),
        .dy = weft_sweep_input(&s->sweep, BACKWARD_DY, dy, dx),
        .dx = weft_view_of(&s->sweep.axes, BACKWARD_DX),
        .Y = y->buffer,
        .dY = dy->buffer,
        .dX = dx->buffer,
        .scale = weft_number_of(s->dtype, given->scale),
    };
    const backward_arguments *a = &own;
    const weft_argument list[] = {SOFTMAX_BACKWARD_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue(launch, &s->sweep, scratch, sizeof(list) / sizeof(list[0]), list);
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const state *s = memory;
    (void)call;
    return weft_sweep_print(&s->sweep, text, size);
}

// ---- the operations

#define SOFTMAX(title)                                                                             \
    {                                                                                              \
        .name = (title), .n_operands = 2, .state_bytes = sizeof(state), .key = add_key,            \
        .check = check, .numbers_check = numbers_check, .plan = plan, .build = build, .run = run,  \
        .print = print,                                                                            \
        .operands = {                                                                              \
            {.name = "X", .access = WEFT_READS_VALUES},                                            \
            {.name = "Y", .access = WEFT_WRITES_VALUES, .may_be = 1u << FORWARD_X},                \
        },                                                                                         \
    }

#define SOFTMAX_BACKWARD(title)                                                                    \
    {                                                                                              \
        .name = (title), .n_operands = 3, .state_bytes = sizeof(state), .key = add_key,            \
        .check = check, .numbers_check = numbers_check, .plan = plan, .build = build,              \
        .run = run_backward, .print = print,                                                       \
        .operands = {                                                                              \
            {.name = "Y", .access = WEFT_READS_VALUES},                                            \
            {.name = "dY", .access = WEFT_READS_VALUES},                                           \
            {.name = "dX",                                                                         \
             .access = WEFT_WRITES_VALUES,                                                         \
             .may_be = 1u << BACKWARD_Y | 1u << BACKWARD_DY},                                      \
        },                                                                                         \
    }

static const weft_op softmax = SOFTMAX("softmax");
static const weft_op log_softmax = SOFTMAX("log_softmax");
static const weft_op softmax_backward = SOFTMAX_BACKWARD("softmax_backward");
static const weft_op log_softmax_backward = SOFTMAX_BACKWARD("log_softmax_backward");

// ---- calls

typedef struct {
    weft_call call;
    numbers own;
} request;

static weft_status request_of(request *r, const weft_op *op, weft_context *ctx, double scale,
                              const weft_tensor *first, const weft_tensor *second,
                              const weft_tensor *third, int axis, const weft_softmax_params *params)
{
    weft_softmax_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, op->name, "WEFT_SOFTMAX"));
    r->own.is_log = op == &log_softmax || op == &log_softmax_backward;
    r->own.is_backward = op->n_operands > 2;
    r->own.scale = scale;
    r->own.axis = axis;
    r->call = (weft_call){
        .op = op,
        .ctx = ctx,
        .operands = {first, second, third},
        .own = &r->own,
        .tiling = own->tiling,
        CALL_PARAMS(own),
    };
    return WEFT_OK;
}

weft_status weft_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                         const weft_tensor *X, int axis, const weft_tensor *Y,
                         const weft_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &softmax, ctx, scale, X, Y, NULL, axis, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_log_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                             const weft_tensor *X, int axis, const weft_tensor *Y,
                             const weft_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &log_softmax, ctx, scale, X, Y, NULL, axis, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *Y, const weft_tensor *dY, int axis,
                                  const weft_tensor *dX, const weft_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &softmax_backward, ctx, scale, Y, dY, dX, axis, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_log_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                      const weft_tensor *Y, const weft_tensor *dY, int axis,
                                      const weft_tensor *dX, const weft_softmax_params *params)
{
    request r;
    TRY(request_of(&r, &log_softmax_backward, ctx, scale, Y, dY, dX, axis, params));
    return weft_op_run(&r.call, queue);
}

// ---- what a call would do

weft_status weft_softmax_workspace(weft_context *ctx, const weft_tensor *X, int axis,
                                   const weft_tensor *Y, const weft_softmax_params *params,
                                   size_t *bytes)
{
    request r;
    TRY(request_of(&r, &softmax, ctx, 1, X, Y, NULL, axis, params));
    return weft_op_workspace(&r.call, bytes);
}

static int describe(const weft_op *op, weft_context *ctx, const weft_tensor *first,
                    const weft_tensor *second, const weft_tensor *third, int axis,
                    const weft_softmax_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, op, ctx, 1, first, second, third, axis, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}

int weft_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis, const weft_tensor *Y,
                          const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&softmax, ctx, X, Y, NULL, axis, params, text, size);
}

int weft_log_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                              const weft_tensor *Y, const weft_softmax_params *params, char *text,
                              size_t size)
{
    return describe(&log_softmax, ctx, X, Y, NULL, axis, params, text, size);
}

int weft_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y, const weft_tensor *dY,
                                   int axis, const weft_tensor *dX,
                                   const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&softmax_backward, ctx, Y, dY, dX, axis, params, text, size);
}

int weft_log_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                       const weft_tensor *dY, int axis, const weft_tensor *dX,
                                       const weft_softmax_params *params, char *text, size_t size)
{
    return describe(&log_softmax_backward, ctx, Y, dY, dX, axis, params, text, size);
}
