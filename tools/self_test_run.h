// SPDX-License-Identifier: Apache-2.0
// The checks of weft self-test in processes of their own, one for each core up to four: kernels are
// compiled in parallel, and a driver that ends a process, or hangs, costs one check.
#ifndef WEFT_TOOLS_SELF_TEST_RUN_H
#define WEFT_TOOLS_SELF_TEST_RUN_H

#include "command.h"
#include "self_test.h"

// The device's own answers, and the limits of plans.
typedef struct self_test_device {
    char platform[256], version[256], driver[256];
    weft_limits limits;
} self_test_device;

typedef struct self_test_listener {
    // Once, before all results; and for each check, in their order.
    void (*on_device)(void *user, const self_test_device *device);
    void (*on_result)(void *user, size_t i, const self_test_result *result);
    // About once a second while check i is running: so many of them are done.
    void (*on_wait)(void *user, size_t i, size_t n_done, size_t n_chosen);
    void *user;
} self_test_listener;

// Runs check i if is_chosen[i]. False if no device could be opened. This process itself uses no
// OpenCL.
bool self_test_run(const command_options *options, const bool *is_chosen,
                   const self_test_listener *listener, complaint *why);

#endif
