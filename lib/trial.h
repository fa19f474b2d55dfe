// SPDX-License-Identifier: Apache-2.0
// What a device claims, and what kernels lean on, tried by kernels whose results are known
// (cl/trial.cl).
#ifndef WEFT_LIB_TRIAL_H
#define WEFT_LIB_TRIAL_H

#include "ocl.h"

typedef struct weft_verdict {
    unsigned failed;      // weft_trial bits
    bool has_fma;         // as claimed, or as measured where it was not
    uint64_t cache_bytes; // as answered, or as measured where that cannot be
    bool is_whole;        // nothing was left out, and whatever failed failed twice
} weft_verdict;

// Runs the trials of what `limits`, the device's own, claim, and measures what is not plausible in
// them. What fails is tried once more, by a program of its own. A trial without an answer, because
// memory or the device is missing, fails nothing, and is told as a warning in the log; so is the
// rest where trials take longer than 5 seconds.
weft_verdict weft_trials_run(weft_context *ctx, const weft_limits *limits);

// What the text of trials depends on besides the device: for a key.
void weft_trials_name(const weft_limits *limits, char *name, size_t size);

#endif
