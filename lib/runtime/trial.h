// SPDX-License-Identifier: Apache-2.0
// What a device claims, and what kernels lean on, tried by kernels whose results are known
// (cl/runtime/trial.cl).
#ifndef WEFT_LIB_TRIAL_H
#define WEFT_LIB_TRIAL_H

#include "runtime/ocl.h"

// Bits are weft_trial's. What was wrong once, and not tried again for lack of time, is in doubt.
typedef struct weft_verdict {
    unsigned tried, failed, doubted; // failed ones are tried, doubted ones are not
    bool is_measured;                // of what follows, whatever is not plausible
    bool has_fma;                    // as claimed, or as measured where it was not
    uint64_t cache_bytes;            // as answered, or as measured where that cannot be
} weft_verdict;

// What is known before anything is tried: nothing.
weft_verdict weft_verdict_untried(const weft_limits *limits);

// Whether all that `limits` claim was tried, and what is not plausible in them measured.
bool weft_verdict_is_whole(const weft_verdict *verdict, const weft_limits *limits);

// Runs what `verdict` lacks of the trials of what `limits`, the device's own, claim, and measures
// what is not plausible in them. What comes out wrong is tried once more, by a program of its own.
// A trial without an answer, because memory or the device is missing, is as if it was not begun;
// and none begins after 5 seconds, so that at least one comes to its end. The log tells, as
// warnings, what was left out.
void weft_trials_run(weft_context *ctx, const weft_limits *limits, weft_verdict *verdict);

// What the text of trials depends on besides the device: for a key.
void weft_trials_name(const weft_limits *limits, char *name, size_t size);

#endif
