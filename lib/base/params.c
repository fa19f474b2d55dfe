// SPDX-License-Identifier: Apache-2.0
// Params of any size.
#include "base/params.h"

#include <string.h>
#include <weft/api.h>

#include "base/fail.h"

// The first byte from `from` on that is not 0, or the end.
static size_t find_content(const unsigned char *bytes, size_t from, size_t end)
{
    while (from < end && bytes[from] == 0)
        ++from;
    return from;
}

weft_status weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                             const char *macro)
{
    memset(own, 0, bytes);
    memcpy(own, &bytes, sizeof(bytes));
    if (!given)
        return WEFT_OK;
    size_t size;
    memcpy(&size, given, sizeof(size));
    if (size < sizeof(size) || size % sizeof(size) != 0 || size > WEFT_PARAMS_MOST_BYTES)
        return fail(WEFT_BAD_ARGUMENT, "%s: params.size is %zu: fill it by %s()", what, size,
                    macro);
    const size_t content = find_content(given, size < bytes ? size : bytes, size);
    if (content < size)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params has %zu bytes, and something at byte %zu: weft %s knows %zu bytes "
                    "and nothing there",
                    what, size, content, weft_version(), bytes);
    memcpy((unsigned char *)own + sizeof(size), (const unsigned char *)given + sizeof(size),
           (size < bytes ? size : bytes) - sizeof(size));
    return WEFT_OK;
}
