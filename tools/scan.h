// SPDX-License-Identifier: Apache-2.0
// Numbers and words in a loaded text file, line by line; complaints begin with "file:line: ". Lines
// end with \n, with \r\n or with \r.
#ifndef WEFT_TOOLS_SCAN_H
#define WEFT_TOOLS_SCAN_H

#include <stdint.h>

#include "file.h"

typedef struct scanner {
    const char *path;
    const char *at, *end; // *end is NUL
    int64_t line;         // from 1
} scanner;

// After a byte order mark, if there is one.
scanner scan_start(const char *path, const loaded_file *file);

bool scan_is_done(const scanner *text);

// Skips blanks; whether the line, or the file, ends there.
bool scan_is_line_end(scanner *text);

// Skips the rest of this line.
void scan_next_line(scanner *text);

// Skips blanks and parses the next integer of this line: decimal, with a sign or not. `what` names
// it in the complaint: "a row number".
bool scan_integer(scanner *text, const char *what, int64_t *out, complaint *why);

// The same for a number of strtod()'s syntax, infinities and NaN by name included.
bool scan_number(scanner *text, const char *what, double *out, complaint *why);

// Skips blanks and copies the next word of this line, in small letters, cut at `size` - 1; "" at
// the end of the line.
void scan_word(scanner *text, char *word, size_t size);

// Complains about any rest of this line, and goes to the next.
bool scan_end_line(scanner *text, complaint *why);

#endif
