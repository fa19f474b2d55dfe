// SPDX-License-Identifier: Apache-2.0
// One run of a command on a dense array: read or made, put on the device, timed, written, checked.
// Each of the commands reduce, softmax, norm and matmul has a dense_operation for the rest.
#ifndef WEFT_TOOLS_DENSE_JOB_H
#define WEFT_TOOLS_DENSE_JOB_H

#include "dense_options.h"
#include "operand.h"
#include "random.h"
#include "reference_axis.h"
#include "report.h"

typedef struct dense_job dense_job;

// Each hook has the job, and the command's own options in job->own. NULL for none.
typedef struct dense_operation {
    const char *name;
    // Checks X's data type and shape, and sets Y's. If the sizes to report are those of a product,
    // not X's shape, it puts them into the report.
    bool (*prepare)(dense_job *job, complaint *why);
    // Fills the operands that it laid out, and puts further ones on the device, adding their bytes
    // to job->bytes.
    bool (*upload)(dense_job *job, complaint *why);
    // Before each run: restores the initial state. Its time does not count.
    bool (*restore)(const dense_job *job, complaint *why);
    weft_status (*enqueue)(const dense_job *job);
    int (*describe)(const dense_job *job, char *text, size_t size);
    bool (*reference)(const dense_job *job, reference_values *out, complaint *why);
    void (*clean_up)(dense_job *job);
} dense_operation;

struct dense_job {
    const dense_operation *operation;
    const dense_options *options;
    void *own;
    npy_array host_X;
    weft_context *ctx;
    cl_command_queue queue;
    weft_tensor X, Y; // without gaps
    size_t bytes;     // that are read and written at least
    double flops;     // 0: speed is not measured in operations
    void *host_Y;
    size_t y_bytes;
    char plan_text[512];
    double *runs_ms;
    timed_report report;
    reference_worst worst;
};

// Runs it all and returns the exit status.
int dense_job_run(const dense_operation *operation, const dense_options *options, void *own,
                  const char *command);

// The name of X in complaints: its file, or "the random array".
const char *dense_job_name(const dense_job *job);

// The shape as "(2, 3)" or "()", in `text`, which is returned.
const char *dense_shape_text(int ndim, const int64_t *shape, char *text, size_t size);

// Checks that X has an axis of that number, which may count from the end.
bool dense_job_check_axis(const dense_job *job, int64_t axis, complaint *why);

// Reads another array, of `dtype`, or for WEFT_DEFAULT of the file's type.
bool dense_job_read(npy_array *out, const dense_job *job, const char *path, weft_dtype dtype,
                    complaint *why);

// Checks that X has floating-point numbers.
bool dense_job_check_float(const dense_job *job, complaint *why);

// An array without numbers, which fits one buffer of the device; f32 for WEFT_DEFAULT. `what` is
// for the complaint.
bool dense_lay_out(npy_array *out, weft_context *ctx, weft_dtype dtype, int ndim,
                   const int64_t *shape, const char *what, complaint *why);

// Random numbers in it, of floating-point data type.
bool dense_fill(npy_array *out, uint64_t seed, random_use use, const char *what, complaint *why);

// Refuses a result of that shape whose worst element is beyond its bound. Called after the report,
// which shows the error too.
bool dense_judge(const reference_worst *worst, int ndim, const int64_t *shape, complaint *why);

// Bytes of an array of any shape; they may exceed 64 bits.
double dense_bytes(weft_dtype dtype, int ndim, const int64_t *shape);

// A row-major tensor's view; its buffer is filled from `data`, or not filled if that is NULL.
// `what` is for the complaint. The caller releases the buffer.
bool dense_tensor_create(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int ndim,
                         const int64_t *shape, const void *data, size_t *bytes, const char *what,
                         complaint *why);

#endif
