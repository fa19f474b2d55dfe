// SPDX-License-Identifier: Apache-2.0
// Tensors for tests, laid out in any way: on the host, and in a buffer of the device. The buffer
// begins before the first element; bytes that are no element's hold what the test chose.
// Include after the library's own headers.
#ifndef WEFT_TESTS_STRIDED_H
#define WEFT_TESTS_STRIDED_H

#include "random.h"
#include "reference_axis.h"
#include "runtime.h"

typedef enum strided_layout {
    LAYOUT_DENSE,      // row-major
    LAYOUT_TRANSPOSED, // dense, the last two axes changed over
    LAYOUT_SPACED,     // row-major, every third element
    LAYOUT_SLICED,     // row-major with gaps, some axes backwards
    LAYOUT_PERMUTED,   // dense, axes in any order
    LAYOUT_ANY,        // gaps, any order, some axes backwards
    LAYOUT_REPEATING,  // and strides of 0, for inputs
    N_LAYOUTS,
    LAYOUT_ALIGNED, // as dense, and begins at a multiple of 16 elements
} strided_layout;

typedef struct strided {
    weft_tensor t;
    void *memory; // the whole buffer, as it was at first
    size_t bytes;
} strided;

// On the host alone: every byte is `fill`, and `n_behind` elements follow the last one.
void strided_create(strided *s, weft_dtype dtype, int ndim, const int64_t *shape,
                    strided_layout layout, random_state *random, int fill, int64_t n_behind);

// Makes the buffer, of what stands in memory by now; none for an empty tensor that is only read.
void strided_upload(strided *s, weft_context *ctx);

// Writes memory to the buffer again.
void strided_restore(const strided *s, cl_command_queue queue);

// The whole buffer as it is now, to be freed; waits for the queue.
void *strided_read(const strided *s, cl_command_queue queue);

void strided_destroy(strided *s);

// Counts an index up, last axis fastest; false after the last element.
bool strided_next(const weft_tensor *t, int64_t *index);

// Which element of the buffer stands there.
int64_t strided_place(const weft_tensor *t, const int64_t *index);

bool strided_is_empty(const weft_tensor *t);

// `data` seen as the tensor's buffer.
host_tensor strided_host(const weft_tensor *t, const void *data);

// The first byte of `after` that differs from memory and is no element's, or -1. Overwrites the
// elements of `after`.
int64_t strided_stray_byte(const strided *s, unsigned char *after);

// A new buffer, zeroed: Oclgrind's check for uninitialised memory wants that the host writes it.
cl_mem strided_zeros(weft_context *ctx, size_t bytes, cl_mem_flags flags);

// Of at most `most` elements, an empty one now and then.
void strided_random_shape(int64_t *shape, int ndim, int64_t most, random_state *random);

#endif
