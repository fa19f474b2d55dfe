// SPDX-License-Identifier: Apache-2.0
// Arrays in one block of scratch memory, which is the caller's workspace or from the pool.
#ifndef WEFT_LIB_SCRATCH_H
#define WEFT_LIB_SCRATCH_H

#include "runtime/launch.h"

// Initialise with zeros.
typedef struct weft_scratch {
    size_t bytes;
} weft_scratch;

// Adds an array of n elements; returns its offset, in elements. If the total exceeds SIZE_MAX / 2,
// as for rehearsed matrices, `bytes` is SIZE_MAX, which no allocation has.
int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype);

// a * b * c * d bytes, rounded up to the alignment of the next array; false on overflow.
bool weft_scratch_for(size_t *out, int64_t a, int64_t b, int64_t c, int64_t d);

// Begin and end the use of scratch memory. *out is the caller's workspace or, if that is NULL, a
// block of the pool, which returns there when the commands in between complete, or failed; NULL for
// 0 bytes.
weft_status weft_scratch_begin(weft_launch *launch, cl_mem workspace, size_t bytes, cl_mem *out);
void weft_scratch_end(const weft_launch *launch, cl_mem workspace, cl_mem scratch);

#endif
