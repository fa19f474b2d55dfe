// SPDX-License-Identifier: Apache-2.0
// Arrays in one block of scratch memory, and the block itself: the caller's, or one of the pool.
#ifndef WEFT_LIB_SCRATCH_H
#define WEFT_LIB_SCRATCH_H

#include "runtime/launch.h"

// Initialise with zeros.
typedef struct weft_scratch {
    size_t bytes;
} weft_scratch;

// Offset of an array of n elements, in elements. If all arrays pass SIZE_MAX / 2, as those of
// rehearsed matrices may, `bytes` is SIZE_MAX, which no allocation has.
int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype);

// a * b * c * d bytes, rounded up to the alignment of another array; false if it overflows.
bool weft_scratch_for(size_t *out, int64_t a, int64_t b, int64_t c, int64_t d);

// Around the use of scratch memory: *out is the caller's workspace, or if that is NULL a block of
// the pool, which is given back when the commands in between complete, or failed; NULL if no bytes
// are needed.
weft_status weft_scratch_begin(weft_launch *launch, cl_mem workspace, size_t bytes, cl_mem *out);
void weft_scratch_end(const weft_launch *launch, cl_mem workspace, cl_mem scratch);

#endif
