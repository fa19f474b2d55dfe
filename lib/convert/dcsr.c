// SPDX-License-Identifier: Apache-2.0
// Conversions between CSR and DCSR: check, plan, defines, arguments, enqueue.
#include <weft/dcsr.h>

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/params.h"
#include "convert/dcsr_parameters.h"
#include "op/items.h"
#include "op/op.h"
#include "op/scan.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"

// Operands in the tables' order. D is two: the numbers of its stored rows, and these rows as a CSR.
enum { OF_A, D_ROWS, D_STORED };

// Each step is an operation of its own.
typedef enum dcsr_step { COUNT, FROM_CSR, TO_CSR } dcsr_step;

// What a call says besides its operands.
typedef struct {
    dcsr_step step;
    int items;         // 0: not forced
    int64_t *n_stored; // where the count goes
} dcsr_own;

// Scratch memory holds a flag for each row, then its place, and how many there are.
typedef struct {
    weft_state head;
    int items;
    int64_t n, run, n_groups; // rows, and the end of the last one where all are written
    weft_scan scan;
    int64_t sums; // in ints
    weft_kernel *flags, *rows;
} dcsr_state;

static const dcsr_own *own_of(const weft_call *call)
{
    return call->own;
}

// Where A's offsets are written the driver's key lacks A's nnz, which the check reads.
static void add_key(weft_key *key, const weft_call *call)
{
    const weft_csr *A = weft_call_csr(call, OF_A);
    weft_key_add_number(key, own_of(call)->items);
    weft_key_add_number(key, A ? A->nnz : 0);
}

// ---- check

static weft_status sizes_check(const char *op, const weft_csr *A, const weft_dcsr *D)
{
    if (A->n_rows > INT32_MAX)
        return fail(WEFT_BAD_SHAPE, "%s: A has %" PRId64 " rows; at most %d", op, A->n_rows,
                    INT32_MAX);
    if (D && (A->n_rows != D->n_rows || A->n_cols != D->n_cols || A->nnz != D->nnz))
        return fail(WEFT_BAD_SHAPE,
                    "%s: A is %" PRId64 " x %" PRId64 " with %" PRId64 " entries, D %" PRId64
                    " x %" PRId64 " with %" PRId64,
                    op, A->n_rows, A->n_cols, A->nnz, D->n_rows, D->n_cols, D->nnz);
    return WEFT_OK;
}

// Where offsets are written the driver has not checked the number of entries, which is known.
static weft_status entries_check(const weft_call *call)
{
    char what[WEFT_OPERAND_TEXT];
    const char *op = weft_call_name(call);
    TRY(weft_csr_form_check(weft_call_csr(call, OF_A), weft_operand_text(what, op, "A")));
    return own_of(call)->step == COUNT ? WEFT_OK
                                       : weft_csr_form_check(weft_call_csr(call, D_STORED),
                                                             weft_operand_text(what, op, "D"));
}

static weft_status check(void *state, const weft_call *call)
{
    dcsr_state *s = state;
    const dcsr_own *own = own_of(call);
    const char *op = weft_call_name(call);
    TRY(entries_check(call));
    TRY(sizes_check(op, weft_call_csr(call, OF_A), call->operands[D_ROWS]));
    if (own->items != 0)
        TRY(weft_items_check(own->items, "items", &call->ctx->limits, op));
    s->head.is_forced = own->items != 0;
    return WEFT_OK;
}

// ---- plan

static weft_status plan(void *state, const weft_call *call, const weft_limits *limits)
{
    dcsr_state *s = state;
    const dcsr_own *own = own_of(call);
    s->items = s->head.is_forced ? own->items : weft_items_for(limits);
    s->head.group_items = (size_t)s->items;
    s->n = weft_call_csr(call, OF_A)->n_rows + (own->step == TO_CSR);
    s->run = weft_items_run(limits, s->items, s->n);
    s->n_groups = max_i64(weft_items_groups(s->items, s->run, s->n), 1);
    if (own->step == TO_CSR)
        return WEFT_OK;
    weft_scratch scratch = {0};
    s->scan = weft_scan_for(limits, s->items, WEFT_I32, s->n);
    weft_scratch_add(&scratch, s->n + 1, WEFT_I32);
    s->sums = weft_scratch_add(&scratch, s->scan.n_groups, WEFT_I32);
    s->head.scratch_bytes = scratch.bytes;
    return WEFT_OK;
}

// ---- defines

static weft_status build(void *state, const weft_call *call, size_t *most)
{
    dcsr_state *s = state;
    const dcsr_step step = own_of(call)->step;
    const weft_csr *A = weft_call_csr(call, OF_A), *D = weft_call_csr(call, D_STORED);
    const weft_source *source = &weft_source_dcsr;
    weft_defines defines = {.length = 0};
    weft_defines_add(&defines, "ITEMS", s->items);
    weft_defines_add_word(&defines, "OFFSET", weft_word(weft_dtype_or(A->offset_dtype, WEFT_I32)));
    weft_defines_add_word(&defines, "D_OFFSET",
                          weft_word(D ? weft_dtype_or(D->offset_dtype, WEFT_I32) : WEFT_I32));
    if (step == TO_CSR)
        return weft_kernel_narrow(&s->rows, most, call->ctx, source, &defines, "dcsr_offsets");
    TRY(weft_kernel_narrow(&s->flags, most, call->ctx, source, &defines, "dcsr_flags"));
    TRY(weft_kernel_narrow(&s->rows, most, call->ctx, source, &defines, "dcsr_rows"));
    return weft_scan_kernels(&s->scan, call->ctx, most);
}

// ---- arguments

typedef struct {
    FLAGS_PARAMETERS(FIELD, )
} flags;

typedef struct {
    ROWS_PARAMETERS(FIELD, )
} rows;

typedef struct {
    OFFSETS_PARAMETERS(FIELD, )
} offsets;

// ---- enqueue

static weft_status enqueue_places(weft_launch *launch, const dcsr_state *s, const weft_csr *A,
                                  cl_mem scratch)
{
    const flags own = {s->n, s->run, A->offsets, A->offsets_start, scratch}, *a = &own;
    const weft_argument list[] = {FLAGS_PARAMETERS(LISTED, COMMA)};
    const weft_numbers places = {scratch, 0}, sums = {scratch, s->sums};
    TRY(ENQUEUE_ITEMS(launch, s->flags, list, s->items, s->n_groups));
    return weft_scan_enqueue(launch, &s->scan, places, places, true, sums);
}

// Waits for the number.
static weft_status run_count(weft_launch *launch, const void *state, const weft_call *call,
                             cl_mem scratch)
{
    const weft_csr *A = weft_call_csr(call, OF_A);
    const weft_numbers last = {scratch, A->n_rows};
    TRY(weft_recorder_copy_check(call->ctx, weft_call_name(call)));
    TRY(enqueue_places(launch, state, A, scratch));
    return weft_numbers_read(own_of(call)->n_stored, launch->queue, last, WEFT_I32, launch->last,
                             weft_call_name(call));
}

static weft_status run_from_csr(weft_launch *launch, const void *state, const weft_call *call,
                                cl_mem scratch)
{
    const dcsr_state *s = state;
    const weft_csr *A = weft_call_csr(call, OF_A);
    const weft_dcsr *D = call->operands[D_ROWS];
    const rows own = {
        .n = s->n,
        .run = s->run,
        .offsets = A->offsets,
        .offsets_start = A->offsets_start,
        .places = scratch,
        .n_stored = D->n_stored,
        .rows = D->n_stored > 0 ? D->rows : scratch, // of none: never written
        .rows_start = D->rows_start,
        .d_offsets = D->offsets,
        .d_offsets_start = D->offsets_start,
    };
    const rows *a = &own;
    const weft_argument list[] = {ROWS_PARAMETERS(LISTED, COMMA)};
    TRY(enqueue_places(launch, s, A, scratch));
    return ENQUEUE_ITEMS(launch, s->rows, list, s->items, s->n_groups);
}

static weft_status run_to_csr(weft_launch *launch, const void *state, const weft_call *call,
                              cl_mem scratch)
{
    const dcsr_state *s = state;
    const weft_csr *A = weft_call_csr(call, OF_A);
    const weft_dcsr *D = call->operands[D_ROWS];
    const offsets own = {
        .n = s->n,
        .run = s->run,
        .rows = D->n_stored > 0 ? D->rows : D->offsets, // of none: never read
        .rows_start = D->rows_start,
        .n_stored = D->n_stored,
        .d_offsets = D->offsets,
        .d_offsets_start = D->offsets_start,
        .offsets = A->offsets,
        .offsets_start = A->offsets_start,
    };
    const offsets *a = &own;
    const weft_argument list[] = {OFFSETS_PARAMETERS(LISTED, COMMA)};
    (void)scratch;
    return ENQUEUE_ITEMS(launch, s->rows, list, s->items, s->n_groups);
}

// ---- calls

#define HOOKS                                                                                      \
    .state_bytes = sizeof(dcsr_state), .key = add_key, .check = check, .plan = plan, .build = build

#define MATRIX(letter, does)                                                                       \
    {                                                                                              \
        .name = letter, .kind = WEFT_OPERAND_CSR, .access = does                                   \
    }

#define ROWS_OF(letter, does)                                                                      \
    {                                                                                              \
        .name = letter, .kind = WEFT_OPERAND_ROWS, .access = does                                  \
    }

static const weft_op count_op = {
    .name = "dcsr_count",
    .n_operands = 1,
    .operands = {MATRIX("A", WEFT_READS_PATTERN | WEFT_SPARES_VALUES)},
    .run = run_count,
    HOOKS,
};

static const weft_op from_csr_op = {
    .name = "dcsr_from_csr",
    .n_operands = 3,
    .operands = {MATRIX("A", WEFT_READS_PATTERN | WEFT_SPARES_VALUES),
                 ROWS_OF("D", WEFT_WRITES_OFFSETS), MATRIX("D", WEFT_WRITES_OFFSETS)},
    .run = run_from_csr,
    HOOKS,
};

static const weft_op to_csr_op = {
    .name = "dcsr_to_csr",
    .n_operands = 3,
    .operands = {MATRIX("A", WEFT_WRITES_OFFSETS), ROWS_OF("D", WEFT_READS_OFFSETS),
                 MATRIX("D", WEFT_READS_OFFSETS)},
    .run = run_to_csr,
    HOOKS,
};

typedef struct {
    weft_call call;
    weft_csr stored;
    dcsr_own own;
} request;

static weft_status request_of(request *r, dcsr_step step, weft_context *ctx, const weft_csr *A,
                              const weft_dcsr *D, const weft_dcsr_params *params)
{
    static const weft_op *const ops[] = {&count_op, &from_csr_op, &to_csr_op};
    weft_dcsr_params own;
    TRY(PARAMS_READ(&own, params, ops[step]->name, "WEFT_DCSR"));
    r->own = (dcsr_own){.step = step, .items = own.items};
    r->stored = D ? weft_dcsr_stored(D) : (weft_csr){0};
    r->call = (weft_call){
        .op = ops[step],
        .ctx = ctx,
        .operands = {A, D, D ? &r->stored : NULL},
        .own = &r->own,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_dcsr_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                            int64_t *n_stored, const weft_dcsr_params *params)
{
    request r;
    if (!n_stored)
        return fail(WEFT_BAD_ARGUMENT, "dcsr_count: n_stored is NULL");
    TRY(request_of(&r, COUNT, ctx, A, NULL, params));
    r.own.n_stored = n_stored;
    return weft_op_run(&r.call, queue);
}

weft_status weft_dcsr_from_csr(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                               const weft_dcsr *D, const weft_dcsr_params *params)
{
    request r;
    TRY(request_of(&r, FROM_CSR, ctx, A, D, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_dcsr_to_csr(weft_context *ctx, cl_command_queue queue, const weft_dcsr *D,
                             const weft_csr *A, const weft_dcsr_params *params)
{
    request r;
    TRY(request_of(&r, TO_CSR, ctx, A, D, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_dcsr_workspace(weft_context *ctx, const weft_csr *A,
                                const weft_dcsr_params *params, size_t *bytes)
{
    request r;
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "dcsr_workspace: bytes is NULL");
    *bytes = 0;
    TRY(request_of(&r, COUNT, ctx, A, NULL, params));
    return weft_op_workspace(&r.call, bytes);
}
