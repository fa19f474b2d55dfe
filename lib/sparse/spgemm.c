// SPDX-License-Identifier: Apache-2.0
// C = A B, A and B sparse, C too or dense. Checked by spgemm_check.c; here: plan, defines,
// arguments, enqueue.
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "op/items.h"
#include "op/scan.h"
#include "operand/csr_content.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "sparse/spgemm_call.h"

// ---- plan

// How a call runs. In scratch memory lie the notes of long rows and the counts of their chunks,
// adjacent columns each, and what the running sums want.
typedef struct {
    weft_spgemm_tiling tiling;
    int64_t n_bundles;       // of rows
    bool has_long;           // rows, perhaps
    int64_t chunk, n_chunks; // columns; of a row
    int64_t share;           // chunks of a group that counts
    weft_scan scan;          // of the rows' lengths, where they are counted
    int64_t notes, counts, sums;
    size_t scratch_bytes;
    weft_kernel *rows, *start, *count_long, *join_long, *fill_long, *dense_long;
} schedule;

static bool is_empty(const weft_spgemm_call *call)
{
    return call->C.n_rows == 0 || call->C.n_cols == 0;
}

// C = beta C.
static bool is_scaling(const weft_spgemm_call *call)
{
    return call->dense && weft_rounded(call->C.dtype, call->alpha) == 0;
}

static void schedule_long(schedule *s, const weft_spgemm_call *call)
{
    const weft_spgemm_tiling *t = &s->tiling;
    const int64_t n = call->problem.n;
    s->has_long = t->long_from > 0 && !is_empty(call) && !is_scaling(call);
    if (!s->has_long)
        return;
    s->chunk = ceil_div(ceil_div(n, t->long_columns), t->long_groups) * t->long_columns;
    s->n_chunks = ceil_div(n, s->chunk);
    s->share = max_i64((int64_t)t->long_columns * weft_spgemm_word(t->items) / s->chunk, 1);
}

static void schedule_scratch(schedule *s, const weft_spgemm_call *call)
{
    const weft_dtype wide = call->C.offset_dtype;
    weft_scratch scratch = {0};
    if (s->has_long) {
        s->notes = weft_scratch_add(&scratch, WEFT_SPGEMM_NOTED + 1, WEFT_I32);
        if (!call->dense)
            s->counts = weft_scratch_add(&scratch, WEFT_SPGEMM_NOTED * s->n_chunks, wide);
    }
    if (s->scan.n_groups > 1)
        s->sums = weft_scratch_add(&scratch, s->scan.n_groups, wide);
    s->scratch_bytes = scratch.bytes;
}

static schedule schedule_for(const weft_spgemm_call *call, const weft_limits *limits)
{
    schedule s = {
        .tiling = call->is_forced ? call->forced : weft_spgemm_tiling_for(limits, &call->problem),
    };
    s.n_bundles = ceil_div(call->problem.m, s.tiling.rows);
    schedule_long(&s, call);
    if (call->step == WEFT_SPGEMM_COUNT)
        s.scan = weft_scan_for(limits, s.tiling.items, call->C.offset_dtype, call->problem.m);
    schedule_scratch(&s, call);
    return s;
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

static bool has_adjacent_columns(const weft_spgemm_call *call)
{
    return call->dense->stride[1] == 1 || call->problem.n <= 1;
}

// Entries of noted rows are counted by the same kernel at both steps.
static weft_status long_kernels_for(schedule *s, size_t *most, const weft_spgemm_call *call,
                                    const weft_defines *defines)
{
    weft_context *ctx = call->ctx;
    const weft_source *source = programs[call->step].source;
    const weft_source *count = &weft_source_spgemm_count;
    TRY(weft_kernel_narrow(&s->start, most, ctx, source, defines, "spgemm_start"));
    if (call->dense)
        return weft_kernel_narrow(&s->dense_long, most, ctx, source, defines, "spgemm_dense_long");
    TRY(weft_kernel_narrow(&s->count_long, most, ctx, count, defines, "spgemm_count_long"));
    return call->step == WEFT_SPGEMM_COUNT
               ? weft_kernel_narrow(&s->join_long, most, ctx, source, defines, "spgemm_join_long")
               : weft_kernel_narrow(&s->fill_long, most, ctx, source, defines, "spgemm_fill_long");
}

static weft_status kernels_for(schedule *s, size_t *most, const weft_spgemm_call *call)
{
    weft_context *ctx = call->ctx;
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add(&defines, "SHARED", s->has_long);
    weft_defines_add(&defines, "ROWS_AT_ONCE", WEFT_SPGEMM_AT_ONCE);
    weft_defines_add(&defines, "WORD", weft_spgemm_word(s->tiling.items));
    weft_defines_add(&defines, "ROOM", WEFT_SPGEMM_ROOM);
    weft_defines_add(&defines, "LEAST", WEFT_SPGEMM_LEAST);
    weft_defines_add(&defines, "MOST_PRODUCTS", WEFT_SPGEMM_MOST_PRODUCTS);
    weft_defines_add_dtype(&defines, "DTYPE", call->A.dtype);
    weft_defines_add_word(&defines, "OFFSET", weft_word(call->A.offset_dtype));
    weft_defines_add_word(&defines, "INDEX", weft_word(call->A.index_dtype));
    weft_defines_add_word(&defines, "B_OFFSET", weft_word(call->B.offset_dtype));
    weft_defines_add_word(&defines, "B_INDEX", weft_word(call->B.index_dtype));
    weft_defines_add_word(&defines, "NUMBER", weft_word(call->C.offset_dtype));
    weft_defines_add_word(&defines, "C_INDEX", weft_word(call->C.index_dtype));
    if (call->dense)
        weft_defines_add(&defines, "COLUMNS_ADJACENT", has_adjacent_columns(call));
    TRY(weft_kernel_narrow(&s->rows, most, ctx, programs[call->step].source, &defines,
                           programs[call->step].rows));
    if (s->has_long)
        TRY(long_kernels_for(s, most, call, &defines));
    return call->step == WEFT_SPGEMM_COUNT ? weft_scan_kernels(&s->scan, ctx, most) : WEFT_OK;
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, const weft_spgemm_call *call)
{
    weft_limits limits = call->ctx->limits;
    for (;;) {
        *s = schedule_for(call, &limits);
        const size_t wanted = (size_t)s->tiling.items;
        size_t most = wanted;
        TRY(kernels_for(s, &most, call));
        bool fits;
        TRY(weft_limits_fit(&fits, &limits, wanted, most, call->is_forced, call->name));
        if (fits)
            return WEFT_OK;
    }
}

// ---- enqueue

// An array that is there, or for one that is not some buffer that is not looked at.
static cl_mem or_offsets(cl_mem array, const weft_csr *csr)
{
    return array && csr->nnz > 0 ? array : csr->offsets;
}

// Patterns and values of A and B.
typedef struct {
    cl_mem a_indices, a_values, b_indices, b_values;
} inputs;

static inputs inputs_of(const weft_spgemm_call *call)
{
    const weft_csr *A = &call->A, *B = &call->B;
    return (inputs){or_offsets(A->indices, A), or_offsets(A->values, A), or_offsets(B->indices, B),
                    or_offsets(B->values, B)};
}

static void add_factors(weft_arguments *arguments, const weft_spgemm_call *call, const inputs *in)
{
    const weft_csr *A = &call->A, *B = &call->B;
    ADD_ARGUMENT(arguments, A->offsets);
    ADD_ARGUMENT(arguments, A->offsets_start);
    ADD_ARGUMENT(arguments, in->a_indices);
    ADD_ARGUMENT(arguments, A->indices_start);
    ADD_ARGUMENT(arguments, in->a_values);
    ADD_ARGUMENT(arguments, A->values_start);
    ADD_ARGUMENT(arguments, B->offsets);
    ADD_ARGUMENT(arguments, B->offsets_start);
    ADD_ARGUMENT(arguments, in->b_indices);
    ADD_ARGUMENT(arguments, B->indices_start);
    ADD_ARGUMENT(arguments, in->b_values);
    ADD_ARGUMENT(arguments, B->values_start);
}

// Without long rows some buffer must stand in: it is not looked at.
static void add_notes(weft_arguments *arguments, const schedule *s, const cl_mem *scratch)
{
    static const cl_int most_noted = WEFT_SPGEMM_NOTED;
    ADD_ARGUMENT(arguments, *scratch);
    ADD_ARGUMENT(arguments, s->notes);
    ADD_ARGUMENT(arguments, most_noted);
}

static void add_counts(weft_arguments *arguments, const schedule *s, const cl_mem *scratch)
{
    ADD_ARGUMENT(arguments, *scratch);
    ADD_ARGUMENT(arguments, s->counts);
}

static void add_offsets(weft_arguments *arguments, const weft_spgemm_call *call)
{
    ADD_ARGUMENT(arguments, call->C.offsets);
    ADD_ARGUMENT(arguments, call->C.offsets_start);
}

// C, and sums of so many columns.
static void add_dense(weft_arguments *arguments, const weft_spgemm_call *call, int64_t columns,
                      weft_scalar scalars[2])
{
    const weft_tensor *C = call->dense;
    const size_t sum_bytes = (size_t)weft_sum_bytes(call->problem.dtype);
    ADD_ARGUMENT(arguments, C->buffer);
    ADD_ARGUMENT(arguments, C->offset);
    ADD_ARGUMENT(arguments, C->stride[0]);
    ADD_ARGUMENT(arguments, C->stride[1]);
    const weft_argument alpha = weft_scalar_argument(&scalars[0], call->problem.dtype, call->alpha);
    const weft_argument beta = weft_scalar_argument(&scalars[1], call->problem.dtype, call->beta);
    weft_arguments_add(arguments, alpha.size, alpha.value);
    weft_arguments_add(arguments, beta.size, beta.value);
    weft_arguments_add(arguments, (size_t)columns * sum_bytes, NULL);
}

// Of marks, where there is room for so many sums; to count, words stand in their place.
static cl_int words_of(const weft_spgemm_call *call, const schedule *s, int columns)
{
    return call->step == WEFT_SPGEMM_COUNT ? columns
                                           : (cl_int)weft_spgemm_words(columns, s->tiling.items);
}

static void add_marks(weft_arguments *arguments, int64_t words, const schedule *s)
{
    const size_t bytes = (size_t)weft_spgemm_marks_bytes(words, s->tiling.items);
    weft_arguments_add(arguments, bytes, NULL);
}

// Words of marks, their ranks, and so many sums; then the entries.
static void add_entries(weft_arguments *arguments, const weft_spgemm_call *call, const schedule *s,
                        int columns)
{
    const weft_csr *C = &call->C;
    const int64_t words = words_of(call, s, columns);
    add_marks(arguments, words, s);
    weft_arguments_add(arguments, (size_t)words * sizeof(cl_int), NULL);
    weft_arguments_add(arguments, (size_t)(columns * weft_sum_bytes(call->problem.dtype)), NULL);
    ADD_ARGUMENT(arguments, C->indices);
    ADD_ARGUMENT(arguments, C->indices_start);
    ADD_ARGUMENT(arguments, C->values);
    ADD_ARGUMENT(arguments, C->values_start);
}

static weft_status enqueue(weft_launch *launch, weft_kernel *kernel,
                           const weft_arguments *arguments, const schedule *s, int64_t along_x,
                           int64_t along_y)
{
    return weft_items_enqueue(launch, kernel, arguments->n, arguments->list, s->tiling.items,
                              (const int64_t[3]){along_x, along_y});
}

// Some buffer that is there, where no row is noted.
static cl_mem notes_or_other(const weft_spgemm_call *call, const schedule *s, cl_mem scratch)
{
    if (s->has_long)
        return scratch;
    return call->dense ? call->dense->buffer : call->C.offsets;
}

// Where the rows' counts, entries or elements go.
static void add_output(weft_arguments *arguments, const weft_spgemm_call *call, const schedule *s,
                       weft_scalar scalars[2])
{
    const int columns = s->tiling.columns;
    if (call->dense) {
        add_dense(arguments, call, columns, scalars);
        return;
    }
    add_offsets(arguments, call);
    if (call->step == WEFT_SPGEMM_COUNT)
        add_marks(arguments, columns, s);
    else
        add_entries(arguments, call, s, columns);
}

static weft_status enqueue_rows(weft_launch *launch, const weft_spgemm_call *call,
                                const schedule *s, cl_mem scratch)
{
    const int64_t rows = s->tiling.rows;
    const cl_int n_cols = (cl_int)call->C.n_cols, long_from = s->has_long ? s->tiling.long_from : 0;
    const cl_int columns = s->tiling.columns, words = words_of(call, s, columns);
    const cl_mem notes = notes_or_other(call, s, scratch);
    const inputs in = inputs_of(call);
    weft_arguments arguments = {0};
    weft_scalar scalars[2];
    ADD_ARGUMENT(&arguments, call->A.n_rows);
    ADD_ARGUMENT(&arguments, n_cols);
    ADD_ARGUMENT(&arguments, rows);
    if (call->step != WEFT_SPGEMM_COUNT)
        ADD_ARGUMENT(&arguments, columns);
    if (call->step != WEFT_SPGEMM_TO_DENSE)
        ADD_ARGUMENT(&arguments, words);
    ADD_ARGUMENT(&arguments, long_from);
    add_factors(&arguments, call, &in);
    add_notes(&arguments, s, &notes);
    add_output(&arguments, call, s, scalars);
    return enqueue(launch, s->rows, &arguments, s, s->n_bundles, 1);
}

static weft_status enqueue_start(weft_launch *launch, const schedule *s, cl_mem scratch)
{
    weft_arguments arguments = {0};
    add_notes(&arguments, s, &scratch);
    return enqueue(launch, s->start, &arguments, s, 1, 1);
}

static weft_status enqueue_count_long(weft_launch *launch, const weft_spgemm_call *call,
                                      const schedule *s, cl_mem scratch)
{
    const cl_int n_cols = (cl_int)call->C.n_cols, n_chunks = (cl_int)s->n_chunks;
    const cl_int words = s->tiling.long_columns;
    const inputs in = inputs_of(call);
    weft_arguments arguments = {0};
    ADD_ARGUMENT(&arguments, n_cols);
    ADD_ARGUMENT(&arguments, s->chunk);
    ADD_ARGUMENT(&arguments, s->share);
    ADD_ARGUMENT(&arguments, n_chunks);
    ADD_ARGUMENT(&arguments, words);
    add_factors(&arguments, call, &in);
    add_notes(&arguments, s, &scratch);
    add_counts(&arguments, s, &scratch);
    add_marks(&arguments, words, s);
    return enqueue(launch, s->count_long, &arguments, s, ceil_div(s->n_chunks, s->share),
                   WEFT_SPGEMM_AT_ONCE);
}

static weft_status enqueue_join_long(weft_launch *launch, const weft_spgemm_call *call,
                                     const schedule *s, cl_mem scratch)
{
    const cl_int n_chunks = (cl_int)s->n_chunks;
    weft_arguments arguments = {0};
    ADD_ARGUMENT(&arguments, n_chunks);
    add_notes(&arguments, s, &scratch);
    add_counts(&arguments, s, &scratch);
    add_offsets(&arguments, call);
    return enqueue(launch, s->join_long, &arguments, s, 1, WEFT_SPGEMM_AT_ONCE);
}

static weft_status enqueue_fill_long(weft_launch *launch, const weft_spgemm_call *call,
                                     const schedule *s, cl_mem scratch)
{
    const cl_int n_cols = (cl_int)call->C.n_cols, n_chunks = (cl_int)s->n_chunks;
    const cl_int columns = s->tiling.long_columns;
    const cl_int words = words_of(call, s, columns);
    const inputs in = inputs_of(call);
    weft_arguments arguments = {0};
    ADD_ARGUMENT(&arguments, n_cols);
    ADD_ARGUMENT(&arguments, s->chunk);
    ADD_ARGUMENT(&arguments, n_chunks);
    ADD_ARGUMENT(&arguments, columns);
    ADD_ARGUMENT(&arguments, words);
    add_factors(&arguments, call, &in);
    add_notes(&arguments, s, &scratch);
    add_counts(&arguments, s, &scratch);
    add_offsets(&arguments, call);
    add_entries(&arguments, call, s, columns);
    return enqueue(launch, s->fill_long, &arguments, s, s->n_chunks, WEFT_SPGEMM_AT_ONCE);
}

static weft_status enqueue_dense_long(weft_launch *launch, const weft_spgemm_call *call,
                                      const schedule *s, cl_mem scratch)
{
    const cl_int n_cols = (cl_int)call->C.n_cols, columns = s->tiling.long_columns;
    const inputs in = inputs_of(call);
    weft_arguments arguments = {0};
    weft_scalar scalars[2];
    ADD_ARGUMENT(&arguments, n_cols);
    ADD_ARGUMENT(&arguments, s->chunk);
    ADD_ARGUMENT(&arguments, columns);
    add_factors(&arguments, call, &in);
    add_notes(&arguments, s, &scratch);
    add_dense(&arguments, call, columns, scalars);
    return enqueue(launch, s->dense_long, &arguments, s, s->n_chunks, WEFT_SPGEMM_AT_ONCE);
}

// The rows, whose counts or entries are then all there.
static weft_status enqueue_product(weft_launch *launch, const weft_spgemm_call *call,
                                   const schedule *s, cl_mem scratch)
{
    if (!s->has_long)
        return enqueue_rows(launch, call, s, scratch);
    TRY(enqueue_start(launch, s, scratch));
    TRY(enqueue_rows(launch, call, s, scratch));
    if (call->dense)
        return enqueue_dense_long(launch, call, s, scratch);
    TRY(enqueue_count_long(launch, call, s, scratch));
    return call->step == WEFT_SPGEMM_COUNT ? enqueue_join_long(launch, call, s, scratch)
                                           : enqueue_fill_long(launch, call, s, scratch);
}

static weft_status enqueue_all(weft_launch *launch, const weft_spgemm_call *call, const schedule *s,
                               cl_mem scratch)
{
    if (call->problem.m > 0)
        TRY(enqueue_product(launch, call, s, scratch));
    if (call->step != WEFT_SPGEMM_COUNT)
        return WEFT_OK;
    const weft_numbers offsets = {call->C.offsets, call->C.offsets_start};
    // Where one group does it all some buffer must stand in.
    const weft_numbers sums = s->scan.n_groups > 1 ? (weft_numbers){scratch, s->sums} : offsets;
    return weft_scan_enqueue(launch, &s->scan, offsets, offsets, true, sums);
}

static bool has_nothing_to_do(const weft_spgemm_call *call)
{
    switch (call->step) {
    case WEFT_SPGEMM_COUNT:
        return false;
    case WEFT_SPGEMM_FILL:
        return call->C.nnz == 0 || call->C.n_rows == 0;
    default:
        return is_empty(call) || (is_scaling(call) && weft_rounded(call->C.dtype, call->beta) == 1);
    }
}

static weft_status run(weft_launch *launch, const weft_spgemm_call *call, cl_mem workspace)
{
    schedule s;
    if (has_nothing_to_do(call))
        return WEFT_OK;
    TRY(prepare(&s, call));
    if (workspace && s.scratch_bytes > 0)
        TRY(weft_spgemm_workspace_check(call, workspace, s.scratch_bytes));
    cl_mem scratch;
    TRY(weft_scratch_begin(launch, workspace, s.scratch_bytes, &scratch));
    const weft_status status = enqueue_all(launch, call, &s, scratch);
    weft_scratch_end(launch, workspace, scratch);
    return status;
}

static weft_status product(weft_spgemm_step step, weft_context *ctx, cl_command_queue queue,
                           const weft_spgemm_operands *given, const weft_spgemm_params *params)
{
    weft_spgemm_call call;
    TRY(weft_spgemm_check(&call, step, ctx, given, params));
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, call.name, params->n_wait, params->wait,
                          params->event != NULL));
    TRY(weft_csr_content_check(&launch, given->A, "A"));
    TRY(weft_csr_content_check(&launch, given->B, "B"));
    if (step == WEFT_SPGEMM_FILL)
        TRY(weft_offsets_content_check(&launch, given->C, "C"));
    const weft_status status = run(&launch, &call, params->workspace);
    return weft_launch_end(&launch, status, params->event);
}

weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                        const weft_csr *B, const weft_csr *C, const weft_spgemm_params *params)
{
    const weft_spgemm_operands given = {.A = A, .B = B, .C = C};
    return product(WEFT_SPGEMM_FILL, ctx, queue, &given,
                   params ? params : WEFT_SPGEMM(.n_wait = 0));
}

weft_status weft_spgemm_dense(weft_context *ctx, cl_command_queue queue, double alpha,
                              const weft_csr *A, const weft_csr *B, double beta,
                              const weft_tensor *C, const weft_spgemm_params *params)
{
    const weft_spgemm_operands given = {.A = A, .B = B, .dense = C, .alpha = alpha, .beta = beta};
    return product(WEFT_SPGEMM_TO_DENSE, ctx, queue, &given,
                   params ? params : WEFT_SPGEMM(.n_wait = 0));
}

weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                              const weft_csr *B, const weft_csr *C, int64_t *nnz,
                              const weft_spgemm_params *params)
{
    const weft_spgemm_operands given = {.A = A, .B = B, .C = C};
    if (params && params->size != sizeof(*params)) // which is refused
        return product(WEFT_SPGEMM_COUNT, ctx, queue, &given, params);
    weft_spgemm_params own = params ? *params : *WEFT_SPGEMM(.n_wait = 0);
    cl_event done = NULL;
    if (nnz)
        own.event = &done;
    TRY(product(WEFT_SPGEMM_COUNT, ctx, queue, &given, &own));
    return nnz ? weft_scan_total(nnz, queue, C, done, params ? params->event : NULL, "spgemm_count")
               : WEFT_OK;
}

// ---- what a call would do

weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params,
                                  size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spgemm_workspace: bytes is NULL");
    *bytes = 0;
    weft_spgemm_call call;
    schedule s;
    const weft_spgemm_operands given = {.A = A, .B = B, .C = C};
    params = params ? params : WEFT_SPGEMM(.n_wait = 0);
    TRY(weft_spgemm_check(&call, WEFT_SPGEMM_COUNT, ctx, &given, params));
    TRY(prepare(&s, &call));
    const size_t of_count = s.scratch_bytes;
    call.step = WEFT_SPGEMM_FILL;
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes > of_count ? s.scratch_bytes : of_count;
    return WEFT_OK;
}

weft_status weft_spgemm_dense_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                        const weft_tensor *C, const weft_spgemm_params *params,
                                        size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spgemm_dense_workspace: bytes is NULL");
    *bytes = 0;
    weft_spgemm_call call;
    schedule s;
    const weft_spgemm_operands given = {.A = A, .B = B, .dense = C, .alpha = 1};
    params = params ? params : WEFT_SPGEMM(.n_wait = 0);
    TRY(weft_spgemm_check(&call, WEFT_SPGEMM_TO_DENSE, ctx, &given, params));
    if (is_empty(&call))
        return WEFT_OK;
    TRY(prepare(&s, &call));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

static int describe(weft_spgemm_step step, weft_context *ctx, const weft_spgemm_operands *given,
                    const weft_spgemm_params *params, char *text, size_t size)
{
    weft_spgemm_call call;
    schedule s;
    params = params ? params : WEFT_SPGEMM(.n_wait = 0);
    if (weft_spgemm_check(&call, step, ctx, given, params) != WEFT_OK)
        return -1;
    if (call.dense && is_empty(&call))
        return snprintf(text, size, "nothing to do");
    return prepare(&s, &call) == WEFT_OK ? weft_spgemm_tiling_print(&s.tiling, text, size) : -1;
}

int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B, const weft_csr *C,
                         const weft_spgemm_params *params, char *text, size_t size)
{
    const weft_spgemm_operands given = {.A = A, .B = B, .C = C};
    return describe(WEFT_SPGEMM_COUNT, ctx, &given, params, text, size);
}

int weft_spgemm_dense_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                               const weft_tensor *C, const weft_spgemm_params *params, char *text,
                               size_t size)
{
    const weft_spgemm_operands given = {.A = A, .B = B, .dense = C, .alpha = 1};
    return describe(WEFT_SPGEMM_TO_DENSE, ctx, &given, params, text, size);
}
