// SPDX-License-Identifier: Apache-2.0
// The checks of weft self-test, and their results.
#ifndef WEFT_TOOLS_SELF_TEST_H
#define WEFT_TOOLS_SELF_TEST_H

#include <stddef.h>
#include <stdint.h>

#include <weft/dtype.h>

#include "complaint.h"

typedef struct self_trial self_trial;

// One operation in one variant, with several cases.
typedef struct self_check {
    const char *op, *variant; // "" if there is none
    weft_dtype dtype;         // of its numbers: f64 is skipped if the device lacks it
    // False if a call failed: the sentence is in the trial's complaint.
    bool (*run)(self_trial *t, const void *of);
    const void *of;
} self_check;

// By file; the last of each has no name.
extern const self_check self_test_products[], self_test_sparse[], self_test_formats[],
    self_test_axis[], self_test_matmul[], self_test_elementwise[];

// The i-th of all, in running order; NULL past the last one.
const self_check *self_check_at(size_t i);

// Plain values: they are sent between processes.
typedef struct self_test_result {
    bool is_skipped, has_failed; // a call failed, or the process did: `why` says how
    int n_results, n_wrong;      // arrays and numbers that were compared, and were wrong
    uint64_t bits;               // a hash of all outputs, in their order
    double seconds;
    char text[256], plan[1024]; // the first wrong case, and its plan
    char difference[512];       // where, with both values
    complaint why;
} self_test_result;

#endif
