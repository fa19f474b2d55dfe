// SPDX-License-Identifier: Apache-2.0
// Arrays for the cases of a bench.
#ifndef WEFT_TOOLS_BENCH_OPERAND_H
#define WEFT_TOOLS_BENCH_OPERAND_H

#include <weft/context.h>
#include <weft/tensor.h>

#include "complaint.h"

// Bytes of an array that no cache holds: as the limits have it (bench_limits.h), but no more than a
// GiB.
uint64_t bench_array_bytes(const weft_limits *device);

// Where an extent of the shape is 0: what makes it an array of about `bytes`, at least 1.
void bench_fill_extent(int ndim, int64_t *shape, size_t element_bytes, uint64_t bytes);

// A view without gaps, and the bytes of all that it shows.
weft_tensor bench_view(cl_mem buffer, weft_dtype dtype, int ndim, const int64_t *shape);
size_t bench_view_bytes(const weft_tensor *view);

// A buffer for the view, full of random numbers. The caller releases it.
bool bench_operand_create(cl_mem *out, weft_context *ctx, const weft_tensor *view, const char *what,
                          complaint *why);

#endif
