// SPDX-License-Identifier: Apache-2.0
// Complaints: sentences kept where the caller wants them.
#include "complaint.h"

#include <stdarg.h>
#include <stdio.h>

static void keep(complaint *why, bool is_usage, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

// Words of a damaged file may be in the sentence: control characters are not for a terminal, except
// for ends of lines, by which a formula's fault is shown.
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
