// SPDX-License-Identifier: Apache-2.0
// The host's time of a repeated call, of every operation on 16 x 16 matrices, beside the bare
// OpenCL calls that it makes.
#ifndef WEFT_TOOLS_BENCH_HOST_H
#define WEFT_TOOLS_BENCH_HOST_H

#include <jansson.h>
#include <stdio.h>

#include <weft/context.h>

#include "bench.h"
#include "complaint.h"

// Times are CPU time of the calling thread, which hands work to the device and does not wait.
typedef struct bench_host_row {
    const char *name;
    size_t n_launches, n_arguments; // of a call
    double call_us;
    double bare_us; // as many clSetKernelArg() and clEnqueueNDRangeKernel(), of empty kernels
} bench_host_row;

enum { BENCH_HOST_MOST = 32 };

typedef struct bench_host {
    bench_host_row rows[BENCH_HOST_MOST];
    size_t count;
} bench_host;

bool bench_host_has(const bench_choice *choice);

bool bench_host_run(bench_host *out, weft_context *ctx, const bench_choice *choice, complaint *why);

// Appends an object for each row.
void bench_host_json(const bench_host *host, json_t *cases);

// The table, and the row that is most above its bare calls. Nothing where there are no rows.
void bench_host_print(const bench_host *host, FILE *out);

#endif
