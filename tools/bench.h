// SPDX-License-Identifier: Apache-2.0
// What the parts of `weft bench` share: what is to be measured, and how they talk to whoever waits
// for it, on standard error.
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

#include <stdbool.h>

// Which cases, and how.
typedef struct bench_choice {
    const char *only;     // what their names have in them; NULL: all
    bool quick;           // few cases and few runs
    bool on_request;      // cases are timed as bench_request.h says; nothing else is measured
    const char *patterns; // the folder to write where non-zeros stand; NULL: nothing is written
} bench_choice;

bool bench_chooses(const bench_choice *choice, const char *name);

// A line that stays: what is left out, and why.
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
