// SPDX-License-Identifier: Apache-2.0
// A line for whoever waits at a terminal.
#ifndef WEFT_TOOLS_PROGRESS_H
#define WEFT_TOOLS_PROGRESS_H

// Replaces the line of progress, where standard error is a terminal.
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Takes that line away: before anything else is printed.
void progress_clear(void);

#endif
