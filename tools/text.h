// SPDX-License-Identifier: Apache-2.0
// Numbers and words in a loaded text file, line by line; complaints begin with "file:line: ".
#ifndef WEFT_TOOLS_TEXT_H
#define WEFT_TOOLS_TEXT_H

#include <stdint.h>

#include "file.h"

typedef struct text_cursor {
    const char *path;
    const char *at, *end; // *end is NUL
    int64_t line;         // from 1
} text_cursor;

text_cursor text_start(const char *path, const loaded_file *file);

bool text_is_done(const text_cursor *text);

// Skips blanks; whether that leads to the end of the line, or of the file.
bool text_is_line_end(text_cursor *text);

// Goes to the start of the next line, whatever is left of this one.
void text_next_line(text_cursor *text);

// Skips blanks and takes the next whole number of this line: decimal, with a sign or not.
// `what` names it in the complaint: "a row number".
bool text_take_integer(text_cursor *text, const char *what, int64_t *out, complaint *why);

// The same for a number as strtod() knows them, infinities and NaN by name included.
bool text_take_number(text_cursor *text, const char *what, double *out, complaint *why);

// Skips blanks and takes the next word of this line, in small letters, cut at `size` - 1; "" where
// the line ends.
void text_take_word(text_cursor *text, char *word, size_t size);

// Complains of anything left on this line, and goes to the next.
bool text_end_line(text_cursor *text, complaint *why);

#endif
