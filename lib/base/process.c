// SPDX-License-Identifier: Apache-2.0
// Children of processes that use OpenCL, known by a handler of fork().
#include "base/process.h"

#include <stdatomic.h>

#include "base/os.h"

static atomic_bool is_forked;

static void note_child(void)
{
    atomic_store(&is_forked, true);
}

bool weft_process_is_forked(void)
{
    return atomic_load(&is_forked);
}

weft_status weft_process_check(const char *what)
{
    weft_os_forks_watch(note_child);
    if (!weft_process_is_forked())
        return WEFT_OK;
    return fail(WEFT_UNSUPPORTED,
                "%s: this process was forked from one that had used OpenCL, which a child cannot "
                "go on with: fork before the first context, or have the child exec() a program",
                what);
}
