// SPDX-License-Identifier: Apache-2.0
// How the parts of `weft bench` talk to whoever waits for it, on standard error.
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

// Replaces the line of progress, where standard error is a terminal; "" takes it away.
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A line that stays: what is left out, and why.
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
