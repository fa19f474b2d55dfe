// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of `weft bench`: the choice of cases, and progress messages on standard
// error.
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

#include <stdbool.h>

// Which cases, and how.
typedef struct bench_choice {
    const char *only;     // part of their names; NULL: all
    bool quick;           // few cases and few runs
    bool on_request;      // cases are timed as bench_request.h says; nothing else is measured
    const char *patterns; // folder for positions of non-zeros; NULL: they are not written
} bench_choice;

bool bench_chooses(const bench_choice *choice, const char *name);

// A permanent line: an omitted case, and the reason.
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
