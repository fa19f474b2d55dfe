// SPDX-License-Identifier: Apache-2.0
// Checks of operations along axes of dense arrays: reduce, softmax, norm, and their backward.
#include <inttypes.h>
#include <string.h>

#include <weft/norm.h>
#include <weft/reduce.h>
#include <weft/softmax.h>

#include "dense_job.h"
#include "self_test_trial.h"

// Arrays of three axes. The first, the middle or the last one has these lengths, beside other axes
// of one kind, so that few programs are compiled for all of them.
enum { AXES = 3, CASES = 6 };

static const int64_t shapes[AXES][CASES][AXES] = {
    {{65, 2, 33}, {64, 1, 129}, {129, 7, 64}, {768, 1, 40}, {900, 2, 33}, {1000, 3, 64}},
    {{2, 65, 600}, {7, 64, 33}, {2, 129, 64}, {3, 768, 16}, {1, 900, 129}, {2, 1000, 40}},
    {{3, 5, 7}, {1, 129, 64}, {7, 9, 129}, {2, 17, 768}, {1, 3, 900}, {1, 2, 1000}},
};

static bool say(self_trial *t, const char *op, const int64_t *shape, int axis, weft_dtype dtype)
{
    char text[64];
    trial_case(t, "%s of %s along axis %d, %s, seed %" PRIu64, op,
               dense_shape_text(AXES, shape, text, sizeof(text)), axis, weft_dtype_name(dtype),
               t->seed);
    return true;
}

// ---- reduce

typedef struct reduce_check {
    weft_reduction op;
    weft_dtype x, y;
    int axis;
} reduce_check;

static bool compare_reduced(self_trial *t, const reduce_check *of, const self_array *X,
                            const self_array *Y)
{
    const reference_reduction problem = {
        .op = of->op, .X = X->host, .n_axes = 1, .axes = &of->axis, .y_dtype = of->y};
    reference_values values;
    return reference_reduce(&values, &problem, t->why) && trial_compare(t, "Y", Y, &values);
}

static bool check_reduce(self_trial *t, const void *check)
{
    const reduce_check *of = check;
    for (int i = 0; i < CASES; i++) {
        const int64_t *shape = shapes[of->axis][i];
        int64_t reduced[AXES];
        self_array X, Y;
        say(t, weft_reduction_name(of->op), shape, of->axis, of->x);
        reference_reduced_shape(AXES, shape, 1, &of->axis, false, reduced);
        if (!trial_input(t, &X, of->x, AXES, shape) ||
            !trial_output(t, &Y, of->y, AXES - 1, reduced) ||
            !trial_plan(t, weft_reduce_describe(t->ctx, of->op, &X.there, 1, &of->axis, &Y.there,
                                                NULL, t->plan, sizeof(t->plan))) ||
            !trial_call(
                t, weft_reduce(t->ctx, t->queue, of->op, &X.there, 1, &of->axis, &Y.there, NULL)) ||
            !compare_reduced(t, of, &X, &Y))
            return false;
    }
    return true;
}

// ---- softmax

typedef struct softmax_check {
    weft_dtype dtype;
    int axis;
    double scale; // 0: 1
    bool is_log, is_backward;
} softmax_check;

static double scale_of(const softmax_check *of)
{
    return of->scale != 0 ? of->scale : 1;
}

// Backward, X is the forward result: any numbers will do.
static bool call_softmax(self_trial *t, const softmax_check *of, const self_array *X,
                         const self_array *dY, const self_array *Y)
{
    if (!of->is_backward)
        return trial_plan(t, (of->is_log ? weft_log_softmax_describe : weft_softmax_describe)(
                                 t->ctx, &X->there, of->axis, &Y->there, NULL, t->plan,
                                 sizeof(t->plan))) &&
               trial_call(t, (of->is_log ? weft_log_softmax
                                         : weft_softmax)(t->ctx, t->queue, scale_of(of), &X->there,
                                                         of->axis, &Y->there, NULL));
    return trial_plan(t, (of->is_log ? weft_log_softmax_backward_describe
                                     : weft_softmax_backward_describe)(
                             t->ctx, &X->there, &dY->there, of->axis, &Y->there, NULL, t->plan,
                             sizeof(t->plan))) &&
           trial_call(t, (of->is_log ? weft_log_softmax_backward : weft_softmax_backward)(
                             t->ctx, t->queue, scale_of(of), &X->there, &dY->there, of->axis,
                             &Y->there, NULL));
}

static bool compare_softmax(self_trial *t, const softmax_check *of, const self_array *X,
                            const self_array *dY, const self_array *Y)
{
    const reference_softmax problem = {.X = X->host,
                                       .dY = dY->host,
                                       .axis = of->axis,
                                       .scale = scale_of(of),
                                       .is_log = of->is_log,
                                       .is_backward = of->is_backward};
    reference_values values;
    return reference_softmax_run(&values, &problem, t->why) &&
           trial_compare(t, of->is_backward ? "dX" : "Y", Y, &values);
}

static bool check_softmax(self_trial *t, const void *check)
{
    const softmax_check *of = check;
    for (int i = 0; i < CASES; i++) {
        const int64_t *shape = shapes[of->axis][i];
        self_array X, dY, Y;
        say(t, of->is_log ? "log_softmax" : "softmax", shape, of->axis, of->dtype);
        if (!trial_input(t, &X, of->dtype, AXES, shape) ||
            !trial_input(t, &dY, of->dtype, AXES, shape) ||
            !trial_output(t, &Y, of->dtype, AXES, shape) || !call_softmax(t, of, &X, &dY, &Y) ||
            !compare_softmax(t, of, &X, &dY, &Y))
            return false;
    }
    return true;
}

// ---- norm

typedef struct norm_check {
    weft_dtype dtype;
    bool is_rms, has_weight;
} norm_check;

static bool run_norm(self_trial *t, const norm_check *of, const int64_t *shape)
{
    self_array X, weight, bias, Y;
    if (!trial_input(t, &X, of->dtype, AXES, shape) ||
        !trial_input(t, &weight, of->dtype, 1, shape + AXES - 1) ||
        !trial_input(t, &bias, of->dtype, 1, shape + AXES - 1) ||
        !trial_output(t, &Y, of->dtype, AXES, shape))
        return false;
    const weft_norm_params params = {.size = sizeof(params),
                                     .weight = of->has_weight ? &weight.there : NULL,
                                     .bias = of->has_weight ? &bias.there : NULL};
    const reference_norm problem = {.X = X.host,
                                    .n_axes = 1,
                                    .epsilon = 1e-5,
                                    .is_rms = of->is_rms,
                                    .weight = of->has_weight ? &weight.host : NULL,
                                    .bias = of->has_weight ? &bias.host : NULL};
    reference_values values;
    return trial_plan(t, (of->is_rms ? weft_rms_norm_describe : weft_norm_describe)(
                             t->ctx, &X.there, 1, &Y.there, &params, t->plan, sizeof(t->plan))) &&
           trial_call(t, (of->is_rms ? weft_rms_norm : weft_layer_norm)(
                             t->ctx, t->queue, 1e-5, &X.there, 1, &Y.there, &params)) &&
           reference_norm_run(&values, &problem, t->why) && trial_compare(t, "Y", &Y, &values);
}

static bool check_norm(self_trial *t, const void *check)
{
    const norm_check *of = check;
    for (int i = 0; i < CASES; i++) {
        const int64_t *shape = shapes[AXES - 1][i];
        say(t, of->is_rms ? "rms_norm" : "layer_norm", shape, AXES - 1, of->dtype);
        if (!run_norm(t, of, shape))
            return false;
    }
    return true;
}

// ---- norm_backward

static bool compare_gradients(self_trial *t, const reference_norm_backward *problem,
                              const self_array *dX, const self_array *dW, const self_array *db)
{
    reference_norm_gradients want;
    if (!reference_norm_backward_run(&want, problem, t->why))
        return false;
    return trial_compare(t, "dX", dX, &want.dX) && trial_compare(t, "dW", dW, &want.dW) &&
           trial_compare(t, "db", db, &want.db);
}

static bool run_norm_backward(self_trial *t, const norm_check *of, const int64_t *shape)
{
    self_array X, dY, weight, dX, dW, db;
    if (!trial_input(t, &X, of->dtype, AXES, shape) ||
        !trial_input(t, &dY, of->dtype, AXES, shape) ||
        !trial_input(t, &weight, of->dtype, 1, shape + AXES - 1) ||
        !trial_output(t, &dX, of->dtype, AXES, shape) ||
        !trial_output(t, &dW, of->dtype, 1, shape + AXES - 1) ||
        !trial_output(t, &db, of->dtype, 1, shape + AXES - 1))
        return false;
    const weft_norm_backward_params params = {.size = sizeof(params),
                                              .weight = of->has_weight ? &weight.there : NULL,
                                              .dW = &dW.there,
                                              .db = &db.there};
    const reference_norm_backward problem = {.X = X.host,
                                             .dY = dY.host,
                                             .n_axes = 1,
                                             .epsilon = 1e-5,
                                             .is_rms = of->is_rms,
                                             .weight = of->has_weight ? &weight.host : NULL};
    return trial_plan(t, (of->is_rms ? weft_rms_norm_backward_describe
                                     : weft_norm_backward_describe)(t->ctx, &X.there, 1, &dY.there,
                                                                    &dX.there, &params, t->plan,
                                                                    sizeof(t->plan))) &&
           trial_call(t, (of->is_rms ? weft_rms_norm_backward : weft_layer_norm_backward)(
                             t->ctx, t->queue, 1e-5, &X.there, 1, &dY.there, &dX.there, &params)) &&
           compare_gradients(t, &problem, &dX, &dW, &db);
}

static bool check_norm_backward(self_trial *t, const void *check)
{
    const norm_check *of = check;
    for (int i = 0; i < CASES; i++) {
        const int64_t *shape = shapes[AXES - 1][i];
        say(t, of->is_rms ? "rms_norm_backward" : "layer_norm_backward", shape, AXES - 1,
            of->dtype);
        if (!run_norm_backward(t, of, shape))
            return false;
    }
    return true;
}

// ---- all of them

#define REDUCE(...)                                                                                \
    check_reduce, &(const reduce_check)                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SOFTMAX(...)                                                                               \
    check_softmax, &(const softmax_check)                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define NORM(...)                                                                                  \
    check_norm, &(const norm_check)                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define NORM_BACKWARD(...)                                                                         \
    check_norm_backward, &(const norm_check)                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const self_check self_test_axis[] = {
    {"reduce", "sum, last axis", WEFT_F32,
     REDUCE(.op = WEFT_SUM, .x = WEFT_F32, .y = WEFT_F32, .axis = 2)},
    {"reduce", "sum, middle axis", WEFT_F32,
     REDUCE(.op = WEFT_SUM, .x = WEFT_F32, .y = WEFT_F32, .axis = 1)},
    {"reduce", "sum, first axis", WEFT_F32,
     REDUCE(.op = WEFT_SUM, .x = WEFT_F32, .y = WEFT_F32, .axis = 0)},
    {"reduce", "max, middle axis", WEFT_F32,
     REDUCE(.op = WEFT_MAX, .x = WEFT_F32, .y = WEFT_F32, .axis = 1)},
    {"reduce", "argmax, last axis", WEFT_F32,
     REDUCE(.op = WEFT_ARGMAX, .x = WEFT_F32, .y = WEFT_I32, .axis = 2)},
    {"reduce", "var, last axis", WEFT_F32,
     REDUCE(.op = WEFT_VAR, .x = WEFT_F32, .y = WEFT_F32, .axis = 2)},
    {"reduce", "logsumexp, first axis", WEFT_F32,
     REDUCE(.op = WEFT_LOGSUMEXP, .x = WEFT_F32, .y = WEFT_F32, .axis = 0)},
    {"reduce", "mean of f16, last axis", WEFT_F16,
     REDUCE(.op = WEFT_MEAN, .x = WEFT_F16, .y = WEFT_F32, .axis = 2)},
    {"reduce", "sum of i32, middle axis", WEFT_I32,
     REDUCE(.op = WEFT_SUM, .x = WEFT_I32, .y = WEFT_I64, .axis = 1)},
    {"reduce", "norm2 of f64, last axis", WEFT_F64,
     REDUCE(.op = WEFT_NORM2, .x = WEFT_F64, .y = WEFT_F64, .axis = 2)},
    {"softmax", "last axis, scaled", WEFT_F32, SOFTMAX(.dtype = WEFT_F32, .axis = 2, .scale = 2)},
    {"softmax", "middle axis", WEFT_F32, SOFTMAX(.dtype = WEFT_F32, .axis = 1)},
    {"softmax", "bf16, first axis", WEFT_BF16, SOFTMAX(.dtype = WEFT_BF16, .axis = 0)},
    {"softmax", "log, last axis", WEFT_F32, SOFTMAX(.dtype = WEFT_F32, .axis = 2, .is_log = true)},
    {"softmax_backward", "last axis", WEFT_F32,
     SOFTMAX(.dtype = WEFT_F32, .axis = 2, .is_backward = true)},
    {"softmax_backward", "log, middle axis", WEFT_F32,
     SOFTMAX(.dtype = WEFT_F32, .axis = 1, .is_log = true, .is_backward = true)},
    {"norm", "layer, weight and bias", WEFT_F32, NORM(.dtype = WEFT_F32, .has_weight = true)},
    {"norm", "RMS", WEFT_F32, NORM(.dtype = WEFT_F32, .is_rms = true)},
    {"norm", "RMS, f16, weight and bias", WEFT_F16,
     NORM(.dtype = WEFT_F16, .is_rms = true, .has_weight = true)},
    {"norm_backward", "layer, weight", WEFT_F32,
     NORM_BACKWARD(.dtype = WEFT_F32, .has_weight = true)},
    {"norm_backward", "RMS, bf16", WEFT_BF16, NORM_BACKWARD(.dtype = WEFT_BF16, .is_rms = true)},
    {0},
};
