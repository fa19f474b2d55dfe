// SPDX-License-Identifier: Apache-2.0
// What tests of reductions share: operands made from a few words, the call, and the comparison.
//
// What stands between X's elements is poison and must not be read: it is NaN, or -1 where there is
// none. What stands between Y's elements must not be written: it is compared with what was there.
// X's buffer ends with its last element.
#ifndef WEFT_TESTS_REDUCE_CASE_H
#define WEFT_TESTS_REDUCE_CASE_H

#include <weft/reduce.h>

#include "axis/axis_plan.h"
#include "runtime.h"

// Where elements of X and Y stand.
typedef enum reduce_layout {
    LAYOUT_DENSE,     // row-major
    LAYOUT_SLICED,    // row-major with gaps, some axes backwards
    LAYOUT_PERMUTED,  // dense, axes in any order
    LAYOUT_ANY,       // gaps, any order, some axes backwards
    LAYOUT_REPEATING, // and strides of 0, for X
    N_LAYOUTS,
    LAYOUT_ALIGNED, // as dense, and begins at a multiple of 16 elements
} reduce_layout;

typedef enum reduce_numbers {
    WHOLE,        // small whole numbers, equal ones among them: sums are exact
    FRACTIONS,    // in [-1, 1)
    FAR_AWAY,     // FRACTIONS + 100, 2000, 1e5 or 1e7; f16 and bf16: + 1000
    EQUAL,        // 1.1, then 0.1: plain sums go wrong in one direction
    WILD,         // WHOLE; some are infinite or NaN, if X can hold that
    EXTREME,      // integers of any size; floats as FRACTIONS
    OUT_OF_RANGE, // FRACTIONS, but their squares are not f32's or f64's
    ZEROS,        // 0 and -0, few of those that min and max are to find; integers as WHOLE
    N_NUMBERS,
} reduce_numbers;

typedef struct reduce_case {
    uint64_t seed;
    weft_reduction op;
    weft_dtype dtype, result; // of X and Y; 0: what fits best
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    unsigned mask; // bit d: axis d is reduced
    bool all;      // every axis, by n_axes 0; mask is not looked at
    bool keepdims;
    reduce_layout x_layout, y_layout;
    reduce_numbers numbers;
    int64_t correction;
    const weft_axis_tiling *tiling; // NULL: the library chooses
} reduce_case;

typedef struct reduce_operands {
    reduce_case of;
    weft_context *ctx;
    cl_command_queue queue;
    weft_tensor X, Y;
    int n_axes, axes[WEFT_MAX_NDIM];
    void *x_data, *y_before; // the buffers, as they were at first
    size_t x_bytes, y_bytes;
    cl_mem workspace; // NULL: the pool's
} reduce_operands;

// What Y holds where nothing else is asked for.
weft_dtype reduce_result(weft_reduction op, weft_dtype dtype, bool has_f64);

// Whether the device can do it, and it has a result.
bool reduce_is_possible(weft_context *ctx, const reduce_case *of);

void reduce_create(reduce_operands *o, weft_context *ctx, const reduce_case *of);
void reduce_destroy(reduce_operands *o);

// The params of the case, to change before the call.
weft_reduce_params reduce_params(const reduce_operands *o);

// Puts back into Y what stood there at first.
void reduce_restore(const reduce_operands *o);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void reduce_call(const reduce_operands *o);

// What weft_reduce_describe() says, in static storage.
const char *reduce_words(const reduce_operands *o);

// Y's whole buffer, to be freed; waits for the queue.
void *reduce_read(const reduce_operands *o);

// Fails the test where Y is not what it should be, or anything around it changed.
void reduce_check(const reduce_operands *o);

// All of it: create, call, check, destroy.
void reduce_run(weft_context *ctx, const reduce_case *of);

// A shape of at most `most` elements, an empty one now and then.
void reduce_random_shape(reduce_case *of, uint64_t seed, int ndim, int64_t most);

#endif
