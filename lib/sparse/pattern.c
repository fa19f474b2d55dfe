// SPDX-License-Identifier: Apache-2.0
// A sparsity pattern on the host, and the arrays of plan objects.
#include "sparse/pattern.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/element.h"
#include "runtime/buffer.h"
#include "runtime/context.h"

weft_status weft_plan_allocate(void **out, int64_t n, size_t size)
{
    const size_t count = (size_t)max_i64(n, 1);
    *out = count <= SIZE_MAX / size ? calloc(count, size) : NULL;
    if (!*out)
        return fail(WEFT_NO_MEMORY, "spmm_plan: no memory for %" PRId64 " elements of %zu bytes", n,
                    size);
    return WEFT_OK;
}

weft_status weft_plan_upload(cl_mem *out, const weft_context *ctx, const void *array, int64_t n,
                             size_t size)
{
    if (n == 0)
        return WEFT_OK;
    const uint64_t bytes = (uint64_t)n * size;
    if (bytes > ctx->limits.max_alloc_bytes)
        return fail(WEFT_NO_MEMORY,
                    "spmm_plan: a buffer of %" PRIu64
                    " bytes is wanted, the device allows %" PRIu64,
                    bytes, ctx->limits.max_alloc_bytes);
    return weft_buffer_create(out, ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (size_t)bytes,
                              array, "spmm_plan");
}

int64_t weft_pattern_start(const weft_pattern *p, int64_t row)
{
    return integer_at(p->offsets, p->offset_dtype, row);
}

int64_t weft_pattern_length(const weft_pattern *p, int64_t row)
{
    return weft_pattern_start(p, row + 1) - weft_pattern_start(p, row);
}

bool weft_pattern_is_long(const weft_pattern *p, int64_t row, int64_t row_chunk)
{
    return weft_pattern_length(p, row) > 2 * row_chunk;
}
