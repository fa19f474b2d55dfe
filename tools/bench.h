// SPDX-License-Identifier: Apache-2.0
// What the parts of `weft bench` share: the line that says how far it has come.
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

// Replaces the line of progress, where standard error is a terminal; "" takes it away.
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
