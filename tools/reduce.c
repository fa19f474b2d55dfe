// SPDX-License-Identifier: Apache-2.0
// weft reduce: one reduction along any axes of an array, timed and checked.
#include <inttypes.h>
#include <string.h>

#include "dense_job.h"
#include "reduce.h"
#include "scalar.h"

typedef struct reduce_options {
    dense_options dense;
    weft_reduction op;
    bool has_op, keepdims;
    int n_axes; // 0: all
    int axes[WEFT_MAX_NDIM];
    int64_t correction;
} reduce_options;

weft_dtype reduce_dtype(const weft_limits *device, weft_reduction op, weft_dtype dtype)
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
        if (scalar_is_float(dtype))
            return dtype;
        return device->has_f64 ? WEFT_F64 : WEFT_F32;
    }
}

static bool check_axes(const dense_job *job, const reduce_options *options, complaint *why)
{
    const int ndim = job->host_X.ndim;
    unsigned seen = 0;
    for (int i = 0; i < options->n_axes; i++) {
        const int axis = options->axes[i];
        if (!dense_job_check_axis(job, axis, why))
            return false;
        const unsigned bit = 1u << (axis < 0 ? axis + ndim : axis);
        if (seen & bit)
            return complain(why, "%s: axis %d is named twice", dense_job_name(job), axis);
        seen |= bit;
    }
    return true;
}

// Short integers are widened to types that can be reduced.
static bool widen(dense_job *job, complaint *why)
{
    npy_array *X = &job->host_X;
    const bool is_short = X->dtype == WEFT_I16 || X->dtype == WEFT_I8;
    if (is_short && !npy_convert(X, WEFT_I32, dense_job_name(job), why))
        return false;
    job->report.dtype = X->dtype;
    return true;
}

static bool prepare(dense_job *job, complaint *why)
{
    const reduce_options *options = job->own;
    const npy_array *X = &job->host_X;
    if (!check_axes(job, options, why) || !widen(job, why))
        return false;
    job->Y.dtype = reduce_dtype(weft_context_limits(job->ctx), options->op, X->dtype);
    job->Y.ndim = reference_reduced_shape(X->ndim, X->shape, options->n_axes, options->axes,
                                          options->keepdims, job->Y.shape);
    return true;
}

static weft_reduce_params params_of(const reduce_options *options)
{
    return (weft_reduce_params){.size = sizeof(weft_reduce_params),
                                .correction = options->correction};
}

static weft_status enqueue(const dense_job *job)
{
    const reduce_options *options = job->own;
    const weft_reduce_params params = params_of(options);
    return weft_reduce(job->ctx, job->queue, options->op, &job->X, options->n_axes, options->axes,
                       &job->Y, &params);
}

static int describe(const dense_job *job, char *text, size_t size)
{
    const reduce_options *options = job->own;
    const weft_reduce_params params = params_of(options);
    return weft_reduce_describe(job->ctx, options->op, &job->X, options->n_axes, options->axes,
                                &job->Y, &params, text, size);
}

static bool reference(const dense_job *job, reference_values *out, complaint *why)
{
    const reduce_options *options = job->own;
    const npy_array *X = &job->host_X;
    const reference_reduction problem = {
        .op = options->op,
        .X = host_tensor_dense(X->dtype, X->data, X->ndim, X->shape),
        .n_axes = options->n_axes,
        .axes = options->axes,
        .y_dtype = job->Y.dtype,
        .correction = options->correction,
    };
    return reference_reduce(out, &problem, why);
}

enum { OPTION_OP = 256, OPTION_KEEPDIMS, OPTION_CORRECTION };

static void take_op(reduce_options *reduce, const char *name, struct argp_state *state)
{
    reduce->has_op = weft_reduction_find(name, &reduce->op);
    if (!reduce->has_op)
        argp_error(state, "--op: '%s' is not a reduction; `weft reduce --help' lists them", name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    reduce_options *reduce = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &reduce->dense;
        return 0;
    case ARGP_KEY_END:
        if (!reduce->has_op)
            argp_error(state, "--op is needed");
        return 0;
    case OPTION_OP:
        take_op(reduce, argument, state);
        return 0;
    case 'a':
        reduce->n_axes = dense_take_axes(state, argument, reduce->axes);
        return 0;
    case OPTION_KEEPDIMS:
        reduce->keepdims = true;
        return 0;
    case OPTION_CORRECTION:
        reduce->correction = command_integer(state, "--correction", argument, 0, INT64_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int weft_reduce_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"op", OPTION_OP, "OP", 0,
         "sum, prod, mean, min, max, argmin, argmax, any, all, norm1, norm2, norm_inf, var, std or "
         "logsumexp",
         0},
        {"axis", 'a', "LIST", 0,
         "Axes separated by commas, -1 for the last one, or all (the default)", 0},
        {"keepdims", OPTION_KEEPDIMS, NULL, 0, "Keep the reduced axes with extent 1", 0},
        {"correction", OPTION_CORRECTION, "C", 0, "For var and std: divide by n - C (default: 0)",
         0},
        {0},
    };
    static const struct argp_child children[] = {{&dense_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "IN.npy",
        .doc = "Reduce an array along some of its axes."
               "\vArrays of i8 and i16 are converted to "
               "i32. Sums and products of integers are i64, positions i64, results of any and all "
               "u8; means and norms of integers are f64 if the device supports it. Reports the "
               "plan, the set-up time (compilation), the median and range of the run time, and the "
               "traffic: the array read once and the result written once.",
        .children = children,
    };
    static const dense_operation operation = {
        .name = "reduce",
        .prepare = prepare,
        .enqueue = enqueue,
        .describe = describe,
        .reference = reference,
    };
    reduce_options reduce = {.dense = dense_options_new()};
    argp_parse(&parser, argc, argv, 0, NULL, &reduce);
    return dense_job_run(&operation, &reduce.dense, &reduce, argv[0]);
}
