// SPDX-License-Identifier: Apache-2.0
// weft spmm: one sparse matrix times one dense matrix, timed and checked.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/spmm.h>

#include "buffer.h"
#include "npy.h"
#include "random.h"
#include "reference.h"
#include "report.h"
#include "sparse.h"
#include "spmm_options.h"
#include "timing.h"

// One run of the command: C = alpha op(A) B + beta C0, with op(A) m x k.
typedef struct spmm_job {
    const spmm_options *options;
    int64_t m, k, n;
    size_t b_bytes, c_bytes;
    weft_csr_host host_A;
    npy_array host_B, host_C0;
    void *host_C;
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr csr_A;
    cl_mem buffer_B, buffer_C, buffer_C0;
    weft_tensor B, C;
    weft_spmm_plan *plan;
    weft_spmm_params params;
    char plan_text[512];
    double *runs_ms;
    timed_report report;
    reference_result check;
} spmm_job;

static bool load_A(spmm_job *job, complaint *why)
{
    const spmm_options *options = job->options;
    if (!sparse_read(&job->host_A, options->a_path, options->dtype, options->seed, why))
        return false;
    job->m = options->transpose_a ? job->host_A.n_cols : job->host_A.n_rows;
    job->k = options->transpose_a ? job->host_A.n_rows : job->host_A.n_cols;
    return true;
}

// Bytes of a matrix, which must fit one buffer of the device.
static bool count_bytes(const spmm_job *job, const char *name, int64_t n_rows, size_t *bytes,
                        complaint *why)
{
    const uint64_t limit = weft_context_limits(job->ctx)->max_alloc_bytes;
    const uint64_t row_bytes = (uint64_t)job->n * weft_dtype_size(job->options->dtype);
    *bytes = (size_t)(row_bytes * (uint64_t)n_rows);
    if (row_bytes == 0 || (uint64_t)n_rows <= limit / row_bytes)
        return true;
    return complain(why,
                    "%s, %" PRId64 " x %" PRId64 " %s, is larger than the device's largest buffer "
                    "of %" PRIu64 " bytes",
                    name, n_rows, job->n, weft_dtype_name(job->options->dtype), limit);
}

static bool load_dense(npy_array *out, const spmm_job *job, const char *path, complaint *why)
{
    if (!npy_read(out, path, job->options->dtype, why))
        return false;
    return out->ndim == 2 ||
           complain(why, "%s: has %d dimensions, a matrix has 2", path, out->ndim);
}

static const char *operation(const spmm_job *job)
{
    return job->options->transpose_a ? "transposed is" : "is";
}

static bool load_B(spmm_job *job, complaint *why)
{
    const spmm_options *options = job->options;
    if (!load_dense(&job->host_B, job, options->b_path, why))
        return false;
    job->n = job->host_B.shape[1];
    return job->host_B.shape[0] == job->k ||
           complain(why, "%s: is %" PRId64 " x %" PRId64 ", but %s %s %" PRId64 " x %" PRId64,
                    options->b_path, job->host_B.shape[0], job->n, options->a_path, operation(job),
                    job->m, job->k);
}

static bool make_B(spmm_job *job, complaint *why)
{
    job->n = job->options->n;
    if (!count_bytes(job, "B", job->k, &job->b_bytes, why))
        return false;
    job->host_B.data = malloc(job->b_bytes > 0 ? job->b_bytes : 1);
    if (job->host_B.data == NULL)
        return complain(why, "no memory for B, %zu bytes", job->b_bytes);
    random_fill(job->options->seed, RANDOM_DENSE, job->options->dtype, job->host_B.data,
                job->k * job->n);
    return true;
}

static bool load_C0(spmm_job *job, complaint *why)
{
    const char *path = job->options->c0_path;
    const npy_array *C0 = &job->host_C0;
    if (!load_dense(&job->host_C0, job, path, why))
        return false;
    return (C0->shape[0] == job->m && C0->shape[1] == job->n) ||
           complain(why,
                    "%s: is %" PRId64 " x %" PRId64 ", but the product is %" PRId64 " x %" PRId64,
                    path, C0->shape[0], C0->shape[1], job->m, job->n);
}

static bool load_operands(spmm_job *job, complaint *why)
{
    const spmm_options *options = job->options;
    if (!(options->b_path != NULL ? load_B(job, why) : make_B(job, why)))
        return false;
    if (options->c0_path != NULL && !load_C0(job, why))
        return false;
    if (!count_bytes(job, "B", job->k, &job->b_bytes, why) ||
        !count_bytes(job, "C", job->m, &job->c_bytes, why))
        return false;
    job->host_C = malloc(job->c_bytes > 0 ? job->c_bytes : 1);
    job->runs_ms = malloc((size_t)options->runs * sizeof(double));
    if (job->host_C == NULL || job->runs_ms == NULL)
        return complain(why, "no memory for C, %zu bytes", job->c_bytes);
    memset(job->host_C, 0xff, job->c_bytes); // NaN, which beta = 0 must not read
    return true;
}

static bool upload(spmm_job *job, complaint *why)
{
    const weft_dtype dtype = job->options->dtype;
    if (weft_csr_create(&job->csr_A, job->ctx, job->queue, &job->host_A) != WEFT_OK)
        return complain_weft(why);
    if (!buffer_create(&job->buffer_B, job->ctx, job->host_B.data, job->b_bytes, "B", why) ||
        !buffer_create(&job->buffer_C, job->ctx, job->host_C, job->c_bytes, "C", why))
        return false;
    if (job->options->beta != 0 &&
        !buffer_create(&job->buffer_C0, job->ctx, job->host_C0.data, job->c_bytes, "C0", why))
        return false;
    job->B = weft_matrix(job->buffer_B, dtype, job->k, job->n);
    job->C = weft_matrix(job->buffer_C, dtype, job->m, job->n);
    return true;
}

static bool finish(const spmm_job *job, complaint *why)
{
    const cl_int code = clFinish(job->queue);
    return code == CL_SUCCESS || complain_cl(why, "clFinish", code);
}

// Before each product C is what it was at first.
static bool restore_C(const spmm_job *job, complaint *why)
{
    if (job->buffer_C0 == NULL || job->c_bytes == 0)
        return true;
    const cl_int code = clEnqueueCopyBuffer(job->queue, job->buffer_C0, job->buffer_C, 0, 0,
                                            job->c_bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clEnqueueCopyBuffer", code);
    return finish(job, why);
}

static bool enqueue(const spmm_job *job, complaint *why)
{
    const weft_status status = weft_spmm(job->ctx, job->queue, job->options->alpha, &job->csr_A,
                                         &job->B, job->options->beta, &job->C, &job->params);
    return status == WEFT_OK || complain_weft(why);
}

// Set-up is the analysis of A and, inside the first product, the compiler; the product itself is
// enqueued and takes its time afterwards.
static bool set_up(spmm_job *job, complaint *why)
{
    const spmm_options *options = job->options;
    if (!restore_C(job, why))
        return false;
    const double start_ms = timing_now_ms();
    if (!options->no_plan &&
        weft_spmm_plan_create(&job->plan, job->ctx, job->queue, &job->csr_A,
                              WEFT_SPMM_PLAN(.transpose_a = options->transpose_a)) != WEFT_OK)
        return complain_weft(why);
    job->params = (weft_spmm_params){.size = sizeof(job->params),
                                     .plan = job->plan,
                                     .transpose_a = options->transpose_a,
                                     .reduction = options->reduction};
    if (!enqueue(job, why))
        return false;
    job->report.setup_ms = timing_now_ms() - start_ms;
    if (weft_spmm_describe(job->ctx, &job->csr_A, &job->B, &job->C, &job->params, job->plan_text,
                           sizeof(job->plan_text)) < 0)
        return complain_weft(why);
    return finish(job, why);
}

static bool measure(spmm_job *job, complaint *why)
{
    for (int64_t run = 0; run < job->options->runs; run++) {
        if (!restore_C(job, why))
            return false;
        const double start_ms = timing_now_ms();
        if (!enqueue(job, why) || !finish(job, why))
            return false;
        job->runs_ms[run] = timing_now_ms() - start_ms;
    }
    job->report.time = timing_of(job->runs_ms, (size_t)job->options->runs);
    const double flops = 2.0 * (double)job->host_A.nnz * (double)job->n;
    job->report.gflops = 1e-6 * flops / job->report.time.median_ms;
    return true;
}

static bool fetch(spmm_job *job, complaint *why)
{
    const int64_t shape[] = {job->m, job->n};
    if (!buffer_read(job->buffer_C, job->queue, job->host_C, job->c_bytes, why))
        return false;
    return job->options->output_path == NULL ||
           npy_write(job->options->output_path, job->options->dtype, 2, shape, job->host_C, why);
}

static bool compare(spmm_job *job, complaint *why)
{
    const spmm_options *options = job->options;
    const reference_spmm problem = {
        .A = &job->host_A,
        .transpose_a = options->transpose_a,
        .n = job->n,
        .reduction = options->reduction,
        .alpha = options->alpha,
        .beta = options->beta,
        .B = job->host_B.data,
        .C0 = job->host_C0.data,
    };
    if (!options->check)
        return true;
    if (!reference_spmm_compare(&problem, job->host_C, &job->check, why))
        return false;
    job->report.error = job->check.error;
    return true;
}

static bool print(spmm_job *job, complaint *why)
{
    job->report.is_product = true;
    job->report.m = job->m;
    job->report.k = job->k;
    job->report.n = job->n;
    job->report.nnz = job->host_A.nnz;
    job->report.plan = job->plan_text;
    if (job->options->common.json)
        return command_print_json(report_json(&job->report), why);
    report_print(&job->report, stdout);
    return true;
}

// After the report, which shows the error too.
static bool judge(const spmm_job *job, complaint *why)
{
    const reference_result *check = &job->check;
    return check->error <= 1 ||
           complain(why,
                    "wrong result: C(%" PRId64 ", %" PRId64 ") is %.9g instead of %.9g, %.3g times "
                    "the error bound",
                    check->row, check->col, check->got, check->want, check->error);
}

static bool run(spmm_job *job, complaint *why)
{
    if (!load_A(job, why) || !command_open(&job->ctx, &job->options->common, why))
        return false;
    job->queue = weft_context_queue(job->ctx);
    job->report = report_new("spmm", weft_context_limits(job->ctx)->name, job->options->dtype);
    return load_operands(job, why) && upload(job, why) && set_up(job, why) && measure(job, why) &&
           fetch(job, why) && compare(job, why) && print(job, why) && judge(job, why);
}

static void clean_up(spmm_job *job)
{
    if (job->queue != NULL)
        clFinish(job->queue);
    weft_spmm_plan_destroy(&job->plan);
    weft_csr_destroy(&job->csr_A);
    buffer_release(&job->buffer_B);
    buffer_release(&job->buffer_C);
    buffer_release(&job->buffer_C0);
    weft_context_destroy(&job->ctx);
    weft_csr_host_destroy(&job->host_A);
    npy_free(&job->host_B);
    npy_free(&job->host_C0);
    free(job->host_C);
    free(job->runs_ms);
}

int weft_spmm_main(int argc, char **argv)
{
    spmm_options options;
    spmm_job job = {.options = &options};
    complaint why;
    spmm_options_parse(&options, argc, argv);
    const bool done = run(&job, &why);
    clean_up(&job);
    return done ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
