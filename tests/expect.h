// SPDX-License-Identifier: Apache-2.0
// A status, and part of the sentence that goes with it. Include after cmocka.h.
#ifndef WEFT_TESTS_EXPECT_H
#define WEFT_TESTS_EXPECT_H

#include <string.h>

#include <weft/status.h>

static inline void expect(weft_status status, weft_status expected, const char *sentence)
{
    if (status != expected)
        fail_msg("%s, not %s: \"%s\"", weft_status_name(status), weft_status_name(expected),
                 weft_last_error());
    if (expected != WEFT_OK && !strstr(weft_last_error(), sentence))
        fail_msg("\"%s\" does not say \"%s\"", weft_last_error(), sentence);
}

#endif
