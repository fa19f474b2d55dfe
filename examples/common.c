// SPDX-License-Identifier: Apache-2.0
// Error messages, arrays on the device, and the time.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool is_ok(weft_status status)
{
    if (status != WEFT_OK)
        fprintf(stderr, "%s: %s: %s\n", program_name, weft_status_name(status), weft_last_error());
    return status == WEFT_OK;
}

bool is_cl_ok(cl_int code, const char *call)
{
    if (code != CL_SUCCESS)
        fprintf(stderr, "%s: %s failed (%d)\n", program_name, call, code);
    return code == CL_SUCCESS;
}

bool is_there(void *memory)
{
    if (memory == NULL)
        fprintf(stderr, "%s: no memory left\n", program_name);
    return memory != NULL;
}

bool complain_at(const char *path, int64_t line, const char *what)
{
    fprintf(stderr, "%s: %s:%" PRId64 ": %s\n", program_name, path, line, what);
    return false;
}

FILE *open_input(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (file == NULL)
        perror(path);
    return file;
}

void close_input(FILE *file)
{
    if (file != NULL && file != stdin)
        fclose(file);
}

bool read_count(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out >= least && *out <= most;
}

int64_t count_elements(const weft_tensor *t)
{
    int64_t n = 1;
    for (int axis = 0; axis < t->ndim; axis++)
        n *= t->shape[axis];
    return n;
}

static size_t bytes_of(const weft_tensor *t)
{
    return (size_t)count_elements(t) * weft_dtype_size(t->dtype);
}

bool make_tensor(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int64_t n_rows,
                 int64_t n_cols, const void *data)
{
    *out = weft_matrix(NULL, dtype, n_rows, n_cols);
    if (n_cols == 0) {
        out->ndim = 1;
        out->stride[0] = 1;
    }
    void *zeros = data == NULL ? calloc(1, bytes_of(out) + 1) : NULL;
    if (data == NULL && !is_there(zeros))
        return false;
    cl_int code;
    const size_t bytes = bytes_of(out) + (bytes_of(out) == 0); // OpenCL has no empty buffers
    out->buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 bytes, data == NULL ? zeros : (void *)data, &code);
    free(zeros);
    return is_cl_ok(code, "clCreateBuffer");
}

bool make_numbers(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int64_t n_rows,
                  int64_t n_cols, const double *numbers)
{
    if (dtype == WEFT_F64 || numbers == NULL)
        return make_tensor(out, ctx, dtype, n_rows, n_cols, numbers);
    const size_t n = (size_t)n_rows * (size_t)(n_cols > 0 ? n_cols : 1);
    float *rounded = malloc((n + 1) * sizeof(*rounded));
    *out = (weft_tensor){0};
    if (!is_there(rounded))
        return false;
    for (size_t i = 0; i < n; i++)
        rounded[i] = (float)numbers[i];
    const bool ok = make_tensor(out, ctx, dtype, n_rows, n_cols, rounded);
    free(rounded);
    return ok;
}

bool read_tensor(cl_command_queue queue, const weft_tensor *from, void *to)
{
    const size_t bytes = bytes_of(from);
    return bytes == 0 ||
           is_cl_ok(clEnqueueReadBuffer(queue, from->buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
                    "clEnqueueReadBuffer");
}

bool read_numbers(cl_command_queue queue, const weft_tensor *from, double *to)
{
    if (from->dtype == WEFT_F64)
        return read_tensor(queue, from, to);
    const size_t n = (size_t)count_elements(from);
    float *numbers = malloc((n + 1) * sizeof(*numbers));
    const bool ok = is_there(numbers) && read_tensor(queue, from, numbers);
    for (size_t i = 0; ok && i < n; i++)
        to[i] = (double)numbers[i];
    free(numbers);
    return ok;
}

void free_tensor(weft_tensor *t)
{
    if (t->buffer != NULL)
        clReleaseMemObject(t->buffer);
    *t = (weft_tensor){0};
}

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

bool measure_runs(run_cost *out, cl_command_queue queue, bool (*enqueue)(void *data), void *data)
{
    enum { BURSTS = 10, RUNS = 16 };
    *out = (run_cost){0};
    bool ok =
        enqueue(data) && is_cl_ok(clFinish(queue), "clFinish"); // a burst meets a device awake
    for (int burst = 0; ok && burst < BURSTS; burst++) {
        const double start = now_ms();
        for (int i = 0; ok && i < RUNS; i++)
            ok = enqueue(data);
        const double enqueued = now_ms();
        ok = ok && is_cl_ok(clFinish(queue), "clFinish");
        const double enqueue_us = 1e3 * (enqueued - start) / RUNS;
        const double done_us = 1e3 * (now_ms() - start) / RUNS;
        if (burst == 0 || enqueue_us < out->enqueue_us)
            out->enqueue_us = enqueue_us;
        if (burst == 0 || done_us < out->done_us)
            out->done_us = done_us;
    }
    return ok;
}

void print_run_costs(const run_cost *by_calls, const run_cost *recorded)
{
    printf("A run: %.1f us to enqueue and %.1f us until it is done by calls; %.1f us and %.1f us "
           "recorded\n",
           by_calls->enqueue_us, by_calls->done_us, recorded->enqueue_us, recorded->done_us);
}
