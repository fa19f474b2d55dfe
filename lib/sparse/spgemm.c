// SPDX-License-Identifier: Apache-2.0
// C = A B, A and B sparse, C too or dense: plan, defines, arguments, enqueue. Checked by
// spgemm_check.c.
#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"
#include "sparse/spgemm_call.h"
#include "sparse/spgemm_parameters.h"

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

static void plan_scratch(weft_spgemm_state *s, weft_spgemm_step step)
{
    weft_scratch scratch = {0};
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
    if (step_of(call) == WEFT_SPGEMM_TO_DENSE)
        s->tiling.sorted = 0; // all columns are written
    s->head.group_items = (size_t)s->tiling.items;
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

static weft_defines defines_of(const weft_spgemm_state *s, const weft_call *call)
{
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_A));
    const weft_csr B = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPGEMM_B));
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
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
    TRY(weft_kernel_narrow(&s->count_long, most, ctx, count, defines, "spgemm_count_long"));
    return step == WEFT_SPGEMM_COUNT
               ? weft_kernel_narrow(&s->join_long, most, ctx, source, defines, "spgemm_join_long")
               : weft_kernel_narrow(&s->fill_long, most, ctx, source, defines, "spgemm_fill_long");
}

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    weft_spgemm_state *s = state;
    const weft_spgemm_step step = step_of(call);
    const weft_defines defines = defines_of(s, call);
    TRY(weft_kernel_narrow(&s->rows, most, call->ctx, programs[step].source, &defines,
                           programs[step].rows));
    if (s->has_long)
        TRY(build_long(s, most, call, &defines));
    return step == WEFT_SPGEMM_COUNT ? weft_scan_kernels(&s->scan, call->ctx, most) : WEFT_OK;
}

// ---- arguments

typedef struct {
    FACTORS_PARAMETERS(FIELD, )
} factors;

typedef struct {
    NOTES_PARAMETERS(FIELD, )
} notes;

typedef struct {
    COUNTS_PARAMETERS(FIELD, , OUT)
} counts;

typedef struct {
    OFFSETS_PARAMETERS(FIELD, , SOLE_OUT)
} offsets;

typedef struct {
    ENTRIES_PARAMETERS(FIELD, )
} entries;

typedef struct {
    ELEMENTS_PARAMETERS(FIELD, )
} elements;

// One call.
typedef struct {
    weft_launch *launch;
    const weft_spgemm_state *s;
    factors factors;
    notes notes;
    counts counts;
    offsets offsets;   // of a sparse C
    entries entries;   // the same
    elements elements; // of a dense one
} product;

// The array, or where it is not there another buffer, which is not read.
static cl_mem or_offsets(cl_mem array, const weft_csr *csr)
{
    return array && csr->nnz > 0 ? array : csr->offsets;
}

static factors factors_of(const weft_csr *A, const weft_csr *B)
{
    return (factors){
        .a_offsets = A->offsets,
        .a_offsets_start = A->offsets_start,
        .a_indices = or_offsets(A->indices, A),
        .a_indices_start = A->indices_start,
        .a_values = or_offsets(A->values, A),
        .a_values_start = A->values_start,
        .b_offsets = B->offsets,
        .b_offsets_start = B->offsets_start,
        .b_indices = or_offsets(B->indices, B),
        .b_indices_start = B->indices_start,
        .b_values = or_offsets(B->values, B),
        .b_values_start = B->values_start,
    };
}

// Without long rows `other` is passed for the notes, and not read.
static product product_of(weft_launch *launch, const weft_spgemm_state *s, const weft_call *call,
                          cl_mem scratch, cl_mem other)
{
    return (product){
        .launch = launch,
        .s = s,
        .factors =
            factors_of(weft_call_csr(call, WEFT_SPGEMM_A), weft_call_csr(call, WEFT_SPGEMM_B)),
        .notes = {s->has_long ? scratch : other, s->notes, WEFT_SPGEMM_NOTED},
        .counts = {scratch, s->counts},
    };
}

static void add_factors(weft_arguments *arguments, const factors *a)
{
    ADD_LISTED(arguments, FACTORS_PARAMETERS(LISTED, COMMA));
}

static void add_notes(weft_arguments *arguments, const notes *a)
{
    ADD_LISTED(arguments, NOTES_PARAMETERS(LISTED, COMMA));
}

static void add_counts(weft_arguments *arguments, const counts *a)
{
    ADD_LISTED(arguments, COUNTS_PARAMETERS(LISTED, COMMA, OUT));
}

static void add_offsets(weft_arguments *arguments, const offsets *a)
{
    ADD_LISTED(arguments, OFFSETS_PARAMETERS(LISTED, COMMA, SOLE_OUT));
}

static void add_marks(weft_arguments *arguments, const product *p, int64_t words)
{
    const struct {
        MARKS_PARAMETERS(FIELD, )
    } own = {(size_t)weft_spgemm_marks_bytes(words, p->s->tiling.items)}, *a = &own;
    ADD_LISTED(arguments, MARKS_PARAMETERS(LISTED, COMMA));
}

static size_t sums_bytes(const product *p, int64_t columns)
{
    return (size_t)(columns * weft_sum_bytes(p->s->problem.dtype));
}

// Words of marks, their ranks, and so many sums; then the entries.
static void add_entries(weft_arguments *arguments, product *p, int64_t words, int64_t columns)
{
    entries *a = &p->entries;
    a->ranks = (size_t)words * sizeof(cl_int);
    a->sums = sums_bytes(p, columns);
    add_marks(arguments, p, words);
    ADD_LISTED(arguments, ENTRIES_PARAMETERS(LISTED, COMMA));
}

// C, and sums of so many columns.
static void add_elements(weft_arguments *arguments, product *p, int64_t columns)
{
    elements *a = &p->elements;
    a->sums = sums_bytes(p, columns);
    ADD_LISTED(arguments, ELEMENTS_PARAMETERS(LISTED, COMMA));
}

// Of marks, where there is room for so many sums.
static cl_int words_of(const product *p, int columns)
{
    return (cl_int)weft_spgemm_words(columns, p->s->tiling.items);
}

// ---- enqueue

static cl_int long_from(const weft_spgemm_state *s)
{
    return s->has_long ? s->tiling.long_from : 0;
}

// To count, tiling.columns is the number of words.
static weft_status enqueue_count(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        COUNT_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .words = s->tiling.columns,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, COUNT_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_offsets(&arguments, &p->offsets);
    add_marks(&arguments, p, own.words);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_fill(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        FILL_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .columns = s->tiling.columns,
             .words = words_of(p, s->tiling.columns),
             .sorted = s->tiling.sorted,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, FILL_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_offsets(&arguments, &p->offsets);
    add_entries(&arguments, p, own.words, own.columns);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_dense(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        DENSE_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .columns = s->tiling.columns,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, DENSE_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_elements(&arguments, p, own.columns);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_start(const product *p)
{
    weft_arguments arguments = {.n = 0};
    add_notes(&arguments, &p->notes);
    return weft_items_enqueue(p->launch, p->s->start, arguments.n, arguments.list,
                              p->s->tiling.items, (const int64_t[3]){1});
}

static weft_status enqueue_count_long(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        COUNT_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n,
             .chunk = s->chunk,
             .share = s->share,
             .n_chunks = (cl_int)s->n_chunks,
             .words = s->tiling.long_columns},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, COUNT_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_marks(&arguments, p, own.words);
    return weft_items_enqueue(
        p->launch, s->count_long, arguments.n, arguments.list, s->tiling.items,
        (const int64_t[3]){ceil_div(s->n_chunks, s->share), WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_join_long(const product *p)
{
    const struct {
        JOIN_LONG_PARAMETERS(FIELD, )
    } own = {.n_chunks = (cl_int)p->s->n_chunks}, *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, JOIN_LONG_PARAMETERS(LISTED, COMMA));
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_offsets(&arguments, &p->offsets);
    return weft_items_enqueue(p->launch, p->s->join_long, arguments.n, arguments.list,
                              p->s->tiling.items, (const int64_t[3]){1, WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_fill_long(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        FILL_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n,
             .chunk = s->chunk,
             .n_chunks = (cl_int)s->n_chunks,
             .columns = s->tiling.long_columns,
             .words = words_of(p, s->tiling.long_columns)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, FILL_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_offsets(&arguments, &p->offsets);
    add_entries(&arguments, p, own.words, own.columns);
    return weft_items_enqueue(p->launch, s->fill_long, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_chunks, WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_dense_long(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        DENSE_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n, .chunk = s->chunk, .columns = s->tiling.long_columns},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, DENSE_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_elements(&arguments, p, own.columns);
    return weft_items_enqueue(p->launch, s->dense_long, arguments.n, arguments.list,
                              s->tiling.items,
                              (const int64_t[3]){s->n_chunks, WEFT_SPGEMM_AT_ONCE});
}

// ---- steps

static weft_status count_rows(const product *p)
{
    if (p->s->problem.m == 0)
        return WEFT_OK;
    if (p->s->has_long)
        TRY(enqueue_start(p));
    TRY(enqueue_count(p));
    if (!p->s->has_long)
        return WEFT_OK;
    TRY(enqueue_count_long(p));
    return enqueue_join_long(p);
}

static weft_status run_count(weft_launch *launch, const void *state, const weft_call *call,
                             cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_csr *C = weft_call_csr(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->offsets);
    p.offsets = (offsets){C->offsets, C->offsets_start};
    TRY(count_rows(&p));
    const weft_numbers of_c = {C->offsets, C->offsets_start};
    // One group needs no sums: another buffer is passed.
    const weft_numbers sums = s->scan.n_groups > 1 ? (weft_numbers){scratch, s->sums} : of_c;
    return weft_scan_enqueue(launch, &s->scan, of_c, of_c, true, sums);
}

static weft_status run_fill(weft_launch *launch, const void *state, const weft_call *call,
                            cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_csr *C = weft_call_csr(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->offsets);
    p.offsets = (offsets){C->offsets, C->offsets_start};
    p.entries.c_indices = C->indices;
    p.entries.c_indices_start = C->indices_start;
    p.entries.c_values = C->values;
    p.entries.c_values_start = C->values_start;
    if (!s->has_long)
        return enqueue_fill(&p);
    TRY(enqueue_start(&p));
    TRY(enqueue_fill(&p));
    TRY(enqueue_count_long(&p));
    return enqueue_fill_long(&p);
}

static weft_status run_dense(weft_launch *launch, const void *state, const weft_call *call,
                             cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_spgemm_numbers *given = call->own;
    const weft_tensor *C = weft_call_tensor(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->buffer);
    p.elements = (elements){
        .C = C->buffer,
        .c_start = C->offset,
        .c_row = C->stride[0],
        .c_column = C->stride[1],
        .alpha = weft_number_of(s->problem.dtype, s->has_products ? given->alpha : 0),
        .beta = weft_number_of(s->problem.dtype, given->beta),
    };
    if (s->has_long)
        TRY(enqueue_start(&p));
    TRY(enqueue_dense(&p));
    return s->has_long ? enqueue_dense_long(&p) : WEFT_OK;
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
    .run = run_count,
    HOOKS,
};

static const weft_op spgemm = {
    .name = "spgemm",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "C",
                  .kind = WEFT_OPERAND_CSR,
                  .access = WEFT_READS_OFFSETS | WEFT_WRITES_ENTRIES}},
    .run = run_fill,
    HOOKS,
};

static const weft_op spgemm_dense = {
    .name = "spgemm_dense",
    .operands = {{.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
                 {.name = "C", .access = WEFT_WRITES_VALUES}},
    .run = run_dense,
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
