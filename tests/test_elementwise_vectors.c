// SPDX-License-Identifier: Apache-2.0
// Formulas against what other implementations make of them (vectors.h): the grammar, promotion and
// conversion, every function in every arithmetic, and single numbers where functions differ by
// convention or lose their digits.
#include "elementwise_case.h"

#include <float.h>
#include <math.h>

#include "scalar.h"
#include "vectors.h"

enum { TURNS = 3 }; // each number stands in several lanes

static weft_context *ctx;
static vectors_call call;

static elementwise_case case_of(elementwise_formula *formulas)
{
    elementwise_case of = {.n_inputs = call.n_inputs,
                           .n_outputs = call.n_outputs,
                           .n_values = call.n_values,
                           .ndim = 1,
                           .shape = {(int64_t)TURNS * call.count},
                           .arithmetic = call.arithmetic};
    for (int k = 0; k < call.n_inputs; k++)
        of.in[k].dtype = call.in[k].dtype;
    for (int j = 0; j < call.n_outputs; j++) {
        formulas[j] = (elementwise_formula){.text = call.out[j].formula};
        of.formulas[j] = &formulas[j];
        of.out[j].dtype = call.out[j].dtype;
    }
    memcpy(of.values, call.values, sizeof(of.values));
    return of;
}

// Oclgrind 21.10 rounds an i64 to f64 before it rounds it to f32.
static bool may_be_rounded_twice(const vectors_numbers *out, int i, double is)
{
    return is_on("oclgrind") && call.in[0].dtype == WEFT_I64 &&
           (scalar_is_float(out->dtype) || call.arithmetic == WEFT_F32) &&
           fabs(is - out->real[i]) <= FLT_EPSILON * fabs(out->real[i]);
}

static bool may_be_flushed(const vectors_numbers *out, int i, double is)
{
    return scalar_is_float(out->dtype) && out->dtype != WEFT_F64 &&
           fabs(out->real[i]) < 2 * FLT_MIN && fabs(is) < 2 * FLT_MIN && elementwise_flushes(ctx);
}

static void check_output(const elementwise_operands *o, int j)
{
    const vectors_numbers *out = &call.out[j];
    const strided *target = elementwise_target(o, j);
    void *after = strided_read(target, o->queue);
    for (int at = 0; at < TURNS * call.count; at++) {
        const int i = at % call.count;
        const int64_t place = target->t.offset + at;
        const bool is_real = scalar_is_float(out->dtype);
        const int64_t whole = is_real ? 0 : scalar_whole(out->dtype, after, place);
        const double real = is_real ? scalar_get(out->dtype, after, place) : (double)whole;
        if (!vectors_hold(out, i, real, whole) && !may_be_flushed(out, i, real) &&
            !may_be_rounded_twice(out, i, real))
            fail_msg("%s of %s numbers, of which the first are %a, %a, %a, is %a, not %a; %s",
                     out->formula, weft_dtype_name(call.in[0].dtype), call.in[0].real[i],
                     call.in[1].real[i], call.in[2].real[i], real, out->real[i],
                     elementwise_words(o));
    }
    free(after);
}

static void run(const weft_elementwise_tiling *tiling)
{
    elementwise_formula formulas[WEFT_ELEMENTWISE_OUTPUTS];
    elementwise_case of = case_of(formulas);
    elementwise_operands o;
    of.tiling = tiling;
    if (!elementwise_is_possible(ctx, &of))
        return;
    elementwise_create(&o, ctx, &of);
    for (int i = 0; i < TURNS * call.count; i++)
        for (int k = 0; k < call.n_inputs; k++)
            elementwise_put(&o, k, i, call.in[k].real[i % call.count],
                            call.in[k].whole[i % call.count]);
    elementwise_restore(&o);
    elementwise_call(&o);
    for (int j = 0; j < call.n_outputs; j++)
        check_output(&o, j);
    elementwise_destroy(&o);
}

// Of a quotient beside its remainder compilers make an instruction that Oclgrind does not know.
// Mesa takes an i64 that becomes an f32 and an i64 again for the same number.
static bool is_unknown(void)
{
    const char *const text = call.out[0].formula;
    return (is_on("oclgrind") && strchr(text, '/') && strchr(text, '%')) ||
           (is_on("rusticl") && call.in[0].dtype == WEFT_I64 && call.arithmetic == WEFT_F32);
}

// As the library plans it, and item by item; in the small set by turns, and of the calls that are
// about single functions, which have many numbers, a third. rusticl compiles for long.
static void test_vectors(void **state)
{
    const bool is_small = getenv("WEFT_TEST_REDUCED");
    const int every = is_on("rusticl") ? 8 : 1, functions = is_small ? 3 : 1;
    const bool has_vectors = weft_context_limits(ctx)->vector_width > 1;
    FILE *file = vectors_open();
    (void)state;
    for (int i = 0; vectors_next(file, &call); i++) {
        const bool is_of_functions = call.count > 6;
        if (i % every != 0 || (is_of_functions && i % functions != 0) || is_unknown())
            continue;
        if (!is_small || i % 2 == 0 || !has_vectors)
            run(NULL);
        if (has_vectors && (!is_small || i % 2 == 1))
            run(&elementwise_one_by_one);
    }
    fclose(file);
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    const int failed = cmocka_run_group_tests_name("elementwise vectors", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
