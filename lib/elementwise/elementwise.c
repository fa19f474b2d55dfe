// SPDX-License-Identifier: Apache-2.0
// Elementwise operations: plan, defines, arguments, enqueue. elementwise_check.c checks calls,
// elementwise_match.c compares plan objects, expression.c parses formulas.
#include <weft/elementwise.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/division.h"
#include "base/fail.h"
#include "base/groups.h"
#include "base/params.h"
#include "elementwise/elementwise_call.h"
#include "formula/formula.h"
#include "operand/view.h"
#include "runtime/context.h"

static const int64_t MOST_NARROW = INT64_C(1) << 30; // reach of indices that are an int

// Distinguishes plans: names are part of a formula.
static void add_key(weft_key *key, const weft_call *call)
{
    const weft_elementwise_own *own = call->own;
    weft_key_add_number(key, own->params.arithmetic);
    weft_key_add_number(key, own->params.n_values);
    for (int i = 0; i < own->n_outputs; ++i)
        weft_key_add_text(key, own->formulas[i]);
    for (int i = own->n_outputs; i < call->n_operands; ++i)
        weft_key_add_text(key, call->names[i]);
    for (int i = 0; i < own->params.n_values; ++i)
        weft_key_add_text(key, own->params.values[i].name);
}

// ---- plan

static bool may_be_across(const weft_nest *nest, int i, int d)
{
    const int64_t along = nest->stride[i][0];
    return along != 0 && along != 1 && nest->stride[i][d] == 1;
}

// The loop along which most inputs are adjacent that are not adjacent along columns; 0 for none.
static int across_loop(const weft_nest *nest, int n_outputs)
{
    int found = 0, most = 0;
    for (int d = 1; d < nest->n_loops; ++d) {
        int n = 0;
        for (int i = n_outputs; i < nest->n_operands; ++i)
            n += may_be_across(nest, i, d);
        if (n > most) {
            found = d;
            most = n;
        }
    }
    return found;
}

static weft_way way_of(const weft_elementwise_state *s, int i)
{
    const weft_nest *nest = &s->nest;
    if (i >= s->n_outputs && may_be_across(nest, i, 1))
        return WEFT_ACROSS;
    if (nest->stride[i][0] == 1 || nest->extent[0] == 1)
        return WEFT_ADJACENT;
    return nest->stride[i][0] == 0 ? WEFT_SAME : WEFT_STRIDED;
}

// Whether vectors of up to 4 elements may be aligned, if the memory begins `shift` elements from an
// aligned address.
static bool is_aligned(const weft_elementwise_state *s, int i, int64_t shift)
{
    const weft_nest *nest = &s->nest;
    int64_t all = nest->start[i] | shift;
    if (s->ways[i] == WEFT_SAME)
        return true;
    for (int d = 1; d < nest->n_loops; ++d)
        all |= nest->stride[i][d];
    return s->ways[i] == WEFT_ADJACENT && pow2_divisor(all) >= 4;
}

static weft_status find_problem(weft_elementwise_state *s, const weft_call *call)
{
    const weft_nest *nest = &s->nest;
    int64_t shifts[WEFT_NEST_OPERANDS];
    TRY(weft_elementwise_shifts(shifts, call));
    const bool is_wide = s->arithmetic == WEFT_F64 || s->arithmetic == WEFT_I64;
    weft_elementwise_problem problem = {
        .columns = nest->extent[0],
        .rows = nest->extent[1],
        .outers = weft_nest_count(nest, 2),
        .number_bytes = is_wide ? 8 : 4,
        .out_bytes = 8,
        .aligned = true,
        .why = weft_call_why(call),
    };
    for (int i = 0; i < s->n_operands; ++i) {
        const int bytes = (int)weft_dtype_size(s->dtypes[i]);
        problem.element_bytes += bytes;
        problem.n_across += s->ways[i] == WEFT_ACROSS;
        problem.aligned = problem.aligned && is_aligned(s, i, shifts[i]);
        if (i < s->n_outputs && bytes < problem.out_bytes)
            problem.out_bytes = bytes;
    }
    s->problem = problem;
    return WEFT_OK;
}

// Outputs are written past the caches if these cannot hold them beside the inputs.
static bool streams(const weft_elementwise_state *s, const weft_context *ctx)
{
    double bytes = 0;
    for (int i = 0; i < s->n_outputs; ++i)
        bytes += (double)weft_dtype_size(s->dtypes[i]);
    return bytes * (double)weft_nest_count(&s->nest, 0) > (double)ctx->limits.cache_bytes / 2;
}

// Whether input j would be input i with columns and rows exchanged, in the same buffer.
static bool are_mirrored(const weft_elementwise_state *s, int i, int j)
{
    const weft_nest *nest = &s->nest;
    if (s->ways[i] != WEFT_ADJACENT || s->ways[j] != WEFT_ACROSS)
        return false;
    bool same = s->dtypes[i] == s->dtypes[j] && nest->start[i] == nest->start[j];
    for (int d = 2; d < nest->n_loops; ++d)
        same = same && nest->stride[i][d] == nest->stride[j][d];
    return same && nest->stride[i][0] == nest->stride[j][1] &&
           nest->stride[i][1] == nest->stride[j][0];
}

// Whether blocks and their mirror images read the same memory.
static bool reads_twice(const weft_elementwise_state *s, const weft_call *call)
{
    const weft_elementwise_tiling *t = &s->tiling;
    if (!t->tiled || t->vector_width == 1 || t->columns != t->rows ||
        s->nest.extent[0] != s->nest.extent[1])
        return false;
    for (int i = s->n_outputs; i < s->n_operands; ++i)
        for (int j = s->n_outputs; j < s->n_operands; ++j)
            if (weft_call_tensor(call, i)->buffer == weft_call_tensor(call, j)->buffer &&
                are_mirrored(s, i, j))
                return true;
    return false;
}

static void find_nest(weft_elementwise_state *s, const weft_call *call)
{
    const weft_tensor *views[WEFT_NEST_OPERANDS];
    for (int i = 0; i < s->n_operands; ++i)
        views[i] = weft_call_tensor(call, i);
    s->nest = weft_nest_of(s->n_operands, views);
    const int across = across_loop(&s->nest, s->n_outputs);
    if (across > 1)
        weft_nest_raise(&s->nest, across);
    for (int i = 0; i < s->n_operands; ++i)
        s->ways[i] = way_of(s, i);
    s->rank = s->nest.n_loops <= 4 ? 4 : 8;
    s->is_wide = weft_nest_reach(&s->nest) > MOST_NARROW;
}

// The size of a kernel's arguments is limited on some devices.
static weft_status arguments_check(const weft_elementwise_state *s, const weft_call *call)
{
    const size_t index = s->is_wide ? sizeof(cl_long) : sizeof(cl_int);
    const size_t loops = (size_t)s->rank * index;
    const size_t bytes = (size_t)s->n_operands * (sizeof(cl_mem) + sizeof(cl_long) + loops) +
                         (size_t)((const weft_elementwise_own *)call->own)->params.n_values *
                             (size_t)s->problem.number_bytes +
                         3 * loops + 5 * index + 2 * sizeof(cl_int);
    size_t most = 0;
    if (!call->ctx->device) // a rehearsal has no device to query
        return WEFT_OK;
    TRY(weft_cl_check(
        clGetDeviceInfo(call->ctx->device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(most), &most, NULL),
        "elementwise", "clGetDeviceInfo (CL_DEVICE_MAX_PARAMETER_SIZE)"));
    if (bytes > most)
        return fail(WEFT_UNSUPPORTED,
                    "elementwise: %d operands of %d loops are %zu bytes of arguments, the device "
                    "takes %zu",
                    s->n_operands, s->nest.n_loops, bytes, most);
    return WEFT_OK;
}

// Blocks no larger than the extents, and their number.
typedef struct blocks {
    int64_t columns, rows, n_x, n_y;
} blocks;

static blocks blocks_of(const weft_elementwise_state *s)
{
    const int64_t *extent = s->nest.extent;
    blocks b = {.columns = min_i64(s->tiling.columns, extent[0]),
                .rows = min_i64(s->tiling.rows, extent[1])};
    b.n_x = ceil_div(extent[0], b.columns);
    b.n_y = ceil_div(extent[1], b.rows);
    return b;
}

static void find_groups(weft_elementwise_state *s, const blocks *cut)
{
    const weft_elementwise_tiling *t = &s->tiling;
    const int64_t x = min_i64(t->grid_x, cut->n_x), y = min_i64(t->grid_y, cut->n_y);
    const int64_t second = min_i64(t->tiled ? x : y, WEFT_MOST_GROUPS);
    s->local[0] = (size_t)t->items;
    s->local[1] = (size_t)t->items_y;
    s->local[2] = 1;
    s->global[0] = (size_t)(t->tiled ? y : x) * s->local[0];
    s->global[1] = (size_t)second * s->local[1];
    s->global[2] = (size_t)t->grid_z;
}

static void find_shape(weft_elementwise_state *s, const blocks *cut, const weft_context *ctx)
{
    const bool is_wide = s->is_wide;
    int64_t multipliers[WEFT_MAX_NDIM], shifts[WEFT_MAX_NDIM];
    for (int d = 0; d < s->rank; ++d) {
        const weft_divisor divisor =
            weft_divisor_of((uint64_t)s->nest.extent[d], is_wide ? 64 : 32);
        multipliers[d] = (int64_t)divisor.multiplier;
        shifts[d] = divisor.shift;
    }
    s->shape = (weft_elementwise_shape){
        .extents = weft_indices_of(is_wide, s->rank, s->nest.extent),
        .multipliers = weft_indices_of(is_wide, s->rank, multipliers),
        .shifts = weft_indices_of(is_wide, s->rank, shifts),
        .outers = weft_indices_of(is_wide, 1, &s->problem.outers),
        .n_y = weft_indices_of(is_wide, 1, &cut->n_y),
        .rows = weft_indices_of(is_wide, 1, &cut->rows),
        .n_x = weft_indices_of(is_wide, 1, &cut->n_x),
        .columns = weft_indices_of(is_wide, 1, &cut->columns),
        .streams = streams(s, ctx),
    };
    for (int i = 0; i < s->n_operands; ++i)
        s->views[i] = (weft_elementwise_view){
            .view_start = s->nest.start[i],
            .view_strides = weft_indices_of(is_wide, s->rank, s->nest.stride[i])};
}

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_elementwise_state *s = state;
    find_nest(s, call);
    TRY(find_problem(s, call));
    TRY(arguments_check(s, call));
    if (s->head.is_forced)
        TRY(weft_elementwise_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_elementwise_tiling_for(limits, &s->problem);
    s->head.group_items = (size_t)s->tiling.items * (size_t)s->tiling.items_y;
    const blocks cut = blocks_of(s);
    find_groups(s, &cut);
    find_shape(s, &cut, call->ctx);
    return WEFT_OK;
}

// ---- defines

static void add_operand(weft_defines *defines, const weft_elementwise_state *s, int i)
{
    static const char *const words[] = {"SAME", "ADJACENT", "STRIDED", "ACROSS"};
    const bool is_output = i < s->n_outputs;
    const int number = is_output ? i : i - s->n_outputs;
    const weft_way way = s->ways[i];
    char name[32];
    snprintf(name, sizeof(name), "%s%d", is_output ? "OUT" : "IN", number);
    weft_defines_add_dtype(defines, name, s->dtypes[i]);
    snprintf(name, sizeof(name), "%s_WAY%d", is_output ? "OUT" : "IN", number);
    const bool is_spread = way == WEFT_ACROSS && !s->tiling.tiled;
    weft_defines_add_word(defines, name, words[is_spread ? WEFT_STRIDED : way]);
}

static bool uses_f64(const weft_elementwise_state *s)
{
    bool uses = s->arithmetic == WEFT_F64;
    for (int i = 0; i < s->n_operands; ++i)
        uses = uses || s->dtypes[i] == WEFT_F64;
    return uses;
}

static weft_status defines_of(weft_defines *defines, const weft_elementwise_state *s,
                              const weft_elementwise_own *own, const weft_expression *formulas)
{
    const weft_elementwise_tiling *tiling = &s->tiling;
    weft_defines_add_dtype(defines, "DTYPE", s->arithmetic);
    weft_defines_add_dtype(defines, "ARITHMETIC", s->arithmetic);
    weft_defines_add(defines, "USES_F64", uses_f64(s));
    weft_defines_add(defines, "INPUTS", own->n_inputs);
    weft_defines_add(defines, "OUTPUTS", s->n_outputs);
    weft_defines_add(defines, "VALUES", own->params.n_values);
    weft_defines_add(defines, "RANK", s->rank);
    weft_defines_add(defines, "WIDE", s->is_wide);
    weft_defines_add(defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    // Other groups have any shape, so that an array's shape needs no program of its own.
    const bool is_shaped = tiling->tiled || tiling->items * tiling->items_y == 1;
    weft_defines_add(defines, "ITEMS", is_shaped ? tiling->items : 0);
    weft_defines_add(defines, "ITEMS_Y", is_shaped ? tiling->items_y : 0);
    weft_defines_add(defines, "TILED", tiling->tiled);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    if (tiling->tiled && tiling->vector_width == 1)
        weft_defines_add(defines, "TILE", tiling->columns);
    for (int i = 0; i < s->n_operands; ++i)
        add_operand(defines, s, i);
    for (int i = 0; i < s->n_outputs; ++i)
        TRY(weft_formula_define(defines, i, &formulas[i], s->arithmetic, "elementwise"));
    return WEFT_OK;
}

static weft_status kernel_for(weft_elementwise_state *s, const weft_call *call,
                              const weft_expression *formulas, size_t *most)
{
    weft_defines defines = {.length = 0};
    TRY(defines_of(&defines, s, call->own, formulas));
    return weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_elementwise, &defines,
                              "elementwise");
}

// Parses the formulas again: states do not store them.
static weft_status build(void *state, const weft_call *call, size_t *most)
{
    const weft_elementwise_own *own = call->own;
    weft_expression *formulas;
    TRY(weft_elementwise_formulas(&formulas, call));
    const weft_status status =
        weft_formula_blame(kernel_for(state, call, formulas, most), own->n_outputs, own->formulas,
                           formulas, "elementwise");
    free(formulas);
    return status;
}

// ---- enqueue

typedef struct {
    VALUE_PARAMETERS(FIELD, , )
} value;

// Arguments of one launch, besides those in the state.
typedef struct {
    weft_elementwise_view views[WEFT_NEST_OPERANDS];
    value values[WEFT_ELEMENTWISE_VALUES];
    weft_elementwise_shape shape;
    weft_arguments arguments;
} own_arguments;

static void add_view(own_arguments *own, const weft_elementwise_state *s, const weft_call *call,
                     int i)
{
    weft_elementwise_view *a = &own->views[i];
    *a = s->views[i];
    a->view = weft_call_tensor(call, i)->buffer;
    ADD_LISTED(&own->arguments, VIEW_PARAMETERS(LISTED, COMMA, IN(T), view));
}

static void add_value(own_arguments *own, const weft_elementwise_state *s, double given, int i)
{
    value *a = &own->values[i];
    a->value = weft_number_of(s->arithmetic, given);
    ADD_LISTED(&own->arguments, VALUE_PARAMETERS(LISTED, COMMA, ));
}

static void add_shape(own_arguments *own, const weft_elementwise_state *s, bool pairs)
{
    weft_elementwise_shape *a = &own->shape;
    *a = s->shape;
    a->pairs = pairs;
    ADD_LISTED(&own->arguments, SHAPE_PARAMETERS(LISTED, COMMA));
}

static weft_status run(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch)
{
    const weft_elementwise_state *s = state;
    const weft_elementwise_params *params = &((const weft_elementwise_own *)call->own)->params;
    own_arguments own;
    (void)scratch;
    own.arguments.n = 0;
    for (int i = s->n_outputs; i < s->n_operands; ++i)
        add_view(&own, s, call, i);
    for (int i = 0; i < s->n_outputs; ++i)
        add_view(&own, s, call, i);
    for (int i = 0; i < params->n_values; ++i)
        add_value(&own, s, params->values[i].value, i);
    add_shape(&own, s, reads_twice(s, call));
    return weft_launch_kernel(launch, s->kernel, own.arguments.n, own.arguments.list, s->global,
                              s->local);
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_elementwise_state *s = state;
    char tiling[256];
    weft_elementwise_tiling_print(&s->tiling, tiling, sizeof(tiling));
    return snprintf(
        text, size, "%" PRId64 " x %" PRId64 " x %" PRId64 " (outers, rows, columns) in %s%s; %s%s",
        s->problem.outers, s->problem.rows, s->problem.columns, weft_dtype_name(s->arithmetic),
        s->is_wide ? ", 64-bit indices" : "", tiling, reads_twice(s, call) ? "; in pairs" : "");
}

// ---- calls

// The outputs, then the inputs, any of which may be an output's tensor.
static const weft_op elementwise = {
    .name = "elementwise",
    .n_operands = 2,
    .operands = {{.name = "", .access = WEFT_WRITES_VALUES, .may_be = ~0u},
                 {.name = "input ", .access = WEFT_READS_VALUES}},
    .state_bytes = sizeof(weft_elementwise_state),
    .sees_alignment = true,
    .key = add_key,
    .check = weft_elementwise_check,
    .numbers_check = weft_elementwise_numbers_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    weft_elementwise_own own;
} request;

static void add_operands(request *r, const weft_elementwise_input *inputs,
                         const weft_elementwise_output *outputs)
{
    static const char *const letters[WEFT_ELEMENTWISE_INPUTS] = {"a", "b", "c", "d",
                                                                 "e", "f", "g", "h"};
    static const char *const names[WEFT_ELEMENTWISE_OUTPUTS] = {"output 0", "output 1", "output 2",
                                                                "output 3"};
    const int n_outputs = r->own.n_outputs;
    for (int i = 0; i < n_outputs; ++i) {
        r->call.operands[i] = outputs[i].tensor;
        r->call.names[i] = n_outputs == 1 ? "the output" : names[i];
        r->own.formulas[i] = outputs[i].formula;
    }
    for (int i = 0; i < r->own.n_inputs; ++i) {
        r->call.operands[n_outputs + i] = inputs[i].tensor;
        r->call.names[n_outputs + i] = inputs[i].name ? inputs[i].name : letters[i];
    }
}

static weft_status request_of(request *r, weft_context *ctx, int n_inputs,
                              const weft_elementwise_input *inputs, int n_outputs,
                              const weft_elementwise_output *outputs,
                              const weft_elementwise_params *params)
{
    weft_elementwise_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, "elementwise", "WEFT_ELEMENTWISE"));
    r->own.n_inputs = n_inputs;
    r->own.n_outputs = n_outputs;
    TRY(weft_elementwise_given_check(&r->own, inputs, outputs));
    r->call = (weft_call){
        .op = &elementwise,
        .ctx = ctx,
        .n_operands = n_outputs + n_inputs,
        .n_first = n_outputs,
        .own = &r->own,
        .tiling = own->tiling,
        .n_wait = own->n_wait,
        .wait = own->wait,
        .event = own->event,
    };
    add_operands(r, inputs, outputs);
    return WEFT_OK;
}

weft_status weft_elementwise(weft_context *ctx, cl_command_queue queue, int n_inputs,
                             const weft_elementwise_input *inputs, int n_outputs,
                             const weft_elementwise_output *outputs,
                             const weft_elementwise_params *params)
{
    request r;
    TRY(request_of(&r, ctx, n_inputs, inputs, n_outputs, outputs, params));
    const weft_elementwise_plan *planned = r.own.params.plan;
    if (planned) {
        TRY(weft_elementwise_match(planned, &r.call));
        r.call.state = &planned->state;
    }
    return weft_op_run(&r.call, queue);
}

// Of values only the names count: each call has its own numbers.
static weft_status prepare(weft_elementwise_plan *planned, request *r)
{
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
    for (int i = 0; i < r->own.params.n_values; ++i)
        values[i] = (weft_elementwise_value){.name = r->own.params.values[i].name};
    r->own.params.values = values;
    TRY(weft_context_check(r->call.ctx, "elementwise"));
    TRY(weft_op_prepare(&planned->state, &r->call));
    return weft_elementwise_remember(planned, &r->call);
}

weft_status weft_elementwise_plan_create(weft_elementwise_plan **out, weft_context *ctx,
                                         int n_inputs, const weft_elementwise_input *inputs,
                                         int n_outputs, const weft_elementwise_output *outputs,
                                         const weft_elementwise_params *params)
{
    request r;
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: the plan's address is NULL");
    *out = NULL;
    TRY(request_of(&r, ctx, n_inputs, inputs, n_outputs, outputs, params));
    weft_elementwise_plan *planned = calloc(1, sizeof(*planned));
    if (!planned)
        return fail(WEFT_NO_MEMORY, "elementwise: no memory for a plan");
    const weft_status status = prepare(planned, &r);
    if (status != WEFT_OK)
        weft_elementwise_plan_destroy(&planned);
    *out = planned;
    return status;
}

void weft_elementwise_plan_destroy(weft_elementwise_plan **planned)
{
    if (!planned || !*planned)
        return;
    weft_elementwise_forget(*planned);
    free(*planned);
    *planned = NULL;
}

int weft_elementwise_describe(weft_context *ctx, int n_inputs, const weft_elementwise_input *inputs,
                              int n_outputs, const weft_elementwise_output *outputs,
                              const weft_elementwise_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, ctx, n_inputs, inputs, n_outputs, outputs, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
