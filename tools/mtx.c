// SPDX-License-Identifier: Apache-2.0
// Matrix Market coordinate files: banner, sizes, entries.
#include "mtx.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scalar.h"
#include "scan.h"

typedef enum mtx_field { FIELD_REAL, FIELD_INTEGER, FIELD_PATTERN } mtx_field;
typedef enum mtx_symmetry { SYMMETRY_GENERAL, SYMMETRY_SYMMETRIC, SYMMETRY_SKEW } mtx_symmetry;

// One file while it is read. The arrays have room for the mirrored entries too.
typedef struct mtx_reader {
    scanner text;
    weft_dtype dtype; // that values are to have
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

static bool read_banner(mtx_reader *reader, complaint *why)
{
    static const char *const fields[] = {"real", "integer", "pattern"};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    char words[5][32];
    for (int i = 0; i < 5; i++)
        scan_word(&reader->text, words[i], sizeof(words[i]));

    const char *path = reader->text.path;
    if (strcmp(words[0], "%%matrixmarket") != 0)
        return complain(why,
                        "%s:1: no Matrix Market file: the first line must begin with "
                        "%%%%MatrixMarket",
                        path);
    if (strcmp(words[1], "matrix") != 0 || strcmp(words[2], "coordinate") != 0)
        return complain(why, "%s:1: holds a '%s %s', but only 'matrix coordinate' is read", path,
                        words[1], words[2]);
    const int field = find_word(words[3], fields, 3);
    if (field < 0)
        return complain(why, "%s:1: entries are '%s', but only real, integer and pattern are read",
                        path, words[3]);
    const int symmetry = find_word(words[4], symmetries, 3);
    if (symmetry < 0)
        return complain(why,
                        "%s:1: the matrix is '%s', but only general, symmetric and skew-symmetric "
                        "are read",
                        path, words[4]);
    reader->field = (mtx_field)field;
    reader->symmetry = (mtx_symmetry)symmetry;
    if (reader->field == FIELD_PATTERN && reader->symmetry == SYMMETRY_SKEW)
        return complain(why, "%s:1: a pattern has no signs and cannot be skew-symmetric", path);
    return scan_end_line(&reader->text, why);
}

// Comments and empty lines may stand anywhere behind the banner.
static void skip_comments(scanner *text)
{
    while (!scan_is_done(text) && (scan_is_line_end(text) || *text->at == '%'))
        scan_next_line(text);
}

// More rows than this only with a file to match: offsets take memory for empty rows, too.
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
           scan_end_line(text, why) && check_sizes(reader, why);
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

static bool read_value(mtx_reader *reader, double *value, complaint *why)
{
    *value = 1.0;
    if (reader->field == FIELD_REAL)
        return scan_number(&reader->text, "a value", value, why);
    int64_t integer = 1;
    if (reader->field == FIELD_INTEGER && !scan_integer(&reader->text, "a value", &integer, why))
        return false;
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
    return scan_end_line(&reader->text, why);
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
