// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C): plan, defines, arguments, enqueue. Checked by matmul_check.c.
#include <weft/matmul.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "dense/matmul_call.h"
#include "formula/formula.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/launch.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"

enum {
    KERNEL_LOOPS = 3, // over the batch; what is left beyond that is launched several times
    // Along rows and products, fewer than a launch may have: the kernels go on from there, but for
    // blocks of one tile, whose items have no registers left for that.
    MOST_GROUPS = WEFT_MATMUL_MOST_GROUPS,
    CORE_GROUPS = 8, // for each core of a CPU
};

// ---- plan

typedef struct {
    weft_matmul_tiling tiling;
    int64_t m, n;       // of what is multiplied, turned or not
    int64_t n_pieces;   // of k
    int64_t n_batches;  // products that the loops of a kernel count
    int64_t at_once;    // of which a launch takes so many
    int64_t rows;       // of m that a launch takes
    size_t piece_bytes; // of scratch memory: sums of all pieces of a launch
} schedule;

typedef struct {
    weft_kernel *product, *combine;
} kernels;

static int64_t loops_of(const weft_nest *nest)
{
    return min_i64(nest->n_loops, KERNEL_LOOPS);
}

static int64_t products_of(const weft_nest *nest)
{
    int64_t count = 1;
    for (int d = 0; d < loops_of(nest); ++d)
        count *= nest->extent[d];
    return count;
}

// Where sums of pieces wait, a launch takes as many products as scratch memory has room for.
static weft_status schedule_pieces(schedule *s, const weft_matmul_call *call)
{
    const int64_t size = weft_sum_bytes(call->arithmetic);
    size_t bytes;
    if (s->n_pieces == 1)
        return WEFT_OK;
    if (!weft_scratch_for(&bytes, s->m, s->n, s->n_pieces, size))
        return fail(WEFT_NO_MEMORY,
                    "matmul: sums of %" PRId64 " pieces of %" PRId64 " x %" PRId64
                    " numbers are too many",
                    s->n_pieces, s->m, s->n);
    const int64_t room = (int64_t)(weft_workspace_most(call->ctx) / bytes);
    s->at_once = min_i64(s->at_once, max_i64(room, 1));
    weft_scratch_for(&s->piece_bytes, s->m * s->n, s->n_pieces, s->at_once, size);
    return WEFT_OK;
}

static weft_status schedule_for(schedule *s, const weft_matmul_call *call,
                                const weft_limits *limits)
{
    const weft_matmul_problem *p = &call->problem;
    *s = (schedule){.n_batches = products_of(&call->nest)};
    s->tiling = call->is_forced ? call->forced : weft_matmul_tiling_for(limits, p);
    s->m = s->tiling.turned ? p->n : p->m;
    s->n = s->tiling.turned ? p->m : p->n;
    s->n_pieces = max_i64(ceil_div(p->k, s->tiling.piece), 1);
    s->at_once = s->n_batches;
    s->rows = s->m;
    if (weft_matmul_is_one_tile(&s->tiling)) {
        s->at_once = min_i64(s->n_batches, max_i64(MOST_GROUPS / s->n_pieces, 1));
        s->rows = min_i64(s->m, MOST_GROUPS * s->tiling.block_rows);
    }
    return schedule_pieces(s, call);
}

// ---- defines

static bool uses_f64(const weft_matmul_call *call)
{
    bool uses = call->arithmetic == WEFT_F64;
    for (int i = 0; i < call->n_operands; ++i)
        uses = uses || call->views[i].dtype == WEFT_F64;
    return uses;
}

static weft_status add_ending(weft_defines *defines, const weft_matmul_call *call)
{
    weft_defines_add_dtype(defines, "OUT", call->views[WEFT_MATMUL_C].dtype);
    weft_defines_add(defines, "INPUTS", call->params->n_inputs);
    weft_defines_add(defines, "VALUES", call->params->n_values);
    for (int i = 0; i < call->params->n_inputs; ++i) {
        char name[16];
        snprintf(name, sizeof(name), "IN%d", 1 + i);
        weft_defines_add_dtype(defines, name, call->views[WEFT_MATMUL_INPUT + i].dtype);
    }
    if (!call->has_formula)
        return WEFT_OK;
    return weft_formula_define(defines, 0, &call->formula, call->arithmetic, "matmul");
}

static weft_status defines_of(weft_defines *defines, const weft_matmul_call *call,
                              const weft_matmul_tiling *tiling)
{
    weft_defines_add_dtype(defines, "DTYPE", call->problem.dtype);
    weft_defines_add_dtype(defines, "ARITHMETIC", call->arithmetic);
    weft_defines_add(defines, "USES_F64", uses_f64(call));
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "ROWS", tiling->rows);
    weft_defines_add(defines, "ITEMS", tiling->items);
    weft_defines_add(defines, "TEAM", tiling->team);
    weft_defines_add_registers(defines, call->ctx->least_subgroup);
    if (tiling->method == WEFT_MATMUL_BLOCKS) {
        weft_defines_add(defines, "DEPTH", tiling->depth);
        weft_defines_add(defines, "ONE_TILE", weft_matmul_is_one_tile(tiling));
    }
    return add_ending(defines, call);
}

static weft_status kernels_for(kernels *k, size_t *most, const weft_matmul_call *call,
                               const schedule *s)
{
    static const struct {
        const weft_source *source;
        const char *kernel;
    } methods[] = {
        [WEFT_MATMUL_BLOCKS] = {&weft_source_matmul, "matmul_blocks"},
        [WEFT_MATMUL_DOTS] = {&weft_source_matmul_dots, "matmul_dots"},
        [WEFT_MATMUL_ROWS] = {&weft_source_matmul_rows, "matmul_rows"},
    };
    const weft_source *source = methods[s->tiling.method].source;
    weft_defines defines = {0};
    *k = (kernels){0};
    TRY(defines_of(&defines, call, &s->tiling));
    TRY(weft_kernel_narrow(&k->product, most, call->ctx, source, &defines,
                           methods[s->tiling.method].kernel));
    if (s->n_pieces == 1)
        return WEFT_OK;
    return weft_kernel_narrow(&k->combine, most, call->ctx, source, &defines, "matmul_combine");
}

static weft_status build(kernels *k, size_t *most, const weft_matmul_call *call, const schedule *s)
{
    const weft_status status = kernels_for(k, most, call, s);
    return weft_formula_blame(status, call->has_formula, &call->params->epilogue, &call->formula,
                              "matmul");
}

// Plans again where the built kernels take fewer items than the device promised.
static weft_status prepare(schedule *s, kernels *k, const weft_matmul_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, call, &limits));
        const size_t wanted = (size_t)s->tiling.items * (size_t)s->tiling.team;
        size_t most = wanted;
        TRY(build(k, &most, call, s));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, "matmul"));
        if (fits)
            return WEFT_OK;
    }
}

// ---- arguments

// An operand as a kernel takes it.
typedef struct {
    cl_mem buffer;
    cl_long start, row, column;
    cl_long4 batch;
} operand;

// One launch: products from `first` on, of those that a kernel's loops count.
typedef struct {
    weft_launch *launch;
    const weft_matmul_call *call;
    const schedule *s;
    cl_mem scratch;
    operand operands[WEFT_MATMUL_OPERANDS];
    cl_long4 loops;
    cl_long first, n_batches;
    cl_int m, n, k, n_pieces, piece, block_rows, block_columns, depth, streams;
    weft_scalar alpha, beta, values[WEFT_ELEMENTWISE_VALUES];
    weft_argument alpha_argument, beta_argument;
} errand;

static void add_operand(weft_arguments *arguments, const operand *o)
{
    ADD_ARGUMENT(arguments, o->buffer);
    ADD_ARGUMENT(arguments, o->start);
    ADD_ARGUMENT(arguments, o->row);
    ADD_ARGUMENT(arguments, o->column);
    ADD_ARGUMENT(arguments, o->batch);
}

static void add_batch(weft_arguments *arguments, const errand *e)
{
    ADD_ARGUMENT(arguments, e->loops);
    ADD_ARGUMENT(arguments, e->first);
    ADD_ARGUMENT(arguments, e->n_batches);
}

static void add_end(weft_arguments *arguments, errand *e)
{
    const weft_matmul_params *params = e->call->params;
    // Where there are no pieces some buffer must stand in: it is never touched.
    const cl_mem *scratch = e->scratch ? &e->scratch : &e->operands[WEFT_MATMUL_C].buffer;
    add_operand(arguments, &e->operands[WEFT_MATMUL_C]);
    ADD_ARGUMENT(arguments, e->streams);
    weft_arguments_add(arguments, e->alpha_argument.size, e->alpha_argument.value);
    weft_arguments_add(arguments, e->beta_argument.size, e->beta_argument.value);
    ADD_ARGUMENT(arguments, e->n_pieces);
    ADD_ARGUMENT(arguments, e->piece);
    ADD_ARGUMENT(arguments, *scratch);
    for (int i = WEFT_MATMUL_INPUT; i < e->call->n_operands; ++i)
        add_operand(arguments, &e->operands[i]);
    for (int i = 0; i < params->n_values; ++i) {
        const weft_argument value =
            weft_scalar_argument(&e->values[i], e->call->arithmetic, params->values[i].value);
        weft_arguments_add(arguments, value.size, value.value);
    }
}

static void add_cut(weft_arguments *arguments, const errand *e)
{
    const weft_matmul_tiling *tiling = &e->s->tiling;
    int64_t bytes[WEFT_MATMUL_ARRAYS];
    ADD_ARGUMENT(arguments, e->m);
    ADD_ARGUMENT(arguments, e->n);
    ADD_ARGUMENT(arguments, e->k);
    if (tiling->method != WEFT_MATMUL_DOTS)
        ADD_ARGUMENT(arguments, e->block_rows);
    ADD_ARGUMENT(arguments, e->block_columns);
    if (tiling->method == WEFT_MATMUL_DOTS)
        ADD_ARGUMENT(arguments, e->depth);
    if (tiling->method == WEFT_MATMUL_ROWS)
        return;
    weft_matmul_arrays(bytes, tiling, e->call->problem.dtype, e->s->m);
    for (int i = 0; i < WEFT_MATMUL_ARRAYS; ++i)
        weft_arguments_add(arguments, (size_t)bytes[i], NULL);
}

// ---- enqueue

// Groups that go from product to product know what they read next: on a CPU there are only as many
// as even out the load.
static int64_t groups_along_products(const errand *e, int64_t groups)
{
    const weft_matmul_tiling *t = &e->s->tiling;
    if (t->items * t->team > 1)
        return MOST_GROUPS;
    const int64_t wanted = (int64_t)CORE_GROUPS * e->call->ctx->limits.compute_units;
    return min_i64(ceil_div(wanted, groups), MOST_GROUPS);
}

static weft_status enqueue_product(errand *e, weft_kernel *kernel)
{
    const weft_matmul_tiling *t = &e->s->tiling;
    const int64_t across = ceil_div(e->s->n, t->block_columns);
    const int64_t down = t->method == WEFT_MATMUL_DOTS ? 1 : ceil_div(e->m, t->block_rows);
    const int64_t products = min_i64(e->n_batches, MOST_GROUPS) * e->n_pieces;
    const int64_t most = groups_along_products(e, across * down);
    const size_t local[3] = {(size_t)t->items, (size_t)t->team, 1};
    const size_t global[3] = {(size_t)across * local[0],
                              (size_t)min_i64(down, MOST_GROUPS) * local[1],
                              (size_t)min_i64(products, most)};
    weft_arguments arguments = {.n = 0};
    // Where A and B are not read, nobody has looked at their buffers: C stands in.
    for (int i = WEFT_MATMUL_A; i <= WEFT_MATMUL_B; ++i)
        if (e->call->problem.k == 0)
            e->operands[i].buffer = e->operands[WEFT_MATMUL_C].buffer;
    add_operand(&arguments, &e->operands[WEFT_MATMUL_A]);
    add_operand(&arguments, &e->operands[WEFT_MATMUL_B]);
    add_batch(&arguments, e);
    add_end(&arguments, e);
    add_cut(&arguments, e);
    return weft_launch_kernel(e->launch, kernel, arguments.n, arguments.list, global, local);
}

static weft_status enqueue_combine(errand *e, weft_kernel *kernel)
{
    const weft_matmul_tiling *t = &e->s->tiling;
    const int64_t most = e->call->ctx->limits.max_blocks;
    const int64_t across = min_i64(ceil_div(ceil_div(e->s->n, t->fold), t->items), most);
    const int64_t down =
        min_i64(ceil_div(e->m, t->team), min_i64(ceil_div(most, across), MOST_GROUPS));
    const size_t local[3] = {(size_t)t->items, (size_t)t->team, 1};
    const size_t global[3] = {(size_t)across * local[0], (size_t)down * local[1],
                              (size_t)min_i64(e->n_batches, MOST_GROUPS)};
    weft_arguments arguments = {.n = 0};
    add_batch(&arguments, e);
    add_end(&arguments, e);
    ADD_ARGUMENT(&arguments, e->m);
    ADD_ARGUMENT(&arguments, e->n);
    return weft_launch_kernel(e->launch, kernel, arguments.n, arguments.list, global, local);
}

static weft_status enqueue_batches(errand *e, const kernels *k)
{
    for (e->first = 0; e->first < e->s->n_batches; e->first += e->s->at_once) {
        e->n_batches = min_i64(e->s->at_once, e->s->n_batches - e->first);
        TRY(enqueue_product(e, k->product));
        if (e->s->n_pieces > 1)
            TRY(enqueue_combine(e, k->combine));
    }
    return WEFT_OK;
}

// So many rows further on. Strides of a factor without elements may be anything.
static int64_t moved(int64_t start, int64_t rows, int64_t row)
{
    return (int64_t)((uint64_t)start + (uint64_t)rows * (uint64_t)row);
}

// B has no rows of C's.
static weft_status enqueue_rows(errand *e, const kernels *k)
{
    for (int64_t from = 0; from < e->s->m; from += e->s->rows) {
        e->m = (cl_int)min_i64(e->s->rows, e->s->m - from);
        TRY(enqueue_batches(e, k));
        for (int i = 0; i < e->call->n_operands; ++i)
            if (i != WEFT_MATMUL_B)
                e->operands[i].start = moved(e->operands[i].start, e->s->rows, e->operands[i].row);
    }
    return WEFT_OK;
}

// Operand i, where the loops that the kernel does not know are at `at`. Turned, A and B change
// places, and all change rows for columns.
static operand operand_at(const weft_matmul_call *call, bool turned, int i,
                          const int64_t at[WEFT_MAX_NDIM])
{
    const weft_nest *nest = &call->nest;
    const int from = !turned              ? i
                     : i == WEFT_MATMUL_A ? WEFT_MATMUL_B
                     : i == WEFT_MATMUL_B ? WEFT_MATMUL_A
                                          : i;
    const weft_matmul_view *view = &call->views[from];
    operand o = {.buffer = view->buffer,
                 .start = nest->start[from],
                 .row = turned ? view->column : view->row,
                 .column = turned ? view->row : view->column};
    for (int d = 0; d < loops_of(nest); ++d)
        o.batch.s[d] = nest->stride[from][d];
    for (int d = KERNEL_LOOPS; d < nest->n_loops; ++d)
        o.start += at[d] * nest->stride[from][d];
    return o;
}

// Goes on to the next indices of the loops that the kernel does not know; false after the last.
static bool next_at(const weft_nest *nest, int64_t at[WEFT_MAX_NDIM])
{
    for (int d = KERNEL_LOOPS; d < nest->n_loops; ++d) {
        if (++at[d] < nest->extent[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static weft_status enqueue_all(errand *e, const kernels *k)
{
    int64_t at[WEFT_MAX_NDIM] = {0};
    do {
        for (int i = 0; i < e->call->n_operands; ++i)
            e->operands[i] = operand_at(e->call, e->s->tiling.turned, i, at);
        TRY(enqueue_rows(e, k));
    } while (next_at(&e->call->nest, at));
    return WEFT_OK;
}

static void set_up(errand *e, weft_launch *launch, const weft_matmul_call *call, const schedule *s,
                   double alpha, double beta)
{
    *e = (errand){.launch = launch,
                  .call = call,
                  .s = s,
                  .loops = {{1, 1, 1, 1}},
                  .m = (cl_int)s->m,
                  .n = (cl_int)s->n,
                  .k = (cl_int)call->problem.k,
                  .n_pieces = (cl_int)s->n_pieces,
                  .piece = (cl_int)s->tiling.piece,
                  .block_rows = (cl_int)s->tiling.block_rows,
                  .block_columns = (cl_int)s->tiling.block_columns,
                  .depth = s->tiling.depth,
                  .streams = weft_tensor_is_large(call->ctx, call->tensors[WEFT_MATMUL_C])};
    for (int d = 0; d < loops_of(&call->nest); ++d)
        e->loops.s[d] = call->nest.extent[d];
    // An infinity times nothing is no number.
    e->alpha_argument =
        weft_scalar_argument(&e->alpha, call->arithmetic, call->problem.k > 0 ? alpha : 0);
    e->beta_argument = weft_scalar_argument(&e->beta, call->arithmetic, beta);
}

static weft_status run(weft_launch *launch, const weft_matmul_call *call, double alpha, double beta,
                       cl_mem workspace)
{
    if (weft_matmul_is_empty(call))
        return WEFT_OK;
    schedule s;
    kernels k;
    errand e;
    TRY(prepare(&s, &k, call));
    set_up(&e, launch, call, &s, alpha, beta);
    if (workspace && s.piece_bytes > 0)
        TRY(weft_matmul_workspace_check(call, workspace, s.piece_bytes));
    TRY(weft_scratch_begin(launch, workspace, s.piece_bytes, &e.scratch));
    const weft_status status = enqueue_all(&e, &k);
    weft_scratch_end(launch, workspace, e.scratch);
    return status;
}

weft_status weft_matmul(weft_context *ctx, cl_command_queue queue, double alpha,
                        const weft_tensor *A, const weft_tensor *B, double beta,
                        const weft_tensor *C, const weft_matmul_params *params)
{
    params = params ? params : WEFT_MATMUL(.epilogue = NULL);
    weft_matmul_call call;
    TRY(weft_matmul_check(&call, ctx, alpha, A, B, beta, C, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "matmul", params->n_wait, params->wait,
                          params->event != NULL));
    const weft_status status = run(&launch, &call, alpha, beta, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

// ---- what a call would do

weft_status weft_matmul_workspace(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                  const weft_tensor *C, const weft_matmul_params *params,
                                  size_t *bytes)
{
    params = params ? params : WEFT_MATMUL(.epilogue = NULL);
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "matmul_workspace: bytes is NULL");
    *bytes = 0;
    weft_matmul_call call;
    schedule s;
    kernels k;
    TRY(weft_matmul_check(&call, ctx, 1, A, B, 0, C, params));
    if (weft_matmul_is_empty(&call))
        return WEFT_OK;
    TRY(prepare(&s, &k, &call));
    *bytes = s.piece_bytes;
    return WEFT_OK;
}

int weft_matmul_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                         const weft_tensor *C, const weft_matmul_params *params, char *text,
                         size_t size)
{
    params = params ? params : WEFT_MATMUL(.epilogue = NULL);
    weft_matmul_call call;
    schedule s;
    kernels k;
    if (weft_matmul_check(&call, ctx, 1, A, B, 0, C, params) != WEFT_OK)
        return -1;
    if (weft_matmul_is_empty(&call))
        return snprintf(text, size, "nothing to do");
    if (call.problem.k == 0)
        return snprintf(text, size, "C = beta C");
    if (prepare(&s, &k, &call) != WEFT_OK)
        return -1;
    return weft_matmul_tiling_print(&s.tiling, text, size);
}
