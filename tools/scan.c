// SPDX-License-Identifier: Apache-2.0
// Scanning text. Nothing here reads past `end`, which is a NUL.
#include "scan.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

scanner scan_start(const char *path, const loaded_file *file)
{
    const size_t n_mark = file->size >= 3 && memcmp(file->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return (scanner){path, file->bytes + n_mark, file->bytes + file->size, 1};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

static void skip_blanks(scanner *text)
{
    while (is_blank(*text->at))
        text->at++;
}

bool scan_is_done(const scanner *text)
{
    return text->at >= text->end;
}

bool scan_is_line_end(scanner *text)
{
    skip_blanks(text);
    return scan_is_done(text) || is_end(*text->at);
}

void scan_next_line(scanner *text)
{
    while (!scan_is_done(text) && !is_end(*text->at))
        text->at++;
    if (scan_is_done(text))
        return;
    const bool is_pair = text->at[0] == '\r' && text->at[1] == '\n';
    text->at += is_pair ? 2 : 1;
    text->line++;
}

// Bytes up to the next blank or line end.
static size_t word_length(const scanner *text)
{
    const char *c = text->at;
    while (c < text->end && !is_end(*c) && !is_blank(*c))
        c++;
    return (size_t)(c - text->at);
}

// The text here, made safe for a terminal.
static bool complain_found(scanner *text, const char *what, complaint *why)
{
    if (scan_is_line_end(text))
        return complain(why, "%s:%" PRId64 ": the %s ends where %s is expected", text->path,
                        text->line, scan_is_done(text) ? "file" : "line", what);
    char found[25] = "";
    const size_t length = word_length(text);
    for (size_t i = 0; i < length && i < sizeof(found) - 1; i++)
        found[i] = isprint((unsigned char)text->at[i]) ? text->at[i] : '?';
    return complain(why, "%s:%" PRId64 ": expected %s, found '%s'", text->path, text->line, what,
                    found);
}

static bool complain_range(const scanner *text, const char *what, complaint *why)
{
    return complain(why, "%s:%" PRId64 ": %s is out of range", text->path, text->line, what);
}

// What may follow a number.
static bool is_number_end(char c)
{
    return c == '\0' || c == ',' || is_end(c) || is_blank(c);
}

bool scan_integer(scanner *text, const char *what, int64_t *out, complaint *why)
{
    skip_blanks(text);
    const char *c = text->at;
    const bool is_negative = *c == '-';
    c += *c == '-' || *c == '+';
    const char *const digits = c;
    uint64_t value = 0;
    bool fits = true;
    for (; *c >= '0' && *c <= '9'; c++) {
        fits = fits && value < UINT64_C(1000000000000000000);
        value = 10 * value + (uint64_t)(*c - '0');
    }
    if (c == digits || !is_number_end(*c))
        return complain_found(text, what, why);
    if (!fits || value > (uint64_t)INT64_MAX)
        return complain_range(text, what, why);
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    text->at = c;
    return true;
}

// Decimal, infinite or NaN: strtod() accepts more, and skips line ends.
bool scan_number(scanner *text, const char *what, double *out, complaint *why)
{
    if (scan_is_line_end(text) || isspace((unsigned char)*text->at))
        return complain_found(text, what, why);
    char *end = NULL;
    errno = 0;
    *out = strtod(text->at, &end);
    const size_t length = (size_t)(end - text->at);
    if (length == 0 || !is_number_end(*end) || memchr(text->at, '(', length) ||
        memchr(text->at, 'x', length) || memchr(text->at, 'X', length))
        return complain_found(text, what, why);
    if (errno == ERANGE && (*out > 1 || *out < -1))
        return complain_range(text, what, why);
    text->at = end;
    return true;
}

void scan_word(scanner *text, char *word, size_t size)
{
    skip_blanks(text);
    const size_t length = word_length(text);
    const size_t kept = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < kept; i++)
        word[i] = (char)tolower((unsigned char)text->at[i]);
    word[kept] = '\0';
    text->at += length;
}

bool scan_end_line(scanner *text, complaint *why)
{
    if (!scan_is_line_end(text))
        return complain_found(text, "the end of the line", why);
    scan_next_line(text);
    return true;
}
