// SPDX-License-Identifier: Apache-2.0
// weft elementwise: one formula of arrays and numbers, timed.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "dense_job.h"
#include "elementwise_options.h"
#include "file.h"
#include "scalar.h"

typedef struct elementwise_job {
    elementwise_options options;
    formula_arrays arrays;
    weft_context *ctx;
    weft_tensor Y; // without gaps
    weft_dtype arithmetic;
    weft_elementwise_plan *plan;
    size_t bytes, y_bytes; // that are read and written at least; of the result
    void *host_Y;
    char plan_text[1024];
    double *runs_ms;
    timed_report report;
    reference_worst worst;
} elementwise_job;

// ---- what the result is

static bool check_pair(const elementwise_job *job, int i, int j, complaint *why)
{
    const npy_array *a = &job->arrays.host[i], *b = &job->arrays.host[j];
    char a_text[256], b_text[256];
    for (int d = 0; d < a->ndim && d < b->ndim; d++) {
        const int64_t a_extent = npy_extent_from_end(a, d), b_extent = npy_extent_from_end(b, d);
        if (a_extent != b_extent && a_extent != 1 && b_extent != 1)
            return complain(why, "%s and %s: the shapes %s and %s do not broadcast",
                            job->options.words.paths[i], job->options.words.paths[j],
                            dense_shape_text(a->ndim, a->shape, a_text, sizeof(a_text)),
                            dense_shape_text(b->ndim, b->shape, b_text, sizeof(b_text)));
    }
    return true;
}

static bool fits_shape(const npy_array *array, const elementwise_options *options)
{
    for (int d = 0; d < array->ndim; d++) {
        const int64_t extent = npy_extent_from_end(array, d);
        if (d >= options->ndim || (extent != 1 && extent != options->shape[options->ndim - 1 - d]))
            return false;
    }
    return true;
}

static bool take_shape(elementwise_job *job, complaint *why)
{
    const elementwise_options *options = &job->options;
    char own[256], wanted[256];
    job->Y.ndim = options->ndim;
    memcpy(job->Y.shape, options->shape, sizeof(job->Y.shape));
    for (int i = 0; i < options->words.n_inputs; i++)
        if (!fits_shape(&job->arrays.host[i], options))
            return complain(
                why, "%s: the shape %s does not broadcast to %s of --shape",
                options->words.paths[i],
                dense_shape_text(job->arrays.host[i].ndim, job->arrays.host[i].shape, own,
                                 sizeof(own)),
                dense_shape_text(options->ndim, options->shape, wanted, sizeof(wanted)));
    return true;
}

static bool broadcast(elementwise_job *job, complaint *why)
{
    const int n_inputs = job->options.words.n_inputs;
    weft_tensor *Y = &job->Y;
    for (int i = 0; i < n_inputs; i++)
        for (int j = 0; j < i; j++)
            if (!check_pair(job, j, i, why))
                return false;
    for (int i = 0; i < n_inputs; i++)
        Y->ndim = job->arrays.host[i].ndim > Y->ndim ? job->arrays.host[i].ndim : Y->ndim;
    for (int d = 0; d < Y->ndim; d++) {
        int64_t *extent = &Y->shape[Y->ndim - 1 - d];
        *extent = 1;
        for (int i = 0; i < n_inputs; i++)
            *extent = npy_extent_from_end(&job->arrays.host[i], d) != 1
                          ? npy_extent_from_end(&job->arrays.host[i], d)
                          : *extent;
    }
    return true;
}

static bool has_input(const elementwise_job *job, weft_dtype dtype)
{
    for (int i = 0; i < job->options.words.n_inputs; i++)
        if (job->arrays.host[i].dtype == dtype)
            return true;
    return false;
}

static bool has_floats(const elementwise_job *job)
{
    for (int i = 0; i < job->options.words.n_inputs; i++)
        if (scalar_is_float(job->arrays.host[i].dtype))
            return true;
    return false;
}

// The common type of the inputs.
static weft_dtype shared_dtype(const elementwise_job *job)
{
    bool is_one = job->options.words.n_inputs > 0;
    for (int i = 1; i < job->options.words.n_inputs; i++)
        is_one = is_one && job->arrays.host[i].dtype == job->arrays.host[0].dtype;
    if (is_one)
        return job->arrays.host[0].dtype;
    if (has_floats(job))
        return has_input(job, WEFT_F64) ? WEFT_F64 : WEFT_F32;
    return has_input(job, WEFT_I64) ? WEFT_I64 : WEFT_I32;
}

// ---- calls

static weft_elementwise_params params_of(const elementwise_job *job, weft_dtype arithmetic)
{
    return (weft_elementwise_params){
        .size = sizeof(weft_elementwise_params),
        .n_values = job->options.words.n_values,
        .values = job->options.words.values,
        .arithmetic = arithmetic,
        .plan = job->plan,
    };
}

static weft_elementwise_output output_of(const elementwise_job *job)
{
    return (weft_elementwise_output){job->options.formula, &job->Y};
}

static weft_status make_plan(elementwise_job *job, weft_dtype arithmetic)
{
    const weft_elementwise_params params = params_of(job, arithmetic);
    const weft_elementwise_output output = output_of(job);
    return weft_elementwise_plan_create(&job->plan, job->ctx, job->options.words.n_inputs,
                                        job->arrays.inputs, 1, &output, &params);
}

static bool enqueue(const elementwise_job *job, complaint *why)
{
    const weft_elementwise_params params = params_of(job, job->arithmetic);
    const weft_elementwise_output output = output_of(job);
    return weft_elementwise(job->ctx, weft_context_queue(job->ctx), job->options.words.n_inputs,
                            job->arrays.inputs, 1, &output, &params) == WEFT_OK ||
           complain_weft(why);
}

static bool describe(elementwise_job *job, complaint *why)
{
    const weft_elementwise_params params = params_of(job, job->arithmetic);
    const weft_elementwise_output output = output_of(job);
    return weft_elementwise_describe(job->ctx, job->options.words.n_inputs, job->arrays.inputs, 1,
                                     &output, &params, job->plan_text,
                                     sizeof(job->plan_text)) >= 0 ||
           complain_weft(why);
}

static bool finish(const elementwise_job *job, complaint *why)
{
    const cl_int code = clFinish(weft_context_queue(job->ctx));
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

// Whether the formula has an integer meaning, which only the library knows: it refuses others.
static bool is_whole(elementwise_job *job)
{
    const weft_status status = make_plan(job, has_input(job, WEFT_I64) ? WEFT_I64 : WEFT_I32);
    weft_elementwise_plan_destroy(&job->plan);
    return status == WEFT_OK;
}

static void choose_types(elementwise_job *job)
{
    const elementwise_options *options = &job->options;
    job->arithmetic = options->arithmetic;
    job->Y.dtype = shared_dtype(job);
    if (job->arithmetic == WEFT_DEFAULT && options->words.has_real_value && !has_floats(job))
        job->arithmetic = WEFT_F32;
    if (options->dtype != WEFT_DEFAULT)
        job->Y.dtype = options->dtype;
    else if (scalar_is_float(job->arithmetic) && !has_floats(job))
        job->Y.dtype = job->arithmetic;
    else if (job->arithmetic == WEFT_DEFAULT && !has_floats(job) && !is_whole(job))
        job->Y.dtype = WEFT_F32;
}

// ---- phases

static bool make_result(elementwise_job *job, complaint *why)
{
    const weft_tensor Y = job->Y;
    if (!dense_tensor_create(&job->Y, job->ctx, Y.dtype, Y.ndim, Y.shape, NULL, &job->y_bytes,
                             "the result", why))
        return false;
    job->bytes += job->y_bytes;
    job->host_Y = malloc(job->y_bytes > 0 ? job->y_bytes : 1);
    job->runs_ms = malloc((size_t)job->options.runs * sizeof(double));
    return (job->host_Y != NULL && job->runs_ms != NULL) ||
           complain(why, "no memory for the result, %zu bytes", job->y_bytes);
}

// A result too large for any buffer, of any type, has no strides either. A plan determines types
// later.
static bool lay_out(const elementwise_job *job, weft_tensor *Y, complaint *why)
{
    const int64_t limit = (int64_t)weft_context_limits(job->ctx)->max_alloc_bytes;
    int64_t step = 1;
    char text[256];
    if (dense_bytes(WEFT_U8, Y->ndim, Y->shape) == 0) { // whatever its other extents are
        const host_tensor view = host_tensor_dense(WEFT_U8, NULL, Y->ndim, Y->shape);
        memcpy(Y->stride, view.stride, sizeof(Y->stride));
        return true;
    }
    for (int d = Y->ndim - 1; d >= 0; d--) {
        Y->stride[d] = step;
        if (step > limit / Y->shape[d])
            return complain(why,
                            "the result of shape %s is larger than the device's largest buffer: %g "
                            "elements, but at most %" PRId64 " bytes",
                            dense_shape_text(Y->ndim, Y->shape, text, sizeof(text)),
                            dense_bytes(WEFT_U8, Y->ndim, Y->shape), limit);
        step *= Y->shape[d];
    }
    return true;
}

static bool make_ready(elementwise_job *job, complaint *why)
{
    const double start_ms = timing_now_ms();
    choose_types(job);
    if (make_plan(job, job->arithmetic) != WEFT_OK)
        return complain_weft(why);
    job->report = report_new("elementwise", weft_context_limits(job->ctx)->name, job->Y.dtype);
    job->report.setup_ms = timing_now_ms() - start_ms;
    return true;
}

// Includes the first run, in which some devices compile.
static bool set_up(elementwise_job *job, complaint *why)
{
    command_compiles();
    const bool done = make_ready(job, why) && make_result(job, why) && describe(job, why) &&
                      enqueue(job, why) && finish(job, why);
    command_has_compiled();
    return done;
}

static bool measure(elementwise_job *job, complaint *why)
{
    const size_t n_runs = (size_t)job->options.runs;
    for (size_t run = 0; run < n_runs; run++) {
        const double start_ms = timing_now_ms();
        if (!enqueue(job, why) || !finish(job, why))
            return false;
        job->runs_ms[run] = timing_now_ms() - start_ms;
    }
    job->report.time = timing_of(job->runs_ms, n_runs);
    job->report.gbps = 1e-6 * (double)job->bytes / job->report.time.median_ms;
    return true;
}

static bool fetch(elementwise_job *job, complaint *why)
{
    const weft_tensor *Y = &job->Y;
    const char *path = job->options.output_path;
    if (!buffer_read(Y->buffer, weft_context_queue(job->ctx), job->host_Y, job->y_bytes, why))
        return false;
    return path == NULL || npy_write(path, Y->dtype, Y->ndim, Y->shape, job->host_Y, why);
}

static bool compare(elementwise_job *job, complaint *why)
{
    const weft_tensor *Y = &job->Y;
    const host_tensor got = host_tensor_dense(Y->dtype, job->host_Y, Y->ndim, Y->shape);
    const reference_elementwise problem = {
        .formula = job->options.formula,
        .arithmetic = job->arithmetic,
        .y_dtype = Y->dtype,
        .ndim = Y->ndim,
        .shape = Y->shape,
    };
    reference_values values;
    if (!job->options.check)
        return true;
    if (!formula_reference(&values, problem, NULL, &job->options.words, &job->arrays, why))
        return false;
    const bool done = reference_values_compare(&values, &got, &job->worst, why);
    reference_values_free(&values);
    job->report.error = job->worst.error;
    return done;
}

static bool print(elementwise_job *job, complaint *why)
{
    job->report.ndim = job->Y.ndim;
    memcpy(job->report.shape, job->Y.shape, sizeof(job->report.shape));
    job->report.plan = job->plan_text;
    return command_print_report(&job->report, &job->options.common, job->options.output_path, why);
}

static bool run(elementwise_job *job, complaint *why)
{
    return file_can_save(job->options.output_path, why) &&
           command_open(&job->ctx, &job->options.common, why) &&
           formula_arrays_read(&job->arrays, &job->options.words, job->options.format, job->ctx,
                               why) &&
           (job->options.has_shape ? take_shape(job, why) : broadcast(job, why)) &&
           lay_out(job, &job->Y, why) &&
           formula_arrays_upload(&job->arrays, &job->options.words, job->ctx, &job->bytes, why) &&
           set_up(job, why) && measure(job, why) && fetch(job, why) && compare(job, why) &&
           print(job, why) && dense_judge(&job->worst, job->Y.ndim, job->Y.shape, why);
}

static void clean_up(elementwise_job *job)
{
    if (job->ctx != NULL)
        clFinish(weft_context_queue(job->ctx));
    weft_elementwise_plan_destroy(&job->plan);
    formula_arrays_free(&job->arrays);
    buffer_release(&job->Y.buffer);
    weft_context_destroy(&job->ctx);
    free(job->host_Y);
    free(job->runs_ms);
}

int weft_elementwise_main(int argc, char **argv)
{
    elementwise_job job = {0};
    complaint why;
    elementwise_options_parse(&job.options, argc, argv);
    const bool done = run(&job, &why);
    clean_up(&job);
    return done ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
