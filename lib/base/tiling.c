// SPDX-License-Identifier: Apache-2.0
// Tilings as text, printed and read by one table.
#include "base/tiling.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

// ---- values

// Copied, as an enum may be read through no other type.
static int64_t value_of(const weft_tiling_field *field, const void *tiling)
{
    const char *at = (const char *)tiling + field->offset;
    int narrow = 0;
    int64_t wide = 0;
    if (field->kind == WEFT_TILING_FLAG)
        return *(const bool *)at;
    if (field->kind == WEFT_TILING_INT64) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, at, sizeof(narrow));
    return narrow;
}

static void set_value(const weft_tiling_field *field, void *tiling, int64_t value)
{
    char *at = (char *)tiling + field->offset;
    const int narrow = (int)value;
    if (field->kind == WEFT_TILING_FLAG)
        *(bool *)at = value != 0;
    else if (field->kind == WEFT_TILING_INT64)
        memcpy(at, &value, sizeof(value));
    else
        memcpy(at, &narrow, sizeof(narrow));
}

// ---- print

static int print_field(const weft_tiling_field *field, int64_t value, const char *separator,
                       char *text, size_t size)
{
    if (field->kind == WEFT_TILING_FLAG)
        return snprintf(text, size, "%s%s", separator, field->name);
    if (field->kind == WEFT_TILING_WORD && value >= 0 && value < field->n_words)
        return snprintf(text, size, "%s%s %s", separator, field->name, field->words[value]);
    return snprintf(text, size, "%s%s %" PRId64, separator, field->name, value);
}

int weft_tiling_print(const weft_tiling_table *table, const void *tiling, char *text, size_t size)
{
    size_t length = 0;
    if (size > 0)
        text[0] = '\0';
    for (int i = 0; i < table->n_fields; ++i) {
        const weft_tiling_field *field = &table->fields[i];
        const int64_t value = value_of(field, tiling);
        const size_t at = length < size ? length : size;
        if (value != 0 || field->kind == WEFT_TILING_WORD)
            length += (size_t)print_field(field, value, length > 0 ? ", " : "",
                                          size > 0 ? text + at : text, size - at);
    }
    return (int)length;
}

// ---- read

// The rest of a text, and the word that was last taken from it.
typedef struct {
    const char *name; // for messages
    const char *text, *at;
    const char *word;
    int length;
} reader;

enum { WORD_SHOWN = 40 }; // letters of a word that a message repeats, at most

static bool is_space(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static void skip_spaces(reader *r)
{
    while (is_space(*r->at))
        r->at++;
}

// A word ends where a space or a comma is; its length is 0 where there is none.
static void take_word(reader *r)
{
    skip_spaces(r);
    r->word = r->at;
    while (*r->at && *r->at != ',' && !is_space(*r->at))
        r->at++;
    const ptrdiff_t length = r->at - r->word;
    r->length = length < INT_MAX ? (int)length : INT_MAX;
    skip_spaces(r);
}

static bool word_is(const reader *r, const char *name)
{
    return strlen(name) == (size_t)r->length && memcmp(name, r->word, (size_t)r->length) == 0;
}

static int shown(const reader *r)
{
    return r->length < WORD_SHOWN ? r->length : WORD_SHOWN;
}

// Where the word begins, counted from 1.
static long long place(const reader *r)
{
    return r->word - r->text + 1;
}

static weft_status find_field(const weft_tiling_field **out, const reader *r,
                              const weft_tiling_table *table)
{
    if (r->length == 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: the name of a field is wanted, at character %lld",
                    r->name, place(r));
    for (int i = 0; i < table->n_fields; ++i)
        if (word_is(r, table->fields[i].name)) {
            *out = &table->fields[i];
            return WEFT_OK;
        }
    return fail(WEFT_BAD_ARGUMENT, "%s: there is no field '%.*s', at character %lld", r->name,
                shown(r), r->word, place(r));
}

// Digits, maybe after a minus; false for anything else. `fits` is false where an int64_t is too
// small: `value` has then the first digits.
static bool read_digits(const reader *r, int64_t *value, bool *fits)
{
    const bool is_negative = r->word[0] == '-';
    *value = 0;
    *fits = true;
    for (int i = is_negative; i < r->length; ++i) {
        const int digit = r->word[i] - '0';
        if (digit < 0 || digit > 9)
            return false;
        const int64_t step = is_negative ? -digit : digit;
        *fits = *fits && (is_negative ? *value >= (INT64_MIN - step) / 10
                                      : *value <= (INT64_MAX - step) / 10);
        if (*fits)
            *value = 10 * *value + step;
    }
    return r->length > is_negative;
}

static weft_status read_number(int64_t *value, const reader *r, const weft_tiling_field *field)
{
    const bool is_wide = field->kind == WEFT_TILING_INT64;
    const int64_t least = is_wide ? INT64_MIN : INT_MIN, most = is_wide ? INT64_MAX : INT_MAX;
    bool fits;
    if (r->length == 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: the number of '%s' is missing, at character %lld",
                    r->name, field->name, place(r));
    if (!read_digits(r, value, &fits))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: '%s' is '%.*s': a whole number is wanted, at character %lld", r->name,
                    field->name, shown(r), r->word, place(r));
    if (!fits || *value < least || *value > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: '%s' is %.*s: %" PRId64 " to %" PRId64 " is wanted, at character %lld",
                    r->name, field->name, shown(r), r->word, least, most, place(r));
    return WEFT_OK;
}

static weft_status read_choice(int64_t *value, const reader *r, const weft_tiling_field *field)
{
    if (r->length == 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: the word of '%s' is missing, at character %lld",
                    r->name, field->name, place(r));
    for (int i = 0; i < field->n_words; ++i)
        if (word_is(r, field->words[i])) {
            *value = i;
            return WEFT_OK;
        }
    return fail(WEFT_BAD_ARGUMENT, "%s: there is no %s '%.*s', at character %lld", r->name,
                field->name, shown(r), r->word, place(r));
}

static weft_status read_value(int64_t *value, reader *r, const weft_tiling_field *field)
{
    *value = 1;
    if (field->kind == WEFT_TILING_FLAG)
        return WEFT_OK;
    take_word(r);
    return field->kind == WEFT_TILING_WORD ? read_choice(value, r, field)
                                           : read_number(value, r, field);
}

// Continues behind the comma; `is_last` if there is none.
static weft_status take_comma(bool *is_last, reader *r, const weft_tiling_field *field)
{
    *is_last = *r->at == '\0';
    if (*is_last)
        return WEFT_OK;
    if (*r->at == ',') {
        r->at++;
        return WEFT_OK;
    }
    take_word(r);
    if (field->kind == WEFT_TILING_FLAG)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: '%s' takes no value, but '%.*s' follows, at character %lld", r->name,
                    field->name, shown(r), r->word, place(r));
    return fail(WEFT_BAD_ARGUMENT, "%s: a comma is wanted before '%.*s', at character %lld",
                r->name, shown(r), r->word, place(r));
}

static weft_status read_field(bool *is_last, uint32_t *seen, void *tiling, reader *r,
                              const weft_tiling_table *table)
{
    const weft_tiling_field *field;
    take_word(r);
    TRY(find_field(&field, r, table));
    const uint32_t bit = UINT32_C(1) << (field - table->fields);
    if (*seen & bit)
        return fail(WEFT_BAD_ARGUMENT, "%s: '%s' is there twice, at character %lld", r->name,
                    field->name, place(r));
    *seen |= bit;
    int64_t value;
    TRY(read_value(&value, r, field));
    set_value(field, tiling, value);
    return take_comma(is_last, r, field);
}

weft_status weft_tiling_read(bool *is_forced, void *tiling, const weft_tiling_table *table,
                             const char *name, const char *text)
{
    reader r = {.name = name, .text = text, .at = text};
    uint32_t seen = 0;
    *is_forced = text != NULL;
    if (!text)
        return WEFT_OK;
    assert(table->n_fields <= WEFT_TILING_MOST_FIELDS);
    for (int i = 0; i < table->n_fields; ++i)
        set_value(&table->fields[i], tiling, 0);
    skip_spaces(&r);
    for (bool is_last = *r.at == '\0'; !is_last;)
        TRY(read_field(&is_last, &seen, tiling, &r, table));
    return WEFT_OK;
}
