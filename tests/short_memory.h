// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out at the n-th allocation. Where `own_malloc` is among a test's
// dependencies the linker sends the library's malloc(), calloc() and realloc() here, and the test's
// own, but not those of the OpenCL implementation. Include once, after runtime.h.
#ifndef WEFT_TESTS_SHORT_MEMORY_H
#define WEFT_TESTS_SHORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/status.h>

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

// For the setup of a test: there is memory again, whatever a test before has left.
static inline int restore_memory(void **state)
{
    (void)state;
    countdown = 0;
    return 0;
}

// How many allocations could fail before all that `use` does worked with none failing, and how many
// of these failures it could not do without. After each of them it works again.
static inline int fail_each_allocation(weft_status (*use)(void *user), void *user, int *n_refused)
{
    *n_refused = 0;
    for (int n = 1; n < 1000; n++) {
        countdown = n;
        const weft_status status = use(user);
        const bool did_fail = countdown == 0;
        countdown = 0;
        if (!did_fail) {
            assert_ok(status);
            return n - 1;
        }
        if (status != WEFT_OK && status != WEFT_NO_MEMORY)
            fail_msg("allocation %d: %s: %s", n, weft_status_name(status), weft_last_error());
        if (status != WEFT_OK)
            assert_says("no memory");
        *n_refused += status == WEFT_NO_MEMORY;
        assert_ok(use(user)); // nothing is spoilt for later
    }
    fail_msg("allocations without end");
    return 0;
}

#endif
