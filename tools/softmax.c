// SPDX-License-Identifier: Apache-2.0
// weft softmax: softmax or log-softmax along one axis of an array, timed and checked.
#include <string.h>

#include <weft/softmax.h>

#include "dense_job.h"

typedef struct softmax_options {
    dense_options dense;
    int axis;
    bool is_log, masked;
    double scale;
} softmax_options;

static bool prepare(dense_job *job, complaint *why)
{
    const softmax_options *options = job->own;
    const npy_array *X = &job->host_X;
    job->Y.dtype = X->dtype;
    job->Y.ndim = X->ndim;
    memcpy(job->Y.shape, X->shape, sizeof(job->Y.shape));
    return dense_job_check_float(job, why) && dense_job_check_axis(job, options->axis, why);
}

static weft_softmax_params params_of(const softmax_options *options)
{
    return (weft_softmax_params){.size = sizeof(weft_softmax_params), .masked = options->masked};
}

static weft_status enqueue(const dense_job *job)
{
    const softmax_options *options = job->own;
    const weft_softmax_params params = params_of(options);
    return (options->is_log ? weft_log_softmax : weft_softmax)(
        job->ctx, job->queue, options->scale, &job->X, options->axis, &job->Y, &params);
}

static int describe(const dense_job *job, char *text, size_t size)
{
    const softmax_options *options = job->own;
    const weft_softmax_params params = params_of(options);
    return (options->is_log ? weft_log_softmax_describe : weft_softmax_describe)(
        job->ctx, &job->X, options->axis, &job->Y, &params, text, size);
}

static bool reference(const dense_job *job, reference_values *out, complaint *why)
{
    const softmax_options *options = job->own;
    const npy_array *X = &job->host_X;
    const reference_softmax problem = {
        .X = host_tensor_dense(X->dtype, X->data, X->ndim, X->shape),
        .axis = options->axis,
        .scale = options->scale,
        .is_log = options->is_log,
        .masked = options->masked,
    };
    return reference_softmax_run(out, &problem, why);
}

enum { OPTION_LOG = 256, OPTION_SCALE, OPTION_MASKED };

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    softmax_options *softmax = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &softmax->dense;
        return 0;
    case 'a':
        softmax->axis =
            (int)command_integer(state, "--axis", argument, -WEFT_MAX_NDIM, WEFT_MAX_NDIM - 1);
        return 0;
    case OPTION_LOG:
        softmax->is_log = true;
        return 0;
    case OPTION_SCALE:
        softmax->scale = command_number(state, "--scale", argument);
        return 0;
    case OPTION_MASKED:
        softmax->masked = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int weft_softmax_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"axis", 'a', "A", 0, "The axis, -1 for the last one (the default)", 0},
        {"log", OPTION_LOG, NULL, 0, "Compute the logarithm of softmax", 0},
        {"scale", OPTION_SCALE, "S", 0, "Multiply the array by S first (default: 1)", 0},
        {"masked", OPTION_MASKED, NULL, 0,
         "Give 0 (with --log -inf) in place of NaN if all elements along the axis are -inf", 0},
        {0},
    };
    static const struct argp_child children[] = {{&dense_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "IN.npy",
        .doc = "Softmax along one axis of an array."
               "\vReports the plan, the set-up time "
               "(compilation), the median and range of the run time, and the traffic: the array "
               "read once and the result written once.",
        .children = children,
    };
    static const dense_operation operation = {
        .name = "softmax",
        .prepare = prepare,
        .enqueue = enqueue,
        .describe = describe,
        .reference = reference,
    };
    softmax_options softmax = {.dense = dense_options_new(), .axis = -1, .scale = 1};
    argp_parse(&parser, argc, argv, 0, NULL, &softmax);
    return dense_job_run(&operation, &softmax.dense, &softmax, argv[0]);
}
