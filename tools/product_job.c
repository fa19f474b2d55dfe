// SPDX-License-Identifier: Apache-2.0
// Running a command on a sparse matrix and others.
#include "product_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "file.h"
#include "scalar.h"
#include "sparse.h"

// ---- what operations load and upload with

bool product_count_bytes(const product_job *job, const char *name, int64_t n_rows, int64_t n_cols,
                         size_t *bytes, complaint *why)
{
    const uint64_t limit = weft_context_limits(job->ctx)->max_alloc_bytes;
    const uint64_t row_bytes = (uint64_t)n_cols * weft_dtype_size(job->dtype);
    *bytes = (size_t)(row_bytes * (uint64_t)n_rows);
    if (row_bytes == 0 || (uint64_t)n_rows <= limit / row_bytes)
        return true;
    return complain(
        why,
        "%s, %" PRId64 " x %" PRId64
        " %s, is larger than the device's largest buffer: %.0f bytes, but at most %" PRIu64,
        name, n_rows, n_cols, weft_dtype_name(job->dtype), (double)n_rows * (double)row_bytes,
        limit);
}

// As in the files, without --dtype.
static operand_params reading_of(const product_job *job)
{
    const product_options *options = job->options;
    return (operand_params){.format = options->format,
                            .dtype = options->dtype,
                            .keeps_untyped = true,
                            .seed = options->seed,
                            .max_bytes = weft_context_limits(job->ctx)->max_alloc_bytes};
}

static void keep_file(product_job *job, const char *path, npy_array *dense, weft_csr_host *sparse)
{
    assert(job->n_files < PRODUCT_FILES);
    job->files[job->n_files++] = (product_file){path, dense, sparse};
}

static bool check_matrix(const npy_array *array, const char *path, complaint *why)
{
    return array->ndim == 2 || complain(why, "%s: has %d dimension%s, a matrix has 2", path,
                                        array->ndim, array->ndim == 1 ? "" : "s");
}

static bool read_dense(npy_array *out, product_job *job, const char *path, complaint *why)
{
    const operand_params params = reading_of(job);
    keep_file(job, path, out, NULL);
    return operand_read_dense(out, path, &params, why);
}

bool product_read_dense(npy_array *out, product_job *job, const char *path, complaint *why)
{
    return read_dense(out, job, path, why) && check_matrix(out, path, why);
}

bool product_read_columns(npy_array *out, product_job *job, const char *path, complaint *why)
{
    if (!read_dense(out, job, path, why))
        return false;
    if (out->ndim != 1)
        return check_matrix(out, path, why);
    out->shape[1] = 1;
    return true;
}

bool product_read(operand *out, product_job *job, const char *path, complaint *why)
{
    const operand_params params = reading_of(job);
    if (!operand_read(out, path, &params, why))
        return false;
    keep_file(job, path, out->is_sparse ? NULL : &out->dense, out->is_sparse ? &out->sparse : NULL);
    return out->is_sparse || check_matrix(&out->dense, path, why);
}

static bool is_typed(const product_file *file)
{
    return file->dense != NULL && !file->dense->is_untyped && scalar_is_float(file->dense->dtype);
}

// The first file from number `from` on that has floating-point numbers of some type, or n_files.
static int find_typed(const product_job *job, int from)
{
    int i = from;
    while (i < job->n_files && !is_typed(&job->files[i]))
        i++;
    return i;
}

static bool convert(const product_file *file, weft_dtype dtype, complaint *why)
{
    return file->dense != NULL ? npy_convert(file->dense, dtype, file->path, why)
                               : sparse_convert(file->sparse, dtype, file->path, why);
}

bool product_resolve(product_job *job, complaint *why)
{
    const weft_limits *limits = weft_context_limits(job->ctx);
    const int first = find_typed(job, 0), second = find_typed(job, first + 1);
    const product_file *files = job->files;
    job->dtype = job->options->dtype    ? job->options->dtype
                 : first < job->n_files ? files[first].dense->dtype
                                        : WEFT_F32;
    if (second < job->n_files && files[second].dense->dtype != job->dtype)
        return complain(why, "%s: holds %s, but %s holds %s; use --dtype to convert both",
                        files[second].path, weft_dtype_name(files[second].dense->dtype),
                        files[first].path, weft_dtype_name(job->dtype));
    if (job->dtype == WEFT_F64 && !limits->has_f64 && job->options->dtype == WEFT_DEFAULT)
        return complain(why, "%s: holds f64, but %s has no f64; use --dtype f32 to convert",
                        files[first].path, limits->name);
    for (int i = 0; i < job->n_files; i++)
        if (!convert(&files[i], job->dtype, why))
            return false;
    job->report.dtype = job->dtype;
    return true;
}

bool product_lay_out(npy_array *out, const product_job *job, const char *name, int64_t n_rows,
                     int64_t n_cols, complaint *why)
{
    size_t bytes;
    *out = (npy_array){
        .dtype = job->dtype, .ndim = 2, .shape = {n_rows, n_cols}, .count = n_rows * n_cols};
    return product_count_bytes(job, name, n_rows, n_cols, &bytes, why);
}

bool product_fill(npy_array *out, const product_job *job, const char *name, random_use use,
                  complaint *why)
{
    const size_t bytes = (size_t)out->count * weft_dtype_size(out->dtype);
    out->data = malloc(bytes > 0 ? bytes : 1);
    if (out->data == NULL)
        return complain(why, "no memory for %s, %zu bytes", name, bytes);
    random_fill(job->options->seed, use, out->dtype, out->data, out->count);
    return true;
}

bool product_upload(weft_tensor *out, const product_job *job, const npy_array *matrix,
                    const char *name, complaint *why)
{
    size_t bytes;
    *out = weft_matrix(NULL, matrix->dtype, matrix->shape[0], matrix->shape[1]);
    out->ndim = matrix->ndim;
    return product_count_bytes(job, name, matrix->shape[0], matrix->shape[1], &bytes, why) &&
           buffer_create(&out->buffer, job->ctx, matrix->data, bytes, name, why);
}

// ---- the steps of a run

static bool load_sparse(product_job *job, complaint *why)
{
    const operand_params params = reading_of(job);
    const char *path = job->options->sparse_path;
    keep_file(job, path, NULL, &job->host_sparse);
    return operand_read_sparse(&job->host_sparse, path, &params, why);
}

static bool make_output(product_job *job, complaint *why)
{
    const weft_tensor *output = &job->output;
    const bool is_vector = output->ndim == 1;
    if (!product_count_bytes(job, job->operation->output, is_vector ? 1 : output->shape[0],
                             output->shape[is_vector ? 0 : 1], &job->output_bytes, why))
        return false;
    job->host_output = malloc(job->output_bytes > 0 ? job->output_bytes : 1);
    job->runs_ms = malloc((size_t)job->options->runs * sizeof(double));
    if (job->host_output == NULL || job->runs_ms == NULL)
        return complain(why, "no memory for %s, %zu bytes", job->operation->output,
                        job->output_bytes);
    return true;
}

static bool upload(product_job *job, complaint *why)
{
    const char *name = job->operation->output;
    const size_t bytes = job->output_bytes;
    memset(job->host_output, 0xff, bytes); // NaN, which beta = 0 must not read
    if (weft_csr_create(&job->sparse, job->ctx, job->queue, &job->host_sparse) != WEFT_OK)
        return complain_weft(why);
    return job->operation->upload(job, why) &&
           buffer_create(&job->output.buffer, job->ctx, job->host_output, bytes, name, why) &&
           (job->output_before == NULL ||
            buffer_create(&job->buffer_before, job->ctx, job->output_before, bytes, name, why));
}

static bool finish(const product_job *job, complaint *why)
{
    const cl_int code = clFinish(job->queue);
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

// Before each product: the output's initial contents.
static bool restore(const product_job *job, complaint *why)
{
    if (job->buffer_before == NULL || job->output_bytes == 0)
        return true;
    const cl_int code = clEnqueueCopyBuffer(job->queue, job->buffer_before, job->output.buffer, 0,
                                            0, job->output_bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clEnqueueCopyBuffer", code);
    return finish(job, why);
}

static bool enqueue(const product_job *job, complaint *why)
{
    return job->operation->enqueue(job) == WEFT_OK || complain_weft(why);
}

// Set-up is preparation and, in the first product, compilation; the product's commands run later.
static bool first_run(product_job *job, complaint *why)
{
    const product_operation *operation = job->operation;
    if (!restore(job, why))
        return false;
    const double start_ms = timing_now_ms();
    if ((operation->prepare != NULL && !operation->prepare(job, why)) || !enqueue(job, why))
        return false;
    job->report.setup_ms = timing_now_ms() - start_ms;
    if (operation->describe(job, job->plan_text, sizeof(job->plan_text)) < 0)
        return complain_weft(why);
    return finish(job, why);
}

static bool set_up(product_job *job, complaint *why)
{
    command_compiles();
    const bool done = first_run(job, why);
    command_has_compiled();
    return done;
}

static bool measure(product_job *job, complaint *why)
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
    job->report.gflops = 1e-6 * job->flops / job->report.time.median_ms;
    return true;
}

static bool fetch(product_job *job, complaint *why)
{
    const weft_tensor *output = &job->output;
    if (!buffer_read(output->buffer, job->queue, job->host_output, job->output_bytes, why))
        return false;
    return job->options->output_path == NULL ||
           npy_write(job->options->output_path, output->dtype, output->ndim, output->shape,
                     job->host_output, why);
}

static bool compare(product_job *job, complaint *why)
{
    if (!job->options->check)
        return true;
    if (!job->operation->compare(job, &job->check, why))
        return false;
    job->report.error = job->check.error;
    return true;
}

static bool print(product_job *job, complaint *why)
{
    job->report.m = job->m;
    job->report.k = job->k;
    job->report.n = job->n;
    job->report.nnz = job->host_sparse.nnz;
    job->report.plan = job->plan_text;
    return command_print_report(&job->report, &job->options->common, job->options->output_path,
                                why);
}

// After the report, which shows the error too.
static bool judge(const product_job *job, complaint *why)
{
    const reference_result *check = &job->check;
    return check->error <= 1 ||
           complain(why,
                    "wrong result: %s(%" PRId64 ", %" PRId64 ") is %.9g instead of %.9g, %.3g "
                    "times the error bound",
                    job->operation->output, check->row, check->col, check->got, check->want,
                    check->error);
}

static bool run(product_job *job, complaint *why)
{
    if (!file_can_save(job->options->output_path, why) ||
        !command_open(&job->ctx, &job->options->common, why))
        return false;
    job->queue = weft_context_queue(job->ctx);
    job->report =
        report_new(job->operation->name, weft_context_limits(job->ctx)->name, WEFT_DEFAULT);
    job->report.is_product = true;
    return load_sparse(job, why) && job->operation->load(job, why) && make_output(job, why) &&
           job->operation->fill(job, why) && upload(job, why) && set_up(job, why) &&
           measure(job, why) && fetch(job, why) && compare(job, why) && print(job, why) &&
           judge(job, why);
}

static void clean_up(product_job *job)
{
    if (job->queue != NULL)
        clFinish(job->queue);
    job->operation->clean_up(job);
    weft_csr_destroy(&job->sparse);
    buffer_release(&job->output.buffer);
    buffer_release(&job->buffer_before);
    weft_context_destroy(&job->ctx);
    weft_csr_host_destroy(&job->host_sparse);
    free(job->host_output);
    free(job->runs_ms);
}

int product_job_run(const product_operation *operation, const product_options *options, void *own,
                    const char *command)
{
    product_job job = {.operation = operation, .options = options, .own = own};
    complaint why;
    const bool done = run(&job, &why);
    clean_up(&job);
    return done ? EXIT_SUCCESS : command_failed(command, &why);
}
