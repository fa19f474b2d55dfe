// SPDX-License-Identifier: Apache-2.0
// Complaints: sentences in the caller's buffer.
#include "complaint.h"

#include <stdarg.h>
#include <stdio.h>

static void keep(complaint *why, bool is_usage, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

// The sentence may contain words of a damaged file: control characters must not reach a terminal,
// except line ends, which show the fault of a formula.
static void keep(complaint *why, bool is_usage, const char *format, va_list arguments)
{
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    for (char *c = why->text; *c != '\0'; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f)
            *c = '?';
    why->is_usage = is_usage;
}

void complaint_keep(complaint *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(why, false, format, arguments);
    va_end(arguments);
}

void complaint_keep_usage(complaint *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(why, true, format, arguments);
    va_end(arguments);
}
