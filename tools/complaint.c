// SPDX-License-Identifier: Apache-2.0
// Complaints: sentences kept where the caller wants them.
#include "complaint.h"

#include <stdarg.h>
#include <stdio.h>

#include <weft/status.h>

bool complain(complaint *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    return false;
}

bool complain_weft(complaint *why)
{
    return complain(why, "%s", weft_last_error());
}

bool complain_cl(complaint *why, const char *call, int code)
{
    return complain(why, "%s failed with OpenCL error %d", call, code);
}
