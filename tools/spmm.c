// SPDX-License-Identifier: Apache-2.0
// weft spmm: one sparse matrix times one dense matrix, timed and checked.
#include <inttypes.h>

#include <weft/spmm.h>

#include "buffer.h"
#include "product_job.h"
#include "spmm_options.h"

// What a run has besides the job: C = alpha op(A) B + beta C0.
typedef struct spmm_run {
    spmm_options options;
    npy_array host_B, host_C0;
    weft_tensor B;
    weft_spmm_plan *plan;
    weft_spmm_params params;
} spmm_run;

static const char *operation_text(const spmm_options *options)
{
    return options->transpose_a ? "transposed is" : "is";
}

static bool read_B(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    const spmm_options *options = &run->options;
    if (options->b_path == NULL)
        return true;
    if (!product_read_columns(&run->host_B, job, options->b_path, why))
        return false;
    const int64_t *shape = run->host_B.shape;
    if (shape[0] != job->k && run->host_B.ndim == 1)
        return complain(why, "%s: has %" PRId64 " elements, but %s %s %" PRId64 " x %" PRId64,
                        options->b_path, shape[0], options->product.sparse_path,
                        operation_text(options), job->m, job->k);
    return shape[0] == job->k ||
           complain(why, "%s: is %" PRId64 " x %" PRId64 ", but %s %s %" PRId64 " x %" PRId64,
                    options->b_path, shape[0], shape[1], options->product.sparse_path,
                    operation_text(options), job->m, job->k);
}

static bool read_C0(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    const char *path = run->options.c0_path;
    const npy_array *C0 = &run->host_C0;
    if (path == NULL)
        return true;
    if (!product_read_columns(&run->host_C0, job, path, why))
        return false;
    return (C0->shape[0] == job->m && C0->shape[1] == job->n) ||
           complain(why,
                    "%s: is %" PRId64 " x %" PRId64 ", but the product is %" PRId64 " x %" PRId64,
                    path, C0->shape[0], C0->shape[1], job->m, job->n);
}

static bool load(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    const spmm_options *options = &run->options;
    const weft_csr_host *A = &job->host_sparse;
    job->m = options->transpose_a ? A->n_cols : A->n_rows;
    job->k = options->transpose_a ? A->n_rows : A->n_cols;
    if (!read_B(job, why))
        return false;
    job->n = options->b_path != NULL ? run->host_B.shape[1] : options->n;
    if (!read_C0(job, why) || !product_resolve(job, why))
        return false;
    job->flops = 2.0 * (double)A->nnz * (double)job->n;
    job->output = weft_matrix(NULL, job->dtype, job->m, job->n);
    job->output.ndim = options->b_path != NULL ? run->host_B.ndim : 2;
    if (options->beta != 0)
        job->output_before = run->host_C0.data;
    return options->b_path != NULL || product_lay_out(&run->host_B, job, "B", job->k, job->n, why);
}

static bool fill(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    return run->options.b_path != NULL || product_fill(&run->host_B, job, "B", RANDOM_DENSE, why);
}

static bool upload(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    return product_upload(&run->B, job, &run->host_B, "B", why);
}

static bool prepare(product_job *job, complaint *why)
{
    spmm_run *run = job->own;
    const bool transpose_a = run->options.transpose_a;
    if (!run->options.no_plan &&
        weft_spmm_plan_create(&run->plan, job->ctx, job->queue, &job->sparse,
                              WEFT_SPMM_PLAN(.transpose_a = transpose_a,
                                             .row_schedule = run->options.row_schedule)) != WEFT_OK)
        return complain_weft(why);
    run->params = (weft_spmm_params){.size = sizeof(run->params),
                                     .plan = run->plan,
                                     .transpose_a = transpose_a,
                                     .reduction = run->options.reduction};
    return true;
}

static weft_status enqueue(const product_job *job)
{
    const spmm_run *run = job->own;
    return weft_spmm(job->ctx, job->queue, job->options->alpha, &job->sparse, &run->B,
                     run->options.beta, &job->output, &run->params);
}

static int describe(const product_job *job, char *text, size_t size)
{
    const spmm_run *run = job->own;
    return weft_spmm_describe(job->ctx, &job->sparse, &run->B, &job->output, &run->params, text,
                              size);
}

static bool compare(const product_job *job, reference_result *out, complaint *why)
{
    const spmm_run *run = job->own;
    const reference_spmm problem = {
        .A = &job->host_sparse,
        .transpose_a = run->options.transpose_a,
        .n = job->n,
        .reduction = run->options.reduction,
        .alpha = job->options->alpha,
        .beta = run->options.beta,
        .B = run->host_B.data,
        .C0 = run->host_C0.data,
    };
    return reference_spmm_compare(&problem, job->host_output, out, why);
}

static void clean_up(product_job *job)
{
    spmm_run *run = job->own;
    weft_spmm_plan_destroy(&run->plan);
    buffer_release(&run->B.buffer);
    npy_free(&run->host_B);
    npy_free(&run->host_C0);
}

int weft_spmm_main(int argc, char **argv)
{
    static const product_operation operation = {
        .name = "spmm",
        .output = "C",
        .load = load,
        .fill = fill,
        .upload = upload,
        .prepare = prepare,
        .enqueue = enqueue,
        .describe = describe,
        .compare = compare,
        .clean_up = clean_up,
    };
    spmm_run run = {.plan = NULL};
    spmm_options_parse(&run.options, argc, argv);
    return product_job_run(&operation, &run.options.product, &run, argv[0]);
}
