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

// Behind a byte order mark, where there is one.
scanner scan_start(const char *path, const loaded_file *file);

bool scan_is_done(const scanner *text);

// Skips blanks; whether that leads to the end of the line, or of the file.
bool scan_is_line_end(scanner *text);

// Goes to the start of the next line, whatever is left of this one.
void scan_next_line(scanner *text);

// Skips blanks and takes the next whole number of this line: decimal, with a sign or not.
// `what` names it in the complaint: "a row number".
bool scan_integer(scanner *text, const char *what, int64_t *out, complaint *why);

// The same for a number as strtod() knows them, infinities and NaN by name included.
bool scan_number(scanner *text, const char *what, double *out, complaint *why);

// Skips blanks and takes the next word of this line, in small letters, cut at `size` - 1; "" where
// the line ends.
void scan_word(scanner *text, char *word, size_t size);

// Complains of anything left on this line, and goes to the next.
bool scan_end_line(scanner *text, complaint *why);

#endif
