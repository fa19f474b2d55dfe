// SPDX-License-Identifier: Apache-2.0
// The queue of a bench's cases, and the device's clock, which has the end of each command.
//
// Cases of a few milliseconds run in a full queue, as from a caller who does not wait for each: a
// call's time is from the end of the one before to its own. So it does not include waking the
// device. If the device has no clock (it gives its resolution as 0), each call is waited for.
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

// The time at which a completed command ended; requires a clock.
bool bench_queue_end(cl_event event, cl_ulong *ns, complaint *why);

// From one end to the next one, in milliseconds; at least the clock's resolution.
double bench_queue_between_ms(const bench_queue *queue, cl_ulong before_ns, cl_ulong end_ns);

#endif
