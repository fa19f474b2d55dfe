// SPDX-License-Identifier: Apache-2.0
// Checks of elementwise operations.
#include <stdio.h>
#include <string.h>

#include <inttypes.h>

#include <weft/elementwise.h>

#include "dense_job.h"
#include "reference_elementwise.h"
#include "self_test_trial.h"

enum { OPERANDS = 4, SHAPES = 10 };

// One call; each of its outputs has a formula of its own of inputs a, b, c, d.
typedef struct formula_check {
    int n_inputs, n_outputs;
    weft_dtype inputs[OPERANDS], outputs[OPERANDS];
    const char *formulas[OPERANDS];
    bool planned;
    bool a_transposed;    // the last two axes of a are exchanged in memory
    unsigned b_broadcast; // bits of b's axes that have an extent of 1
    int ndim;
    int64_t shapes[SHAPES][3]; // up to the first with an extent of 0
} formula_check;

typedef struct formula_case {
    const formula_check *of;
    const int64_t *shape;
    self_array inputs[OPERANDS], outputs[OPERANDS];
} formula_case;

static const char *const names[] = {"a", "b", "c", "d"};

static bool make_input(self_trial *t, formula_case *c, int i)
{
    const formula_check *of = c->of;
    int64_t shape[3];
    for (int d = 0; d < of->ndim; d++)
        shape[d] = i == 1 && (of->b_broadcast >> d & 1) ? 1 : c->shape[d];
    if (i != 0 || !of->a_transposed)
        return trial_input(t, &c->inputs[i], of->inputs[i], of->ndim, shape);
    shape[of->ndim - 1] = c->shape[of->ndim - 2];
    shape[of->ndim - 2] = c->shape[of->ndim - 1];
    if (!trial_input(t, &c->inputs[i], of->inputs[i], of->ndim, shape))
        return false;
    c->inputs[i] = trial_transposed(&c->inputs[i]);
    return true;
}

static bool make_operands(self_trial *t, formula_case *c)
{
    for (int i = 0; i < c->of->n_inputs; i++)
        if (!make_input(t, c, i))
            return false;
    for (int i = 0; i < c->of->n_outputs; i++)
        if (!trial_output(t, &c->outputs[i], c->of->outputs[i], c->of->ndim, c->shape))
            return false;
    return true;
}

static bool call_planned(self_trial *t, const formula_case *c, const weft_elementwise_input *inputs,
                         const weft_elementwise_output *outputs)
{
    weft_elementwise_plan *plan = NULL;
    const int n_inputs = c->of->n_inputs, n_outputs = c->of->n_outputs;
    const bool done = trial_call(t, weft_elementwise_plan_create(&plan, t->ctx, n_inputs, inputs,
                                                                 n_outputs, outputs, NULL)) &&
                      trial_call(t, weft_elementwise(t->ctx, t->queue, n_inputs, inputs, n_outputs,
                                                     outputs, WEFT_ELEMENTWISE(.plan = plan)));
    weft_elementwise_plan_destroy(&plan);
    return done;
}

static bool call(self_trial *t, const formula_case *c)
{
    const int n_inputs = c->of->n_inputs, n_outputs = c->of->n_outputs;
    weft_elementwise_input inputs[OPERANDS];
    weft_elementwise_output outputs[OPERANDS];
    for (int i = 0; i < n_inputs; i++)
        inputs[i] = (weft_elementwise_input){names[i], &c->inputs[i].there};
    for (int i = 0; i < n_outputs; i++)
        outputs[i] = (weft_elementwise_output){c->of->formulas[i], &c->outputs[i].there};
    return trial_plan(t, weft_elementwise_describe(t->ctx, n_inputs, inputs, n_outputs, outputs,
                                                   NULL, t->plan, sizeof(t->plan))) &&
           (c->of->planned ? call_planned(t, c, inputs, outputs)
                           : trial_call(t, weft_elementwise(t->ctx, t->queue, n_inputs, inputs,
                                                            n_outputs, outputs, NULL)));
}

static bool compare(self_trial *t, const formula_case *c, weft_dtype arithmetic)
{
    host_tensor inputs[OPERANDS];
    for (int i = 0; i < c->of->n_inputs; i++)
        inputs[i] = c->inputs[i].host;
    for (int i = 0; i < c->of->n_outputs; i++) {
        const reference_elementwise problem = {.formula = c->of->formulas[i],
                                               .n_inputs = c->of->n_inputs,
                                               .inputs = inputs,
                                               .names = names,
                                               .arithmetic = arithmetic,
                                               .y_dtype = c->of->outputs[i],
                                               .ndim = c->of->ndim,
                                               .shape = c->shape};
        reference_values values;
        if (!reference_elementwise_run(&values, &problem, t->why) ||
            !trial_compare(t, c->of->formulas[i], &c->outputs[i], &values))
            return false;
    }
    return true;
}

static void say(self_trial *t, const formula_case *c)
{
    char shape[64], types[64] = "";
    size_t at = 0;
    for (int i = 0; i < c->of->n_inputs && at < sizeof(types); i++)
        at += (size_t)snprintf(types + at, sizeof(types) - at, "%s%s", i == 0 ? "" : ", ",
                               weft_dtype_name(c->of->inputs[i]));
    trial_case(t, "elementwise: '%s'%s of %s, of shape %s%s%s, seed %" PRIu64, c->of->formulas[0],
               c->of->n_outputs > 1 ? " and more" : "", types,
               dense_shape_text(c->of->ndim, c->shape, shape, sizeof(shape)),
               c->of->a_transposed ? ", a transposed" : "",
               c->of->b_broadcast ? ", b broadcast" : "", t->seed);
}

static bool check_formula(self_trial *t, const void *check)
{
    const formula_check *of = check;
    for (int i = 0; i < SHAPES && of->shapes[i][0] > 0; i++) {
        formula_case c = {.of = of, .shape = of->shapes[i]};
        say(t, &c);
        if (!make_operands(t, &c) || !call(t, &c) || !compare(t, &c, WEFT_DEFAULT))
            return false;
    }
    return true;
}

// ---- all of them

#define FORMULA(...)                                                                               \
    check_formula, &(const formula_check)                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

// Rows that begin at a multiple of four elements have kernels of their own.
#define EVEN  .ndim = 1, .shapes = {{64}, {512}, {768}, {900}, {1000}, {65536}}
#define ODD   .ndim = 1, .shapes = {{7}, {129}, {769}, {4097}, {65537}}
#define EVERY .ndim = 1, .shapes = {{1}, {7}, {64}, {129}, {512}, {768}, {900}, {1000}, {4097}}

const self_check self_test_elementwise[] = {
    {"elementwise", "a + b", WEFT_F32,
     FORMULA(2, 1, {WEFT_F32, WEFT_F32}, {WEFT_F32}, {"a + b"}, EVERY)},
    {"elementwise", "a + b, planned", WEFT_F32,
     FORMULA(2, 1, {WEFT_F32, WEFT_F32}, {WEFT_F32}, {"a + b"}, .planned = true, .ndim = 2,
             .shapes = {{7, 129}, {3, 768}})},
    {"elementwise", "b broadcast", WEFT_F32,
     FORMULA(2, 1, {WEFT_F32, WEFT_F32}, {WEFT_F32}, {"a * b - 0.5"}, .b_broadcast = 2, .ndim = 3,
             .shapes = {{7, 64, 128}, {3, 900, 16}, {2, 17, 768}})},
    {"elementwise", "transpose", WEFT_F32,
     FORMULA(1, 1, {WEFT_F32}, {WEFT_F32}, {"copy"}, .a_transposed = true, .ndim = 2,
             .shapes = {{64, 64}, {129, 65}, {768, 9}, {33, 900}})},
    {"elementwise", "to other types", WEFT_F32,
     FORMULA(1, 4, {WEFT_F32}, {WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_U8},
             {"a", "a", "a * 1000", "128 + a * 200"}, EVEN)},
    {"elementwise", "from other types", WEFT_F32,
     FORMULA(4, 4, {WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_U8},
             {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32}, {"a", "b", "c", "d"}, ODD)},
    {"elementwise", "exponentials", WEFT_F32,
     FORMULA(1, 4, {WEFT_F32}, {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32},
             {"exp(4 * a)", "tanh(3 * a)", "sigmoid(5 * a)", "log(a + 1.5)"}, EVEN)},
    {"elementwise", "activations", WEFT_F32,
     FORMULA(2, 4, {WEFT_F32, WEFT_F32}, {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32},
             {"gelu(3 * a)", "silu(3 * a)", "erf(2 * a)", "gelu_backward(b, a)"}, ODD)},
    {"elementwise", "roots and waves", WEFT_F32,
     FORMULA(2, 4, {WEFT_F32, WEFT_F32}, {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32},
             {"sqrt(a + 1)", "sin(9 * a)", "pow(a + 2, b)", "atan2(a, b)"}, EVEN)},
    {"elementwise", "choices", WEFT_F32,
     FORMULA(2, 4, {WEFT_F32, WEFT_F32}, {WEFT_F32, WEFT_F32, WEFT_U8, WEFT_F32},
             {"max(a, b)", "a < b ? a : -b", "a <= b && a > 0", "clamp(a, -0.5, 0.25)"}, ODD)},
    {"elementwise", "whole numbers", WEFT_I32,
     FORMULA(2, 4, {WEFT_I32, WEFT_I32}, {WEFT_I32, WEFT_I32, WEFT_I32, WEFT_I64},
             {"a * b + 7", "a / b", "a % b", "(a ^ b) << 3"}, EVEN)},
    {"elementwise", "f64", WEFT_F64,
     FORMULA(2, 2, {WEFT_F64, WEFT_F64}, {WEFT_F64, WEFT_F64}, {"a * b - a", "exp(a)"}, ODD)},
    {0},
};
