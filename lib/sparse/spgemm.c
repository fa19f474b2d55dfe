// SPDX-License-Identifier: Apache-2.0
// C = A B, A and B sparse, C too or dense: plan, defines, calls. Checked by spgemm_check.c, and
// enqueued by spgemm_steps.c.
#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "sparse/spgemm_call.h"

static weft_spgemm_step step_of(const weft_call *call)
{
    return ((const weft_spgemm_numbers *)call->own)->step;
}

// ---- plan

// What makes plans differ: the data type that alpha and beta are rounded to is in the key already.
static void add_key(weft_key *key, const weft_call *call)
{
    const weft_spgemm_numbers *given = call->own;
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->alpha) == 0);
    weft_key_add_number(key, given->alpha == 0);
    weft_key_add_number(key, weft_rounded(WEFT_F32, given->beta) == 1);
    weft_key_add_number(key, given->beta == 1);
}

static void plan_long(weft_spgemm_state *s)
{
    const weft_spgemm_tiling *t = &s->tiling;
    const int64_t n = s->problem.n;
    s->has_long = t->long_from > 0 && s->problem.m > 0 && n > 0 && !s->is_scaling;
    if (!s->has_long)
        return;
    s->chunk = ceil_div(ceil_div(n, t->long_columns), t->long_groups) * t->long_columns;
    s->n_chunks = ceil_div(n, s->chunk);
    s->share = max_i64((int64_t)t->long_columns * weft_spgemm_word(t->items) / s->chunk, 1);
}

static void plan_sorted(weft_spgemm_state *s, weft_spgemm_step step)
{
    weft_spgemm_tiling *t = &s->tiling;
    if (step == WEFT_SPGEMM_TO_DENSE) { // all columns are written
        t->sorted = t->sort_items = t->sort_rows = 0;
        t->sort_counts = false;
    }
    s->has_sorted =
        t->sort_items > 0 && s->problem.m > 0 && (step == WEFT_SPGEMM_FILL || t->sort_counts);
}

static void plan_scratch(weft_spgemm_state *s, weft_spgemm_step step)
{
    weft_scratch scratch = {0};
    if (s->has_sorted)
        s->left = weft_scratch_add(&scratch, s->n_row_blocks, WEFT_I32);
    if (s->has_long) {
        s->notes = weft_scratch_add(&scratch, WEFT_SPGEMM_NOTED + 1, WEFT_I32);
        if (step != WEFT_SPGEMM_TO_DENSE)
            s->counts = weft_scratch_add(&scratch, WEFT_SPGEMM_NOTED * s->n_chunks, s->c_offset);
    }
    if (s->scan.n_groups > 1)
        s->sums = weft_scratch_add(&scratch, s->scan.n_groups, s->c_offset);
    s->head.scratch_bytes = scratch.bytes;
}

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    weft_spgemm_state *s = state;
    if (s->head.is_forced)
        TRY(weft_spgemm_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_spgemm_tiling_for(limits, &s->problem);
    plan_sorted(s, step_of(call));
    s->head.group_items = (size_t)max_i64(s->tiling.items, s->tiling.sort_items);
    s->n_row_blocks = ceil_div(s->problem.m, s->tiling.rows);
    plan_long(s);
    if (step_of(call) == WEFT_SPGEMM_COUNT)
        s->scan = weft_scan_for(limits, s->tiling.items, s->c_offset, s->problem.m);
    plan_scratch(s, step_of(call));
    return WEFT_OK;
}

// ---- defines

// By step, the kernels and the one that does rows of usual length.
static const struct {
    const weft_source *source;
    const char *rows;
} programs[] = {
    [WEFT_SPGEMM_COUNT] = {&weft_source_spgemm_count, "spgemm_count"},
    [WEFT_SPGEMM_FILL] = {&weft_source_spgemm_fill, "spgemm_fill"},
    [WEFT_SPGEMM_TO_DENSE] = {&weft_source_spgemm_dense, "spgemm_dense"},
};

static bool has_adjacent_columns(const weft_tensor *C)
{
    return C->stride[1] == 1 || C->shape[1] <= 1;
}

static weft_defines defines_of(const weft_spgemm_state *s, const weft_call *call, int items,
                               bool has_sorted)
{
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_A));
    const weft_csr B = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_B));
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", items);
    weft_defines_add(&defines, "SORTED", has_sorted);
    weft_defines_add(&defines, "SHARED", s->has_long);
    weft_defines_add(&defines, "ROWS_AT_ONCE", WEFT_SPGEMM_AT_ONCE);
    weft_defines_add(&defines, "WORD", weft_spgemm_word(s->tiling.items));
    weft_defines_add(&defines, "ROOM", WEFT_SPGEMM_ROOM);
    weft_defines_add(&defines, "LEAST", WEFT_SPGEMM_LEAST);
    weft_defines_add(&defines, "MOST_PRODUCTS", WEFT_SPGEMM_MOST_PRODUCTS);
    weft_defines_add_dtype(&defines, "DTYPE", s->problem.dtype);
    weft_defines_add_word(&defines, "OFFSET", weft_word(A.offset_dtype));
    weft_defines_add_word(&defines, "INDEX", weft_word(A.index_dtype));
    weft_defines_add_word(&defines, "B_OFFSET", weft_word(B.offset_dtype));
    weft_defines_add_word(&defines, "B_INDEX", weft_word(B.index_dtype));
    weft_defines_add_word(&defines, "NUMBER", weft_word(s->c_offset));
    weft_defines_add_word(&defines, "C_INDEX", weft_word(s->c_index));
    if (step_of(call) == WEFT_SPGEMM_TO_DENSE)
        weft_defines_add(&defines, "COLUMNS_ADJACENT",
                         has_adjacent_columns(weft_call_tensor(call, WEFT_SPGEMM_C)));
    return defines;
}

// Entries of noted rows are counted by the same kernel at both steps.
static weft_status build_long(weft_spgemm_state *s, size_t *most, const weft_call *call,
                              const weft_defines *defines)
{
    weft_context *ctx = call->ctx;
    const weft_spgemm_step step = step_of(call);
    const weft_source *source = programs[step].source;
    const weft_source *count = &weft_source_spgemm_count;
    TRY(weft_kernel_narrow(&s->start, most, ctx, source, defines, "spgemm_start"));
    if (step == WEFT_SPGEMM_TO_DENSE)
        return weft_kernel_narrow(&s->dense_long, most, ctx, source, defines, "spgemm_dense_long");
    const weft_defines of_count = defines_of(s, call, s->tiling.items, s->tiling.sort_counts);
    TRY(weft_kernel_narrow(&s->count_long, most, ctx, count, &of_count, "spgemm_count_long"));
    return step == WEFT_SPGEMM_COUNT
               ? weft_kernel_narrow(&s->join_long, most, ctx, source, defines, "spgemm_join_long")
               : weft_kernel_narrow(&s->fill_long, most, ctx, source, defines, "spgemm_fill_long");
}

static weft_status build_sorted(weft_spgemm_state *s, size_t *most, const weft_call *call)
{
    const weft_defines defines = defines_of(s, call, s->tiling.sort_items, true);
    return weft_kernel_narrow(&s->sorted, most, call->ctx, &weft_source_spgemm_sort, &defines,
                              step_of(call) == WEFT_SPGEMM_COUNT ? "spgemm_count_sorted"
                                                                 : "spgemm_fill_sorted");
}

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    weft_spgemm_state *s = state;
    const weft_spgemm_step step = step_of(call);
    const weft_defines defines = defines_of(s, call, s->tiling.items, s->has_sorted);
    TRY(weft_kernel_narrow(&s->rows, most, call->ctx, programs[step].source, &defines,
                           programs[step].rows));
    if (s->has_sorted)
        TRY(build_sorted(s, most, call));
    if (s->has_long)
        TRY(build_long(s, most, call, &defines));
    return step == WEFT_SPGEMM_COUNT ? weft_scan_kernels(&s->scan, call->ctx, most) : WEFT_OK;
}

static int print(const void *state, const weft_call *call, char *text, size_t size)
{
    (void)call;
    return weft_spgemm_tiling_print(&((const weft_spgemm_state *)state)->tiling, text, size);
}

// ---- the operations

#define HOOKS                                                                                      \
    .n_operands = 3, .state_bytes = sizeof(weft_spgemm_state), .key = add_key,                     \
    .check = weft_spgemm_check, .plan = plan, .build = build, .print = print

static const weft_op spgemm_count = {
    .name = "spgemm_count",
    .operands =
        {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_PATTERN | WEFT_SPARES_VALUES},
         {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_PATTERN | WEFT_SPARES_VALUES},
         {.name = "C", .kind = WEFT_OPERAND_CSR, .access = WEFT_WRITES_OFFSETS}},
    .run = weft_spgemm_run_count,
    HOOKS,
};

static const weft_op spgemm = {
    .name = "spgemm",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "C",
                  .kind = WEFT_OPERAND_CSR,
                  .access = WEFT_READS_OFFSETS | WEFT_WRITES_ENTRIES}},
    .run = weft_spgemm_run_fill,
    HOOKS,
};

static const weft_op spgemm_dense = {
    .name = "spgemm_dense",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "C", .access = WEFT_WRITES_VALUES}},
    .run = weft_spgemm_run_dense,
    HOOKS,
};

// ---- calls

typedef struct {
    weft_call call;
    weft_spgemm_numbers own;
} request;

// C is a CSR, or dense with alpha and beta.
static weft_status request_of(request *r, weft_spgemm_step step, weft_context *ctx, double alpha,
                              const weft_csr *A, const weft_csr *B, double beta, const void *C,
                              const weft_spgemm_params *params)
{
    static const weft_op *const ops[] = {[WEFT_SPGEMM_COUNT] = &spgemm_count,
                                         [WEFT_SPGEMM_FILL] = &spgemm,
                                         [WEFT_SPGEMM_TO_DENSE] = &spgemm_dense};
    weft_spgemm_params own;
    TRY(PARAMS_READ(&own, params, ops[step]->name, "WEFT_SPGEMM"));
    r->own = (weft_spgemm_numbers){step, alpha, beta};
    r->call = (weft_call){
        .op = ops[step],
        .ctx = ctx,
        .operands = {A, B, C},
        .own = &r->own,
        .tiling = own.tiling,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_csr *B, const weft_csr *C, int64_t *nnz,
                              const weft_spgemm_params *params)
{
    request r;
    cl_event done = NULL;
    TRY(request_of(&r, WEFT_SPGEMM_COUNT, ctx, 0, A, B, 0, C, params));
    cl_event *const event = r.call.event;
    if (nnz && ctx)
        TRY(weft_recorder_copy_check(ctx, "spgemm_count"));
    if (nnz)
        r.call.event = &done;
    TRY(weft_op_run(&r.call, queue));
    return nnz ? weft_scan_total(nnz, queue, C, done, event, "spgemm_count") : WEFT_OK;
}

weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                        const weft_csr *B, const weft_csr *C, const weft_spgemm_params *params)
{
    request r;
    TRY(request_of(&r, WEFT_SPGEMM_FILL, ctx, 0, A, B, 0, C, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_spgemm_dense(weft_context *ctx, cl_command_queue queue, double alpha,
                              const weft_csr *A, const weft_csr *B, double beta,
                              const weft_tensor *C, const weft_spgemm_params *params)
{
    request r;
    TRY(request_of(&r, WEFT_SPGEMM_TO_DENSE, ctx, alpha, A, B, beta, C, params));
    return weft_op_run(&r.call, queue);
}

// ---- what a call would do

// Scratch memory of the second step, planned as if C had an entry.
static weft_status fill_bytes(size_t *bytes, weft_context *ctx, const weft_csr *A,
                              const weft_csr *B, const weft_csr *C,
                              const weft_spgemm_params *params)
{
    request r;
    weft_spgemm_state s;
    weft_csr counted = *C;
    counted.nnz = 1;
    TRY(request_of(&r, WEFT_SPGEMM_FILL, ctx, 0, A, B, 0, &counted, params));
    TRY(weft_op_prepare(&s, &r.call));
    *bytes = s.head.scratch_bytes;
    return WEFT_OK;
}

weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params,
                                  size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spgemm_workspace: bytes is NULL");
    request r;
    size_t of_count = 0, of_fill = 0;
    *bytes = 0;
    TRY(request_of(&r, WEFT_SPGEMM_COUNT, ctx, 0, A, B, 0, C, params));
    TRY(weft_op_workspace(&r.call, &of_count));
    TRY(fill_bytes(&of_fill, ctx, A, B, C, params));
    *bytes = of_fill > of_count ? of_fill : of_count;
    return WEFT_OK;
}

int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B, const weft_csr *C,
                         const weft_spgemm_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, WEFT_SPGEMM_COUNT, ctx, 0, A, B, 0, C, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}

weft_status weft_spgemm_dense_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                        const weft_tensor *C, const weft_spgemm_params *params,
                                        size_t *bytes)
{
    request r;
    TRY(request_of(&r, WEFT_SPGEMM_TO_DENSE, ctx, 1, A, B, 0, C, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_spgemm_dense_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                               const weft_tensor *C, const weft_spgemm_params *params, char *text,
                               size_t size)
{
    request r;
    return request_of(&r, WEFT_SPGEMM_TO_DENSE, ctx, 1, A, B, 0, C, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
