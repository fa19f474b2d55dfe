// SPDX-License-Identifier: Apache-2.0
// Operands for tests of reductions, the call and the comparison.
#include "reduce_case.h"

#include <inttypes.h>
#include <math.h>

#include "random.h"
#include "reference_axis.h"
#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 16, POISON = 0xff, UNTOUCHED = 0xa5 };

weft_dtype reduce_result(weft_reduction op, weft_dtype dtype, bool has_f64)
{
    switch (op) {
    case WEFT_ARGMIN:
    case WEFT_ARGMAX:
        return WEFT_I64;
    case WEFT_ANY:
    case WEFT_ALL:
        return WEFT_U8;
    case WEFT_MIN:
    case WEFT_MAX:
        return dtype;
    case WEFT_SUM:
    case WEFT_PROD:
        return scalar_is_float(dtype) ? dtype : WEFT_I64;
    default:
        return scalar_is_float(dtype) ? dtype : has_f64 ? WEFT_F64 : WEFT_F32;
    }
}

static weft_dtype or_f32(weft_dtype dtype)
{
    return dtype == WEFT_DEFAULT ? WEFT_F32 : dtype;
}

static bool is_reduced(const reduce_case *of, int d)
{
    return of->all || of->mask >> d & 1;
}

static int64_t count_of(const reduce_case *of, bool of_reduced)
{
    int64_t n = 1;
    for (int d = 0; d < of->ndim; d++)
        if (is_reduced(of, d) == of_reduced)
            n *= of->shape[d];
    return n;
}

bool reduce_is_possible(weft_context *ctx, const reduce_case *of)
{
    const bool has_f64 = weft_context_limits(ctx)->has_f64;
    const bool wants_f64 = of->dtype == WEFT_F64 || of->result == WEFT_F64;
    const bool is_extreme = of->op >= WEFT_MIN && of->op <= WEFT_ARGMAX;
    const bool is_none = count_of(of, true) == 0 && count_of(of, false) > 0;
    return (has_f64 || !wants_f64) && !(is_extreme && is_none);
}

// ---- operands

static void shuffle(random_state *random, int *order, int n)
{
    for (int k = n - 1; k > 0; k--) {
        const int other = (int)random_below(random, k + 1), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

// Strides and offset; returns the elements that the buffer must have.
static int64_t lay_out(weft_tensor *t, reduce_layout layout, random_state *random)
{
    const bool is_aligned = layout == LAYOUT_ALIGNED;
    if (is_aligned)
        layout = LAYOUT_DENSE;
    const bool has_gaps = layout == LAYOUT_SLICED || layout >= LAYOUT_ANY;
    int order[WEFT_MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        order[k] = t->ndim - 1 - k;
    if (layout >= LAYOUT_PERMUTED)
        shuffle(random, order, t->ndim);
    int64_t step = has_gaps && random_below(random, 3) == 0 ? 2 : 1, last = 0;
    t->offset = GUARD + (is_aligned ? 0 : random_below(random, 4));
    for (int k = 0; k < t->ndim; k++) {
        const int d = order[k];
        const int64_t extent = t->shape[d] > 0 ? t->shape[d] : 1;
        const bool is_zero = layout == LAYOUT_REPEATING && random_below(random, 3) == 0;
        t->stride[d] = is_zero ? 0 : step;
        if (is_zero)
            continue;
        const int64_t reach = (extent - 1) * step;
        last += reach;
        step = step * extent + (has_gaps && random_below(random, 3) == 0 ? 3 : 0);
        if (has_gaps && random_below(random, 3) == 0) {
            t->offset += reach;
            t->stride[d] = -t->stride[d];
        }
    }
    int64_t first = t->offset;
    for (int d = 0; d < t->ndim; d++)
        if (t->stride[d] < 0 && t->shape[d] > 0)
            first += (t->shape[d] - 1) * t->stride[d];
    return first + last + 1;
}

static int64_t place_of(const weft_tensor *t, const int64_t *index)
{
    int64_t place = t->offset;
    for (int d = 0; d < t->ndim; d++)
        place += index[d] * t->stride[d];
    return place;
}

// Counts up, last axis fastest; false after the last one.
static bool next_index(const weft_tensor *t, int64_t *index)
{
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (++index[d] < t->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static bool is_empty(const weft_tensor *t)
{
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0)
            return true;
    return false;
}

static void put_whole(weft_dtype dtype, void *data, int64_t i, int64_t value)
{
    if (dtype == WEFT_U8)
        ((uint8_t *)data)[i] = (uint8_t)value;
    else if (dtype == WEFT_I32)
        ((int32_t *)data)[i] = (int32_t)value;
    else
        ((int64_t *)data)[i] = value;
}

// Factors keep away from 0 and from overflow, and truths are mostly of one kind.
static double whole_number(weft_reduction op, random_state *random)
{
    static const double factors[] = {1, -1, 2, 0.5, 1, -1, 1};
    switch (op) {
    case WEFT_PROD:
        return factors[random_below(random, 7)];
    case WEFT_ANY:
        return random_below(random, 20) == 0 ? 3 : 0;
    case WEFT_ALL:
        return random_below(random, 20) == 0 ? 0 : -2;
    default:
        return (double)random_between(random, -4, 4);
    }
}

static double number(const reduce_case *of, int64_t i, random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, -0.0};
    switch (of->numbers) {
    case FRACTIONS:
    case EXTREME:
        return of->op == WEFT_PROD ? 1 + random_float(random) / 16 : random_float(random);
    case FAR_AWAY:
        return of->op == WEFT_PROD ? 1 - random_float(random) / 16
                                   : far_away(or_f32(of->dtype), of->seed) + random_float(random);
    case OUT_OF_RANGE:
        return of->op == WEFT_PROD
                   ? 1 + random_float(random) / 16
                   : out_of_range(or_f32(of->dtype), of->seed) * random_float(random);
    case EQUAL:
        return i < 4096 ? 1.1 : 0.1;
    case WILD:
        if (random_below(random, 40) == 0)
            return wild[random_below(random, 4)];
        return whole_number(of->op, random);
    case ZEROS:
        return (random_below(random, 12) == 0) == (of->op == WEFT_MAX) ? 0.0 : -0.0;
    default:
        return whole_number(of->op, random);
    }
}

static void put_number(const reduce_case *of, random_state *random, void *data, int64_t i)
{
    const weft_dtype dtype = or_f32(of->dtype);
    if (scalar_is_float(dtype))
        scalar_put(dtype, data, i, number(of, i, random));
    else if (of->numbers == EXTREME)
        put_whole(dtype, data, i, (int64_t)random_u64(random));
    else if (of->op == WEFT_PROD)
        put_whole(dtype, data, i, random_between(random, 1, 3));
    else
        put_whole(dtype, data, i, (int64_t)whole_number(of->op, random));
}

static void *memory_filled(size_t bytes, int with)
{
    void *memory = malloc(bytes);
    assert_non_null(memory);
    memset(memory, with, bytes);
    return memory;
}

static cl_mem buffer_of(weft_context *ctx, const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static void make_x(reduce_operands *o, random_state *random)
{
    weft_tensor *X = &o->X;
    X->dtype = o->of.dtype;
    X->ndim = o->of.ndim;
    memcpy(X->shape, o->of.shape, sizeof(X->shape));
    const int64_t n = lay_out(X, o->of.x_layout, random);
    o->x_bytes = (size_t)n * weft_dtype_size(or_f32(X->dtype));
    o->x_data = memory_filled(o->x_bytes, POISON);
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (!is_empty(X))
        do
            put_number(&o->of, random, o->x_data, place_of(X, index));
        while (next_index(X, index));
    // Where there is nothing to read there need not be a buffer.
    X->buffer = is_empty(X) ? NULL : buffer_of(o->ctx, o->x_data, o->x_bytes);
}

static void make_y(reduce_operands *o, random_state *random)
{
    weft_tensor *Y = &o->Y;
    Y->dtype = o->of.result;
    for (int d = 0; d < o->of.ndim; d++)
        if (!is_reduced(&o->of, d) || o->of.keepdims)
            Y->shape[Y->ndim++] = is_reduced(&o->of, d) ? 1 : o->of.shape[d];
    const int64_t n = lay_out(Y, o->of.y_layout, random) + GUARD;
    o->y_bytes = (size_t)n * weft_dtype_size(or_f32(Y->dtype));
    o->y_before = memory_filled(o->y_bytes, UNTOUCHED);
    Y->buffer = buffer_of(o->ctx, o->y_before, o->y_bytes);
}

// In any order, some counted from the end.
static void make_axes(reduce_operands *o, random_state *random)
{
    for (int d = 0; d < o->of.ndim && !o->of.all; d++)
        if (is_reduced(&o->of, d))
            o->axes[o->n_axes++] = random_below(random, 2) ? d : d - o->of.ndim;
    shuffle(random, o->axes, o->n_axes);
}

void reduce_create(reduce_operands *o, weft_context *ctx, const reduce_case *of)
{
    random_state random = {of->seed};
    *o = (reduce_operands){.of = *of, .ctx = ctx, .queue = weft_context_queue(ctx)};
    const bool has_f64 = weft_context_limits(ctx)->has_f64;
    if (of->result == WEFT_DEFAULT)
        o->of.result = reduce_result(of->op, or_f32(of->dtype), has_f64);
    // No axis at all cannot be asked for: n_axes 0 is all of them.
    o->of.all = of->all || (of->mask & ((1u << of->ndim) - 1)) == 0;
    make_x(o, &random);
    make_y(o, &random);
    make_axes(o, &random);
}

void reduce_destroy(reduce_operands *o)
{
    if (o->X.buffer)
        clReleaseMemObject(o->X.buffer);
    clReleaseMemObject(o->Y.buffer);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
    free(o->x_data);
    free(o->y_before);
}

// ---- the call

weft_reduce_params reduce_params(const reduce_operands *o)
{
    return (weft_reduce_params){.size = sizeof(weft_reduce_params),
                                .correction = o->of.correction,
                                .tiling = TILING_TEXT(axis, o->of.tiling),
                                .workspace = o->workspace};
}

void reduce_restore(const reduce_operands *o)
{
    assert_ok(weft_cl_write(o->queue, o->Y.buffer, o->y_bytes, o->y_before, "restore"));
}

const char *reduce_words(const reduce_operands *o)
{
    static char text[512];
    const weft_reduce_params params = reduce_params(o);
    if (weft_reduce_describe(o->ctx, o->of.op, &o->X, o->n_axes, o->axes, &o->Y, &params, text,
                             sizeof(text)) < 0)
        snprintf(text, sizeof(text), "%s", weft_last_error());
    return text;
}

static const char *case_words(const reduce_operands *o)
{
    static char text[1024];
    const reduce_case *of = &o->of;
    int n = snprintf(text, sizeof(text), "seed %" PRIu64 ": %s of %s to %s,", of->seed,
                     weft_reduction_name(of->op), weft_dtype_name(of->dtype),
                     weft_dtype_name(of->result));
    for (int d = 0; d < of->ndim; d++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " %s%" PRId64 " at %" PRId64,
                      is_reduced(of, d) ? "-" : "", of->shape[d], o->X.stride[d]);
    snprintf(text + n, sizeof(text) - (size_t)n, "; %s", reduce_words(o));
    return text;
}

void reduce_call(const reduce_operands *o)
{
    const weft_reduce_params params = reduce_params(o);
    if (weft_reduce(o->ctx, o->queue, o->of.op, &o->X, o->n_axes, o->axes, &o->Y, &params) !=
        WEFT_OK)
        fail_msg("%s: %s", case_words(o), weft_last_error());
}

void *reduce_read(const reduce_operands *o)
{
    void *after = memory_filled(o->y_bytes, 0);
    assert_int_equal(
        clEnqueueReadBuffer(o->queue, o->Y.buffer, CL_TRUE, 0, o->y_bytes, after, 0, NULL, NULL),
        CL_SUCCESS);
    return after;
}

// ---- the comparison

static host_tensor host_of(const weft_tensor *t, const void *data)
{
    host_tensor h = {.data = data, .dtype = or_f32(t->dtype), .offset = t->offset, .ndim = t->ndim};
    memcpy(h.shape, t->shape, sizeof(h.shape));
    memcpy(h.stride, t->stride, sizeof(h.stride));
    return h;
}

// Comparing numbers takes 0 and -0 for the same.
static void check_signs_of_zeros(const reduce_operands *o, const reference_values *values,
                                 const void *after)
{
    const weft_reduction op = o->of.op;
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (!scalar_is_float(values->dtype) ||
        (op != WEFT_MIN && op != WEFT_MAX && op != WEFT_NORM_INF))
        return;
    for (int64_t i = 0; i < values->count; i++, next_index(&o->Y, index)) {
        const double got = scalar_get(values->dtype, after, place_of(&o->Y, index));
        if (values->want[i] == 0 && signbit(got) != signbit(values->want[i]))
            fail_msg("%s: result %" PRId64 " is %g, not %g", case_words(o), i, got,
                     values->want[i]);
    }
}

static void check_results(const reduce_operands *o, const void *after)
{
    const reference_reduction problem = {
        .op = o->of.op,
        .X = host_of(&o->X, o->x_data),
        .n_axes = o->n_axes,
        .axes = o->axes,
        .y_dtype = or_f32(o->Y.dtype),
        .correction = o->of.correction,
    };
    const host_tensor Y = host_of(&o->Y, after);
    reference_values values;
    reference_worst worst;
    complaint why;
    if (!reference_reduce(&values, &problem, &why) ||
        !reference_values_compare(&values, &Y, &worst, &why))
        fail_msg("%s: %s", case_words(o), why.text);
    if (!(worst.error <= 1))
        fail_msg("%s: result %" PRId64 " is %.17g, not %.17g: %g of the bound", case_words(o),
                 worst.at, worst.got, worst.want, worst.error);
    check_signs_of_zeros(o, &values, after);
    reference_values_free(&values);
}

static void check_surroundings(const reduce_operands *o, unsigned char *after)
{
    const size_t size = weft_dtype_size(or_f32(o->Y.dtype));
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (!is_empty(&o->Y))
        do
            memset(after + (size_t)place_of(&o->Y, index) * size, UNTOUCHED, size);
        while (next_index(&o->Y, index));
    for (size_t i = 0; i < o->y_bytes; i++)
        if (after[i] != UNTOUCHED)
            fail_msg("%s: byte %zu of Y's buffer, where Y has no element, was written",
                     case_words(o), i);
}

void reduce_check(const reduce_operands *o)
{
    void *after = reduce_read(o);
    check_results(o, after);
    check_surroundings(o, after);
    free(after);
}

void reduce_run(weft_context *ctx, const reduce_case *of)
{
    if (!reduce_is_possible(ctx, of))
        return;
    reduce_operands o;
    reduce_create(&o, ctx, of);
    reduce_call(&o);
    reduce_check(&o);
    reduce_destroy(&o);
}

void reduce_random_shape(reduce_case *of, uint64_t seed, int ndim, int64_t most)
{
    random_state random = {seed};
    int64_t n = 1;
    of->ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        const int64_t largest = random_below(&random, 3) == 0 ? 70 : 9;
        of->shape[d] = random_between(&random, random_below(&random, 12) != 0, largest);
        if (n * of->shape[d] > most)
            of->shape[d] = 1;
        n *= of->shape[d] > 0 ? of->shape[d] : 1;
    }
}
