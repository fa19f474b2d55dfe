// SPDX-License-Identifier: Apache-2.0
// Complaints: sentences kept where the caller wants them.
#include "complaint.h"

#include <stdarg.h>
#include <stdio.h>

void complaint_keep(complaint *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    why->is_usage = false;
}

void complaint_keep_usage(complaint *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    why->is_usage = true;
}
