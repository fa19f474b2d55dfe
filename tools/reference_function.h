// SPDX-License-Identifier: Apache-2.0
// What each function of a formula is, in the widest numbers that C has, and how far devices may be
// off.
#ifndef WEFT_TOOLS_REFERENCE_FUNCTION_H
#define WEFT_TOOLS_REFERENCE_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "wide.h"

typedef struct reference_function {
    const char *name; // in a formula
    int n_arguments;
    // Of real numbers; NULL: it has none. May set *size where it has terms that are larger than the
    // result: to their sum.
    wide (*real)(const wide *x, wide *size);
    // Of whole numbers, of which the lower `width` bits count; NULL: it has none.
    int64_t (*whole)(const int64_t *x, int width);
    double ulps; // of *size, or the result, that real arithmetic may be off
} reference_function;

// NULL where there is none of that name, which need not end after its `length` characters.
const reference_function *reference_function_find(const char *name, size_t length);

#endif
