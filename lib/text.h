// SPDX-License-Identifier: Apache-2.0
// Searching names the way people type them.
#ifndef WEFT_LIB_TEXT_H
#define WEFT_LIB_TEXT_H

#include <ctype.h>
#include <stdbool.h>

static inline bool text_begins(const char *text, const char *part)
{
    while (*part && tolower((unsigned char)*text) == tolower((unsigned char)*part))
        text++, part++;
    return *part == '\0';
}

// Whether `text` contains `part`, ignoring case. Every text contains "".
static inline bool text_contains(const char *text, const char *part)
{
    for (; !text_begins(text, part); text++)
        if (*text == '\0')
            return false;
    return true;
}

#endif
