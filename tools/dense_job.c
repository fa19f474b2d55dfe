// SPDX-License-Identifier: Apache-2.0
// Running a command on a dense array.
#include "dense_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "file.h"
#include "scalar.h"

const char *dense_job_name(const dense_job *job)
{
    return job->options->x_path != NULL ? job->options->x_path : "the random array";
}

const char *dense_shape_text(int ndim, const int64_t *shape, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "(");
    for (int d = 0; d < ndim && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, d > 0 ? ", " : "", shape[d]);
    if (n < size)
        snprintf(text + n, size - n, ndim == 1 ? ",)" : ")");
    return text;
}

bool dense_job_check_axis(const dense_job *job, int64_t axis, complaint *why)
{
    const int ndim = job->host_X.ndim;
    char text[256];
    if (axis >= -ndim && axis < ndim)
        return true;
    return complain(why, "%s: has the shape %s, which has no axis %" PRId64, dense_job_name(job),
                    dense_shape_text(ndim, job->host_X.shape, text, sizeof(text)), axis);
}

bool dense_job_check_float(const dense_job *job, complaint *why)
{
    if (scalar_is_float(job->host_X.dtype))
        return true;
    return complain(why,
                    "%s: holds %s, but %s needs floating-point numbers; use --dtype f32 to convert",
                    dense_job_name(job), weft_dtype_name(job->host_X.dtype), job->operation->name);
}

bool dense_job_read(npy_array *out, const dense_job *job, const char *path, weft_dtype dtype,
                    complaint *why)
{
    const uint64_t limit = weft_context_limits(job->ctx)->max_alloc_bytes;
    return operand_read_dense(
        out, path, OPERAND(.format = job->options->format, .dtype = dtype, .max_bytes = limit),
        why);
}

double dense_bytes(weft_dtype dtype, int ndim, const int64_t *shape)
{
    double bytes = (double)weft_dtype_size(dtype);
    for (int d = 0; d < ndim; d++)
        bytes *= (double)shape[d];
    return bytes;
}

// The same as an integer; false if it exceeds 63 bits.
static bool count_bytes(weft_dtype dtype, int ndim, const int64_t *shape, uint64_t *bytes)
{
    *bytes = weft_dtype_size(dtype);
    for (int d = 0; d < ndim; d++)
        *bytes *= (uint64_t)shape[d];
    return dense_bytes(dtype, ndim, shape) < 0x1p63;
}

static bool check_fits(weft_context *ctx, weft_dtype dtype, int ndim, const int64_t *shape,
                       size_t *bytes, const char *what, complaint *why)
{
    const uint64_t limit = weft_context_limits(ctx)->max_alloc_bytes;
    uint64_t size;
    char text[256];
    if (!count_bytes(dtype, ndim, shape, &size) || size > limit)
        return complain(why,
                        "%s, %s of shape %s, is larger than the device's largest buffer: %.0f "
                        "bytes, but at most %" PRIu64,
                        what, weft_dtype_name(dtype),
                        dense_shape_text(ndim, shape, text, sizeof(text)),
                        dense_bytes(dtype, ndim, shape), limit);
    *bytes = (size_t)size;
    return true;
}

bool dense_tensor_create(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int ndim,
                         const int64_t *shape, const void *data, size_t *bytes, const char *what,
                         complaint *why)
{
    const host_tensor view = host_tensor_dense(dtype, NULL, ndim, shape);
    *out = (weft_tensor){.dtype = dtype, .ndim = ndim};
    memcpy(out->shape, view.shape, sizeof(out->shape));
    memcpy(out->stride, view.stride, sizeof(out->stride));
    return check_fits(ctx, dtype, ndim, shape, bytes, what, why) &&
           buffer_create(&out->buffer, ctx, data, *bytes, what, why);
}

bool dense_lay_out(npy_array *out, weft_context *ctx, weft_dtype dtype, int ndim,
                   const int64_t *shape, const char *what, complaint *why)
{
    size_t bytes;
    *out = (npy_array){.dtype = dtype == WEFT_DEFAULT ? WEFT_F32 : dtype, .ndim = ndim};
    memcpy(out->shape, shape, (size_t)ndim * sizeof(*shape));
    if (!check_fits(ctx, out->dtype, ndim, shape, &bytes, what, why))
        return false;
    out->count = (int64_t)(bytes / weft_dtype_size(out->dtype));
    return true;
}

bool dense_fill(npy_array *out, uint64_t seed, random_use use, const char *what, complaint *why)
{
    const size_t bytes = (size_t)out->count * weft_dtype_size(out->dtype);
    char text[256];
    out->data = malloc(bytes > 0 ? bytes : 1);
    if (out->data == NULL)
        return complain(why, "no memory for %s of shape %s", what,
                        dense_shape_text(out->ndim, out->shape, text, sizeof(text)));
    random_fill(seed, use, out->dtype, out->data, out->count);
    return true;
}

bool dense_judge(const reference_worst *worst, int ndim, const int64_t *shape, complaint *why)
{
    int64_t index[WEFT_MAX_NDIM];
    int64_t rest = worst->at;
    char text[256];
    if (worst->error <= 1)
        return true;
    for (int d = ndim - 1; d >= 0; d--) {
        index[d] = rest % shape[d];
        rest /= shape[d];
    }
    return complain(
        why, "wrong result: element %s is %.9g instead of %.9g, %.3g times the error bound",
        dense_shape_text(ndim, index, text, sizeof(text)), worst->got, worst->want, worst->error);
}

static bool load_X(dense_job *job, complaint *why)
{
    const dense_options *options = job->options;
    return options->x_path != NULL
               ? dense_job_read(&job->host_X, job, options->x_path, options->dtype, why)
               : dense_lay_out(&job->host_X, job->ctx, options->dtype, options->ndim,
                               options->shape, dense_job_name(job), why);
}

static bool make_Y(dense_job *job, complaint *why)
{
    if (!dense_tensor_create(&job->Y, job->ctx, job->Y.dtype, job->Y.ndim, job->Y.shape, NULL,
                             &job->y_bytes, "the result", why))
        return false;
    job->bytes = job->y_bytes;
    job->host_Y = malloc(job->y_bytes > 0 ? job->y_bytes : 1);
    job->runs_ms = malloc((size_t)job->options->runs * sizeof(double));
    return (job->host_Y != NULL && job->runs_ms != NULL) ||
           complain(why, "no memory for the result, %zu bytes", job->y_bytes);
}

static bool upload(dense_job *job, complaint *why)
{
    npy_array *X = &job->host_X;
    const char *name = dense_job_name(job);
    size_t x_bytes = 0;
    if ((job->options->x_path == NULL &&
         !dense_fill(X, job->options->seed, RANDOM_DENSE, name, why)) ||
        !dense_tensor_create(&job->X, job->ctx, X->dtype, X->ndim, X->shape, X->data, &x_bytes,
                             name, why))
        return false;
    job->bytes += x_bytes;
    return job->operation->upload == NULL || job->operation->upload(job, why);
}

static bool finish(const dense_job *job, complaint *why)
{
    const cl_int code = clFinish(job->queue);
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

static bool complain_library(const dense_job *job, complaint *why)
{
    return complain(why, "%s: %s", dense_job_name(job), weft_last_error());
}

static bool enqueue(const dense_job *job, complaint *why)
{
    return job->operation->enqueue(job) == WEFT_OK || complain_library(job, why);
}

static bool restore(const dense_job *job, complaint *why)
{
    return job->operation->restore == NULL ||
           (job->operation->restore(job, why) && finish(job, why));
}

// Set-up is the compilation in the first call; its commands run later.
static bool first_run(dense_job *job, complaint *why)
{
    if (!restore(job, why))
        return false;
    const double start_ms = timing_now_ms();
    if (!enqueue(job, why))
        return false;
    job->report.setup_ms = timing_now_ms() - start_ms;
    if (job->operation->describe(job, job->plan_text, sizeof(job->plan_text)) < 0)
        return complain_library(job, why);
    return finish(job, why);
}

static bool set_up(dense_job *job, complaint *why)
{
    command_compiles();
    const bool done = first_run(job, why);
    command_has_compiled();
    return done;
}

static bool measure(dense_job *job, complaint *why)
{
    for (int64_t run = 0; run < job->options->runs; run++) {
        if (!restore(job, why))
            return false;
        const double start_ms = timing_now_ms();
        if (!enqueue(job, why) || !finish(job, why))
            return false;
        job->runs_ms[run] = timing_now_ms() - start_ms;
    }
    job->report.time = timing_of(job->runs_ms, (size_t)job->options->runs);
    job->report.gbps = 1e-6 * (double)job->bytes / job->report.time.median_ms;
    if (job->flops > 0)
        job->report.gflops = 1e-6 * job->flops / job->report.time.median_ms;
    return true;
}

static bool fetch(dense_job *job, complaint *why)
{
    const weft_tensor *Y = &job->Y;
    if (!buffer_read(Y->buffer, job->queue, job->host_Y, job->y_bytes, why))
        return false;
    return job->options->output_path == NULL ||
           npy_write(job->options->output_path, Y->dtype, Y->ndim, Y->shape, job->host_Y, why);
}

static bool compare(dense_job *job, complaint *why)
{
    const weft_tensor *Y = &job->Y;
    const host_tensor got = host_tensor_dense(Y->dtype, job->host_Y, Y->ndim, Y->shape);
    reference_values values;
    if (!job->options->check)
        return true;
    if (!job->operation->reference(job, &values, why))
        return false;
    const bool done = reference_values_compare(&values, &got, &job->worst, why);
    reference_values_free(&values);
    job->report.error = job->worst.error;
    return done;
}

static bool print(dense_job *job, complaint *why)
{
    if (!job->report.is_product) {
        job->report.ndim = job->host_X.ndim;
        memcpy(job->report.shape, job->host_X.shape, sizeof(job->report.shape));
    }
    job->report.plan = job->plan_text;
    return command_print_report(&job->report, &job->options->common, job->options->output_path,
                                why);
}

static bool run(dense_job *job, complaint *why)
{
    if (!file_can_save(job->options->output_path, why) ||
        !command_open(&job->ctx, &job->options->common, why) || !load_X(job, why))
        return false;
    job->queue = weft_context_queue(job->ctx);
    job->report =
        report_new(job->operation->name, weft_context_limits(job->ctx)->name, job->host_X.dtype);
    return job->operation->prepare(job, why) && make_Y(job, why) && upload(job, why) &&
           set_up(job, why) && measure(job, why) && fetch(job, why) && compare(job, why) &&
           print(job, why) && dense_judge(&job->worst, job->Y.ndim, job->Y.shape, why);
}

static void clean_up(dense_job *job)
{
    if (job->queue != NULL)
        clFinish(job->queue);
    if (job->operation->clean_up != NULL)
        job->operation->clean_up(job);
    buffer_release(&job->X.buffer);
    buffer_release(&job->Y.buffer);
    weft_context_destroy(&job->ctx);
    npy_free(&job->host_X);
    free(job->host_Y);
    free(job->runs_ms);
}

int dense_job_run(const dense_operation *operation, const dense_options *options, void *own,
                  const char *command)
{
    dense_job job = {.operation = operation, .options = options, .own = own};
    complaint why;
    const bool done = run(&job, &why);
    clean_up(&job);
    return done ? EXIT_SUCCESS : command_failed(command, &why);
}
