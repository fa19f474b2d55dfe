// SPDX-License-Identifier: Apache-2.0
// What came out when a device was tried: found out once, and remembered.
#ifndef WEFT_LIB_VERDICT_H
#define WEFT_LIB_VERDICT_H

#include "runtime/ocl.h"

// Takes from the device's own limits what fails when it is tried, and gives them what was measured
// where the device's answer cannot be (trial.h). What came out is remembered for the device, its
// driver and this version of weft: by the process, and in the folder of compiled programs, where
// nothing is compiled the next time, but for what was left out.
void weft_limits_try(weft_context *ctx, weft_limits *limits);

// The process forgets all verdicts: for tests. No context is being made meanwhile.
void weft_limits_forget(void);

#endif
