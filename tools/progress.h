// SPDX-License-Identifier: Apache-2.0
// A progress line on a terminal.
#ifndef WEFT_TOOLS_PROGRESS_H
#define WEFT_TOOLS_PROGRESS_H

// Replaces the progress line, if standard error is a terminal.
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Clears that line: before any other output.
void progress_clear(void);

#endif
