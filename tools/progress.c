// SPDX-License-Identifier: Apache-2.0
// The last line of a terminal, overwritten again and again.
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { COLUMNS = 79 }; // a line that wraps could not be cleared completely

void progress_show(const char *format, ...)
{
    char line[COLUMNS + 1];
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K%s", line);
}

void progress_clear(void)
{
    progress_show("%s", "");
}
