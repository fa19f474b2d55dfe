// SPDX-License-Identifier: Apache-2.0
// Operands for tests of matrix products, the call and the comparison.
//
// With u the unit roundoff of the sums (2^-24 for f32, 2^-53 for f64), an element of C is
//
//   c = alpha sum_l a_l b_l + beta c0        M = |alpha| sum_l |a_l b_l|        D = |beta c0|
//
// A term meets one rounding as a product (none in an FMA) and k - 1 at most as the sum grows, in
// whatever order and chunks; then those of alpha, of the product with it, and of adding beta c0.
// beta c0 meets three. So c is off by gamma(k + 3) (M + D) at most, gamma(n) = (1 + u)^n - 1; the
// formula makes that `slope` times as much and adds its own roundings; storage adds half a unit in
// its last place. What may be flushed to zero on the way is too small to count beside `least`.
#include "matmul_case.h"

#include <inttypes.h>
#include <math.h>

#include "dense/matmul_tiling.h"
#include "reference.h"
#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 16, NOTHING = 0xff, UNTOUCHED = 0xa5 };

static const char *const input_names[] = {"x0", "x1", "x2", "x3"};
static const char *const value_names[] = {"v0", "v1"};

static weft_dtype dtype_or(weft_dtype dtype, weft_dtype fallback)
{
    return dtype == WEFT_DEFAULT ? fallback : dtype;
}

static weft_dtype dtype_of(const strided *s)
{
    return dtype_or(s->t.dtype, WEFT_F32);
}

static bool is_whole(const matmul_case *of)
{
    return of->dtype == WEFT_I8;
}

static weft_dtype c_dtype(const matmul_case *of)
{
    return dtype_or(of->c_dtype, is_whole(of) ? WEFT_I32 : of->dtype);
}

static int n_inputs(const matmul_case *of)
{
    return of->formula ? of->formula->n_inputs : 0;
}

static int n_values(const matmul_case *of)
{
    return of->formula ? of->formula->n_values : 0;
}

void matmul_suit(matmul_case *of)
{
    const weft_matmul_tiling *t = of->tiling;
    if (!t || t->method == WEFT_MATMUL_BLOCKS)
        return;
    const bool is_row_major = (t->method != WEFT_MATMUL_DOTS) != t->transposed;
    matmul_operand *factor = t->transposed ? &of->a : &of->b;
    factor->layout = is_row_major ? LAYOUT_DENSE : LAYOUT_TRANSPOSED;
}

bool matmul_is_possible(const weft_context *ctx, const matmul_case *of)
{
    return of->dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64;
}

// ---- formulas

static wide bias_real(wide c, const wide *x, const wide *v, wide *slope, wide *size)
{
    (void)v;
    *slope = 1;
    *size = fabsl(c) + fabsl(x[0]);
    return c + x[0];
}

static int64_t bias_whole(int64_t c, const int64_t *x, const int64_t *v)
{
    (void)v;
    return c + x[0];
}

const matmul_formula matmul_bias = {"c + x0", 1, 0, bias_real, bias_whole, 0.5};

// max() keeps NaN, which fmaxl() would drop.
static wide blend_real(wide c, const wide *x, const wide *v, wide *slope, wide *size)
{
    const wide scaled = v[0] * c;
    *slope = fabsl(v[0]);
    *size = fabsl(scaled) + fabsl(x[0] * x[1]) + fabsl(v[1]);
    return (isnan(scaled) || scaled > 0 ? scaled : 0) + x[0] * x[1] - v[1];
}

static int64_t blend_whole(int64_t c, const int64_t *x, const int64_t *v)
{
    const int32_t scaled = (int32_t)(uint32_t)(uint64_t)(v[0] * c);
    return (scaled > 0 ? scaled : 0) + x[0] * x[1] - v[1];
}

const matmul_formula matmul_blend = {
    "max(v0 * c, 0) + x0 * x1 - v1", 2, 2, blend_real, blend_whole, 3};

static wide tanh_real(wide c, const wide *x, const wide *v, wide *slope, wide *size)
{
    (void)v;
    *slope = 1;
    *size = 1;
    return tanhl(c + x[0]);
}

const matmul_formula matmul_tanh = {"tanh(c + x0)", 1, 0, tanh_real, NULL, 8};

static wide residual_real(wide c, const wide *x, const wide *v, wide *slope, wide *size)
{
    (void)v;
    *slope = 1;
    *size = fabsl(c) + fabsl(x[0]);
    return x[0] - c;
}

static int64_t residual_whole(int64_t c, const int64_t *x, const int64_t *v)
{
    (void)v;
    return x[0] - c;
}

const matmul_formula matmul_residual = {"x0 - c", 1, 0, residual_real, residual_whole, 0.5};

// ---- elements

static void put(weft_dtype dtype, void *data, int64_t i, double number)
{
    if (dtype == WEFT_I8)
        ((int8_t *)data)[i] = (int8_t)number;
    else if (dtype == WEFT_U8)
        ((uint8_t *)data)[i] = (uint8_t)fabs(number);
    else if (dtype == WEFT_I32)
        ((int32_t *)data)[i] = (int32_t)number;
    else if (dtype == WEFT_I64)
        ((int64_t *)data)[i] = (int64_t)number;
    else
        scalar_put(dtype, data, i, number);
}

// All elements of the buffer, to be freed.
static double *numbers_of(const strided *s)
{
    const size_t n = s->bytes / weft_dtype_size(dtype_of(s));
    double *numbers = malloc(n * sizeof(double));
    assert_non_null(numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = scalar_get(dtype_of(s), s->memory, (int64_t)i);
    return numbers;
}

static double tame_number(const matmul_case *of, weft_dtype dtype, random_state *random)
{
    if (dtype == WEFT_I8)
        return (double)random_between(random, -128, 127);
    return of->numbers == FRACTIONS && scalar_is_float(dtype)
               ? (double)random_float(random)
               : (double)random_between(random, -4, 4);
}

static double wild_number(random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN};
    return wild[random_below(random, 3)];
}

// ---- operands

// Laid out with the gaps, and then without the elements that are in them.
static void lay_out(strided *s, const matmul_operand *as, weft_dtype dtype, int ndim,
                    const int64_t *shape, bool is_output, random_state *random)
{
    int64_t padded[WEFT_MAX_NDIM] = {0};
    for (int d = 0; d < ndim; d++)
        padded[d] = shape[d] > 0 ? shape[d] + as->gap : 0;
    strided_create(s, dtype, ndim, padded, as->layout, random, is_output ? UNTOUCHED : NOTHING,
                   is_output ? GUARD : 0);
    for (int d = 0; d < ndim; d++)
        s->t.shape[d] = shape[d];
}

// Of C, but for leading dimensions that are missing and extents that are 1.
static int broadcast_shape(int64_t *shape, const matmul_operand *as, int n, const int64_t *of)
{
    for (int d = as->missing; d < n; d++)
        shape[d - as->missing] = as->ones >> d & 1 ? 1 : of[d];
    return n - as->missing;
}

// A, whose lines are rows, or B, whose lines are columns: one number of every other line is wild.
static void make_matrix(matmul_operands *o, strided *s, const matmul_operand *as, int64_t rows,
                        int64_t columns, bool are_lines_rows, bool is_wild, random_state *random)
{
    const matmul_case *of = &o->of;
    int64_t shape[WEFT_MAX_NDIM] = {0}, index[WEFT_MAX_NDIM] = {0};
    const int n = broadcast_shape(shape, as, of->n_batch, of->batch);
    shape[n] = rows;
    shape[n + 1] = columns;
    lay_out(s, as, of->dtype, n + 2, shape, false, random);
    if (strided_is_empty(&s->t)) // there need not be a buffer
        return;
    do {
        const int64_t line = index[are_lines_rows ? n : n + 1];
        const int64_t l = index[are_lines_rows ? n + 1 : n];
        const bool is_hit = is_wild && line % 2 == 1 && l == (line * 5 + (int64_t)of->seed) % of->k;
        put(dtype_of(s), s->memory, strided_place(&s->t, index),
            of->numbers == POISON ? NAN
            : is_hit              ? wild_number(random)
                                  : tame_number(of, dtype_of(s), random));
    } while (strided_next(&s->t, index));
    strided_upload(s, o->ctx);
}

static void c_shape(const matmul_case *of, int64_t *shape)
{
    memcpy(shape, of->batch, sizeof(of->batch));
    shape[of->n_batch] = of->m;
    shape[of->n_batch + 1] = of->n;
}

static void make_output(matmul_operands *o, random_state *random)
{
    const matmul_case *of = &o->of;
    int64_t shape[WEFT_MAX_NDIM] = {0}, index[WEFT_MAX_NDIM] = {0}, n_made = 0;
    c_shape(of, shape);
    lay_out(&o->c, &of->c, of->dtype == WEFT_DEFAULT ? of->c_dtype : c_dtype(of), of->n_batch + 2,
            shape, true, random);
    const weft_dtype dtype = dtype_of(&o->c);
    const bool is_float = scalar_is_float(dtype), is_read = of->beta != 0 || of->over;
    if (!strided_is_empty(&o->c.t))
        do {
            const bool is_hit = is_float && of->numbers == WILD_C && n_made++ % 3 == 1;
            put(dtype, o->c.memory, strided_place(&o->c.t, index),
                !is_read && is_float ? NAN
                : is_hit             ? wild_number(random)
                                     : tame_number(of, dtype, random));
        } while (strided_next(&o->c.t, index));
    strided_upload(&o->c, o->ctx);
}

static const strided *input_of(const matmul_operands *o, int i)
{
    return i == 0 && o->of.over ? &o->c : &o->x[i];
}

static void make_input(matmul_operands *o, int i, random_state *random)
{
    const matmul_case *of = &o->of;
    int64_t whole[WEFT_MAX_NDIM] = {0}, shape[WEFT_MAX_NDIM], index[WEFT_MAX_NDIM] = {0};
    strided *s = &o->x[i];
    o->inputs[i] = (weft_elementwise_input){input_names[i], &input_of(o, i)->t};
    if (input_of(o, i) == &o->c)
        return;
    c_shape(of, whole);
    const int n = broadcast_shape(shape, &of->inputs[i], of->n_batch + 2, whole);
    lay_out(s, &of->inputs[i], of->inputs[i].dtype, n, shape, false, random);
    if (strided_is_empty(&s->t))
        return;
    do
        put(dtype_of(s), s->memory, strided_place(&s->t, index),
            tame_number(of, dtype_of(s), random));
    while (strided_next(&s->t, index));
    strided_upload(s, o->ctx);
}

// ---- the call

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(matmul_operands *o)
{
    cl_int code;
    size_t bytes;
    const weft_matmul_params params = matmul_params(o);
    assert_ok(weft_matmul_workspace(o->ctx, &o->a.t, &o->b.t, &o->c.t, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    void *poison = malloc(bytes);
    assert_non_null(poison);
    memset(poison, NOTHING, bytes);
    o->workspace = clCreateBuffer(weft_context_cl(o->ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                  bytes, poison, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(poison);
}

void matmul_create(matmul_operands *o, weft_context *ctx, cl_command_queue queue,
                   const matmul_case *of)
{
    random_state random = {of->seed};
    *o = (matmul_operands){.of = *of, .ctx = ctx, .queue = queue};
    make_matrix(o, &o->a, &of->a, of->m, of->k, true, of->numbers == WILD_A, &random);
    make_matrix(o, &o->b, &of->b, of->k, of->n, false, of->numbers == WILD_B, &random);
    make_output(o, &random);
    for (int i = 0; i < n_inputs(of); i++)
        make_input(o, i, &random);
    for (int i = 0; i < n_values(of); i++)
        o->values[i] = (weft_elementwise_value){value_names[i], of->values[i]};
    make_workspace(o);
}

void matmul_destroy(matmul_operands *o)
{
    strided_destroy(&o->a);
    strided_destroy(&o->b);
    strided_destroy(&o->c);
    for (int i = 0; i < WEFT_MATMUL_INPUTS; i++)
        strided_destroy(&o->x[i]);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
}

weft_matmul_params matmul_params(const matmul_operands *o)
{
    const matmul_case *of = &o->of;
    return (weft_matmul_params){
        .size = sizeof(weft_matmul_params),
        .epilogue = of->formula ? of->formula->text : NULL,
        .n_inputs = n_inputs(of),
        .inputs = n_inputs(of) > 0 ? o->inputs : NULL,
        .n_values = n_values(of),
        .values = n_values(of) > 0 ? o->values : NULL,
        .tiling = TILING_TEXT(matmul, of->tiling),
        .workspace = o->workspace,
    };
}

static int add_words(char *text, size_t size, const char *what, const weft_tensor *t)
{
    int n = snprintf(text, size, "; %s %s from %" PRId64, what,
                     weft_dtype_name(dtype_or(t->dtype, WEFT_F32)), t->offset);
    for (int d = 0; d < t->ndim && (size_t)n < size; d++)
        n += snprintf(text + n, size - (size_t)n, " %" PRId64 " at %" PRId64, t->shape[d],
                      t->stride[d]);
    return n;
}

static const char *case_words(const matmul_operands *o)
{
    static char text[4096];
    const matmul_case *of = &o->of;
    size_t n =
        (size_t)snprintf(text, sizeof(text),
                         "seed %" PRIu64 ", m %" PRId64 ", n %" PRId64 ", k %" PRId64
                         ", numbers %d, alpha %g, beta %g, f %s%s",
                         of->seed, of->m, of->n, of->k, (int)of->numbers, of->alpha, of->beta,
                         of->formula ? of->formula->text : "none", of->over ? ", x0 is C" : "");
    n += (size_t)add_words(text + n, sizeof(text) - n, "A", &o->a.t);
    n += (size_t)add_words(text + n, sizeof(text) - n, "B", &o->b.t);
    n += (size_t)add_words(text + n, sizeof(text) - n, "C", &o->c.t);
    for (int i = 0; i < n_inputs(of); i++)
        n += (size_t)add_words(text + n, sizeof(text) - n, input_names[i], &input_of(o, i)->t);
    return text;
}

static void fail_case(const matmul_operands *o, const char *what)
{
    const weft_matmul_params params = matmul_params(o);
    char plan[512];
    if (weft_matmul_describe(o->ctx, &o->a.t, &o->b.t, &o->c.t, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; %s; on %s: %s", what, case_words(o), weft_context_limits(o->ctx)->name, plan);
}

void matmul_call(const matmul_operands *o)
{
    const weft_matmul_params params = matmul_params(o);
    if (weft_matmul(o->ctx, o->queue, o->of.alpha, &o->a.t, &o->b.t, o->of.beta, &o->c.t,
                    &params) != WEFT_OK)
        fail_case(o, weft_last_error());
}

void matmul_restore(const matmul_operands *o)
{
    strided_restore(&o->c, o->queue);
}

// ---- the comparison

// What the reference reads, as doubles: all that stands in the buffers.
typedef struct loops {
    double *a, *b, *c, *x[WEFT_MATMUL_INPUTS];
} loops;

// Where the first `n` dimensions lead, which broadcast; `index` begins with theirs.
static int64_t place_along(const weft_tensor *t, int n, const int64_t *index)
{
    int64_t place = t->offset;
    for (int d = 0; d < n; d++)
        place += t->shape[d] > 1 ? index[d] * t->stride[d] : 0;
    return place;
}

// alpha times the sum of C's element `index`, and that of absolute values.
static wide product_at(const matmul_operands *o, const loops *from, const int64_t *index,
                       wide *size)
{
    const matmul_case *of = &o->of;
    const weft_tensor *A = &o->a.t, *B = &o->b.t;
    const int a_batch = A->ndim - 2, b_batch = B->ndim - 2;
    const double *a = from->a + place_along(A, a_batch, index + of->n_batch - a_batch) +
                      index[of->n_batch] * A->stride[a_batch];
    const double *b = from->b + place_along(B, b_batch, index + of->n_batch - b_batch) +
                      index[of->n_batch + 1] * B->stride[b_batch + 1];
    wide sum = 0, absolute = 0;
    for (int64_t l = 0; l < of->k && of->alpha != 0; l++) {
        const wide term = (wide)a[l * A->stride[a_batch + 1]] * (wide)b[l * B->stride[b_batch]];
        sum += term;
        absolute += fabsl(term);
    }
    *size = fabsl((wide)of->alpha) * absolute;
    return of->k > 0 && of->alpha != 0 ? (wide)of->alpha * sum : 0;
}

static double input_at(const matmul_operands *o, const loops *from, int i, const int64_t *index)
{
    const weft_tensor *t = &input_of(o, i)->t;
    const double *numbers = input_of(o, i) == &o->c ? from->c : from->x[i];
    return numbers[place_along(t, t->ndim, index + o->of.n_batch + 2 - t->ndim)];
}

// The lower 32 bits, as a signed number.
static int64_t wrapped(int64_t number)
{
    return (int32_t)(uint32_t)(uint64_t)number;
}

// Products are below 2^14 and the factors within 2^31: no sum of a test leaves 63 bits.
static double whole_result(const matmul_operands *o, const loops *from, const int64_t *index,
                           wide product, double c0)
{
    const matmul_case *of = &o->of;
    int64_t x[WEFT_MATMUL_INPUTS], v[MATMUL_VALUES];
    const int64_t c = wrapped((int64_t)product + (of->beta != 0 ? (int64_t)(of->beta * c0) : 0));
    if (!of->formula)
        return (double)c;
    for (int i = 0; i < n_inputs(of); i++)
        x[i] = wrapped((int64_t)input_at(o, from, i, index));
    for (int i = 0; i < n_values(of); i++)
        v[i] = (int64_t)of->values[i];
    return (double)wrapped(of->formula->whole(c, x, v));
}

static double real_result(const matmul_operands *o, const loops *from, const int64_t *index,
                          wide product, wide size, double c0, double *bound)
{
    const matmul_case *of = &o->of;
    const bool is_f64 = of->dtype == WEFT_F64, is_rounded = of->numbers == FRACTIONS;
    const wide u = is_f64 ? 0x1p-53L : 0x1p-24L, least = is_f64 ? 0x1p-1000L : 0x1p-120L;
    const wide kept = of->beta != 0 ? (wide)of->beta * c0 : 0;
    const wide gamma = expm1l((wide)(of->k + 3) * log1pl(u));
    wide error = is_rounded ? gamma * (size + fabsl(kept)) + least : 0;
    wide c = product + kept, x[WEFT_MATMUL_INPUTS], v[MATMUL_VALUES], slope = 1, terms = 0;
    if (of->formula) {
        for (int i = 0; i < n_inputs(of); i++)
            x[i] = input_at(o, from, i, index);
        for (int i = 0; i < n_values(of); i++)
            v[i] = of->values[i];
        c = of->formula->real(c, x, v, &slope, &terms);
        error = error > 0 ? error * slope : 0;
        if (is_rounded || !of->formula->whole)
            error += of->formula->ulps * 2 * u * (terms + error);
    }
    *bound = (double)(error + (is_f64 && error > 0 ? u * fabsl(c) : 0)); // of the reference too
    return (double)c;
}

// Half a unit in the last place of storage, and of its smallest numbers.
static double with_storage(weft_dtype dtype, double want, double bound)
{
    const double large = fabs(want) + bound;
    return dtype == WEFT_F16    ? bound + large * 0x1p-11 + 0x1p-25
           : dtype == WEFT_BF16 ? bound + large * 0x1p-8 + 0x1p-134
                                : bound;
}

// Within its bound; where that is 0, `want` after one rounding.
static bool is_right(weft_dtype dtype, double got, double want, double bound)
{
    if (bound > 0)
        return reference_error(dtype, got, want, with_storage(dtype, want, bound)) <= 1;
    double stored;
    put(dtype, &stored, 0, want);
    want = scalar_get(dtype, &stored, 0);
    return isnan(want) ? isnan(got) : got == want;
}

static void check_element(const matmul_operands *o, const loops *from, const void *after,
                          const int64_t *index)
{
    char text[256];
    wide size;
    double bound = 0;
    const int64_t place = strided_place(&o->c.t, index);
    const weft_dtype dtype = dtype_of(&o->c);
    const wide product = product_at(o, from, index, &size);
    const double got = scalar_get(dtype, after, place);
    const double want = is_whole(&o->of)
                            ? whole_result(o, from, index, product, from->c[place])
                            : real_result(o, from, index, product, size, from->c[place], &bound);
    if (is_right(dtype, got, want, bound))
        return;
    snprintf(text, sizeof(text),
             "element %" PRId64 " (%" PRId64 ", %" PRId64
             " of its matrix) is %.17g, not %.17g within %g",
             place, index[o->of.n_batch], index[o->of.n_batch + 1], got, want, bound);
    fail_case(o, text);
}

static loops loops_over(const matmul_operands *o)
{
    loops from = {.a = numbers_of(&o->a), .b = numbers_of(&o->b), .c = numbers_of(&o->c)};
    for (int i = 0; i < n_inputs(&o->of); i++)
        from.x[i] = numbers_of(input_of(o, i));
    return from;
}

static void free_loops(loops *from)
{
    free(from->a);
    free(from->b);
    free(from->c);
    for (int i = 0; i < WEFT_MATMUL_INPUTS; i++)
        free(from->x[i]);
}

void matmul_check(const matmul_operands *o)
{
    int64_t index[WEFT_MAX_NDIM] = {0};
    char text[128];
    void *after = strided_read(&o->c, o->queue);
    loops from = loops_over(o);
    if (!strided_is_empty(&o->c.t))
        do
            check_element(o, &from, after, index);
        while (strided_next(&o->c.t, index));
    free_loops(&from);
    const int64_t stray = strided_stray_byte(&o->c, after);
    free(after);
    if (stray < 0)
        return;
    snprintf(text, sizeof(text), "byte %" PRId64 " of C's buffer, outside of C, was written",
             stray);
    fail_case(o, text);
}

void matmul_run(weft_context *ctx, const matmul_case *of)
{
    matmul_operands o;
    if (!matmul_is_possible(ctx, of))
        return;
    matmul_create(&o, ctx, weft_context_queue(ctx), of);
    matmul_call(&o);
    matmul_check(&o);
    matmul_destroy(&o);
}
