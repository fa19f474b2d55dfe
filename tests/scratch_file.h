// SPDX-License-Identifier: Apache-2.0
// Files that a test makes for itself, and what readers say of them.
#ifndef WEFT_TESTS_SCRATCH_FILE_H
#define WEFT_TESTS_SCRATCH_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "complaint.h"

// A file of the test's own folder; the text is good until the next call.
static inline const char *path_of(const char *name)
{
    static char path[1024];
    const char *dir = getenv("WEFT_TEST_DIR");
    snprintf(path, sizeof(path), "%s/%s", dir != NULL ? dir : ".", name);
    return path;
}

static inline const char *put(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
    return path;
}

static inline const char *put_text(const char *name, const char *text)
{
    return put(name, text, strlen(text));
}

// A .npy file of version 1.0 with this header and these elements.
static inline const char *put_npy_of(const char *name, const char *header, const void *elements,
                                     size_t element_bytes)
{
    unsigned char bytes[2048] = "\x93NUMPY\x01\x00";
    const size_t length = strlen(header);
    assert_true(10 + length + element_bytes <= sizeof(bytes));
    bytes[8] = (unsigned char)(length & 0xff);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    memcpy(bytes + 10 + length, elements, element_bytes);
    return put(name, bytes, 10 + length + element_bytes);
}

static inline void expect_complaint(const complaint *why, const char *part)
{
    if (strstr(why->text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why->text, part);
}

#endif
