// SPDX-License-Identifier: Apache-2.0
// Arrays for benches: their sizes and contents.
#include "bench_operand.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "random.h"
#include "scalar.h"

enum { SEED = 1 };

static const uint64_t MIB = 1 << 20;
static const size_t BLOCK_BYTES = 8 << 20; // of numbers made on the host; the rest are copies

uint64_t bench_array_bytes(const weft_limits *device)
{
    uint64_t bytes = 2 * device->cache_bytes;
    bytes = bytes < 256 * MIB ? 256 * MIB : bytes > 1024 * MIB ? 1024 * MIB : bytes;
    if (bytes > device->max_alloc_bytes)
        bytes = device->max_alloc_bytes;
    return bytes > device->global_bytes / 8 ? device->global_bytes / 8 : bytes;
}

void bench_fill_extent(int ndim, int64_t *shape, size_t element_bytes, uint64_t bytes)
{
    int64_t rest = (int64_t)(bytes / element_bytes);
    for (int d = 0; d < ndim; d++)
        rest /= shape[d] > 0 ? shape[d] : 1;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0)
            shape[d] = rest > 0 ? rest : 1;
}

weft_tensor bench_view(cl_mem buffer, weft_dtype dtype, int ndim, const int64_t *shape)
{
    weft_tensor view = {.buffer = buffer, .dtype = dtype, .ndim = ndim};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = step;
        if (__builtin_mul_overflow(step, shape[d], &step))
            step = INT64_MAX; // operations report that it is too large
    }
    return view;
}

size_t bench_view_bytes(const weft_tensor *view)
{
    size_t bytes = weft_dtype_size(view->dtype);
    for (int d = 0; d < view->ndim; d++)
        bytes *= (size_t)view->shape[d];
    return bytes;
}

// Integers have any bits.
static void make_numbers(weft_dtype dtype, void *numbers, size_t bytes)
{
    if (scalar_is_float(dtype)) {
        random_fill(SEED, RANDOM_DENSE, dtype, numbers, (int64_t)(bytes / weft_dtype_size(dtype)));
        return;
    }
    random_stream stream = random_start(SEED, RANDOM_DENSE);
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        const uint64_t bits = random_bits(&stream);
        const size_t rest = bytes - done;
        memcpy((char *)numbers + done, &bits, rest < sizeof(bits) ? rest : sizeof(bits));
    }
}

// A block from the host, doubled until it fills the buffer. Waits for that, as cases run on a queue
// of their own.
static bool fill(cl_command_queue queue, cl_mem buffer, weft_dtype dtype, size_t bytes,
                 complaint *why)
{
    const size_t block = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
    if (bytes == 0)
        return true;
    void *numbers = malloc(block + 1);
    if (numbers == NULL)
        return complain(why, "no memory for random numbers");
    make_numbers(dtype, numbers, block);
    cl_int code = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, block, numbers, 0, NULL, NULL);
    free(numbers);
    for (size_t done = block; done < bytes && code == CL_SUCCESS; done *= 2)
        code = clEnqueueCopyBuffer(queue, buffer, buffer, 0, done,
                                   done < bytes - done ? done : bytes - done, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clFinish(queue);
    return code == CL_SUCCESS || complain_cl(why, "filling an array", code);
}

bool bench_operand_create(cl_mem *out, weft_context *ctx, const weft_tensor *view, const char *what,
                          complaint *why)
{
    const size_t bytes = bench_view_bytes(view);
    return buffer_create(out, ctx, NULL, bytes, what, why) &&
           fill(weft_context_queue(ctx), *out, view->dtype, bytes, why);
}
