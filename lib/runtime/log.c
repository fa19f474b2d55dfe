// SPDX-License-Identifier: Apache-2.0
// Messages to the callback of a context.
#include "runtime/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/context.h"

void weft_log(const weft_context *ctx, weft_log_level level, const char *format, ...)
{
    if (!ctx->log)
        return;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *message = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!message)
        return;
    va_start(arguments, format);
    vsnprintf(message, (size_t)length + 1, format, arguments);
    va_end(arguments);
    ctx->log(ctx->log_user, level, message);
    free(message);
}
