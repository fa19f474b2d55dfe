// SPDX-License-Identifier: Apache-2.0
// weft sddmm: a product of two matrices, dense or sparse, at the entries of a sparse one, timed and
// checked.
#include <inttypes.h>

#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>

#include "buffer.h"
#include "product_job.h"
#include "reference_sddmm.h"
#include "sddmm_options.h"
#include "sparse.h"

// A or B: dense, or sparse by rows, for which weft_sddmm_sparse() requires B transposed.
typedef struct sddmm_factor {
    operand host; // as in its file
    weft_tensor dense;
    weft_csr sparse;
} sddmm_factor;

// A run's data besides the job: D = alpha (A B) .* C.
typedef struct sddmm_run {
    sddmm_options options;
    sddmm_factor A, B;
} sddmm_run;

static int64_t extent_of(const sddmm_factor *factor, int which)
{
    const operand *host = &factor->host;
    const int64_t sparse[] = {host->sparse.n_rows, host->sparse.n_cols};
    return host->is_sparse ? sparse[which] : host->dense.shape[which];
}

static bool read_A(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const sddmm_options *options = &run->options;
    if (!product_read(&run->A.host, job, options->a_path, why))
        return false;
    return extent_of(&run->A, 0) == job->m ||
           complain(why, "%s: has %" PRId64 " rows, but %s is %" PRId64 " x %" PRId64,
                    options->a_path, extent_of(&run->A, 0), options->product.sparse_path, job->m,
                    job->n);
}

static bool read_B(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const sddmm_options *options = &run->options;
    const int64_t k = extent_of(&run->A, 1);
    if (!product_read(&run->B.host, job, options->b_path, why))
        return false;
    const int row = options->transpose_b ? 1 : 0;
    const int64_t n_rows = extent_of(&run->B, row), n_columns = extent_of(&run->B, 1 - row);
    if (n_rows != k || n_columns != job->n)
        return complain(why,
                        "%s: %s %" PRId64 " x %" PRId64 ", but between %s and %s it is %" PRId64
                        " x %" PRId64,
                        options->b_path, options->transpose_b ? "transposed is" : "is", n_rows,
                        n_columns, options->a_path, options->product.sparse_path, k, job->n);
    return !run->B.host.is_sparse || options->transpose_b ||
           sparse_transpose(&run->B.host.sparse, why);
}

static bool is_sparse(const sddmm_run *run)
{
    return run->A.host.is_sparse || run->B.host.is_sparse;
}

// Products: for each entry of C all k, or the elements of a sparse factor that are read.
static double count_products(const product_job *job)
{
    const sddmm_run *run = job->own;
    const weft_csr_host *C = &job->host_sparse;
    return is_sparse(run)
               ? sparse_sampled_terms(&run->A.host.sparse,
                                      run->B.host.is_sparse ? &run->B.host.sparse : NULL, C)
               : (double)C->nnz * (double)job->k;
}

static bool lay_out_factors(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const int64_t k = run->options.k, n = job->n;
    const bool transpose_b = run->options.transpose_b;
    return product_lay_out(&run->A.host.dense, job, "A", job->m, k, why) &&
           product_lay_out(&run->B.host.dense, job, "B", transpose_b ? n : k, transpose_b ? k : n,
                           why);
}

static bool load(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    const weft_csr_host *C = &job->host_sparse;
    const bool is_random = run->options.a_path == NULL;
    job->m = C->n_rows;
    job->n = C->n_cols;
    if ((!is_random && (!read_A(job, why) || !read_B(job, why))) || !product_resolve(job, why) ||
        (is_random && !lay_out_factors(job, why)))
        return false;
    job->k = extent_of(&run->A, 1);
    job->flops = 2 * count_products(job);
    job->output = (weft_tensor){.dtype = job->dtype, .ndim = 1, .shape = {C->nnz}, .stride = {1}};
    job->report.is_sampled = true;
    return true;
}

static bool fill(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    return run->options.a_path != NULL ||
           (product_fill(&run->A.host.dense, job, "A", RANDOM_LEFT, why) &&
            product_fill(&run->B.host.dense, job, "B", RANDOM_DENSE, why));
}

static bool upload_factor(sddmm_factor *factor, const product_job *job, const char *name,
                          complaint *why)
{
    if (!factor->host.is_sparse)
        return product_upload(&factor->dense, job, &factor->host.dense, name, why);
    return weft_csr_create(&factor->sparse, job->ctx, job->queue, &factor->host.sparse) ==
               WEFT_OK ||
           complain_weft(why);
}

static bool upload(product_job *job, complaint *why)
{
    sddmm_run *run = job->own;
    if (!upload_factor(&run->A, job, "A", why) || !upload_factor(&run->B, job, "B", why))
        return false;
    if (run->options.transpose_b && !run->B.host.is_sparse)
        run->B.dense = weft_tensor_transposed(&run->B.dense);
    return true;
}

// Operands of weft_sddmm_sparse(): B^T; a dense one is a view in *transposed.
static weft_factor factor_A(const sddmm_run *run)
{
    if (run->A.host.is_sparse)
        return (weft_factor){.sparse = &run->A.sparse};
    return (weft_factor){.dense = &run->A.dense};
}

static weft_factor factor_B(const sddmm_run *run, weft_tensor *transposed)
{
    if (run->B.host.is_sparse)
        return (weft_factor){.sparse = &run->B.sparse};
    *transposed = weft_tensor_transposed(&run->B.dense);
    return (weft_factor){.dense = transposed};
}

static weft_status enqueue(const product_job *job)
{
    const sddmm_run *run = job->own;
    const double alpha = job->options->alpha;
    const bool indicator = run->options.indicator;
    weft_tensor transposed;
    if (!is_sparse(run))
        return weft_sddmm(job->ctx, job->queue, alpha, &run->A.dense, &run->B.dense, &job->sparse,
                          0, &job->output, WEFT_SDDMM(.indicator = indicator));
    const weft_factor A = factor_A(run), B = factor_B(run, &transposed);
    return weft_sddmm_sparse(job->ctx, job->queue, alpha, &A, &B, &job->sparse, 0, &job->output,
                             WEFT_SDDMM_SPARSE(.indicator = indicator));
}

static int describe(const product_job *job, char *text, size_t size)
{
    const sddmm_run *run = job->own;
    const bool indicator = run->options.indicator;
    weft_tensor transposed;
    if (!is_sparse(run))
        return weft_sddmm_describe(job->ctx, &run->A.dense, &run->B.dense, &job->sparse,
                                   &job->output, WEFT_SDDMM(.indicator = indicator), text, size);
    const weft_factor A = factor_A(run), B = factor_B(run, &transposed);
    return weft_sddmm_sparse_describe(job->ctx, &A, &B, &job->sparse, &job->output,
                                      WEFT_SDDMM_SPARSE(.indicator = indicator), text, size);
}

static bool compare(const product_job *job, reference_result *out, complaint *why)
{
    const sddmm_run *run = job->own;
    const reference_sddmm problem = {
        .C = &job->host_sparse,
        .indicator = run->options.indicator,
        .k = job->k,
        .alpha = job->options->alpha,
        .A = run->A.host.dense.data,
        .B = run->B.host.dense.data,
        .b_row = run->B.dense.stride[0],
        .b_column = run->B.dense.stride[1],
        .sparse_A = run->A.host.is_sparse ? &run->A.host.sparse : NULL,
        .sparse_B = run->B.host.is_sparse ? &run->B.host.sparse : NULL,
    };
    return reference_sddmm_compare(&problem, job->host_output, out, why);
}

static void free_factor(sddmm_factor *factor)
{
    buffer_release(&factor->dense.buffer);
    weft_csr_destroy(&factor->sparse);
    operand_free(&factor->host);
}

static void clean_up(product_job *job)
{
    sddmm_run *run = job->own;
    free_factor(&run->A);
    free_factor(&run->B);
}

int weft_sddmm_main(int argc, char **argv)
{
    static const product_operation operation = {
        .name = "sddmm",
        .output = "D",
        .load = load,
        .fill = fill,
        .upload = upload,
        .enqueue = enqueue,
        .describe = describe,
        .compare = compare,
        .clean_up = clean_up,
    };
    sddmm_run run = {.A = {.dense = {.buffer = NULL}}};
    sddmm_options_parse(&run.options, argc, argv);
    return product_job_run(&operation, &run.options.product, &run, argv[0]);
}
