// SPDX-License-Identifier: Apache-2.0
// weft matmul: products of dense matrices with a formula at their end, timed and checked.
#include <inttypes.h>
#include <string.h>

#include <weft/matmul.h>

#include "buffer.h"
#include "dense_job.h"
#include "matmul_options.h"
#include "reference_matmul.h"

// A run's data besides the job, whose X and Y are A, as in its file, and C.
typedef struct matmul_run {
    matmul_options options;
    npy_array host_B, host_C0; // as in their files
    formula_arrays arrays;
    weft_tensor A, B; // as operands of the call
    cl_mem B_buffer, C0_buffer;
} matmul_run;

// ---- operands

static const char *b_name(const matmul_run *run)
{
    return run->options.b_path != NULL ? run->options.b_path : "the random B";
}

// Rows (0) or columns (1) of the operands of the call.
static int64_t extent_of(const npy_array *X, bool transposed, int which)
{
    return X->shape[X->ndim - 2 + (transposed ? 1 - which : which)];
}

static bool check_matrix(const npy_array *X, const char *name, complaint *why)
{
    return X->ndim >= 2 || complain(why, "%s: has %d dimension%s, matrices have 2 or more", name,
                                    X->ndim, X->ndim == 1 ? "" : "s");
}

static bool read_B(const dense_job *job, matmul_run *run, complaint *why)
{
    const npy_array *A = &job->host_X, *B = &run->host_B;
    const char *path = run->options.b_path;
    if (!dense_job_read(&run->host_B, job, path, job->options->dtype, why) ||
        !check_matrix(B, path, why))
        return false;
    return A->dtype == B->dtype ||
           complain(why, "%s: holds %s, but %s holds %s; use --dtype to convert both", path,
                    weft_dtype_name(B->dtype), dense_job_name(job), weft_dtype_name(A->dtype));
}

static bool lay_out_B(const dense_job *job, matmul_run *run, complaint *why)
{
    const int64_t k = extent_of(&job->host_X, run->options.transpose_a, 1);
    const bool is_transposed = run->options.transpose_b;
    const int64_t shape[] = {is_transposed ? run->options.n : k,
                             is_transposed ? k : run->options.n};
    return dense_lay_out(&run->host_B, job->ctx, job->options->dtype, 2, shape, b_name(run), why);
}

static bool check_inner(const dense_job *job, const matmul_run *run, complaint *why)
{
    const matmul_options *options = &run->options;
    const int64_t n_columns = extent_of(&job->host_X, options->transpose_a, 1);
    const int64_t n_rows = extent_of(&run->host_B, options->transpose_b, 0);
    return n_columns == n_rows ||
           complain(why, "%s: %s %" PRId64 " rows, but %s %s %" PRId64 " columns", b_name(run),
                    options->transpose_b ? "transposed has" : "has", n_rows, dense_job_name(job),
                    options->transpose_a ? "transposed has" : "has", n_columns);
}

// C's dimensions but the last two.
static bool broadcast(dense_job *job, const matmul_run *run, complaint *why)
{
    const npy_array *A = &job->host_X, *B = &run->host_B;
    weft_tensor *C = &job->Y;
    char a_text[256], b_text[256];
    C->ndim = A->ndim > B->ndim ? A->ndim : B->ndim;
    job->report.batch = 1;
    for (int d = 2; d < C->ndim; d++) {
        const int64_t a_extent = npy_extent_from_end(A, d), b_extent = npy_extent_from_end(B, d);
        if (a_extent != b_extent && a_extent != 1 && b_extent != 1)
            return complain(why, "%s and %s: the batches of %s and %s do not broadcast",
                            dense_job_name(job), b_name(run),
                            dense_shape_text(A->ndim, A->shape, a_text, sizeof(a_text)),
                            dense_shape_text(B->ndim, B->shape, b_text, sizeof(b_text)));
        const int64_t extent = a_extent != 1 ? a_extent : b_extent;
        C->shape[C->ndim - 1 - d] = extent;
        job->report.batch *= extent;
    }
    return true;
}

static void size_up(dense_job *job, const matmul_run *run)
{
    timed_report *report = &job->report;
    report->is_product = report->is_dense = true;
    report->m = extent_of(&job->host_X, run->options.transpose_a, 0);
    report->k = extent_of(&job->host_X, run->options.transpose_a, 1);
    report->n = extent_of(&run->host_B, run->options.transpose_b, 1);
    job->Y.shape[job->Y.ndim - 2] = report->m;
    job->Y.shape[job->Y.ndim - 1] = report->n;
    job->flops =
        2.0 * (double)report->batch * (double)report->m * (double)report->n * (double)report->k;
}

static bool read_C0(const dense_job *job, matmul_run *run, complaint *why)
{
    const char *path = run->options.c0_path;
    const npy_array *C0 = &run->host_C0;
    const weft_tensor *C = &job->Y;
    char has[256], needs[256];
    if (!dense_job_read(&run->host_C0, job, path, C->dtype, why))
        return false;
    return (C0->ndim == C->ndim &&
            memcmp(C0->shape, C->shape, (size_t)C->ndim * sizeof(C->shape[0])) == 0) ||
           complain(why, "%s: has the shape %s, but C has %s", path,
                    dense_shape_text(C0->ndim, C0->shape, has, sizeof(has)),
                    dense_shape_text(C->ndim, C->shape, needs, sizeof(needs)));
}

static bool prepare(dense_job *job, complaint *why)
{
    matmul_run *run = job->own;
    const matmul_options *options = &run->options;
    const weft_dtype dtype = job->host_X.dtype;
    if (!check_matrix(&job->host_X, dense_job_name(job), why) ||
        !(options->b_path != NULL ? read_B(job, run, why) : lay_out_B(job, run, why)) ||
        !check_inner(job, run, why) || !broadcast(job, run, why))
        return false;
    size_up(job, run);
    job->Y.dtype = options->c_dtype != WEFT_DEFAULT ? options->c_dtype
                   : dtype == WEFT_I8               ? WEFT_I32
                                                    : dtype;
    return (options->c0_path == NULL || read_C0(job, run, why)) &&
           formula_arrays_read(&run->arrays, &options->words, job->options->format, job->ctx, why);
}

static bool upload_C0(dense_job *job, matmul_run *run, complaint *why)
{
    if (run->options.c0_path == NULL)
        return true;
    job->bytes += job->y_bytes;
    return buffer_create(&run->C0_buffer, job->ctx, run->host_C0.data, job->y_bytes,
                         run->options.c0_path, why);
}

static bool upload(dense_job *job, complaint *why)
{
    matmul_run *run = job->own;
    const matmul_options *options = &run->options;
    npy_array *B = &run->host_B;
    size_t b_bytes = 0;
    if ((options->b_path == NULL &&
         !dense_fill(B, job->options->seed, RANDOM_SECOND, b_name(run), why)) ||
        !dense_tensor_create(&run->B, job->ctx, B->dtype, B->ndim, B->shape, B->data, &b_bytes,
                             b_name(run), why))
        return false;
    run->B_buffer = run->B.buffer;
    job->bytes += b_bytes;
    run->A = options->transpose_a ? weft_tensor_transposed(&job->X) : job->X;
    run->B = options->transpose_b ? weft_tensor_transposed(&run->B) : run->B;
    return upload_C0(job, run, why) &&
           formula_arrays_upload(&run->arrays, &options->words, job->ctx, &job->bytes, why);
}

// ---- calls

static bool restore(const dense_job *job, complaint *why)
{
    const matmul_run *run = job->own;
    if (run->C0_buffer == NULL || job->y_bytes == 0)
        return true;
    const cl_int code = clEnqueueCopyBuffer(job->queue, run->C0_buffer, job->Y.buffer, 0, 0,
                                            job->y_bytes, 0, NULL, NULL);
    return code == CL_SUCCESS || complain_cl(why, "clEnqueueCopyBuffer", code);
}

static weft_matmul_params params_of(const matmul_run *run)
{
    const formula_words *words = &run->options.words;
    return (weft_matmul_params){
        .size = sizeof(weft_matmul_params),
        .epilogue = run->options.epilogue,
        .n_inputs = words->n_inputs,
        .inputs = run->arrays.inputs,
        .n_values = words->n_values,
        .values = words->values,
    };
}

static weft_status enqueue(const dense_job *job)
{
    const matmul_run *run = job->own;
    const weft_matmul_params params = params_of(run);
    return weft_matmul(job->ctx, job->queue, run->options.alpha, &run->A, &run->B,
                       run->options.beta, &job->Y, &params);
}

static int describe(const dense_job *job, char *text, size_t size)
{
    const matmul_run *run = job->own;
    const weft_matmul_params params = params_of(run);
    return weft_matmul_describe(job->ctx, &run->A, &run->B, &job->Y, &params, text, size);
}

// The host's array with the strides of its view on the device.
static host_tensor host_of(const weft_tensor *view, const void *data)
{
    host_tensor t = {.data = data, .dtype = view->dtype, .ndim = view->ndim};
    memcpy(t.shape, view->shape, sizeof(t.shape));
    memcpy(t.stride, view->stride, sizeof(t.stride));
    return t;
}

// Sums have the arithmetic type of the formula.
static bool apply(const dense_job *job, reference_values *values, complaint *why)
{
    const matmul_run *run = job->own;
    const weft_dtype dtype = job->host_X.dtype;
    reference_values product = *values;
    const reference_elementwise problem = {
        .formula = run->options.epilogue,
        .first = &product,
        .arithmetic = dtype == WEFT_F64  ? WEFT_F64
                      : dtype == WEFT_I8 ? WEFT_I32
                                         : WEFT_F32,
        .y_dtype = job->Y.dtype,
        .ndim = job->Y.ndim,
        .shape = job->Y.shape,
    };
    *values = (reference_values){0};
    const bool done =
        formula_reference(values, problem, "c", &run->options.words, &run->arrays, why);
    reference_values_free(&product);
    return done;
}

static bool reference(const dense_job *job, reference_values *out, complaint *why)
{
    const matmul_run *run = job->own;
    const reference_matmul problem = {
        .alpha = run->options.alpha,
        .beta = run->options.beta,
        .A = host_of(&run->A, job->host_X.data),
        .B = host_of(&run->B, run->host_B.data),
        .C = host_of(&job->Y, run->host_C0.data),
        .unstored = run->options.epilogue != NULL,
    };
    return reference_matmul_run(out, &problem, why) &&
           (run->options.epilogue == NULL || apply(job, out, why));
}

static void clean_up(dense_job *job)
{
    matmul_run *run = job->own;
    buffer_release(&run->B_buffer);
    buffer_release(&run->C0_buffer);
    formula_arrays_free(&run->arrays);
    npy_free(&run->host_B);
    npy_free(&run->host_C0);
}

int weft_matmul_main(int argc, char **argv)
{
    static const dense_operation operation = {
        .name = "matmul",
        .prepare = prepare,
        .upload = upload,
        .restore = restore,
        .enqueue = enqueue,
        .describe = describe,
        .reference = reference,
        .clean_up = clean_up,
    };
    matmul_run run = {.B_buffer = NULL};
    matmul_options_parse(&run.options, argc, argv);
    return dense_job_run(&operation, &run.options.dense, &run, argv[0]);
}
