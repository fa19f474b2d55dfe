// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalisation: checks, defines, arguments. The sweep is in sweep.c.
#include <weft/norm.h>

#include "axis/norm_operands.h"
#include "axis/norm_parameters.h"
#include "axis/sweep.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"

enum { OF_X, OF_WEIGHT, OF_BIAS, OF_Y };

// Arguments of a call besides its operands.
typedef struct {
    bool is_rms;
    double epsilon;
    int n_axes;
    weft_norm_params params;
} numbers;

// Operands of the sweep's axes: X, Y, then w and b if given.
typedef struct {
    weft_state head;
    weft_dtype dtype;
    weft_sweep sweep;
} state;

// ---- checks

static weft_axes sorted_axes(const weft_call *call, int n_axes)
{
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    int64_t stride[2][WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = X->ndim,
        .is_vectorized = call->ctx->limits.vector_width > 1,
        .holds = true,
        .shape = X->shape,
        .n_operands = 2,
        .start = {X->offset, Y->offset},
        .stride = {X->stride, Y->stride},
    };
    for (int d = X->ndim - n_axes; d < X->ndim; ++d)
        request.is_reduced[d] = true;
    for (int i = OF_WEIGHT; i <= OF_BIAS; ++i)
        if (call->operands[i])
            weft_norm_add_scaling(&request, stride[i - OF_WEIGHT], weft_call_tensor(call, i));
    request.n_lines = request.n_operands;
    return weft_axes_sort(&request);
}

static weft_status check(void *memory, const weft_call *call)
{
    state *s = memory;
    const numbers *given = call->own;
    const char *what = weft_call_name(call);
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    TRY(weft_norm_axes_check(what, X, given->n_axes));
    TRY(weft_same_check(X, "X", Y, "Y", what));
    TRY(weft_floating_check(call->ctx, X, "X", what));
    for (int i = OF_WEIGHT; i <= OF_BIAS; ++i)
        if (call->operands[i])
            TRY(weft_norm_scaling_check(what, X, weft_call_tensor(call, i),
                                        call->op->operands[i].name, given->n_axes));
    TRY(weft_sweep_read_tiling(&s->sweep, call, call->tiling, "tiling"));
    s->dtype = weft_dtype_or(X->dtype, WEFT_F32);
    s->head.is_empty = weft_tensor_is_empty(X);
    if (s->head.is_empty)
        return WEFT_OK;
    s->sweep.axes = sorted_axes(call, given->n_axes);
    weft_sweep_find_problem(&s->sweep, call, s->dtype, given->is_rms ? 3 : 6, false);
    return WEFT_OK;
}

static weft_status numbers_check(const void *memory, const weft_call *call)
{
    const numbers *given = call->own;
    (void)memory;
    return weft_norm_epsilon_check(weft_call_name(call), given->epsilon);
}

// ---- plan and defines

static void add_key(weft_key *key, const weft_call *call)
{
    const numbers *given = call->own;
    weft_key_add_number(key, given->is_rms);
    weft_key_add_number(key, given->n_axes);
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    state *s = memory;
    s->head.is_forced = s->sweep.is_forced;
    TRY(weft_sweep_plan(&s->sweep, &s->head.group_items, call, limits, "tiling",
                        weft_call_tensor(call, OF_Y)));
    s->head.scratch_bytes = s->sweep.scratch_bytes;
    return WEFT_OK;
}

static weft_status build(void *memory, const weft_call *call, size_t *most)
{
    static const weft_sweep_kernels kernels = {.source = &weft_source_norm,
                                               .lines = "norm_lines",
                                               .parts = "norm_parts",
                                               .apply = "norm_apply"};
    state *s = memory;
    const numbers *given = call->own;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->dtype);
    weft_defines_add(&defines, "RMS", given->is_rms);
    weft_defines_add(&defines, "WEIGHTED", call->operands[OF_WEIGHT] != NULL);
    weft_defines_add(&defines, "BIASED", call->operands[OF_BIAS] != NULL);
    return weft_sweep_build(&s->sweep, most, call, &kernels, &defines);
}

// ---- arguments

typedef struct {
    NORM_PARAMETERS(FIELD, )
} arguments;

static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const state *s = memory;
    const numbers *given = call->own;
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    // For a missing w or b X is passed, and not read as such.
    const weft_tensor *weight = call->operands[OF_WEIGHT] ? call->operands[OF_WEIGHT] : X;
    const weft_tensor *bias = call->operands[OF_BIAS] ? call->operands[OF_BIAS] : X;
    const int at_weight = weight == X ? 0 : 2, at_bias = bias == X ? 0 : weight == X ? 2 : 3;
    const arguments own = {
        .walk = s->sweep.walk,
        .x = weft_sweep_input(&s->sweep, 0, X, Y),
        .y = weft_view_of(&s->sweep.axes, 1),
        .weight_view = weft_sweep_input(&s->sweep, at_weight, weight, Y),
        .bias_view = weft_sweep_input(&s->sweep, at_bias, bias, Y),
        .X = X->buffer,
        .Y = Y->buffer,
        .weight = weight->buffer,
        .bias = bias->buffer,
        .epsilon = weft_number_of(s->dtype, given->epsilon),
    };
    const arguments *a = &own;
    const weft_argument list[] = {NORM_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue(launch, &s->sweep, scratch, sizeof(list) / sizeof(list[0]), list);
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const state *s = memory;
    (void)call;
    return weft_sweep_print(&s->sweep, text, size);
}

// ---- calls

static const weft_op norm = {
    .name = "norm",
    .n_operands = 4,
    .operands = {[OF_X] = {.name = "X", .access = WEFT_READS_VALUES},
                 [OF_WEIGHT] = {.name = "weight", .access = WEFT_READS_VALUES, .is_optional = true},
                 [OF_BIAS] = {.name = "bias", .access = WEFT_READS_VALUES, .is_optional = true},
                 [OF_Y] = {.name = "Y", .access = WEFT_WRITES_VALUES, .may_be = 1u << OF_X}},
    .state_bytes = sizeof(state),
    .key = add_key,
    .check = check,
    .numbers_check = numbers_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    numbers own;
} request;

static weft_status request_of(request *r, const char *what, bool is_rms, weft_context *ctx,
                              double epsilon, const weft_tensor *X, int n_axes,
                              const weft_tensor *Y, const weft_norm_params *params)
{
    weft_norm_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, what, "WEFT_NORM"));
    r->own.is_rms = is_rms;
    r->own.epsilon = epsilon;
    r->own.n_axes = n_axes;
    r->call = (weft_call){
        .op = &norm,
        .ctx = ctx,
        .what = what,
        .operands = {[OF_X] = X, [OF_WEIGHT] = own->weight, [OF_BIAS] = own->bias, [OF_Y] = Y},
        .own = &r->own,
        .tiling = own->tiling,
        CALL_PARAMS(own),
    };
    return WEFT_OK;
}

weft_status weft_layer_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                            const weft_tensor *X, int n_axes, const weft_tensor *Y,
                            const weft_norm_params *params)
{
    request r;
    TRY(request_of(&r, "layer_norm", false, ctx, epsilon, X, n_axes, Y, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_rms_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                          const weft_tensor *X, int n_axes, const weft_tensor *Y,
                          const weft_norm_params *params)
{
    request r;
    TRY(request_of(&r, "rms_norm", true, ctx, epsilon, X, n_axes, Y, params));
    return weft_op_run(&r.call, queue);
}

// ---- what a call would do

weft_status weft_norm_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *Y, const weft_norm_params *params, size_t *bytes)
{
    request r;
    TRY(request_of(&r, "norm", false, ctx, 0, X, n_axes, Y, params));
    return weft_op_workspace(&r.call, bytes);
}

static int describe(const char *what, bool is_rms, weft_context *ctx, const weft_tensor *X,
                    int n_axes, const weft_tensor *Y, const weft_norm_params *params, char *text,
                    size_t size)
{
    request r;
    return request_of(&r, what, is_rms, ctx, 0, X, n_axes, Y, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}

int weft_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes, const weft_tensor *Y,
                       const weft_norm_params *params, char *text, size_t size)
{
    return describe("norm", false, ctx, X, n_axes, Y, params, text, size);
}

int weft_rms_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                           const weft_tensor *Y, const weft_norm_params *params, char *text,
                           size_t size)
{
    return describe("rms_norm", true, ctx, X, n_axes, Y, params, text, size);
}
