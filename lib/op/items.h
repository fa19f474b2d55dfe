// SPDX-License-Identifier: Apache-2.0
// Kernels with one-dimensional groups of items, for one-dimensional data: entries, rows, counters.
#ifndef WEFT_LIB_ITEMS_H
#define WEFT_LIB_ITEMS_H

#include "runtime/launch.h"

// Items of a group, if local memory or a kernel does not limit it further: a power of two, 1 on a
// CPU.
int weft_items_for(const weft_limits *limits);

// Checks a number of items that the caller forces: WEFT_BAD_ARGUMENT has the field and the range.
weft_status weft_items_check(int items, const char *field, const weft_limits *limits,
                             const char *op);

// Iterations of each item if groups of `items` process n adjacent elements, `items` at a time.
int64_t weft_items_run(const weft_limits *limits, int items, int64_t n);

// Groups with that many iterations.
int64_t weft_items_groups(int items, int64_t run, int64_t n);

// groups[0] x groups[1] x groups[2] groups; 0 counts as 1 from the second on.
weft_status weft_items_enqueue(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, int items, const int64_t groups[3]);

// Takes the array of arguments, and one to three numbers of groups.
#define ENQUEUE_ITEMS(launch, kernel, arguments, items, ...)                                       \
    weft_items_enqueue(launch, kernel, sizeof(arguments) / sizeof((arguments)[0]), arguments,      \
                       items, (const int64_t[3]){__VA_ARGS__})

// The OpenCL C type of an integer type; and an unsigned type of a size, for moving elements.
const char *weft_word(weft_dtype dtype);
const char *weft_moved_word(weft_dtype dtype);

#endif
