// SPDX-License-Identifier: Apache-2.0
// Arrays in one piece of scratch memory, and the kernels that use it.
#ifndef WEFT_LIB_SCRATCH_H
#define WEFT_LIB_SCRATCH_H

#include "launch.h"

// Starts as zeroes.
typedef struct weft_scratch {
    size_t bytes;
} weft_scratch;

// Where n elements begin, counted in elements. The arrays are no larger in all than SIZE_MAX / 2.
int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype);

// Calls `enqueue` with the caller's workspace, or with a piece of the pool that is given back when
// what it has enqueued completes; with NULL where no bytes are wanted.
typedef weft_status weft_enqueue_fn(weft_launch *launch, const void *call, const void *plan,
                                    cl_mem scratch);
weft_status weft_scratch_run(weft_launch *launch, cl_mem workspace, size_t bytes,
                             weft_enqueue_fn *enqueue, const void *call, const void *plan);

#endif
