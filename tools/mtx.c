// SPDX-License-Identifier: Apache-2.0
// Matrix Market files: banner, sizes, then entries, or the elements of an array.
#include "mtx.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scalar.h"
#include "scan.h"

typedef enum mtx_field { FIELD_REAL, FIELD_INTEGER, FIELD_UNSIGNED, FIELD_PATTERN } mtx_field;
typedef enum mtx_symmetry { SYMMETRY_GENERAL, SYMMETRY_SYMMETRIC, SYMMETRY_SKEW } mtx_symmetry;

// State of reading a file. The arrays have room for the mirrored entries too.
typedef struct mtx_reader {
    scanner text;
    weft_dtype dtype; // of the values
    bool is_array;    // all elements, column by column
    mtx_field field;
    mtx_symmetry symmetry;
    int64_t n_rows, n_cols, n_stored;
    int64_t size_line;
    int64_t n_entries;
    int64_t *rows, *cols;
    double *values;
} mtx_reader;

static int find_word(const char *word, const char *const *words, int n_words)
{
    for (int i = 0; i < n_words; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

// Comments and empty lines may be anywhere after the banner.
static void skip_comments(scanner *text)
{
    while (!scan_is_done(text) && (scan_is_line_end(text) || *text->at == '%'))
        scan_next_line(text);
}

// A comment may be there, too.
static bool end_line(scanner *text, complaint *why)
{
    if (scan_is_line_end(text) || *text->at != '%')
        return scan_end_line(text, why);
    scan_next_line(text);
    return true;
}

enum { BANNER_WORDS = 5 };

// Empty lines may be before it.
static void read_words(scanner *text, char words[BANNER_WORDS][32])
{
    while (!scan_is_done(text) && scan_is_line_end(text))
        scan_next_line(text);
    for (int i = 0; i < BANNER_WORDS; i++)
        scan_word(text, words[i], sizeof(words[i]));
}

static bool read_symmetry(mtx_reader *reader, const char *word, complaint *why)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const char *path = reader->text.path;
    const int64_t line = reader->text.line;
    const int symmetry = find_word(word, symmetries, 3);
    if (symmetry < 0)
        return complain(why,
                        "%s:%" PRId64 ": the matrix is '%s', but only general, symmetric and "
                        "skew-symmetric are read",
                        path, line, word);
    reader->symmetry = (mtx_symmetry)symmetry;
    if (reader->field == FIELD_PATTERN && reader->symmetry == SYMMETRY_SKEW)
        return complain(why, "%s:%" PRId64 ": a pattern has no signs and cannot be skew-symmetric",
                        path, line);
    return reader->field != FIELD_PATTERN || !reader->is_array ||
           complain(why, "%s:%" PRId64 ": a pattern has entries, and is no array", path, line);
}

static bool read_banner(mtx_reader *reader, complaint *why)
{
    static const char *const fields[] = {"real", "integer", "unsigned-integer", "pattern"};
    char words[BANNER_WORDS][32];
    read_words(&reader->text, words);

    const char *path = reader->text.path;
    const int64_t line = reader->text.line;
    if (strcmp(words[0], "%%matrixmarket") != 0)
        return complain(
            why,
            "%s:%" PRId64
            ": not a Matrix Market file: the first line must begin with %%%%MatrixMarket",
            path, line);
    if (strcmp(words[1], "matrix") != 0 ||
        strcmp(words[2], reader->is_array ? "array" : "coordinate") != 0)
        return complain(why, "%s:%" PRId64 ": holds a '%s %s', but only 'matrix %s' is read here",
                        path, line, words[1], words[2], reader->is_array ? "array" : "coordinate");
    const int field = find_word(words[3], fields, 4);
    if (field < 0)
        return complain(why,
                        "%s:%" PRId64 ": entries are '%s', but only real, integer, "
                        "unsigned-integer and pattern are read",
                        path, line, words[3]);
    reader->field = (mtx_field)field;
    return read_symmetry(reader, words[4], why) && end_line(&reader->text, why);
}

// More rows than this only if the file is as large: offsets take memory for empty rows, too.
static int64_t believable_rows(const scanner *text)
{
    return (INT64_C(1) << 24) + 16 * (text->end - text->at);
}

static bool check_sizes(const mtx_reader *reader, complaint *why)
{
    const scanner *text = &reader->text;
    const char *path = text->path;
    const int64_t line = reader->size_line;
    if (reader->n_rows < 0 || reader->n_cols < 0 || reader->n_stored < 0)
        return complain(why,
                        "%s:%" PRId64 ": sizes are negative: %" PRId64 " x %" PRId64 ", %" PRId64
                        " entries",
                        path, line, reader->n_rows, reader->n_cols, reader->n_stored);
    if (reader->symmetry != SYMMETRY_GENERAL && reader->n_rows != reader->n_cols)
        return complain(why, "%s:%" PRId64 ": symmetric, but %" PRId64 " x %" PRId64, path, line,
                        reader->n_rows, reader->n_cols);
    if (reader->n_cols > INT32_MAX)
        return complain(why, "%s:%" PRId64 ": %" PRId64 " columns, at most %" PRId32 " can be read",
                        path, line, reader->n_cols, INT32_MAX);
    if (reader->n_rows > believable_rows(text))
        return complain(why, "%s:%" PRId64 ": %" PRId64 " rows, but only %td bytes of entries",
                        path, line, reader->n_rows, text->end - text->at);
    const int64_t shortest = reader->field == FIELD_PATTERN ? 4 : 6;
    if (reader->n_stored > (text->end - text->at + 1) / shortest)
        return complain(why,
                        "%s:%" PRId64 ": %" PRId64 " entries declared, but the %td bytes that "
                        "follow cannot hold them",
                        path, line, reader->n_stored, text->end - text->at);
    return true;
}

static bool read_sizes(mtx_reader *reader, complaint *why)
{
    scanner *text = &reader->text;
    skip_comments(text);
    reader->size_line = text->line;
    return scan_integer(text, "the number of rows", &reader->n_rows, why) &&
           scan_integer(text, "the number of columns", &reader->n_cols, why) &&
           scan_integer(text, "the number of entries", &reader->n_stored, why) &&
           end_line(text, why) && check_sizes(reader, why);
}

static bool allocate_entries(mtx_reader *reader, complaint *why)
{
    const size_t copies = reader->symmetry == SYMMETRY_GENERAL ? 1 : 2;
    const size_t room = copies * (size_t)reader->n_stored + 1;
    reader->rows = malloc(room * sizeof(*reader->rows));
    reader->cols = malloc(room * sizeof(*reader->cols));
    reader->values = malloc(room * sizeof(*reader->values));
    if (reader->rows == NULL || reader->cols == NULL || reader->values == NULL)
        return complain(why, "%s: no memory for %" PRId64 " entries", reader->text.path,
                        reader->n_stored);
    return true;
}

static void add_entry(mtx_reader *reader, int64_t row, int64_t col, double value)
{
    reader->rows[reader->n_entries] = row;
    reader->cols[reader->n_entries] = col;
    reader->values[reader->n_entries] = value;
    reader->n_entries++;
}

static bool complain_sign(const mtx_reader *reader, int64_t value, complaint *why)
{
    return complain(why, "%s:%" PRId64 ": %" PRId64 " is below 0, but unsigned-integer",
                    reader->text.path, reader->text.line, value);
}

static bool read_value(mtx_reader *reader, double *value, complaint *why)
{
    *value = 1.0;
    if (reader->field == FIELD_REAL)
        return scan_number(&reader->text, "a value", value, why);
    int64_t integer = 1;
    if (reader->field != FIELD_PATTERN && !scan_integer(&reader->text, "a value", &integer, why))
        return false;
    if (reader->field == FIELD_UNSIGNED && integer < 0)
        return complain_sign(reader, integer, why);
    *value = (double)integer;
    return true;
}

static bool check_entry(const mtx_reader *reader, int64_t row, int64_t col, double value,
                        complaint *why)
{
    if (isfinite(value) && !isfinite(scalar_stored(reader->dtype, value)))
        return complain(why, "%s:%" PRId64 ": %g is too large for %s", reader->text.path,
                        reader->text.line, value, weft_dtype_name(reader->dtype));
    if (row < 1 || row > reader->n_rows || col < 1 || col > reader->n_cols)
        return complain(why,
                        "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") is outside the %" PRId64
                        " x %" PRId64 " matrix",
                        reader->text.path, reader->text.line, row, col, reader->n_rows,
                        reader->n_cols);
    if (reader->symmetry != SYMMETRY_GENERAL && col > row)
        return complain(why,
                        "%s:%" PRId64 ": (%" PRId64 ", %" PRId64
                        ") is above the diagonal of a %s matrix, which is stored below it",
                        reader->text.path, reader->text.line, row, col,
                        reader->symmetry == SYMMETRY_SKEW ? "skew-symmetric" : "symmetric");
    if (reader->symmetry == SYMMETRY_SKEW && row == col && value != 0)
        return complain(why,
                        "%s:%" PRId64 ": (%" PRId64 ", %" PRId64
                        ") is %g, but the diagonal of a skew-symmetric matrix is zero",
                        reader->text.path, reader->text.line, row, col, value);
    return true;
}

static bool read_entry(mtx_reader *reader, complaint *why)
{
    int64_t row = 0, col = 0;
    double value = 0;
    if (!scan_integer(&reader->text, "a row number", &row, why) ||
        !scan_integer(&reader->text, "a column number", &col, why) ||
        !read_value(reader, &value, why) || !check_entry(reader, row, col, value, why))
        return false;
    add_entry(reader, row - 1, col - 1, value);
    if (reader->symmetry != SYMMETRY_GENERAL && row != col)
        add_entry(reader, col - 1, row - 1, reader->symmetry == SYMMETRY_SKEW ? -value : value);
    return end_line(&reader->text, why);
}

static bool read_entries(mtx_reader *reader, complaint *why)
{
    scanner *text = &reader->text;
    for (int64_t i = 0; i < reader->n_stored; i++) {
        skip_comments(text);
        if (scan_is_done(text))
            return complain(why,
                            "%s:%" PRId64 ": %" PRId64 " entries declared, but %" PRId64 " found",
                            text->path, reader->size_line, reader->n_stored, i);
        if (!read_entry(reader, why))
            return false;
    }
    skip_comments(text);
    if (!scan_is_done(text))
        return complain(
            why, "%s:%" PRId64 ": more than the %" PRId64 " entries declared in line %" PRId64,
            text->path, text->line, reader->n_stored, reader->size_line);
    return true;
}

bool mtx_parse(weft_csr_host *out, const char *path, const loaded_file *file,
               const weft_csr_params *params, complaint *why)
{
    *out = (weft_csr_host){0};
    mtx_reader reader = {
        .text = scan_start(path, file),
        .dtype = params && params->dtype ? params->dtype : WEFT_F32,
    };
    bool done = read_banner(&reader, why) && read_sizes(&reader, why) &&
                allocate_entries(&reader, why) && read_entries(&reader, why);
    if (done && weft_csr_host_from_coo(out, reader.n_rows, reader.n_cols, reader.n_entries,
                                       reader.rows, reader.cols, reader.values, params) != WEFT_OK)
        done = complain(why, "%s: %s", path, weft_last_error());
    free(reader.rows);
    free(reader.cols);
    free(reader.values);
    return done;
}

bool mtx_read(weft_csr_host *out, const char *path, const weft_csr_params *params, complaint *why)
{
    *out = (weft_csr_host){0};
    loaded_file file;
    if (!file_load(&file, path, why))
        return false;
    const bool done = mtx_parse(out, path, &file, params, why);
    file_free(&file);
    return done;
}

// ---- arrays

bool mtx_holds_array(const loaded_file *file)
{
    char words[BANNER_WORDS][32];
    scanner text = scan_start("", file);
    read_words(&text, words);
    return strcmp(words[2], "array") == 0;
}

// Elements in the file: those of symmetric matrices on and below the diagonal.
static int64_t stored_elements(const mtx_reader *reader)
{
    const int64_t m = reader->n_rows, n = reader->n_cols;
    return reader->symmetry == SYMMETRY_GENERAL     ? m * n
           : reader->symmetry == SYMMETRY_SYMMETRIC ? m * (m + 1) / 2
                                                    : m * (m - 1) / 2;
}

static bool check_array_sizes(const mtx_reader *reader, complaint *why)
{
    const scanner *text = &reader->text;
    const int64_t m = reader->n_rows, n = reader->n_cols, bytes = text->end - text->at;
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX)
        return complain(why, "%s:%" PRId64 ": sizes out of range: %" PRId64 " x %" PRId64,
                        text->path, reader->size_line, m, n);
    if (reader->symmetry != SYMMETRY_GENERAL && m != n)
        return complain(why, "%s:%" PRId64 ": symmetric, but %" PRId64 " x %" PRId64, text->path,
                        reader->size_line, m, n);
    return stored_elements(reader) <= (bytes + 1) / 2 ||
           complain(why,
                    "%s:%" PRId64 ": %" PRId64 " x %" PRId64 " elements declared, but the %" PRId64
                    " bytes that follow cannot hold them",
                    text->path, reader->size_line, m, n, bytes);
}

static bool read_array_sizes(mtx_reader *reader, complaint *why)
{
    scanner *text = &reader->text;
    skip_comments(text);
    reader->size_line = text->line;
    return scan_integer(text, "the number of rows", &reader->n_rows, why) &&
           scan_integer(text, "the number of columns", &reader->n_cols, why) &&
           end_line(text, why) && check_array_sizes(reader, why);
}

// Real numbers as f64, integers as i64: text has no types.
static npy_array lay_out_array(const mtx_reader *reader)
{
    return (npy_array){
        .dtype = reader->field == FIELD_REAL ? WEFT_F64 : WEFT_I64,
        .is_untyped = reader->field == FIELD_REAL,
        .ndim = 2,
        .shape = {reader->n_rows, reader->n_cols},
        .count = reader->n_rows * reader->n_cols,
    };
}

static bool allocate_array(npy_array *out, const char *path, complaint *why)
{
    out->data = calloc((size_t)out->count + 1, sizeof(double));
    return out->data != NULL ||
           complain(why, "%s: no memory for %" PRId64 " elements", path, out->count);
}

// One element, and in a symmetric matrix its mirror image.
static bool read_element(npy_array *out, mtx_reader *reader, int64_t row, int64_t col,
                         complaint *why)
{
    const int64_t at = row * reader->n_cols + col, mirrored = col * reader->n_cols + row;
    const bool is_mirrored = reader->symmetry != SYMMETRY_GENERAL && row != col;
    const int sign = reader->symmetry == SYMMETRY_SKEW ? -1 : 1;
    double *reals = out->data;
    int64_t *integers = out->data;
    skip_comments(&reader->text);
    if (!(reader->field == FIELD_REAL
              ? scan_number(&reader->text, "an element", &reals[at], why)
              : scan_integer(&reader->text, "an element", &integers[at], why)))
        return false;
    if (reader->field == FIELD_UNSIGNED && integers[at] < 0)
        return complain_sign(reader, integers[at], why);
    if (is_mirrored && reader->field == FIELD_REAL)
        reals[mirrored] = sign * reals[at];
    else if (is_mirrored)
        integers[mirrored] = sign * integers[at];
    return true;
}

static bool read_elements(npy_array *out, mtx_reader *reader, complaint *why)
{
    const int64_t below = reader->symmetry == SYMMETRY_SKEW ? 1 : 0;
    for (int64_t col = 0; col < reader->n_cols; col++) {
        const int64_t first = reader->symmetry == SYMMETRY_GENERAL ? 0 : col + below;
        for (int64_t row = first; row < reader->n_rows; row++)
            if (!read_element(out, reader, row, col, why))
                return false;
    }
    skip_comments(&reader->text);
    return scan_is_done(&reader->text) ||
           complain(why,
                    "%s:%" PRId64 ": more than the %" PRId64 " elements of %" PRId64 " x %" PRId64,
                    reader->text.path, reader->text.line, stored_elements(reader), reader->n_rows,
                    reader->n_cols);
}

bool mtx_parse_array(npy_array *out, const char *path, const loaded_file *file,
                     const npy_params *params, complaint *why)
{
    mtx_reader reader = {.text = scan_start(path, file), .is_array = true};
    *out = (npy_array){0};
    if (!read_banner(&reader, why) || !read_array_sizes(&reader, why))
        return false;
    *out = lay_out_array(&reader);
    const bool done = npy_check_limit(out, path, params, why) && allocate_array(out, path, why) &&
                      read_elements(out, &reader, why) &&
                      npy_convert(out, params->dtype, path, why);
    if (!done)
        npy_free(out);
    return done;
}
