// SPDX-License-Identifier: Apache-2.0
// Where a test runs, as tests/run_on says it: on pocl, rusticl, oclgrind, device, none or valgrind.
#ifndef WEFT_TESTS_IMPLEMENTATION_H
#define WEFT_TESTS_IMPLEMENTATION_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_on(const char *implementation)
{
    const char *name = getenv("WEFT_TEST_IMPLEMENTATION");
    return name && strcmp(name, implementation) == 0;
}

// Of variants that each have programs of their own: by turns, every other one here, and the rest on
// rusticl and Oclgrind.
static inline bool has_turn(int variant)
{
    return !getenv("WEFT_TEST_BY_TURNS") || variant % 2 == (is_on("rusticl") || is_on("oclgrind"));
}

// The same of variants by a fold, of which those of more than 4 are for PoCL alone.
static inline bool fold_has_turn(int variant, int fold)
{
    return fold > 4 || has_turn(variant);
}

#endif
