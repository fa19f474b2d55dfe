// SPDX-License-Identifier: Apache-2.0
// How a call says no: `return fail(WEFT_BAD_SHAPE, "spmm: A is %lld x ...")` keeps the sentence for
// the thread.
#ifndef WEFT_LIB_FAIL_H
#define WEFT_LIB_FAIL_H

#include <weft/status.h>

weft_status weft_fail(weft_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define fail weft_fail

// Leaves the function at once with whatever is not WEFT_OK.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        weft_status try_status = (call);                                                           \
        if (try_status != WEFT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

#endif
