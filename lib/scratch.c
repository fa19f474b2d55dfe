// SPDX-License-Identifier: Apache-2.0
// Scratch memory of a call with several arrays in it.
#include "scratch.h"

#include <assert.h>

#include "workspace.h"

static const size_t ALIGNMENT = 256;

int64_t weft_scratch_add(weft_scratch *scratch, int64_t n, weft_dtype dtype)
{
    const size_t size = weft_dtype_size(dtype);
    const size_t start = scratch->bytes / size;
    assert((uint64_t)n <= (SIZE_MAX / 2 - scratch->bytes) / size);
    scratch->bytes += ((size_t)n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (int64_t)start;
}

weft_status weft_scratch_run(weft_launch *launch, cl_mem workspace, size_t bytes,
                             weft_enqueue_fn *enqueue, const void *call, const void *plan)
{
    if (workspace || bytes == 0)
        return enqueue(launch, call, plan, workspace);
    cl_mem scratch;
    TRY(weft_workspace_take(launch->ctx, launch->queue, launch->what, bytes, &scratch));
    launch->wants_event = true;
    const weft_status status = enqueue(launch, call, plan, scratch);
    weft_workspace_give(launch->ctx, launch->queue, scratch, launch->last);
    return status;
}
