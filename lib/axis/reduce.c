// SPDX-License-Identifier: Apache-2.0
// Y = op over some axes of X: checks, defines, arguments. The sweep is in sweep.c.
#include <weft/reduce.h>

#include <inttypes.h>

#include "axis/reduce_op.h"
#include "axis/reduce_parameters.h"
#include "axis/sweep.h"
#include "base/dtype.h"
#include "base/params.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"

enum { OF_X, OF_Y };

static const int64_t MOST_CORRECTION = INT64_C(1) << 62; // n minus it never overflows

// Arguments of a call besides its operands.
typedef struct {
    weft_reduction op;
    int n_axes;
    const int *axes;
    weft_reduce_params params;
} numbers;

// Operands of the sweep's axes: X, Y. If there are no elements, mid is as if there were one.
typedef struct {
    weft_state head;
    const weft_reduction_facts *facts; // those of `of_none` if there are no elements
    weft_dtype dtype, result, arithmetic;
    int64_t n; // elements of each result
    weft_sweep sweep;
} state;

// ---- shapes

static weft_status axes_check(bool is_reduced[WEFT_MAX_NDIM], const weft_tensor *X,
                              const numbers *given)
{
    const int n_axes = given->n_axes, *axes = given->axes;
    if (n_axes < 0 || (n_axes > 0 && !axes))
        return fail(WEFT_BAD_ARGUMENT, "reduce: n_axes is %d, axes is %s", n_axes,
                    axes ? "given" : "NULL");
    for (int d = 0; d < WEFT_MAX_NDIM; ++d)
        is_reduced[d] = n_axes == 0 && d < X->ndim;
    for (int i = 0; i < n_axes; ++i) {
        if (axes[i] < -X->ndim || axes[i] >= X->ndim)
            return fail(WEFT_BAD_ARGUMENT, "reduce: axes[%d] is %d, X has %d dimensions", i,
                        axes[i], X->ndim);
        const int d = axes[i] < 0 ? axes[i] + X->ndim : axes[i];
        if (is_reduced[d])
            return fail(WEFT_BAD_ARGUMENT, "reduce: axes[%d] is %d: X's axis %d is named twice", i,
                        axes[i], d);
        is_reduced[d] = true;
    }
    return WEFT_OK;
}

static int count_kept(const weft_tensor *X, const bool is_reduced[WEFT_MAX_NDIM])
{
    int n = 0;
    for (int d = 0; d < X->ndim; ++d)
        n += !is_reduced[d];
    return n;
}

// Y's axis for each of X's, or -1: Y has all of X's axes, or only the kept ones.
static weft_status shapes_check(int y_axis[WEFT_MAX_NDIM], const weft_tensor *X,
                                const weft_tensor *Y, const bool is_reduced[WEFT_MAX_NDIM])
{
    const int n_kept = count_kept(X, is_reduced);
    const bool keeps_all = Y->ndim == X->ndim;
    if (!keeps_all && Y->ndim != n_kept)
        return fail(WEFT_BAD_SHAPE,
                    "reduce: Y has %d dimensions; of X's %d are %d kept, or all %d with reduced "
                    "ones of extent 1",
                    Y->ndim, X->ndim, n_kept, X->ndim);
    int next = 0;
    for (int d = 0; d < X->ndim; ++d) {
        y_axis[d] = keeps_all || !is_reduced[d] ? next++ : -1;
        if (y_axis[d] < 0)
            continue;
        const int64_t wanted = is_reduced[d] ? 1 : X->shape[d];
        if (Y->shape[y_axis[d]] != wanted)
            return fail(WEFT_BAD_SHAPE,
                        "reduce: Y's extent %d is %" PRId64 "; X's axis %d has %" PRId64
                        " and is %s: %" PRId64 " is wanted",
                        y_axis[d], Y->shape[y_axis[d]], d, X->shape[d],
                        is_reduced[d] ? "reduced" : "kept", wanted);
    }
    return WEFT_OK;
}

// ---- data types

static bool is_narrow_float(weft_dtype dtype)
{
    return dtype == WEFT_F16 || dtype == WEFT_BF16;
}

// The data types that Y may have, in words; NULL if it has one of them.
static const char *wanted_result(weft_result_kind kind, weft_dtype dtype, weft_dtype result)
{
    if (kind == WEFT_RESULT_PLACE)
        return result == WEFT_I64 || result == WEFT_I32 ? NULL : "i64 or i32";
    if (kind == WEFT_RESULT_TRUTH)
        return result == WEFT_U8 ? NULL : "u8";
    if (is_narrow_float(dtype))
        return result == dtype || result == WEFT_F32 ? NULL : "the same or f32";
    if (weft_is_floating(dtype) || kind == WEFT_RESULT_SAME)
        return result == dtype ? NULL : "the same";
    if (kind == WEFT_RESULT_WIDE)
        return result == WEFT_I64 ? NULL : "i64";
    return result == WEFT_F32 || result == WEFT_F64 ? NULL : "f32 or f64";
}

static weft_status dtypes_check(const state *s, const weft_call *call,
                                const weft_reduction_facts *facts)
{
    const char *wanted = wanted_result(facts->result, s->dtype, s->result);
    if (wanted)
        return fail(WEFT_BAD_DTYPE, "reduce: Y is %s, %s of %s requires %s",
                    weft_dtype_name(s->result), facts->name, weft_dtype_name(s->dtype), wanted);
    if (s->arithmetic == WEFT_F64 && !call->ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "reduce: %s is f64; %s has no f64",
                    s->dtype == WEFT_F64 ? "X" : "Y", call->ctx->limits.name);
    return WEFT_OK;
}

// For floats X's type, or f32; for integers Y's type, or X's if Y has places or truth values.
static weft_dtype arithmetic_of(weft_result_kind kind, weft_dtype dtype, weft_dtype result)
{
    if (weft_is_floating(dtype))
        return dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    if (kind == WEFT_RESULT_FLOAT)
        return result;
    return kind == WEFT_RESULT_WIDE || dtype == WEFT_I64 ? WEFT_I64 : WEFT_I32;
}

// ---- checks

static int64_t product_of(const weft_tensor *X, const bool is_reduced[WEFT_MAX_NDIM], bool which)
{
    int64_t n = 1;
    for (int d = 0; d < X->ndim; ++d)
        if (is_reduced[d] == which)
            n *= X->shape[d];
    return n;
}

static weft_status elements_check(const state *s, const weft_reduction_facts *facts)
{
    if (s->n == 0 && !s->head.is_empty && facts->needs_elements)
        return fail(WEFT_BAD_SHAPE, "reduce: %s of no elements: a reduced axis of X has extent 0",
                    facts->name);
    if (facts->result == WEFT_RESULT_PLACE && s->result == WEFT_I32 && s->n - 1 > INT32_MAX)
        return fail(WEFT_BAD_DTYPE,
                    "reduce: Y is i32, but there are %" PRId64 " places: i64 is wanted", s->n);
    return WEFT_OK;
}

// If there are no elements, X is as if it had one, which is not read: its strides and offset may be
// anything.
static weft_axes sorted_axes(const state *s, const weft_call *call,
                             const bool is_reduced[WEFT_MAX_NDIM], const int y_axis[WEFT_MAX_NDIM])
{
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    int64_t shape[WEFT_MAX_NDIM], x_stride[WEFT_MAX_NDIM], y_stride[WEFT_MAX_NDIM];
    weft_axes_request request = {
        .ndim = X->ndim,
        .is_vectorized = call->ctx->limits.vector_width > 1,
        .holds = s->n > 0,
        .shape = shape,
        .in_order = s->facts->result == WEFT_RESULT_PLACE,
        .n_operands = 2,
        .n_lines = 1,
        .start = {s->n == 0 ? 0 : X->offset, Y->offset},
        .stride = {x_stride, y_stride},
    };
    for (int d = 0; d < X->ndim; ++d) {
        request.is_reduced[d] = is_reduced[d];
        shape[d] = is_reduced[d] && s->n == 0 ? 1 : X->shape[d];
        x_stride[d] = s->n == 0 ? 0 : X->stride[d];
        y_stride[d] = is_reduced[d] ? 0 : Y->stride[y_axis[d]];
    }
    return weft_axes_sort(&request);
}

static weft_status check(void *memory, const weft_call *call)
{
    state *s = memory;
    const numbers *given = call->own;
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    const weft_reduction_facts *facts = weft_reduction_facts_of(given->op);
    bool is_reduced[WEFT_MAX_NDIM];
    int y_axis[WEFT_MAX_NDIM];
    if (!facts)
        return fail(WEFT_BAD_ARGUMENT, "reduce: op is %d, which is no reduction", (int)given->op);
    TRY(axes_check(is_reduced, X, given));
    TRY(shapes_check(y_axis, X, Y, is_reduced));
    s->dtype = weft_dtype_or(X->dtype, WEFT_F32);
    s->result = weft_dtype_or(Y->dtype, WEFT_F32);
    s->arithmetic = arithmetic_of(facts->result, s->dtype, s->result);
    s->n = product_of(X, is_reduced, true);
    s->head.is_empty = product_of(X, is_reduced, false) == 0;
    TRY(dtypes_check(s, call, facts));
    TRY(elements_check(s, facts));
    TRY(weft_sweep_read_tiling(&s->sweep, call, call->tiling, "tiling"));
    if (s->head.is_empty)
        return WEFT_OK;
    s->facts = s->n == 0 ? weft_reduction_facts_of(facts->of_none) : facts;
    s->sweep.reduces = true;
    s->sweep.axes = sorted_axes(s, call, is_reduced, y_axis);
    weft_sweep_find_problem(&s->sweep, call, s->dtype, s->facts->n_numbers, false);
    s->sweep.problem.accumulator_bytes = (int)weft_dtype_size(s->arithmetic);
    return WEFT_OK;
}

static weft_status numbers_check(const void *memory, const weft_call *call)
{
    const int64_t correction = ((const numbers *)call->own)->params.correction;
    (void)memory;
    if (correction < -MOST_CORRECTION || correction > MOST_CORRECTION)
        return fail(WEFT_BAD_ARGUMENT,
                    "reduce: params.correction is %" PRId64 ", not within 2^62 of 0", correction);
    return WEFT_OK;
}

// ---- plan and defines

// A call with more axes than WEFT_MAX_NDIM is refused.
static void add_key(weft_key *key, const weft_call *call)
{
    const numbers *given = call->own;
    weft_key_add_number(key, given->op);
    weft_key_add_number(key, given->n_axes);
    for (int i = 0; given->axes && i < given->n_axes && i < WEFT_MAX_NDIM; ++i)
        weft_key_add_number(key, given->axes[i]);
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    state *s = memory;
    s->head.is_forced = s->sweep.is_forced;
    TRY(weft_sweep_plan(&s->sweep, &s->head.group_items, call, limits, "tiling",
                        weft_call_tensor(call, OF_Y)));
    if (s->n == 0)
        weft_walk_clear(&s->sweep.walk);
    s->head.scratch_bytes = s->sweep.scratch_bytes;
    return WEFT_OK;
}

static weft_status build(void *memory, const weft_call *call, size_t *most)
{
    static const weft_sweep_kernels kernels = {.source = &weft_source_reduce,
                                               .lines = "reduce_lines",
                                               .parts = "reduce_lines",
                                               .apply = "reduce_combine"};
    state *s = memory;
    weft_defines defines = {.length = 0};
    weft_defines_add_word(&defines, "OP", s->facts->word);
    weft_defines_add_dtype(&defines, "DTYPE", s->dtype);
    weft_defines_add_dtype(&defines, "ARITHMETIC", s->arithmetic);
    weft_defines_add_dtype(&defines, "RESULT", s->result);
    return weft_sweep_build(&s->sweep, most, call, &kernels, &defines);
}

// ---- arguments

typedef struct {
    REDUCE_LINES_PARAMETERS(FIELD, )
} lines_arguments;

typedef struct {
    REDUCE_COMBINE_PARAMETERS(FIELD, )
} combine_arguments;

static weft_status enqueue_combine(weft_launch *launch, const state *s, const weft_call *call,
                                   cl_mem scratch)
{
    const combine_arguments own = {
        .walk = s->sweep.walk,
        .y = weft_view_of(&s->sweep.axes, OF_Y),
        .Y = weft_call_tensor(call, OF_Y)->buffer,
        .scratch = scratch,
        .correction = ((const numbers *)call->own)->params.correction,
    };
    const combine_arguments *a = &own;
    const weft_argument list[] = {REDUCE_COMBINE_PARAMETERS(LISTED, COMMA)};
    return weft_sweep_enqueue_join(launch, &s->sweep, sizeof(list) / sizeof(list[0]), list);
}

// Without elements X may have no buffer, and there may be no scratch memory: Y's buffer is passed
// instead, and not accessed.
static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const state *s = memory;
    const weft_tensor *X = weft_call_tensor(call, OF_X), *Y = weft_call_tensor(call, OF_Y);
    const lines_arguments own = {
        .walk = s->sweep.walk,
        .x = weft_sweep_input(&s->sweep, OF_X, X, Y),
        .y = weft_view_of(&s->sweep.axes, OF_Y),
        .X = s->n > 0 ? X->buffer : Y->buffer,
        .Y = Y->buffer,
        .scratch = scratch ? scratch : Y->buffer,
        .correction = ((const numbers *)call->own)->params.correction,
    };
    const lines_arguments *a = &own;
    const weft_argument list[] = {REDUCE_LINES_PARAMETERS(LISTED, COMMA)};
    TRY(weft_sweep_enqueue_kernel(launch, &s->sweep, s->sweep.kernels[0],
                                  sizeof(list) / sizeof(list[0]), list));
    return scratch ? enqueue_combine(launch, s, call, scratch) : WEFT_OK;
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const state *s = memory;
    (void)call;
    return weft_sweep_print(&s->sweep, text, size);
}

// ---- calls

static const weft_op reduce = {
    .name = "reduce",
    .n_operands = 2,
    .operands = {[OF_X] = {.name = "X", .access = WEFT_READS_VALUES},
                 [OF_Y] = {.name = "Y", .access = WEFT_WRITES_VALUES}},
    .state_bytes = sizeof(state),
    .key = add_key,
    .check = check,
    .numbers_check = numbers_check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    numbers own;
} request;

static weft_status request_of(request *r, weft_context *ctx, weft_reduction op,
                              const weft_tensor *X, int n_axes, const int *axes,
                              const weft_tensor *Y, const weft_reduce_params *params)
{
    weft_reduce_params *own = &r->own.params;
    TRY(PARAMS_READ(own, params, "reduce", "WEFT_REDUCE"));
    r->own.op = op;
    r->own.n_axes = n_axes;
    r->own.axes = axes;
    r->call = (weft_call){
        .op = &reduce,
        .ctx = ctx,
        .operands = {[OF_X] = X, [OF_Y] = Y},
        .own = &r->own,
        .tiling = own->tiling,
        CALL_PARAMS(own),
    };
    return WEFT_OK;
}

weft_status weft_reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op,
                        const weft_tensor *X, int n_axes, const int *axes, const weft_tensor *Y,
                        const weft_reduce_params *params)
{
    request r;
    TRY(request_of(&r, ctx, op, X, n_axes, axes, Y, params));
    return weft_op_run(&r.call, queue);
}

weft_status weft_reduce_workspace(weft_context *ctx, weft_reduction op, const weft_tensor *X,
                                  int n_axes, const int *axes, const weft_tensor *Y,
                                  const weft_reduce_params *params, size_t *bytes)
{
    request r;
    TRY(request_of(&r, ctx, op, X, n_axes, axes, Y, params));
    return weft_op_workspace(&r.call, bytes);
}

int weft_reduce_describe(weft_context *ctx, weft_reduction op, const weft_tensor *X, int n_axes,
                         const int *axes, const weft_tensor *Y, const weft_reduce_params *params,
                         char *text, size_t size)
{
    request r;
    return request_of(&r, ctx, op, X, n_axes, axes, Y, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
