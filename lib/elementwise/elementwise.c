// SPDX-License-Identifier: Apache-2.0
// Elementwise operations: plan, defines, arguments, enqueue. Checked by elementwise_check.c, the
// formulas read by expression.c.
#include <weft/elementwise.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/division.h"
#include "base/fail.h"
#include "base/groups.h"
#include "elementwise/elementwise_call.h"
#include "formula/formula.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/launch.h"

static const int64_t MOST_NARROW = INT64_C(1) << 30; // reach of indices that are an int

enum { SHAPE_LOOPS = 3, SHAPE_INDICES = 5, SHAPE_FLAGS = 2 }; // arguments, by what they are made of

// ---- plan

static int n_operands(const weft_elementwise_plan *plan)
{
    return plan->n_outputs + plan->n_inputs;
}

// Outputs first, then inputs.
static const weft_tensor *operand(const weft_elementwise_plan *plan, int i)
{
    return i < plan->n_outputs ? &plan->outputs[i] : &plan->inputs[i - plan->n_outputs];
}

static bool may_be_across(const weft_nest *nest, int i, int d)
{
    const int64_t along = nest->stride[i][0];
    return along != 0 && along != 1 && nest->stride[i][d] == 1;
}

// The loop along which most inputs have their neighbours that have none along columns; 0 for none.
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

static weft_way way_of(const weft_elementwise_plan *plan, int i)
{
    const weft_nest *nest = &plan->nest;
    if (i >= plan->n_outputs && may_be_across(nest, i, 1))
        return WEFT_ACROSS;
    if (nest->stride[i][0] == 1 || nest->extent[0] == 1)
        return WEFT_ADJACENT;
    return nest->stride[i][0] == 0 ? WEFT_SAME : WEFT_STRIDED;
}

// Whether vectors of up to 4 elements may be aligned ones.
static bool is_aligned(const weft_elementwise_plan *plan, int i)
{
    const weft_nest *nest = &plan->nest;
    int64_t all = nest->start[i] | plan->shifts[i];
    if (plan->ways[i] == WEFT_SAME)
        return true;
    for (int d = 1; d < nest->n_loops; ++d)
        all |= nest->stride[i][d];
    return plan->ways[i] == WEFT_ADJACENT && pow2_divisor(all) >= 4;
}

static void find_problem(weft_elementwise_plan *plan)
{
    const weft_nest *nest = &plan->nest;
    const bool is_wide = plan->arithmetic == WEFT_F64 || plan->arithmetic == WEFT_I64;
    weft_elementwise_problem problem = {
        .columns = nest->extent[0],
        .rows = nest->extent[1],
        .outers = weft_nest_count(nest, 2),
        .number_bytes = is_wide ? 8 : 4,
        .out_bytes = 8,
        .aligned = true,
    };
    for (int i = 0; i < n_operands(plan); ++i) {
        const int bytes = (int)weft_dtype_size(operand(plan, i)->dtype);
        problem.element_bytes += bytes;
        problem.n_across += plan->ways[i] == WEFT_ACROSS;
        problem.aligned = problem.aligned && is_aligned(plan, i);
        if (i < plan->n_outputs && bytes < problem.out_bytes)
            problem.out_bytes = bytes;
    }
    plan->problem = problem;
}

// What is written goes past the caches where they cannot hold it beside what is read.
static bool streams(const weft_elementwise_plan *plan)
{
    double bytes = 0;
    for (int i = 0; i < plan->n_outputs; ++i)
        bytes += (double)weft_dtype_size(plan->outputs[i].dtype);
    return bytes * (double)weft_nest_count(&plan->nest, 0) >
           (double)plan->ctx->limits.cache_bytes / 2;
}

// Whether input j would be input i with columns and rows exchanged, in the same buffer.
static bool are_mirrored(const weft_elementwise_plan *plan, int i, int j)
{
    const weft_nest *nest = &plan->nest;
    const int a = plan->n_outputs + i, b = plan->n_outputs + j;
    if (plan->ways[a] != WEFT_ADJACENT || plan->ways[b] != WEFT_ACROSS)
        return false;
    bool same = plan->inputs[i].dtype == plan->inputs[j].dtype && nest->start[a] == nest->start[b];
    for (int d = 2; d < nest->n_loops; ++d)
        same = same && nest->stride[a][d] == nest->stride[b][d];
    return same && nest->stride[a][0] == nest->stride[b][1] &&
           nest->stride[a][1] == nest->stride[b][0];
}

// Whether blocks and their mirror images read the same memory.
static bool reads_twice(const weft_elementwise_plan *plan,
                        const weft_elementwise_operands *operands)
{
    const weft_elementwise_tiling *t = &plan->tiling;
    if (!t->tiled || t->fold == 1 || t->columns != t->rows ||
        plan->nest.extent[0] != plan->nest.extent[1])
        return false;
    for (int i = 0; i < plan->n_inputs; ++i)
        for (int j = 0; j < plan->n_inputs; ++j)
            if (operands->inputs[i].tensor->buffer == operands->inputs[j].tensor->buffer &&
                are_mirrored(plan, i, j))
                return true;
    return false;
}

static void find_nest(weft_elementwise_plan *plan)
{
    const weft_tensor *views[WEFT_NEST_OPERANDS];
    for (int i = 0; i < n_operands(plan); ++i)
        views[i] = operand(plan, i);
    plan->nest = weft_nest_of(n_operands(plan), views);
    const int across = across_loop(&plan->nest, plan->n_outputs);
    if (across > 1)
        weft_nest_raise(&plan->nest, across);
    for (int i = 0; i < n_operands(plan); ++i)
        plan->ways[i] = way_of(plan, i);
    plan->rank = plan->nest.n_loops <= 4 ? 4 : 8;
    plan->is_wide = weft_nest_reach(&plan->nest) > MOST_NARROW;
    plan->streams = streams(plan);
    find_problem(plan);
}

// ---- defines

static void add_operand(weft_defines *defines, const weft_elementwise_plan *plan, int i)
{
    static const char *const words[] = {"SAME", "ADJACENT", "STRIDED", "ACROSS"};
    const bool is_output = i < plan->n_outputs;
    const int number = is_output ? i : i - plan->n_outputs;
    const weft_way way = plan->ways[i];
    char name[32];
    snprintf(name, sizeof(name), "%s%d", is_output ? "OUT" : "IN", number);
    weft_defines_add_dtype(defines, name, operand(plan, i)->dtype);
    snprintf(name, sizeof(name), "%s_WAY%d", is_output ? "OUT" : "IN", number);
    const bool is_spread = way == WEFT_ACROSS && !plan->tiling.tiled;
    weft_defines_add_word(defines, name, words[is_spread ? WEFT_STRIDED : way]);
}

static bool uses_f64(const weft_elementwise_plan *plan)
{
    bool uses = plan->arithmetic == WEFT_F64;
    for (int i = 0; i < n_operands(plan); ++i)
        uses = uses || operand(plan, i)->dtype == WEFT_F64;
    return uses;
}

static weft_status kernel_for(weft_elementwise_plan *plan, const weft_expression *expressions)
{
    const weft_elementwise_tiling *tiling = &plan->tiling;
    weft_defines defines = {0};
    weft_defines_add_dtype(&defines, "DTYPE", plan->arithmetic);
    weft_defines_add_dtype(&defines, "ARITHMETIC", plan->arithmetic);
    weft_defines_add(&defines, "USES_F64", uses_f64(plan));
    weft_defines_add(&defines, "INPUTS", plan->n_inputs);
    weft_defines_add(&defines, "OUTPUTS", plan->n_outputs);
    weft_defines_add(&defines, "VALUES", plan->n_values);
    weft_defines_add(&defines, "RANK", plan->rank);
    weft_defines_add(&defines, "WIDE", plan->is_wide);
    weft_defines_add(&defines, "FOLD", tiling->fold);
    weft_defines_add(&defines, "VECTORS", tiling->vectors);
    // Elsewhere groups may have any shape: that of an array asks for no program of its own.
    const bool is_shaped = tiling->tiled || tiling->items * tiling->team == 1;
    weft_defines_add(&defines, "ITEMS", is_shaped ? tiling->items : 0);
    weft_defines_add(&defines, "TEAM", is_shaped ? tiling->team : 0);
    weft_defines_add(&defines, "TILED", tiling->tiled);
    weft_defines_add(&defines, "ALIGNED", tiling->aligned);
    if (tiling->tiled && tiling->fold == 1)
        weft_defines_add(&defines, "TILE", tiling->columns);
    for (int i = 0; i < n_operands(plan); ++i)
        add_operand(&defines, plan, i);
    for (int i = 0; i < plan->n_outputs; ++i)
        TRY(weft_formula_define(&defines, i, &expressions[i], plan->arithmetic, "elementwise"));
    const weft_status status = weft_kernel_get(plan->ctx, &weft_source_elementwise, &defines,
                                               "elementwise", &plan->kernel);
    return weft_formula_blame(status, plan->n_outputs, (const char *const *)plan->formulas,
                              expressions, "elementwise");
}

// Plans again where the built kernel takes fewer items than the device promised.
static weft_status schedule(weft_elementwise_plan *plan, const weft_expression *expressions)
{
    weft_limits limits = plan->ctx->limits;
    if (plan->is_forced)
        TRY(weft_elementwise_tiling_check(&plan->tiling, &limits, &plan->problem));
    for (;;) {
        if (!plan->is_forced)
            plan->tiling = weft_elementwise_tiling_for(&limits, &plan->problem);
        TRY(kernel_for(plan, expressions));
        const size_t wanted = (size_t)plan->tiling.items * (size_t)plan->tiling.team;
        const size_t most = weft_kernel_max_items(plan->kernel);
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, plan->is_forced, "elementwise"));
        if (fits)
            return WEFT_OK;
    }
}

// The kernel's arguments, as find_arguments() has them.
static weft_status arguments_check(const weft_elementwise_plan *plan)
{
    const size_t index = plan->is_wide ? sizeof(cl_long) : sizeof(cl_int);
    const size_t loops = (size_t)plan->rank * index;
    const size_t bytes = (size_t)n_operands(plan) * (sizeof(cl_mem) + sizeof(cl_long) + loops) +
                         (size_t)plan->n_values * (size_t)plan->problem.number_bytes +
                         SHAPE_LOOPS * loops + SHAPE_INDICES * index + SHAPE_FLAGS * sizeof(cl_int);
    size_t most = 0;
    if (!plan->ctx->device) // a rehearsal: there is nobody to ask
        return WEFT_OK;
    TRY(weft_cl_check(
        clGetDeviceInfo(plan->ctx->device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(most), &most, NULL),
        "elementwise", "clGetDeviceInfo (CL_DEVICE_MAX_PARAMETER_SIZE)"));
    if (bytes > most)
        return fail(WEFT_UNSUPPORTED,
                    "elementwise: %d operands of %d loops are %zu bytes of arguments, the device "
                    "takes %zu",
                    n_operands(plan), plan->nest.n_loops, bytes, most);
    return WEFT_OK;
}

// All that comes before buffers.
static weft_status prepare(weft_elementwise_plan *plan, weft_context *ctx,
                           const weft_elementwise_operands *operands)
{
    *plan = (weft_elementwise_plan){.ctx = ctx};
    weft_expression *expressions = malloc(WEFT_ELEMENTWISE_OUTPUTS * sizeof(*expressions));
    if (!expressions)
        return fail(WEFT_NO_MEMORY, "elementwise: no memory to read formulas");
    weft_status status = weft_elementwise_check(plan, ctx, operands, expressions);
    if (status == WEFT_OK && !plan->is_empty) {
        find_nest(plan);
        status = arguments_check(plan);
        if (status == WEFT_OK)
            status = schedule(plan, expressions);
    }
    free(expressions);
    return status;
}

// ---- arguments

enum {
    MOST_ARGUMENTS =
        3 * WEFT_NEST_OPERANDS + WEFT_ELEMENTWISE_VALUES + SHAPE_LOOPS + SHAPE_INDICES + SHAPE_FLAGS
};

// Indices as wide as the kernel has them.
typedef union indices {
    cl_int narrow[WEFT_MAX_NDIM];
    cl_long wide[WEFT_MAX_NDIM];
} indices;

typedef struct arguments {
    size_t n;
    weft_argument list[MOST_ARGUMENTS];
    cl_mem buffers[WEFT_NEST_OPERANDS];
    cl_long starts[WEFT_NEST_OPERANDS];
    indices strides[WEFT_NEST_OPERANDS], extents, multipliers, shifts, outers, n_y, rows, n_x,
        columns;
    weft_scalar values[WEFT_ELEMENTWISE_VALUES];
    cl_int streams, pairs;
} arguments;

static void add(arguments *a, size_t size, const void *value)
{
    assert(a->n < MOST_ARGUMENTS);
    a->list[a->n++] = (weft_argument){size, value};
}

static void add_indices(arguments *a, const weft_elementwise_plan *plan, indices *to,
                        const int64_t *from, int n)
{
    for (int d = 0; d < n; ++d)
        if (plan->is_wide)
            to->wide[d] = from[d];
        else
            to->narrow[d] = (cl_int)from[d];
    add(a, (size_t)n * (plan->is_wide ? sizeof(cl_long) : sizeof(cl_int)), to);
}

static void add_view(arguments *a, const weft_elementwise_plan *plan, int i, cl_mem buffer)
{
    a->buffers[i] = buffer;
    a->starts[i] = plan->nest.start[i];
    add(a, sizeof(cl_mem), &a->buffers[i]);
    add(a, sizeof(cl_long), &a->starts[i]);
    add_indices(a, plan, &a->strides[i], plan->nest.stride[i], plan->rank);
}

// Blocks no larger than what there is, and how many of them there are.
typedef struct blocks {
    int64_t columns, rows, n_x, n_y;
} blocks;

static blocks blocks_of(const weft_elementwise_plan *plan)
{
    const int64_t *extent = plan->nest.extent;
    blocks b = {.columns = min_i64(plan->tiling.columns, extent[0]),
                .rows = min_i64(plan->tiling.rows, extent[1])};
    b.n_x = ceil_div(extent[0], b.columns);
    b.n_y = ceil_div(extent[1], b.rows);
    return b;
}

static void add_shape(arguments *a, const weft_elementwise_plan *plan, const blocks *cut,
                      bool pairs)
{
    const int64_t outers = weft_nest_count(&plan->nest, 2);
    int64_t multipliers[WEFT_MAX_NDIM], shifts[WEFT_MAX_NDIM];
    for (int d = 0; d < plan->rank; ++d) {
        const weft_divisor divisor =
            weft_divisor_of((uint64_t)plan->nest.extent[d], plan->is_wide ? 64 : 32);
        multipliers[d] = (int64_t)divisor.multiplier;
        shifts[d] = divisor.shift;
    }
    add_indices(a, plan, &a->extents, plan->nest.extent, plan->rank);
    add_indices(a, plan, &a->multipliers, multipliers, plan->rank);
    add_indices(a, plan, &a->shifts, shifts, plan->rank);
    add_indices(a, plan, &a->outers, &outers, 1);
    add_indices(a, plan, &a->n_y, &cut->n_y, 1);
    add_indices(a, plan, &a->rows, &cut->rows, 1);
    add_indices(a, plan, &a->n_x, &cut->n_x, 1);
    add_indices(a, plan, &a->columns, &cut->columns, 1);
    a->streams = plan->streams;
    add(a, sizeof(a->streams), &a->streams);
    a->pairs = pairs;
    add(a, sizeof(a->pairs), &a->pairs);
}

// In the kernel's order: inputs, outputs, values, the shape.
static void find_arguments(arguments *a, const weft_elementwise_plan *plan, const blocks *cut,
                           const weft_elementwise_operands *operands)
{
    a->n = 0;
    for (int i = 0; i < plan->n_inputs; ++i)
        add_view(a, plan, plan->n_outputs + i, operands->inputs[i].tensor->buffer);
    for (int i = 0; i < plan->n_outputs; ++i)
        add_view(a, plan, i, operands->outputs[i].tensor->buffer);
    for (int i = 0; i < plan->n_values; ++i)
        a->list[a->n++] = weft_scalar_argument(&a->values[i], plan->arithmetic,
                                               operands->params->values[i].value);
    add_shape(a, plan, cut, reads_twice(plan, operands));
}

// ---- enqueue

static weft_status enqueue(weft_launch *launch, const weft_elementwise_plan *plan,
                           const weft_elementwise_operands *operands)
{
    const weft_elementwise_tiling *tiling = &plan->tiling;
    if (plan->is_empty)
        return WEFT_OK;
    const blocks cut = blocks_of(plan);
    arguments a;
    find_arguments(&a, plan, &cut, operands);
    const size_t local[3] = {(size_t)tiling->items, (size_t)tiling->team, 1};
    const int64_t x = min_i64(tiling->grid_x, cut.n_x);
    const int64_t y = min_i64(tiling->grid_y, cut.n_y);
    const int64_t first = tiling->tiled ? y : x;
    const int64_t second = min_i64(tiling->tiled ? x : y, WEFT_MOST_GROUPS);
    const size_t global[3] = {(size_t)first * local[0], (size_t)second * local[1],
                              (size_t)tiling->grid_z};
    return weft_launch_kernel(launch, plan->kernel, a.n, a.list, global, local);
}

static weft_status run(const weft_elementwise_plan *plan, weft_context *ctx, cl_command_queue queue,
                       const weft_elementwise_operands *operands)
{
    const weft_elementwise_params *params = operands->params;
    TRY(weft_elementwise_buffers_check(plan, operands));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "elementwise", params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = enqueue(&launch, plan, operands);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_elementwise(weft_context *ctx, cl_command_queue queue, int n_inputs,
                             const weft_elementwise_input *inputs, int n_outputs,
                             const weft_elementwise_output *outputs,
                             const weft_elementwise_params *params)
{
    params = params ? params : WEFT_ELEMENTWISE(.n_values = 0);
    const weft_elementwise_operands operands = {n_inputs, n_outputs, inputs, outputs, params};
    if (params->size == sizeof(*params) && params->plan) {
        TRY(weft_elementwise_match(params->plan, ctx, &operands));
        return run(params->plan, ctx, queue, &operands);
    }
    weft_elementwise_plan plan;
    weft_status status = prepare(&plan, ctx, &operands);
    if (status == WEFT_OK)
        status = run(&plan, ctx, queue, &operands);
    weft_elementwise_forget(&plan);
    return status;
}

// ---- plan objects, and what a call would do

weft_status weft_elementwise_plan_create(weft_elementwise_plan **out, weft_context *ctx,
                                         int n_inputs, const weft_elementwise_input *inputs,
                                         int n_outputs, const weft_elementwise_output *outputs,
                                         const weft_elementwise_params *params)
{
    params = params ? params : WEFT_ELEMENTWISE(.n_values = 0);
    const weft_elementwise_operands operands = {n_inputs, n_outputs, inputs, outputs, params};
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: the plan's address is NULL");
    *out = NULL;
    weft_elementwise_plan *plan = malloc(sizeof(*plan));
    if (!plan)
        return fail(WEFT_NO_MEMORY, "elementwise: no memory for a plan");
    const weft_status status = prepare(plan, ctx, &operands);
    if (status != WEFT_OK)
        weft_elementwise_plan_destroy(&plan);
    *out = plan;
    return status;
}

void weft_elementwise_plan_destroy(weft_elementwise_plan **plan)
{
    if (!plan || !*plan)
        return;
    weft_elementwise_forget(*plan);
    free(*plan);
    *plan = NULL;
}

static int print(const weft_elementwise_plan *plan, bool pairs, char *text, size_t size)
{
    char tiling[256];
    if (plan->is_empty)
        return snprintf(text, size, "nothing to do");
    weft_elementwise_tiling_print(&plan->tiling, tiling, sizeof(tiling));
    return snprintf(text, size,
                    "%" PRId64 " x %" PRId64 " x %" PRId64 " (outers, rows, columns) in %s%s; %s%s",
                    plan->problem.outers, plan->problem.rows, plan->problem.columns,
                    weft_dtype_name(plan->arithmetic), plan->is_wide ? ", 64-bit indices" : "",
                    tiling, pairs ? "; in pairs" : "");
}

int weft_elementwise_describe(weft_context *ctx, int n_inputs, const weft_elementwise_input *inputs,
                              int n_outputs, const weft_elementwise_output *outputs,
                              const weft_elementwise_params *params, char *text, size_t size)
{
    params = params ? params : WEFT_ELEMENTWISE(.n_values = 0);
    const weft_elementwise_operands operands = {n_inputs, n_outputs, inputs, outputs, params};
    weft_elementwise_plan plan;
    const weft_status status = prepare(&plan, ctx, &operands);
    const int length =
        status == WEFT_OK ? print(&plan, reads_twice(&plan, &operands), text, size) : -1;
    weft_elementwise_forget(&plan);
    return length;
}
