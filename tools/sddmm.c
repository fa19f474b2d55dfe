// SPDX-License-Identifier: Apache-2.0
// weft sddmm: a product of two dense matrices at the entries of a sparse one, timed and checked.
#include <inttypes.h>

#include <weft/sddmm.h>

#include "buffer.h"
#include "product_job.h"
#include "reference_sddmm.h"
#include "sddmm_options.h"

// What a run has besides the job: D = alpha (A B) .* C.
typedef struct sddmm_run {
    sddmm_options options;
    npy_array host_A, host_B; // B as it stands in its file
    weft_tensor A, B;
} sddmm_run;

static bool make_operands(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const int64_t k = run->options.k;
    const bool transpose_b = run->options.transpose_b;
    return product_make(&run->host_A, job, "A", RANDOM_LEFT, job->m, k, why) &&
           product_make(&run->host_B, job, "B", RANDOM_DENSE, transpose_b ? job->n : k,
                        transpose_b ? k : job->n, why);
}

static bool read_A(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const sddmm_options *options = &run->options;
    const npy_array *A = &run->host_A;
    if (!product_read(&run->host_A, job, options->a_path, why))
        return false;
    return A->shape[0] == job->m ||
           complain(why, "%s: has %" PRId64 " rows, but %s is %" PRId64 " x %" PRId64,
                    options->a_path, A->shape[0], options->product.sparse_path, job->m, job->n);
}

static bool read_B(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const sddmm_options *options = &run->options;
    const npy_array *B = &run->host_B;
    const int64_t k = run->host_A.shape[1];
    if (!product_read(&run->host_B, job, options->b_path, why))
        return false;
    const int row = options->transpose_b ? 1 : 0;
    return (B->shape[row] == k && B->shape[1 - row] == job->n) ||
           complain(why,
                    "%s: %s %" PRId64 " x %" PRId64 ", but between %s and %s it is %" PRId64
                    " x %" PRId64,
                    options->b_path, options->transpose_b ? "transposed is" : "is", B->shape[row],
                    B->shape[1 - row], options->a_path, options->product.sparse_path, k, job->n);
}

static bool load(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const weft_csr_host *C = &job->host_sparse;
    job->m = C->n_rows;
    job->n = C->n_cols;
    if (!(run->options.a_path != NULL ? read_A(job, why) && read_B(job, why)
                                      : make_operands(job, why)))
        return false;
    job->k = run->host_A.shape[1];
    job->flops = 2.0 * (double)C->nnz * (double)job->k;
    job->output =
        (weft_tensor){.dtype = job->options->dtype, .ndim = 1, .shape = {C->nnz}, .stride = {1}};
    job->report.is_sampled = true;
    return true;
}

static bool upload(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    if (!product_upload(&run->A, job, &run->host_A, "A", why) ||
        !product_upload(&run->B, job, &run->host_B, "B", why))
        return false;
    if (run->options.transpose_b)
        run->B = (weft_tensor){.buffer = run->B.buffer,
                               .dtype = run->B.dtype,
                               .ndim = 2,
                               .shape = {job->k, job->n},
                               .stride = {1, job->k}};
    return true;
}

static weft_status enqueue(const product_job *job)
{
    const sddmm_run *run = job->own;
    return weft_sddmm(job->ctx, job->queue, job->options->alpha, &run->A, &run->B, &job->sparse, 0,
                      &job->output, WEFT_SDDMM(.indicator = run->options.indicator));
}

static int describe(const product_job *job, char *text, size_t size)
{
    const sddmm_run *run = job->own;
    return weft_sddmm_describe(job->ctx, &run->A, &run->B, &job->sparse, &job->output,
                               WEFT_SDDMM(.indicator = run->options.indicator), text, size);
}

static bool compare(const product_job *job, reference_result *out, complaint *why)
{
    const sddmm_run *run = job->own;
    const reference_sddmm problem = {
        .C = &job->host_sparse,
        .indicator = run->options.indicator,
        .k = job->k,
        .alpha = job->options->alpha,
        .A = run->host_A.data,
        .B = run->host_B.data,
        .b_row = run->B.stride[0],
        .b_column = run->B.stride[1],
    };
    return reference_sddmm_compare(&problem, job->host_output, out, why);
}

static void clean_up(product_job *job)
{
    sddmm_run *run = job->own;
    buffer_release(&run->A.buffer);
    buffer_release(&run->B.buffer);
    npy_free(&run->host_A);
    npy_free(&run->host_B);
}

int weft_sddmm_main(int argc, char **argv)
{
    static const product_operation operation = {
        .name = "sddmm",
        .output = "D",
        .load = load,
        .upload = upload,
        .enqueue = enqueue,
        .describe = describe,
        .compare = compare,
        .clean_up = clean_up,
    };
    sddmm_run run = {.A = {.buffer = NULL}};
    sddmm_options_parse(&run.options, argc, argv);
    return product_job_run(&operation, &run.options.product, &run, argv[0]);
}
