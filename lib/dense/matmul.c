// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C): plan, defines, arguments, enqueue. Checked by matmul_check.c.
#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "dense/matmul_call.h"
#include "dense/matmul_parameters.h"
#include "formula/formula.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"
#include "runtime/workspace.h"

enum {
    KERNEL_LOOPS = 3, // over the batch; further loops are separate launches
    // Along rows and products, fewer than a launch may have: the kernels loop over the rest, except
    // for blocks of one tile, whose items have no registers left for a loop.
    MOST_GROUPS = WEFT_MATMUL_MOST_GROUPS,
    CORE_GROUPS = 8, // for each core of a CPU
};

// Distinguishes plans: names are part of a formula.
static void add_key(weft_key *key, const weft_call *call)
{
    const weft_matmul_numbers *given = call->own;
    const weft_matmul_params *params = &given->params;
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->alpha) == 0);
    weft_key_add_number(key, given->alpha == 0);
    weft_key_add_text(key, params->epilogue);
    weft_key_add_number(key, params->n_values);
    for (int i = 0; i < params->n_inputs; ++i)
        weft_key_add_text(key, params->inputs[i].name);
    for (int i = 0; i < params->n_values; ++i)
        weft_key_add_text(key, params->values[i].name);
}

// ---- plan

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

// If sums of chunks are in scratch memory, a launch takes as many products as fit there.
static weft_status plan_chunks(weft_matmul_state *s, const weft_call *call)
{
    const int64_t size = weft_sum_bytes(s->arithmetic);
    size_t bytes;
    s->head.scratch_bytes = 0;
    if (s->n_chunks == 1)
        return WEFT_OK;
    if (!weft_scratch_for(&bytes, s->m, s->n, s->n_chunks, size))
        return fail(WEFT_NO_MEMORY,
                    "matmul: sums of %" PRId64 " chunks of %" PRId64 " x %" PRId64
                    " numbers are too many",
                    s->n_chunks, s->m, s->n);
    const int64_t room = (int64_t)(weft_workspace_most(call->ctx) / bytes);
    s->at_once = min_i64(s->at_once, max_i64(room, 1));
    weft_scratch_for(&s->head.scratch_bytes, s->m * s->n, s->n_chunks, s->at_once, size);
    return WEFT_OK;
}

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_matmul_state *s = state;
    const weft_matmul_problem *p = &s->problem;
    if (s->head.is_forced)
        TRY(weft_matmul_tiling_check(&s->tiling, &call->ctx->limits, p));
    else
        s->tiling = weft_matmul_tiling_for(limits, p);
    s->head.group_items = (size_t)s->tiling.items * (size_t)s->tiling.items_y;
    s->n_batches = products_of(&s->nest);
    s->m = s->tiling.transposed ? p->n : p->m;
    s->n = s->tiling.transposed ? p->m : p->n;
    s->n_chunks = max_i64(ceil_div(p->k, s->tiling.chunk), 1);
    s->at_once = s->n_batches;
    s->rows = s->m;
    s->streams = weft_tensor_is_large(call->ctx, weft_call_tensor(call, WEFT_MATMUL_C));
    if (weft_matmul_is_one_tile(&s->tiling)) {
        s->at_once = min_i64(s->n_batches, max_i64(MOST_GROUPS / s->n_chunks, 1));
        s->rows = min_i64(s->m, MOST_GROUPS * s->tiling.block_rows);
    }
    return plan_chunks(s, call);
}

// ---- defines

static bool uses_f64(const weft_matmul_state *s)
{
    bool uses = s->arithmetic == WEFT_F64;
    for (int i = 0; i < s->n_operands; ++i)
        uses = uses || s->views[i].dtype == WEFT_F64;
    return uses;
}

static weft_status add_ending(weft_defines *defines, const weft_matmul_state *s,
                              const weft_matmul_params *params, const weft_expression *formula)
{
    weft_defines_add_dtype(defines, "OUT", s->views[WEFT_MATMUL_C].dtype);
    weft_defines_add(defines, "INPUTS", params->n_inputs);
    weft_defines_add(defines, "VALUES", params->n_values);
    for (int i = 0; i < params->n_inputs; ++i) {
        char name[16];
        snprintf(name, sizeof(name), "IN%d", 1 + i);
        weft_defines_add_dtype(defines, name, s->views[WEFT_MATMUL_INPUT + i].dtype);
    }
    return formula ? weft_formula_define(defines, 0, formula, s->arithmetic, "matmul") : WEFT_OK;
}

static weft_status defines_of(weft_defines *defines, const weft_matmul_state *s,
                              const weft_call *call, const weft_expression *formula)
{
    const weft_matmul_numbers *given = call->own;
    const weft_matmul_tiling *tiling = &s->tiling;
    weft_defines_add_dtype(defines, "DTYPE", s->problem.dtype);
    weft_defines_add_dtype(defines, "ARITHMETIC", s->arithmetic);
    weft_defines_add(defines, "USES_F64", uses_f64(s));
    weft_defines_add(defines, "VECTOR_WIDTH", tiling->vector_width);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "ROWS", tiling->rows);
    weft_defines_add(defines, "ITEMS", tiling->items);
    weft_defines_add(defines, "ITEMS_Y", tiling->items_y);
    weft_defines_add_registers(defines, call->ctx->least_subgroup);
    if (tiling->method == WEFT_MATMUL_BLOCKS || tiling->method == WEFT_MATMUL_DIRECT)
        weft_defines_add(defines, "DEPTH", tiling->depth);
    if (tiling->method == WEFT_MATMUL_BLOCKS)
        weft_defines_add(defines, "ONE_TILE", weft_matmul_is_one_tile(tiling));
    return add_ending(defines, s, &given->params, formula);
}

static weft_status kernels_for(weft_matmul_state *s, const weft_call *call,
                               const weft_expression *formula, size_t *most)
{
    static const struct {
        const weft_source *source;
        const char *kernel;
    } methods[] = {
        [WEFT_MATMUL_BLOCKS] = {&weft_source_matmul, "matmul_blocks"},
        [WEFT_MATMUL_DOTS] = {&weft_source_matmul_dots, "matmul_dots"},
        [WEFT_MATMUL_ROWS] = {&weft_source_matmul_rows, "matmul_rows"},
        [WEFT_MATMUL_DIRECT] = {&weft_source_matmul_direct, "matmul_direct"},
    };
    const weft_source *source = methods[s->tiling.method].source;
    weft_defines defines = {.length = 0};
    TRY(defines_of(&defines, s, call, formula));
    TRY(weft_kernel_narrow(&s->product, most, call->ctx, source, &defines,
                           methods[s->tiling.method].kernel));
    if (s->n_chunks == 1)
        return WEFT_OK;
    return weft_kernel_narrow(&s->combine, most, call->ctx, source, &defines, "matmul_combine");
}

// Parses the formula again: states do not store it.
static weft_status build(void *state, const weft_call *call, size_t *most)
{
    const weft_matmul_params *params = &((const weft_matmul_numbers *)call->own)->params;
    weft_expression formula;
    if (!params->epilogue)
        return kernels_for(state, call, NULL, most);
    TRY(weft_matmul_formula(&formula, params));
    return weft_formula_blame(kernels_for(state, call, &formula, most), 1, &params->epilogue,
                              &formula, "matmul");
}

// ---- arguments

typedef struct {
    FACTOR_PARAMETERS(FIELD, , view)
} factor;

typedef struct {
    BATCH_PARAMETERS(FIELD, )
} batch;

typedef struct {
    ENDING_PARAMETERS(FIELD, )
} ending;

typedef struct {
    INPUT_PARAMETERS(FIELD, , )
} input;

typedef struct {
    VALUE_PARAMETERS(FIELD, , )
} value;

typedef struct {
    COMBINE_PARAMETERS(FIELD, )
} combine_extents;

typedef struct {
    BLOCKS_PARAMETERS(FIELD, )
} blocks_cut;

typedef struct {
    DOTS_PARAMETERS(FIELD, )
} dots_cut;

typedef struct {
    ROWS_PARAMETERS(FIELD, )
} rows_cut;

// One launch.
typedef struct {
    weft_launch *launch;
    const weft_matmul_state *s;
    const weft_call *call;
    int64_t at[WEFT_MAX_NDIM]; // indices of the loops outside of the kernel
    int64_t from;              // first row of this launch
    cl_int m, n, k;            // m: rows of this launch
    factor factors[WEFT_MATMUL_OPERANDS];
    batch batch;
    ending ending;
    input inputs[WEFT_MATMUL_INPUTS];
    value values[WEFT_ELEMENTWISE_VALUES];
} product;

static void add_batch(weft_arguments *arguments, const batch *a)
{
    ADD_LISTED(arguments, BATCH_PARAMETERS(LISTED, COMMA));
}

static void add_factor(weft_arguments *arguments, const factor *a)
{
    ADD_LISTED(arguments, FACTOR_PARAMETERS(LISTED, COMMA, view));
}

static void add_input(weft_arguments *arguments, const input *a)
{
    ADD_LISTED(arguments, INPUT_PARAMETERS(LISTED, COMMA, ));
}

static void add_value(weft_arguments *arguments, const value *a)
{
    ADD_LISTED(arguments, VALUE_PARAMETERS(LISTED, COMMA, ));
}

// C and the inputs begin at this launch's elements.
static void add_end(weft_arguments *arguments, product *p)
{
    const weft_matmul_params *params = &((const weft_matmul_numbers *)p->call->own)->params;
    const factor *c = &p->factors[WEFT_MATMUL_C];
    ending *a = &p->ending;
    a->C = c->view;
    a->c_start = c->view_start;
    a->c_row = c->view_row;
    a->c_column = c->view_column;
    a->c_batch = c->view_batch;
    ADD_LISTED(arguments, ENDING_PARAMETERS(LISTED, COMMA));
    for (int i = 0; i < params->n_inputs; ++i) {
        const factor *from = &p->factors[WEFT_MATMUL_INPUT + i];
        p->inputs[i] = (input){from->view, from->view_start, from->view_row, from->view_column,
                               from->view_batch};
        add_input(arguments, &p->inputs[i]);
    }
    for (int i = 0; i < params->n_values; ++i)
        add_value(arguments, &p->values[i]);
}

static void add_cut(weft_arguments *arguments, const product *p, blocks_cut *blocks, dots_cut *dots,
                    rows_cut *rows)
{
    const weft_matmul_tiling *t = &p->s->tiling;
    const cl_int block_rows = (cl_int)t->block_rows, block_columns = (cl_int)t->block_columns;
    int64_t bytes[WEFT_MATMUL_ARRAYS];
    if (t->method == WEFT_MATMUL_ROWS || t->method == WEFT_MATMUL_DIRECT) {
        *rows = (rows_cut){p->m, p->n, p->k, block_rows, block_columns};
        const rows_cut *a = rows;
        ADD_LISTED(arguments, ROWS_PARAMETERS(LISTED, COMMA));
        return;
    }
    weft_matmul_arrays(bytes, t, p->s->problem.dtype, p->s->m);
    const size_t first = (size_t)bytes[0], second = (size_t)bytes[1], third = (size_t)bytes[2];
    if (t->method == WEFT_MATMUL_DOTS) {
        *dots = (dots_cut){p->m, p->n, p->k, block_columns, t->depth, first, second, third};
        const dots_cut *a = dots;
        ADD_LISTED(arguments, DOTS_PARAMETERS(LISTED, COMMA));
        return;
    }
    *blocks = (blocks_cut){p->m, p->n, p->k, block_rows, block_columns, first, second, third};
    const blocks_cut *a = blocks;
    ADD_LISTED(arguments, BLOCKS_PARAMETERS(LISTED, COMMA));
}

// ---- enqueue

// A group with several products prefetches the next one: on a CPU there are only as many groups as
// balance the load.
static int64_t groups_along_products(const product *p, int64_t groups)
{
    const weft_matmul_tiling *t = &p->s->tiling;
    if (t->items * t->items_y > 1)
        return MOST_GROUPS;
    const int64_t wanted = (int64_t)CORE_GROUPS * p->call->ctx->limits.compute_units;
    return min_i64(ceil_div(wanted, groups), MOST_GROUPS);
}

static weft_status enqueue_product(product *p)
{
    const weft_matmul_tiling *t = &p->s->tiling;
    const int64_t across = ceil_div(p->s->n, t->block_columns);
    const int64_t down = t->method == WEFT_MATMUL_DOTS ? 1 : ceil_div(p->m, t->block_rows);
    const int64_t products = min_i64(p->batch.n_batches, MOST_GROUPS) * p->s->n_chunks;
    const int64_t most = groups_along_products(p, across * down);
    const size_t local[3] = {(size_t)t->items, (size_t)t->items_y, 1};
    const size_t global[3] = {(size_t)across * local[0],
                              (size_t)min_i64(down, MOST_GROUPS) * local[1],
                              (size_t)min_i64(products, most)};
    weft_arguments arguments = {.n = 0};
    blocks_cut blocks;
    dots_cut dots;
    rows_cut rows;
    add_factor(&arguments, &p->factors[WEFT_MATMUL_A]);
    add_factor(&arguments, &p->factors[WEFT_MATMUL_B]);
    add_batch(&arguments, &p->batch);
    add_end(&arguments, p);
    add_cut(&arguments, p, &blocks, &dots, &rows);
    return weft_launch_kernel(p->launch, p->s->product, arguments.n, arguments.list, global, local);
}

static weft_status enqueue_combine(product *p)
{
    const weft_matmul_tiling *t = &p->s->tiling;
    const int64_t most = p->call->ctx->limits.max_blocks;
    const int64_t across = min_i64(ceil_div(ceil_div(p->s->n, t->vector_width), t->items), most);
    const int64_t down =
        min_i64(ceil_div(p->m, t->items_y), min_i64(ceil_div(most, across), MOST_GROUPS));
    const size_t local[3] = {(size_t)t->items, (size_t)t->items_y, 1};
    const size_t global[3] = {(size_t)across * local[0], (size_t)down * local[1],
                              (size_t)min_i64(p->batch.n_batches, MOST_GROUPS)};
    weft_arguments arguments = {.n = 0};
    const combine_extents own = {p->m, p->n}, *a = &own;
    add_batch(&arguments, &p->batch);
    add_end(&arguments, p);
    ADD_LISTED(&arguments, COMBINE_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, p->s->combine, arguments.n, arguments.list, global, local);
}

// start, `rows` rows further on. Strides of a factor without elements may be anything.
static int64_t moved(int64_t start, int64_t rows, int64_t row)
{
    return (int64_t)((uint64_t)start + (uint64_t)rows * (uint64_t)row);
}

// Operand i, at the indices `at` of the loops outside of the kernel. If transposed, A and B are
// exchanged, and rows and columns of all operands. If A and B are not read they may have no
// buffers, and C's buffer takes their place.
static factor factor_at(const product *p, int i)
{
    const weft_nest *nest = &p->s->nest;
    const bool transposed = p->s->tiling.transposed, is_read = p->k > 0 || i >= WEFT_MATMUL_INPUT;
    const int from = !transposed          ? i
                     : i == WEFT_MATMUL_A ? WEFT_MATMUL_B
                     : i == WEFT_MATMUL_B ? WEFT_MATMUL_A
                                          : i;
    const weft_matmul_view *view = &p->s->views[from];
    factor f = {.view = weft_call_tensor(p->call, is_read ? from : WEFT_MATMUL_C)->buffer,
                .view_start = nest->start[from],
                .view_row = transposed ? view->column : view->row,
                .view_column = transposed ? view->row : view->column};
    for (int d = 0; d < loops_of(nest); ++d)
        f.view_batch.s[d] = nest->stride[from][d];
    for (int d = KERNEL_LOOPS; d < nest->n_loops; ++d)
        f.view_start += p->at[d] * nest->stride[from][d];
    if (i != WEFT_MATMUL_B) // B has no rows of C
        f.view_start = moved(f.view_start, p->from, f.view_row);
    return f;
}

// Advances the indices of the loops outside of the kernel; false after the last.
static bool next_at(const weft_nest *nest, int64_t at[WEFT_MAX_NDIM])
{
    for (int d = KERNEL_LOOPS; d < nest->n_loops; ++d) {
        if (++at[d] < nest->extent[d])
            return true;
        at[d] = 0;
    }
    return false;
}

// Advances to the next launch: products, then rows, then the outer loops.
static bool next_launch(product *p)
{
    const weft_matmul_state *s = p->s;
    p->batch.first_batch += s->at_once;
    if (p->batch.first_batch < s->n_batches)
        return true;
    p->batch.first_batch = 0;
    p->from += s->rows;
    if (p->from < s->m)
        return true;
    p->from = 0;
    return next_at(&s->nest, p->at);
}

static void set_up(product *p, cl_mem scratch)
{
    const weft_matmul_state *s = p->s;
    const weft_matmul_numbers *given = p->call->own;
    p->n = (cl_int)s->n;
    p->k = (cl_int)s->problem.k;
    p->batch.loops = (cl_long4){{1, 1, 1, 1}};
    for (int d = 0; d < loops_of(&s->nest); ++d)
        p->batch.loops.s[d] = s->nest.extent[d];
    p->ending.streams = s->streams;
    // Infinity times 0 is NaN.
    p->ending.alpha = weft_number_of(s->arithmetic, p->k > 0 ? given->alpha : 0);
    p->ending.beta = weft_number_of(s->arithmetic, given->beta);
    p->ending.n_chunks = (cl_int)s->n_chunks;
    p->ending.chunk = (cl_int)s->tiling.chunk;
    // Without chunks the argument is another buffer, which is not accessed.
    p->ending.chunks = scratch ? scratch : weft_call_tensor(p->call, WEFT_MATMUL_C)->buffer;
    for (int i = 0; i < given->params.n_values; ++i)
        p->values[i].value = weft_number_of(s->arithmetic, given->params.values[i].value);
}

static weft_status run(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch)
{
    product p = {.launch = launch, .s = state, .call = call};
    set_up(&p, scratch);
    do {
        p.m = (cl_int)min_i64(p.s->rows, p.s->m - p.from);
        p.batch.n_batches = min_i64(p.s->at_once, p.s->n_batches - p.batch.first_batch);
        for (int i = 0; i < p.s->n_operands; ++i)
            p.factors[i] = factor_at(&p, i);
        TRY(enqueue_product(&p));
        if (p.s->n_chunks > 1)
            TRY(enqueue_combine(&p));
    } while (next_launch(&p));
    return WEFT_OK;
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_matmul_state *s = state;
    (void)call;
    return s->problem.k == 0 ? snprintf(text, size, "C = beta C")
                             : weft_matmul_tiling_print(&s->tiling, text, size);
}

// ---- calls

// C may be an input of the formula.
static const weft_op matmul = {
    .name = "matmul",
    .n_operands = 4,
    .operands = {[WEFT_MATMUL_C] = {.name = "C",
                                    .access = WEFT_WRITES_VALUES,
                                    .may_be_i8 = true,
                                    .may_be = ~0u << WEFT_MATMUL_INPUT},
                 [WEFT_MATMUL_A] = {.name = "A", .access = WEFT_READS_VALUES, .may_be_i8 = true},
                 [WEFT_MATMUL_B] = {.name = "B", .access = WEFT_READS_VALUES, .may_be_i8 = true},
                 [WEFT_MATMUL_INPUT] = {.name = "input ",
                                        .access = WEFT_READS_VALUES,
                                        .may_be_i8 = true}},
    .state_bytes = sizeof(weft_matmul_state),
    .key = add_key,
    .check = weft_matmul_check,
    .numbers_check = weft_matmul_numbers_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    weft_matmul_numbers own;
} request;

static weft_status request_of(request *r, weft_context *ctx, double alpha, const weft_tensor *A,
                              const weft_tensor *B, double beta, const weft_tensor *C,
                              const weft_matmul_params *params)
{
    weft_matmul_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, "matmul", "WEFT_MATMUL"));
    TRY(weft_matmul_params_check(own));
    r->own.alpha = alpha;
    r->own.beta = beta;
    r->call = (weft_call){
        .op = &matmul,
        .ctx = ctx,
        .n_operands = WEFT_MATMUL_INPUT + own->n_inputs,
        .operands = {C, A, B},
        .own = &r->own,
        .tiling = own->tiling,
        CALL_PARAMS(own),
    };
    for (int i = 0; i < own->n_inputs; ++i) {
        r->call.operands[WEFT_MATMUL_INPUT + i] = own->inputs[i].tensor;
        r->call.names[WEFT_MATMUL_INPUT + i] = own->inputs[i].name;
    }
    return WEFT_OK;
}

weft_status weft_matmul(weft_context *ctx, cl_command_queue queue, double alpha,
                        const weft_tensor *A, const weft_tensor *B, double beta,
                        const weft_tensor *C, const weft_matmul_params *params)
{
    request r;
    TRY(request_of(&r, ctx, alpha, A, B, beta, C, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_matmul_workspace(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                  const weft_tensor *C, const weft_matmul_params *params,
                                  size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, 1, A, B, 0, C, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_matmul_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                         const weft_tensor *C, const weft_matmul_params *params, char *text,
                         size_t size)
{
    request r;
    return request_of(&r, ctx, 1, A, B, 0, C, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
