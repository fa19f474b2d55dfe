// SPDX-License-Identifier: Apache-2.0
// How a call fails: `return fail(WEFT_BAD_SHAPE, "spmm: A is %lld x ...")` stores the sentence for
// the thread, and is that status. A macro, so that static analysers, which see one function at a
// time, know that it is not WEFT_OK.
#ifndef WEFT_LIB_FAIL_H
#define WEFT_LIB_FAIL_H

#include <weft/status.h>

#include "base/printf.h"

void weft_keep_error(const char *format, ...) WEFT_PRINTF(1, 2);

#define fail(status, ...) (weft_keep_error(__VA_ARGS__), (status))

// The thread's last sentence, to be restored after calls whose failures the caller must not see.
typedef struct weft_sentence {
    char text[1024];
} weft_sentence;

weft_sentence weft_sentence_keep(void);
void weft_sentence_give_back(const weft_sentence *kept);

// Returns any status other than WEFT_OK at once.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        weft_status try_status = (call);                                                           \
        if (try_status != WEFT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

#endif
