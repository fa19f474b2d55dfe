// SPDX-License-Identifier: Apache-2.0
// Every function that formulas may call against the reference of tools: of random numbers, in every
// type of arithmetic that has it.
#include "elementwise_case.h"
#include "formula/expression.h"

static weft_context *ctx;
static bool is_reduced; // the small set
static int every = 1;   // one in so many functions runs: rusticl compiles for long. PoCL compiles
                        // f32 alone for all, Oclgrind does without

// ---- what they are

// What real numbers a function takes here, where it is not -8 to 8.
static const struct {
    const char *name;
    double least, most;
} bounds[] = {
    {"floor_divide", -100, 100},
    {"remainder", -100, 100},
    {"fmod", -100, 100},
    {"sqrt", 0, 100},
    {"rsqrt", 0, 100},
    {"cbrt", -100, 100},
    {"exp", -80, 80},
    {"exp2", -100, 100},
    {"exp10", -30, 30},
    {"log", 0, 100},
    {"log2", 0, 100},
    {"log10", 0, 100},
    {"log1p", -1, 8},
    {"pow", 0, 8},
    {"power", 0, 8},
    {"sin", -30, 30},
    {"cos", -30, 30},
    {"tan", -30, 30},
    {"asin", -1, 1},
    {"acos", -1, 1},
    {"acosh", 1, 100},
    {"atanh", -1, 1},
    {"erf", -4, 4},
    {"erfc", -4, 4},
    {"sigmoid", -80, 80},
    {"softplus", -80, 80},
    {"silu", -80, 80},
    {"gelu", -4, 8},
    {"gelu_tanh", -4, 8},
    {"sqrt_backward", 0, 100},
    {"log_backward", 0, 100},
    {"tanh_backward", -8, 8},
    {"erf_backward", -4, 4},
    {"sigmoid_backward", -80, 80},
    {"silu_backward", -80, 80},
    {"gelu_backward", -4, 8},
    {"gelu_tanh_backward", -4, 8},
};

// With the name alone for a text. false: there is none of that arithmetic.
static bool find(elementwise_formula *out, const weft_function *f, bool is_real)
{
    *out = (elementwise_formula){.text = f->name, .is_real = f->needs == WEFT_NEEDS_REALS};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (strcmp(bounds[i].name, f->name) == 0)
            out->least = bounds[i].least, out->most = bounds[i].most;
    return f->needs != (is_real ? WEFT_NEEDS_INTEGERS : WEFT_NEEDS_REALS);
}

// ---- several of them in one call, each of inputs of its own

typedef struct batch {
    elementwise_case of;
    elementwise_formula formulas[WEFT_ELEMENTWISE_OUTPUTS];
    char texts[WEFT_ELEMENTWISE_OUTPUTS][64];
} batch;

static int n_arguments(const elementwise_formula *f)
{
    return (int)strlen(weft_function_find(f->text, strlen(f->text))->arguments);
}

// "clamp(d, e, f)"
static void write_text(char text[64], const char *name, int first, int n)
{
    int length = snprintf(text, 64, "%s(", name);
    for (int i = 0; i < n; i++)
        length +=
            snprintf(text + length, 64 - (size_t)length, "%s%c", i ? ", " : "", 'a' + first + i);
    snprintf(text + length, 64 - (size_t)length, ")");
}

static void add_function(batch *b, const elementwise_formula *f, weft_dtype dtype)
{
    const int j = b->of.n_outputs++, n = n_arguments(f);
    write_text(b->texts[j], f->text, b->of.n_inputs, n);
    b->formulas[j] = *f;
    b->formulas[j].text = b->texts[j];
    b->of.formulas[j] = &b->formulas[j];
    b->of.first[j] = b->of.n_inputs;
    b->of.out[j].dtype = dtype;
    for (int i = 0; i < n; i++)
        b->of.in[b->of.n_inputs++].dtype = dtype;
}

static bool has_room(const batch *b, const elementwise_formula *f)
{
    return b->of.n_outputs < WEFT_ELEMENTWISE_OUTPUTS &&
           b->of.n_inputs + n_arguments(f) <= WEFT_ELEMENTWISE_INPUTS;
}

static void run_batch(batch *b, elementwise_numbers numbers)
{
    b->of.numbers = numbers;
    b->of.seed++;
    elementwise_run(ctx, &b->of);
}

static void run_kinds(batch *b, bool is_real)
{
    if (b->of.n_outputs == 0)
        return;
    b->of.ndim = 1;
    b->of.shape[0] = is_reduced ? 53 : 1003;
    b->of.tiling = weft_context_limits(ctx)->vector_width > 1
                       ? NULL
                       : &elementwise_one_by_one; // rusticl compiles for long
    run_batch(b, TAME);
    run_batch(b, is_real ? WILD : WIDE);
}

// Those of `dtype` that `in_arithmetic` has.
static void run_all(weft_dtype dtype, bool is_real)
{
    batch b = {.of.seed = 100 * (uint64_t)dtype};
    const int step = dtype == WEFT_F32 || every > 3 || is_on("oclgrind") ? every : 3;
    for (int i = 0; weft_function_at(i); i++) {
        elementwise_formula f;
        if (!find(&f, weft_function_at(i), is_real) || (i + (int)dtype) % step != 0)
            continue;
        if (!has_room(&b, &f)) {
            run_kinds(&b, is_real);
            b = (batch){.of.seed = b.of.seed};
        }
        add_function(&b, &f, dtype);
    }
    run_kinds(&b, is_real);
}

static void test_f32(void **state)
{
    (void)state;
    run_all(WEFT_F32, true);
}

static void test_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    run_all(WEFT_F64, true);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    run_all(WEFT_I32, false);
    run_all(WEFT_I64, false);
    run_all(WEFT_U8, false);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    every = is_on("rusticl") ? 8 : 1;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_whole_numbers),
    };
    const int failed = cmocka_run_group_tests_name("elementwise functions", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
