// SPDX-License-Identifier: Apache-2.0
// fork() and OpenCL: a child has none of the threads that its parent's drivers wait for, in the
// parent's contexts and in its own alike.
#ifndef WEFT_LIB_PROCESS_H
#define WEFT_LIB_PROCESS_H

#include <stdbool.h>

#include "base/fail.h"

// Before the first OpenCL call, and at the door of all others: WEFT_UNSUPPORTED in a child of a
// process that has come by here.
weft_status weft_process_check(const char *what);

// Whether this is such a child: what was made in the parent is not to be released.
bool weft_process_is_forked(void);

#endif
