// SPDX-License-Identifier: Apache-2.0
// The one source of made-up numbers: the same seed gives the same operands in every command, test
// and example.
#ifndef WEFT_TOOLS_RANDOM_H
#define WEFT_TOOLS_RANDOM_H

#include <weft/dtype.h>

// Uses of the numbers: each has a stream of its own, so that B does not depend on the number of
// values of A.
typedef enum random_use {
    RANDOM_VALUES = 1, // of the sparse operand
    RANDOM_DENSE,      // of B
    RANDOM_OUTPUT,     // of C before the product
    RANDOM_PATTERN,    // positions of non-zeros
    RANDOM_LEFT,       // of A, if that is dense
    RANDOM_SECOND,     // of B, if A is the one dense array of a command
} random_use;

typedef struct random_stream {
    uint64_t state;
} random_stream;

random_stream random_start(uint64_t seed, random_use use);

// 64 independent bits.
uint64_t random_bits(random_stream *stream);

// Uniform in [-1, 1), a multiple of 2^-52: products of two are rounded in f64 too.
double random_uniform(random_stream *stream);

// Uniform in 0 .. n - 1, n >= 1.
int64_t random_below(random_stream *stream, int64_t n);

// Fills an array of floating-point elements with random_uniform(), rounded to the type.
void random_fill(uint64_t seed, random_use use, weft_dtype dtype, void *data, int64_t count);

#endif
