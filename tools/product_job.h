// SPDX-License-Identifier: Apache-2.0
// One run of a command on a sparse matrix and others: read or made, put on the device, timed,
// written, checked. The commands spmm and sddmm each have a product_operation for the rest.
#ifndef WEFT_TOOLS_PRODUCT_JOB_H
#define WEFT_TOOLS_PRODUCT_JOB_H

#include <weft/csr.h>
#include <weft/tensor.h>

#include "operand.h"
#include "product_options.h"
#include "random.h"
#include "reference.h"
#include "report.h"

typedef struct product_job product_job;

// Each hook has the job, and the command's own options in job->own. NULL for none.
typedef struct product_operation {
    const char *name, *output; // "spmm", "C"
    // Reads the other operands or lays them out, determines the data type, and sets m, k, n, the
    // operations and the output's shape.
    bool (*load)(product_job *job, complaint *why);
    // Fills the laid-out operands, once all sizes are known to fit.
    bool (*fill)(product_job *job, complaint *why);
    // Puts them on the device.
    bool (*upload)(product_job *job, complaint *why);
    // Work that is done once, before the first product, and timed with it.
    bool (*prepare)(product_job *job, complaint *why);
    weft_status (*enqueue)(const product_job *job);
    int (*describe)(const product_job *job, char *text, size_t size);
    bool (*compare)(const product_job *job, reference_result *out, complaint *why);
    void (*clean_up)(product_job *job);
} product_operation;

enum { PRODUCT_FILES = 3 };

// An operand from a file: one of the two.
typedef struct product_file {
    const char *path;
    npy_array *dense;
    weft_csr_host *sparse;
} product_file;

struct product_job {
    const product_operation *operation;
    const product_options *options;
    void *own;
    int n_files;
    product_file files[PRODUCT_FILES];
    weft_dtype dtype; // of all operands and the output, once determined
    weft_csr_host host_sparse;
    int64_t m, k, n; // op(A) is m x k
    double flops;
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr sparse;
    weft_tensor output; // without gaps
    size_t output_bytes;
    const void *output_before; // on the host: the output's initial contents, or NULL
    cl_mem buffer_before;
    void *host_output;
    double *runs_ms;
    char plan_text[512];
    timed_report report;
    reference_result check;
};

// Runs it all and returns the exit status.
int product_job_run(const product_operation *operation, const product_options *options, void *own,
                    const char *command);

// Bytes of a matrix, which must fit one buffer of the device. `name` is "B".
bool product_count_bytes(const product_job *job, const char *name, int64_t n_rows, int64_t n_cols,
                         size_t *bytes, complaint *why);

// A matrix from a file: a dense one; or a vector as well, whose shape[1] is 1 then; or a sparse one
// as well.
bool product_read_dense(npy_array *out, product_job *job, const char *path, complaint *why);
bool product_read_columns(npy_array *out, product_job *job, const char *path, complaint *why);
bool product_read(operand *out, product_job *job, const char *path, complaint *why);

// Once all files are read: determines the type, --dtype, else that of dense files with
// floating-point numbers, which must be one, else f32. Converts the arrays.
bool product_resolve(product_job *job, complaint *why);

// A matrix without numbers, which fits one buffer of the device; and random numbers in it.
bool product_lay_out(npy_array *out, const product_job *job, const char *name, int64_t n_rows,
                     int64_t n_cols, complaint *why);
bool product_fill(npy_array *out, const product_job *job, const char *name, random_use use,
                  complaint *why);

// Puts a matrix or vector on the device: a row-major view of the new buffer, which the caller
// releases.
bool product_upload(weft_tensor *out, const product_job *job, const npy_array *matrix,
                    const char *name, complaint *why);

#endif
