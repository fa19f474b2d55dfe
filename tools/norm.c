// SPDX-License-Identifier: Apache-2.0
// weft norm: layer or RMS normalisation along the last axes of an array, timed and checked.
#include <string.h>

#include <weft/norm.h>

#include "buffer.h"
#include "dense_job.h"

typedef struct norm_options {
    dense_options dense;
    int n_axes;
    bool is_rms;
    double epsilon;
    const char *weight_path, *bias_path;
    npy_array host_weight, host_bias; // of the run
    weft_tensor weight, bias;
} norm_options;

// w or b: the shape of X's last axes.
static bool load_operand(npy_array *out, const dense_job *job, const char *path, complaint *why)
{
    const norm_options *options = job->own;
    const npy_array *X = &job->host_X;
    const int64_t *want = X->shape + X->ndim - options->n_axes;
    char has[256], needs[256];
    if (!dense_job_read(out, job, path, X->dtype, why))
        return false;
    if (out->ndim == options->n_axes &&
        memcmp(out->shape, want, (size_t)options->n_axes * sizeof(*want)) == 0)
        return true;
    return complain(why, "%s: has the shape %s, but the normalised axes of %s have the shape %s",
                    path, dense_shape_text(out->ndim, out->shape, has, sizeof(has)),
                    dense_job_name(job),
                    dense_shape_text(options->n_axes, want, needs, sizeof(needs)));
}

static bool prepare(dense_job *job, complaint *why)
{
    norm_options *options = job->own;
    const npy_array *X = &job->host_X;
    char text[256];
    job->Y.dtype = X->dtype;
    job->Y.ndim = X->ndim;
    memcpy(job->Y.shape, X->shape, sizeof(job->Y.shape));
    if (!dense_job_check_float(job, why))
        return false;
    if (options->n_axes > X->ndim)
        return complain(why, "%s: has the shape %s, not %d axes to normalise along",
                        dense_job_name(job),
                        dense_shape_text(X->ndim, X->shape, text, sizeof(text)), options->n_axes);
    return (options->weight_path == NULL ||
            load_operand(&options->host_weight, job, options->weight_path, why)) &&
           (options->bias_path == NULL ||
            load_operand(&options->host_bias, job, options->bias_path, why));
}

static bool upload_operand(weft_tensor *out, dense_job *job, const npy_array *host,
                           const char *path, complaint *why)
{
    size_t bytes = 0;
    const bool done =
        path == NULL || dense_tensor_create(out, job->ctx, host->dtype, host->ndim, host->shape,
                                            host->data, &bytes, path, why);
    job->bytes += bytes;
    return done;
}

static bool upload(dense_job *job, complaint *why)
{
    norm_options *options = job->own;
    return upload_operand(&options->weight, job, &options->host_weight, options->weight_path,
                          why) &&
           upload_operand(&options->bias, job, &options->host_bias, options->bias_path, why);
}

static weft_norm_params params_of(const norm_options *options)
{
    return (weft_norm_params){
        .size = sizeof(weft_norm_params),
        .weight = options->weight_path != NULL ? &options->weight : NULL,
        .bias = options->bias_path != NULL ? &options->bias : NULL,
    };
}

static weft_status enqueue(const dense_job *job)
{
    const norm_options *options = job->own;
    const weft_norm_params params = params_of(options);
    return (options->is_rms ? weft_rms_norm : weft_layer_norm)(
        job->ctx, job->queue, options->epsilon, &job->X, options->n_axes, &job->Y, &params);
}

static int describe(const dense_job *job, char *text, size_t size)
{
    const norm_options *options = job->own;
    const weft_norm_params params = params_of(options);
    return (options->is_rms ? weft_rms_norm_describe : weft_norm_describe)(
        job->ctx, &job->X, options->n_axes, &job->Y, &params, text, size);
}

static host_tensor host_of(const npy_array *array)
{
    return host_tensor_dense(array->dtype, array->data, array->ndim, array->shape);
}

static bool reference(const dense_job *job, reference_values *out, complaint *why)
{
    const norm_options *options = job->own;
    const host_tensor weight = host_of(&options->host_weight);
    const host_tensor bias = host_of(&options->host_bias);
    const reference_norm problem = {
        .X = host_of(&job->host_X),
        .n_axes = options->n_axes,
        .epsilon = options->epsilon,
        .is_rms = options->is_rms,
        .weight = options->weight_path != NULL ? &weight : NULL,
        .bias = options->bias_path != NULL ? &bias : NULL,
    };
    return reference_norm_run(out, &problem, why);
}

static void clean_up(dense_job *job)
{
    norm_options *options = job->own;
    buffer_release(&options->weight.buffer);
    buffer_release(&options->bias.buffer);
    npy_free(&options->host_weight);
    npy_free(&options->host_bias);
}

enum { OPTION_RMS = 256, OPTION_AXES, OPTION_EPSILON, OPTION_WEIGHT, OPTION_BIAS };

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    norm_options *norm = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &norm->dense;
        return 0;
    case OPTION_RMS:
        norm->is_rms = true;
        return 0;
    case OPTION_AXES:
        norm->n_axes = (int)command_integer(state, "--axes", argument, 1, WEFT_MAX_NDIM);
        return 0;
    case OPTION_EPSILON:
        norm->epsilon = command_number(state, "--epsilon", argument);
        if (norm->epsilon < 0)
            argp_error(state, "--epsilon: %s is below 0", argument);
        return 0;
    case OPTION_WEIGHT:
        norm->weight_path = argument;
        return 0;
    case OPTION_BIAS:
        norm->bias_path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int weft_norm_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"rms", OPTION_RMS, NULL, 0, "RMS normalisation: no mean is subtracted", 0},
        {"axes", OPTION_AXES, "N", 0, "Normalise along the last N axes (default: 1)", 0},
        {"epsilon", OPTION_EPSILON, "E", 0, "Add E to the variance (default: 1e-5)", 0},
        {"weight", OPTION_WEIGHT, "W.npy", 0, "Multiply by this array of the last axes' shape", 0},
        {"bias", OPTION_BIAS, "B.npy", 0, "Add this array of the last axes' shape", 0},
        {0},
    };
    static const struct argp_child children[] = {{&dense_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "IN.npy",
        .doc = "Layer or RMS normalisation along the last axes of an array."
               "\vReports the plan, the "
               "set-up time (compilation), the median and range of the run time, and the traffic: "
               "each operand read once, the result written once.",
        .children = children,
    };
    static const dense_operation operation = {
        .name = "norm",
        .prepare = prepare,
        .upload = upload,
        .enqueue = enqueue,
        .describe = describe,
        .reference = reference,
        .clean_up = clean_up,
    };
    norm_options norm = {.dense = dense_options_new(), .n_axes = 1, .epsilon = 1e-5};
    argp_parse(&parser, argc, argv, 0, NULL, &norm);
    return dense_job_run(&operation, &norm.dense, &norm, argv[0]);
}
