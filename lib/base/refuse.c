// SPDX-License-Identifier: Apache-2.0
// Reasons of plans, passed to their receiver.
#include "base/refuse.h"

#include <stdarg.h>
#include <stdio.h>

bool weft_refuse(const weft_why *why, const char *variant, const char *format, ...)
{
    if (!why)
        return false;
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    why->refused(why->user, variant, reason);
    return false;
}
