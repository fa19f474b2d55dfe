// SPDX-License-Identifier: Apache-2.0
// C = f(alpha op(A) B + beta C + bias) with A sparse, in CSR or DCSR.
// spmm_check.c checks, spmm_schedule.c plans and builds; here: arguments, enqueue.
#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/params.h"
#include "op/items.h"
#include "operand/csr_parameters.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "sparse/spmm_call.h"
#include "sparse/spmm_order.h"
#include "sparse/spmm_parameters.h"
#include "sparse/spmm_reduction.h"

static const int64_t MOST_LONG_GROUPS = 1 << 12; // with more groups no core gets too many

// A plan object may have the address of an earlier one that was destroyed: the serial number
// distinguishes them.
void weft_spmm_key(weft_key *key, const weft_call *call)
{
    const weft_spmm_numbers *given = call->own;
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->alpha) == 0);
    weft_key_add_number(key, given->alpha == 0);
    weft_key_add_number(key, given->plan ? given->plan->serial : 0);
    weft_key_add_number(key, given->transpose_a);
    weft_key_add_number(key, given->reduction);
    weft_key_add_number(key, given->activation);
    weft_key_add_number(key, given->in_blocks);
}

// ---- arguments

// Arguments of all kernels: a kernel's list points into it.
typedef struct {
    PATTERN_PARAMETERS(FIELD, )
    ORDER_PARAMETERS(FIELD, )
    B_PARAMETERS(FIELD, )
    C_PARAMETERS(FIELD, )
    BIAS_PARAMETERS(FIELD, )
    STORED_PARAMETERS(FIELD, )
    SCALARS_PARAMETERS(FIELD, )
    ARGUMENTS_PARAMETERS(FIELD, )
    START_QUEUES_PARAMETERS(FIELD, )
    STAGED_B_PARAMETERS(FIELD, )
    K_BLOCKS_PARAMETERS(FIELD, )
    ROW_CHUNKS_PARAMETERS(FIELD, , OUT)
    FOUND_PARAMETERS(FIELD, , OUT)
} parameters;

typedef struct {
    SEGMENTS_PARAMETERS(FIELD, )
} segments;

typedef struct {
    TASKS_PARAMETERS(FIELD, , OUT)
} tasks;

typedef struct {
    PACK_PARAMETERS(FIELD, )
} pack;

typedef struct {
    SCALE_PARAMETERS(FIELD, )
} scale;

// One call.
typedef struct {
    weft_launch *launch;
    const weft_spmm_state *s;
    const weft_call *call;
    const weft_spmm_numbers *given;
    parameters values;
    segments segments;
} product;

// Unused buffer arguments get some other buffer, which is never read.
static void set_matrix(product *p)
{
    const weft_spmm_plan *plan = p->given->plan;
    const weft_csr *A = weft_call_csr(p->call, WEFT_SPMM_A);
    const bool is_transposed = p->given->transpose_a;
    const int64_t first = p->given->block ? p->given->block->first_entry : 0;
    parameters *v = &p->values;
    v->n_rows = (cl_int)p->s->problem.m;
    v->nnz = first + A->nnz;
    v->row_chunk = p->s->cut.row_chunk;
    v->offsets = is_transposed ? plan->offsets : A->offsets;
    v->offsets_start = is_transposed ? 0 : A->offsets_start;
    v->indices = is_transposed ? plan->indices : A->indices;
    v->indices_start = is_transposed ? 0 : A->indices_start - first;
    v->values = A->values;
    v->values_start = A->values_start - first;
    v->values_batch = A->values_batch_stride;
    v->source = is_transposed ? plan->source : v->offsets;
}

// The rows as the plan object lists them, if it is used.
static void set_rows(product *p)
{
    const weft_spmm_plan *plan = p->s->is_planned ? p->given->plan : NULL;
    const weft_spmm_tiling *tiling = &p->s->tiling;
    parameters *v = &p->values;
    v->rows_per_item = tiling->rows_per_item;
    v->has_order = p->s->has_order;
    v->order = v->has_order ? plan->order : v->offsets;
    v->n_ordered = (cl_int)(v->has_order ? plan->n_ordered : p->s->problem.m);
    v->n_row_chunks = (cl_int)p->s->cut.n;
    v->has_list = plan && plan->row_chunks;
    v->list = v->has_list ? plan->row_chunks : v->offsets;
    if (p->given->block) {
        v->has_list = true;
        v->list = p->given->block->row_chunks;
    }
    v->k_block_from = tiling->k_block_from;
    v->k = v->depth = (cl_int)p->s->problem.k;
    v->k_block = tiling->k_block;
    if (p->s->has_segments)
        p->segments = (segments){tiling->k_block_from, plan->segment_starts, plan->segment_entries,
                                 plan->segments};
}

static void set_B(product *p)
{
    const weft_tensor *B = weft_call_tensor(p->call, WEFT_SPMM_B);
    parameters *v = &p->values;
    v->B = B->buffer;
    v->b_start = B->offset;
    v->b_row = p->s->B.row;
    v->b_column = p->s->B.column;
    v->b_batch = p->s->B.batch;
}

static void set_C(product *p)
{
    const weft_tensor *C = weft_call_tensor(p->call, WEFT_SPMM_C);
    const weft_tensor *bias = weft_call_tensor(p->call, WEFT_SPMM_BIAS);
    const weft_dcsr *stored = p->call->operands[WEFT_SPMM_ROWS];
    parameters *v = &p->values;
    v->C = C->buffer;
    v->c_start = C->offset;
    v->c_row = p->s->C.row;
    v->c_column = p->s->C.column;
    v->c_batch = p->s->C.batch;
    if (bias) {
        v->bias = bias->buffer;
        v->bias_start = bias->offset;
        v->bias_step = bias->stride[0];
    }
    if (stored) {
        v->stored_rows = stored->rows;
        v->stored_rows_start = stored->rows_start;
        v->n_stored = stored->n_stored;
    }
    v->n = (cl_int)p->s->problem.n;
    v->alpha = weft_number_of(p->s->problem.dtype, p->given->alpha);
    v->beta = weft_number_of(p->s->problem.dtype, p->given->beta);
}

// Without arguments C is passed in their place, and not used for them.
static void set_arguments(product *p)
{
    const weft_tensor *arguments = weft_call_tensor(p->call, WEFT_SPMM_ARGUMENTS);
    const weft_tensor *out = arguments ? arguments : weft_call_tensor(p->call, WEFT_SPMM_C);
    const weft_dense *steps = arguments ? &p->s->arguments : &p->s->C;
    parameters *v = &p->values;
    v->arguments = out->buffer;
    v->arguments_start = out->offset;
    v->arguments_row = steps->row;
    v->arguments_column = steps->column;
    v->arguments_batch = steps->batch;
}

// In scratch memory: packed B, sums or parts of rows, positions, queues.
static void set_scratch(product *p, cl_mem scratch)
{
    const weft_spmm_state *s = p->s;
    const size_t found = s->packed_bytes + s->cut.sums_bytes + s->parts_bytes;
    const size_t queues = found + s->cut.places_bytes;
    parameters *v = &p->values;
    v->scratch = v->found = v->queues = scratch;
    v->scratch_start = (cl_long)(s->packed_bytes / weft_sum_bytes(s->problem.dtype));
    v->found_start = (cl_long)(found / weft_dtype_size(s->offset_dtype));
    v->queues_start = (cl_long)(queues / sizeof(cl_uint));
    v->n_queues = s->n_queues;
}

static void add_B(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, B_PARAMETERS(LISTED, COMMA));
}

static void add_output(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, C_PARAMETERS(LISTED, COMMA));
    if (p->call->operands[WEFT_SPMM_BIAS])
        ADD_LISTED(arguments, BIAS_PARAMETERS(LISTED, COMMA));
    if (p->s->has_rows)
        ADD_LISTED(arguments, STORED_PARAMETERS(LISTED, COMMA));
}

// Arguments for k-blocks of B, if there are any.
static void add_k_blocks(weft_arguments *arguments, const product *p)
{
    if (p->s->has_segments) {
        const segments *a = &p->segments;
        ADD_LISTED(arguments, SEGMENTS_PARAMETERS(LISTED, COMMA));
    } else if (p->s->tiling.k_block > 0) {
        const parameters *a = &p->values;
        ADD_LISTED(arguments, K_BLOCKS_PARAMETERS(LISTED, COMMA));
    }
}

static void add_rows(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, PATTERN_PARAMETERS(LISTED, COMMA), B_PARAMETERS(LISTED, COMMA));
    add_output(arguments, p);
    ADD_LISTED(arguments, SCALARS_PARAMETERS(LISTED, COMMA), ORDER_PARAMETERS(LISTED, COMMA));
    if (p->s->n_queues > 0)
        ADD_LISTED(arguments, QUEUE_PARAMETERS(LISTED, COMMA));
    if (p->s->tiling.row_blocks_per_copy > 0)
        ADD_LISTED(arguments, STAGED_B_PARAMETERS(LISTED, COMMA));
    if (weft_spmm_is_max_min(p->s->problem.reduction))
        ADD_LISTED(arguments, ARGUMENTS_PARAMETERS(LISTED, COMMA));
    else
        add_k_blocks(arguments, p);
}

static void add_row_chunks(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, PATTERN_PARAMETERS(LISTED, COMMA), B_PARAMETERS(LISTED, COMMA),
               ARGUMENT(a->n), ROW_CHUNKS_PARAMETERS(LISTED, COMMA, SOLE_OUT));
    if (weft_spmm_is_max_min(p->s->problem.reduction))
        ADD_LISTED(arguments, FOUND_PARAMETERS(LISTED, COMMA, SOLE_OUT));
}

static void add_combine(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, PATTERN_PARAMETERS(LISTED, COMMA));
    add_output(arguments, p);
    ADD_LISTED(arguments, SCALARS_PARAMETERS(LISTED, COMMA),
               ROW_CHUNKS_PARAMETERS(LISTED, COMMA, SOLE_IN));
    if (weft_spmm_is_max_min(p->s->problem.reduction))
        ADD_LISTED(arguments, FOUND_PARAMETERS(LISTED, COMMA, SOLE_IN),
                   ARGUMENTS_PARAMETERS(LISTED, COMMA));
}

static void add_parts(weft_arguments *arguments, const tasks *a)
{
    ADD_LISTED(arguments, TASKS_PARAMETERS(LISTED, COMMA, SOLE_OUT));
}

static void add_tasks(weft_arguments *arguments, const product *p, const tasks *of)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, PATTERN_PARAMETERS(LISTED, COMMA), B_PARAMETERS(LISTED, COMMA));
    add_output(arguments, p);
    ADD_LISTED(arguments, SCALARS_PARAMETERS(LISTED, COMMA));
    add_parts(arguments, of);
}

static void add_join(weft_arguments *arguments, const product *p, const tasks *of)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, PATTERN_PARAMETERS(LISTED, COMMA));
    add_output(arguments, p);
    ADD_LISTED(arguments, SCALARS_PARAMETERS(LISTED, COMMA));
    add_parts(arguments, of);
}

// Then the caller adds the parameters of rows that no entry of A changes.
static void add_places(weft_arguments *arguments, const product *p)
{
    const parameters *a = &p->values;
    ADD_LISTED(arguments, ARGUMENTS_PARAMETERS(LISTED, COMMA));
    if (p->s->has_rows)
        ADD_LISTED(arguments, STORED_PARAMETERS(LISTED, COMMA));
}

// ---- enqueue

typedef struct {
    size_t global[3], local[3];
} extents;

// x by y groups for each matrix of the batch. A group has `items` items along x, and the tiling's
// rows along y.
static extents groups_of(const product *p, int64_t items, int64_t x, int64_t y)
{
    const size_t local[2] = {(size_t)items, (size_t)p->s->tiling.rows_per_group};
    return (extents){
        .global = {(size_t)x * local[0], (size_t)y * local[1], (size_t)p->s->problem.n_batches},
        .local = {local[0], local[1], 1},
    };
}

// Rows in a row block.
static int64_t rows_of_group(const weft_spmm_state *s)
{
    return (int64_t)s->tiling.rows_per_group * s->tiling.rows_per_item;
}

// Afterwards B is the packed copy in scratch memory.
static weft_status enqueue_pack(product *p)
{
    const weft_spmm_state *s = p->s;
    const int64_t k = s->problem.k, columns = weft_spmm_n_tile_columns(&s->tiling);
    const extents e = groups_of(p, s->tiling.lanes, ceil_div(k, rows_of_group(s)), s->n_tiles);
    parameters *v = &p->values;
    const pack own = {v->k, v->n, v->rows_per_item, v->scratch}, *a = &own;
    weft_arguments arguments = {.n = 0};
    add_B(&arguments, p);
    ADD_LISTED(&arguments, PACK_PARAMETERS(LISTED, COMMA));
    TRY(weft_launch_kernel(p->launch, s->kernels.pack, arguments.n, arguments.list, e.global,
                           e.local));
    v->B = v->scratch;
    v->b_start = 0;
    v->b_row = columns;
    v->b_column = k * columns;
    v->b_batch = k * columns * s->n_tiles;
    return WEFT_OK;
}

static weft_status enqueue_queues(const product *p)
{
    const weft_spmm_tiling *tiling = &p->s->tiling;
    const int64_t items = (int64_t)tiling->lanes * tiling->rows_per_group;
    extents e = groups_of(p, tiling->lanes, ceil_div(p->s->n_queues, items), 1);
    e.global[2] = 1; // queues of all matrices
    const parameters *a = &p->values;
    const weft_argument list[] = {START_QUEUES_PARAMETERS(LISTED, COMMA)};
    return weft_launch_kernel(p->launch, p->s->kernels.queues, sizeof(list) / sizeof(list[0]), list,
                              e.global, e.local);
}

// A group for each row block; or as many as fit the device, which take row blocks from queues.
static weft_status enqueue_rows(const product *p, int64_t n_row_blocks)
{
    const weft_spmm_tiling *tiling = &p->s->tiling;
    if (p->s->n_queues > 0)
        n_row_blocks =
            min_i64(n_row_blocks, weft_spmm_resident_groups(tiling, &p->call->ctx->limits, NULL));
    const extents e = groups_of(p, weft_spmm_row_items(tiling), n_row_blocks, p->s->n_tiles);
    weft_arguments arguments = {.n = 0};
    add_rows(&arguments, p);
    return weft_launch_kernel(p->launch, p->s->kernels.rows, arguments.n, arguments.list, e.global,
                              e.local);
}

// A group for each run of row blocks and each n-tile of B, which it copies. On a CPU there are few,
// long groups.
static weft_status enqueue_staged_b(product *p, int64_t n_row_blocks)
{
    const weft_spmm_tiling *tiling = &p->s->tiling;
    const int64_t n_groups = ceil_div(n_row_blocks, tiling->row_blocks_per_copy) * p->s->n_tiles;
    const bool is_few = tiling->lanes == 1 && n_groups <= MOST_LONG_GROUPS;
    parameters *v = &p->values;
    v->row_blocks_per_copy = (cl_int)min_i64(tiling->row_blocks_per_copy, n_row_blocks);
    v->groups_per_copy = is_few ? WEFT_GROUPS_OF_A_LONG_ONE : 1;
    v->staged_b = (size_t)(p->s->problem.k * weft_spmm_n_tile_columns(tiling) *
                           weft_sum_bytes(p->s->problem.dtype));
    const extents e = groups_of(p, tiling->lanes, n_groups * v->groups_per_copy, 1);
    weft_arguments arguments = {.n = 0};
    add_rows(&arguments, p);
    return weft_launch_kernel(p->launch, p->s->kernels.rows, arguments.n, arguments.list, e.global,
                              e.local);
}

// Sums the row chunks; then combines the sums of each row, one vector per item.
static weft_status enqueue_row_chunks(const product *p)
{
    const weft_spmm_state *s = p->s;
    const int64_t row_blocks = ceil_div(s->cut.n, s->tiling.rows_per_group);
    const int64_t vectors =
        ceil_div(s->problem.n, (int64_t)s->tiling.vector_width * s->tiling.lanes);
    const extents e = groups_of(p, weft_spmm_row_items(&s->tiling), row_blocks, s->n_tiles);
    const extents last = groups_of(p, s->tiling.lanes, row_blocks, vectors);
    weft_arguments sums = {.n = 0}, combine = {.n = 0};
    add_row_chunks(&sums, p);
    add_combine(&combine, p);
    TRY(weft_launch_kernel(p->launch, s->kernels.row_chunks, sums.n, sums.list, e.global, e.local));
    return weft_launch_kernel(p->launch, s->kernels.combine, combine.n, combine.list, last.global,
                              last.local);
}

// Sums the tasks; then joins the rows that are in several, one vector per item.
static weft_status enqueue_tasks(const product *p)
{
    const weft_spmm_state *s = p->s;
    const weft_spmm_tiling *tiling = &s->tiling;
    const int64_t vectors = ceil_div(s->problem.n, (int64_t)tiling->vector_width * tiling->lanes);
    const extents e =
        groups_of(p, tiling->lanes, ceil_div(s->n_tasks, tiling->rows_per_group), s->n_tiles);
    const extents last = groups_of(p, tiling->lanes, s->n_tasks, vectors);
    const parameters *const values = &p->values;
    const tasks of = {tiling->tasks, (cl_int)s->n_tasks, values->scratch, values->scratch_start};
    weft_arguments sums = {.n = 0}, join = {.n = 0};
    add_tasks(&sums, p, &of);
    add_join(&join, p, &of);
    TRY(weft_launch_kernel(p->launch, s->kernels.rows, sums.n, sums.list, e.global, e.local));
    return weft_launch_kernel(p->launch, s->kernels.combine, join.n, join.list, last.global,
                              last.local);
}

// Whether C = f(beta C + bias) does not change C.
static bool is_unchanged(const product *p)
{
    return weft_rounded(p->s->problem.dtype, p->given->beta) == 1 &&
           !p->call->operands[WEFT_SPMM_BIAS] && p->given->activation == WEFT_ACTIVATION_NONE;
}

// C = f(beta C + bias), and arguments -1, in all rows or in those that A does not store. The rows
// are equal work: there are as many groups as keep the device busy.
static weft_status enqueue_scale(const product *p)
{
    const weft_spmm_state *s = p->s;
    const int rows = s->tiling.rows_per_group;
    const int64_t n_tiles = s->n_rows * s->n_tiles * s->problem.n_batches;
    const int64_t run = weft_items_run(&p->call->ctx->limits, rows, n_tiles);
    const extents e = groups_of(p, s->tiling.lanes, ceil_div(s->n_rows, rows * run), s->n_tiles);
    const scale own = {(cl_int)s->n_rows, p->values.n, (cl_int)run, p->values.beta}, *a = &own;
    weft_arguments scaled = {.n = 0}, none = {.n = 0};
    add_output(&scaled, p);
    ADD_LISTED(&scaled, SCALE_PARAMETERS(LISTED, COMMA));
    if (!is_unchanged(p))
        TRY(weft_launch_kernel(p->launch, s->kernels.scale, scaled.n, scaled.list, e.global,
                               e.local));
    if (!s->kernels.none)
        return WEFT_OK;
    add_places(&none, p);
    ADD_LISTED(&none, LEFT_PARAMETERS(LISTED, COMMA));
    return weft_launch_kernel(p->launch, s->kernels.none, none.n, none.list, e.global, e.local);
}

weft_status weft_spmm_enqueue(weft_launch *launch, const void *state, const weft_call *call,
                              cl_mem scratch)
{
    product p = {.launch = launch, .s = state, .call = call, .given = call->own};
    const weft_spmm_state *s = p.s;
    set_matrix(&p);
    set_rows(&p);
    set_B(&p);
    set_C(&p);
    set_arguments(&p);
    set_scratch(&p, scratch);
    if (s->is_scale)
        return enqueue_scale(&p);
    if (s->has_rows && s->n_rows > s->problem.m)
        TRY(enqueue_scale(&p));
    if (s->tiling.packed)
        TRY(enqueue_pack(&p));
    if (s->n_tasks > 0)
        return enqueue_tasks(&p);
    const int64_t n_row_blocks = ceil_div(p.values.n_ordered, rows_of_group(s));
    if (n_row_blocks > 0) { // else all rows are long
        if (s->n_queues > 0)
            TRY(enqueue_queues(&p));
        TRY(s->tiling.row_blocks_per_copy > 0 ? enqueue_staged_b(&p, n_row_blocks)
                                              : enqueue_rows(&p, n_row_blocks));
    }
    return s->cut.n > 0 ? enqueue_row_chunks(&p) : WEFT_OK;
}

// ---- in words

static const char *result_words(const weft_spmm_state *s)
{
    static const char *const words[] = {
        [WEFT_SPMM_SUM] = "",
        [WEFT_SPMM_MEAN] = "; means",
        [WEFT_SPMM_MAX] = "; largest products",
        [WEFT_SPMM_MIN] = "; smallest products",
    };
    return words[s->problem.reduction];
}

// The bias and the activation: "; bias; relu".
static const char *end_words(const weft_call *call, char *text, size_t size)
{
    const weft_spmm_numbers *given = call->own;
    const bool is_activated = given->activation != WEFT_ACTIVATION_NONE;
    snprintf(text, size, "%s%s%s", call->operands[WEFT_SPMM_BIAS] ? "; bias" : "",
             is_activated ? "; " : "", is_activated ? weft_activation_name(given->activation) : "");
    return text;
}

// "; rows that are not stored: 997"
static const char *rows_words(const weft_spmm_state *s, const weft_call *call, char *text,
                              size_t size)
{
    const weft_spmm_numbers *given = call->own;
    snprintf(text, size, "%s", "");
    if (call->operands[WEFT_SPMM_ROWS] && !given->transpose_a)
        snprintf(text, size, "; rows that are not stored: %" PRId64, s->n_rows - s->problem.m);
    return text;
}

static const char *schedule_words(const weft_spmm_state *s, const weft_spmm_plan *plan, char *text,
                                  size_t size)
{
    if (s->n_tasks > 0)
        snprintf(text, size, "%srows as given, in %" PRId64 " tasks", plan ? "" : "no plan, ",
                 s->n_tasks);
    else if (s->is_planned && plan->order && !s->has_order)
        snprintf(text, size, "rows as given, as those of B are near or narrow");
    else if (s->is_planned)
        weft_spmm_row_schedule_print(plan, s->unqueued, text, size);
    else if (plan)
        snprintf(text, size,
                 "as given: scratch memory has no room for %" PRId64 " row chunks of %" PRId64,
                 plan->n_row_chunks, plan->row_chunk);
    else
        snprintf(text, size, "no plan");
    return text;
}

int weft_spmm_print(const void *state, const weft_call *call, char *text, size_t size)
{
    const weft_spmm_state *s = state;
    const weft_spmm_numbers *given = call->own;
    char tiling[256], schedule[256], rows[64], ends[64];
    weft_spmm_tiling_print(&s->tiling, tiling, sizeof(tiling));
    return snprintf(text, size, "%s; %s%s, %" PRId64 " row chunks of long rows%s%s%s", tiling,
                    schedule_words(s, given->plan, schedule, sizeof(schedule)),
                    s->has_segments ? " in segments" : "", s->cut.n,
                    rows_words(s, call, rows, sizeof(rows)), result_words(s),
                    end_words(call, ends, sizeof(ends)));
}

// ---- calls

const weft_op weft_spmm_op = {
    .name = "spmm",
    .n_operands = WEFT_SPMM_OPERANDS,
    .operands = {[WEFT_SPMM_ROWS] = {.name = "A",
                                     .kind = WEFT_OPERAND_ROWS,
                                     .access = WEFT_READS_OFFSETS,
                                     .is_optional = true},
                 [WEFT_SPMM_A] = {.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 [WEFT_SPMM_B] = {.name = "B", .access = WEFT_READS_VALUES},
                 [WEFT_SPMM_C] = {.name = "C", .access = WEFT_WRITES_VALUES},
                 [WEFT_SPMM_BIAS] = {.name = "bias",
                                     .access = WEFT_READS_VALUES,
                                     .is_optional = true},
                 [WEFT_SPMM_ARGUMENTS] = {.name = "arguments",
                                          .access = WEFT_WRITES_VALUES,
                                          .is_optional = true}},
    .key = weft_spmm_key,
    .check = weft_spmm_check,
    WEFT_SPMM_HOOKS,
};

typedef struct {
    weft_call call;
    weft_spmm_numbers own;
    weft_csr stored; // the stored rows of a DCSR
} request;

// Fills in all but A, which is a CSR or a DCSR.
static weft_status request_of(request *r, weft_context *ctx, double alpha, const weft_tensor *B,
                              double beta, const weft_tensor *C, const weft_spmm_params *params)
{
    weft_spmm_params own;
    TRY(PARAMS_READ(&own, params, "spmm", "WEFT_SPMM"));
    r->own = (weft_spmm_numbers){
        .alpha = alpha,
        .beta = beta,
        .plan = own.plan,
        .transpose_a = own.transpose_a,
        .reduction = own.reduction,
        .activation = own.activation,
    };
    r->call = (weft_call){
        .op = &weft_spmm_op,
        .ctx = ctx,
        .operands = {[WEFT_SPMM_B] = B,
                     [WEFT_SPMM_C] = C,
                     [WEFT_SPMM_BIAS] = own.bias,
                     [WEFT_SPMM_ARGUMENTS] = own.arguments},
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

static void take_dcsr(request *r, const weft_dcsr *A)
{
    if (!A)
        return;
    r->stored = weft_dcsr_stored(A);
    r->call.operands[WEFT_SPMM_A] = &r->stored;
    r->call.operands[WEFT_SPMM_ROWS] = A;
}

weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha, const weft_csr *A,
                      const weft_tensor *B, double beta, const weft_tensor *C,
                      const weft_spmm_params *params)
{
    request r;
    TRY(request_of(&r, ctx, alpha, B, beta, C, params));
    r.call.operands[WEFT_SPMM_A] = A;
    return weft_op_run(&r.call, queue);
}

weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, 1, B, 0, C, params));
    r.call.operands[WEFT_SPMM_A] = A;
    return weft_op_workspace(&r.call, bytes);
}

int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                       const weft_tensor *C, const weft_spmm_params *params, char *text,
                       size_t size)
{
    request r;
    if (request_of(&r, ctx, 1, B, 0, C, params) != WEFT_OK)
        return -1;
    r.call.operands[WEFT_SPMM_A] = A;
    return weft_op_describe(&r.call, text, size);
}

weft_status weft_spmm_dcsr(weft_context *ctx, cl_command_queue queue, double alpha,
                           const weft_dcsr *A, const weft_tensor *B, double beta,
                           const weft_tensor *C, const weft_spmm_params *params)
{
    request r;
    TRY(request_of(&r, ctx, alpha, B, beta, C, params));
    take_dcsr(&r, A);
    return weft_op_run(&r.call, queue);
}

weft_status weft_spmm_dcsr_workspace(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                                     const weft_tensor *C, const weft_spmm_params *params,
                                     size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, 1, B, 0, C, params));
    take_dcsr(&r, A);
    return weft_op_workspace(&r.call, bytes);
}

int weft_spmm_dcsr_describe(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                            const weft_tensor *C, const weft_spmm_params *params, char *text,
                            size_t size)
{
    request r;
    if (request_of(&r, ctx, 1, B, 0, C, params) != WEFT_OK)
        return -1;
    take_dcsr(&r, A);
    return weft_op_describe(&r.call, text, size);
}
