// SPDX-License-Identifier: Apache-2.0
// Searching names the way people type them.
#ifndef WEFT_LIB_TEXT_H
#define WEFT_LIB_TEXT_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

// Which of the n names it is; -1 for none of them, and for NULL.
static inline int text_among(const char *const *names, int n, const char *text)
{
    for (int i = 0; text && i < n; ++i)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

#endif
