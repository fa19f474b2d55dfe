// SPDX-License-Identifier: Apache-2.0
// .smtx files: three lines, taken as CSR after checking each number.
#include "smtx.h"

#include <inttypes.h>
#include <stdlib.h>

#include "random.h"
#include "scan.h"

// The three numbers of the first line are between commas.
static bool take_comma(scanner *text, complaint *why)
{
    if (scan_is_line_end(text) || *text->at != ',')
        return complain(why, "%s:%" PRId64 ": expected 'rows, columns, non-zeros'", text->path,
                        text->line);
    text->at++;
    return true;
}

static bool check_sizes(const scanner *text, const weft_csr_host *csr, complaint *why)
{
    const int64_t bytes = text->end - text->at;
    if (csr->n_rows < 0 || csr->n_cols < 0 || csr->nnz < 0 || csr->n_cols > INT32_MAX ||
        csr->nnz > INT32_MAX)
        return complain(
            why, "%s:1: sizes out of range: %" PRId64 " x %" PRId64 ", %" PRId64 " non-zeros",
            text->path, csr->n_rows, csr->n_cols, csr->nnz);
    if (csr->n_rows > bytes / 2 || csr->nnz > bytes / 2)
        return complain(why,
                        "%s:1: %" PRId64 " rows and %" PRId64
                        " non-zeros declared, but the %" PRId64
                        " bytes that follow cannot hold them",
                        text->path, csr->n_rows, csr->nnz, bytes);
    return true;
}

static bool read_sizes(scanner *text, weft_csr_host *csr, complaint *why)
{
    return scan_integer(text, "the number of rows", &csr->n_rows, why) && take_comma(text, why) &&
           scan_integer(text, "the number of columns", &csr->n_cols, why) &&
           take_comma(text, why) && scan_integer(text, "the number of non-zeros", &csr->nnz, why) &&
           scan_end_line(text, why) && check_sizes(text, csr, why);
}

static bool allocate(const char *path, weft_csr_host *csr, complaint *why)
{
    const size_t entries = (size_t)csr->nnz + (csr->nnz == 0);
    csr->offsets = malloc(((size_t)csr->n_rows + 1) * sizeof(int32_t));
    csr->indices = malloc(entries * sizeof(int32_t));
    csr->values = malloc(entries * weft_dtype_size(csr->dtype));
    if (csr->offsets == NULL || csr->indices == NULL || csr->values == NULL)
        return complain(why, "%s: no memory for %" PRId64 " rows and %" PRId64 " non-zeros", path,
                        csr->n_rows, csr->nnz);
    return true;
}

static bool read_offsets(scanner *text, const weft_csr_host *csr, complaint *why)
{
    int32_t *offsets = csr->offsets;
    int64_t last = 0;
    for (int64_t r = 0; r <= csr->n_rows; r++) {
        int64_t offset = 0;
        if (!scan_integer(text, "a row offset", &offset, why))
            return false;
        if (offset < last || offset > csr->nnz || (r == 0 && offset != 0))
            return complain(why,
                            "%s:%" PRId64 ": offset %" PRId64 " of row %" PRId64
                            " must lie between %" PRId64 " and %" PRId64,
                            text->path, text->line, offset, r, last, r == 0 ? 0 : csr->nnz);
        offsets[r] = (int32_t)offset;
        last = offset;
    }
    if (last != csr->nnz)
        return complain(why,
                        "%s:%" PRId64 ": offsets end at %" PRId64 ", but %" PRId64
                        " non-zeros are declared",
                        text->path, text->line, last, csr->nnz);
    return scan_end_line(text, why);
}

static bool read_indices(scanner *text, const weft_csr_host *csr, complaint *why)
{
    int32_t *indices = csr->indices;
    for (int64_t e = 0; e < csr->nnz; e++) {
        int64_t index = 0;
        if (!scan_integer(text, "a column index", &index, why))
            return false;
        if (index < 0 || index >= csr->n_cols)
            return complain(why,
                            "%s:%" PRId64 ": column %" PRId64 " of entry %" PRId64
                            " is outside 0 to %" PRId64,
                            text->path, text->line, index, e, csr->n_cols - 1);
        indices[e] = (int32_t)index;
    }
    return scan_end_line(text, why);
}

static bool read_end(scanner *text, complaint *why)
{
    while (!scan_is_done(text))
        if (!scan_end_line(text, why))
            return false;
    return true;
}

bool smtx_parse(weft_csr_host *out, const char *path, const loaded_file *file, weft_dtype dtype,
                uint64_t seed, complaint *why)
{
    *out = (weft_csr_host){
        .offset_dtype = WEFT_I32,
        .index_dtype = WEFT_I32,
        .dtype = dtype == WEFT_DEFAULT ? WEFT_F32 : dtype,
    };
    scanner text = scan_start(path, file);
    const bool done = read_sizes(&text, out, why) && allocate(path, out, why) &&
                      read_offsets(&text, out, why) && read_indices(&text, out, why) &&
                      read_end(&text, why);
    if (done)
        random_fill(seed, RANDOM_VALUES, out->dtype, out->values, out->nnz);
    else
        weft_csr_host_destroy(out);
    return done;
}

bool smtx_read(weft_csr_host *out, const char *path, weft_dtype dtype, uint64_t seed,
               complaint *why)
{
    *out = (weft_csr_host){0};
    loaded_file file;
    if (!file_load(&file, path, why))
        return false;
    const bool done = smtx_parse(out, path, &file, dtype, seed, why);
    file_free(&file);
    return done;
}
