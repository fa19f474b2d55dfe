// SPDX-License-Identifier: Apache-2.0
// The verdict on a device: the results of its trials, computed once and cached.
#ifndef WEFT_LIB_VERDICT_H
#define WEFT_LIB_VERDICT_H

#include "runtime/ocl.h"

// Removes from the device's own limits the features that fail when tried, and replaces impossible
// answers by measurements (trial.h). The verdict is stored for the device, its driver and this
// version of weft: in the process, and in the folder of compiled programs, so that later processes
// compile only the trials that were omitted.
void weft_limits_try(weft_context *ctx, weft_limits *limits);

// Removes all verdicts of the process: for tests. No context may be created meanwhile.
void weft_limits_forget(void);

#endif
