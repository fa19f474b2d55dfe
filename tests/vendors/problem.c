// SPDX-License-Identifier: Apache-2.0
// Operands of problems: what they hold does not matter, but for the patterns of sparse ones.
#include "problem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder.h"

enum { MOST_BUFFERS = 64 };

static cl_mem buffers[MOST_BUFFERS];
static int n_buffers;
static char words[256];

void problem_begin(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    recorder_problem(words);
}

void problem_call(weft_status status, const char *what)
{
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", words, what, weft_last_error());
    exit(1);
}

void problem_end(void)
{
    while (n_buffers > 0)
        clReleaseMemObject(buffers[--n_buffers]);
}

bool problem_has(const weft_context *ctx, weft_dtype dtype)
{
    return dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64;
}

static cl_mem buffer_of(weft_context *ctx, int64_t bytes, const void *data)
{
    cl_int code;
    assert(n_buffers < MOST_BUFFERS);
    return buffers[n_buffers++] =
               clCreateBuffer(weft_context_cl(ctx), data ? CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                              (size_t)bytes, (void *)(uintptr_t)data, &code);
}

weft_tensor problem_array(weft_context *ctx, weft_dtype dtype, const int64_t shape[4])
{
    weft_tensor t = {.dtype = dtype};
    int64_t n = 1;
    while (t.ndim < 4 && shape[t.ndim] > 0) {
        t.shape[t.ndim] = shape[t.ndim];
        t.ndim++;
    }
    for (int d = t.ndim - 1; d >= 0; d--) {
        t.stride[d] = n;
        n *= t.shape[d];
    }
    t.buffer = buffer_of(ctx, n * (int64_t)weft_dtype_size(dtype), NULL);
    return t;
}

static int64_t row_length(problem_rows rows, int64_t i, int64_t m, int64_t k, int64_t row)
{
    return rows == ROWS_ONE_FULL && i == m / 2 ? k : row;
}

weft_csr problem_csr(weft_context *ctx, weft_dtype dtype, int64_t m, int64_t k, int64_t row,
                     problem_rows rows)
{
    const int64_t nnz = row * m + (rows == ROWS_ONE_FULL ? k - row : 0);
    cl_int *offsets = malloc((size_t)(m + 1) * sizeof(*offsets));
    cl_int *columns = malloc((size_t)nnz * sizeof(*columns));
    assert(offsets && columns);
    int64_t e = 0;
    for (int64_t i = 0; i < m; i++) {
        const int64_t n = row_length(rows, i, m, k, row);
        offsets[i] = (cl_int)e;
        for (int64_t j = 0; j < n; j++)
            columns[e++] = (cl_int)(j * k / n);
    }
    offsets[m] = (cl_int)e;
    const weft_csr csr = {
        .n_rows = m,
        .n_cols = k,
        .nnz = nnz,
        .dtype = dtype,
        .offsets = buffer_of(ctx, (m + 1) * (int64_t)sizeof(*offsets), offsets),
        .indices = buffer_of(ctx, nnz * (int64_t)sizeof(*columns), columns),
        .values = buffer_of(ctx, nnz * (int64_t)weft_dtype_size(dtype), NULL),
    };
    free(offsets);
    free(columns);
    return csr;
}
