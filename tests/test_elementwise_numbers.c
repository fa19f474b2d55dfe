// SPDX-License-Identifier: Apache-2.0
// Formulas at single numbers where functions differ by convention or lose their digits: signs of
// remainders and of zeros, infinities, quotients beyond all digits. Compared by bits, but for NaN.
#include "elementwise_case.h"

#include <float.h>
#include <math.h>

#include "elementwise/elementwise_plan.h"
#include "scalar.h"

enum { MOST_COLUMNS = 4, TURNS = 3 }; // each row stands in several lanes

static weft_context *ctx;

// What formulas of a, b, ... give.
typedef struct row {
    double in[MOST_COLUMNS], out[MOST_COLUMNS];
} row;

typedef struct table {
    int n_inputs, n_outputs, n_rows;
    const row *rows;
    const char *formulas[MOST_COLUMNS];
    double ulps[MOST_COLUMNS]; // of f32, that the result may be off
} table;

#define TABLE(n_in, n_out, of, ...)                                                                \
    {                                                                                              \
        .n_inputs = n_in, .n_outputs = n_out, .n_rows = (int)(sizeof(of) / sizeof((of)[0])),       \
        .rows = of, __VA_ARGS__                                                                    \
    }

static bool is_same(double is, double wanted, double ulps)
{
    if (isnan(wanted) || isnan(is))
        return isnan(wanted) && isnan(is);
    if (fabs(wanted) < 2 * FLT_MIN && is == 0 && ulps > 0 && elementwise_flushes(ctx))
        return true;
    const double steps = fabs(wanted) < FLT_MIN && ulps > 0 ? 0x1p-149 : 0; // of subnormal numbers
    const double error = ulps * FLT_EPSILON * fabs(wanted) + steps;
    return signbit(is) == signbit(wanted) && (is == wanted || fabs(is - wanted) <= error);
}

static void check_columns(const elementwise_operands *o, const table *t, int j)
{
    const strided *target = elementwise_target(o, j);
    const weft_dtype dtype = target->t.dtype;
    void *after = strided_read(target, o->queue);
    for (int i = 0; i < TURNS * t->n_rows; i++) {
        const row *r = &t->rows[i % t->n_rows];
        const bool is_real = scalar_is_float(dtype);
        const int64_t place = target->t.offset + i;
        const double is =
            is_real ? scalar_get(dtype, after, place) : (double)scalar_whole(dtype, after, place);
        const double wanted = is_real ? scalar_stored(dtype, r->out[j]) : r->out[j];
        if (!is_same(is, wanted, t->ulps[j]))
            fail_msg("%s of %s numbers %a, %a, %a is %a, not %a; %s", t->formulas[j],
                     weft_dtype_name(dtype), r->in[0], r->in[1], r->in[2], is, wanted,
                     elementwise_words(o));
    }
    free(after);
}

static void run(const table *t, weft_dtype dtype, const weft_elementwise_tiling *tiling)
{
    elementwise_formula formulas[MOST_COLUMNS];
    elementwise_case of = {.n_inputs = t->n_inputs,
                           .n_outputs = t->n_outputs,
                           .ndim = 1,
                           .shape = {TURNS * t->n_rows},
                           .tiling = tiling};
    for (int k = 0; k < t->n_inputs; k++)
        of.in[k].dtype = dtype;
    for (int j = 0; j < t->n_outputs; j++) {
        formulas[j] = (elementwise_formula){.text = t->formulas[j]};
        of.formulas[j] = &formulas[j];
        of.out[j].dtype = dtype;
    }
    if (!elementwise_is_possible(ctx, &of))
        return;
    elementwise_operands o;
    elementwise_create(&o, ctx, &of);
    for (int i = 0; i < TURNS * t->n_rows; i++)
        for (int k = 0; k < t->n_inputs; k++) {
            const double x = t->rows[i % t->n_rows].in[k];
            elementwise_put(&o, k, i, x, scalar_is_float(dtype) ? 0 : (int64_t)x);
        }
    elementwise_restore(&o);
    elementwise_call(&o);
    for (int j = 0; j < t->n_outputs; j++)
        check_columns(&o, t, j);
    elementwise_destroy(&o);
}

// As the library plans it, and item by item.
static void run_in(const table *t, const weft_dtype *dtypes, int n)
{
    for (int i = 0; i < n; i++) {
        run(t, dtypes[i], NULL);
        if (weft_context_limits(ctx)->fold > 1)
            run(t, dtypes[i], &elementwise_one_by_one);
    }
}

static const weft_dtype reals[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
static const weft_dtype single[] = {WEFT_F32}, twice[] = {WEFT_F64};
static const weft_dtype integers[] = {WEFT_I32, WEFT_I64};

// ---- quotients and what they leave: NumPy's floor_divide, remainder and fmod

#define DIVISIONS .formulas = {"floor_divide(a, b)", "remainder(a, b)", "fmod(a, b)", "a % b"}
// Not the quotient and what it leaves at once: of both together compilers make an instruction that
// Oclgrind does not know.
#define QUOTIENTS .formulas = {"floor_divide(a, b)", "a / b"}
#define RESTS     .formulas = {"remainder(a, b)", "fmod(a, b)"}

static const row signs_of_divisions[] = {
    {{7, 3}, {2, 1, 1, 1}},
    {{-7, 3}, {-3, 2, -1, -1}},
    {{7, -3}, {-3, -2, 1, 1}},
    {{-7, -3}, {2, -1, -1, -1}},
    {{6, 3}, {2, 0, 0, 0}},
    {{-6, 3}, {-2, 0, -0.0, -0.0}},
    {{6, -3}, {-2, -0.0, 0, 0}},
    {{-6, -3}, {2, -0.0, -0.0, -0.0}},
    {{0, 3}, {0, 0, 0, 0}},
    {{-0.0, 3}, {-0.0, 0, -0.0, -0.0}},
    {{0, -3}, {-0.0, -0.0, 0, 0}},
    {{-0.0, -3}, {0, -0.0, -0.0, -0.0}},
    {{5.5, 2}, {2, 1.5, 1.5, 1.5}},
    {{-5.5, 2}, {-3, 0.5, -1.5, -1.5}},
    {{1, INFINITY}, {0, 1, 1, 1}},
    {{-1, INFINITY}, {-1, INFINITY, -1, -1}},
    {{1, -INFINITY}, {-1, -INFINITY, 1, 1}},
    {{-1, -INFINITY}, {0, -1, -1, -1}},
    {{INFINITY, 3}, {NAN, NAN, NAN, NAN}},
    {{-INFINITY, 3}, {NAN, NAN, NAN, NAN}},
    {{1, 0}, {INFINITY, NAN, NAN, NAN}},
    {{-1, 0}, {-INFINITY, NAN, NAN, NAN}},
    {{1, -0.0}, {-INFINITY, NAN, NAN, NAN}},
    {{0, 0}, {NAN, NAN, NAN, NAN}},
    {{NAN, 2}, {NAN, NAN, NAN, NAN}},
    {{2, NAN}, {NAN, NAN, NAN, NAN}},
};

static void test_signs_of_divisions(void **state)
{
    (void)state;
    static const table t = TABLE(2, 4, signs_of_divisions, DIVISIONS);
    run_in(&t, reals, 4);
}

static const row long_quotients[] = {
    {{-0x1.b7cdfep-34, 3}, {-1, 3, -0x1.b7cdfep-34, -0x1.b7cdfep-34}},
    {{0x1.2a05f2p33, 3}, {0x1.8d5d42p31, 1, 1, 1}},
    {{-0x1.2a05f2p33, 3}, {-0x1.8d5d42p31, 2, -1, -1}},
    {{0x1.93e594p99, 7}, {0x1.cd98aap96, 1, 1, 1}},
    {{-0x1.93e594p99, 7}, {-0x1.cd98aap96, 6, -1, -1}},
    {{0x1.ff933cp127, 0x1.19999ap0}, {0x1.d1117cp127, 0x1.b98ccp-4, 0x1.b98ccp-4, 0x1.b98ccp-4}},
    {{-0x1.ff933cp127, 0x1.19999ap0},
     {-0x1.d1117cp127, 0x1.fc019cp-1, -0x1.b98ccp-4, -0x1.b98ccp-4}},
    {{16777216, 0x1.99999ap-4}, {0x1.4p27, 0x1.99999cp-5, 0x1.99999cp-5, 0x1.99999cp-5}},
    {{-16777216, 0x1.99999ap-4}, {-0x1.4p27, 0x1.999998p-5, -0x1.99999cp-5, -0x1.99999cp-5}},
    {{0x1.c363ccp127, 0x1.b38fbap-126}, {INFINITY, 0x1.aed6cp-126, 0x1.aed6cp-126, 0x1.aed6cp-126}},
    {{8388609, 0x1.333334p-2}, {27962028, 0x1.11111p-2, 0x1.11111p-2, 0x1.11111p-2}},
    {{0x1.d6f346p26, 0x1.2599eep-14}, {0x1.9aa2d4p40, 0x1.50d74p-19, 0x1.50d74p-19, 0x1.50d74p-19}},
};

static const row longer_quotients[] = {
    {{-0x1.79ca10c924223p-67, 3}, {-1, 3, -0x1.79ca10c924223p-67, -0x1.79ca10c924223p-67}},
    {{0x1.2a05f2p33, 3}, {0x1.8d5d42aap31, 1, 1, 1}},
    {{-0x1.93e5939a08ceap99, 7}, {-0x1.cd98a8b00a10bp96, 2, -5, -5}},
    {{0x1.e42d130773b76p1023, 1.1},
     {0x1.b828fa06c6499p1023, 0x1.9689a9034c798p-2, 0x1.9689a9034c798p-2, 0x1.9689a9034c798p-2}},
    {{-0x1.e42d130773b76p1023, 1.1},
     {-0x1.b828fa06c6499p1023, 0x1.67ee5eb18cf68p-1, -0x1.9689a9034c798p-2, -0x1.9689a9034c798p-2}},
    {{0x1p53, 0.1}, {0x1.4p56, 0x1p-55, 0x1p-55, 0x1p-55}},
    {{8388609, 0.3}, {27962030, 0x1.555558p-32, 0x1.555558p-32, 0x1.555558p-32}},
};

static void test_long_quotients(void **state)
{
    (void)state;
    static const table t = TABLE(2, 4, long_quotients, DIVISIONS, .ulps = {3});
    static const table longer = TABLE(2, 4, longer_quotients, DIVISIONS, .ulps = {3 * 0x1p-29});
    run_in(&t, single, 1);
    run_in(&longer, twice, 1);
}

static const row whole_quotients[] = {
    {{7, 3}, {2, 2}},
    {{-7, 3}, {-3, -2}},
    {{7, -3}, {-3, -2}},
    {{-7, -3}, {2, 2}},
    {{6, -3}, {-2, -2}},
    {{-6, 3}, {-2, -2}},
    {{0, -3}, {0, 0}},
    {{7, 0}, {0, 0}},
    {{-7, 0}, {0, 0}},
    {{-7, -1}, {7, 7}},
    {{-2147483647, 2147483646}, {-2, -1}},
    {{-1, 2147483647}, {-1, 0}},
    {{2147483647, -2147483647}, {-1, -1}},
    {{1, -2147483647}, {-1, 0}},
};

static const row whole_rests[] = {
    {{7, 3}, {1, 1}},
    {{-7, 3}, {2, -1}},
    {{7, -3}, {-2, 1}},
    {{-7, -3}, {-1, -1}},
    {{6, -3}, {0, 0}},
    {{-6, 3}, {0, 0}},
    {{0, -3}, {0, 0}},
    {{7, 0}, {0, 0}},
    {{-7, 0}, {0, 0}},
    {{-7, -1}, {0, 0}},
    {{-2147483647, 2147483646}, {2147483645, -1}},
    {{-1, 2147483647}, {2147483646, -1}},
    {{2147483647, -2147483647}, {0, 0}},
    {{1, -2147483647}, {-2147483646, 1}},
};

static void test_whole_divisions(void **state)
{
    (void)state;
    static const table quotients = TABLE(2, 2, whole_quotients, QUOTIENTS);
    static const table rests = TABLE(2, 2, whole_rests, RESTS);
    run_in(&quotients, integers, 2);
    run_in(&rests, integers, 2);
}

// Of i32. By -1 it is itself, and leaves nothing.
static const row quotients_of_the_least[] = {
    {{-0x1p31, -1}, {-0x1p31, -0x1p31}},
    {{-0x1p31, 2}, {-0x1p30, -0x1p30}},
    {{-0x1p31, 0x1.fffffffcp30}, {-2, -1}},
    {{0x1.fffffffcp30, -0x1p31}, {-1, 0}},
};

static const row rests_of_the_least[] = {
    {{-0x1p31, -1}, {0, 0}},
    {{-0x1p31, 2}, {0, 0}},
    {{-0x1p31, 0x1.fffffffcp30}, {2147483646, -1}},
    {{0x1.fffffffcp30, -0x1p31}, {-1, 0x1.fffffffcp30}},
};

static void test_the_least_number(void **state)
{
    (void)state;
    static const table quotients = TABLE(2, 2, quotients_of_the_least, QUOTIENTS);
    static const table rests = TABLE(2, 2, rests_of_the_least, RESTS);
    run_in(&quotients, integers, 1);
    run_in(&rests, integers, 1);
}

// divide() is of real numbers, and its results end in whole ones towards 0.
static void test_divide_is_of_real_numbers(void **state)
{
    (void)state;
    const elementwise_formula divide = {.text = "divide", .is_real = true};
    const elementwise_case of = {.n_inputs = 2,
                                 .n_outputs = 1,
                                 .in = {{.dtype = WEFT_I32}, {.dtype = WEFT_I32}},
                                 .formulas = {&divide},
                                 .ndim = 1,
                                 .shape = {1}};
    elementwise_operands o;
    elementwise_create(&o, ctx, &of);
    elementwise_put(&o, 0, 0, 0, -7);
    elementwise_put(&o, 1, 0, 0, 2);
    elementwise_restore(&o);
    elementwise_call(&o);
    float *after = strided_read(elementwise_target(&o, 0), o.queue);
    assert_true(after[elementwise_target(&o, 0)->t.offset] == -3.5f);
    free(after);
    elementwise_destroy(&o);
}

// ---- the larger and the smaller: of zeros by their signs

static const row pairs[] = {
    {{-0.0, 0}, {0, -0.0, 0, -0.0}},
    {{0, -0.0}, {0, -0.0, 0, -0.0}},
    {{-0.0, -0.0}, {-0.0, -0.0, -0.0, -0.0}},
    {{0, 0}, {0, 0, 0, 0}},
    {{-0.0, 1}, {1, -0.0, 1, -0.0}},
    {{0, -1}, {0, -1, 0, -1}},
    {{-3, -2}, {-2, -3, -2, -3}},
    {{2.5, 2.5}, {2.5, 2.5, 2.5, 2.5}},
    {{INFINITY, -INFINITY}, {INFINITY, -INFINITY, INFINITY, -INFINITY}},
    {{NAN, 3}, {NAN, NAN, 3, 3}},
    {{-3, NAN}, {NAN, NAN, -3, -3}},
    {{NAN, -0.0}, {NAN, NAN, -0.0, -0.0}},
    {{0, NAN}, {NAN, NAN, 0, 0}},
    {{NAN, INFINITY}, {NAN, NAN, INFINITY, INFINITY}},
    {{-INFINITY, NAN}, {NAN, NAN, -INFINITY, -INFINITY}},
    {{NAN, NAN}, {NAN, NAN, NAN, NAN}},
};

static void test_larger_and_smaller(void **state)
{
    (void)state;
    static const table t =
        TABLE(2, 4, pairs, .formulas = {"max(a, b)", "min(a, b)", "fmax(a, b)", "fmin(a, b)"});
    run_in(&t, reals, 4);
}

// ---- derivatives at corners: PyTorch's

// Of dy, x, low and high.
static const row corners[] = {
    {{5, -2, -1, 1}, {0, 0, -5}},
    {{5, -1, -1, 1}, {0, 0, -5}},
    {{5, -0.5, -1, 1}, {5, 0, -5}},
    {{5, 0, -1, 1}, {5, 0, 0}},
    {{5, 1, -1, 1}, {0, 5, 5}},
    {{5, 2, -1, 1}, {0, 5, 5}},
    {{5, 0, 0, 0}, {0, 0, 0}},
    {{5, 0, 1, -1}, {0, 0, 0}},
    {{INFINITY, 1, -1, 1}, {0, INFINITY, INFINITY}},
    {{NAN, 2, -1, 1}, {0, NAN, NAN}},
    {{NAN, 0, -1, 1}, {NAN, 0, 0}},
};

static void test_derivatives_at_corners(void **state)
{
    (void)state;
    static const table t = TABLE(
        4, 3, corners,
        .formulas = {"clamp_backward(a, b, c, d)", "relu_backward(a, b)", "abs_backward(a, b)"});
    run_in(&t, reals, 4);
}

static const row whole_corners[] = {
    {{5, -2, -1, 1}, {0, 0, -5}}, {{5, -1, -1, 1}, {0, 0, -5}}, {{5, 0, -1, 1}, {5, 0, 0}},
    {{5, 1, -1, 1}, {0, 5, 5}},   {{5, 2, -1, 1}, {0, 5, 5}},   {{5, 0, 0, 0}, {0, 0, 0}},
};

static void test_derivatives_of_whole_numbers(void **state)
{
    (void)state;
    static const table t = TABLE(
        4, 3, whole_corners,
        .formulas = {"clamp_backward(a, b, c, d)", "relu_backward(a, b)", "abs_backward(a, b)"});
    run_in(&t, integers, 2);
}

// ---- activations and their derivatives where nearly nothing is left: of x, and dy

static const row far_silu[] = {
    {{-104, 0x1p0}, {-0x1.98p-144, -0x1.9p-144}},
    {{-104, 0x1p100}, {-0x1.98p-144, -0x1.90a7a6p-44}},
    {{-100, 0x1p0}, {-0x1.4bep-138, -0x1.488p-138}},
    {{-95, 0x1p0}, {-0x1.6d868p-131, -0x1.69ad8p-131}},
    {{-88, 0x1p0}, {-0x1.6a9bb8p-121, -0x1.667cdcp-121}},
    {{-87, 0x1p0}, {-0x1.e73c3ep-120, -0x1.e1a28ap-120}},
    {{-64.5, 0x1p0}, {-0x1.f11a06p-88, -0x1.e96508p-88}},
    {{-64, 0x1p0}, {-0x1.969d48p-87, -0x1.9042d2p-87}},
    {{-40, 0x1p20}, {-0x1.87d76ep-53, -0x1.7e0ba4p-33}},
};

static const row far_sigmoid[] = {
    {{-103, 0x1p0}, {0x1p-149, 0x1p-149, 0x1p-149}},
    {{-100, 0x1p100}, {0x1.bp-145, 0x1.bp-145, 0x1.a8c1f2p-45}},
    {{-95, 0x1p0}, {0x1.ec8p-138, 0x1.ec8p-138, 0x1.ec8p-138}},
    {{-88, 0x1p0}, {0x1.07b71p-127, 0x1.07b71p-127, 0x1.07b71p-127}},
    {{-87, 0x1p0}, {0x1.666d0ep-126, 0x1.666d0ep-126, 0x1.666d0ep-126}},
    {{-64.5, 0x1p0}, {0x1.ed3f88p-94, 0x1.ed3f88p-94, 0x1.ed3f88p-94}},
    {{-64, 0x1p0}, {0x1.969d48p-93, 0x1.969d48p-93, 0x1.969d48p-93}},
    {{-40, 0x1p20}, {0x1.397924p-58, 0x1.397924p-58, 0x1.397924p-38}},
};

static const row far_gelu[] = {
    {{-14.25, 0x1p0}, {-0x1p-148, -0x1p-144}},
    {{-14, 0x1p0}, {-0x1.38p-143, -0x1.108p-139}},
    {{-14, 0x1p90}, {-0x1.38p-143, -0x1.1081d8p-49}},
    {{-13.5, 0x1p0}, {-0x1.263ep-133, -0x1.f080cp-130}},
    {{-13, 0x1p0}, {-0x1.b0f714p-124, -0x1.5fc2ap-120}},
    {{-12.5, 0x1p0}, {-0x1.f02494p-115, -0x1.8394b2p-111}},
    {{-11.5, 0x1p0}, {-0x1.33b092p-97, -0x1.ba4156p-94}},
    {{-11.25, 0x1p0}, {-0x1.4a466ap-93, -0x1.d064bap-90}},
    {{-10, 0x1p20}, {-0x1.707936p-74, -0x1.cc8108p-51}},
    {{-9.75, 0x1p0}, {-0x1.0fcaa4p-70, -0x1.4b2d1ep-67}},
};

static const row far_gelu_tanh[] = {
    {{-10.25, 0x1p0}, {-0x1.de258p-132, -0x1.666f8cp-127}},
    {{-10, 0x1p0}, {-0x1.47c8fep-123, -0x1.d53014p-119}},
    {{-9.75, 0x1p30}, {-0x1.57b0bcp-115, -0x1.d5320cp-81}},
};

static const row far_bells[] = {
    {{-10, 0x1p0}, {0x1.1b4866p-27, 0x1.ep-145}},
    {{-10, 0x1p100}, {0x1.1b4866p73, 0x1.df49a2p-45}},
    {{-9.5, 0x1p0}, {0x1.81057p-26, 0x1.f5d1cp-131}},
    {{-9.25, 0x1p0}, {0x1.3d6578p-25, 0x1.a9b08p-124}},
    {{-8, 0x1p0}, {0x1.e355b4p-22, 0x1.cad0bp-93}},
};

static const row far_tanh[] = {
    {{-50, 0x1p0}, {0x1.a8p-143}},       {{-50, 0x1p100}, {0x1.a8c1f2p-43}},
    {{-47, 0x1p0}, {0x1.4ebp-134}},      {{-44, 0x1p0}, {0x1.07b712p-125}},
    {{-32.25, 0x1p0}, {0x1.ed3f88p-92}},
};

// To a step of subnormal numbers: a product of one with x would be off by x of them.
static void test_far_activations(void **state)
{
    (void)state;
    static const table tables[] = {
        TABLE(2, 2, far_silu, .formulas = {"silu(a)", "silu_backward(b, a)"}, .ulps = {8, 8}),
        TABLE(2, 3, far_sigmoid,
              .formulas = {"sigmoid(a)", "softplus(a)", "sigmoid_backward(b, a)"},
              .ulps = {8, 8, 8}),
        TABLE(2, 2, far_gelu, .formulas = {"gelu(a)", "gelu_backward(b, a)"}, .ulps = {24, 24}),
        TABLE(2, 2, far_gelu_tanh, .formulas = {"gelu_tanh(a)", "gelu_tanh_backward(b, a)"},
              .ulps = {256, 256}),
        TABLE(2, 2, far_bells, .formulas = {"tanh_backward(b, a)", "erf_backward(b, a)"},
              .ulps = {10, 8}),
        TABLE(2, 1, far_tanh, .formulas = {"tanh_backward(b, a)"}, .ulps = {10}),
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        run_in(&tables[i], single, 1);
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs_of_divisions),
        cmocka_unit_test(test_long_quotients),
        cmocka_unit_test(test_whole_divisions),
        cmocka_unit_test(test_the_least_number),
        cmocka_unit_test(test_divide_is_of_real_numbers),
        cmocka_unit_test(test_larger_and_smaller),
        cmocka_unit_test(test_derivatives_at_corners),
        cmocka_unit_test(test_derivatives_of_whole_numbers),
        cmocka_unit_test(test_far_activations),
    };
    const int failed = cmocka_run_group_tests_name("elementwise numbers", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
