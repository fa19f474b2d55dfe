// SPDX-License-Identifier: Apache-2.0
// Statuses, and the sentence of the thread's last failure.
#include <stdarg.h>
#include <stdio.h>

#include "base/fail.h"

static _Thread_local weft_sentence last;

void weft_keep_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.text, sizeof(last.text), format, arguments);
    va_end(arguments);
}

const char *weft_last_error(void)
{
    return last.text;
}

weft_sentence weft_sentence_keep(void)
{
    return last;
}

void weft_sentence_give_back(const weft_sentence *kept)
{
    last = *kept;
}

const char *weft_status_name(weft_status status)
{
    switch (status) {
    case WEFT_OK:
        return "ok";
    case WEFT_BAD_ARGUMENT:
        return "bad argument";
    case WEFT_BAD_SHAPE:
        return "bad shape";
    case WEFT_BAD_DTYPE:
        return "bad data type";
    case WEFT_BAD_BUFFER:
        return "bad buffer";
    case WEFT_BAD_DATA:
        return "bad data";
    case WEFT_UNSUPPORTED:
        return "unsupported";
    case WEFT_NO_DEVICE:
        return "no device";
    case WEFT_NO_MEMORY:
        return "no memory";
    case WEFT_BUILD_FAILED:
        return "build failed";
    case WEFT_DEVICE_LOST:
        return "device lost";
    case WEFT_OPENCL_ERROR:
        return "OpenCL error";
    }
    return "unknown status";
}
