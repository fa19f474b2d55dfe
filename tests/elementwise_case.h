// SPDX-License-Identifier: Apache-2.0
// What tests of elementwise operations share: operands made from a few words, the call, and the
// comparison with the reference of tools, element by element.
//
// What stands between the elements of an input is NaN, or -1, and nothing stands behind its last
// one. What stands between and around the elements of an output must not be written.
#ifndef WEFT_TESTS_ELEMENTWISE_CASE_H
#define WEFT_TESTS_ELEMENTWISE_CASE_H

#include <weft/elementwise.h>

#include "elementwise/elementwise_plan.h"
#include "strided.h"

// A text that devices see. Its letters are those of all the case's inputs.
typedef struct elementwise_formula {
    const char *text;
    bool is_real;       // has something of real numbers alone in it
    double least, most; // real inputs lie between; both 0: -8 to 8
} elementwise_formula;

typedef enum elementwise_numbers {
    TAME, // reals within the formula's bounds, whole numbers of -100 to 100
    WIDE, // whole numbers of every size and sign; reals as before
    WILD, // reals with infinities, NaN and tiny ones among them, whole ones of every size
    N_NUMBERS,
} elementwise_numbers;

typedef struct elementwise_operand {
    weft_dtype dtype;
    strided_layout layout;
    unsigned ones; // bit d: of an input, extent 1 in dimension d
    int missing;   // leading dimensions that an input does without
    int64_t gap;   // elements behind each row, rows behind each plane, and so on
    bool sliding;  // an input: all strides are 1, so that elements share places
    bool twin;     // an input: the one before it, its last two axes changed over
} elementwise_operand;

typedef struct elementwise_case {
    uint64_t seed;
    int n_inputs, n_outputs, n_values;
    elementwise_operand in[WEFT_ELEMENTWISE_INPUTS], out[WEFT_ELEMENTWISE_OUTPUTS];
    const elementwise_formula *formulas[WEFT_ELEMENTWISE_OUTPUTS];
    int first[WEFT_ELEMENTWISE_OUTPUTS]; // input from which on the formula's bounds count
    double values[WEFT_ELEMENTWISE_VALUES];
    int ndim; // of the outputs
    int64_t shape[WEFT_MAX_NDIM];
    elementwise_numbers numbers;
    weft_dtype arithmetic;
    bool aligned; // operands without backward strides begin at multiples of 16 elements
    int over;     // the first output is that input, counted from 1; 0: none
    const weft_elementwise_tiling *tiling; // NULL: the library chooses
} elementwise_case;

// One item goes through all elements, one by one.
extern const weft_elementwise_tiling elementwise_one_by_one;

typedef struct elementwise_operands {
    elementwise_case of;
    weft_context *ctx;
    cl_command_queue queue;
    strided in[WEFT_ELEMENTWISE_INPUTS];
    strided out[WEFT_ELEMENTWISE_OUTPUTS]; // the first is not there where it is an input
    // What calls take, and the values' names.
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_output outputs[WEFT_ELEMENTWISE_OUTPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
    char names[WEFT_ELEMENTWISE_VALUES][16]; // v0, v1, ...
} elementwise_operands;

// The type that the header says the case is computed in.
weft_dtype elementwise_arithmetic(const elementwise_case *of);

// Whether subnormal numbers of f32 may count as 0, before and after.
bool elementwise_flushes(const weft_context *ctx);

// Whether the device has the types.
bool elementwise_is_possible(const weft_context *ctx, const elementwise_case *of);

void elementwise_create(elementwise_operands *o, weft_context *ctx, const elementwise_case *of);
void elementwise_destroy(elementwise_operands *o);

// Writes element i of an input, in row-major order, to its host memory: a real number, or a whole
// one. elementwise_restore() brings it to the device.
void elementwise_put(elementwise_operands *o, int k, int64_t i, double real, int64_t whole);

// Puts back what stood in all buffers at first, or what the test wrote to memory since.
void elementwise_restore(const elementwise_operands *o);

// The memory that output j is written to.
const strided *elementwise_target(const elementwise_operands *o, int j);

// What a call is given besides; to change before it.
weft_elementwise_params elementwise_params(const elementwise_operands *o);

// Calls, and fails the test unless it returns WEFT_OK; with the case's params, or those given.
void elementwise_call(const elementwise_operands *o);
weft_status elementwise_call_with(const elementwise_operands *o,
                                  const weft_elementwise_params *params);

// What the library says that it would do, in static storage.
const char *elementwise_words(const elementwise_operands *o);

// Fails the test where an output is not what it should be, or anything else changed.
void elementwise_check(const elementwise_operands *o);

// All of it: create, call, check, destroy; nothing where the device cannot do it.
void elementwise_run(weft_context *ctx, const elementwise_case *of);

#endif
