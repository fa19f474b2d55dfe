// SPDX-License-Identifier: Apache-2.0
// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA
// 2014).
#include "random.h"

#include "scalar.h"

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

random_stream random_start(uint64_t seed, random_use use)
{
    return (random_stream){mix(mix(seed) + (uint64_t)use)};
}

uint64_t random_bits(random_stream *stream)
{
    stream->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(stream->state);
}

double random_uniform(random_stream *stream)
{
    return (double)(random_bits(stream) >> 11) * 0x1p-52 - 1.0;
}

int64_t random_below(random_stream *stream, int64_t n)
{
    return (int64_t)(random_bits(stream) % (uint64_t)n);
}

void random_fill(uint64_t seed, random_use use, weft_dtype dtype, void *data, int64_t count)
{
    random_stream stream = random_start(seed, use);
    for (int64_t i = 0; i < count; i++)
        scalar_put(dtype, data, i, random_uniform(&stream));
}
