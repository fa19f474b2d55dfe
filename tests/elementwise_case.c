// SPDX-License-Identifier: Apache-2.0
// Operands for tests of elementwise operations, the call and the comparison.
#include "elementwise_case.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "elementwise/elementwise_plan.h"
#include "reference_elementwise.h"
#include "scalar.h"
#include "tiling_text.h"

const weft_elementwise_tiling elementwise_one_by_one = {.vector_width = 1,
                                                        .vectors = 1,
                                                        .items = 1,
                                                        .items_y = 1,
                                                        .columns = 1 << 20,
                                                        .rows = 1,
                                                        .grid_x = 1,
                                                        .grid_y = 1,
                                                        .grid_z = 1};

enum { GUARD = 16, FIRST = 16, POISON = 0xff, UNTOUCHED = 0xa5 };

static weft_dtype or_f32(weft_dtype dtype)
{
    return dtype == WEFT_DEFAULT ? WEFT_F32 : dtype;
}

weft_dtype elementwise_arithmetic(const elementwise_case *of)
{
    bool is_real = false, is_long = false;
    if (of->arithmetic != WEFT_DEFAULT)
        return of->arithmetic;
    for (int j = 0; j < of->n_outputs; j++)
        is_real = is_real || of->formulas[j]->is_real;
    for (int k = 0; k < of->n_inputs; k++) {
        const weft_dtype dtype = or_f32(of->in[k].dtype);
        if (dtype == WEFT_F64)
            return WEFT_F64;
        is_real = is_real || scalar_is_float(dtype);
        is_long = is_long || dtype == WEFT_I64;
    }
    return is_real ? WEFT_F32 : is_long ? WEFT_I64 : WEFT_I32;
}

bool elementwise_is_possible(const weft_context *ctx, const elementwise_case *of)
{
    bool has_f64 = of->arithmetic == WEFT_F64;
    for (int k = 0; k < of->n_inputs; k++)
        has_f64 = has_f64 || of->in[k].dtype == WEFT_F64;
    for (int j = 0; j < of->n_outputs; j++)
        has_f64 = has_f64 || of->out[j].dtype == WEFT_F64;
    return !has_f64 || weft_context_limits(ctx)->has_f64;
}

// ---- elements

// Both, of which the type takes one.
static void put(weft_dtype dtype, void *data, int64_t i, double real, int64_t whole)
{
    if (dtype == WEFT_I32)
        ((int32_t *)data)[i] = (int32_t)whole;
    else if (dtype == WEFT_I64)
        ((int64_t *)data)[i] = whole;
    else if (dtype == WEFT_U8)
        ((uint8_t *)data)[i] = (uint8_t)whole;
    else
        scalar_put(dtype, data, i, real);
}

static double real_number(const elementwise_case *of, const elementwise_formula *f,
                          random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, 0};
    const bool is_bounded = f->least != 0 || f->most != 0;
    const double least = is_bounded ? f->least : -8, most = is_bounded ? f->most : 8;
    if (of->numbers == WILD && random_below(random, 4) == 0)
        return wild[random_below(random, 4)];
    const double x = least + (most - least) * (0.5 + 0.5 * (double)random_float(random));
    return of->numbers == WILD && random_below(random, 2) == 0 ? 0x1p-40 * x : x;
}

static int64_t whole_number(const elementwise_case *of, random_state *random)
{
    if (of->numbers == TAME)
        return random_between(random, -100, 100);
    return (int64_t)random_u64(random) >> random_below(random, 64);
}

// Whose bounds an input keeps: the formula's that takes it, the last one that begins before it.
static const elementwise_formula *formula_of(const elementwise_case *of, int k)
{
    const elementwise_formula *found = of->formulas[0];
    for (int j = 1; j < of->n_outputs; j++)
        if (of->first[j] <= k && of->first[j] > 0)
            found = of->formulas[j];
    return found;
}

static void fill(elementwise_operands *o, int k, random_state *random)
{
    const weft_tensor *t = &o->in[k].t;
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (strided_is_empty(t))
        return;
    do {
        const double real = real_number(&o->of, formula_of(&o->of, k), random);
        const int64_t whole = whole_number(&o->of, random);
        put(or_f32(t->dtype), o->in[k].memory, strided_place(t, index), real, whole);
    } while (strided_next(t, index));
}

void elementwise_put(elementwise_operands *o, int k, int64_t i, double real, int64_t whole)
{
    const weft_tensor *t = &o->in[k].t;
    int64_t place = t->offset;
    for (int d = t->ndim - 1; d >= 0; d--) {
        place += i % t->shape[d] * t->stride[d];
        i /= t->shape[d];
    }
    put(or_f32(t->dtype), o->in[k].memory, place, real, whole);
}

// ---- operands

// Laid out with the gaps, and then without the elements that are in them.
static void lay_out(const elementwise_operands *o, strided *s, const elementwise_operand *as,
                    int ndim, const int64_t *shape, random_state *random, bool is_output)
{
    int64_t padded[WEFT_MAX_NDIM] = {0};
    for (int d = 0; d < ndim; d++)
        padded[d] = shape[d] > 0 ? shape[d] + as->gap : 0;
    strided_create(s, as->dtype, ndim, padded, as->layout, random, is_output ? UNTOUCHED : POISON,
                   is_output ? GUARD : 0);
    bool is_backward = false;
    for (int d = 0; d < ndim; d++) {
        s->t.shape[d] = shape[d];
        s->t.stride[d] = as->sliding ? 1 : s->t.stride[d];
        is_backward = is_backward || s->t.stride[d] < 0;
    }
    if (as->sliding || (o->of.aligned && !is_backward))
        s->t.offset = FIRST;
}

static void make_twin(elementwise_operands *o, int k)
{
    weft_tensor *t = &o->in[k].t;
    const int last = o->in[k - 1].t.ndim - 1;
    *t = o->in[k - 1].t;
    t->shape[last] = o->in[k - 1].t.shape[last - 1];
    t->shape[last - 1] = o->in[k - 1].t.shape[last];
    t->stride[last] = o->in[k - 1].t.stride[last - 1];
    t->stride[last - 1] = o->in[k - 1].t.stride[last];
}

static void make_input(elementwise_operands *o, int k, random_state *random)
{
    elementwise_operand as = o->of.in[k];
    const bool is_out = o->of.over == k + 1;
    const int ndim = o->of.ndim - as.missing;
    int64_t shape[WEFT_MAX_NDIM];
    for (int d = 0; d < ndim; d++)
        shape[d] = as.ones >> (d + as.missing) & 1 ? 1 : o->of.shape[d + as.missing];
    if (is_out && as.layout == LAYOUT_REPEATING)
        as.layout = LAYOUT_ANY;
    if (as.sliding) // which needs no more memory
        as.layout = LAYOUT_DENSE;
    if (as.twin) {
        make_twin(o, k);
        return;
    }
    lay_out(o, &o->in[k], &as, ndim, shape, random, is_out);
    if (is_out) // no NaN where the output's guards stand
        memset(o->in[k].memory, UNTOUCHED, o->in[k].bytes);
    fill(o, k, random);
    // Where there is nothing to read there need not be a buffer.
    if (is_out || !strided_is_empty(&o->in[k].t))
        strided_upload(&o->in[k], o->ctx);
}

static void make_output(elementwise_operands *o, int j, random_state *random)
{
    if (j > 0 || o->of.over == 0) {
        lay_out(o, &o->out[j], &o->of.out[j], o->of.ndim, o->of.shape, random, true);
        strided_upload(&o->out[j], o->ctx);
    }
    o->outputs[j] =
        (weft_elementwise_output){o->of.formulas[j]->text, &elementwise_target(o, j)->t};
}

void elementwise_create(elementwise_operands *o, weft_context *ctx, const elementwise_case *of)
{
    random_state random = {of->seed};
    *o = (elementwise_operands){.of = *of, .ctx = ctx, .queue = weft_context_queue(ctx)};
    for (int k = 0; k < of->n_inputs; k++) {
        make_input(o, k, &random);
        if (of->in[k].twin)
            o->in[k].t.buffer = o->in[k - 1].t.buffer;
        o->inputs[k] = (weft_elementwise_input){NULL, &o->in[k].t};
    }
    for (int j = 0; j < of->n_outputs; j++)
        make_output(o, j, &random);
    for (int i = 0; i < of->n_values; i++) {
        snprintf(o->names[i], sizeof(o->names[i]), "v%d", i);
        o->values[i] = (weft_elementwise_value){o->names[i], of->values[i]};
    }
}

void elementwise_destroy(elementwise_operands *o)
{
    for (int k = 0; k < o->of.n_inputs; k++)
        if (!o->of.in[k].twin)
            strided_destroy(&o->in[k]);
    for (int j = 0; j < o->of.n_outputs; j++)
        strided_destroy(&o->out[j]);
}

const strided *elementwise_target(const elementwise_operands *o, int j)
{
    return j == 0 && o->of.over > 0 ? &o->in[o->of.over - 1] : &o->out[j];
}

void elementwise_restore(const elementwise_operands *o)
{
    for (int k = 0; k < o->of.n_inputs; k++)
        if (!o->of.in[k].twin && o->in[k].t.buffer)
            strided_restore(&o->in[k], o->queue);
    for (int j = 0; j < o->of.n_outputs; j++)
        if (o->out[j].t.buffer)
            strided_restore(&o->out[j], o->queue);
}

// ---- the call

weft_elementwise_params elementwise_params(const elementwise_operands *o)
{
    return (weft_elementwise_params){.size = sizeof(weft_elementwise_params),
                                     .n_values = o->of.n_values,
                                     .values = o->of.n_values > 0 ? o->values : NULL,
                                     .arithmetic = o->of.arithmetic,
                                     .tiling = TILING_TEXT(elementwise, o->of.tiling)};
}

weft_status elementwise_call_with(const elementwise_operands *o,
                                  const weft_elementwise_params *params)
{
    return weft_elementwise(o->ctx, o->queue, o->of.n_inputs, o->inputs, o->of.n_outputs,
                            o->outputs, params);
}

const char *elementwise_words(const elementwise_operands *o)
{
    static char text[1024];
    const weft_elementwise_params params = elementwise_params(o);
    if (weft_elementwise_describe(o->ctx, o->of.n_inputs, o->inputs, o->of.n_outputs, o->outputs,
                                  &params, text, sizeof(text)) < 0)
        snprintf(text, sizeof(text), "cannot say: %s", weft_last_error());
    return text;
}

static int add_tensor(char *text, size_t size, const char *what, const weft_tensor *t)
{
    int n = snprintf(text, size, "; %s %s", what, weft_dtype_name(or_f32(t->dtype)));
    for (int d = 0; d < t->ndim && (size_t)n < size; d++)
        n += snprintf(text + n, size - (size_t)n, " %" PRId64 " at %" PRId64, t->shape[d],
                      t->stride[d]);
    return n;
}

static const char *case_words(const elementwise_operands *o)
{
    static char text[4096];
    size_t n = (size_t)snprintf(text, sizeof(text), "seed %" PRIu64 ": %s", o->of.seed,
                                o->outputs[0].formula);
    for (int k = 0; k < o->of.n_inputs && n < sizeof(text); k++)
        n += (size_t)add_tensor(text + n, sizeof(text) - n, "from", &o->in[k].t);
    for (int j = 0; j < o->of.n_outputs && n < sizeof(text); j++)
        n += (size_t)add_tensor(text + n, sizeof(text) - n, "to", o->outputs[j].tensor);
    if (n < sizeof(text))
        snprintf(text + n, sizeof(text) - n, "; %s", elementwise_words(o));
    return text;
}

void elementwise_call(const elementwise_operands *o)
{
    const weft_elementwise_params params = elementwise_params(o);
    if (elementwise_call_with(o, &params) != WEFT_OK) {
        char error[512];
        snprintf(error, sizeof(error), "%s", weft_last_error());
        fail_msg("%s: %s", case_words(o), error);
    }
}

// ---- the comparison

bool elementwise_flushes(const weft_context *ctx)
{
    cl_device_fp_config config = 0;
    clGetDeviceInfo(weft_context_device(ctx), CL_DEVICE_SINGLE_FP_CONFIG, sizeof(config), &config,
                    NULL);
    return !(config & CL_FP_DENORM);
}

static host_tensor host_of(const weft_tensor *t, const void *data)
{
    host_tensor view = {.data = data, .dtype = or_f32(t->dtype), t->offset, t->ndim};
    memcpy(view.shape, t->shape, sizeof(view.shape));
    memcpy(view.stride, t->stride, sizeof(view.stride));
    return view;
}

static bool has_i64(const elementwise_operands *o)
{
    for (int k = 0; k < o->of.n_inputs; k++)
        if (o->of.in[k].dtype == WEFT_I64)
            return true;
    return elementwise_arithmetic(&o->of) == WEFT_I64;
}

// What devices may do besides: flush numbers that are subnormal; and Oclgrind 21.10 rounds an i64
// to f64 before it rounds it to f32.
static void widen(const elementwise_operands *o, reference_values *values)
{
    const bool flushes = elementwise_flushes(o->ctx) && values->dtype != WEFT_F64;
    const bool rounds_twice = is_on("oclgrind") && has_i64(o);
    for (int64_t i = 0; i < values->count; i++) {
        const double want = values->whole ? (double)values->whole[i] : values->want[i];
        const bool is_rounded = !values->whole || elementwise_arithmetic(&o->of) == WEFT_F32;
        if (flushes && !values->whole && fabs(want) < 2 * FLT_MIN)
            values->bound[i] += 2 * FLT_MIN;
        if (rounds_twice && is_rounded && isfinite(want))
            values->bound[i] += FLT_EPSILON * fabs(want);
    }
}

static void run_reference(const elementwise_operands *o, int j, reference_values *out)
{
    static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const char *names[WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_VALUES];
    host_tensor inputs[WEFT_ELEMENTWISE_INPUTS];
    complaint why;
    for (int k = 0; k < o->of.n_inputs; k++) {
        inputs[k] = host_of(&o->in[k].t, o->in[o->of.in[k].twin ? k - 1 : k].memory);
        names[k] = letters[k];
    }
    for (int i = 0; i < o->of.n_values; i++)
        names[o->of.n_inputs + i] = o->names[i];
    const reference_elementwise problem = {.formula = o->outputs[j].formula,
                                           .n_inputs = o->of.n_inputs,
                                           .n_values = o->of.n_values,
                                           .inputs = inputs,
                                           .values = o->of.values,
                                           .names = names,
                                           .arithmetic = elementwise_arithmetic(&o->of),
                                           .y_dtype = or_f32(o->outputs[j].tensor->dtype),
                                           .ndim = o->of.ndim,
                                           .shape = o->of.shape};
    if (!reference_elementwise_run(out, &problem, &why))
        fail_msg("%s: %s", case_words(o), why.text);
    widen(o, out);
}

static void check_output(const elementwise_operands *o, int j)
{
    const strided *target = elementwise_target(o, j);
    void *after = strided_read(target, o->queue);
    const host_tensor Y = host_of(&target->t, after);
    reference_values values;
    reference_worst worst;
    complaint why;
    run_reference(o, j, &values);
    if (!reference_values_compare(&values, &Y, &worst, &why))
        fail_msg("%s", why.text);
    if (worst.n_beyond > 0)
        fail_msg("%s: output %d, %s, element %" PRId64 " is %.17g, not %.17g by %g; %" PRId64
                 " elements are wrong",
                 case_words(o), j, o->outputs[j].formula, worst.first, worst.first_got,
                 worst.first_want, values.bound[worst.first], worst.n_beyond);
    const int64_t stray = strided_stray_byte(target, after);
    if (stray >= 0)
        fail_msg("%s: byte %" PRId64 " of an output's buffer, where it has no element, was written",
                 case_words(o), stray);
    reference_values_free(&values);
    free(after);
}

static void check_inputs(const elementwise_operands *o)
{
    for (int k = 0; k < o->of.n_inputs; k++) {
        const strided *s = &o->in[k];
        if (o->of.in[k].twin || o->of.over == k + 1 || !s->t.buffer)
            continue;
        void *now = strided_read(s, o->queue);
        if (memcmp(now, s->memory, s->bytes) != 0)
            fail_msg("%s: input %d was written", case_words(o), k);
        free(now);
    }
}

void elementwise_check(const elementwise_operands *o)
{
    for (int j = 0; j < o->of.n_outputs; j++)
        check_output(o, j);
    check_inputs(o);
}

void elementwise_run(weft_context *ctx, const elementwise_case *of)
{
    if (!elementwise_is_possible(ctx, of))
        return;
    elementwise_operands o;
    elementwise_create(&o, ctx, of);
    elementwise_call(&o);
    elementwise_check(&o);
    elementwise_destroy(&o);
}
