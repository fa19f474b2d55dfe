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

#endif
