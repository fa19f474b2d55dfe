// SPDX-License-Identifier: Apache-2.0
// Queues and events for tests.
#ifndef WEFT_TESTS_QUEUES_H
#define WEFT_TESTS_QUEUES_H

#include "runtime.h"

// NULL where the device has no such queues.
cl_command_queue queue_with(weft_context *ctx, cl_command_queue_properties properties);

cl_int event_state(cl_event event);

// As clFinish(), which in Mesa's rusticl (22.3) comes back early where another thread flushes the
// queue meanwhile.
void queue_finish(cl_command_queue queue);

#endif
