// SPDX-License-Identifier: Apache-2.0
// Operands for tests of softmax and normalisation, the call and the comparison.
#include "rewrite_case.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 16, POISON = 0xff, UNTOUCHED = 0xa5 };

static const char *const names[N_REWRITES] = {
    "softmax",    "log_softmax", "softmax_backward",    "log_softmax_backward",
    "layer_norm", "rms_norm",    "layer_norm_backward", "rms_norm_backward",
};

const char *rewrite_name(rewrite_op op)
{
    return names[op];
}

bool rewrite_is_norm(rewrite_op op)
{
    return op >= LAYER_NORM && op < N_REWRITES;
}

bool rewrite_is_backward(rewrite_op op)
{
    return op == SOFTMAX_BACKWARD || op == LOG_SOFTMAX_BACKWARD || rewrite_is_norm_backward(op);
}

bool rewrite_is_norm_backward(rewrite_op op)
{
    return op == LAYER_NORM_BACKWARD || op == RMS_NORM_BACKWARD;
}

bool rewrite_is_possible(weft_context *ctx, const rewrite_case *of)
{
    return of->dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64;
}

// ---- operands

static weft_dtype or_f32(weft_dtype dtype)
{
    return dtype == WEFT_DEFAULT ? WEFT_F32 : dtype;
}

static double largest_of(weft_dtype dtype)
{
    return dtype == WEFT_F64    ? DBL_MAX
           : dtype == WEFT_F16  ? 65504
           : dtype == WEFT_BF16 ? 0x1.fep127
                                : FLT_MAX;
}

// A number of one kind for each line of axes that are worked along.
static uint64_t kind_of_line(const rewrite_case *of, const int64_t *index)
{
    random_state random = {of->seed};
    for (int d = 0; d < of->ndim; d++) {
        const bool is_along = rewrite_is_norm(of->op)
                                  ? d >= of->ndim - of->axis
                                  : d == (of->axis < 0 ? of->axis + of->ndim : of->axis);
        random.state += is_along ? 0 : random_u64(&random) * (uint64_t)(index[d] + 1);
    }
    return random_u64(&random) % 4;
}

static double enormous(weft_dtype dtype, random_state *random)
{
    const double most = largest_of(dtype), large = dtype == WEFT_F16 ? 6e4 : 1e30;
    const double choice[] = {most, -most, large, -large, large / 2, 1, 0, -1};
    return choice[random_below(random, 8)];
}

static double number_of(const rewrite_case *of, uint64_t kind, random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, INFINITY, -INFINITY};
    const double x = random_float(random);
    switch (of->numbers) {
    case FAR_AWAY:
        return far_away(or_f32(of->dtype), kind) + x;
    case OUT_OF_RANGE:
        return out_of_range(or_f32(of->dtype), kind) * x;
    case MASKED:
        return kind == 0 || (kind == 1 && random_below(random, 2)) ? -INFINITY : 30 * x;
    case WILD:
        return kind == 0 && random_below(random, 8) == 0 ? wild[random_below(random, 5)] : 30 * x;
    case ENORMOUS:
        return enormous(or_f32(of->dtype), random);
    default:
        return of->numbers == STEEP ? 30 * x : x;
    }
}

// Y of a backward is what softmax, or its logarithm, may give; but for wild numbers.
static double result_of(const rewrite_case *of, uint64_t kind, random_state *random)
{
    const double x = number_of(of, kind, random);
    if (of->numbers != FRACTIONS && of->numbers != STEEP)
        return of->numbers == WILD && !isfinite(x) ? x : of->op == SOFTMAX_BACKWARD ? 0.125 : -4;
    return of->op == SOFTMAX_BACKWARD ? fabs(x) / 30 : -fabs(x);
}

// dY of a norm: what it is multiplied by may be at the ends of the range.
static double norm_gradient_of(const rewrite_case *of, uint64_t kind, random_state *random)
{
    const bool is_plain = of->numbers != WILD && of->numbers != MASKED && of->numbers != STEEP;
    return is_plain ? 3 + random_float(random) : number_of(of, kind, random);
}

static void fill(rewrite_operands *o, int k, random_state *random)
{
    const weft_tensor *t = &o->in[k].t;
    const weft_dtype dtype = or_f32(t->dtype);
    const bool is_norm = rewrite_is_norm(o->of.op), is_backward = rewrite_is_backward(o->of.op);
    const bool is_scaling = is_norm && k > (is_backward ? 1 : 0);
    const bool is_result = is_backward && !is_norm && k == 0;
    const bool is_gradient = is_backward && is_norm && k == 1;
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (strided_is_empty(t))
        return;
    do {
        const uint64_t kind = is_scaling ? 0 : kind_of_line(&o->of, index);
        const double x = is_scaling    ? 1 + random_float(random)
                         : is_result   ? result_of(&o->of, kind, random)
                         : is_gradient ? norm_gradient_of(&o->of, kind, random)
                                       : number_of(&o->of, kind, random);
        scalar_put(dtype, o->in[k].memory, strided_place(t, index), x);
    } while (strided_next(t, index));
}

static void add_input(rewrite_operands *o, int ndim, const int64_t *shape, strided_layout layout,
                      random_state *random)
{
    const bool is_out = o->of.over == o->n_in + 1;
    strided *s = &o->in[o->n_in];
    if (is_out && layout == LAYOUT_REPEATING)
        layout = LAYOUT_ANY;
    strided_create(s, o->of.dtype, ndim, shape, layout, random, POISON, is_out ? GUARD : 0);
    fill(o, o->n_in++, random);
    // Where there is nothing to read there need not be a buffer.
    if (is_out || !strided_is_empty(&s->t))
        strided_upload(s, o->ctx);
}

void rewrite_create(rewrite_operands *o, weft_context *ctx, const rewrite_case *of)
{
    random_state random = {of->seed};
    *o = (rewrite_operands){.of = *of, .ctx = ctx, .queue = weft_context_queue(ctx)};
    const bool is_norm = rewrite_is_norm(of->op);
    add_input(o, of->ndim, of->shape, of->in_layout, &random);
    if (rewrite_is_backward(of->op))
        add_input(o, of->ndim, of->shape, of->in_layout, &random);
    for (int k = 0; k < 2; k++)
        if (is_norm && (k == 0 ? of->has_weight : of->has_bias))
            add_input(o, of->axis, of->shape + of->ndim - of->axis,
                      of->in_layout == LAYOUT_ALIGNED
                          ? LAYOUT_ALIGNED
                          : (strided_layout)random_below(&random, N_LAYOUTS),
                      &random);
    for (int k = 0; k < 2; k++)
        if (k == 0 ? of->wants_dw : of->wants_db) {
            strided_create(&o->scalings[k], of->dtype, of->axis, of->shape + of->ndim - of->axis,
                           (strided_layout)random_below(&random, LAYOUT_REPEATING), &random,
                           UNTOUCHED, GUARD);
            strided_upload(&o->scalings[k], ctx);
        }
    if (of->over > 0)
        return;
    strided_create(&o->out, of->dtype, of->ndim, of->shape, of->out_layout, &random, UNTOUCHED,
                   GUARD);
    strided_upload(&o->out, ctx);
}

void rewrite_destroy(rewrite_operands *o)
{
    for (int k = 0; k < o->n_in; k++)
        strided_destroy(&o->in[k]);
    strided_destroy(&o->out);
    for (int k = 0; k < 2; k++)
        strided_destroy(&o->scalings[k]);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
}

const strided *rewrite_target(const rewrite_operands *o)
{
    return o->of.over > 0 ? &o->in[o->of.over - 1] : &o->out;
}

void rewrite_restore(const rewrite_operands *o)
{
    for (int k = 0; k < o->n_in; k++)
        if (o->in[k].t.buffer)
            strided_restore(&o->in[k], o->queue);
    if (o->of.over == 0)
        strided_restore(&o->out, o->queue);
    for (int k = 0; k < 2; k++)
        if (o->scalings[k].t.buffer)
            strided_restore(&o->scalings[k], o->queue);
}

// ---- the call

static const weft_tensor *weight_of(const rewrite_operands *o)
{
    return o->of.has_weight ? &o->in[rewrite_is_backward(o->of.op) ? 2 : 1].t : NULL;
}

static const weft_tensor *bias_of(const rewrite_operands *o)
{
    return o->of.has_bias ? &o->in[o->n_in - 1].t : NULL;
}

static weft_softmax_params softmax_params(const rewrite_operands *o, const rewrite_how *how)
{
    return (weft_softmax_params){sizeof(weft_softmax_params),
                                 o->of.masked,
                                 TILING_TEXT(axis, how->tiling),
                                 how->workspace,
                                 how->n_wait,
                                 how->wait,
                                 how->event};
}

static weft_norm_params norm_params(const rewrite_operands *o, const rewrite_how *how)
{
    return (weft_norm_params){
        sizeof(weft_norm_params), weight_of(o), bias_of(o), TILING_TEXT(axis, how->tiling),
        how->workspace,           how->n_wait,  how->wait,  how->event};
}

static weft_norm_backward_params backward_params(const rewrite_operands *o, const rewrite_how *how)
{
    return (weft_norm_backward_params){
        .size = sizeof(weft_norm_backward_params),
        .weight = weight_of(o),
        .dW = o->of.wants_dw ? &o->scalings[0].t : NULL,
        .db = o->of.wants_db ? &o->scalings[1].t : NULL,
        .tiling = TILING_TEXT(axis, how->tiling),
        .scaling_tiling = TILING_TEXT(axis, o->of.scaling_tiling),
        .workspace = how->workspace,
        .n_wait = how->n_wait,
        .wait = how->wait,
        .event = how->event,
    };
}

weft_status rewrite_call_how(const rewrite_operands *o, const rewrite_how *how)
{
    const rewrite_case *of = &o->of;
    const weft_tensor *X = &o->in[0].t, *dY = &o->in[1].t, *Y = &rewrite_target(o)->t;
    const weft_softmax_params s = softmax_params(o, how);
    const weft_norm_params n = norm_params(o, how);
    const weft_norm_backward_params b = backward_params(o, how);
    const double number = of->number;
    switch (of->op) {
    case LAYER_NORM_BACKWARD:
        return weft_layer_norm_backward(o->ctx, o->queue, number, X, of->axis, dY, Y, &b);
    case RMS_NORM_BACKWARD:
        return weft_rms_norm_backward(o->ctx, o->queue, number, X, of->axis, dY, Y, &b);
    case SOFTMAX:
        return weft_softmax(o->ctx, o->queue, of->number, X, of->axis, Y, &s);
    case LOG_SOFTMAX:
        return weft_log_softmax(o->ctx, o->queue, of->number, X, of->axis, Y, &s);
    case SOFTMAX_BACKWARD:
        return weft_softmax_backward(o->ctx, o->queue, of->number, X, dY, of->axis, Y, &s);
    case LOG_SOFTMAX_BACKWARD:
        return weft_log_softmax_backward(o->ctx, o->queue, of->number, X, dY, of->axis, Y, &s);
    case LAYER_NORM:
        return weft_layer_norm(o->ctx, o->queue, of->number, X, of->axis, Y, &n);
    default:
        return weft_rms_norm(o->ctx, o->queue, of->number, X, of->axis, Y, &n);
    }
}

static rewrite_how how_of(const rewrite_operands *o)
{
    return (rewrite_how){.tiling = o->of.tiling, .workspace = o->workspace};
}

weft_status rewrite_workspace(const rewrite_operands *o, size_t *bytes)
{
    const rewrite_how how = how_of(o);
    const weft_softmax_params s = softmax_params(o, &how);
    const weft_norm_params n = norm_params(o, &how);
    const weft_norm_backward_params b = backward_params(o, &how);
    const weft_tensor *X = &o->in[0].t, *dY = &o->in[1].t, *Y = &rewrite_target(o)->t;
    if (rewrite_is_norm_backward(o->of.op))
        return weft_norm_backward_workspace(o->ctx, X, o->of.axis, dY, Y, &b, bytes);
    return rewrite_is_norm(o->of.op) ? weft_norm_workspace(o->ctx, X, o->of.axis, Y, &n, bytes)
                                     : weft_softmax_workspace(o->ctx, X, o->of.axis, Y, &s, bytes);
}

static int describe(const rewrite_operands *o, const rewrite_how *how, char *text, size_t size)
{
    const int axis = o->of.axis;
    const weft_tensor *X = &o->in[0].t, *dY = &o->in[1].t, *Y = &rewrite_target(o)->t;
    const weft_softmax_params softmax = softmax_params(o, how), *s = &softmax;
    const weft_norm_params norm = norm_params(o, how), *n = &norm;
    const weft_norm_backward_params backward = backward_params(o, how), *b = &backward;
    switch (o->of.op) {
    case LAYER_NORM_BACKWARD:
        return weft_norm_backward_describe(o->ctx, X, axis, dY, Y, b, text, size);
    case RMS_NORM_BACKWARD:
        return weft_rms_norm_backward_describe(o->ctx, X, axis, dY, Y, b, text, size);
    case SOFTMAX:
        return weft_softmax_describe(o->ctx, X, axis, Y, s, text, size);
    case LOG_SOFTMAX:
        return weft_log_softmax_describe(o->ctx, X, axis, Y, s, text, size);
    case SOFTMAX_BACKWARD:
        return weft_softmax_backward_describe(o->ctx, X, dY, axis, Y, s, text, size);
    case LOG_SOFTMAX_BACKWARD:
        return weft_log_softmax_backward_describe(o->ctx, X, dY, axis, Y, s, text, size);
    case RMS_NORM:
        return weft_rms_norm_describe(o->ctx, X, axis, Y, n, text, size);
    default:
        return weft_norm_describe(o->ctx, X, axis, Y, n, text, size);
    }
}

const char *rewrite_words(const rewrite_operands *o)
{
    static char text[1024];
    const rewrite_how how = how_of(o);
    if (describe(o, &how, text, sizeof(text)) < 0)
        snprintf(text, sizeof(text), "%s", weft_last_error());
    return text;
}

static const char *case_words(const rewrite_operands *o)
{
    static char text[2048];
    const rewrite_case *of = &o->of;
    const weft_tensor *Y = &rewrite_target(o)->t;
    int n = snprintf(text, sizeof(text),
                     "seed %" PRIu64 ": %s of %s, axis %d, number %g, numbers %d, over %d,%s%s%s",
                     of->seed, names[of->op], weft_dtype_name(or_f32(of->dtype)), of->axis,
                     of->number, of->numbers, of->over, of->masked ? " masked," : "",
                     of->has_weight ? " w," : "", of->has_bias ? " b," : "");
    for (int d = 0; d < of->ndim; d++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " %" PRId64 " at %" PRId64 " to %" PRId64,
                      of->shape[d], o->in[0].t.stride[d], Y->stride[d]);
    snprintf(text + n, sizeof(text) - (size_t)n, "; %s", rewrite_words(o));
    return text;
}

// Oclgrind takes the pool's memory, which the host has not written, for uninitialised.
cl_mem rewrite_written_scratch(const rewrite_operands *o)
{
    size_t bytes;
    assert_ok(rewrite_workspace(o, &bytes));
    return bytes > 0 ? strided_zeros(o->ctx, bytes, CL_MEM_READ_WRITE) : NULL;
}

void rewrite_call(const rewrite_operands *o)
{
    rewrite_how how = how_of(o);
    const bool is_lent = rewrite_is_norm_backward(o->of.op) && !how.workspace && is_on("oclgrind");
    if (is_lent)
        how.workspace = rewrite_written_scratch(o);
    if (rewrite_call_how(o, &how) != WEFT_OK) {
        char error[512];
        snprintf(error, sizeof(error), "%s", weft_last_error());
        fail_msg("%s: %s", case_words(o), error);
    }
    if (is_lent && how.workspace)
        clReleaseMemObject(how.workspace);
}

// ---- the comparison

static bool refer(reference_norm_gradients *out, const rewrite_operands *o, complaint *why)
{
    const rewrite_case *of = &o->of;
    reference_values *values = &out->dX;
    host_tensor in[3];
    for (int k = 0; k < o->n_in; k++)
        in[k] = strided_host(&o->in[k].t, o->in[k].memory);
    if (rewrite_is_norm_backward(of->op))
        return reference_norm_backward_run(out,
                                           &(reference_norm_backward){
                                               .X = in[0],
                                               .dY = in[1],
                                               .n_axes = of->axis,
                                               .epsilon = of->number,
                                               .is_rms = of->op == RMS_NORM_BACKWARD,
                                               .weight = of->has_weight ? &in[2] : NULL,
                                           },
                                           why);
    if (rewrite_is_norm(of->op))
        return reference_norm_run(values,
                                  &(reference_norm){
                                      .X = in[0],
                                      .n_axes = of->axis,
                                      .epsilon = of->number,
                                      .is_rms = of->op == RMS_NORM,
                                      .weight = of->has_weight ? &in[1] : NULL,
                                      .bias = of->has_bias ? &in[o->n_in - 1] : NULL,
                                  },
                                  why);
    reference_softmax problem = {
        .X = in[0],
        .axis = of->axis,
        .scale = of->number,
        .is_log = of->op == LOG_SOFTMAX || of->op == LOG_SOFTMAX_BACKWARD,
        .is_backward = rewrite_is_backward(of->op),
        .masked = of->masked,
    };
    if (problem.is_backward)
        problem.dY = in[1];
    return reference_softmax_run(values, &problem, why);
}

// One output, and that nothing else of its buffer was written.
static void check_output(const rewrite_operands *o, const char *name, reference_values *values,
                         const strided *out)
{
    void *after = strided_read(out, o->queue);
    const host_tensor Y = strided_host(&out->t, after);
    reference_worst worst;
    complaint why;
    // The bound of what may be anything is infinite, and 0 times that where nothing is stored.
    for (int64_t i = 0; i < values->count; i++)
        values->bound[i] = isnan(values->bound[i]) ? INFINITY : values->bound[i];
    if (!reference_values_compare(values, &Y, &worst, &why))
        fail_msg("%s: %s", case_words(o), why.text);
    if (!(worst.error <= 1))
        fail_msg("%s: %s %" PRId64 " is %.17g, not %.17g: %g of the bound", case_words(o), name,
                 worst.at, worst.got, worst.want, worst.error);
    const int64_t stray = strided_stray_byte(out, after);
    if (stray >= 0)
        fail_msg("%s: byte %" PRId64 " of the buffer of %s, where it has no element, was written",
                 case_words(o), stray, name);
    free(after);
}

static void check_results(const rewrite_operands *o)
{
    reference_norm_gradients values = {0};
    complaint why;
    if (!refer(&values, o, &why))
        fail_msg("%s: %s", case_words(o), why.text);
    check_output(o, "result", &values.dX, rewrite_target(o));
    if (o->of.wants_dw)
        check_output(o, "dW", &values.dW, &o->scalings[0]);
    if (o->of.wants_db)
        check_output(o, "db", &values.db, &o->scalings[1]);
    reference_norm_gradients_free(&values);
}

static void check_inputs(const rewrite_operands *o)
{
    for (int k = 0; k < o->n_in; k++) {
        const strided *s = &o->in[k];
        if (s == rewrite_target(o) || !s->t.buffer)
            continue;
        void *now = strided_read(s, o->queue);
        if (memcmp(now, s->memory, s->bytes) != 0)
            fail_msg("%s: input %d was written", case_words(o), k);
        free(now);
    }
}

void rewrite_check(const rewrite_operands *o)
{
    check_results(o);
    check_inputs(o);
}

void rewrite_run(weft_context *ctx, const rewrite_case *of)
{
    if (!rewrite_is_possible(ctx, of))
        return;
    rewrite_operands o;
    rewrite_create(&o, ctx, of);
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_destroy(&o);
}

rewrite_case rewrite_random(rewrite_op op, uint64_t seed, int ndim, int64_t most)
{
    static const double scales[] = {1, 0.25, -0.5, 1.75};
    static const double epsilons[] = {1e-5, 0, 0.25, 1};
    random_state random = {seed};
    const bool is_norm = rewrite_is_norm(op);
    rewrite_case of = {
        .seed = seed,
        .op = op,
        .ndim = ndim,
        .axis = is_norm ? 1 : 0,
        .masked = random_below(&random, 2),
        .in_layout = (strided_layout)random_below(&random, N_LAYOUTS),
        .out_layout = (strided_layout)random_below(&random, LAYOUT_REPEATING),
        .numbers = (rewrite_numbers)random_below(&random, N_NUMBERS),
    };
    const int64_t pick = random_below(&random, 4);
    of.number = is_norm ? epsilons[pick] : rewrite_is_backward(op) ? scales[pick] : 1;
    of.has_weight = is_norm && random_below(&random, 2);
    of.has_bias = of.has_weight && op == LAYER_NORM;
    if (rewrite_is_norm_backward(op)) {
        of.wants_dw = random_below(&random, 2);
        of.wants_db = random_below(&random, 2);
    }
    if (random_below(&random, 4) == 0 && !of.wants_dw && !of.wants_db)
        of.over = rewrite_is_backward(op) ? 1 + (int)random_below(&random, 2) : 1;
    strided_random_shape(of.shape, ndim, most, &random);
    return of;
}
