// SPDX-License-Identifier: Apache-2.0
// Where a test runs, as tests/run_on says it: on pocl, rusticl, oclgrind, intel, device, none or
// valgrind; and what of it runs there.
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

// On PoCL, or started by hand.
static inline bool is_on_pocl_or_by_hand(void)
{
    return !getenv("WEFT_TEST_IMPLEMENTATION") || is_on("pocl");
}

// rusticl takes minutes to compile wide vectors, and Oclgrind 21.10 takes some of their elements
// for uninitialised, or ends without a word.
static inline bool takes_wide_vectors(void)
{
    return is_on_pocl_or_by_hand();
}

// Variants that have programs of their own: even ones on PoCL, odd ones on rusticl and Oclgrind;
// all of them everywhere without WEFT_TEST_BY_TURNS.
static inline bool has_turn(int variant)
{
    return !getenv("WEFT_TEST_BY_TURNS") || variant % 2 == (is_on("rusticl") || is_on("oclgrind"));
}

// The same where some of them run on PoCL alone.
static inline bool has_turn_unless(bool is_for_pocl, int variant)
{
    return is_for_pocl || has_turn(variant);
}

#endif
