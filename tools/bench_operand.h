// SPDX-License-Identifier: Apache-2.0
// Arrays for the cases of a bench.
#ifndef WEFT_TOOLS_BENCH_OPERAND_H
#define WEFT_TOOLS_BENCH_OPERAND_H

#include <weft/context.h>
#include <weft/tensor.h>

#include "complaint.h"

// Bytes of an array larger than every cache: as in the limits (bench_limits.h), but at most a GiB.
uint64_t bench_array_bytes(const weft_limits *device);

// Replaces an extent of 0 so that the array has about `bytes`; at least 1.
void bench_fill_extent(int ndim, int64_t *shape, size_t element_bytes, uint64_t bytes);

// A view without gaps, and the bytes of its elements.
weft_tensor bench_view(cl_mem buffer, weft_dtype dtype, int ndim, const int64_t *shape);
size_t bench_view_bytes(const weft_tensor *view);

// A buffer for the view, full of random numbers. The caller releases it.
bool bench_operand_create(cl_mem *out, weft_context *ctx, const weft_tensor *view, const char *what,
                          complaint *why);

#endif
