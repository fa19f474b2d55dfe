// SPDX-License-Identifier: Apache-2.0
// One run of a command on a sparse matrix and others: read or made, put on the device, timed,
// written, checked. The commands spmm and sddmm bring what differs as a product_operation.
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
    // Reads or makes the other operands and says m, k, n, the operations and the output's shape.
    bool (*load)(product_job *job, complaint *why);
    // Puts them on the device.
    bool (*upload)(product_job *job, complaint *why);
    // What is done once, before the first product, and timed with it.
    bool (*prepare)(product_job *job, complaint *why);
    weft_status (*enqueue)(const product_job *job);
    int (*describe)(const product_job *job, char *text, size_t size);
    bool (*compare)(const product_job *job, reference_result *out, complaint *why);
    void (*clean_up)(product_job *job);
} product_operation;

struct product_job {
    const product_operation *operation;
    const product_options *options;
    void *own;
    weft_csr_host host_sparse;
    int64_t m, k, n; // op(A) is m x k
    double flops;
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr sparse;
    weft_tensor output; // without gaps
    size_t output_bytes;
    const void *output_before; // on the host: what the output is before each product, or NULL
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

// How operands are read.
operand_params product_reading(const product_job *job);

// A dense matrix out of a file.
bool product_read(npy_array *out, const product_job *job, const char *path, complaint *why);

// Checks that an array is one.
bool product_check_matrix(const npy_array *array, const char *path, complaint *why);

// One of random numbers.
bool product_make(npy_array *out, const product_job *job, const char *name, random_use use,
                  int64_t n_rows, int64_t n_cols, complaint *why);

// Puts it on the device: a row-major view of the new buffer, which the caller releases.
bool product_upload(weft_tensor *out, const product_job *job, const npy_array *matrix,
                    const char *name, complaint *why);

#endif
