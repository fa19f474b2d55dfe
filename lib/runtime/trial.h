// SPDX-License-Identifier: Apache-2.0
// Trials: kernels with known results test a device's claims, and features that kernels rely on
// (cl/runtime/trial.cl).
#ifndef WEFT_LIB_TRIAL_H
#define WEFT_LIB_TRIAL_H

#include "runtime/ocl.h"

// Bits are weft_trial's. Doubted: wrong once, and not tried again for lack of time.
typedef struct weft_verdict {
    unsigned tried, failed, doubted; // `tried` includes failed features, not doubted ones
    bool is_measured;                // the following were measured, if answers were implausible
    bool has_fma;                    // as claimed, or as measured if not claimed
    uint64_t cache_bytes;            // as answered, or as measured if the answer is impossible
} weft_verdict;

// The verdict before any trial.
weft_verdict weft_verdict_untried(const weft_limits *limits);

// Whether all claims of `limits` were tried, and implausible ones measured.
bool weft_verdict_is_whole(const weft_verdict *verdict, const weft_limits *limits);

// Runs the trials of claims of `limits`, the device's own, that `verdict` lacks, and measures
// implausible ones. After a wrong result a trial is repeated, by a program of its own. A trial
// without an answer, for lack of memory or of the device, counts as not begun. None begins after 5
// seconds, so that at least one is completed. The log has warnings about omitted trials.
void weft_trials_run(weft_context *ctx, const weft_limits *limits, weft_verdict *verdict);

// The trials' part of a key: the inputs of a verdict besides the device.
void weft_trials_name(const weft_limits *limits, char *name, size_t size);

#endif
