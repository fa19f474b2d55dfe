// SPDX-License-Identifier: Apache-2.0
// How a call says no: `return fail(WEFT_BAD_SHAPE, "spmm: A is %lld x ...")` keeps the sentence for
// the thread, and is that status. A macro, so that who reads a call alone, as static analysers do,
// sees that it is not WEFT_OK.
#ifndef WEFT_LIB_FAIL_H
#define WEFT_LIB_FAIL_H

#include <weft/status.h>

void weft_keep_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define fail(status, ...) (weft_keep_error(__VA_ARGS__), (status))

// The thread's last sentence, to be given back after calls whose failures are nobody's.
typedef struct weft_sentence {
    char text[1024];
} weft_sentence;

weft_sentence weft_sentence_keep(void);
void weft_sentence_give_back(const weft_sentence *kept);

// Leaves the function at once with whatever is not WEFT_OK.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        weft_status try_status = (call);                                                           \
        if (try_status != WEFT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

#endif
