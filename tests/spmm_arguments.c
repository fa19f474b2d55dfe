// SPDX-License-Identifier: Apache-2.0
// Arguments of SpMM for tests: made, asked for and compared.
#include "spmm_arguments.h"

#include <inttypes.h>
#include <math.h>

#include "scalar.h"

enum { UNTOUCHED = 0x5a, POISON = 0xff };

static cl_mem filled_buffer(weft_context *ctx, char *data, size_t bytes, int with)
{
    cl_int code;
    memset(data, with, bytes);
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static weft_spmm_params params_of(const spmm_arguments *a, const spmm_operands *o)
{
    weft_spmm_params params = spmm_params(o);
    params.arguments = &a->view;
    return params;
}

static void grow_workspace(const spmm_arguments *a, spmm_operands *o)
{
    const weft_spmm_params params = params_of(a, o);
    size_t bytes;
    assert_ok(spmm_workspace(o, &params, &bytes));
    if (!o->workspace)
        return;
    clReleaseMemObject(o->workspace);
    char *poison = malloc(bytes);
    assert_non_null(poison);
    o->workspace = filled_buffer(o->ctx, poison, bytes, POISON);
    free(poison);
}

void spmm_arguments_create(spmm_arguments *a, spmm_operands *o, weft_dtype dtype, int64_t step)
{
    const int64_t n =
        (int64_t)(o->c_bytes / weft_dtype_size(o->of.has_wide_c ? WEFT_F32 : o->sparse.host.dtype));
    *a = (spmm_arguments){.view = o->C, .step = step};
    a->view.dtype = dtype;
    a->view.offset *= step;
    for (int d = 0; d < a->view.ndim; d++)
        a->view.stride[d] *= step;
    a->bytes = (size_t)(n * step) * weft_dtype_size(dtype);
    a->before = malloc(a->bytes);
    assert_non_null(a->before);
    a->view.buffer = filled_buffer(o->ctx, a->before, a->bytes, UNTOUCHED);
    grow_workspace(a, o);
}

void spmm_arguments_destroy(spmm_arguments *a)
{
    clReleaseMemObject(a->view.buffer);
    free(a->before);
}

void spmm_arguments_call(const spmm_arguments *a, const spmm_operands *o)
{
    const weft_spmm_params params = params_of(a, o);
    if (spmm_start(o, &params) != WEFT_OK)
        spmm_fail(o, weft_last_error());
}

void *spmm_arguments_read(const spmm_arguments *a, const spmm_operands *o)
{
    void *after = malloc(a->bytes);
    assert_non_null(after);
    assert_int_equal(
        clEnqueueReadBuffer(o->queue, a->view.buffer, CL_TRUE, 0, a->bytes, after, 0, NULL, NULL),
        CL_SUCCESS);
    return after;
}

// ---- the comparison

// What entry e of A makes of B's column.
static double product_of(const reference_spmm *problem, int64_t e, int64_t column)
{
    const weft_csr_host *A = problem->A;
    int64_t row = 0;
    while (scalar_whole(A->offset_dtype, A->offsets, row + 1) <= e)
        row++;
    const int64_t p = problem->transpose_a ? row : scalar_whole(A->index_dtype, A->indices, e);
    return scalar_get(A->dtype, A->values, e) *
           scalar_get(A->dtype, problem->B, p * problem->n + column);
}

static bool is_in_row(const reference_spmm *problem, int64_t e, int64_t i)
{
    const weft_csr_host *A = problem->A;
    if (e < 0 || e >= A->nnz)
        return false;
    if (problem->transpose_a)
        return scalar_whole(A->index_dtype, A->indices, e) == i;
    return scalar_whole(A->offset_dtype, A->offsets, i) <= e &&
           e < scalar_whole(A->offset_dtype, A->offsets, i + 1);
}

// Two products that f32 takes for one differ by a rounding each.
static bool is_right(const spmm_operands *o, const reference_spmm *problem, int64_t at, int64_t got,
                     int64_t want)
{
    const int64_t row = at / problem->n, column = at % problem->n;
    if (got == want)
        return true;
    if (o->of.numbers != FRACTIONS || want < 0 || !is_in_row(problem, got, row))
        return false;
    const double a = product_of(problem, got, column), b = product_of(problem, want, column);
    return fabs(a - b) <= 0x1p-23 * fabs(b) + 0x1p-125;
}

// What is right is put back to what it was: then nothing may have changed.
static void check_matrix(const spmm_arguments *a, const spmm_operands *o, const void *c_before,
                         char *after, int64_t batch)
{
    complaint why;
    weft_csr_host A;
    char text[128];
    const size_t size = weft_dtype_size(a->view.dtype);
    const reference_spmm problem = spmm_reference(o, &A, c_before, batch);
    int64_t *want = reference_spmm_arguments(&problem, &why);
    assert_non_null(want);
    for (int64_t at = 0; at < o->of.m * o->of.n; at++) {
        const int64_t place = dense_place(&a->view, batch, at / o->of.n, at % o->of.n);
        const int64_t got = scalar_whole(a->view.dtype, after, place);
        if (!is_right(o, &problem, at, got, want[at])) {
            snprintf(text, sizeof(text),
                     "the argument of C[%" PRId64 "][%" PRId64 "][%" PRId64 "] is %" PRId64
                     ", not %" PRId64,
                     batch, at / o->of.n, at % o->of.n, got, want[at]);
            spmm_fail(o, text);
        }
        memcpy(after + (size_t)place * size, a->before + (size_t)place * size, size);
    }
    free(want);
}

void spmm_arguments_check(const spmm_arguments *a, const spmm_operands *o)
{
    char *after = spmm_arguments_read(a, o);
    void *c_before = dense_packed(&o->C, o->c_before);
    const int64_t n_batches = o->of.n_batches > 0 ? o->of.n_batches : 1;
    for (int64_t batch = 0; batch < n_batches; batch++)
        check_matrix(a, o, c_before, after, batch);
    if (memcmp(after, a->before, a->bytes) != 0)
        spmm_fail(o, "the buffer of the arguments was written outside of them");
    free(c_before);
    free(after);
}

void spmm_arguments_run(weft_context *ctx, const spmm_case *of, weft_dtype dtype, int64_t step)
{
    spmm_operands o;
    spmm_arguments a;
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    spmm_arguments_create(&a, &o, dtype, step);
    spmm_arguments_call(&a, &o);
    spmm_check(&o);
    spmm_arguments_check(&a, &o);
    spmm_arguments_destroy(&a);
    spmm_destroy(&o);
}
