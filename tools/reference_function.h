// SPDX-License-Identifier: Apache-2.0
// What each function of a formula is, in the widest numbers that C has, and how far devices may be
// off.
#ifndef WEFT_TOOLS_REFERENCE_FUNCTION_H
#define WEFT_TOOLS_REFERENCE_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "wide.h"

// What a bound of its error has to know of a function of real numbers.
typedef enum reference_trait {
    REFERENCE_PLAIN,
    REFERENCE_TRUTH,     // 1 or 0
    REFERENCE_EQUALITY,  // 1 or 0, one of them at a single point
    REFERENCE_WHERE,     // takes the second or the third operand
    REFERENCE_SELECT,    // the second or the first
    REFERENCE_REMAINDER, // jumps where the quotient does
    REFERENCE_K_BLOCK,   // 0 but where the second lies between the third and the fourth
    REFERENCE_WAVES,     // rises and falls, in steps of about 1
    REFERENCE_TANGENT,   // goes through poles besides
    REFERENCE_BACKWARD,  // dy times a derivative
    REFERENCE_BACKWARD_WAVES,
    REFERENCE_MIX, // a difference first
} reference_trait;

typedef struct reference_function {
    const char *name; // in cl/formula/formula.clh, where it is in capitals
    int n_arguments;
    // Of real numbers; NULL: it has none. May set *size to what `ulps` are of, where that is more
    // than the result.
    wide (*real)(const wide *x, wide *size);
    // Of whole numbers, of which the lower `width` bits count; NULL: it has none.
    int64_t (*whole)(const int64_t *x, int width);
    double ulps; // of *size, or the result, that real arithmetic may be off; 0.5: rounded once
    reference_trait trait;
} reference_function;

// NULL where there is none of that name, which need not end after its `length` characters.
const reference_function *reference_function_find(const char *name, size_t length);

#endif
