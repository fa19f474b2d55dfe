// SPDX-License-Identifier: Apache-2.0
// Cases of a bench timed on request, so that another program can let others take turns with them.
//
// A line of JSON names the cases that are ready: {"cases": [...]}. Each line of standard input is
// then a request:
//
//   queue WHICH CALLS   enqueues so many calls, then waits once until all are done
//   wait WHICH CALLS    waits for each call before the next one
//   next                goes on to the next cases
//
// WHICH is the place of a case in the list, from 0, or `launch`: an empty kernel. The first two are
// answered by {"ms": 12.5}, the time of all calls together by the host's clock.
#ifndef WEFT_TOOLS_BENCH_REQUEST_H
#define WEFT_TOOLS_BENCH_REQUEST_H

#include <jansson.h>

#include <weft/context.h>

#include "bench_limits.h"

// Cases that are set up together.
typedef struct bench_request {
    const bench_limits *limits;
    size_t n_cases;
    weft_status (*call)(const void *of, size_t which); // enqueues in the limits' queue
    const void *of;
} bench_request;

// The first line, before there are cases: {"header": ..., "device": ..., "kind": "CPU",
// "compute_units": ...}.
bool bench_request_begin(const weft_context *ctx, complaint *why);

// Answers requests until the next cases are wanted. Takes the list, which is to have n_cases. The
// end of standard input and a request of another form are failures.
bool bench_request_serve(const bench_request *request, json_t *cases, complaint *why);

#endif
