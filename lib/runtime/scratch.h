// SPDX-License-Identifier: Apache-2.0
// Arrays in one block of scratch memory, and the block itself: the caller's, or one of the pool.
#ifndef WEFT_LIB_SCRATCH_H
#define WEFT_LIB_SCRATCH_H

#include "runtime/launch.h"

// Starts as zeroes.
typedef struct weft_scratch {
    size_t bytes;
} weft_scratch;

// Where n elements begin, counted in elements. Where all arrays would pass SIZE_MAX / 2, as those
// of matrices that are only rehearsed may, `bytes` is SIZE_MAX, which nobody gets.
int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype);

// a * b * c * d bytes, rounded up to where another array may begin; false where that does not fit.
bool weft_scratch_for(size_t *out, int64_t a, int64_t b, int64_t c, int64_t d);

// Around what uses it: *out is the caller's workspace, or where that is NULL a block of the pool,
// which is given back when what was enqueued in between completes, or failed; NULL where no bytes
// are wanted.
weft_status weft_scratch_begin(weft_launch *launch, cl_mem workspace, size_t bytes, cl_mem *out);
void weft_scratch_end(const weft_launch *launch, cl_mem workspace, cl_mem scratch);

#endif
