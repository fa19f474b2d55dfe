// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out at the n-th allocation. Where `own_malloc` is among a test's
// dependencies the linker sends the library's malloc(), calloc() and realloc() here, and the test's
// own, but not those of the OpenCL implementation. Include once.
#ifndef WEFT_TESTS_SHORT_MEMORY_H
#define WEFT_TESTS_SHORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int countdown; // to the allocation that fails; 0: none does

static bool fails_now(void)
{
    return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

#endif
