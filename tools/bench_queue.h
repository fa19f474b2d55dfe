// SPDX-License-Identifier: Apache-2.0
// The queue that cases of a bench run in, and the device's clock, which tells when its commands
// ended.
//
// Cases of a few milliseconds stand in a full queue, as those of a caller who does not wait for
// each: a call's time is from the end of the one before to its own. So it is not charged with
// waking the device. Where the device has no clock (it gives its resolution as 0), calls are waited
// for.
#ifndef WEFT_TOOLS_BENCH_QUEUE_H
#define WEFT_TOOLS_BENCH_QUEUE_H

#include <weft/context.h>

#include "complaint.h"

typedef struct bench_queue {
    cl_command_queue cl;
    uint64_t tick_ns; // of the device's clock; 0: it has none
} bench_queue;

// In order. The caller closes it.
bool bench_queue_open(bench_queue *out, weft_context *ctx, complaint *why);
void bench_queue_close(bench_queue *queue);

bool bench_queue_finish(const bench_queue *queue, complaint *why);

// When a command ended that has; where there is a clock.
bool bench_queue_end(cl_event event, cl_ulong *ns, complaint *why);

// From one end to the next one, in milliseconds; no shorter than the clock can tell.
double bench_queue_between_ms(const bench_queue *queue, cl_ulong before_ns, cl_ulong end_ns);

#endif
