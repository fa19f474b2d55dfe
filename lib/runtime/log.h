// SPDX-License-Identifier: Apache-2.0
// Messages to the callback of a context.
#ifndef WEFT_LIB_LOG_H
#define WEFT_LIB_LOG_H

#include <weft/context.h>

#include "base/printf.h"

// Like printf(), of any length. Does nothing without a callback.
void weft_log(const weft_context *ctx, weft_log_level level, const char *format, ...)
    WEFT_PRINTF(3, 4);

#endif
