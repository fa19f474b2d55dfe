// SPDX-License-Identifier: Apache-2.0
// Scratch memory of a call.
#include "runtime/scratch.h"

#include "base/arithmetic.h"
#include "runtime/workspace.h"

enum { ALIGNMENT = 256 }; // of an array, in bytes

int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype)
{
    const size_t size = weft_dtype_size(dtype);
    const size_t start = scratch->bytes / size, most = SIZE_MAX / 2;
    const bool fits = scratch->bytes <= most && (uint64_t)n <= (most - scratch->bytes) / size;
    if (fits)
        scratch->bytes += ((size_t)n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    else
        scratch->bytes = SIZE_MAX;
    return (int64_t)start;
}

bool weft_scratch_for(size_t *out, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t bytes;
    if (!mul_i64(a, b, &bytes) || !mul_i64(bytes, c, &bytes) || !mul_i64(bytes, d, &bytes) ||
        bytes > INT64_MAX - ALIGNMENT || (uint64_t)bytes > SIZE_MAX / 4)
        return false;
    *out = (size_t)(ceil_div(bytes, ALIGNMENT) * ALIGNMENT);
    return true;
}

weft_status weft_scratch_begin(weft_launch *launch, cl_mem workspace, size_t bytes, cl_mem *out)
{
    *out = bytes > 0 ? workspace : NULL;
    if (workspace || bytes == 0)
        return WEFT_OK;
    if (launch->recorder)
        return weft_recorder_scratch(launch->recorder, launch->what, bytes, out);
    TRY(weft_workspace_take(launch->ctx, launch->queue, launch->what, bytes, out));
    launch->wants_event = true;
    return WEFT_OK;
}

void weft_scratch_end(const weft_launch *launch, cl_mem workspace, cl_mem scratch)
{
    if (scratch != workspace && !launch->recorder)
        weft_workspace_give(launch->ctx, launch->queue, scratch, launch->last);
}
