// SPDX-License-Identifier: Apache-2.0
// Checks of dense products.
#include <inttypes.h>
#include <string.h>

#include <weft/matmul.h>

#include "reference_elementwise.h"
#include "reference_matmul.h"
#include "self_test_trial.h"

// C = f(alpha A B + beta C), one matrix after the other in a batch.
typedef struct matmul_check {
    weft_dtype dtype, c_dtype;       // of A and B; of C, if it is another
    bool transposed_a, transposed_b; // memory has A^T and B^T
    bool has_epilogue;               // gelu(c + bias)
    double alpha, beta;              // 0, 0: 1, 0
    int64_t sizes[6][4];             // m, k, n, batch, which is at least 1
} matmul_check;

typedef struct matmul_case {
    const matmul_check *of;
    const int64_t *sizes;
    weft_dtype c_dtype;
    self_array A, B, C, bias;
} matmul_case;

static double alpha_of(const matmul_check *of)
{
    return of->alpha != 0 ? of->alpha : 1;
}

static bool make_matmul(self_trial *t, matmul_case *c)
{
    const matmul_check *of = c->of;
    const int64_t m = c->sizes[0], k = c->sizes[1], n = c->sizes[2], batch = c->sizes[3];
    const int64_t a_shape[] = {batch, of->transposed_a ? k : m, of->transposed_a ? m : k};
    const int64_t b_shape[] = {batch, of->transposed_b ? n : k, of->transposed_b ? k : n};
    c->c_dtype = of->c_dtype != WEFT_DEFAULT ? of->c_dtype : of->dtype;
    if (!trial_input(t, &c->A, of->dtype, 3, a_shape) ||
        !trial_input(t, &c->B, of->dtype, 3, b_shape) ||
        !trial_input(t, &c->bias, c->c_dtype, 1, &n) ||
        !(of->beta != 0 ? trial_input : trial_output)(t, &c->C, c->c_dtype, 3,
                                                      (const int64_t[]){batch, m, n}))
        return false;
    c->A = of->transposed_a ? trial_transposed(&c->A) : c->A;
    c->B = of->transposed_b ? trial_transposed(&c->B) : c->B;
    return true;
}

static bool call_matmul(self_trial *t, const matmul_case *c)
{
    const matmul_check *of = c->of;
    const weft_elementwise_input inputs[] = {{"bias", &c->bias.there}};
    const weft_matmul_params params = {.size = sizeof(params),
                                       .epilogue = of->has_epilogue ? "gelu(c + bias)" : NULL,
                                       .n_inputs = of->has_epilogue,
                                       .inputs = of->has_epilogue ? inputs : NULL};
    return trial_plan(t, weft_matmul_describe(t->ctx, &c->A.there, &c->B.there, &c->C.there,
                                              &params, t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_matmul(t->ctx, t->queue, alpha_of(of), &c->A.there, &c->B.there,
                                     of->beta, &c->C.there, &params));
}

static bool apply_epilogue(self_trial *t, const matmul_case *c, reference_values *values)
{
    static const char *const names[] = {"c", "bias"};
    reference_values product = *values;
    const reference_elementwise problem = {.formula = "gelu(c + bias)",
                                           .first = &product,
                                           .n_inputs = 1,
                                           .inputs = &c->bias.host,
                                           .names = names,
                                           .arithmetic = WEFT_F32,
                                           .y_dtype = c->c_dtype,
                                           .ndim = 3,
                                           .shape = c->C.host.shape};
    const bool done = reference_elementwise_run(values, &problem, t->why);
    reference_values_free(&product);
    return done;
}

static bool compare_matmul(self_trial *t, const matmul_case *c)
{
    const reference_matmul problem = {.alpha = alpha_of(c->of),
                                      .beta = c->of->beta,
                                      .A = c->A.host,
                                      .B = c->B.host,
                                      .C = c->C.host,
                                      .unstored = c->of->has_epilogue};
    reference_values values;
    return reference_matmul_run(&values, &problem, t->why) &&
           (!c->of->has_epilogue || apply_epilogue(t, c, &values)) &&
           trial_compare(t, "C", &c->C, &values);
}

static bool check_matmul(self_trial *t, const void *check)
{
    const matmul_check *of = check;
    for (int i = 0; i < 6 && of->sizes[i][3] > 0; i++) {
        matmul_case c = {.of = of, .sizes = of->sizes[i]};
        trial_case(t,
                   "matmul: %" PRId64 " times A%s [%" PRId64 " x %" PRId64 "] B%s [%" PRId64
                   " x %" PRId64 "], %s, alpha %g, beta %g%s, seed %" PRIu64,
                   c.sizes[3], of->transposed_a ? " transposed" : "", c.sizes[0], c.sizes[1],
                   of->transposed_b ? " transposed" : "", c.sizes[1], c.sizes[2],
                   weft_dtype_name(of->dtype), alpha_of(of), of->beta,
                   of->has_epilogue ? ", gelu(c + bias)" : "", t->seed);
        if (!make_matmul(t, &c) || !call_matmul(t, &c) || !compare_matmul(t, &c))
            return false;
    }
    return true;
}

#define MATMUL(...)                                                                                \
    check_matmul, &(const matmul_check)                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const self_check self_test_matmul[] = {
    {"matmul", "", WEFT_F32,
     MATMUL(WEFT_F32, .sizes = {{64, 64, 64, 1},
                                {129, 65, 129, 1},
                                {33, 768, 17, 1},
                                {100, 7, 900, 1},
                                {65, 129, 63, 7}})},
    {"matmul", "few rows", WEFT_F32,
     MATMUL(WEFT_F32, .sizes = {{1, 768, 129, 1}, {7, 129, 64, 1}, {1, 64, 1000, 3}})},
    {"matmul", "a column", WEFT_F32, MATMUL(WEFT_F32, .sizes = {{129, 768, 1, 1}, {900, 7, 1, 1}})},
    {"matmul", "A and B transposed, alpha and beta", WEFT_F32,
     MATMUL(WEFT_F32, .transposed_a = true, .transposed_b = true, .alpha = 0.75, .beta = 0.5,
            .sizes = {{129, 65, 129, 1}, {64, 64, 64, 3}, {1, 768, 129, 1}})},
    {"matmul", "gelu(c + bias)", WEFT_F32,
     MATMUL(WEFT_F32, .has_epilogue = true, .sizes = {{129, 65, 129, 1}, {64, 64, 64, 2}})},
    {"matmul", "f16", WEFT_F16, MATMUL(WEFT_F16, .sizes = {{129, 65, 129, 1}, {64, 64, 64, 2}})},
    {"matmul", "bf16 to f32", WEFT_BF16,
     MATMUL(WEFT_BF16, WEFT_F32, .sizes = {{129, 65, 129, 1}, {64, 64, 64, 2}})},
    {"matmul", "f64", WEFT_F64, MATMUL(WEFT_F64, .sizes = {{129, 65, 129, 1}, {64, 64, 64, 2}})},
    {"matmul", "i8 to i32", WEFT_I8,
     MATMUL(WEFT_I8, WEFT_I32, .sizes = {{129, 65, 129, 1}, {64, 64, 64, 2}})},
    {0},
};
