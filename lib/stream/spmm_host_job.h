// SPDX-License-Identifier: Apache-2.0
// A call of weft_spmm_host() that has passed its checks, and how it is cut.
#ifndef WEFT_LIB_SPMM_HOST_JOB_H
#define WEFT_LIB_SPMM_HOST_JOB_H

#include <weft/spmm_host.h>

#include "sparse/spmm_call.h"
#include "stream/blocks.h"
#include "stream/transfer.h"

// The arguments of the call.
typedef struct weft_spmm_host_request {
    weft_context *ctx;
    double alpha, beta;
    const weft_csr_host *A;
    const weft_host_tensor *B, *C;
    weft_spmm_host_params params;
} weft_spmm_host_request;

typedef struct weft_spmm_host_job {
    weft_context *ctx;
    weft_csr_host A;           // with its defaults filled in
    weft_host_view B, C, bias; // matrices; the bias is a column, and its `data` NULL without one
    weft_dtype c_dtype;
    bool is_empty;             // C is
    weft_spmm_numbers numbers; // without a block
    char tiling[256];
    weft_blocks_problem problem; // refers to the job's A: a job must not be moved
    weft_blocks blocks;
} weft_spmm_host_job;

// Checks the operands, chooses the tiling and the blocks. A job that is empty has only the fields
// before.
weft_status weft_spmm_host_prepare(weft_spmm_host_job *job, const weft_spmm_host_request *request);

// The same status. What a call of weft_spmm() said is said of weft_spmm_host().
weft_status weft_spmm_host_renamed(weft_status status);

#endif
