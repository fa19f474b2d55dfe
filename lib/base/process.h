// SPDX-License-Identifier: Apache-2.0
// fork() and OpenCL: a child has none of the threads that its parent's drivers wait for, in the
// parent's contexts or in its own.
#ifndef WEFT_LIB_PROCESS_H
#define WEFT_LIB_PROCESS_H

#include <stdbool.h>

#include "base/fail.h"

// Called before the first OpenCL call, and by every public call: WEFT_UNSUPPORTED in a child of a
// process that has called this.
weft_status weft_process_check(const char *what);

// Whether this is such a child, which must not release the parent's objects.
bool weft_process_is_forked(void);

#endif
