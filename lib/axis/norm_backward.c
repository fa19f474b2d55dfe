// SPDX-License-Identifier: Apache-2.0
// The backward of layer and RMS normalisation: checks, its two sweeps, scratch memory, arguments.
#include <weft/norm.h>

#include <inttypes.h>
#include <stdio.h>

#include "axis/norm_backward_axes.h"
#include "axis/norm_backward_parameters.h"
#include "axis/norm_backward_plan.h"
#include "axis/norm_operands.h"
#include "axis/norm_scaling_parameters.h"
#include "axis/sweep.h"
#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"

enum { OF_X, OF_DY, OF_WEIGHT, OF_DX, OF_DW, OF_DB };

enum { WRITES_DW = 1, WRITES_DB = 2 }; // as in norm_columns.clh

// Arguments of a call besides its operands.
typedef struct {
    bool is_rms;
    double epsilon;
    int n_axes;
    weft_norm_backward_params params;
} numbers;

// dX is written first, then two kernels compute dW and db from X and dY. Scratch memory holds the
// statistics of rows and, from `found` bytes on, the states of parts, of dX first. Or all are
// computed in one pass, and scratch memory holds the sums of groups.
typedef struct {
    weft_state head;
    weft_dtype dtype;
    int64_t rows;       // 0: dW and db become 0, and `dx` has no kernels
    bool needs_scaling; // dW or db is required, and `scaling` is planned
    bool in_one;        // pass; of `scaling` only `apply` is run, if there are several groups
    weft_sweep dx;      // operands of its axes: X, dY, dX, then w, dW and db if given
    weft_sweep scaling; // X, dY, then dW and db if given
    cl_long found;
} state;

// ---- checks

static int64_t product_of(const weft_tensor *X, int first, int last)
{
    int64_t n = 1;
    for (int d = first; d < last; ++d)
        n *= X->shape[d];
    return n;
}

static weft_status shapes_check(const weft_call *call, int n_axes)
{
    const char *what = weft_call_name(call);
    const weft_tensor *X = weft_call_tensor(call, OF_X);
    TRY(weft_norm_axes_check(what, X, n_axes));
    TRY(weft_same_check(X, "X", weft_call_tensor(call, OF_DY), "dY", what));
    TRY(weft_same_check(X, "X", weft_call_tensor(call, OF_DX), "dX", what));
    TRY(weft_floating_check(call->ctx, X, "X", what));
    static const int scalings[] = {OF_WEIGHT, OF_DW, OF_DB};
    for (int i = 0; i < 3; ++i)
        if (call->operands[scalings[i]])
            TRY(weft_norm_scaling_check(what, X, weft_call_tensor(call, scalings[i]),
                                        call->op->operands[scalings[i]].name, n_axes));
    return WEFT_OK;
}

// X and dY are read for dW and db after dX is written.
static weft_status in_place_check(const weft_call *call, int input)
{
    const weft_tensor *dX = weft_call_tensor(call, OF_DX);
    const char *name = call->op->operands[input].name;
    if (weft_tensor_is_empty(dX) || !weft_tensor_is_same(dX, weft_call_tensor(call, input)))
        return WEFT_OK;
    return fail(
        WEFT_BAD_BUFFER,
        "%s: dX is %s itself: that is allowed only without dW and db, whose sums read %s later",
        weft_call_name(call), name, name);
}

static weft_status check(void *memory, const weft_call *call)
{
    state *s = memory;
    const numbers *given = call->own;
    const weft_tensor *X = weft_call_tensor(call, OF_X);
    TRY(shapes_check(call, given->n_axes));
    TRY(weft_sweep_read_tiling(&s->dx, call, call->tiling, "tiling"));
    TRY(weft_sweep_read_tiling(&s->scaling, call, given->params.scaling_tiling, "scaling_tiling"));
    s->dtype = weft_dtype_or(X->dtype, WEFT_F32);
    s->rows = product_of(X, 0, X->ndim - given->n_axes);
    s->needs_scaling = call->operands[OF_DW] || call->operands[OF_DB];
    s->head.is_empty =
        product_of(X, X->ndim - given->n_axes, X->ndim) == 0 || (s->rows == 0 && !s->needs_scaling);
    if (s->head.is_empty)
        return WEFT_OK;
    if (s->needs_scaling) {
        TRY(in_place_check(call, OF_X));
        TRY(in_place_check(call, OF_DY));
    }
    const weft_norm_backward_operands operands = {
        .X = X,
        .dY = call->operands[OF_DY],
        .dX = call->operands[OF_DX],
        .weight = call->operands[OF_WEIGHT],
        .dW = call->operands[OF_DW],
        .db = call->operands[OF_DB],
        .rows = s->rows,
        .is_vectorized = call->ctx->limits.vector_width > 1,
    };
    s->dx.axes = weft_norm_backward_axes(&operands, given->n_axes);
    weft_sweep_find_problem(&s->dx, call, s->dtype, given->is_rms ? 5 : 10, false);
    s->dx.problem.reads = operands.weight ? 3 : 2;
    if (!s->needs_scaling)
        return WEFT_OK;
    s->scaling.reduces = s->scaling.joins = true;
    s->scaling.axes = weft_norm_scaling_axes(&s->dx.axes, &operands);
    weft_sweep_find_problem(&s->scaling, call, s->dtype, 4, false);
    s->scaling.problem.reads = 2;
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
    weft_key_add_text(key, given->params.scaling_tiling);
}

static weft_status dx_prepare(state *s, const weft_call *call)
{
    static const weft_sweep_kernels kernels = {.source = &weft_source_norm_backward,
                                               .lines = "norm_backward_lines",
                                               .parts = "norm_backward_parts",
                                               .apply = "norm_backward_apply",
                                               .needs_registers = true};
    static const weft_sweep_kernels in_one = {.source = &weft_source_norm_backward,
                                              .lines = "norm_backward_columns",
                                              .needs_registers = true};
    const numbers *given = call->own;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->dtype);
    weft_defines_add(&defines, "RMS", given->is_rms);
    weft_defines_add(&defines, "WEIGHTED", call->operands[OF_WEIGHT] != NULL);
    if (s->in_one)
        weft_defines_add(&defines, "COLUMNS", 1);
    weft_defines_add(&defines, "SAVES_STATISTICS", s->needs_scaling && !s->in_one);
    return weft_sweep_prepare(&s->dx, call, "tiling", call->operands[OF_DX],
                              s->in_one ? &in_one : &kernels, &defines);
}

static weft_status scaling_prepare(state *s, const weft_call *call)
{
    static const weft_sweep_kernels kernels = {.source = &weft_source_norm_scaling,
                                               .parts = "norm_scaling_parts",
                                               .apply = "norm_scaling_join"};
    static const weft_sweep_kernels join = {.source = &weft_source_norm_scaling,
                                            .apply = "norm_scaling_join"};
    const numbers *given = call->own;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->dtype);
    weft_defines_add(&defines, "RMS", given->is_rms);
    TRY(weft_sweep_prepare(&s->scaling, call, "scaling_tiling", NULL, s->in_one ? &join : &kernels,
                           &defines));
    if (s->rows == 0)
        weft_walk_clear(&s->scaling.walk);
    return WEFT_OK;
}

static weft_status scratch_for(state *s, const weft_call *call)
{
    const weft_dtype dtype = s->dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    const numbers *given = call->own;
    weft_scratch scratch = {0};
    int64_t n = 0;
    const bool fits = weft_walk_pitch(s->rows, &n) && mul_i64(n, given->is_rms ? 1 : 3, &n);
    if (s->needs_scaling && !s->in_one && fits)
        weft_scratch_add(&scratch, n, dtype);
    s->found = (cl_long)scratch.bytes;
    const size_t dx = s->dx.scratch_bytes, scaling = s->scaling.scratch_bytes;
    const size_t found = dx > scaling ? dx : scaling;
    if (!fits || scratch.bytes > SIZE_MAX / 2 || found > SIZE_MAX / 2 - scratch.bytes)
        return fail(WEFT_NO_MEMORY,
                    "%s: the statistics of %" PRId64 " rows have no room in scratch memory",
                    weft_call_name(call), s->rows);
    s->head.scratch_bytes = scratch.bytes + found;
    return WEFT_OK;
}

// One pass has tilings of its own, which the sweeps take as if they were the caller's.
static void choose_passes(state *s, const weft_call *call)
{
    if (s->in_one || s->rows == 0 || !s->needs_scaling || s->dx.is_forced || s->scaling.is_forced)
        return;
    s->in_one = s->dx.is_forced = s->scaling.is_forced =
        weft_norm_backward_in_one(&s->dx.tiling, &s->scaling.tiling, &call->ctx->limits,
                                  &s->dx.problem, &s->scaling.problem, s->dx.axes.n_high <= 1);
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    state *s = memory;
    (void)limits; // each sweep starts from the device's
    choose_passes(s, call);
    if (s->rows > 0)
        TRY(dx_prepare(s, call));
    if (s->needs_scaling)
        TRY(scaling_prepare(s, call));
    return scratch_for(s, call);
}

// ---- arguments

typedef struct {
    NORM_BACKWARD_PARAMETERS(FIELD, )
    NORM_COLUMNS_PARAMETERS(FIELD, )
} columns_arguments;

typedef struct {
    NORM_SCALING_PARTS_PARAMETERS(FIELD, )
} parts_arguments;

typedef struct {
    NORM_SCALING_JOIN_PARAMETERS(FIELD, )
} join_arguments;

// The arguments of dX.
static columns_arguments dx_arguments_of(const state *s, const weft_call *call)
{
    const numbers *given = call->own;
    const weft_tensor *X = call->operands[OF_X], *dY = call->operands[OF_DY];
    const weft_tensor *dX = call->operands[OF_DX];
    // For a missing w X is passed, and not read as such.
    const weft_tensor *weight = call->operands[OF_WEIGHT] ? call->operands[OF_WEIGHT] : X;
    return (columns_arguments){
        .walk = s->dx.walk,
        .x = weft_sweep_input(&s->dx, 0, X, dX),
        .dy = weft_sweep_input(&s->dx, 1, dY, dX),
        .weight_view = weft_sweep_input(&s->dx, weight == X ? 0 : 3, weight, dX),
        .dx = weft_view_of(&s->dx.axes, 2),
        .X = X->buffer,
        .dY = dY->buffer,
        .weight = weight->buffer,
        .dX = dX->buffer,
        .epsilon = weft_number_of(s->dtype, given->epsilon),
        .found = s->found,
    };
}

static weft_status enqueue_dx(weft_launch *launch, const state *s, const weft_call *call,
                              cl_mem scratch)
{
    const columns_arguments own = dx_arguments_of(s, call), *a = &own;
    const weft_argument list[] = {NORM_BACKWARD_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue(launch, &s->dx, scratch, sizeof(list) / sizeof(list[0]), list);
}

// One group writes dW and db itself. For a missing one the other one is passed, and not written as
// such.
static weft_status enqueue_columns(weft_launch *launch, const state *s, const weft_call *call,
                                   cl_mem scratch)
{
    const weft_tensor *dW = call->operands[OF_DW], *db = call->operands[OF_DB];
    const int first = call->operands[OF_WEIGHT] ? 4 : 3; // dW or db
    const weft_view dw_view = weft_view_of(&s->dx.axes, first);
    const weft_view db_view = weft_view_of(&s->dx.axes, s->dx.axes.n_operands - 1);
    columns_arguments own = dx_arguments_of(s, call), *a = &own;
    own.dW = (dW ? dW : db)->buffer;
    own.dB = (db ? db : dW)->buffer;
    own.dw_start = dw_view.start;
    own.dw_step = dw_view.mid;
    own.db_start = db_view.start;
    own.db_step = db_view.mid;
    if (s->scaling.tiling.parts == 1)
        own.writes = (dW ? WRITES_DW : 0) | (db ? WRITES_DB : 0);
    own.scratch = scratch;
    const weft_argument list[] = {NORM_BACKWARD_PARAMETERS(LISTED, COMMA),
                                  NORM_COLUMNS_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue_kernel(launch, &s->dx, s->dx.kernels[0],
                                     sizeof(list) / sizeof(list[0]), list);
}

static weft_status enqueue_scaling(weft_launch *launch, const state *s, const weft_call *call,
                                   cl_mem scratch)
{
    const weft_sweep *sweep = &s->scaling;
    const bool has_rows = s->rows > 0;
    const parts_arguments own = {
        .walk = sweep->walk,
        .x = weft_view_of(&sweep->axes, 0),
        .dy = weft_view_of(&sweep->axes, 1),
        // Without rows X and dY may have no buffers, and another one must be passed.
        .X = has_rows ? weft_call_tensor(call, OF_X)->buffer : scratch,
        .dY = has_rows ? weft_call_tensor(call, OF_DY)->buffer : scratch,
        .found = s->found,
        .scratch = scratch,
    };
    const parts_arguments *a = &own;
    const weft_argument list[] = {NORM_SCALING_PARTS_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue_kernel(launch, sweep, sweep->kernels[0],
                                     sizeof(list) / sizeof(list[0]), list);
}

// For a missing dW or db the other one is passed, and not written as such.
static weft_status enqueue_join(weft_launch *launch, const state *s, const weft_call *call,
                                cl_mem scratch)
{
    const weft_sweep *sweep = &s->scaling;
    const weft_tensor *dW = call->operands[OF_DW], *db = call->operands[OF_DB];
    const join_arguments own = {
        .walk = sweep->walk,
        .dw = weft_view_of(&sweep->axes, 2),
        .db = weft_view_of(&sweep->axes, sweep->axes.n_operands - 1),
        .dW = (dW ? dW : db)->buffer,
        .dB = (db ? db : dW)->buffer,
        .wants_dw = dW != NULL,
        .wants_db = db != NULL,
        .found = s->found,
        .scratch = scratch,
    };
    const join_arguments *a = &own;
    const weft_argument list[] = {NORM_SCALING_JOIN_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue_join(launch, sweep, sizeof(list) / sizeof(list[0]), list);
}

static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const state *s = memory;
    if (s->in_one) {
        TRY(enqueue_columns(launch, s, call, scratch));
        return s->scaling.tiling.parts > 1 ? enqueue_join(launch, s, call, scratch) : WEFT_OK;
    }
    if (s->rows > 0)
        TRY(enqueue_dx(launch, s, call, scratch));
    if (!s->needs_scaling)
        return WEFT_OK;
    TRY(enqueue_scaling(launch, s, call, scratch));
    return enqueue_join(launch, s, call, scratch);
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const state *s = memory;
    char dx[512] = "none", scaling[512];
    (void)call;
    if (s->rows > 0)
        weft_sweep_print(&s->dx, dx, sizeof(dx));
    if (!s->needs_scaling)
        return snprintf(text, size, "%s", dx);
    if (s->in_one)
        return snprintf(text, size, "dX, dW and db in one pass: %s", dx);
    weft_sweep_print(&s->scaling, scaling, sizeof(scaling));
    return snprintf(text, size, "dX: %s; dW and db: %s", dx, scaling);
}

// ---- calls

static const weft_op norm_backward = {
    .name = "norm_backward",
    .n_operands = 6,
    .operands = {[OF_X] = {.name = "X", .access = WEFT_READS_VALUES},
                 [OF_DY] = {.name = "dY", .access = WEFT_READS_VALUES},
                 [OF_WEIGHT] = {.name = "weight", .access = WEFT_READS_VALUES, .is_optional = true},
                 [OF_DX] = {.name = "dX",
                            .access = WEFT_WRITES_VALUES,
                            .may_be = 1u << OF_X | 1u << OF_DY},
                 [OF_DW] = {.name = "dW", .access = WEFT_WRITES_VALUES, .is_optional = true},
                 [OF_DB] = {.name = "db", .access = WEFT_WRITES_VALUES, .is_optional = true}},
    .state_bytes = sizeof(state),
    .key = add_key,
    .check = check,
    .numbers_check = numbers_check,
    .plan = plan,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    numbers own;
} request;

static weft_status request_of(request *r, const char *what, bool is_rms, weft_context *ctx,
                              double epsilon, const weft_tensor *X, int n_axes,
                              const weft_tensor *dY, const weft_tensor *dX,
                              const weft_norm_backward_params *params)
{
    weft_norm_backward_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, what, "WEFT_NORM_BACKWARD"));
    r->own.is_rms = is_rms;
    r->own.epsilon = epsilon;
    r->own.n_axes = n_axes;
    r->call = (weft_call){
        .op = &norm_backward,
        .ctx = ctx,
        .what = what,
        .operands = {X, dY, own->weight, dX, own->dW, own->db},
        .own = &r->own,
        .tiling = own->tiling,
        CALL_PARAMS(own),
    };
    return WEFT_OK;
}

weft_status weft_layer_norm_backward(weft_context *ctx, cl_command_queue queue, double epsilon,
                                     const weft_tensor *X, int n_axes, const weft_tensor *dY,
                                     const weft_tensor *dX, const weft_norm_backward_params *params)
{
    request r;
    TRY(request_of(&r, "layer_norm_backward", false, ctx, epsilon, X, n_axes, dY, dX, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_rms_norm_backward(weft_context *ctx, cl_command_queue queue, double epsilon,
                                   const weft_tensor *X, int n_axes, const weft_tensor *dY,
                                   const weft_tensor *dX, const weft_norm_backward_params *params)
{
    request r;
    TRY(request_of(&r, "rms_norm_backward", true, ctx, epsilon, X, n_axes, dY, dX, params));
    return weft_op_run(&r.call, queue);
}

// ---- what a call would do

// The larger of both: their plans may differ.
weft_status weft_norm_backward_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *dY, const weft_tensor *dX,
                                         const weft_norm_backward_params *params, size_t *bytes)
{
    size_t most = 0;
    for (int is_rms = 0; is_rms < 2; ++is_rms) {
        request r;
        TRY(request_of(&r, "norm_backward", is_rms, ctx, 0, X, n_axes, dY, dX, params));
        TRY(weft_op_workspace(&r.call, bytes));
        most = *bytes > most ? *bytes : most;
        *bytes = 0;
    }
    *bytes = most;
    return WEFT_OK;
}

static int describe(const char *what, bool is_rms, weft_context *ctx, const weft_tensor *X,
                    int n_axes, const weft_tensor *dY, const weft_tensor *dX,
                    const weft_norm_backward_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, what, is_rms, ctx, 0, X, n_axes, dY, dX, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}

int weft_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *dY, const weft_tensor *dX,
                                const weft_norm_backward_params *params, char *text, size_t size)
{
    return describe("norm_backward", false, ctx, X, n_axes, dY, dX, params, text, size);
}

int weft_rms_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                    const weft_tensor *dY, const weft_tensor *dX,
                                    const weft_norm_backward_params *params, char *text,
                                    size_t size)
{
    return describe("rms_norm_backward", true, ctx, X, n_axes, dY, dX, params, text, size);
}
