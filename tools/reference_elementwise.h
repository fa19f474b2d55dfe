// SPDX-License-Identifier: Apache-2.0
// The reference of elementwise operations, and a bound on the error of each element: that of
// reference_formula.h, and the effect of storing it (reference.h).
#ifndef WEFT_TOOLS_REFERENCE_ELEMENTWISE_H
#define WEFT_TOOLS_REFERENCE_ELEMENTWISE_H

#include "reference_axis.h"

typedef struct reference_elementwise {
    const char *formula; // one that weft_elementwise() takes
    // An operand before the inputs that is a reference itself, of the arithmetic type and the
    // result's shape; NULL: none.
    const reference_values *first;
    int n_inputs, n_values;
    const host_tensor *inputs; // f32, f64, f16, bf16, i32, i64 or u8; they broadcast to the result
    const double *values;
    const char *const *names; // of the first operand, of inputs, of values
    weft_dtype arithmetic;    // WEFT_DEFAULT: as weft_elementwise() has it
    weft_dtype y_dtype;
    int ndim; // of the result
    const int64_t *shape;
} reference_elementwise;

// Makes the values, which belong to the caller.
bool reference_elementwise_run(reference_values *out, const reference_elementwise *problem,
                               complaint *why);

#endif
