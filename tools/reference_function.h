// SPDX-License-Identifier: Apache-2.0
// The functions of formulas, in the widest type of C, and the error allowed to devices.
#ifndef WEFT_TOOLS_REFERENCE_FUNCTION_H
#define WEFT_TOOLS_REFERENCE_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "wide.h"

// Properties of a function of real numbers that determine its error bound.
typedef enum reference_trait {
    REFERENCE_PLAIN,
    REFERENCE_TRUTH,     // 1 or 0
    REFERENCE_EQUALITY,  // 1 or 0, one of them at a single point
    REFERENCE_WHERE,     // selects the second or the third operand
    REFERENCE_SELECT,    // the second or the first
    REFERENCE_REMAINDER, // jumps where the quotient does
    REFERENCE_RANGE,     // 0 unless the second is between the third and the fourth
    REFERENCE_WAVES,     // rises and falls, in steps of about 1
    REFERENCE_TANGENT,   // has poles besides
    REFERENCE_BACKWARD,  // dy times a derivative
    REFERENCE_BACKWARD_WAVES,
    REFERENCE_MIX, // a difference first
} reference_trait;

typedef struct reference_function {
    const char *name; // in cl/formula/formula.clh, where it is in capitals
    int n_arguments;
    // Of real numbers; NULL: it has none. May set *size to the unit of `ulps`, if that is more than
    // the result.
    wide (*real)(const wide *x, wide *size);
    // Of integers, of which the lower `width` bits count; NULL: it has none.
    int64_t (*whole)(const int64_t *x, int width);
    double ulps; // of *size, or the result: error in real arithmetic; 0.5: rounded once
    reference_trait trait;
} reference_function;

// NULL if there is none of that name, which need not end after its `length` characters.
const reference_function *reference_function_find(const char *name, size_t length);

#endif
